"""A copy of a log up to a moment: the same events, ids and chains, and nothing after them."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import lmdb

from rewound.eventlog.environment import Environment
from rewound.eventlog.ids import STORE, ContainerId
from rewound.eventlog.tables import (
    ANSWERS,
    BODIES,
    COMPACTION,
    CUT,
    EVENT_IDS,
    EVENTS,
    KEYS,
    KNOWN,
    MEMO,
    META,
    POSITIONS,
    SEQUENCE_BYTES,
    SPAN,
    TABLES,
    TAG_BYTES,
    TAGS,
    number,
    pack_positions,
    unpack_positions,
)

_SLICE = 5_000

Row = tuple[bytes, bytes]


def copy_until(
    source: Environment, to: Path, sequence: int, heads: dict[ContainerId, int], until_us: int
) -> None:
    """Write the rows of the events up to a store-wide sequence into a new log folder.

    `heads` are the containers' positions there. Erased bodies are not in the source, so not here.
    """
    target = Environment(to, TABLES)
    try:
        with source.reading() as txn:
            cut = _Cut(txn, source, sequence, heads)
            for table in TABLES:
                rows = cut.rows(table)
                while part := list(islice(rows, _SLICE)):
                    target.write(partial(_put, target=target, table=table, rows=part))
        mark = [(CUT, str(until_us).encode())]
        target.write(partial(_put, target=target, table=META, rows=mark))
    finally:
        target.close()


def _put(
    out: "lmdb.Transaction[bytes]", *, target: Environment, table: str, rows: list[Row]
) -> None:
    for key, value in rows:
        out.put(key, value, db=target.db(table))


class _Cut:
    """Which rows of a snapshot belong to the events up to a sequence."""

    def __init__(
        self,
        txn: "lmdb.Transaction[bytes]",
        source: Environment,
        sequence: int,
        heads: dict[ContainerId, int],
    ) -> None:
        self._txn = txn
        self._source = source
        self._sequence = sequence
        self._heads = heads

    def rows(self, table: str) -> Iterator[Row]:
        with self._txn.cursor(self._source.db(table)) as cursor:
            for key, value in cursor:
                kept = self._kept(table, key, value)
                if kept is not None:
                    yield key, kept

    def _kept(self, table: str, key: bytes, value: bytes) -> bytes | None:
        """The row's value in the copy, None to leave it out."""
        if table in (EVENTS, BODIES):
            return value if number(key[:SEQUENCE_BYTES]) <= self._sequence else None
        if table in (EVENT_IDS, POSITIONS):
            return value if number(value[:SEQUENCE_BYTES]) <= self._sequence else None
        if table == META:
            return None if key == COMPACTION else value
        container = ContainerId(key[:16])
        if container == STORE and table in (KEYS, KNOWN):
            return value if table == KEYS or self._made(key) else None
        head = self._heads.get(container, 0)
        if table == TAGS:
            first, further = number(key[-SEQUENCE_BYTES:]), unpack_positions(value)
            within = [position for position in further if position <= head]
            return pack_positions(within) if first <= head else None
        if table == KEYS:
            return value if head else None
        if table == ANSWERS:
            return value if SPAN.unpack_from(value)[1] <= head else None
        if table == KNOWN:
            return value if self._there(key[:16], key[-TAG_BYTES:], head) else None
        assert table == MEMO, f"no rule for the rows of {table}"
        return value if self._there(key[:16], value[:TAG_BYTES], head) else None

    def _made(self, key: bytes) -> bool:
        """Whether the container that a row of the store's own files by its name was there."""
        return self._heads.get(ContainerId(key[-TAG_BYTES + 1 :]), 0) > 0

    def _there(self, container: bytes, item: bytes, head: int) -> bool:
        """Whether an event up to the head is tagged with the item."""
        prefix = container + item
        with self._txn.cursor(self._source.db(TAGS)) as cursor:
            if not cursor.set_range(prefix):
                return False
            key = bytes(cursor.key())
            return key[:-SEQUENCE_BYTES] == prefix and number(key[-SEQUENCE_BYTES:]) <= head
