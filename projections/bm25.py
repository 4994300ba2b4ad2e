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
) -> tuple[Ordinals, Scores]:
    """Score the wanted entries in which a term occurs; ordinals ascend, all scores are positive.

    `lists` are the postings of distinct terms in a fixed order; `length` and `wanted` (n,) cover
    every ordinal in them.
    """
    average = counted.terms / counted.entries if counted.terms else 1.0
    flat = parameters.k1 * (1.0 - parameters.b)
    slope = parameters.k1 * parameters.b / average
    total = np.zeros(len(wanted), np.float64)
    for ordinals, frequencies in lists:
        at = ordinals.astype(np.intp)
        df = int(np.count_nonzero(counted.mask[at]))
        weight = idf(counted.entries, df)
        tf = frequencies.astype(np.float64)
        norm = slope * length[at].astype(np.float64) + flat
        total[at] += weight * (parameters.k1 + 1.0) * tf / (tf + norm)
    # Choosing here, not in every list, costs less than the arithmetic it would save.
    hits = np.flatnonzero((total > 0.0) & wanted).astype(np.uint32)
    return hits, total[hits]


def reach(
    lists: Sequence[tuple[Ordinals, Frequencies]],
    counted: Statistics,
    parameters: Parameters = DEFAULT,
) -> float:
    """What an entry would score that says every term of the query over and over."""
    frequencies = [int(np.count_nonzero(counted.mask[ordinals])) for ordinals, _ in lists]
    return (parameters.k1 + 1.0) * sum(idf(counted.entries, df) for df in frequencies)


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
