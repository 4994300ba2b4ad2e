"""Writing a group of events into one LMDB transaction.

Rows of the large tables are gathered and put many at a time: at the end, or before a read of the
table they belong to.
"""

import hashlib
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import lmdb
import msgspec

from rewound.eventlog import envelope as envelopes
from rewound.eventlog import registry
from rewound.eventlog.bodies import Place
from rewound.eventlog.clock import Clock
from rewound.eventlog.envelope import PERSON, Actor, Envelope
from rewound.eventlog.errors import Conflict, Damaged
from rewound.eventlog.failpoints import LOG_BETWEEN_TABLES, failpoint
from rewound.eventlog.ids import ContainerId, GroupId, IdSource, Kind, Ref, several
from rewound.eventlog.lmdb_reader import LmdbReader
from rewound.eventlog.log import Answered, Draft, Head, Recorded
from rewound.eventlog.tables import (
    ANSWERS,
    BODIES,
    COMPACTION,
    EVENT_IDS,
    EVENTS,
    KEYS,
    KNOWN,
    MEMO,
    META,
    POSITIONS,
    SPAN,
    TAG_BYTES,
    TAGS,
    checked_id,
    digest_key,
    number,
    pack8,
    pack_body,
    pack_positions,
)

GATHERED = (EVENTS, BODIES, EVENT_IDS, POSITIONS, TAGS)
"""Tables whose rows are gathered: those of the events."""
_APPENDED = (EVENTS, BODIES)

Row = tuple[bytes, bytes]
Change = tuple[str, Sequence[tuple[bytes, bytes | None]]]
"""A table, and rows put into it; a row without a value was deleted."""

_sha256 = hashlib.sha256
_KINDS = [bytes((kind,)) for kind in range(max(Kind) + 1)]
_raw = msgspec.Raw
_tuple = tuple.__new__  # what a NamedTuple does itself, without the call in between
_FORMAT = envelopes.FORMAT
_encode_answered = msgspec.msgpack.Encoder().encode


class Tip(NamedTuple):
    """The end of the log as a write left it, good for the very next write transaction."""

    txn_id: int
    sequence: int
    last_at: int
    heads: dict[ContainerId, Head]


NO_TIP = Tip(-1, 0, 0, {})
_HEADS_MAX = 10_000


class LmdbWriter(LmdbReader):
    """The one open write; `log.Writer` says what each method does. For one thread."""

    def __init__(
        self,
        txn: "lmdb.Transaction[bytes]",
        handles: dict[str, lmdb._Database],
        clock: Clock,
        ids: IdSource,
        tip: Tip,
    ) -> None:
        """`tip` is what the last writer left, to be believed if nobody has written since."""
        super().__init__(txn, handles)
        self._clock = clock
        self._ids = ids
        self._thread = threading.get_ident()
        self._rows: dict[str, list[Row]] = {table: [] for table in GATHERED}
        self._tags: dict[bytes, list[int]] = {}
        self._heads: dict[ContainerId, Head] = {}
        self._kinds: dict[ContainerId, list[bytes]] = {}  # what keys of tags begin with, by kind
        self._closed = False
        self.changes: list[Change] = []
        """What was written, for a copy of the store that is being made meanwhile."""
        self._txn_id = txn.id()
        if self._txn_id == tip.txn_id + 1:
            self._sequence, self._last_at = tip.sequence, tip.last_at
            self._known_heads = tip.heads
        else:
            self._sequence, self._last_at = self._last()
            self._known_heads = {}

    # --- reading one's own appends

    def _db(self, table: str) -> lmdb._Database:
        if self._rows.get(table) or (table == TAGS and self._tags):
            self._flush(table)
        return self._handles[table]

    def head(self, container: ContainerId) -> Head:
        head = self._heads.get(container) or self._known_heads.get(container)
        if head is None:
            head = self._known_heads[container] = super().head(container)
        return head

    def tip(self) -> Tip:
        """What the next writer need not look up, once this one is committed."""
        heads = self._known_heads if len(self._known_heads) < _HEADS_MAX else {}
        heads.update(self._heads)
        return Tip(self._txn_id, self._sequence, self._last_at, heads)

    def sequence(self) -> int:
        return self._sequence

    def last_recorded_at(self) -> int:
        return self._last_at

    def key(self, container: ContainerId) -> bytes:
        self._check()
        key = self._txn.get(checked_id(container), db=self._db(KEYS))
        if key is None:
            key = self._ids.salt() + self._ids.salt()
            self._put(KEYS, container, key)
        return key

    # --- writing

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
        rows = self._rows
        lengths = [len(gathered) for gathered in rows.values()]
        try:
            recorded, tagged, link = self._encode(container, head, drafts, actor, group)
        except BaseException:
            # A draft that cannot be encoded leaves nothing of its group behind.
            for gathered, length in zip(rows.values(), lengths, strict=True):
                del gathered[length:]
            raise
        gather = self._tags.setdefault
        for position, keys in enumerate(tagged, head.position + 1):
            for key in keys:
                positions = gather(key, [])
                if not positions or positions[-1] != position:
                    positions.append(position)
        if recorded:
            self._sequence += len(recorded)
            self._last_at = recorded[-1].envelope.recorded_at
            self._heads[container] = Head(head.position + len(recorded), link)
        return recorded

    def _encode(
        self,
        container: ContainerId,
        head: Head,
        drafts: Sequence[Draft],
        actor: Actor,
        group: GroupId | None,
    ) -> tuple[list[Recorded], list[list[bytes]], bytes]:
        """Gather the events' rows; the events, the keys of their tags, the chain's new value."""
        position, link = head
        sequence = self._sequence
        at = max(self._clock.now_us(), self._last_at + 1) - 1
        new_id = self._ids.new if len(drafts) == 1 else _new_ids(self._ids, drafts)
        kinds = self._kinds.get(container) or self._kinds_of(container)
        encode, encode_envelope, rows = registry.encode, envelopes.encode, self._rows
        events, bodies, positions = rows[EVENTS], rows[BODIES], rows[POSITIONS]
        event_ids = rows[EVENT_IDS]
        recorded: list[Recorded] = []
        tagged: list[list[bytes]] = []
        group_id: Any = group
        for event, sealed, causes, scope, given in drafts:
            event_id: Any = new_id() if given is None else checked_id(given)
            group_id = group_id or event_id
            position += 1
            sequence += 1
            at += 1
            name, schema, payload = encode(event)
            raw_payload = _raw(payload)
            envelope = Envelope(
                _FORMAT, position, event_id, at, container, scope, actor, causes, group_id,
                name, schema, raw_payload,
            )  # fmt: skip
            raw = encode_envelope(envelope)
            link = _sha256(link + raw).digest()  # envelope.chain, in one call
            key = pack8(sequence)
            events.append((key, raw))
            event_ids.append((event_id, key))
            positions.append((container + pack8(position), key + link))
            for slot, (salt, content) in enumerate(sealed):
                bodies.append((pack_body(sequence, slot), salt + content))
            recorded.append(_tuple(Recorded, (envelope, event)))
            keys = [kinds[ref.kind] + ref.id for ref in event.creates() + event.refers()]
            if causes or group_id is not event_id:
                keys += _more_keys(kinds, event_id, causes, group_id)
            tagged.append(keys)
        return recorded, tagged, link

    def _kinds_of(self, container: ContainerId) -> list[bytes]:
        kinds = self._kinds[container] = [container + kind for kind in _KINDS]
        return kinds

    def file(self, container: ContainerId, digest: bytes, item: Ref) -> None:
        self._check()
        prefix = digest_key(container, digest)
        orders = [number(order) for _, order in self._beginning(KNOWN, prefix)]
        order = max(orders, default=-1) + 1
        self._put(KNOWN, prefix + item.key(), pack8(order), overwrite=False)

    def answer(self, container: ContainerId, key: bytes, answered: Answered) -> None:
        self._check()
        row = SPAN.pack(*answered.positions) + _encode_answered(answered)
        self._put(ANSWERS, digest_key(container, key), row)

    def put_memo(self, container: ContainerId, key: bytes, value: bytes, item: Ref) -> None:
        self._check()
        self._put(MEMO, digest_key(container, key), item.key() + value)

    def erase(self, container: ContainerId, places: Iterable[Place], items: Iterable[Ref]) -> int:
        # What was filed is looked through row by row: erasing is rare and batched, while an index
        # by item would be one more row for every item written.
        self._check()
        placed, gone = set(places), {item.key() for item in items}
        prefix, positions = checked_id(container), sorted({place.at for place in placed})
        removed = self._delete(BODIES, [key for p in placed if (key := self._body_key(prefix, p))])
        known = self._beginning(KNOWN, prefix)
        self._delete(KNOWN, [key for key, _ in known if key[-TAG_BYTES:] in gone])
        memo = self._beginning(MEMO, prefix)
        self._delete(MEMO, [key for key, row in memo if row[:TAG_BYTES] in gone])
        answers = self._beginning(ANSWERS, prefix)
        self._delete(ANSWERS, [key for key, row in answers if _covers(row, positions)])
        self._put(META, COMPACTION, b"pending")
        return removed

    # --- ending

    def flush(self) -> None:
        """Put all that is gathered. Raises lmdb.Error, Conflict, Damaged."""
        for table in GATHERED:
            self._flush(table)
            failpoint(LOG_BETWEEN_TABLES)

    def close(self) -> None:
        """Nothing can be written any more."""
        self._closed = True

    def _check(self) -> None:
        if self._closed or threading.get_ident() != self._thread:
            raise RuntimeError("a write is for one thread, and ends with its `with` block")

    def _flush(self, table: str) -> None:
        """Put the rows gathered for a table, in the order of their keys."""
        if table == TAGS:
            tags, self._tags = self._tags, {}
            rows = [(key + pack8(at[0]), pack_positions(at[1:])) for key, at in tags.items()]
        else:
            rows, self._rows[table] = self._rows[table], []
        if not rows:
            return
        if table not in _APPENDED:
            rows.sort()
        append, handle = table in _APPENDED, self._handles[table]
        if len(rows) == 1:
            ((key, value),) = rows
            added = int(self._txn.put(key, value, overwrite=False, append=append, db=handle))
        else:
            with self._txn.cursor(handle) as cursor:
                _, added = cursor.putmulti(rows, overwrite=False, append=append)
        if added != len(rows):
            if table == EVENT_IDS:
                raise Conflict("an event with this id is in the log already")
            raise Damaged(f"rows of {table} are in the way of the next ones")
        self.changes.append((table, rows))

    def _put(self, table: str, key: bytes, value: bytes, *, overwrite: bool = True) -> None:
        if self._txn.put(key, value, overwrite=overwrite, db=self._db(table)):
            self.changes.append((table, [(key, value)]))

    def _delete(self, table: str, keys: list[bytes]) -> int:
        """How many of the keys were there."""
        db = self._db(table)
        there = [key for key in keys if self._txn.delete(key, db=db)]
        self.changes.append((table, [(key, None) for key in there]))
        return len(there)


def _more_keys(
    kinds: list[bytes], event_id: bytes, causes: Sequence[bytes], group: bytes
) -> list[bytes]:
    """Keys of an event's tags that do not come from its items, given the container's by kind.

    With its caller this says `envelope.tags_of` again, without a list for each event and with
    repeats left in, since it is asked so often: `verify` holds the two together.
    """
    keys = [kinds[Kind.EVENT] + cause for cause in causes]
    if group != event_id:
        keys.append(kinds[Kind.GROUP] + group)
    return keys


def _new_ids(ids: IdSource, drafts: Sequence[Draft]) -> Callable[[], bytes]:
    """Gives an id for each draft that has none, all drawn at once."""
    return iter(several(ids, sum(draft.event_id is None for draft in drafts))).__next__


def _covers(answer: bytes, positions: list[int]) -> bool:
    """Whether any of the positions, in order, lies in the span that an answer row begins with."""
    first, last = SPAN.unpack_from(answer)
    index = bisect_left(positions, first)
    return index < len(positions) and positions[index] <= last
