"""Why a search has the order that it has: its stages told apart, for every entry that it saw.

A search first orders by words and meaning alone, then ranks its candidates anew by what each
feature adds, then makes one hit of those that say the same. All of it is read off a search that was
run; nothing here changes it, and a search that nobody asks about does not pay for it.
"""

import enum
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from rewound.eventlog.ids import Kind, Ref
from rewound.projections.asked import Asked
from rewound.projections.feature_names import NAMES
from rewound.projections.masks import Mask
from rewound.projections.ranker import Ranker, contributions, probability, ranked
from rewound.projections.reader import ContainerView
from rewound.projections.repeats import collapsed
from rewound.projections.search import Ran, ranked_as, speakers
from rewound.projections.selection import Criteria, select

EVERYTHING: Final = frozenset({Kind.FACT, Kind.PASSAGE, Kind.MESSAGE, Kind.DOCUMENT})


class Near(NamedTuple):
    """How near an entry is by words and meaning alone: what the ranker starts from.

    `closeness` is the first score, by which `rank` counts from 1. `share` is what `words` (BM25)
    are of what they are held against, `meaning` a cosine; both again for the message before it,
    `previous`, if there is one.
    """

    rank: int
    closeness: float
    words: float
    share: float
    meaning: float
    previous: Ref | None = None
    previous_share: float | None = None
    previous_meaning: float | None = None


class Added(NamedTuple):
    """A feature: its value, its weight, and what it adds to the score: the weight times how many
    spreads the value lies above the mean."""

    name: str
    value: float
    weight: float
    adds: float


class Scored(NamedTuple):
    """What the ranker made of an entry.

    `rank` counts from 1 among all entries that were ordered. `unit` is what it is ranked with, and
    `further` how many entries of that stand before it: each takes a half of its odds. `sought` says
    that it states what is asked, of whom that is asked, which gives it eight times its odds. What
    was not ranked anew has neither features nor a score.
    """

    rank: int
    logit: float
    probability: float
    score: float | None = None
    unit: Ref | None = None
    further: int = 0
    sought: bool = False
    features: tuple[Added, ...] = ()
    """What adds or takes away most first."""


class Account(NamedTuple):
    """What holds for a whole search.

    `counted` is how many entries the read may know of at the moment, `allowed` how many of them
    pass the filters, `found` how many words or meaning speak for, and `candidates` how many were
    ranked anew, in `units`. A logit is `fit + slope * (score - best)`, before what `further`
    takes and `sought` gives; `best` is the best score without what lifts.
    """

    ranker: Ranker
    meant: bool
    """Whether meaning was asked too."""
    asked: Asked
    speakers: tuple[str, ...]
    """Names in the query of somebody who said something."""
    counted: int
    allowed: int
    found: int
    candidates: int
    units: int
    fit: float
    best: float
    slope: float


class Fate(enum.Enum):
    """What became of an entry that may be returned."""

    FOUND = enum.auto()
    COLLAPSED = enum.auto()
    """It says the same as a hit, which stands for it."""
    BEYOND = enum.auto()
    """Behind as many hits as were asked for."""
    BELOW = enum.auto()
    """Too far behind by words and meaning to be looked at again."""
    UNMET = enum.auto()
    """Neither words nor meaning speak for it."""


class Outcome(NamedTuple):
    """`place` is that of the entry's hit, from 1, and `leads` what that hit shows."""

    fate: Fate
    place: int | None = None
    leads: Ref | None = None


class Explaining:
    """Explains the entries of one search that was run for at most `limit` hits."""

    def __init__(self, ran: Ran, limit: int) -> None:
        self._ran = ran
        self._limit = limit
        self._columns = ran.asking.selected.columns
        self._scores = ran.asking.scores
        found = ran.candidates
        self._adds = contributions(ran.model, found.rows)
        self._ranked = (
            ranked(ran.model, found.rows, found.reached, found.evidence) if found.ranked else None
        )
        near, ordered = ran.candidates.entries.tolist(), ran.ordered.entries.tolist()
        self._near = {ordinal: at for at, ordinal in enumerate(near)}
        self._order = {ordinal: at for at, ordinal in enumerate(ordered)}
        self._hits: list[list[int]] | None = None

    # --- stages

    def near(self, ordinal: int) -> Near | None:
        """The first stage; None for what neither words nor meaning speak for."""
        selected, scores = self._ran.asking.selected, self._scores
        if not (selected.allowed[ordinal] and scores.found[ordinal]):
            return None
        at = self._near.get(ordinal)
        before = int(scores.previous[ordinal])
        told = Near(
            rank=self._rank(ordinal) if at is None else at + 1,
            closeness=float(scores.total[ordinal]),
            words=float(scores.words[ordinal]),
            share=float(scores.share[ordinal]),
            meaning=float(scores.meaning[ordinal]),
        )
        if before == ordinal:
            return told
        share, meaning = float(scores.share[before]), float(scores.meaning[before])
        return told._replace(
            previous=self.ref(before), previous_share=share, previous_meaning=meaning
        )

    def _rank(self, ordinal: int) -> int:
        """The place by the first score of what is no candidate, equal ones by id."""
        total, item = self._scores.total, self._columns.item
        wanted = self._ran.asking.selected.allowed & self._scores.found
        above = int(np.count_nonzero(wanted & (total > total[ordinal])))
        own = item[ordinal].tobytes()
        tied = np.flatnonzero(wanted & (total == total[ordinal]))
        first = [each for each in tied.tolist() if item[each].tobytes() < own]
        return above + len(first) + 1

    def scored(self, ordinal: int) -> Scored | None:
        """The second stage; None for what was not among those ordered."""
        at = self._order.get(ordinal)
        if at is None:
            return None
        logit = float(self._ran.ordered.logits[at])
        near, found = self._near[ordinal], self._ran.candidates
        if near >= found.ranked or self._ranked is None:
            return Scored(at + 1, logit, probability(logit))
        row = int(found.at[near])
        return Scored(
            rank=at + 1,
            logit=logit,
            probability=probability(logit),
            score=float(self._ranked.score[row]),
            unit=self.ref(int(found.units[row])),
            further=int(np.count_nonzero(found.at[:near] == row)),
            sought=ordinal in self._ran.ordered.sought,
            features=self._features(row),
        )

    def _features(self, row: int) -> tuple[Added, ...]:
        values, adds = self._ran.candidates.rows[row].tolist(), self._adds[row].tolist()
        told = map(Added, NAMES, values, self._ran.model.weights, adds)
        return tuple(sorted(told, key=lambda added: -abs(added.adds)))

    def gives_score(self, group: Sequence[int]) -> int:
        """Of the entries of one hit the one whose score it has."""
        return min(group, key=self._order.__getitem__)

    # --- hits

    @property
    def shown(self) -> list[list[int]]:
        """The entries of each hit that came back, the one that it shows first."""
        return [[entry.ordinal for entry in group] for group in self._ran.groups]

    def outcome(self, ordinal: int) -> Outcome:
        """What became of an entry that the filters allow."""
        if not self._scores.found[ordinal]:
            return Outcome(Fate.UNMET)
        if ordinal not in self._near:
            return Outcome(Fate.BELOW)
        for at, group in enumerate(self._every()):
            if ordinal in group:
                leads = self.ref(group[0])
                if at >= self._limit:
                    return Outcome(Fate.BEYOND, at + 1, leads)
                fate = Fate.FOUND if group[0] == ordinal else Fate.COLLAPSED
                return Outcome(fate, at + 1, leads)
        raise AssertionError("what was ordered is in a hit")

    def hit(self, place: int) -> list[int]:
        """The entries of a hit, also of one that a higher limit would have brought."""
        return self._every()[place - 1]

    def _every(self) -> list[list[int]]:
        if self._hits is None:
            self._hits = self._all_hits()
        return self._hits

    def _all_hits(self) -> list[list[int]]:
        """The hits that there were, then those that a higher limit would have brought."""
        ran = self._ran
        shown = self.shown
        everything = [ranked_as(ran.asking, ordinal) for ordinal in self._order]
        groups = collapsed(ran.texts, everything, len(everything))
        of = {ordinal: at for at, group in enumerate(shown) for ordinal in group}
        more: list[list[int]] = []
        for group in groups:
            held = [entry.ordinal for entry in group]
            home = next((of[each] for each in held if each in of), None)
            if home is None:
                more.append(held)
            else:
                shown[home] += [each for each in held if each not in of]
        return shown + more

    def ref(self, ordinal: int) -> Ref:
        kind, item = self._columns.kind[ordinal], self._columns.item[ordinal]
        return Ref(Kind(int(kind)), item.tobytes())

    # --- the whole of it

    def account(self, view: ContainerView, query: str, criteria: Criteria) -> Account:
        """What holds for the whole search. Of what lies outside of the scope nothing is told."""
        ran, scores = self._ran, self._scores
        selected = ran.asking.selected
        known = _known(view, criteria, selected.counted)
        names = [name for name, said in speakers(view, query).items() if known[said].any()]
        best, fit = 0.0, 0.0
        if self._ranked is not None:
            best, fit = self._ranked.best, self._ranked.fit
        return Account(
            ranker=ran.ranker,
            meant=scores.meant,
            asked=ran.asking.query.asked,
            speakers=tuple(names),
            counted=int(np.count_nonzero(known)),
            allowed=int(np.count_nonzero(selected.allowed)),
            found=int(np.count_nonzero(selected.allowed & scores.found)),
            candidates=ran.candidates.ranked,
            units=len(ran.candidates.units),
            fit=fit,
            best=best,
            slope=ran.model.slope,
        )


def _known(view: ContainerView, criteria: Criteria, counted: Mask) -> Mask:
    """What counts at the moment and lies within the scope."""
    if not criteria.scope:
        return counted
    inside = Criteria(
        now=criteria.now,
        at=criteria.at,
        what=EVERYTHING,
        scope=criteria.scope,
        superseded=True,
        forgotten=criteria.forgotten,
    )
    return counted & select(view, inside).allowed
