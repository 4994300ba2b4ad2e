"""The log over plain dicts: what is kept, and reading a snapshot of it.

All versions of a row are kept with the number of the write that made them, and events with their
sequence; a snapshot is two numbers. What an open write adds lies beyond them, so nobody else sees
it, and is taken out again when the write fails.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rewound.eventlog.bodies import Place, Sealed
from rewound.eventlog.envelope import GENESIS
from rewound.eventlog.errors import NotFound
from rewound.eventlog.ids import ContainerId, EventId, Ref
from rewound.eventlog.log import Answered, Head, Recorded, Tally, envelope_from, recorded_from
from rewound.eventlog.tables import ID_BYTES, checked_id, digest_key, tagged_key


class Memo(NamedTuple):
    value: bytes
    item: Ref


class Table:
    """Rows by (container, key), each with its history of (write, value or None)."""

    def __init__(self) -> None:
        self.rows: dict[tuple[bytes, Any], list[tuple[int, Any]]] = {}

    def get(self, container: bytes, key: Any, version: int) -> Any:
        for written, value in reversed(self.rows.get((container, key), ())):
            if written <= version:
                return value
        return None

    def put(self, container: bytes, key: Any, value: Any, version: int) -> Callable[[], object]:
        """Write a row, None for a deletion; gives what takes it back."""
        history = self.rows.setdefault((container, key), [])
        history.append((version, value))
        return history.pop

    def present(self, container: bytes) -> list[tuple[Any, Any]]:
        """The container's newest rows."""
        return [
            (key, history[-1][1])
            for (owner, key), history in list(self.rows.items())
            if owner == container and history and history[-1][1] is not None
        ]

    def forget_past(self) -> None:
        """Keep the newest version of each row, and no deleted row."""
        last = {key: history[-1:] for key, history in self.rows.items() if history}
        self.rows = {key: history for key, history in last.items() if history[0][1] is not None}


class State:
    """What all snapshots share. Lists only grow, but for a write that is taken back."""

    def __init__(self) -> None:
        self.now: tuple[int, int] = (0, 0)  # the last write, and the sequence it reached
        self.raws: list[bytes] = []  # by sequence - 1
        self.links: list[bytes] = []
        self.ids: dict[bytes, int] = {}
        self.chains: dict[ContainerId, list[int]] = {}  # by position - 1: sequences
        self.tags: dict[bytes, list[int]] = {}
        self.bodies, self.keys, self.known = Table(), Table(), Table()
        self.answers, self.memo = Table(), Table()


class MemoryReader:
    """One snapshot; `log.Reader` says what each method does."""

    def __init__(self, state: State, snapshot: tuple[int, int]) -> None:
        self._state = state
        self._version, self._until = snapshot

    def sequence(self) -> int:
        return min(self._until, len(self._state.raws))

    def last_recorded_at(self) -> int:
        sequence = self.sequence()
        return envelope_from(self._state.raws[sequence - 1]).recorded_at if sequence else 0

    def containers(self) -> Iterator[ContainerId]:
        for container in sorted(list(self._state.chains)):
            if self._end(container):
                yield container

    def _end(self, container: ContainerId) -> int:
        chain = self._state.chains.get(ContainerId(checked_id(container)), [])
        return bisect_right(chain, self._until)

    def head(self, container: ContainerId) -> Head:
        return self.head_at(container, self._end(container))

    def head_at(self, container: ContainerId, position: int) -> Head:
        if position == 0:
            return Head(0, GENESIS)
        sequence = self._sequence_of(container, position)
        if sequence is None:
            raise NotFound(f"the container has no event at position {position}")
        return Head(position, self._state.links[sequence - 1])

    def _sequence_of(self, container: ContainerId, position: int) -> int | None:
        if not 1 <= position <= self._end(container):
            return None
        return self._state.chains[container][position - 1]

    def key(self, container: ContainerId) -> bytes:
        key: bytes | None = self._state.keys.get(checked_id(container), None, self._version)
        if key is None:
            raise NotFound("there is no such container")
        return key

    def raw(self, container: ContainerId, position: int) -> bytes | None:
        sequence = self._sequence_of(container, position)
        return None if sequence is None else self._state.raws[sequence - 1]

    def read(self, container: ContainerId, position: int) -> Recorded | None:
        raw = self.raw(container, position)
        return None if raw is None else recorded_from(raw)

    def find(self, event_id: EventId) -> tuple[ContainerId, int] | None:
        sequence = self._state.ids.get(checked_id(event_id))
        if sequence is None or sequence > self._until:
            return None
        envelope = envelope_from(self._state.raws[sequence - 1])
        return envelope.container, envelope.position

    def events(
        self, container: ContainerId, after: int = 0, until: int | None = None
    ) -> Iterator[Recorded]:
        position = max(after, 0) + 1
        while until is None or position <= until:
            recorded = self.read(container, position)
            if recorded is None:
                return
            yield recorded
            position += 1

    def all_events(self, after: int = 0) -> Iterator[tuple[int, Recorded]]:
        sequence = after + 1
        while sequence <= self.sequence():
            yield sequence, recorded_from(self._state.raws[sequence - 1])
            sequence += 1

    def tagged(self, container: ContainerId, tag: bytes, after: int = 0) -> list[int]:
        positions = self._state.tags.get(tagged_key(container, tag), [])
        end = bisect_right(positions, self._end(container))
        return positions[bisect_right(positions, after, hi=end) : end]

    def has_tag(self, container: ContainerId, tag: bytes, position: int) -> bool:
        return self.tagged(container, tag, position - 1)[:1] == [position]

    def position_at(self, container: ContainerId, at_us: int) -> int:
        def recorded_at(sequence: int) -> int:
            return envelope_from(self._state.raws[sequence - 1]).recorded_at

        chain, end = self._state.chains.get(container, []), self._end(container)
        return bisect_right(chain, at_us, hi=end, key=recorded_at)

    def sealed(self, container: ContainerId, place: Place) -> Sealed | None:
        if self._sequence_of(container, place.at) is None:
            return None
        found: Sealed | None = self._state.bodies.get(container, place, self._version)
        return found

    def body(self, container: bytes, place: Place) -> bytes | None:
        sealed = self.sealed(ContainerId(container), place)
        return None if sealed is None else sealed.content

    def known(self, container: ContainerId, digest: bytes) -> list[Ref]:
        digest_key(container, digest)
        return list(self._state.known.get(container, digest, self._version) or ())

    def answered(self, container: ContainerId, key: bytes) -> Answered | None:
        digest_key(container, key)
        found: Answered | None = self._state.answers.get(container, key, self._version)
        return found

    def memo(self, container: ContainerId, key: bytes) -> bytes | None:
        digest_key(container, key)
        memo: Memo | None = self._state.memo.get(container, key, self._version)
        return None if memo is None else memo.value

    def tally(self) -> Tally:
        tags = sum(
            bisect_right(positions, self._end(ContainerId(key[:ID_BYTES])))
            for key, positions in list(self._state.tags.items())
        )
        positions = sum(self._end(container) for container in list(self._state.chains))
        bodies = sum(
            self._state.bodies.get(container, key, self._version) is not None
            for container, key in list(self._state.bodies.rows)
        )
        ids = sum(sequence <= self._until for sequence in list(self._state.ids.values()))
        return Tally(self.sequence(), positions, ids, tags, bodies)
