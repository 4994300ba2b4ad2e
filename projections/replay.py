"""The store as it was: views folded from the beginning of the log to a moment, independently.

Rows are folded up to the moment; then today's overlay (what is forgotten and erased) is laid over
them, since a forgotten item shows on no day.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from rewound.eventlog.bodies import Place, Sealed
from rewound.eventlog.ids import ContainerId, EventId, Ref
from rewound.eventlog.instants import MAX_US
from rewound.eventlog.log import Answered, Head, Log, Reader, Recorded
from rewound.projections.fold import Folder
from rewound.projections.views import SLICE, Views, ViewWriter

OVERLAYS = ("hidden", "masks")


class CutReader:
    """A log that ends at a store-wide sequence. `heads` are the containers' positions there."""

    def __init__(self, log: Reader, until: int, heads: dict[ContainerId, int]) -> None:
        self._log = log
        self._until = until
        self._heads = heads

    def _end(self, container: ContainerId) -> int:
        return self._heads.get(container, 0)

    def head(self, container: ContainerId) -> Head:
        return self._log.head_at(container, self._end(container))

    def head_at(self, container: ContainerId, position: int) -> Head:
        return self._log.head_at(container, position)

    def containers(self) -> Iterator[ContainerId]:
        return iter(sorted(self._heads))

    def key(self, container: ContainerId) -> bytes:
        return self._log.key(container)

    def raw(self, container: ContainerId, position: int) -> bytes | None:
        return None if position > self._end(container) else self._log.raw(container, position)

    def read(self, container: ContainerId, position: int) -> Recorded | None:
        return None if position > self._end(container) else self._log.read(container, position)

    def find(self, event_id: EventId) -> tuple[ContainerId, int] | None:
        found = self._log.find(event_id)
        return found if found and found[1] <= self._end(found[0]) else None

    def events(
        self, container: ContainerId, after: int = 0, until: int | None = None
    ) -> Iterator[Recorded]:
        end = self._end(container)
        return self._log.events(container, after, end if until is None else min(until, end))

    def all_events(self, after: int = 0) -> Iterator[tuple[int, Recorded]]:
        for sequence, recorded in self._log.all_events(after):
            if sequence > self._until:
                return
            yield sequence, recorded

    def sequence(self) -> int:
        return min(self._until, self._log.sequence())

    def last_recorded_at(self) -> int:
        return self._log.last_recorded_at()

    def tagged(self, container: ContainerId, tag: bytes, after: int = 0) -> list[int]:
        end = self._end(container)
        return [p for p in self._log.tagged(container, tag, after) if p <= end]

    def position_at(self, container: ContainerId, at_us: int) -> int:
        return min(self._log.position_at(container, at_us), self._end(container))

    def body(self, container: bytes, place: Place) -> bytes | None:
        return self._log.body(container, place)

    def sealed(self, container: ContainerId, place: Place) -> Sealed | None:
        return self._log.sealed(container, place)

    def known(self, container: ContainerId, digest: bytes) -> list[Ref]:
        return self._log.known(container, digest)

    def answered(self, container: ContainerId, key: bytes) -> Answered | None:
        return self._log.answered(container, key)

    def memo(self, container: ContainerId, key: bytes) -> bytes | None:
        return self._log.memo(container, key)


class Replay(NamedTuple):
    """How many events were folded, and the store-wide sequence of the last of them."""

    events: int
    sequence: int


def replay(
    views: Views, log: Log, until_us: int, progress: Callable[[int], None] | None = None
) -> Replay:
    """Fill fresh, empty views with all that was recorded up to a time (no two events share one).

    The overlays are folded from the whole log.
    """
    rows = _pass(views, log, until_us, lambda name: name not in OVERLAYS, progress)
    _pass(views, log, MAX_US, lambda name: name in OVERLAYS, None)
    return rows


def _pass(
    views: Views,
    log: Log,
    until_us: int,
    chosen: Callable[[str], bool],
    progress: Callable[[int], None] | None,
) -> Replay:
    done = Replay(0, 0)
    while True:
        step = partial(_step, after=done.sequence, until_us=until_us, chosen=chosen)
        count, reached = views.change(step)
        if not count:
            return done
        done = Replay(done.events + count, reached)
        if progress is not None:
            progress(done.events)


def _step(
    writer: ViewWriter, log: Reader, *, after: int, until_us: int, chosen: Callable[[str], bool]
) -> Replay:
    """One slice: how many events, and the sequence reached."""
    read = islice(log.all_events(after), SLICE)
    slice_ = [pair for pair in read if pair[1].envelope.recorded_at <= until_us]
    if not slice_:
        return Replay(0, after)
    handles = writer.handles
    tables: dict[str, Any] = {n: table for n, table in handles.tables.items() if chosen(n)}
    events = [event for _, event in slice_]
    Folder(writer.txn, tables, handles.undos, log, handles.words).fold(events)
    if not chosen(OVERLAYS[0]):
        writer.advance(events, slice_[-1][0])
    return Replay(len(slice_), slice_[-1][0])


def cut(views: Views, log: Reader, replayed: Replay) -> CutReader:
    """The log as it was then, for reading the replayed views."""
    with views.reading(log) as reader:
        return CutReader(log, replayed.sequence, reader.positions())
