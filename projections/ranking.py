"""How words and meaning become one score.

    score = (share + meaning + 0.15 * share of the previous + 0.35 * meaning of the previous) / 2.5

*share* is an entry's BM25 score over the best one in the container at that moment, or over three
tenths of what the query's words could reach if that is more: where nothing holds but a common word
of the question, that word shall not count as if it answered it. *meaning* is the cosine with the
query. *Previous* is the message before it in its conversation, since an answer is
often understood by the question before it; whatever has no such message counts twice itself. An
entry without a vector takes part with meaning 0; when nothing has one, words alone are scored.

The weights were read off four public data sets on a coarse grid of five: no set was served best,
none badly. Sums of z-scores do as well, but hang on every other entry of the container.

Everything is elementwise float64 over arrays of shape (entries,), so that masks cannot change a
bit of it.
"""

from typing import Any, Final, NamedTuple

import lmdb
import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import ContainerId, Kind
from rewound.projections.bm25 import least, top_k
from rewound.projections.columns import FIRST, Columns
from rewound.projections.remembered import remembered
from rewound.projections.selection import Mask, Selected
from rewound.projections.vectors import Query, VectorStore

MEANING: Final = 1.0
BEFORE_WORDS: Final = 0.15
BEFORE_MEANING: Final = 0.35
REACHED: Final = 0.3
WORDS_WHOLE: Final = 1.0 + BEFORE_WORDS
WHOLE: Final = WORDS_WHOLE + MEANING + BEFORE_MEANING

SIEVE_FROM: Final = 50_000
"""With more vectors at a moment, single bits choose which are compared in full (measured: below,
the bits and the choice cost more than they save)."""

SIEVE_KEPT: Final = 2_000
SIEVE_TOLD: Final = 500
"""So many of the best by words are compared in any case."""

Floats = npt.NDArray[np.float64]
Ordinals = npt.NDArray[np.integer[Any]]


class Shares:
    """Words over what they are held against, worked out of those entries that are looked at."""

    __slots__ = ("_best", "_words")

    def __init__(self, words: Floats, best: float) -> None:
        self._words = words
        self._best = best

    def __getitem__(self, at: Any) -> Any:
        words = self._words[at]
        return words / self._best if self._best > 0.0 else words


class Scores(NamedTuple):
    """Shape (entries,) each. `found` marks the entries that words or meaning speak for."""

    total: Floats
    """Of what is found and allowed; of the rest it says nothing."""
    words: Floats
    share: Floats | Shares
    """Words over what they are held against."""
    meaning: Floats
    previous: Ordinals
    """The ordinal of the message before it, or its own."""
    found: Mask
    meant: bool
    """Whether meaning was asked, and there was something to compare."""
    largest: float | None = None
    """The best score by words of what counts, where it is known."""


def previous(columns: Columns, counted: Mask) -> Ordinals:
    """For each entry the visible version of the message before it (for a fact, before the message
    that it was drawn from), else the entry itself."""
    return remembered(columns, counted, "before", lambda: _previous(columns, counted))


def _previous(columns: Columns, counted: Mask) -> Ordinals:
    own = np.arange(columns.n, dtype=np.int32)
    has = counted & (columns.before != FIRST)
    if not has.any():
        return own
    seen = np.full(columns.n, -1, np.int32)
    messages = np.flatnonzero(counted & (columns.kind == Kind.MESSAGE))
    seen[columns.group[messages]] = messages
    at = np.flatnonzero(has)
    found = seen[columns.before[at]]
    own[at] = np.where(found >= 0, found, at)
    return own


def combine(
    share: Floats | Shares, meaning: Floats | None, before: Ordinals, at: Any = slice(None)
) -> Floats:
    """The score of entries, 0 to about 1: of those at some ordinals, or of all."""
    first = before[at]
    total: Floats = share[at] + BEFORE_WORDS * share[first]
    if meaning is None:
        return total / WORDS_WHOLE
    total += MEANING * meaning[at] + BEFORE_MEANING * meaning[first]
    return total / WHOLE


class Compared(NamedTuple):
    """Cosines, 0 where there is none, and which entries they speak for; shape (entries,) each."""

    cosines: Floats
    found: Mask
    only: bool
    """Whether nothing else may be found: the rest was not compared."""


class _Placed(NamedTuple):
    """The entries of a mask that have a vector."""

    mask: Mask
    entries: npt.NDArray[np.uint32]
    """Rising ordinals."""
    slots: npt.NDArray[np.uint32]
    until: int
    """Behind the last of the slots."""


def _placed(columns: Columns, mask: Mask) -> _Placed:
    def work() -> _Placed:
        held = mask & (columns.vector > 0)
        entries = np.flatnonzero(held).astype(np.uint32)
        places = columns.vector[entries]
        return _Placed(held, entries, places - np.uint32(1), int(places.max(initial=0)))

    return remembered(columns, mask, "vectors", work)


def compare(
    txn: lmdb.Transaction,
    store: VectorStore,
    container: ContainerId,
    selected: Selected,
    query: Query,
    words: Floats,
    before: Ordinals,
) -> Compared | None:
    """The query compared with what counts; None when nothing of it has a vector.

    Past `SIEVE_FROM` vectors of the moment only those are compared that single bits let through:
    the best `SIEVE_KEPT` of the allowed, the `SIEVE_TOLD` best by words, and what stands before
    them.
    """
    columns = selected.columns
    held = _placed(columns, selected.counted)
    if not len(held.entries):
        return None
    cosines = np.zeros(columns.n, np.float64)
    if len(held.entries) <= SIEVE_FROM:
        cosines[held.entries] = store.dots(txn, container, query, held.until)[held.slots]
        return Compared(cosines, held.mask, only=False)
    wanted = _placed(columns, selected.allowed)
    distances = store.distances(txn, container, query)[wanted.slots]
    near = least(distances, wanted.entries, columns.item, SIEVE_KEPT)
    told = np.flatnonzero(selected.allowed & (words > 0.0)).astype(np.uint32)
    best, _ = top_k(words[told], told, columns.item, SIEVE_TOLD)
    found = np.zeros(columns.n, np.bool_)
    found[near] = found[best] = True
    chosen = found.copy()
    chosen[before[np.flatnonzero(found)]] = True
    at = np.flatnonzero(chosen & held.mask)
    slots = columns.vector[at].astype(np.int64) - 1
    cosines[at] = store.some_dots(txn, container, query, slots)
    return Compared(cosines, found, only=True)


def score(
    txn: lmdb.Transaction,
    store: VectorStore,
    container: ContainerId,
    selected: Selected,
    words: Floats,
    reach: float,
    query: Query | None,
) -> Scores:
    """Score everything of the moment; `words` holds BM25 of all that counts, 0 elsewhere, and
    `reach` is what the query could score at most."""
    columns = selected.columns
    before = previous(columns, selected.counted)
    compared = None
    if query is not None:
        compared = compare(txn, store, container, selected, query, words, before)
    # Of what counts: a title that a filter lets in must not change what others score.
    largest = _largest(words, selected.counted)
    share = Shares(words, max(largest, REACHED * reach))
    found = words > 0.0 if compared is None or not compared.only else compared.found
    if compared is not None and not compared.only:
        found |= compared.found
    cosines = np.zeros(columns.n, np.float64) if compared is None else compared.cosines
    meant = compared is not None
    if compared is not None and not compared.only:
        total = combine(share, cosines, before)
    else:
        at = np.flatnonzero(found & selected.allowed)
        total = np.zeros(columns.n, np.float64)
        total[at] = combine(share, cosines if meant else None, before, at)
    return Scores(total, words, share, cosines, before, found, meant, largest)


def _largest(words: Floats, counted: Mask) -> float:
    """The best of what counts, which is mostly the best of all."""
    if not len(words):
        return 0.0
    first = int(words.argmax())
    if words[first] > 0.0 and not counted[first]:
        return float(np.max(words * counted))
    return float(words[first])
