"""The log over plain dicts: nothing on disk, fast, for tests."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rewound.eventlog import envelope as envelopes
from rewound.eventlog.bodies import Place
from rewound.eventlog.clock import Clock
from rewound.eventlog.envelope import PERSON, Actor, Envelope
from rewound.eventlog.errors import Conflict, StoreBusy
from rewound.eventlog.ids import ContainerId, GroupId, IdSource, Ref
from rewound.eventlog.log import Answered, Draft, Head, Recorded
from rewound.eventlog.memory_reader import Memo, MemoryReader, State, Table
from rewound.eventlog.stamping import ids_for, stamp
from rewound.eventlog.tables import checked_id, digest_key

_EVERYTHING = 1 << 62

T = TypeVar("T")


class MemoryWriter(MemoryReader):
    """The one open write; `log.Writer` says what each method does. For one thread."""

    def __init__(self, state: State, clock: Clock, ids: IdSource) -> None:
        super().__init__(state, (_EVERYTHING, _EVERYTHING))
        self._clock = clock
        self._ids = ids
        self._write = state.now[0] + 1
        self._thread = threading.get_ident()
        self._closed = False
        self._back: list[Callable[[], object]] = []  # takes back what was written, last first
        self.erased = False

    def key(self, container: ContainerId) -> bytes:
        self._check()
        key: bytes | None = self._state.keys.get(checked_id(container), None, self._version)
        if key is None:
            key = self._ids.salt() + self._ids.salt()
            self._put(self._state.keys, container, None, key)
        return key

    def append(
        self,
        container: ContainerId,
        drafts: Sequence[Draft],
        *,
        actor: Actor = PERSON,
        group: GroupId | None = None,
    ) -> list[Recorded]:
        self._check()
        head = self.head(container)
        if head.position == 0 and drafts:
            self.key(container)
        at = max(self._clock.now_us(), self.last_recorded_at() + 1)
        event_ids = ids_for([draft.event_id for draft in drafts], self._ids)
        if len({*event_ids}) < len(drafts) or any(i in self._state.ids for i in event_ids):
            raise Conflict("an event with this id is in the log already")
        recorded: list[Recorded] = []
        for index, (draft, event_id) in enumerate(zip(drafts, event_ids, strict=True)):
            group = group or GroupId(event_id)
            position = head.position + 1 + index
            envelope = stamp(draft, event_id, container, position, at + index, actor, group)
            recorded.append(Recorded(envelope, draft.event))
        for each, draft in zip(recorded, drafts, strict=True):
            head = self._record(head, each.envelope, draft)
        return recorded

    def _record(self, head: Head, envelope: Envelope, draft: Draft) -> Head:
        """Put one event; the container's head with it."""
        state, back, container = self._state, self._back, envelope.container
        raw = envelopes.encode(envelope)
        head = Head(envelope.position, envelopes.chain(head.digest, raw))
        event = draft.event
        state.ids[envelope.event_id] = len(state.raws) + 1
        back.append(lambda: state.ids.pop(envelope.event_id))
        for tag in envelopes.tags_of(envelope, event.creates(), event.refers()):
            _append(state.tags.setdefault(container + tag, []), envelope.position, back)
        for slot, sealed in enumerate(draft.bodies):
            self._put(state.bodies, container, Place(envelope.position, slot), sealed)
        _append(state.raws, raw, back)
        _append(state.links, head.digest, back)
        _append(state.chains.setdefault(container, []), len(state.raws), back)
        return head

    def file(self, container: ContainerId, digest: bytes, item: Ref) -> None:
        self._check()
        known = self.known(container, digest)
        if item not in known:
            self._put(self._state.known, container, digest, (*known, item))

    def answer(self, container: ContainerId, key: bytes, answered: Answered) -> None:
        self._check()
        digest_key(container, key)
        self._put(self._state.answers, container, key, answered)

    def put_memo(self, container: ContainerId, key: bytes, value: bytes, item: Ref) -> None:
        self._check()
        digest_key(container, key)
        self._put(self._state.memo, container, key, Memo(value, item))

    def drop_memo(self, container: ContainerId, key: bytes) -> bool:
        self._check()
        digest_key(container, key)
        if self.memo(container, key) is None:
            return False
        self._put(self._state.memo, container, key, None)
        return True

    def erase(self, container: ContainerId, places: Iterable[Place], items: Iterable[Ref]) -> int:
        self._check()
        state, placed, gone = self._state, set(places), set(items)
        there = [place for place in placed if self.sealed(container, place) is not None]
        for place in there:
            self._put(state.bodies, container, place, None)
        for digest, known in state.known.present(container):
            left = tuple(item for item in known if item not in gone)
            if left != known:
                self._put(state.known, container, digest, left or None)
        for key, memo in state.memo.present(container):
            if memo.item in gone:
                self._put(state.memo, container, key, None)
        for key, answered in state.answers.present(container):
            first, last = answered.positions
            if any(first <= place.at <= last for place in placed):
                self._put(state.answers, container, key, None)
        self.erased = True
        return len(there)

    def close(self, *, keep: bool) -> None:
        """Nothing can be written any more; without `keep`, nothing was."""
        self._closed = True
        if keep:
            self._state.now = (self._write, len(self._state.raws))
        else:
            for take_back in reversed(self._back):
                take_back()

    def _put(self, table: Table, container: bytes, key: object, value: object) -> None:
        self._back.append(table.put(container, key, value, self._write))

    def _check(self) -> None:
        if self._closed or threading.get_ident() != self._thread:
            raise RuntimeError("a write is for one thread, and ends with its `with` block")


class MemoryLog:
    """A `log.Log` in this process's memory. Safe for any number of threads."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        self._clock = clock
        self._ids = ids
        self._state = State()
        self._turn = threading.Lock()
        self._erased = False
        self._closed = False

    @property
    def ids(self) -> IdSource:
        return self._ids

    @contextmanager
    def reading(self) -> Iterator[MemoryReader]:
        self._check()
        yield MemoryReader(self._state, self._state.now)

    @contextmanager
    def writing(self, *, urgent: bool = False) -> Iterator[MemoryWriter]:
        del urgent  # memory has no room to keep back
        with self._turn:
            self._check()
            writer = MemoryWriter(self._state, self._clock, self._ids)
            keep = False
            try:
                yield writer
                keep = True
            finally:
                writer.close(keep=keep)
            self._erased |= writer.erased

    def make_way(self) -> bool:
        return False

    def needs_compaction(self) -> bool:
        return self._erased

    def compact(self) -> None:
        """Let go of the past of every row; a snapshot that is open may miss what was erased."""
        with self._turn:
            self._check()
            state = self._state
            for table in (state.bodies, state.keys, state.known, state.answers, state.memo):
                table.forget_past()
            self._erased = False

    def close(self) -> None:
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise StoreBusy("the store is closed")


def _append(rows: list[T], row: T, back: list[Callable[[], object]]) -> None:
    rows.append(row)
    back.append(rows.pop)
