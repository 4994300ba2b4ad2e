"""Rows on disk: every version of a row with the positions between which it was the present one.

Key: container (16), row key, opened (8, big-endian position). Value: closed (8, little-endian
position, OPEN while it is the present one), ordinal and group (4 + 4: the row's entry in the search
index, and the first ordinal its item ever had), then the state in msgpack.

A row is visible at position p when opened <= p < closed.

Of a view whose rows are what is still to be done, the present ones are listed apart: container (16)
and row key, with the opened (8) of the version and what the view wants told of it there.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import lmdb
import msgspec

from rewound.eventlog.errors import Damaged
from rewound.projections.view import View

OPEN = (1 << 63) - 1
NO_ENTRY = 0xFFFFFFFF
_HEADER = struct.Struct("<qII")
_encode = msgspec.msgpack.Encoder().encode

S = TypeVar("S", bound=msgspec.Struct)


class Row(NamedTuple, Generic[S]):
    """One version of a row. `key` is the whole row key (kind byte and id)."""

    key: bytes
    opened: int
    closed: int
    ordinal: int
    group: int
    state: S

    @property
    def id(self) -> bytes:
        return self.key[1:17]


@cache
def _decoder(state: type[msgspec.Struct]) -> Callable[[bytes | memoryview], Any]:
    """Made once a view: tables are made for every transaction."""
    return msgspec.msgpack.Decoder(state).decode


class Table(Generic[S]):
    """The rows of one view, in one named database; `waiting_db` for a view that `waits`."""

    def __init__(self, view: View, db: Any, waiting_db: Any = None) -> None:
        self.view = view
        self._db = db
        self._waiting = waiting_db
        self._decode = _decoder(view.state)

    def _row(self, raw_key: bytes, value: bytes | memoryview) -> Row[S]:
        try:
            closed, ordinal, group = _HEADER.unpack_from(value)
            state: S = self._decode(memoryview(value)[_HEADER.size :])
        except (struct.error, msgspec.DecodeError) as error:
            raise Damaged(
                f"a row of the view {self.view.name} cannot be decoded ({error}): rebuild the views"
            ) from error
        opened = int.from_bytes(raw_key[-8:], "big")
        return Row(raw_key[16:-8], opened, closed, ordinal, group, state)

    def last(self, txn: lmdb.Transaction, container: bytes, key: bytes) -> Row[S] | None:
        """The latest version, whether or not it is still open."""
        prefix = container + key
        with txn.cursor(self._db) as cursor:
            found = cursor.prev() if cursor.set_range(prefix + b"\xff" * 8) else cursor.last()
            if found and cursor.key()[:-8] == prefix:
                return self._row(bytes(cursor.key()), cursor.value())
        return None

    def at(
        self, txn: lmdb.Transaction, container: bytes, key: bytes, position: int | None
    ) -> Row[S] | None:
        """The version visible at `position`; None means the present."""
        moment = OPEN - 1 if position is None else position
        prefix = container + key
        with txn.cursor(self._db) as cursor:
            found = (
                cursor.prev()
                if cursor.set_range(prefix + (moment + 1).to_bytes(8, "big"))
                else cursor.last()
            )
            if found and cursor.key()[:-8] == prefix:
                row = self._row(bytes(cursor.key()), cursor.value())
                return row if row.closed > moment else None
        return None

    def several(
        self, txn: lmdb.Transaction, container: bytes, keys: Iterable[bytes], position: int | None
    ) -> Iterator[Row[S]]:
        """The versions of many rows visible at `position`: one cursor seeks them all."""
        moment = OPEN - 1 if position is None else position
        after = (moment + 1).to_bytes(8, "big")
        with txn.cursor(self._db) as cursor:
            for key in keys:
                prefix = container + key
                if not (cursor.prev() if cursor.set_range(prefix + after) else cursor.last()):
                    continue
                raw = bytes(cursor.key())
                value = cursor.value()
                if raw[:-8] == prefix and int.from_bytes(value[:8], "little") > moment:
                    yield self._row(raw, value)

    def versions(self, txn: lmdb.Transaction, container: bytes, key: bytes) -> list[Row[S]]:
        """All versions, oldest first."""
        prefix = container + key
        found = []
        with txn.cursor(self._db) as cursor:
            going = cursor.set_range(prefix)
            while going and cursor.key()[:-8] == prefix:
                found.append(self._row(bytes(cursor.key()), cursor.value()))
                going = cursor.next()
        return found

    def scan(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        position: int | None = None,
        after: bytes = b"",
    ) -> Iterator[Row[S]]:
        """Rows visible at `position`, by key, those with a key greater than `after`."""
        moment = OPEN - 1 if position is None else position
        begin = container + after + b"\xff" * 8 if after else container
        with txn.cursor(self._db) as cursor:
            going = cursor.set_range(begin)
            while going:
                raw = bytes(cursor.key())
                if raw[:16] != container:
                    return
                value = cursor.value()
                closed = int.from_bytes(value[:8], "little")
                if closed > moment >= int.from_bytes(raw[-8:], "big"):
                    yield self._row(raw, value)
                going = cursor.next()

    def waiting(self, txn: lmdb.Transaction, container: bytes) -> Iterator[Row[S]]:
        """Present rows of a view that `waits`: as fast as they are few, however many there were."""
        assert self._waiting is not None, f"rows of {self.view.name} are not listed apart"
        with txn.cursor(self._waiting) as cursor:
            going = cursor.set_range(container)
            while going and cursor.key()[:16] == container:
                key = bytes(cursor.key()) + bytes(cursor.value()[:8])
                value = txn.get(key, db=self._db)
                assert value is not None, "what is listed as present is in the table"
                yield self._row(key, value)
                going = cursor.next()

    def briefs(self, txn: lmdb.Transaction, container: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Key and brief of each of them, without reading the rows."""
        assert self._waiting is not None, f"rows of {self.view.name} are not listed apart"
        with txn.cursor(self._waiting) as cursor:
            going = cursor.set_range(container)
            while going:
                key = bytes(cursor.key())
                if key[:16] != container:
                    return
                yield key[16:], bytes(cursor.value()[8:])
                going = cursor.next()

    def waiting_count(self, txn: lmdb.Transaction) -> int:
        """How many of them are present in all containers; told without reading them."""
        count: int = txn.stat(self._waiting)["entries"]
        return count

    def containers_waiting(self, txn: lmdb.Transaction) -> Iterator[bytes]:
        """Containers in which a row of such a view is present."""
        assert self._waiting is not None, f"rows of {self.view.name} are not listed apart"
        with txn.cursor(self._waiting) as cursor:
            going = cursor.first()
            while going:
                container = bytes(cursor.key()[:16])
                yield container
                going = cursor.set_range(container + b"\xff" * 18)

    def states(self, txn: lmdb.Transaction, container: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Row key and encoded state of every open row, for comparing two tables."""
        with txn.cursor(self._db) as cursor:
            going = cursor.set_range(container)
            while going:
                key, value = bytes(cursor.key()), cursor.value()
                if key[:16] != container:
                    return
                if int.from_bytes(value[:8], "little") == OPEN:
                    yield key[16:-8], bytes(value[_HEADER.size :])
                going = cursor.next()

    def every(self, txn: lmdb.Transaction, container: bytes) -> Iterator[Row[S]]:
        """All versions of all rows of a container."""
        with txn.cursor(self._db) as cursor:
            going = cursor.set_range(container)
            while going and cursor.key()[:16] == container:
                yield self._row(bytes(cursor.key()), cursor.value())
                going = cursor.next()

    def put(self, txn: lmdb.Transaction, container: bytes, row: Row[S]) -> None:
        """Write a version as it is."""
        value = _HEADER.pack(row.closed, row.ordinal, row.group) + _encode(row.state)
        key = container + row.key + row.opened.to_bytes(8, "big")
        txn.put(key, value, db=self._db)
        if self._waiting is not None:
            if row.closed == OPEN:
                txn.put(key[:-8], key[-8:] + self.view.brief(row.state), db=self._waiting)
            else:
                txn.delete(key[:-8], db=self._waiting)

    def drop(self, txn: lmdb.Transaction, container: bytes, row: Row[S]) -> None:
        """Remove a version (one that was opened and changed at the same position)."""
        txn.delete(container + row.key + row.opened.to_bytes(8, "big"), db=self._db)
