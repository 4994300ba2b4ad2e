"""Writing a group of events into one LMDB transaction.

Rows of the large tables are gathered and put many at a time: at the end, or before a read of the
table they belong to.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from operator import add
from typing import NamedTuple

import lmdb
import msgspec

from rewound.eventlog import envelope as envelopes
from rewound.eventlog.bodies import Place
from rewound.eventlog.clock import Clock
from rewound.eventlog.envelope import PERSON, Actor, Envelope
from rewound.eventlog.errors import Conflict, Damaged
from rewound.eventlog.events import Event
from rewound.eventlog.failpoints import LOG_BETWEEN_TABLES, failpoint
from rewound.eventlog.ids import ContainerId, EventId, GroupId, IdSource, Ref
from rewound.eventlog.lmdb_reader import LmdbReader
from rewound.eventlog.log import Answered, Draft, Head, Recorded
from rewound.eventlog.stamping import columns_of, ids_for, stamp, stamp_many, tag_positions
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

_recorded: Callable[[tuple[Envelope, Event]], Recorded] = partial(tuple.__new__, Recorded)
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
        if not drafts:
            return []
        head = self.head(container)
        if head.position == 0:
            self.key(container)
        at = max(self._clock.now_us(), self._last_at + 1)
        if len(drafts) == 1:
            recorded = [self._append_one(container, head, drafts[0], at, actor, group)]
        else:
            recorded = self._append_many(container, head, drafts, at, actor, group)
        self._sequence += len(drafts)
        self._last_at = at + len(drafts) - 1
        return recorded

    def _append_one(
        self,
        container: ContainerId,
        head: Head,
        draft: Draft,
        at: int,
        actor: Actor,
        group: GroupId | None,
    ) -> Recorded:
        """Most appends are of one event, and then nothing is to be made for many."""
        event, given = draft.event, draft.event_id
        event_id = EventId(self._ids.new() if given is None else checked_id(given))
        position, sequence = head.position + 1, self._sequence + 1
        envelope = stamp(
            draft, event_id, container, position, at, actor, group or GroupId(event_id)
        )
        raw = envelopes.encode(envelope)
        link = envelopes.chain(head.digest, raw)
        tags = envelopes.tags_of(envelope, event.creates(), event.refers())
        bodies = [
            (pack_body(sequence, slot), salt + content)
            for slot, (salt, content) in enumerate(draft.bodies)
        ]
        # Only now, so that a draft that cannot be encoded leaves nothing behind.
        key, rows = pack8(sequence), self._rows
        rows[EVENTS].append((key, raw))
        rows[EVENT_IDS].append((event_id, key))
        rows[POSITIONS].append((container + pack8(position), key + link))
        rows[BODIES] += bodies
        for tag in tags:
            self._tags.setdefault(container + tag, []).append(position)
        self._heads[container] = Head(position, link)
        return Recorded(envelope, event)

    def _append_many(
        self,
        container: ContainerId,
        head: Head,
        drafts: Sequence[Draft],
        at: int,
        actor: Actor,
        group: GroupId | None,
    ) -> list[Recorded]:
        """The same for several at once, in C where it can be."""
        columns = columns_of(drafts)
        event_ids = ids_for(columns.event_ids, self._ids)
        group = group or GroupId(event_ids[0])
        first, sequence = head.position + 1, self._sequence + 1
        stamped = stamp_many(columns, event_ids, container, first, at, actor, group)
        raws = list(map(envelopes.encode, stamped))
        links = list(accumulate(raws, envelopes.chain, initial=head.digest))[1:]
        bodies = [
            (pack_body(at_, slot), salt + content)
            for at_, sealed in enumerate(columns.bodies, sequence)
            for slot, (salt, content) in enumerate(sealed)
        ]
        tags = tag_positions(container, first, columns, event_ids, group)
        keys = list(map(pack8, range(sequence, sequence + len(raws))))
        at_keys = map(container.__add__, map(pack8, range(first, first + len(raws))))
        # Only now, so that a draft that cannot be encoded leaves nothing of its group behind.
        rows = self._rows
        rows[EVENTS] += zip(keys, raws, strict=True)
        rows[EVENT_IDS] += zip(event_ids, keys, strict=True)
        rows[POSITIONS] += zip(at_keys, map(add, keys, links), strict=True)
        rows[BODIES] += bodies
        for tag, positions in tags.items():
            self._tags.setdefault(tag, []).extend(positions)
        self._heads[container] = Head(first + len(raws) - 1, links[-1])
        return list(map(_recorded, zip(stamped, columns.events, strict=True)))

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

    def drop_memo(self, container: ContainerId, key: bytes) -> bool:
        self._check()
        return self._delete(MEMO, [digest_key(container, key)]) > 0

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


def _covers(answer: bytes, positions: list[int]) -> bool:
    """Whether any of the positions, in order, lies in the span that an answer row begins with."""
    first, last = SPAN.unpack_from(answer)
    index = bisect_left(positions, first)
    return index < len(positions) and positions[index] <= last
