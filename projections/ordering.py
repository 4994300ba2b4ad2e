"""The order of what a search found: the best by words and meaning, ranked anew by what is learned.

A first score picks the candidates; the ranker orders the units that they belong to. Of a unit's
entries the best by the first score has the unit's place, every further one stands as if it were
half as likely: five facts of one message shall not push four other messages away.
"""

import math
from collections.abc import Collection
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.projections import bm25
from rewound.projections.feature_names import LIFTS, NAMES
from rewound.projections.features import Query, described
from rewound.projections.ranker import Model, ranked
from rewound.projections.ranking import Scores
from rewound.projections.relevance import Evidence
from rewound.projections.selection import Selected
from rewound.projections.threads import threads

Floats = npt.NDArray[np.float64]
Ordinals = npt.NDArray[np.uint32]

CANDIDATES: Final = 300
"""So many entries are ranked anew, however many hits are asked for: the first ones are the same
for every limit. Among ten thousand turns they hold .93 to .98 of what answers (measured)."""

FURTHER: Final = math.log(2.0)
"""What every further entry of a unit loses of its logit."""

_LIFT: Final = 8.0
"""More than a first score is."""

FURTHER_OF_SEVERAL: Final = math.log(8.0)
"""The same where several things are asked for."""

SPREAD: Final = 0.5
"""There the n-th unit of one conversation or document loses so much of its logit, times log(n): a
list is seldom told in one place. R@20 of multi-session questions: lme_pool .779 to .790, beam_100k
.714 to .728 (measured)."""

SOUGHT: Final = math.log(8.0)
"""What a fact gains that states just what a question asks, of just whom it asks it (`sought`)."""

BEHIND: Final = 1.0
"""How far below the last candidate the logit of the rest begins; falls with the first score."""


class Candidates(NamedTuple):
    """What is ranked anew, and what is not; entries by the first score, equal ones by id."""

    entries: Ordinals
    """Shape (entries,)."""
    totals: Floats
    """Their first scores."""
    ranked: int
    """How many of them, from the first on, are ranked anew."""
    units: npt.NDArray[np.integer[Any]]
    """Ordinals of what those belong to, ascending, shape (units,)."""
    at: npt.NDArray[np.int64]
    """Which of the units each of those belongs to, shape (ranked,)."""
    threads: npt.NDArray[np.int64]
    """The conversation or document of each of those."""
    rows: Floats
    """Features of the units, shape (units, len(NAMES))."""
    reached: float
    """The share of what the query's words could score that the best entry has."""
    evidence: Evidence
    """What the units say of the query's terms."""


class Ordered(NamedTuple):
    """Entries best first, with the logit that they answer; shape (entries,) each."""

    entries: Ordinals
    logits: Floats
    anything: float | None = None
    """The logit that something fits; None where nothing was ranked."""
    sought: frozenset[int] = frozenset()
    """Which of them gained SOUGHT."""


def candidates(
    selected: Selected, scores: Scores, query: Query, reach: float, taken: int = 0
) -> Candidates:
    """The nearest of what may be returned, at least `taken` where there are as many.

    `reach` is what the query's words could score at most.
    """
    columns = selected.columns
    wanted = np.flatnonzero(selected.allowed & scores.found).astype(np.uint32)
    # Whoever says what is quoted is a candidate, however far away by all the other words.
    lifted = scores.total.copy() if query.quoted else scores.total
    for ordinals in query.quoted:
        lifted[ordinals] += _LIFT
    near, totals = bm25.top_k(lifted[wanted], wanted, columns.item, max(taken, CANDIDATES))
    stand = threads(columns, selected.counted)
    of = stand.unit[near[:CANDIDATES]]
    units, at = np.unique(of, return_inverse=True)
    told = described(columns, selected.counted, stand, query, scores, units)
    largest = scores.largest
    if largest is None:
        largest = float(np.max(scores.words * selected.counted, initial=0.0))
    reached = largest / reach if reach > 0.0 else 0.0
    return Candidates(
        near,
        totals,
        len(of),
        units,
        at.astype(np.int64),
        stand.thread[near[:CANDIDATES]].astype(np.int64),
        told.rows,
        reached,
        told.evidence,
    )


def order(
    found: Candidates, model: Model, *, several: bool = False, sought: Ordinals | None = None
) -> Ordered:
    """All candidates, best first; equal ones in the order they have. Where `several` things are
    asked for, what stands in one place is spread further apart. `sought` are entries of facts that
    state what is asked."""
    if not found.ranked:
        return Ordered(found.entries, found.totals)
    scored = ranked(model, found.rows, found.reached, found.evidence)
    logits = scored.logit[found.at]
    logits -= (FURTHER_OF_SEVERAL if several else FURTHER) * _further(found.at)
    if several:
        logits = _spread(found, logits)
    near = found.entries[: found.ranked]
    told = np.isin(near, sought) if sought is not None and len(sought) else None
    if told is not None:
        logits = logits + SOUGHT * told
    again = np.argsort(-logits, kind="stable")
    last = found.totals[found.ranked - 1]
    behind = float(logits.min()) - BEHIND - (last - found.totals[found.ranked :])
    entries = np.concatenate((found.entries[again], found.entries[found.ranked :]))
    gained = frozenset() if told is None else frozenset(near[told].tolist())
    return Ordered(entries, np.concatenate((logits[again], behind)), scored.anything, gained)


def _spread(found: Candidates, logits: Floats) -> Floats:
    """The logits where each further unit of a conversation or document is worth a little less."""
    best = np.argsort(-logits, kind="stable")
    _, first = np.unique(found.at[best], return_index=True)  # of each unit, in that order
    leads = np.argsort(first)
    place = np.empty(len(leads), np.int64)
    place[leads] = _further(found.threads[best[first[leads]]])
    spread: Floats = logits - SPREAD * np.log1p(place)[found.at]
    return spread


def lifts(found: Candidates, among: Collection[int]) -> dict[int, dict[str, float]]:
    """What lifts those of some entries that are ranked anew, by ordinal: the features of that sort
    in which the units differ."""
    rows = {name: found.rows[:, NAMES.index(name)] for name in LIFTS}
    told = {name: row for name, row in rows.items() if len(row) and np.ptp(row) > 0.0}
    if not told:
        return {}
    ranked_anew = zip(found.entries[: found.ranked].tolist(), found.at.tolist(), strict=True)
    return {
        ordinal: {name: float(values[unit]) for name, values in told.items()}
        for ordinal, unit in ranked_anew
        if ordinal in among
    }


def _further(at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each entry how many of its unit stand before it; `at` names the units, best first."""
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    begins = np.ones(len(at), np.bool_)
    begins[1:] = sorted_at[1:] != sorted_at[:-1]
    place = np.arange(len(at))
    found = np.empty(len(at), np.int64)
    found[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return found
