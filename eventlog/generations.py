"""The folders of one environment: `gen-<number>`, each with a `data.mdb` and its `lock.mdb`.

A rewrite makes the next generation in a folder `copy`; the rename that brings it here is the one
moment at which it takes over. Each generation has its own lock file: with a shared one, a reader in
another process that has the old file open would keep the old count of transactions alive, and a
writer of the new file would take the wrong meta page for the newest.
"""

import fcntl
import os
import re
import shutil
from pathlib import Path

from rewound.eventlog.errors import StoreBusy

DATA, LOCK = "data.mdb", "lock.mdb"

_NAME = re.compile(r"gen-(\d{6,})")
_COPY = "copy"
_OWNER = "owner"


class Generations:
    """One folder, seen by the process that owns it or by one that only reads."""

    def __init__(self, folder: Path, *, owned: bool) -> None:
        """Raises StoreBusy when someone owns the folder already, OSError."""
        self.folder = folder
        self._lock: int | None = None
        if owned:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._own()
            shutil.rmtree(self.copy_folder, ignore_errors=True)
            self.remove_stale()
            if not self._all():
                (folder / _name(1)).mkdir(mode=0o700)
                sync_folder(folder)
                sync_folder(folder.parent)

    @property
    def copy_folder(self) -> Path:
        """Where a rewrite is made."""
        return self.folder / _COPY

    def newest(self) -> Path:
        """The folder that counts; the first generation's in an empty folder."""
        there = self._all()
        return there[-1] if there else self.folder / _name(1)

    def after(self, generation: Path) -> Path:
        """The folder that a rewrite of this generation would have."""
        return self.folder / _name(_number(generation) + 1)

    def install(self, copy: Path) -> Path:
        """Make a finished copy the next generation, durably; the old one stays for now."""
        target = self.after(self.newest())
        copy.rename(target)
        sync_folder(self.folder)
        return target

    def stale(self) -> list[Path]:
        """Generations that count no more: left by a crash or by a removal that failed."""
        return self._all()[:-1]

    def remove_stale(self) -> None:
        for old in self.stale():
            self.remove(old)

    def remove(self, old: Path) -> None:
        """Remove a generation that counts no more, durably."""
        shutil.rmtree(old)
        sync_folder(self.folder)

    def close(self) -> None:
        """Give the folder up. Idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _all(self) -> list[Path]:
        there = [path for path in self.folder.glob("gen-*") if _NAME.fullmatch(path.name)]
        return sorted(there, key=_number)

    def _own(self) -> None:
        # Held by this open file: a second opening is refused in the same process too.
        self._lock = os.open(self.folder / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise StoreBusy(f"{self.folder} is open for writing already") from error
        except BaseException:
            self.close()
            raise


def _name(generation: int) -> str:
    return f"gen-{generation:06}"


def _number(path: Path) -> int:
    return int(path.name.removeprefix("gen-"))


def sync_folder(folder: Path) -> None:
    """Make new names, renames and removals in a folder durable."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    _sync(path, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
