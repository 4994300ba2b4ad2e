"""An inverted index over LMDB: which entries of a container hold a term, and how often.

    key    container (16 bytes) | field (1) | term (1..64, UTF-8) | 00 | first ordinal (4, BE)
    value  n ordinals (u4, LE, ascending) | n frequencies (u2, LE)      1 <= n <= block size

A term holds no NUL, so the keys of one term lie together and in the order of their ordinals. Blocks
keep an append from rewriting a whole list (Zobel and Moffat 2006, "Inverted files for text search
engines"), and numpy reads them where they lie.

Ordinals are 0 .. 2**32 - 2; frequencies are at least 1 and stand for 65,535 from there on. A
`ValueError` names a caller's mistake. A method that raises may have written a part: the caller
aborts the transaction.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import lt
from struct import Struct, pack
from typing import TYPE_CHECKING, Final

import lmdb
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from lmdb import _Database

BLOCK_POSTINGS: Final = 1024
"""6 KiB a block: two pages of LMDB to rewrite for an append."""

CONTAINER_BYTES: Final = 16
TERM_BYTES_MAX: Final = 64
FREQUENCY_MAX: Final = 0xFFFF

_ORDINAL_END = 0xFFFF_FFFF  # never stored, so that it sorts behind every block of a term
_POSTING_BYTES = 6
_CHANGES_MAX = 1000  # blocks that `drop` holds in memory before it writes them back

_LAST = pack(">I", _ORDINAL_END)
_ORDINAL = Struct("<I")

_Block = tuple[bytes, bytes | memoryview]  # key and value
Ordinals = npt.NDArray[np.uint32]
Frequencies = npt.NDArray[np.uint16]


class Postings:
    """The inverted index in one named database. Holds no state but the handle."""

    def __init__(self, db: "_Database", *, block_postings: int = BLOCK_POSTINGS) -> None:
        if block_postings < 1:
            raise ValueError(f"a block holds at least one posting, not {block_postings}")
        self._db = db
        self._size = block_postings

    def read(
        self, txn: lmdb.Transaction, container: bytes, field: int, term: str
    ) -> tuple[Ordinals, Frequencies]:
        """Ordinals (ascending) and frequencies of a term, both of shape (df,).

        A list of one block is a view of the map if the transaction gives buffers: use it before
        the transaction ends. Longer ones are joined into new arrays.
        """
        head = _prefix(container, field) + _key_of(term)
        size = len(head)
        cursor = txn.cursor(self._db)
        ordinals: list[Ordinals] = []
        frequencies: list[Frequencies] = []
        if cursor.set_range(head):
            for key, value in cursor:
                if key[:size] != head:
                    break
                block, counts = _decode(value)
                ordinals.append(block)
                frequencies.append(counts)
        if len(ordinals) == 1:
            return ordinals[0], frequencies[0]
        if not ordinals:
            return np.empty(0, np.uint32), np.empty(0, np.uint16)
        return np.concatenate(ordinals), np.concatenate(frequencies)

    def holding(
        self, txn: lmdb.Transaction, container: bytes, field: int, terms: Iterable[str]
    ) -> Ordinals:
        """Ordinals of all entries with any of the terms, once for each; shape (postings,).

        For many terms at once: they are sought in the order of the keys.
        """
        prefix = _prefix(container, field)
        cursor = txn.cursor(self._db)
        found: list[bytes] = []
        for head in sorted({prefix + _key_of(term) for term in terms}):
            more = cursor.set_range(head)
            while more and bytes(cursor.key()[: len(head)]) == head:
                value = cursor.value()
                found.append(bytes(value[: 4 * (len(value) // _POSTING_BYTES)]))
                more = cursor.next()
        return np.frombuffer(b"".join(found), "<u4")

    def each(
        self, txn: lmdb.Transaction, container: bytes, field: int, terms: Sequence[str]
    ) -> tuple[Ordinals, list[int]]:
        """Ordinals of all entries with any of the terms, one term after the other, and how many
        each has.

        Where only ordinals are wanted, of terms most of which are nowhere: two thirds of the time
        that reading them one by one takes.
        """
        prefix = _prefix(container, field)
        cursor = txn.cursor(self._db)
        found: list[bytes] = []
        counts: list[int] = []
        for term in terms:
            head = prefix + _key_of(term)
            size, count = len(head), 0
            more = cursor.set_range(head)
            while more and bytes(cursor.key()[:size]) == head:
                value = cursor.value()
                held = len(value) // _POSTING_BYTES
                found.append(bytes(value[: 4 * held]))
                count += held
                more = cursor.next()
            counts.append(count)
        return np.frombuffer(b"".join(found), "<u4"), counts

    def between(
        self, txn: lmdb.Transaction, container: bytes, field: int, low: str, high: str
    ) -> Ordinals:
        """Ordinals of all entries with a term low <= term < high, by term; shape (postings,)."""
        prefix = _prefix(container, field)
        first, end = prefix + low.encode(), prefix + high.encode()
        cursor = txn.cursor(self._db)
        found: list[bytes] = []
        if cursor.set_range(first):
            for key, value in cursor:
                # Compared as far as `end` goes, for behind the term an ordinal follows.
                if bytes(key[: len(end)]) >= end:
                    break
                found.append(bytes(value[: 4 * (len(value) // _POSTING_BYTES)]))
        return np.frombuffer(b"".join(found), "<u4")

    def terms(self, txn: lmdb.Transaction, container: bytes, field: int) -> Iterator[str]:
        """Every term of a field once, in the order of its UTF-8 bytes."""
        prefix = _prefix(container, field)
        cursor = txn.cursor(self._db)
        more = cursor.set_range(prefix)
        while more:
            key = bytes(cursor.key())
            if not key.startswith(prefix):
                return
            term = key[len(prefix) : -5]
            yield term.decode("utf-8")
            # Behind all blocks of this term (00), before any term that it begins (01 and up).
            more = cursor.set_range(prefix + term + b"\x01")

    def add(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        field: int,
        ordinal_terms: Iterable[tuple[int, Mapping[str, int]]],
    ) -> None:
        """Append the terms (term -> frequency) of new entries, best thousands at once.

        Ordinals ascend and lie above any that hold one of the terms; `ValueError` if not.
        """
        numbers = _Numbers()
        entries: list[int] = []
        sizes: list[int] = []
        which: list[int] = []  # of every posting: number of its term, and frequency
        counts: list[int] = []
        for ordinal, terms in ordinal_terms:
            entries.append(ordinal)
            sizes.append(len(terms))
            which.extend(map(numbers.__getitem__, terms))
            counts.extend(terms.values())
        if not which:
            return
        lifted = [-1, *entries, _ORDINAL_END]
        if not all(map(lt, lifted, lifted[1:])):
            raise ValueError("the ordinals of a slice ascend from 0")
        prefix = _prefix(container, field)
        # In key order every page is touched once.
        heads = sorted((prefix + _key_of(term), number) for term, number in numbers.items())
        rank = np.argsort([number for _, number in heads])[which]
        order = np.argsort(rank, kind="stable")
        # One conversion for all; a term's postings are then pieces of two strings.
        ordinals = np.repeat(np.array(entries, "<u4"), sizes)[order].tobytes()
        frequencies = _frequencies(counts)[order].tobytes()
        cursor = txn.cursor(self._db)
        start = 0
        for (head, _), size in zip(heads, np.bincount(rank).tolist(), strict=True):
            end = start + size
            tail = ordinals[4 * start : 4 * end]
            self._append(txn, cursor, head, tail, frequencies[2 * start : 2 * end])
            start = end

    def _append(
        self,
        txn: lmdb.Transaction,
        cursor: lmdb.Cursor,
        head: bytes,
        ordinals: bytes,
        frequencies: bytes,
    ) -> None:
        """Append postings, given as they are stored, to the list of one term."""
        done = 0
        found = _find(cursor, head, _LAST)
        if found is not None:
            key, raw = found
            value = bytes(raw)
            held = len(value) // _POSTING_BYTES
            split = 4 * held
            if _ORDINAL.unpack_from(value, split - 4) >= _ORDINAL.unpack_from(ordinals):
                raise ValueError("an ordinal is not above those that hold its term")
            done = max(0, self._size - held)
            if done:
                both = (value[:split], ordinals[: 4 * done], value[split:], frequencies[: 2 * done])
                txn.put(key, b"".join(both), db=self._db)
        while 4 * done < len(ordinals):
            end = done + self._size
            block = ordinals[4 * done : 4 * end]
            # A key holds the ordinal big-endian, a block little-endian.
            txn.put(head + block[3::-1], block + frequencies[2 * done : 2 * end], db=self._db)
            done = end

    def insert(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        field: int,
        ordinal: int,
        terms: Mapping[str, int],
    ) -> None:
        """Add or replace the terms (term -> frequency) of one entry, old or new."""
        if not 0 <= ordinal < _ORDINAL_END:
            raise ValueError(f"ordinal {ordinal} is out of range")
        prefix = _prefix(container, field)
        cursor = txn.cursor(self._db)
        for head, frequency in sorted((prefix + _key_of(t), f) for t, f in terms.items()):
            count = _frequencies([frequency])
            # A posting before the first block joins that block.
            found = _find(cursor, head, pack(">I", ordinal)) or _first(cursor, head)
            if found is None:
                self._write(txn, head, None, np.array([ordinal], np.uint32), count)
                continue
            key, value = found
            ordinals, frequencies = _decode(bytes(value))
            at = int(np.searchsorted(ordinals, ordinal))
            if at < len(ordinals) and ordinals[at] == ordinal:
                ordinals = np.delete(ordinals, at)
                frequencies = np.delete(frequencies, at)
            ordinals = np.insert(ordinals, at, ordinal)
            frequencies = np.insert(frequencies, at, count)
            self._write(txn, head, key, ordinals, frequencies)

    def remove(
        self,
        txn: lmdb.Transaction,
        container: bytes,
        field: int,
        ordinal: int,
        terms: Iterable[str],
    ) -> int:
        """Take an entry out of the lists of these terms; how many of them held it."""
        prefix = _prefix(container, field)
        cursor = txn.cursor(self._db)
        removed = 0
        for head in sorted({prefix + _key_of(term) for term in terms}):
            found = _find(cursor, head, pack(">I", ordinal))
            if found is None:
                continue
            key, value = found
            ordinals, frequencies = _decode(bytes(value))
            keep = ordinals != ordinal
            if not keep.all():
                self._write(txn, head, key, ordinals[keep], frequencies[keep])
                removed += 1
        return removed

    def drop(self, txn: lmdb.Transaction, container: bytes, ordinals: set[int]) -> int:
        """Take entries out of every list of every field of a container; how many postings went.

        Reads all blocks of the container: for erasing, where the terms are not known any more.
        """
        doomed = np.array(sorted(o for o in ordinals if 0 <= o < _ORDINAL_END), np.uint32)
        if not len(doomed):
            return 0
        removed = 0
        position = _container(container)
        while True:
            changes: list[tuple[bytes, Ordinals, Frequencies]] = []
            cursor = txn.cursor(self._db)
            if cursor.set_range(position):
                for key, value in cursor:
                    if key[:CONTAINER_BYTES] != container or len(changes) == _CHANGES_MAX:
                        break
                    position = bytes(key) + b"\x00"
                    block, counts = _decode(value)
                    gone = doomed.take(doomed.searchsorted(block), mode="clip") == block
                    if gone.any():
                        keep = ~gone
                        changes.append((bytes(key), block[keep], counts[keep]))
                        removed += int(np.count_nonzero(gone))
            # Not while the cursor walks: buffers of a transaction end with its next write.
            for at, block, counts in changes:
                self._write(txn, at[:-4], at, block, counts)
            if not changes:
                return removed

    def _write(
        self,
        txn: lmdb.Transaction,
        head: bytes,
        old: bytes | None,
        ordinals: Ordinals,
        frequencies: Frequencies,
    ) -> None:
        """Put what became of the block at key `old`: none, one, or two halves if it is too full."""
        if old is not None and (not len(ordinals) or old[-4:] != pack(">I", int(ordinals[0]))):
            txn.delete(old, db=self._db)
        middle = len(ordinals) // 2 if len(ordinals) > self._size else len(ordinals)
        for part in (slice(0, middle), slice(middle, None)):
            if len(ordinals[part]):
                key = head + pack(">I", int(ordinals[part][0]))
                value = ordinals[part].astype("<u4").tobytes()
                txn.put(key, value + frequencies[part].astype("<u2").tobytes(), db=self._db)


class _Numbers(dict[str, int]):
    """Numbers terms from 0 in the order in which they are asked for."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def _container(container: bytes) -> bytes:
    if len(container) != CONTAINER_BYTES:
        raise ValueError(f"a container is 16 bytes, not {len(container)}")
    return container


def _prefix(container: bytes, field: int) -> bytes:
    if not 0 <= field < 256:
        raise ValueError(f"a field is one byte, not {field}")
    return _container(container) + bytes((field,))


def _key_of(term: str) -> bytes:
    """The term as it stands in a key, with the NUL that ends it."""
    raw = term.encode("utf-8")
    if not 0 < len(raw) <= TERM_BYTES_MAX or b"\x00" in raw:
        raise ValueError(f"a term has 1 to {TERM_BYTES_MAX} UTF-8 bytes without NUL")
    return raw + b"\x00"


def _frequencies(counts: list[int]) -> Frequencies:
    """As they are stored."""
    if min(counts) < 1:
        raise ValueError("a frequency is at least 1")
    return np.minimum(counts, FREQUENCY_MAX).astype("<u2")


def _decode(value: bytes | memoryview) -> tuple[Ordinals, Frequencies]:
    """Views on a block."""
    size = len(value) // _POSTING_BYTES
    return np.frombuffer(value, "<u4", size), np.frombuffer(value, "<u2", size, 4 * size)


def _find(cursor: lmdb.Cursor, head: bytes, ordinal: bytes) -> _Block | None:
    """The last block of a term that begins at or before an ordinal (big-endian)."""
    key = head + ordinal
    if cursor.set_range(key):
        if cursor.key() == key:
            return key, cursor.value()
        found = cursor.prev()
    else:
        found = cursor.last()
    if not found:
        return None
    before = bytes(cursor.key())
    return (before, cursor.value()) if before[:-4] == head else None


def _first(cursor: lmdb.Cursor, head: bytes) -> _Block | None:
    """The first block of a term."""
    if not cursor.set_range(head):
        return None
    key = bytes(cursor.key())
    return (key, cursor.value()) if key[:-4] == head else None
