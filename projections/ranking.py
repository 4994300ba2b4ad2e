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

from typing import Final, NamedTuple

import lmdb
import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import ContainerId, Kind
from rewound.projections.bm25 import top_k
from rewound.projections.columns import FIRST, Columns
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


class Scores(NamedTuple):
    """Shape (entries,) each. `found` marks the entries that words or meaning speak for."""

    total: Floats
    words: Floats
    share: Floats
    """Words over what they are held against."""
    meaning: Floats
    previous: npt.NDArray[np.int64]
    """The ordinal of the message before it, or its own."""
    found: Mask
    meant: bool
    """Whether meaning was asked, and there was something to compare."""


def previous(columns: Columns, counted: Mask) -> npt.NDArray[np.int64]:
    """For each entry the visible version of the message before it (for a fact, before the message
    that it was drawn from), else the entry itself."""
    own = np.arange(columns.n, dtype=np.int64)
    has = counted & (columns.before != FIRST)
    if not has.any():
        return own
    seen = np.full(columns.n, -1, np.int64)
    messages = np.flatnonzero(counted & (columns.kind == Kind.MESSAGE))
    seen[columns.group[messages]] = messages
    at = np.flatnonzero(has)
    found = seen[columns.before[at]]
    own[at] = np.where(found >= 0, found, at)
    return own


def combine(share: Floats, meaning: Floats | None, before: npt.NDArray[np.int64]) -> Floats:
    """The score of every entry, 0 to about 1."""
    total: Floats = share + BEFORE_WORDS * share[before]
    if meaning is None:
        return total / WORDS_WHOLE
    total += MEANING * meaning + BEFORE_MEANING * meaning[before]
    return total / WHOLE


class Compared(NamedTuple):
    """Cosines, 0 where there is none, and which entries they speak for; shape (entries,) each."""

    cosines: Floats
    found: Mask
    only: bool
    """Whether nothing else may be found: the rest was not compared."""


def compare(
    txn: lmdb.Transaction,
    store: VectorStore,
    container: ContainerId,
    selected: Selected,
    query: Query,
    words: Floats,
    before: npt.NDArray[np.int64],
) -> Compared | None:
    """The query compared with what counts; None when nothing of it has a vector.

    Past `SIEVE_FROM` vectors of the moment only those are compared that single bits let through:
    the best `SIEVE_KEPT` of the allowed, the `SIEVE_TOLD` best by words, and what stands before
    them.
    """
    columns = selected.columns
    with_vector = selected.counted & (columns.vector > 0)
    count = int(np.count_nonzero(with_vector))
    if not count:
        return None
    cosines = np.zeros(columns.n, np.float64)
    if count <= SIEVE_FROM:
        at = np.flatnonzero(with_vector)
        cosines[at] = store.dots(txn, container, query)[columns.vector[at] - 1]
        return Compared(cosines, with_vector, only=False)
    wanted = np.flatnonzero(with_vector & selected.allowed).astype(np.uint32)
    distances = store.distances(txn, container, query)[columns.vector[wanted] - 1]
    near, _ = top_k(-distances.astype(np.float64), wanted, columns.item, SIEVE_KEPT)
    told = np.flatnonzero(selected.allowed & (words > 0.0)).astype(np.uint32)
    best, _ = top_k(words[told], told, columns.item, SIEVE_TOLD)
    found = np.zeros(columns.n, np.bool_)
    found[near] = found[best] = True
    chosen = found.copy()
    chosen[before[np.flatnonzero(found)]] = True
    at = np.flatnonzero(chosen & with_vector)
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
    best = max(float(np.max(words * selected.counted, initial=0.0)), REACHED * reach)
    found = words > 0.0
    share = words / best if best > 0.0 else words
    if compared is None:
        nothing = np.zeros(columns.n, np.float64)
        total = combine(share, None, before)
        return Scores(total, words, share, nothing, before, found, meant=False)
    total = combine(share, compared.cosines, before)
    found = compared.found if compared.only else found | compared.found
    return Scores(total, words, share, compared.cosines, before, found, meant=True)
