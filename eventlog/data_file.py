"""The open LMDB file of an environment: how it is opened, its named databases, the swap.

Nothing here knows of other threads: `environment.py` sees to it that nobody uses what is closed.
"""

import errno
import os
from pathlib import Path
from typing import NamedTuple

import lmdb

from rewound.eventlog.errors import NotFound
from rewound.eventlog.failpoints import Points, failpoint
from rewound.eventlog.generations import DATA, LOCK, Generations, sync_folder

HEADROOM_BYTES = 64 << 20
"""What should be left of a map at the beginning of a write, or a quarter of a small map."""

MAX_READERS = 1024

_GIB = 1 << 30
_LOCK_BYTES = (MAX_READERS - 1) * 64 + 192  # as LMDB lays the lock file out

Handles = dict[str, lmdb._Database]


class Options(NamedTuple):
    """How an environment is opened."""

    databases: tuple[str, ...]
    points: Points
    metasync: bool
    map_bytes: int
    map_bytes_max: int
    readonly: bool
    max_dbs: int
    reserve_bytes: int


def grown(size: int) -> int:
    """The next size of a map: twice as large, from 1 GiB on a GiB more."""
    return size * 2 if size < _GIB else size + _GIB


def roomy(size: int, used: int, headroom: int = HEADROOM_BYTES) -> int:
    """`size`, grown until the headroom, or a quarter if that is less, is left beside `used`."""
    while size - used < min(size // 4, headroom):
        size = grown(size)
    return size


class DataFile:
    """The newest generation in a folder, opened."""

    def __init__(self, files: Generations, options: Options) -> None:
        """Raises NotFound when there is nothing to read, lmdb.Error, OSError."""
        self._files = files
        self._options = options
        self.lost = False
        self._shut = False  # it was closed, and could not be opened anew
        self.folder = files.newest()
        fresh = not self.path.exists()
        self.env = self._open(options.map_bytes)
        try:
            self._lengthen()
            self.handles = self._open_databases()
        except BaseException:
            self.env.close()  # or py-lmdb would not open it again in this process
            raise
        self._psize = self.env.stat()["psize"]
        if fresh:
            sync_folder(self.folder)

    @property
    def path(self) -> Path:
        return self.folder / DATA

    def is_newest(self) -> bool:
        """Whether it is open and no rewrite has taken its place, seen without a list of the
        folder."""
        if self._shut or not self.path.exists():
            return False
        return not (self._files.after(self.folder) / DATA).exists()

    def sizes(self) -> tuple[int, int]:
        """Bytes of the map, and bytes up to the last page in use, free pages before it included."""
        info = self.env.info()
        return info["map_size"], (info["last_pgno"] + 1) * self._psize

    def reopen(self) -> None:
        """Close, then open what is newest now. When it raises it is shut, and may be opened later.

        Where another process owns the files, what was newest may be gone before it is open.
        """
        size = self._options.map_bytes if self._shut else self.sizes()[0]
        self.env.close()
        self._shut = True
        while self._shut:
            self.folder = self._files.newest()
            try:
                self.env = self._open(size)
                self.handles = self._open_databases()
            except (OSError, lmdb.Error, NotFound):
                self.env.close()
                if not self._options.readonly or self._files.newest() == self.folder:
                    raise
            else:
                self._shut = False

    def replace(self, copy: Path) -> None:
        """Let the folder of a finished, closed copy take over, and remove the old one.

        When it raises and this file is no longer the newest, it has been closed and is `lost`:
        nothing may be written to a generation that a restart would pass over.
        """
        old = self.folder
        failpoint(self._options.points.before_rename)
        sync_folder(copy)
        try:
            self._files.install(copy)
            failpoint(self._options.points.after_rename)
            self.reopen()
        except Exception:
            if self._files.newest() != old:
                self.env.close()
                self.lost = True
            raise
        failpoint(self._options.points.before_unlink)
        self._files.remove(old)

    def copy(self, target: Path, snapshot: "lmdb.Transaction[bytes]") -> dict[str, int]:
        """Copy a snapshot without free pages, not flushed; how many rows each database has."""
        self.env.copy(str(target), compact=True, txn=snapshot)
        return self.rows(snapshot)

    def rows(self, txn: "lmdb.Transaction[bytes]") -> dict[str, int]:
        """How many rows each database has."""
        return {name: txn.stat(handle)["entries"] for name, handle in self.handles.items()}

    def _open(self, map_bytes: int) -> lmdb.Environment:
        readonly, there = self._options.readonly, self.path.exists()
        if readonly and not there:
            raise NotFound(f"there is no store in {self._files.folder}")
        if there or not readonly:
            self._allocate_lock()
        return lmdb.open(
            str(self.folder),
            subdir=True,
            map_size=roomy(map_bytes, self.path.stat().st_size if there else 0),
            readonly=readonly,
            create=not readonly,
            metasync=self._options.metasync,
            sync=True,
            writemap=False,
            map_async=False,
            meminit=True,
            mode=0o600,
            max_dbs=self._options.max_dbs,
            max_readers=MAX_READERS,
            max_spare_txns=16,
            lib_version=0,
        )

    def _lengthen(self) -> None:
        """Give a file that was cut off its length back, in zeros: what reads beyond the end of a
        mapped file is killed (SIGBUS), while zeros are found to be damaged.

        LMDB itself may leave pages at the end unwritten, so a short file alone is no damage.
        """
        if self._options.readonly:
            return
        whole = (self.env.info()["last_pgno"] + 1) * self.env.stat()["psize"]
        if self.path.stat().st_size < whole:
            os.truncate(self.path, whole)

    def _allocate_lock(self) -> None:
        """Give the lock file all its blocks. LMDB leaves holes in it and writes to it through a
        map: on a full disk that would end the process with a bus error. Raises OSError.
        """
        path = self.folder / LOCK
        if path.exists() and path.stat().st_blocks * 512 >= _LOCK_BYTES:
            return
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES) and self._options.readonly:
                return  # nobody can write there, and LMDB does without
            raise
        try:
            os.posix_fallocate(descriptor, 0, _LOCK_BYTES)
        finally:
            os.close(descriptor)

    def _open_databases(self) -> Handles:
        """Handles of the databases wanted, and of the others that are there."""
        with self.env.begin() as txn:
            names = set(self.env.dbs(txn))
        if self._options.readonly:
            # Not in one transaction: handles opened in a read that is given up are lost with it.
            return {n.decode(): self.env.open_db(n, create=False) for n in sorted(names)}
        names |= {name.encode() for name in self._options.databases}
        with self.env.begin(write=True) as txn:
            return {n.decode(): self.env.open_db(n, txn=txn) for n in sorted(names)}
