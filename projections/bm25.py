"""BM25 over masks: words ranked as of any position, bit for bit as a smaller store would rank them.

Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", (3.15): an
entry scores the sum, over the query's terms, of

    idf * (k1 + 1) * tf / (tf + k1 * (1 - b + b * length / average length))
    idf = log(1 + (N - df + 0.5) / (df + 0.5))                                  (never negative)

N, df and the average length are those of the entries in a *statistics* mask, the scored entries
those in a *result* mask. Statistics are integers, `log` is taken of scalars, and all array
arithmetic is elementwise float64, added up term by term in the order of the terms' bytes. No sum
runs over entries, so the order, the number and the numbering of other entries cannot change a bit.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import lmdb
import numpy as np
import numpy.typing as npt

from rewound.projections.postings import Frequencies, Ordinals, Postings

Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Parameters:
    """How fast a repeated term saturates, and how much length counts (0: not, 1: fully)."""

    k1: float = 1.2
    b: float = 0.75


DEFAULT: Final = Parameters()

_CHUNK: Final = 16_384
"""Postings scored at a time: their numbers stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 needs to know of the whole collection."""

    mask: Mask
    """Shape (n,): the entries that count."""
    entries: int
    """How many they are."""
    terms: int
    """The sum of their lengths."""


def statistics(length: npt.NDArray[np.uint32], mask: Mask) -> Statistics:
    """Statistics of the entries in a mask; `length` (n,) holds the terms of every entry."""
    # A product first: numpy is slow at sums and choices over a mask.
    terms = int(np.sum(length * mask, dtype=np.int64))
    return Statistics(mask, int(np.count_nonzero(mask)), terms)


def score(
    lists: Sequence[tuple[Ordinals, Frequencies]],
    length: npt.NDArray[np.uint32],
    counted: Statistics,
    wanted: Mask,
    parameters: Parameters = DEFAULT,
    *,
    held: Sequence[int] | None = None,
) -> tuple[Ordinals, Scores]:
    """Score the wanted entries in which a term occurs; ordinals ascend, all scores are positive.

    `lists` are the postings of distinct terms in a fixed order; `length` and `wanted` (n,) cover
    every ordinal in them. `held` is what `document_frequencies` gives, where it is known.
    """
    average = counted.terms / counted.entries if counted.terms else 1.0
    flat = parameters.k1 * (1.0 - parameters.b)
    slope = parameters.k1 * parameters.b / average
    total = np.zeros(len(wanted), np.float64)
    held = document_frequencies(lists, counted.mask) if held is None else held
    for (ordinals, frequencies), df in zip(lists, held, strict=True):
        weight = idf(counted.entries, df) * (parameters.k1 + 1.0)
        for start in range(0, len(ordinals), _CHUNK):
            at = ordinals[start : start + _CHUNK].astype(np.intp)
            tf = frequencies[start : start + _CHUNK].astype(np.float64)
            norm = length[at].astype(np.float64)
            norm *= slope
            norm += flat
            norm += tf
            tf *= weight
            tf /= norm
            total[at] += tf
    # Choosing here, not in every list, costs less than the arithmetic it would save.
    hits = np.flatnonzero((total > 0.0) & wanted).astype(np.uint32)
    return hits, total[hits]


def document_frequencies(
    lists: Sequence[tuple[Ordinals, Frequencies]], mask: Mask
) -> tuple[int, ...]:
    """In how many of the entries in a mask each term stands."""
    return tuple(int(np.count_nonzero(mask[ordinals])) for ordinals, _ in lists)


def reach(
    lists: Sequence[tuple[Ordinals, Frequencies]],
    counted: Statistics,
    parameters: Parameters = DEFAULT,
    *,
    held: Sequence[int] | None = None,
) -> float:
    """What an entry would score that says every term of the query over and over."""
    held = document_frequencies(lists, counted.mask) if held is None else held
    return (parameters.k1 + 1.0) * sum(idf(counted.entries, df) for df in held)


def idf(entries: int, df: int) -> float:
    """How telling a term is that stands in `df` of the entries."""
    return math.log(1.0 + (entries - df + 0.5) / (df + 0.5))


def search(
    postings: Postings,
    txn: lmdb.Transaction,
    container: bytes,
    field: int,
    terms: Iterable[str],
    length: npt.NDArray[np.uint32],
    counted: Statistics,
    wanted: Mask,
    parameters: Parameters = DEFAULT,
) -> tuple[Ordinals, Scores]:
    """`score` for the distinct terms of a query, in whatever order they come."""
    lists = [postings.read(txn, container, field, term) for term in sorted(set(terms))]
    return score(lists, length, counted, wanted, parameters)


def least(
    distances: npt.NDArray[np.uint16], ordinals: Ordinals, ids: npt.NDArray[np.void], k: int
) -> Ordinals:
    """The k nearest, in no order; of equally near ones those with the smallest ids.

    Distances are small whole numbers: how many are below a bound is counted faster than sorted.
    """
    if k >= len(distances):
        return ordinals
    low, high = 0, int(distances.max(initial=0))
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero(distances <= np.uint16(middle)) >= k:
            high = middle
        else:
            low = middle + 1
    sure = ordinals[distances < np.uint16(low)]
    tied = ordinals[distances == np.uint16(low)]
    nothing = np.zeros(len(tied), np.float64)
    return np.concatenate((sure, top_k(nothing, tied, ids, k - len(sure))[0]))


def top_k(
    scores: Scores, ordinals: Ordinals, ids: npt.NDArray[np.void], k: int
) -> tuple[Ordinals, Scores]:
    """The k best, best first; equal scores by ascending id, so never by ordinal.

    `scores` and `ordinals` have shape (m,), `ids` (n,) holds the 16 bytes of every ordinal's item.
    Exact; of what could enter, only what ties with the k-th score is compared by id.
    """
    k = max(k, 0)
    if k < len(scores):
        least = np.partition(scores, -k)[-k] if k else np.inf
        sure = np.flatnonzero(scores > least)
        tied = np.flatnonzero(scores == least)
        if 0 < k - len(sure) < len(tied):
            high = _halves(ids[ordinals[tied]])[0]
            last = k - len(sure) - 1
            tied = tied[high <= np.partition(high, last)[last]]
        chosen = np.concatenate((sure, tied))
        scores, ordinals = scores[chosen], ordinals[chosen]
    high, low = _halves(ids[ordinals])
    order = np.lexsort((low, high, -scores))[:k]
    return ordinals[order], scores[order]


def _halves(ids: npt.NDArray[np.void]) -> npt.NDArray[Any]:
    """Ids (m,) as two rows of numbers (2, m) that compare as their bytes do."""
    pairs = np.ascontiguousarray(ids).view(">u8").reshape(-1, 2)
    return pairs.astype(np.uint64).T
