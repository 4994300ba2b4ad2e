"""The vectors of a container's index entries: int8 numbers for exact dots, single bits for a sieve.

    vectors   container (16 bytes)                     slots (u4) | dimensions (u4)
              container (16 bytes) | block (4, BE)     m x dimensions (i1) | m scales (f4)
    codes     container (16 bytes) | block (4, BE)     m x dimensions / 8 (u1), a bit set where > 0

The first blocks are large and are read whole; those past them (`LARGE_BLOCKS`) are small, for of a
large container only what single bits let through is read, here and there.

A vector lies in a *slot*, given in order; a slot that is cleared holds zeros and is not given
again. A unit vector is about scale * int8, so a cosine is an integer dot times two scales, and
the dots of a query do not depend on which entries are asked for. Blocks are read where they lie in
the map.

The int8 form keeps recall@10 at .99 of what float32 finds among clustered vectors, and at .98 among
random ones, where what it misses lies within .004 of the tenth. numkong brings the kernels
(AVX-512, AVX2, NEON, ...); they give the same integers on every machine.
"""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import lmdb
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from lmdb import _Database

BLOCK_SLOTS: Final = 512
"""194 KiB of 384 dimensions: at most so much is rewritten for one more vector, and so much is read
by one call of a kernel."""

LARGE_BLOCKS: Final = 98
"""Their 50,176 slots are about as many as are compared in full (`ranking.SIEVE_FROM`)."""

SMALL_BLOCK_SLOTS: Final = 21
"""Of 384 dimensions two pages of LMDB: py-lmdb touches all pages of a value that it gets. (Measured
among a million: to get 2,500 vectors from large blocks took 43 ms of a busy processor.)"""

CODE_BLOCK_SLOTS: Final = 2048

_HEADER = Struct("<II")
_BLOCK = Struct(">I")

Numbers = npt.NDArray[np.int8]
Scales = npt.NDArray[np.float32]
Slots = npt.NDArray[np.int64]


class Query(NamedTuple):
    """A quantised vector to compare with: shape (dimensions,). `model` is what made it."""

    numbers: Numbers
    scale: float
    model: str


def quantise(vectors: npt.NDArray[np.float32]) -> tuple[Numbers, Scales]:
    """Unit vectors (n, d) as int8 (n, d) and scales (n,): each row's largest number becomes 127."""
    largest = np.abs(vectors).max(axis=1)
    scales = (np.maximum(largest, np.float32(1e-9)) / np.float32(127)).astype(np.float32)
    numbers = np.rint(vectors / scales[:, None]).astype(np.int8)
    return numbers, scales


def query_of(vector: npt.NDArray[np.float32], model: str) -> Query:
    """A query from one unit vector, shape (dimensions,)."""
    numbers, scales = quantise(vector[None, :])
    return Query(numbers[0], float(scales[0]), model)


class VectorStore:
    """The rows in two named databases. Holds no state but the handles.

    A `ValueError` names a caller's mistake. A method that raises may have written a part: the
    caller aborts the transaction.
    """

    def __init__(
        self,
        vectors_db: "_Database",
        codes_db: "_Database",
        *,
        large_blocks: int = LARGE_BLOCKS,
    ) -> None:
        self._vectors = vectors_db
        self._codes = codes_db
        self._large = large_blocks
        self._large_slots = large_blocks * BLOCK_SLOTS

    def head(self, txn: lmdb.Transaction, container: bytes) -> tuple[int, int]:
        """Number of slots ever given, and dimensions; (0, 0) without any."""
        value = txn.get(container, db=self._vectors)
        if value is None:
            return 0, 0
        slots, dimensions = _HEADER.unpack(value)
        return slots, dimensions

    # --- writing

    def append(
        self, txn: lmdb.Transaction, container: bytes, numbers: Numbers, scales: Scales
    ) -> int:
        """Put vectors (m, d) into new slots; the first of them."""
        first, dimensions = self.head(txn, container)
        if first and numbers.shape[1] != dimensions:
            raise ValueError(f"vectors here have {dimensions} numbers, not {numbers.shape[1]}")
        dimensions = numbers.shape[1]
        done = 0
        while done < len(numbers):
            block, held = self._place(first + done)
            part = slice(done, done + self._size(block) - held)
            self._extend(txn, container, block, held, numbers[part], scales[part])
            done += len(numbers[part])
        bits = np.packbits(numbers > 0, axis=1)
        done = 0
        while done < len(bits):
            block, held = divmod(first + done, CODE_BLOCK_SLOTS)
            part = slice(done, done + CODE_BLOCK_SLOTS - held)
            key = container + _BLOCK.pack(block)
            old = bytes(txn.get(key, b"", db=self._codes)) if held else b""
            txn.put(key, old + bits[part].tobytes(), db=self._codes)
            done += len(bits[part])
        txn.put(container, _HEADER.pack(first + len(numbers), dimensions), db=self._vectors)
        return first

    def _extend(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        block: int,
        held: int,
        numbers: Numbers,
        scales: Scales,
    ) -> None:
        key = container + _BLOCK.pack(block)
        if held:
            old_numbers, old_scales = _decode(self._block(txn, container, block), numbers.shape[1])
            numbers = np.concatenate((old_numbers, numbers))
            scales = np.concatenate((old_scales, scales))
        value = numbers.tobytes() + scales.astype("<f4").tobytes()
        txn.put(key, value, db=self._vectors)

    def clear(self, txn: lmdb.Transaction, container: bytes, slots: Iterable[int]) -> None:
        """Make the slots hold nothing: their vectors are of texts that are gone."""
        count, dimensions = self.head(txn, container)
        held: dict[int, list[int]] = {}
        for slot in slots:
            if not 0 <= slot < count:
                raise ValueError(f"slot {slot} is outside 0 .. {count - 1}")
            held.setdefault(self._place(slot)[0], []).append(slot)
        for block, members in held.items():
            row = bytearray(self._block(txn, container, block))
            numbers, scales = _decode(row, dimensions)
            within = np.array(members) - self._start(block)
            numbers[within], scales[within] = 0, 0
            txn.put(container + _BLOCK.pack(block), row, db=self._vectors)
        coded: dict[int, list[int]] = {}
        for slot in (slot for members in held.values() for slot in members):
            coded.setdefault(slot // CODE_BLOCK_SLOTS, []).append(slot)
        for block, members in coded.items():
            key = container + _BLOCK.pack(block)
            row = bytearray(txn.get(key, db=self._codes) or b"")
            codes = np.frombuffer(row, np.uint8).reshape(-1, -(-dimensions // 8))
            codes[np.array(members) - block * CODE_BLOCK_SLOTS] = 0
            txn.put(key, row, db=self._codes)

    # --- reading

    def dots(
        self, txn: lmdb.Transaction, container: bytes, query: Query, until: int | None = None
    ) -> npt.NDArray[np.float64]:
        """The query's cosine with every slot, shape (slots,); 0 for a cleared one. With `until`,
        slots from there on need not be compared: shape (at least `until`,)."""
        count, dimensions = self._fitting(txn, container, query)
        until = count if until is None else min(until, count)
        if not until:
            return np.zeros(0, np.float64)
        dots = np.zeros(count, np.int32)
        scales = np.zeros(count, np.float32)
        kernel = _Dots(query.numbers)
        for block, value in _values(txn, self._vectors, container):
            start = self._start(block)
            if start >= until:
                break
            numbers, held = _decode(value, dimensions)
            dots[start : start + len(held)] = kernel(numbers)
            scales[start : start + len(held)] = held
        return _cosines(dots, scales, query.scale)

    def some_dots(
        self, txn: lmdb.Transaction, container: bytes, query: Query, slots: Slots
    ) -> npt.NDArray[np.float64]:
        """The same for some slots only, in their order; shape (len(slots),)."""
        _, dimensions = self._fitting(txn, container, query)
        if not len(slots):
            return np.zeros(0, np.float64)
        order = np.argsort(slots, kind="stable")
        rows: list[Any] = []
        scales: list[Any] = []
        first, held, value = 0, 0, b""
        # Gathered first: one call of the kernel costs as much as the rows of a block.
        for slot in slots[order].tolist():
            if not slot < first + held:
                block, within = self._place(slot)
                first = slot - within
                value = self._block(txn, container, block)
                held = len(value) // (dimensions + 4)
            start = (slot - first) * dimensions
            rows.append(value[start : start + dimensions])
            start = held * dimensions + 4 * (slot - first)
            scales.append(value[start : start + 4])
        numbers = np.frombuffer(b"".join(rows), np.int8).reshape(-1, dimensions)
        held_scales = np.frombuffer(b"".join(scales), "<f4")
        cosines = np.empty(len(slots), np.float64)
        cosines[order] = _cosines(_Dots(query.numbers)(numbers), held_scales, query.scale)
        return cosines

    def distances(
        self, txn: lmdb.Transaction, container: bytes, query: Query
    ) -> npt.NDArray[np.uint16]:
        """Bits in which every slot's code differs from the query's, shape (slots,)."""
        count, _ = self._fitting(txn, container, query)
        found = np.zeros(count, np.uint16)
        if not count:
            return found
        code = np.packbits(query.numbers > 0)
        differing = (_FewBits if len(code) in _FewBits.BYTES else _Bits)(code)
        for block, value in _values(txn, self._codes, container):
            codes = np.frombuffer(value, np.uint8).reshape(-1, len(code))
            start = block * CODE_BLOCK_SLOTS
            found[start : start + len(codes)] = differing(codes)
        return found

    def vector(self, txn: lmdb.Transaction, container: bytes, slot: int) -> tuple[Numbers, float]:
        """One slot's numbers (d,) and scale."""
        block, within = self._place(slot)
        _, dimensions = self.head(txn, container)
        numbers, scales = _decode(self._block(txn, container, block), dimensions)
        return numbers[within].copy(), float(scales[within])

    # --- where a slot lies

    def _place(self, slot: int) -> tuple[int, int]:
        """Its block, and its place in that."""
        if slot < self._large_slots:
            return divmod(slot, BLOCK_SLOTS)
        block, within = divmod(slot - self._large_slots, SMALL_BLOCK_SLOTS)
        return self._large + block, within

    def _start(self, block: int) -> int:
        """The first slot of a block."""
        if block < self._large:
            return block * BLOCK_SLOTS
        return self._large_slots + (block - self._large) * SMALL_BLOCK_SLOTS

    def _size(self, block: int) -> int:
        return BLOCK_SLOTS if block < self._large else SMALL_BLOCK_SLOTS

    def _fitting(self, txn: lmdb.Transaction, container: bytes, query: Query) -> tuple[int, int]:
        count, dimensions = self.head(txn, container)
        if count and dimensions != len(query.numbers):
            raise ValueError(f"vectors here have {dimensions} numbers, not {len(query.numbers)}")
        return count, dimensions

    def _block(self, txn: lmdb.Transaction, container: bytes, block: int) -> Any:
        value = txn.get(container + _BLOCK.pack(block), db=self._vectors)
        assert value is not None, "the header counts slots that have no block"
        return value


class _Dots:
    """Integer dots of one query with the rows of a block."""

    def __init__(self, numbers: Numbers) -> None:
        import numkong

        self._packed = numkong.dots_pack(np.ascontiguousarray(numbers[None, :]))
        self._run = numkong.dots_packed

    def __call__(self, numbers: Numbers) -> npt.NDArray[np.int32]:
        """Shape (m,)."""
        dots: npt.NDArray[np.int32] = np.asarray(self._run(numbers, self._packed))[:, 0]
        return dots


class _Bits:
    """Bits in which each of many codes differs from one."""

    def __init__(self, code: npt.NDArray[np.uint8]) -> None:
        import numkong

        self._packed = numkong.hammings_pack(code[None, :], dtype="uint1")
        self._run = numkong.hammings_packed

    def __call__(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        """Shape (m,)."""
        distances: npt.NDArray[Any] = np.asarray(self._run(codes, self._packed))[:, 0]
        return distances


class _FewBits:
    """The same for codes of up to 384 bits, in whole pairs of words: in half the time.

    A word differs in at most 64 bits, so a byte holds the sum over three words; two such sums are
    made at once, as the halves of one number.
    """

    BYTES = (16, 32, 48)

    def __init__(self, code: npt.NDArray[np.uint8]) -> None:
        words = len(code) // 8
        self._code = np.tile(code, CODE_BLOCK_SLOTS).view("<u8")
        self._differing = np.empty(words * CODE_BLOCK_SLOTS, np.uint64)
        self._counts = np.empty(words * CODE_BLOCK_SLOTS, np.uint8)
        self._pairs = words // 2

    def __call__(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
        words = codes.reshape(-1).view("<u8")
        differing, counts = self._differing[: len(words)], self._counts[: len(words)]
        np.bitwise_xor(words, self._code[: len(words)], out=differing)
        np.bitwise_count(differing, out=counts)
        pairs = counts.view(np.uint16).reshape(-1, self._pairs)
        both = pairs[:, 0].copy()
        for pair in range(1, self._pairs):
            both += pairs[:, pair]
        return (both & np.uint16(255)) + (both >> np.uint16(8))


def _cosines(dots: npt.NDArray[np.int32], scales: Scales, scale: float) -> npt.NDArray[np.float64]:
    """Elementwise in float64, so that neither shape nor mask can change a bit."""
    return dots.astype(np.float64) * (scales.astype(np.float64) * scale)


def _values(txn: lmdb.Transaction, db: "_Database", container: bytes) -> Iterator[tuple[int, Any]]:
    """Block numbers and values of a container, in order."""
    with txn.cursor(db) as cursor:
        going = cursor.set_range(container + _BLOCK.pack(0))
        while going:
            key = bytes(cursor.key())
            if key[:16] != container:
                return
            yield _BLOCK.unpack(key[16:])[0], cursor.value()
            going = cursor.next()


def _decode(value: Any, dimensions: int) -> tuple[Numbers, Scales]:
    """Views on a block; writable ones on a bytearray."""
    held = len(value) // (dimensions + 4)
    numbers = np.frombuffer(value, np.int8, held * dimensions).reshape(held, dimensions)
    scales = np.frombuffer(value, "<f4", held, held * dimensions)
    return numbers, scales
