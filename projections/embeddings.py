"""The vectors of index entries, as one transaction sees them: fetched from memos, or still to come.

An entry gets its vector when it opens and a memo of its very text is there; else it waits in
`unembedded` until a worker brings the memo. All versions of an item have one text and so one memo.

    unembedded   container (16 bytes) | ordinal (4, BE)     (empty)
"""

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import lmdb
import numpy as np

from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.eventlog.log import Reader
from rewound.projections.columns import ColumnStore
from rewound.projections.memos import Memo, decode_memo, memo_key, text_digest
from rewound.projections.vectors import VectorStore

if TYPE_CHECKING:
    from lmdb import _Database

EMBEDDED = frozenset({Kind.FACT, Kind.PASSAGE, Kind.MESSAGE})
"""Kinds of entries that are found by meaning; a document is, through its passages."""

_ORDINAL = Struct(">I")


class VectorModels(NamedTuple):
    """Whose vectors are kept, and how that model is opened; "" when none are. `coming` is the model
    that is to take its place, memos of `leaving` are to go."""

    model: str
    opening: bytes = b""
    coming: str = ""
    leaving: tuple[str, ...] = ()


class Worded(NamedTuple):
    """An entry and the text that it is found by; None once that is erased."""

    ordinal: int
    item: Ref
    text: str | None


class Embeddings:
    """Write methods need a write transaction."""

    def __init__(
        self,
        txn: lmdb.Transaction,
        columns: ColumnStore,
        vectors: VectorStore,
        unembedded_db: "_Database",
        log: Reader,
        stamp: int,
        models: VectorModels,
    ) -> None:
        self._txn = txn
        self._columns = columns
        self._unembedded = unembedded_db
        self._log = log
        self._stamp = stamp
        self.store = vectors
        self.models = models
        self.model = models.model

    # --- following the index

    def opened(self, container: ContainerId, worded: Sequence[Worded]) -> int:
        """Give entries the vectors that their memos hold; the rest waits. How many got one.

        The entries must have been written, and have no vector yet.
        """
        if not self.model:
            return 0
        secret = self._log.key(container)
        _, dimensions = self.store.head(self._txn, container)
        ready: list[int] = []
        memos: list[Memo] = []
        for entry in worded:
            if entry.item.kind not in EMBEDDED or not entry.text:
                continue
            value = self._log.memo(container, memo_key(secret, self.model, entry.item))
            memo = None if value is None else decode_memo(value)
            key = container + _ORDINAL.pack(entry.ordinal)
            fits = memo is not None and memo.digest == text_digest(secret, entry.text)
            if memo is not None and fits and (dimensions or len(memo.numbers)) == len(memo.numbers):
                dimensions = len(memo.numbers)  # all are of one size, whatever else was memoised
                ready.append(entry.ordinal)
                memos.append(memo)
                self._txn.delete(key, db=self._unembedded)
            else:
                self._txn.put(key, b"", db=self._unembedded)
        if ready:
            numbers = np.stack([memo.numbers for memo in memos])
            scales = np.array([memo.scale for memo in memos], np.float32)
            first = self.store.append(self._txn, container, numbers, scales)
            slots = np.arange(first + 1, first + 1 + len(ready), dtype=np.uint32)
            self._columns.patch(self._txn, container, self._stamp, "vector", ready, slots)
        return len(ready)

    def drop(self, container: ContainerId, entries: Iterable[tuple[int, int]]) -> None:
        """Take the vectors of entries away, (ordinal, slot + 1) each: their text has changed."""
        pairs = list(entries)
        held = [(ordinal, vector) for ordinal, vector in pairs if vector]
        if held:
            self.store.clear(self._txn, container, [vector - 1 for _, vector in held])
            ordinals = [ordinal for ordinal, _ in held]
            self._columns.patch(self._txn, container, self._stamp, "vector", ordinals, 0)
        for ordinal, _ in pairs:
            self._txn.delete(container + _ORDINAL.pack(ordinal), db=self._unembedded)

    def embed(
        self, container: ContainerId, item: Ref, worded: Sequence[Worded], memo: Memo
    ) -> bool:
        """Whether the memo is of the item as it is found now; then it is given what waits.

        The memo must have been put. A version of other words is left to be found by words.
        """
        secret = self._log.key(container)
        waiting = [entry for entry in worded if self.waits(container, entry.ordinal)]
        fitting = [
            entry
            for entry in waiting
            if entry.text and text_digest(secret, entry.text) == memo.digest
        ]
        if not fitting or not self.opened(container, fitting):
            return False
        for entry in waiting:
            key = container + _ORDINAL.pack(entry.ordinal)
            self._txn.delete(key, db=self._unembedded)
        return True

    # --- what waits

    def waiting(self, container: ContainerId) -> Iterator[int]:
        """Ordinals of entries that have no vector yet, the newest first: they are asked for."""
        with self._txn.cursor(self._unembedded) as cursor:
            going = cursor.prev() if cursor.set_range(container + b"\xff" * 5) else cursor.last()
            while going and bytes(cursor.key()[:16]) == container:
                yield _ORDINAL.unpack(cursor.key()[16:])[0]
                going = cursor.prev()

    def waiting_items(self, container: ContainerId) -> list[tuple[int, Ref]]:
        """What has no vector yet, by its ordinal and as an item."""
        ordinals = list(self.waiting(container))
        kinds = self._columns.values(self._txn, container, "kind", ordinals)
        items = self._columns.values(self._txn, container, "item", ordinals)
        return [
            (ordinal, Ref(Kind(int(kind)), item.tobytes()))
            for ordinal, kind, item in zip(ordinals, kinds, items, strict=True)
        ]

    def waits(self, container: ContainerId, ordinal: int) -> bool:
        key = container + _ORDINAL.pack(ordinal)
        return self._txn.get(key, db=self._unembedded) is not None

    def waiting_count(self) -> int:
        """How many entries wait in all containers; told without reading them."""
        count: int = self._txn.stat(self._unembedded)["entries"]
        return count

    def containers_waiting(self) -> Iterator[ContainerId]:
        """Containers in which something waits."""
        with self._txn.cursor(self._unembedded) as cursor:
            going = cursor.first()
            while going:
                container = ContainerId(bytes(cursor.key()[:16]))
                yield container
                going = cursor.set_range(container + b"\xff" * 5)
