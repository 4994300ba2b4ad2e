"""Room kept on the disk for taking things back when the disk is full.

A forget, an undo or an erase needs a few pages of its own. While there is room, a file of this size
lies beside the data; on a full disk it makes way for urgent writes, and for views that have to
follow what the last room was used for. Other writes are refused until it can be laid out again.
"""

import errno
import os
from pathlib import Path

from rewound.eventlog.errors import StoreFull

NAME = "reserve"


class Reserve:
    """`size` bytes kept in a folder; 0 keeps nothing. Used by one writer at a time."""

    def __init__(self, folder: Path, size: int) -> None:
        self._path = folder / NAME
        self._size = size
        self._kept = not size or self._path.exists()

    def before_write(self, *, urgent: bool) -> None:
        """Give the room away to an urgent write that needs it; refuse others while it is away.

        Raises StoreFull, OSError.
        """
        if urgent:
            if self._size and self._kept and self._free() < self._size:
                self.make_way()
        elif not self._kept and not self._lay_out():
            raise StoreFull(
                "the disk is full: until there is room again, only forgetting, undoing and erasing "
                "are accepted"
            )

    def make_way(self) -> bool:
        """Give the room away; False when there was none to give."""
        if not self._size or not self._kept:
            return False
        self._path.unlink(missing_ok=True)
        self._kept = False
        return True

    def _free(self) -> int:
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * disk.f_frsize

    def _lay_out(self) -> bool:
        """Claim the room if there is half as much again; False if not."""
        if self._free() < self._size + self._size // 2:
            return False
        try:
            with self._path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, self._size)
        except OSError as error:
            self._path.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return False
            raise
        self._kept = True
        return True
