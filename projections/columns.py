"""The columns of a container's index entries: what a filter or a time reads of every entry.

    container (16 bytes)                     stamp (u8) | number of entries (u8)
    container (16 bytes) | block (4, BE)     stamp (u8) | column | column | ...   all LE

Entries have ordinals 0 .. n - 1; a block holds `block_entries` of them (the last one may hold
fewer), column by column, in the order of `ENTRY`. A *stamp* is the caller's number of the write
that last changed the row: every committed transaction that changes a container has its own number,
above all before it. So equal stamps mean equal bytes, and a reader fetches only what changed.

Rows are written through `ColumnStore` and read through `ColumnCache`. A `ValueError` names a
caller's mistake; then nothing was written.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import lmdb
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from lmdb import _Database

OPEN: Final = 2**63 - 1
"""An end that has not come: a position that no event has, or a time (µs UTC) without bound."""

UNBOUND: Final = -(2**63)
"""The start (µs UTC) of what was always so."""

FIRST: Final = 0xFFFFFFFF
"""No message stands before this one."""

BLOCK_ENTRIES: Final = 512


class Entry(NamedTuple):
    """One entry. Ends lie outside their intervals; times are µs UTC."""

    item: bytes
    """The 16 bytes of the item's id."""
    opened: int
    """Position of the event that opened it."""
    length: int
    """Number of its terms, for BM25."""
    closed: int = OPEN
    """Position of the event that closed it."""
    valid_from: int = UNBOUND
    valid_to: int = OPEN
    expires: int = OPEN
    kind: int = 0
    standing: int = 0
    hidden: int = 0
    group: int = 0
    """First ordinal of the document that a passage is of, and of every entry's own item."""
    detail: int = 0
    """The fact's kind or the message's role."""
    vector: int = 0
    """Where its vector lies: slot + 1, or 0 without one."""
    before: int = FIRST
    """The group of the message before this one in its conversation; a fact's source has one."""
    source: int = FIRST
    """The group of the message or document that a fact was drawn from."""
    traits: int = 0
    """What its text is like: `traits.Trait` bits."""
    support: int = 0
    """How often a fact was said, 255 for more."""
    importance: int = 0
    """What was said of the item itself: 1 + thousandths, 0 where nothing was."""


# V16, not S16: numpy takes trailing NULs off an S16.
_DTYPES: Final = {
    "item": np.dtype("V16"),
    "opened": np.dtype("<i8"),
    "length": np.dtype("<u4"),
    "closed": np.dtype("<i8"),
    "valid_from": np.dtype("<i8"),
    "valid_to": np.dtype("<i8"),
    "expires": np.dtype("<i8"),
    "kind": np.dtype("u1"),
    "standing": np.dtype("u1"),
    "hidden": np.dtype("u1"),
    "group": np.dtype("<u4"),
    "detail": np.dtype("u1"),
    "vector": np.dtype("<u4"),
    "before": np.dtype("<u4"),
    "source": np.dtype("<u4"),
    "traits": np.dtype("u1"),
    "support": np.dtype("u1"),
    "importance": np.dtype("<u2"),
}
ENTRY: Final = np.dtype([(name, _DTYPES[name]) for name in Entry._fields])
"""An `Entry` in numpy, packed."""

_VERSION_BYTES = 4096  # what a cached container weighs beside its arrays, about
_STAMP = Struct("<Q")
_HEADER = Struct("<QQ")
_BLOCK = Struct(">I")

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """All entries of a container in one snapshot: read-only arrays of shape (n,)."""

    n: int
    stamp: int
    """Stamp of the container's last change; 0 and no entries for one that has no row."""
    item: npt.NDArray[np.void]
    opened: npt.NDArray[np.int64]
    length: npt.NDArray[np.uint32]
    closed: npt.NDArray[np.int64]
    valid_from: npt.NDArray[np.int64]
    valid_to: npt.NDArray[np.int64]
    expires: npt.NDArray[np.int64]
    group: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint8]
    detail: npt.NDArray[np.uint8]
    standing: npt.NDArray[np.uint8]
    hidden: npt.NDArray[np.uint8]
    vector: npt.NDArray[np.uint32]
    before: npt.NDArray[np.uint32]
    source: npt.NDArray[np.uint32]
    traits: npt.NDArray[np.uint8]
    support: npt.NDArray[np.uint8]
    importance: npt.NDArray[np.uint16]
    memo: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What readers worked out from these columns alone, by name: done once for a version."""


def entries(rows: Sequence[Entry]) -> npt.NDArray[np.void]:
    """Rows as `ColumnStore.append` takes them, shape (len(rows),), dtype `ENTRY`."""
    if any(len(row.item) != 16 for row in rows):
        raise ValueError("an item's id has 16 bytes")
    return np.array(list(rows), ENTRY)  # numpy takes a tuple for a row


class ColumnStore:
    """The rows in one named database. Holds no state but the handle."""

    def __init__(self, db: "_Database", *, block_entries: int = BLOCK_ENTRIES) -> None:
        if block_entries < 1:
            raise ValueError(f"a block holds at least one entry, not {block_entries}")
        self.db = db
        self.block_entries = block_entries

    def head(self, txn: lmdb.Transaction, container: bytes) -> tuple[int, int]:
        """Stamp of the container's last change and its number of entries; (0, 0) without a row."""
        value = txn.get(_checked(container), db=self.db)
        if value is None:
            return 0, 0
        stamp, count = _HEADER.unpack(value)
        return stamp, count

    def count(self, txn: lmdb.Transaction, container: bytes) -> int:
        """Number of entries, which is the next ordinal."""
        return self.head(txn, container)[1]

    def append(
        self, txn: lmdb.Transaction, container: bytes, stamp: int, rows: npt.NDArray[np.void]
    ) -> int:
        """Append rows of dtype `ENTRY`; the ordinal of the first one."""
        first = self._claim(txn, container, stamp)
        size = self.block_entries
        done = 0
        while done < len(rows):
            block, held = divmod(first + done, size)
            part = rows[done : done + size - held]
            columns = {name: part[name] for name in Entry._fields}
            if held:
                old = _decode(bytes(self._block(txn, container, block)))
                columns = {name: np.concatenate((old[name], columns[name])) for name in columns}
            key = container + _BLOCK.pack(block)
            txn.put(key, _encode(stamp, columns), db=self.db)
            done += len(part)
        txn.put(container, _HEADER.pack(stamp, first + len(rows)), db=self.db)
        return first

    def patch(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        stamp: int,
        column: str,
        ordinals: npt.ArrayLike,
        values: npt.ArrayLike,
    ) -> None:
        """Set one column of some entries to values of the same shape, or all to one value."""
        count = self._claim(txn, container, stamp)
        if column not in _DTYPES:
            raise ValueError(f"there is no column {column!r}")
        where = np.asarray(ordinals, np.int64).ravel()
        new = np.broadcast_to(np.asarray(values, _DTYPES[column]), where.shape)
        if not len(where):
            return
        if where.min() < 0 or where.max() >= count:
            raise ValueError(f"an ordinal is outside 0 .. {count - 1}")
        blocks = where // self.block_entries
        for block in np.unique(blocks).tolist():
            row = bytearray(self._block(txn, container, block))
            _STAMP.pack_into(row, 0, stamp)
            chosen = blocks == block
            _decode(row)[column][where[chosen] - block * self.block_entries] = new[chosen]
            txn.put(container + _BLOCK.pack(block), row, db=self.db)
        txn.put(container, _HEADER.pack(stamp, count), db=self.db)

    def values(
        self, txn: lmdb.Transaction, container: bytes, column: str, ordinals: Sequence[int]
    ) -> Array:
        """One column of some entries, in their order."""
        found = np.zeros(len(ordinals), _DTYPES[column])
        blocks: dict[int, Array] = {}
        for at, ordinal in enumerate(ordinals):
            block, within = divmod(ordinal, self.block_entries)
            if block not in blocks:
                blocks[block] = _decode(self._block(txn, container, block))[column]
            found[at] = blocks[block][within]
        return found

    def drop(self, txn: lmdb.Transaction, container: bytes) -> None:
        """Remove every row of a container. Caches of it are cleared by the caller."""
        cursor = txn.cursor(self.db)
        cursor.set_range(_checked(container))
        while bytes(cursor.key()[:16]) == container and cursor.delete():
            pass

    def _block(self, txn: lmdb.Transaction, container: bytes, block: int) -> bytes | memoryview:
        value = txn.get(container + _BLOCK.pack(block), db=self.db)
        assert value is not None, "the header counts entries that have no block"
        return value

    def _claim(self, txn: lmdb.Transaction, container: bytes, stamp: int) -> int:
        """The number of entries, once the stamp is known to be that of a new write."""
        last, count = self.head(txn, container)
        if not max(1, last) <= stamp < 2**64:
            raise ValueError(f"stamp {stamp} does not follow {last}")
        return count


def _checked(container: bytes) -> bytes:
    if len(container) != 16:
        raise ValueError(f"a container is 16 bytes, not {len(container)}")
    return container


def _encode(stamp: int, columns: dict[str, Array]) -> bytes:
    parts = [columns[name].astype(dtype, copy=False).tobytes() for name, dtype in _DTYPES.items()]
    return _STAMP.pack(stamp) + b"".join(parts)


def _decode(row: bytes | bytearray | memoryview) -> dict[str, Array]:
    """Views on the columns of a block; writable ones on a bytearray."""
    size = (len(row) - _STAMP.size) // ENTRY.itemsize
    columns: dict[str, Array] = {}
    start = _STAMP.size
    for name, dtype in _DTYPES.items():
        columns[name] = np.frombuffer(row, dtype, size, start)
        start += size * dtype.itemsize
    return columns


class _Buffer:
    """A column in memory with room to grow. What lies below `used` is never written again."""

    __slots__ = ("array", "used")

    def __init__(self, array: Array, used: int) -> None:
        self.array = array
        self.used = used


@dataclass(frozen=True, slots=True)
class _Version:
    """A container at one stamp. Neighbouring versions share the buffers of equal columns."""

    columns: Columns
    stamps: tuple[int, ...]
    """Of every block."""
    buffers: dict[str, _Buffer]

    @property
    def size_bytes(self) -> int:
        arrays = sum(buffer.array.nbytes for buffer in self.buffers.values())
        return _VERSION_BYTES + 8 * len(self.stamps) + arrays


class ColumnCache:
    """Columns of the containers read last, for the threads of one process.

    A reader gets the columns of exactly its own snapshot, older or newer than what is kept, even
    that of an open write transaction. What it got stays valid and unchanged for as long as it is
    held. Transactions with `buffers=True` spare a copy of every block. `clear` after the database
    was replaced by another: stamps only tell versions of one database apart.
    """

    def __init__(self, store: ColumnStore, *, size_bytes_max: int = 256 << 20) -> None:
        self.db = store.db
        self._store = store
        self._size_bytes_max = size_bytes_max
        self._versions: OrderedDict[bytes, _Version] = OrderedDict()
        self._size_bytes = 0
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """Bytes held; over the bound only if the container read last needs more alone."""
        return self._size_bytes

    def read(self, txn: lmdb.Transaction, container: bytes) -> Columns:
        """The columns of a container as the transaction sees it."""
        stamp, count = self._store.head(txn, container)
        with self._lock:
            base = self._versions.get(container)
            if base is not None:
                self._versions.move_to_end(container)
        if base is not None and base.columns.stamp == stamp:
            return base.columns
        # An open write may yet be aborted, and the next one will have its number.
        shared = not _writes(txn, self._store)
        version = self._version(txn, container, base, stamp, count, shared)
        if shared:
            self._keep(container, version)
        return version.columns

    def clear(self, container: bytes | None = None) -> None:
        """Let go of one container, or of all."""
        with self._lock:
            for key in [*self._versions] if container is None else [container]:
                self._remove(key)

    def _remove(self, container: bytes) -> None:
        version = self._versions.pop(container, None)
        self._size_bytes -= version.size_bytes if version else 0

    def _keep(self, container: bytes, version: _Version) -> None:
        """Keep the version, unless another thread came back with a newer one."""
        with self._lock:
            kept = self._versions.get(container)
            if kept is not None and kept.columns.stamp >= version.columns.stamp:
                return
            self._remove(container)
            self._versions[container] = version
            self._size_bytes += version.size_bytes
            while self._size_bytes > self._size_bytes_max and len(self._versions) > 1:
                self._remove(next(iter(self._versions)))

    def _version(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        base: _Version | None,
        stamp: int,
        count: int,
        shared: bool,
    ) -> _Version:
        """The container as the transaction sees it, made from the blocks that differ from base."""
        known = base.stamps if base is not None else ()
        stamps: list[int] = []
        changed: list[tuple[int, dict[str, Array]]] = []
        cursor = txn.cursor(self._store.db)
        if cursor.set_range(container + _BLOCK.pack(0)):
            for key, value in cursor:
                if key[:16] != container:
                    break
                block = len(stamps)
                stamps.append(_STAMP.unpack_from(value)[0])
                if block >= len(known) or stamps[block] != known[block]:
                    changed.append((block * self._store.block_entries, _decode(value)))
        buffers = {name: self._buffer(name, base, count, changed, shared) for name in Entry._fields}
        arrays = {name: buffer.array[:count] for name, buffer in buffers.items()}
        for array in arrays.values():
            array.flags.writeable = False
        return _Version(Columns(n=count, stamp=stamp, **arrays), tuple(stamps), buffers)

    def _buffer(
        self,
        name: str,
        base: _Version | None,
        count: int,
        changed: list[tuple[int, dict[str, Array]]],
        shared: bool,
    ) -> _Buffer:
        """One column: base's own buffer if the entries in common are equal, else a new one."""
        room = count
        common = 0
        if base is not None:
            old = base.buffers[name]
            common = min(base.columns.n, count)
            if all(_agree(old.array[:common], start, new[name]) for start, new in changed):
                if count == common:
                    return old
                if shared and self._extend(old, common, count):
                    _fill(old.array, changed, name, common)
                    return old
            if count > common:  # it grows: leave room, so that the next appends need no copy
                room += max(self._store.block_entries, count >> 3)
        fresh = _Buffer(np.empty(room, _DTYPES[name]), count)
        if base is not None:
            fresh.array[:common] = base.buffers[name].array[:common]
        _fill(fresh.array, changed, name, 0)
        return fresh

    def _extend(self, buffer: _Buffer, common: int, count: int) -> bool:
        """Whether this reader, and no other, may write the entries from common to count."""
        with self._lock:
            if buffer.used != common or len(buffer.array) < count:
                return False
            buffer.used = count
            return True


def _writes(txn: lmdb.Transaction, store: ColumnStore) -> bool:
    """Whether a transaction is one that writes; py-lmdb tells it in no other way."""
    try:
        txn.delete(b"\x00", db=store.db)  # no row has this key
    except lmdb.ReadonlyError:
        return False
    return True


def _agree(old: Array, start: int, new: Array) -> bool:
    """Whether a block says of the entries that were there what was known of them."""
    had = old[start : start + len(new)]
    return had.tobytes() == new[: len(had)].tobytes()


def _fill(array: Array, changed: list[tuple[int, dict[str, Array]]], name: str, first: int) -> None:
    """Write the blocks into the array, but for the entries before `first`."""
    for start, block in changed:
        skip = max(0, first - start)
        new = block[name][skip:]
        array[start + skip : start + skip + len(new)] = new
