"""Zero what an LMDB file holds beyond its live rows.

`env.copy(compact=True)` leaves free pages out, but copies overflow pages whole: their slack is
memory of pages written earlier by the process, and with it erased texts (measured: of 200 erased
texts 153 were still in the compacted copy). So the copy is walked once, page by page, and every
byte that belongs to no row becomes zero. The form of the file is that of LMDB 0.9 (data version 1),
which `lib_version=0` pins; anything unexpected raises Damaged rather than being passed over.
"""

import os
import struct
from pathlib import Path

from rewound.eventlog.errors import Damaged

# LMDB writes numbers in the machine's own order, so they are read in it too.
_MAGIC = 0xBEEFC0DE
_VERSION = 1
_META = struct.Struct("=16xIIQQI")  # page header; magic, version, address, map size, page size
_PAGE_NUMBER = struct.Struct("=Q")
_HEADER_BYTES = 16
_FLAGS, _LOWER, _UPPER, _POINTERS = 5, 6, 7, 8  # 16-bit words of a page's header
_LOW, _HIGH, _NODE_FLAGS, _KEY_SIZE = 0, 1, 2, 3  # 16-bit words of a node's header
_NODE_HEADER_BYTES = 8

_LEAF, _OVERFLOW = 0x02, 0x04
_KNOWN = (0x01, _LEAF, _OVERFLOW)  # 1: a branch
_BIG, _DUP = 0x01, 0x04

_WINDOW_PAGES = 256


def scrub(path: Path) -> int:
    """Zero the slack of a compacted copy that nobody has open. Returns the bytes cleaned.

    Does not flush: the caller does. Raises Damaged when the file is not of the known form, OSError.
    """
    with path.open("r+b", buffering=0) as file:
        return _Scrub(file.fileno(), path.name).run()


class _Scrub:
    """One walk over one file."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._psize = _page_size(os.pread(descriptor, _META.size, 0), name)
        self._cleaned = 0
        self._pages_of: dict[int, int] = {}  # first page of a big value -> its pages
        self._big: list[tuple[int, int]] = []  # first page and size of values met in leaves

    def run(self) -> int:
        psize = self._psize
        pages = os.fstat(self._descriptor).st_size // psize
        page = 2  # two meta pages come first
        while page < pages:
            count = min(_WINDOW_PAGES, pages - page)
            window = bytearray(os.pread(self._descriptor, count * psize, page * psize))
            page += self._window(window, page, count)
            self._tails()
        return self._cleaned

    def _window(self, window: bytearray, first: int, count: int) -> int:
        """Clean the pages in the window; how many it was, or more if a big value goes on."""
        before, index = self._cleaned, 0
        with memoryview(window) as octets, octets.cast("H") as words:
            while index < count:
                at = index * self._psize
                flags = words[(at >> 1) + _FLAGS]
                if flags not in _KNOWN:
                    raise Damaged(f"page {first + index} of a copy has unknown flags {flags:#x}")
                lower, upper = words[(at >> 1) + _LOWER], words[(at >> 1) + _UPPER]
                if flags == _OVERFLOW:
                    self._pages_of[first + index] = lower | upper << 16
                    index += lower | upper << 16
                    continue
                if flags == _LEAF:
                    self._leaf(words, window, at, at + lower)
                if window.count(0, at + lower, at + upper) != upper - lower:
                    octets[at + lower : at + upper] = bytes(upper - lower)
                    self._cleaned += upper - lower
                index += 1
        if self._cleaned != before:
            self._write(window, first * self._psize)
        return index

    def _leaf(self, words: "memoryview[int]", window: bytearray, at: int, lower: int) -> None:
        """Note the values that lie on pages of their own (always before their leaf in a copy)."""
        for pointer in words[(at >> 1) + _POINTERS : lower >> 1].tolist():
            node = at + pointer >> 1
            flags = words[node + _NODE_FLAGS]
            if flags & _BIG:
                key_end = at + pointer + _NODE_HEADER_BYTES + words[node + _KEY_SIZE]
                (page,) = _PAGE_NUMBER.unpack_from(window, key_end)
                self._big.append((page, words[node + _LOW] | words[node + _HIGH] << 16))
            elif flags & _DUP:
                raise Damaged("a database with several values a key cannot be cleaned")

    def _tails(self) -> None:
        """Zero what is left of the last page of each big value."""
        for page, size in self._big:
            start = page * self._psize + _HEADER_BYTES + size
            end = (page + self._pages_of.pop(page)) * self._psize
            if any(os.pread(self._descriptor, end - start, start)):
                self._write(bytes(end - start), start)
                self._cleaned += end - start
        self._big.clear()

    def _write(self, data: bytes | bytearray, at: int) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            rest, at = rest[written:], at + written


def _page_size(meta: bytes, name: str) -> int:
    magic, version, _, _, psize = _META.unpack(meta)
    if magic != _MAGIC or version != _VERSION:
        raise Damaged(f"{name} is not a file of LMDB 0.9")
    return int(psize)
