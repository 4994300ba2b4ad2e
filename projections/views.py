"""The views as a whole: one environment, one checkpoint, one transaction for every fold."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import lmdb
import msgspec

from rewound.eventlog import failpoints
from rewound.eventlog.environment import Environment
from rewound.eventlog.errors import StoreFull
from rewound.eventlog.events import ContentErased
from rewound.eventlog.ids import ContainerId
from rewound.eventlog.lmdb_errors import MapGrew
from rewound.eventlog.log import Log, Reader, Recorded
from rewound.projections.catalog import UNDOS, VERSIONS, VIEWS, WORDS, Live
from rewound.projections.columns import ColumnCache, Columns, ColumnStore
from rewound.projections.embeddings import Embeddings, VectorModels
from rewound.projections.fold import Folded, Folder
from rewound.projections.index import Index
from rewound.projections.labels import LabelCache
from rewound.projections.postings import Postings
from rewound.projections.ranker import Ranker
from rewound.projections.reader import Snapshot
from rewound.projections.rows import Table
from rewound.projections.vectors import VectorStore
from rewound.projections.view import View

META = "meta"
SLICE = 2_000
"""Events folded in one transaction when there are many: a slice bounds memory and lock time."""

_MAP_BYTES = 16 << 20

_log = logging.getLogger(__name__)

T = TypeVar("T")
ViewReader = Snapshot
__all__ = ["Folded", "ViewReader", "ViewWriter", "Views"]


class Handles(NamedTuple):
    """The databases of one transaction, as `live` names them."""

    txn: lmdb.Transaction
    live: Live
    tables: dict[str, Table[Any]]
    undos: Any
    positions: Any
    words: Index
    columns: Callable[[ContainerId], Columns]
    labels: LabelCache
    ranker: Ranker | None


class ViewWriter(Snapshot):
    """The one open write of the views; it sees its own folds."""

    def __init__(self, handles: Handles, log: Reader) -> None:
        h = handles
        super().__init__(
            h.txn, h.tables, h.undos, h.words, log, h.live.sequence, h.positions, h.columns,
            h.labels, h.ranker,
        )  # fmt: skip
        self.handles = handles
        self._made: Folder | None = None

    def fold(self, recorded: Sequence[Recorded], log: Reader, *, tell: bool = False) -> Folded:
        """Fold events just appended; the checkpoint moves to the end of `log`.

        `tell` collects every row touched, before and after.
        """
        folded = self._folder(log).fold(recorded, tell=tell, flush=False)
        self.advance(recorded, log.sequence())
        return folded

    def fold_slice(self, slice_: Sequence[tuple[int, Recorded]], log: Reader) -> None:
        """Fold events read back from the log, with their store-wide sequences."""
        if slice_:
            events = [recorded for _, recorded in slice_]
            self._folder(log).fold(events)
            self.advance(events, slice_[-1][0])

    def _folder(self, log: Reader) -> Folder:
        h = self.handles
        if self._made is None or self._made.log is not log:
            self._made = Folder(h.txn, h.tables, h.undos, log, h.words)
        return self._made

    def advance(self, recorded: Sequence[Recorded], sequence: int) -> None:
        """Move the checkpoint past events that were folded."""
        if recorded:
            self.handles.live.last = bytes(recorded[-1].envelope.event_id)
        for container, position in {r.container: r.position for r in recorded}.items():
            self.txn.put(container, position.to_bytes(8, "big"), db=self.handles.positions)
        self.handles.live.sequence = self._sequence = sequence


def _next_slice(writer: ViewWriter, log: Reader) -> int:
    slice_ = list(islice(log.all_events(writer.sequence()), SLICE))
    writer.fold_slice(slice_, log)
    return len(slice_)


class Views:
    """The views of one store over one log. Opening makes what is missing; it folds nothing."""

    def __init__(
        self,
        path: Path,
        log: Log,
        *,
        map_bytes: int = _MAP_BYTES,
        readonly: bool = False,
        model: str = "",
        opening: bytes = b"",
        ranker: Ranker | None = None,
    ) -> None:
        """`model` names the embedder whose vectors are to be kept, if none are kept yet, and
        `opening` is how it is opened; `ranker` orders hits in place of the one that is shipped."""
        self.log = log
        self.ranker = ranker
        self.environment = Environment(
            path,
            [META],
            points=failpoints.VIEWS,
            metasync=False,
            map_bytes=map_bytes,
            readonly=readonly,
        )
        self.rebuilding = threading.Lock()
        """Held by the one rebuild that may be under way: each drops what others left."""
        self.fresh: Live | None = None
        """What that one fills. It is set before these databases are made, and is None before they
        are dropped or take the place of the live ones."""
        self._dropping = threading.Lock()
        self._caches: dict[str, ColumnCache] = {}
        self._labels: dict[str, LabelCache] = {}
        if not readonly:
            try:
                self._drop_if_foreign()
                self.ensure(self.environment.write(lambda txn: self._name(txn, model, opening)))
            except BaseException:
                self.environment.close()  # or its folder could not be opened again
                raise

    def _drop_if_foreign(self) -> None:
        """Drop views that were folded from another log, such as one that a backup has replaced.

        They would answer with what this log does not hold, and hide what it does.
        """
        with self.environment.reading() as txn:
            live = self.read_live(txn)
        if live.sequence == 0 or self._is_of_log(live):
            return
        _log.warning("the views are not of this log: they are folded anew")
        fresh = Live(
            writes=live.writes, generation=live.generation + 1, model=live.model,
            opening=live.opening, coming=live.coming, coming_opening=live.coming_opening,
            leaving=live.leaving,
        )  # fmt: skip
        self.environment.write(lambda txn: self.save_live(txn, fresh))
        for name in set(self.environment.names()) - {META}:
            self.environment.drop_database(name)

    def _is_of_log(self, live: Live) -> bool:
        with self.log.reading() as log:
            if log.sequence() < live.sequence:
                return False
            sequence, recorded = next(log.all_events(live.sequence - 1), (0, None))
            return (
                recorded is not None
                and sequence == live.sequence
                and bytes(recorded.envelope.event_id) == live.last
            )

    def _name(self, txn: lmdb.Transaction, model: str, opening: bytes) -> Live:
        """Name the databases of views that have none yet (all, in a new store)."""
        live = self.read_live(txn)
        if WORDS not in live.names:
            live.model, live.opening = model, opening
        for name in VERSIONS.keys() - live.names.keys():
            live.names[name] = (VERSIONS[name], live.generation)
        self.save_live(txn, live)
        return live

    def ensure(self, live: Live) -> None:
        """Make the databases that `live` names and that are not there."""
        missing = set(live.databases()) - set(self.environment.names())
        if missing:
            self.environment.create_databases(missing)

    def outdated(self) -> list[str]:
        """Views whose stored rows were folded by another version of the code: to be rebuilt."""
        with self.environment.reading() as txn:
            live = self.read_live(txn)
        return [name for name, version in VERSIONS.items() if live.names[name][0] != version]

    @property
    def model(self) -> str:
        """The embedder whose vectors are kept, "" without any."""
        with self.environment.reading() as txn:
            return self.read_live(txn).model

    @property
    def opening(self) -> bytes:
        """How that embedder is opened, as whoever set it wrote down."""
        with self.environment.reading() as txn:
            return self.read_live(txn).opening

    def read_live(self, txn: lmdb.Transaction) -> Live:
        raw = txn.get(b"live", db=self.environment.db(META))
        return Live() if raw is None else msgspec.msgpack.decode(raw, type=Live)

    def save_live(self, txn: lmdb.Transaction, live: Live) -> None:
        txn.put(b"live", msgspec.msgpack.encode(live), db=self.environment.db(META))

    def handles(self, txn: lmdb.Transaction, live: Live, log: Reader, stamp: int) -> Handles:
        """Open what `live` names, for one transaction; `stamp` numbers a write (0 for a read)."""
        db = self.environment.db

        def table(view: View) -> Table[Any]:
            waiting = live.database(view.name, f"{view.name}_waiting") if view.waits else None
            return Table(view, db(live.database(view.name)), waiting and db(waiting))

        tables = {view.name: table(view) for view in VIEWS}
        name = live.database(WORDS, "columns")
        store = ColumnStore(db(name))
        cache = self._caches.get(name)
        if cache is None or cache.db is not store.db:  # none yet, or of the file before a rewrite
            cache = self._caches[name] = ColumnCache(store)
        labels = self._labels.setdefault(name, LabelCache())  # a rewrite changes no ordinal
        postings = Postings(db(live.database(WORDS, "postings")))
        contents = db(live.database(WORDS, "contents"))
        vectors = VectorStore(
            db(live.database(WORDS, "vectors")), db(live.database(WORDS, "codes"))
        )
        unembedded = db(live.database(WORDS, "unembedded"))
        models = VectorModels(live.model, live.opening, live.coming, tuple(live.leaving))
        embeddings = Embeddings(txn, store, vectors, unembedded, log, stamp, models)
        index = Index(txn, tables, postings, store, contents, log, stamp, embeddings)

        def columns(container: ContainerId) -> Columns:
            return cache.read(txn, container)

        undos = db(live.database(UNDOS, "undos"))
        positions = db(live.database(UNDOS, "positions"))
        return Handles(txn, live, tables, undos, positions, index, columns, labels, self.ranker)

    @contextmanager
    def reading(self, log: Reader | None = None) -> Iterator[ViewReader]:
        """One snapshot of the views and, unless `log` is given, one of the log taken after it."""
        while True:
            with self.environment.reading() as txn:
                live = self.read_live(txn)
                if not self.environment.readonly or self._has_opened(live):
                    if log is not None:
                        yield self._snapshot(self.handles(txn, live, log, 0), log)
                        return
                    with self.log.reading() as reader:
                        yield self._snapshot(self.handles(txn, live, reader, 0), reader)
                    return
            self.follow(anew=True)  # the owner has put rebuilt views in their place

    def _has_opened(self, live: Live) -> bool:
        return self.environment.handles.keys() >= set(live.databases())

    def follow(self, *, anew: bool = False) -> None:
        """Where another process owns the views: `Environment.follow`, and what was kept of other
        databases is let go of."""
        self.environment.follow(anew=anew)
        self.forget_columns()

    def _snapshot(self, h: Handles, log: Reader) -> ViewReader:
        return Snapshot(
            h.txn, h.tables, h.undos, h.words, log, h.live.sequence, h.positions, h.columns,
            h.labels, h.ranker,
        )  # fmt: skip

    @contextmanager
    def writing(self, log: Reader | None = None) -> Iterator[ViewWriter]:
        """One write: committed on leaving without error, else as if it had not begun.

        `log` is the open write of the log whose events are to be folded. Raises MapGrew when the
        map had to grow: then the write is to be run again (`change` does).
        """
        with self.environment.writing() as txn:
            live = self.read_live(txn)
            live.writes += 1
            if log is not None:
                writer = ViewWriter(self.handles(txn, live, log, live.writes), log)
                yield writer
                writer.index.flush()  # nothing is left, where the log was committed before
            else:
                with self.log.reading() as reader:
                    writer = ViewWriter(self.handles(txn, live, reader, live.writes), reader)
                    yield writer
                    writer.index.flush()
            self.save_live(txn, live)

    def change(self, change: Callable[[ViewWriter, Reader], T]) -> T:
        """Run a repeatable change as one write over a snapshot of the log, again if the map
        grew."""
        while True:
            try:
                with self.log.reading() as log, self.writing(log) as writer:
                    return change(writer, log)
            except MapGrew:
                continue

    def amend(self, change: Callable[[Live], object]) -> None:
        """Change what is kept of models, as one write."""
        self.change(lambda writer, log: change(writer.handles.live))

    def catch_up(self, progress: Callable[[int], None] | None = None) -> int:
        """Fold what the log has and the views have not; how many events that were.

        Where the log took the last room on the disk, it gives them the room that it keeps: without
        views nothing can be read, nor taken back. Raises StoreFull when that is not enough.
        """
        folded, more = 0, SLICE
        while more == SLICE:
            try:
                more = self.change(_next_slice)
            except StoreFull:
                if not self.log.make_way():
                    raise
                continue
            folded += more
            if progress is not None and more:
                progress(folded)
        return folded

    def bytes_used(self) -> int:
        return self.environment.bytes_used()

    def compact(self) -> None:
        """Rewrite the file without bytes that are no longer referred to, nor what a rebuild that
        was broken off has left; and what one that is under way holds of what was erased goes as
        well, which it would only come to later."""
        self.drop_strays()
        if self.fresh is not None:
            self.change(self._erase_ahead)
        self.environment.compact()
        self.forget_columns()

    def drop_strays(self) -> None:
        """Drop databases that neither the live views use nor a rebuild that is under way: of one
        that was cancelled or killed, or those that were replaced."""
        with self._dropping:
            there = set(self.environment.names())
            fresh = self.fresh
            with self.environment.reading() as txn:
                wanted = {META, *self.read_live(txn).databases()}
            if fresh is not None:
                wanted.update(fresh.databases())
            for name in there - wanted:
                self.environment.drop_database(name)

    def _erase_ahead(self, writer: ViewWriter, log: Reader) -> None:
        fresh = self.fresh
        if fresh is None or fresh.names[WORDS] == writer.handles.live.names[WORDS]:
            return
        made = self.handles(writer.txn, fresh, log, writer.handles.live.writes)
        for _, recorded in log.all_events(fresh.sequence):
            if isinstance(recorded.event, ContentErased):
                event = recorded.event
                made.words.erase(recorded.container, event.items, event.places, log)
        made.words.flush()

    def forget_columns(self) -> None:
        """Let go of cached columns: they are of databases that were replaced."""
        self._caches.clear()
        self.forget_labels()

    def forget_labels(self) -> None:
        """Let go of what was read of labels, and of what a snapshot of before still reads."""
        with self.log.reading() as log:
            sequence = log.sequence()
        for cache in [*self._labels.values()]:
            cache.clear(sequence)

    def close(self) -> None:
        self.environment.close()
