"""The log in one LMDB environment: events, bodies and their indexes, written in one transaction."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import lmdb

from rewound.eventlog.behind import Behind
from rewound.eventlog.clock import Clock
from rewound.eventlog.environment import MAP_BYTES, Environment
from rewound.eventlog.errors import Conflict, Damaged, ReadOnly
from rewound.eventlog.failpoints import LOG
from rewound.eventlog.ids import IdSource
from rewound.eventlog.lmdb_reader import LmdbReader
from rewound.eventlog.lmdb_writer import NO_TIP, LmdbWriter
from rewound.eventlog.tables import COMPACTION, CUT, FORMAT, META, STORE_ID, TABLES

DISK_FORMAT = 1
"""The form of the tables. A store of a newer one is refused, one of an older one is upgraded."""

RESERVE_BYTES = 1 << 20

UPGRADES: dict[int, Callable[[Environment], None]] = {}
"""From a form to the next, repeatable: what was done by a step cut short is done again."""


class LmdbLog:
    """A `log.Log` in a folder. Safe for any number of threads; one process at a time writes."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        ids: IdSource,
        *,
        map_bytes: int = MAP_BYTES,
        readonly: bool = False,
        reserve_bytes: int = RESERVE_BYTES,
    ) -> None:
        """Open, making the store if it is not there.

        Raises NotFound (readonly, and nothing there), Conflict (written by a newer program),
        StoreBusy (open for writing already), StoreFull.
        """
        self._clock = clock
        self._ids = ids
        self._behind: Behind | None = None
        self._tip = NO_TIP
        self.environment = Environment(
            path,
            TABLES,
            points=LOG,
            map_bytes=map_bytes,
            readonly=readonly,
            max_dbs=32,
            reserve_bytes=reserve_bytes,
        )
        try:
            self._check_format(readonly)
        except BaseException:
            self.environment.close()
            raise

    @property
    def ids(self) -> IdSource:
        return self._ids

    def store_id(self) -> bytes:
        """16 bytes that tell this store from others, copies of it excepted."""
        return self._meta(STORE_ID) or b""

    def cut_at_us(self) -> int | None:
        """The time that this log ends at, when it is a copy of another up to then."""
        stored = self._meta(CUT)
        return None if stored is None else int(stored)

    @contextmanager
    def reading(self) -> Iterator[LmdbReader]:
        with self.environment.reading() as txn:
            yield LmdbReader(txn, self.environment.handles)

    def writing(self, *, urgent: bool = False) -> "LogWriting":
        if (behind := self._behind) is not None:
            behind.wait()
        return LogWriting(self, urgent)

    def begin_write(self, txn: "lmdb.Transaction[bytes]") -> LmdbWriter:
        """Only for `LogWriting`."""
        return LmdbWriter(txn, self.environment.handles, self._clock, self._ids, self._tip)

    def committed(self, writer: LmdbWriter) -> None:
        """Only for `LogWriting`, in the writer's turn."""
        self._tip = writer.tip()
        if self._behind is not None:
            self._behind.add(writer.changes)

    def make_way(self) -> bool:
        return self.environment.make_way()

    def needs_compaction(self) -> bool:
        return self._meta(COMPACTION) is not None or self.environment.has_stale_files()

    def compact(self) -> None:
        """Rewrite the file without erased bytes; others go on but for the swap.

        `needs_compaction` stays true if something was erased meanwhile. Raises StoreFull.
        """
        behind = Behind()

        def begin() -> None:
            self._behind = behind

        try:
            self.environment.compact(begin=begin, catch_up=behind.catch_up)
        finally:
            if self._behind is behind:
                self._behind = None
            behind.end()

    def reader_check(self) -> int:
        """Free what readers that died hold. To be called from a timer."""
        return self.environment.reader_check()

    def close(self) -> None:
        self.environment.close()

    # --- inside

    def _check_format(self, readonly: bool) -> None:
        stored = self._meta(FORMAT)
        if stored is None:
            with self.reading() as reader:
                if readonly or reader.sequence():
                    raise Damaged(f"{self.environment.path} holds no log, or not a whole one")
            self.environment.write(self._found)
            return
        version = int(stored)
        if version > DISK_FORMAT:
            raise Conflict(
                f"the store was written by a newer rewound (form {version}; this one knows "
                f"{DISK_FORMAT}): install that one"
            )
        if version < DISK_FORMAT and readonly:
            raise ReadOnly(f"the store has the older form {version}: open it for writing once")
        for step in range(version, DISK_FORMAT):
            UPGRADES[step](self.environment)

    def _found(self, txn: "lmdb.Transaction[bytes]") -> None:
        """Begin a new store."""
        meta = self.environment.db(META)
        txn.put(FORMAT, str(DISK_FORMAT).encode(), db=meta)
        txn.put(STORE_ID, self._ids.salt(), db=meta)

    def _meta(self, name: bytes) -> bytes | None:
        with self.environment.reading() as txn:
            return txn.get(name, db=self.environment.db(META))


class LogWriting:
    """The context of one group. A plain object, since it is entered for each commit."""

    def __init__(self, log: LmdbLog, urgent: bool) -> None:
        self._log = log
        self._inner = log.environment.writing(urgent=urgent, committed=self._committed)

    def __enter__(self) -> LmdbWriter:
        txn = self._inner.__enter__()
        try:
            self._writer = self._log.begin_write(txn)
        except BaseException as error:
            self._inner.__exit__(type(error), error, error.__traceback__)
            raise
        return self._writer

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._writer.flush()
        except BaseException as failed:
            self._inner.__exit__(type(failed), failed, failed.__traceback__)
            raise
        finally:
            self._writer.close()
        self._inner.__exit__(kind, error, trace)

    def _committed(self) -> None:
        self._log.committed(self._writer)
