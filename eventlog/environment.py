"""An LMDB environment that grows, can be rewritten without erased bytes, and closes safely.

Used for the log and for the views. Transactions come from `reading()` and `writing()` only, which
pass a gate: the map grows, the file is swapped and the environment is closed while none is open.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from rewound.eventlog.data_file import HEADROOM_BYTES, DataFile, Handles, Options, grown, roomy
from rewound.eventlog.errors import NotFound, ReadOnly, RewoundError, StoreFull
from rewound.eventlog.failpoints import NONE, Points, failpoint
from rewound.eventlog.gate import Gate
from rewound.eventlog.generations import Generations
from rewound.eventlog.lmdb_errors import MapGrew as MapGrew
from rewound.eventlog.lmdb_errors import translating
from rewound.eventlog.reserve import Reserve
from rewound.eventlog.rewriting import Rewriting
from rewound.eventlog.writing import Writing

MAP_BYTES = 16 << 20
MAP_BYTES_MIN = 1 << 20
MAP_BYTES_MAX = 1 << 42
"""4 TiB: a map only reserves addresses, and there are 128 TiB of them."""

T = TypeVar("T")


class Environment:
    """One folder, one LMDB environment in it, its named databases.

    A handle from `db()` is good for the transaction it is fetched in: a rewrite opens all anew.
    """

    def __init__(
        self,
        path: Path,
        databases: Sequence[str],
        *,
        points: Points = NONE,
        metasync: bool = True,
        map_bytes: int = MAP_BYTES,
        map_bytes_max: int = MAP_BYTES_MAX,
        readonly: bool = False,
        max_dbs: int = 64,
        reserve_bytes: int = 0,
    ) -> None:
        """Open, making what is missing unless `readonly`.

        `metasync=False` is for what can be rebuilt: the last commits may be lost with the power.
        Raises NotFound (nothing there to read), StoreBusy (open for writing already), StoreFull.
        """
        if not MAP_BYTES_MIN <= map_bytes <= map_bytes_max:
            raise ValueError(f"map_bytes is {map_bytes}, not {MAP_BYTES_MIN} to {map_bytes_max}")
        self.path = path
        self.readonly = readonly
        self._points = points
        self._options = Options(
            tuple(databases),
            points,
            metasync,
            map_bytes,
            map_bytes_max,
            readonly,
            max_dbs,
            0 if readonly else reserve_bytes,
        )
        self._gate = Gate()
        self._compacting = threading.Lock()
        self._too_small = False  # the last write did not fit the map
        with translating():
            self._files = Generations(path, owned=not readonly)
            try:
                self._reserve = Reserve(path, self._options.reserve_bytes)
                self._data = DataFile(self._files, self._options)
            except BaseException:
                self._files.close()
                raise

    # --- transactions

    @contextmanager
    def reading(self) -> "Iterator[lmdb.Transaction[bytes]]":
        """One snapshot. Short-lived: while it is open, freed pages are not used again and the map
        cannot grow. Open no write inside it. Raises StoreBusy, Damaged.
        """
        with translating(), self._reader() as txn:
            yield txn

    @contextmanager
    def viewing(self) -> "Iterator[lmdb.Transaction[memoryview]]":
        """Like `reading`, but values are views of the map, without a copy: gone with the block."""
        with translating(), self._reader(buffers=True) as txn:
            yield txn

    def writing(
        self, *, urgent: bool = False, committed: Callable[[], None] | None = None
    ) -> "Writing":
        """The one open write: durable on leaving without error, else as if it had not begun.

        `urgent` may use the room kept for taking back. `committed` is called after the commit and
        before another write can begin. Raises MapGrew (run the group again), StoreFull, StoreBusy,
        ReadOnly.
        """
        self._check_writable()
        return Writing(
            self._gate, self._points, urgent, self._begin_write, self._not_fitting, committed
        )

    def write(
        self,
        change: "Callable[[lmdb.Transaction[bytes]], T]",
        *,
        committed: Callable[[], None] | None = None,
    ) -> T:
        """Run a repeatable change as one write, again whenever the map had to grow."""
        while True:
            try:
                with self.writing(committed=committed) as txn:
                    return change(txn)
            except MapGrew:
                continue

    def make_way(self) -> bool:
        """Give away the room kept for taking back; False when there was none to give."""
        with self._gate.turn():
            return self._reserve.make_way()

    # --- databases

    def db(self, name: str) -> lmdb._Database:
        """The handle of a named database. Raises NotFound."""
        try:
            return self._data.handles[name]
        except KeyError:
            raise NotFound(f"there is no database {name!r} in {self.path.name}") from None

    @property
    def handles(self) -> Handles:
        """All handles by name, for the transaction it is fetched in. Not to be changed."""
        return self._data.handles

    def names(self) -> list[str]:
        """The named databases that are there."""
        return sorted(self._data.handles)

    def create_databases(self, names: Iterable[str]) -> None:
        """Make named databases that are not there, in one commit. Not inside a transaction."""
        wanted = sorted(set(names))
        opened: dict[str, lmdb._Database] = {}

        def make(txn: "lmdb.Transaction[bytes]") -> None:
            opened.update({n: self._data.env.open_db(n.encode(), txn=txn) for n in wanted})

        def keep() -> None:
            # In the writer's turn still: after it, a rewrite may have opened all handles anew.
            self._data.handles = {**self._data.handles, **opened}

        self.write(make, committed=keep)

    def drop_database(self, name: str) -> None:
        """Drop a named database with all its rows. Not inside a transaction: waits for reads."""
        self._check_writable()
        with self._gate.turn(), self._gate.alone(), translating():
            handle = self.db(name)
            with self._data.env.begin(write=True) as txn:
                txn.drop(handle, delete=True)
            left = {key: kept for key, kept in self._data.handles.items() if key != name}
            self._data.handles = left

    # --- beside the owner

    def follow(self, *, anew: bool = False) -> None:
        """In a process that only reads: open what the owner has put in the file's place, if it
        did, or the file as it is `anew`, with the databases that are there now.

        Reads that are under way are waited for. Reads of a replaced file never begin, so this is
        for letting go of it, and for databases that the owner has made. Raises StoreBusy.
        """
        with translating(), self._gate.turn():
            if anew or not self._data.is_newest():
                with self._gate.alone():
                    self._data.reopen()

    # --- upkeep

    @property
    def data_file(self) -> Path:
        """The file that holds the data now."""
        return self._data.path

    def map_bytes(self) -> int:
        return self._data.sizes()[0]

    def rows(self) -> dict[str, int]:
        """How many rows each database has."""
        with self.reading() as txn:
            return self._data.rows(txn)

    def has_stale_files(self) -> bool:
        """True when a file from before a rewrite could not be removed: to be rewritten again."""
        return bool(self._files.stale())

    def bytes_used(self) -> int:
        """Bytes up to the last page in use, free pages before it included."""
        with self._reader():
            return self._data.sizes()[1]

    def flags(self) -> dict[str, object]:
        """What is in force, by the names that `lmdb.Environment` gives it."""
        env = self._data.env
        more = {"max_readers": env.max_readers(), "lib_version": env.lib_version()}
        return {**env.flags(), **more}

    def reader_check(self) -> int:
        """Free the slots of readers whose process died; how many. To be called from a timer."""
        with self._gate.turn():
            return self._data.env.reader_check()

    def close(self) -> None:
        """Wait for open transactions, then close. Idempotent; later use raises StoreBusy."""
        if self._gate.closed:
            return
        with self._compacting, self._gate.turn(), self._gate.alone():
            self._data.env.close()
            self._files.close()
            self._gate.close()

    def compact(
        self,
        *,
        begin: Callable[[], None] | None = None,
        catch_up: "Callable[[Environment], bool] | None" = None,
    ) -> None:
        """Rewrite the file without free pages and without a byte that belongs to no row.

        With `catch_up` others go on writing meanwhile; `begin` is called in the writer's turn at
        the moment of the snapshot, `catch_up` several times after it, the last while they wait: it
        brings the copy up to date and says whether that was little. Without it they wait from the
        beginning. Readers only ever wait for the swap. A
        crash at any step leaves the old file or the new one, both whole. Raises StoreFull,
        StoreBusy; then nothing has changed, or the environment is closed.
        """
        self._check_writable()
        options = self._options

        def open_copy(folder: Path) -> Environment:
            return Environment(folder, (), map_bytes=options.map_bytes, max_dbs=options.max_dbs)

        def at_snapshot() -> None:
            # A map that grows waits for reads, and the copy is a long one: so it grows before.
            self._make_room(options.map_bytes_max, self._data.sizes()[1])
            if begin is not None:
                begin()

        with self._compacting, translating():
            rewriting = Rewriting(self._gate, self._files, self._data, self._points, open_copy)
            rewriting.run(at_snapshot, catch_up)

    # --- inside

    def _check_writable(self) -> None:
        if self.readonly:
            raise ReadOnly("the store is open for reading only")

    @contextmanager
    def _reader(self, *, buffers: bool = False) -> "Iterator[lmdb.Transaction[Any]]":
        """A place among those who read, and a snapshot of the newest file."""
        txn = self._begin_read(buffers)
        try:
            yield txn
        finally:
            txn.abort()
            self._gate.leave_read()

    def _begin_read(self, buffers: bool) -> "lmdb.Transaction[Any]":
        while True:
            nested = self._gate.holds_read()
            if self.readonly and not nested and not self._data.is_newest():
                self.follow()
            self._gate.enter_read()
            try:
                env = self._data.env
                return env.begin(buffers=True) if buffers else env.begin()
            except lmdb.MapResizedError:  # by the owner: only where others write
                self._gate.leave_read()
                if nested:
                    raise
                with self._gate.turn(), self._gate.alone():
                    self._data.env.set_mapsize(0)
            except BaseException:
                self._gate.leave_read()
                raise

    def _begin_write(self, *, urgent: bool) -> "lmdb.Transaction[bytes]":
        """Begin a write for `Writing`, which has the turn."""
        self._make_room(self._limit(urgent))
        self._reserve.before_write(urgent=urgent)
        try:
            return self._data.env.begin(write=True)
        except lmdb.PanicError:
            # A meta page could not be written earlier; the file itself has the last good one.
            with self._gate.alone():
                self._data.reopen()
            return self._data.env.begin(write=True)

    def _limit(self, urgent: bool) -> int:
        """The largest map: taking back works in a full one too."""
        return self._options.map_bytes_max * (2 if urgent else 1)

    def _not_fitting(self, *, urgent: bool) -> RewoundError:
        """What is said when a write did not fit the map; the next one will find a larger map."""
        if self.map_bytes() >= self._limit(urgent):
            return StoreFull("the store has reached the largest size it may have")
        self._too_small = True
        return MapGrew("the map was too small and grows: run the write again")

    def _make_room(self, limit: int, headroom: int = HEADROOM_BYTES) -> None:
        """Grow the map ahead of a write if little of it is left, or the last one did not fit."""
        size, used = self._data.sizes()
        if not self._too_small and size - used >= headroom:
            return
        wanted = roomy(grown(size) if self._too_small else size, used, headroom)
        wanted = min(wanted, max(size, limit))
        if wanted > size and (self._too_small or not self._gate.holds_read()):
            with self._gate.alone():
                failpoint(self._points.before_grow)
                self._data.env.set_mapsize(wanted)
        self._too_small = False
