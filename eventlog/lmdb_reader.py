"""Reading the log from one LMDB transaction."""

from collections.abc import Iterator

import lmdb
import msgspec

from rewound.eventlog.bodies import SALT_BYTES, Place, Sealed
from rewound.eventlog.envelope import GENESIS
from rewound.eventlog.errors import Damaged, NotFound
from rewound.eventlog.ids import ContainerId, EventId, Kind, Ref
from rewound.eventlog.log import Answered, Head, Recorded, Tally, envelope_from, recorded_from
from rewound.eventlog.tables import (
    ANSWERS,
    BODIES,
    EVENT_IDS,
    EVENTS,
    ID_BYTES,
    KEYS,
    KNOWN,
    MEMO,
    POSITIONS,
    SEQUENCE_BYTES,
    SLOT_MAX,
    SPAN,
    TAG_BYTES,
    TAGS,
    checked_id,
    digest_key,
    number,
    pack8,
    pack_body,
    tagged_key,
    unpack_positions,
)

_END = b"\xff" * SEQUENCE_BYTES  # no position is that high
_decode_answered = msgspec.msgpack.Decoder(Answered).decode


class LmdbReader:
    """One snapshot of the log; `log.Reader` says what each method does.

    Values are copied out of the map (they are small), so nothing read outlives its memory.
    """

    def __init__(self, txn: "lmdb.Transaction[bytes]", handles: dict[str, lmdb._Database]) -> None:
        self._txn = txn
        self._handles = handles

    def _db(self, table: str) -> lmdb._Database:
        return self._handles[table]

    # --- chains and containers

    def head(self, container: ContainerId) -> Head:
        with self._txn.cursor(self._db(POSITIONS)) as cursor:
            there = cursor.set_range(checked_id(container) + _END)
            if (cursor.prev() if there else cursor.last()) and cursor.key().startswith(container):
                return Head(number(cursor.key()[ID_BYTES:]), cursor.value()[SEQUENCE_BYTES:])
        return Head(0, GENESIS)

    def head_at(self, container: ContainerId, position: int) -> Head:
        if position == 0:
            return Head(0, GENESIS)
        row = self._row(container, position)
        if row is None:
            raise NotFound(f"the container has no event at position {position}")
        return Head(position, row[SEQUENCE_BYTES:])

    def containers(self) -> Iterator[ContainerId]:
        with self._txn.cursor(self._db(POSITIONS)) as cursor:
            more = cursor.first()
            while more:
                container = cursor.key()[:ID_BYTES]
                yield ContainerId(container)
                more = cursor.set_range(container + _END)

    def key(self, container: ContainerId) -> bytes:
        key = self._txn.get(checked_id(container), db=self._db(KEYS))
        if key is None:
            raise NotFound("there is no such container")
        return key

    # --- events

    def _row(self, container: bytes, position: int) -> bytes | None:
        """The row of a position: sequence and chain digest."""
        if position < 1:
            return None
        return self._txn.get(checked_id(container) + pack8(position), db=self._db(POSITIONS))

    def raw(self, container: ContainerId, position: int) -> bytes | None:
        row = self._row(container, position)
        return None if row is None else self._txn.get(row[:SEQUENCE_BYTES], db=self._db(EVENTS))

    def read(self, container: ContainerId, position: int) -> Recorded | None:
        raw = self.raw(container, position)
        return None if raw is None else recorded_from(raw)

    def find(self, event_id: EventId) -> tuple[ContainerId, int] | None:
        sequence = self._txn.get(checked_id(event_id), db=self._db(EVENT_IDS))
        raw = sequence and self._txn.get(sequence, db=self._db(EVENTS))
        if not raw:
            return None
        envelope = envelope_from(raw)
        return envelope.container, envelope.position

    def events(
        self, container: ContainerId, after: int = 0, until: int | None = None
    ) -> Iterator[Recorded]:
        start = checked_id(container) + pack8(max(after, 0) + 1)
        end = container + (_END if until is None else pack8(max(until, 0)))
        with self._txn.cursor(self._db(POSITIONS)) as cursor:
            events, get = self._db(EVENTS), self._txn.get
            more = cursor.set_range(start)
            while more and cursor.key() <= end:
                raw = get(cursor.value()[:SEQUENCE_BYTES], db=events)
                if raw is None:
                    raise Damaged(
                        f"the event at position {number(cursor.key()[ID_BYTES:])} is gone"
                    )
                yield recorded_from(raw)
                more = cursor.next()

    def all_events(self, after: int = 0) -> Iterator[tuple[int, Recorded]]:
        with self._txn.cursor(self._db(EVENTS)) as cursor:
            if cursor.set_range(pack8(after + 1)):
                for key, raw in cursor:
                    yield number(key), recorded_from(raw)

    def sequence(self) -> int:
        with self._txn.cursor(self._db(EVENTS)) as cursor:
            return number(cursor.key()) if cursor.last() else 0

    def last_recorded_at(self) -> int:
        return self._last()[1]

    def _last(self) -> tuple[int, int]:
        """Sequence and time of the last event, zeros in an empty log."""
        with self._txn.cursor(self._db(EVENTS)) as cursor:
            if not cursor.last():
                return 0, 0
            return number(cursor.key()), envelope_from(cursor.value()).recorded_at

    def position_at(self, container: ContainerId, at_us: int) -> int:
        low, high = 0, self.head(container).position
        while low < high:
            middle = (low + high + 1) // 2
            raw = self.raw(container, middle)
            if raw is None:
                raise Damaged(f"the event at position {middle} is gone")
            if envelope_from(raw).recorded_at <= at_us:
                low = middle
            else:
                high = middle - 1
        return low

    # --- tags

    def tagged(self, container: ContainerId, tag: bytes, after: int = 0) -> list[int]:
        prefix = tagged_key(container, tag)
        after = max(after, 0)
        found: list[int] = []
        with self._txn.cursor(self._db(TAGS)) as cursor:
            if after and _last_to(cursor, prefix + pack8(after), prefix):
                found += (p for p in unpack_positions(cursor.value()) if p > after)
            if cursor.set_range(prefix + pack8(after + 1)):
                for key, further in cursor:
                    if not key.startswith(prefix):
                        break
                    found.append(number(key[len(prefix) :]))
                    if further:
                        found += unpack_positions(further)
        return found

    def has_tag(self, container: ContainerId, tag: bytes, position: int) -> bool:
        prefix = tagged_key(container, tag)
        key = prefix + pack8(position)
        with self._txn.cursor(self._db(TAGS)) as cursor:
            return _last_to(cursor, key, prefix) and (
                cursor.key() == key or position in unpack_positions(cursor.value())
            )

    # --- bodies

    def _body_key(self, container: bytes, place: Place) -> bytes | None:
        row = self._row(container, place.at) if 0 <= place.slot <= SLOT_MAX else None
        return None if row is None else pack_body(number(row[:SEQUENCE_BYTES]), place.slot)

    def sealed(self, container: ContainerId, place: Place) -> Sealed | None:
        key = self._body_key(container, place)
        stored = None if key is None else self._txn.get(key, db=self._db(BODIES))
        return None if stored is None else Sealed(stored[:SALT_BYTES], stored[SALT_BYTES:])

    def body(self, container: bytes, place: Place) -> bytes | None:
        sealed = self.sealed(ContainerId(container), place)
        return None if sealed is None else sealed.content

    # --- what was filed

    def _beginning(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows whose keys begin with `prefix`, in order."""
        with self._txn.cursor(self._db(table)) as cursor:
            if cursor.set_range(prefix):
                for key, value in cursor:
                    if not key.startswith(prefix):
                        return
                    yield key, value

    def known(self, container: ContainerId, digest: bytes) -> list[Ref]:
        prefix = digest_key(container, digest)
        filed = sorted((order, key) for key, order in self._beginning(KNOWN, prefix))
        return [Ref(Kind(key[-TAG_BYTES]), key[-ID_BYTES:]) for _, key in filed]

    def answered(self, container: ContainerId, key: bytes) -> Answered | None:
        stored = self._txn.get(digest_key(container, key), db=self._db(ANSWERS))
        return None if stored is None else _decode_answered(stored[SPAN.size :])

    def memo(self, container: ContainerId, key: bytes) -> bytes | None:
        stored = self._txn.get(digest_key(container, key), db=self._db(MEMO))
        return None if stored is None else stored[TAG_BYTES:]

    # --- for verify

    def tally(self) -> Tally:
        def rows(table: str) -> int:
            return self._txn.stat(self._db(table))["entries"]

        with self._txn.cursor(self._db(TAGS)) as cursor:
            tags = sum(1 + len(further) // SEQUENCE_BYTES for _, further in cursor)
        return Tally(rows(EVENTS), rows(POSITIONS), rows(EVENT_IDS), tags, rows(BODIES))


def _last_to(cursor: "lmdb.Cursor[bytes]", key: bytes, prefix: bytes) -> bool:
    """Move to the last row up to `key`; whether it begins with `prefix`."""
    if cursor.set_range(key):
        there = cursor.key() == key or cursor.prev()
    else:
        there = cursor.last()
    return there and cursor.key().startswith(prefix)
