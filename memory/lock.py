"""The owner lock: one process owns a store, and the kernel takes the lock back when it dies.

The lock is flock's, on an open file and not on a process: a second handle of one process does not
get it either, and it can be given away with its file descriptor. The file's content (who holds it,
and where the holder listens) is for people and clients; it proves nothing.
"""

import errno
import fcntl
import os
from pathlib import Path
from typing import NamedTuple

from rewound.eventlog.errors import ReadOnly


class Holder(NamedTuple):
    """What the lock file says of who wrote it last."""

    pid: int
    socket: Path | None


class OwnerLock:
    """A held lock. Take one with `take`; it is free again after `release`."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    @classmethod
    def take(cls, path: Path) -> "OwnerLock | None":
        """The lock, or None when somebody holds it. Never waits."""
        while True:
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except PermissionError:
                raise ReadOnly(f"{path.parent} cannot be written by this user") from None
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return None
            if _same_file(fd, path):
                return cls(path, fd)
            os.close(fd)  # it was removed or replaced while we took it: take the one that is there

    @classmethod
    def adopt(cls, path: Path, fd: int) -> "OwnerLock | None":
        """A lock that its holder gave away; None unless it is the lock at `path`."""
        if _same_file(fd, path):
            return cls(path, fd)
        os.close(fd)
        return None

    @property
    def held(self) -> bool:
        return self._fd is not None

    def fileno(self) -> int:
        assert self._fd is not None, "the lock was released"
        return self._fd

    def tell(self, socket: Path | None) -> None:
        """Write down who holds the lock, and where it listens.

        On a full disk the file may stay as it was: clients then look for the socket where it lies
        by default, and a store must open so that something can be erased.
        """
        lines = os.fsencode(f"{os.getpid()}\n{socket or ''}\n")
        try:
            os.pwrite(self.fileno(), lines, 0)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            lines = b""
        os.ftruncate(self.fileno(), len(lines))

    def release(self) -> None:
        """Give the lock back, unless it was given away: then its new holder keeps it.

        In a forked child this lets go of the inherited copy, so that the lock ends with the parent.
        """
        if self._fd is not None:
            fd, self._fd = self._fd, None
            os.close(fd)


def holder(path: Path) -> Holder | None:
    """Who says to hold the lock; None when the file says nothing."""
    try:
        lines = path.read_bytes().split(b"\n")
        socket = Path(os.fsdecode(lines[1])) if lines[1] else None
        return Holder(int(lines[0]), socket)
    except (FileNotFoundError, ValueError, IndexError):
        return None


def described(path: Path) -> str:
    """Who holds the lock, in words for an error."""
    found = holder(path)
    if found is None:
        return "another process"
    try:
        command = Path(f"/proc/{found.pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        command = ""
    return f"process {found.pid} ({command})" if command else f"process {found.pid}"


def _same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
