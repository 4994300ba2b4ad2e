"""A new fact held against those before it: evidence, and what the policy makes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.eventlog.enums import Outcome
from rewound.eventlog.errors import RewoundError
from rewound.eventlog.ids import ContainerId, FactId
from rewound.llm.judging import Evidence, Judge, Opinion, Pair
from rewound.llm.probing import told_of
from rewound.memory.candidates import Candidates, own_vector
from rewound.memory.claims import claim_of, is_shown
from rewound.memory.deciding import Ruled
from rewound.memory.policies import InForce, in_force

if TYPE_CHECKING:
    from rewound.llm.reading import Table
    from rewound.memory.engine import Engine
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row
    from rewound.projections.vectors import Query

NAME = "rules/4"
"""What compares facts without a model; a new number when the evidence is worked out otherwise."""

OPINION = "opinion "
"""Evidence of this beginning is what a judge model said: `opinion updates` is how surely."""

_log = logging.getLogger(__name__)


class Weighed(NamedTuple):
    """A fact and what it was compared with, nearest first; the opinions are still to come."""

    fact: FactId
    pairs: tuple[Pair, ...]
    olds: tuple[FactId, ...]


def stands(view: ContainerView, weighed: Weighed) -> bool:
    """Whether a fact and all that it was compared with are there and shown, in the same words and
    drawn from the same ones."""
    if not weighed.pairs:
        return True
    claims = {weighed.fact: weighed.pairs[0].new}
    claims |= {old: pair.old for old, pair in zip(weighed.olds, weighed.pairs, strict=True)}
    for fact, claim in claims.items():
        row = view.fact(fact)
        if row is None or not is_shown(view, fact) or claim_of(view, row) != claim:
            return False
    return True


def unchanged(
    engine: Engine, container: ContainerId, held: int, weighed: Sequence[Weighed]
) -> Callable[[], bool]:
    """Tells whether all that is to be judged still stands as it did at position `held`: what was
    forgotten while it waited for a model is shown to none."""
    stood = held

    def still() -> bool:
        nonlocal stood
        try:
            with engine.reading() as views:
                view = views.container(container)
                if view.position != stood:
                    if not all(stands(view, each) for each in weighed):
                        return False
                    stood = view.position
                return True
        except RewoundError:
            return False  # it cannot be known: the store closes, or its views are far behind

    return still


class Scales:
    """Compares facts of one container, as they are in one snapshot."""

    def __init__(self, view: ContainerView, now_us: int, extra: Table = ()) -> None:
        self._view = view
        self._candidates = Candidates(view, now_us)
        self._extra = extra
        self.policy: InForce = in_force(view)

    def compare(self, row: Row[FactRow]) -> Weighed:
        """The fact with its candidates; with none when its words are gone or partly forgotten."""
        fact = FactId(row.id)
        claim = claim_of(self._view, row)
        if claim is None:
            return Weighed(fact, (), ())
        pairs: list[Pair] = []
        olds: list[FactId] = []
        for candidate in self._candidates.of(row, claim):
            old = claim_of(self._view, candidate.row)
            if old is not None:
                pairs.append(Pair(claim, old, candidate.similarity))
                olds.append(FactId(candidate.row.id))
        against = self._probed(fact, olds)
        pairs = [pair._replace(against=each) for pair, each in zip(pairs, against, strict=True)]
        return Weighed(fact, tuple(pairs), tuple(olds))

    def _probed(self, fact: FactId, olds: Sequence[FactId]) -> list[int | None]:
        """What the vectors of a fact and of each other tell of a contradiction."""
        own = own_vector(self._view, fact)
        if own is None:
            return [None] * len(olds)
        others = (own_vector(self._view, old) for old in olds)
        return told_of(
            own.model, _whole(own), [None if each is None else _whole(each) for each in others]
        )

    def later(self, row: Row[FactRow]) -> list[Row[FactRow]]:
        """Facts stated after one that may have to do with it."""
        claim = claim_of(self._view, row)
        if claim is None:
            return []
        return [each.row for each in self._candidates.of(row, claim, later=True)]

    def rule(self, weighed: Weighed, opinions: Sequence[Opinion | None] = ()) -> tuple[Ruled, ...]:
        """What each pair comes to."""
        given = list(opinions) or [None] * len(weighed.pairs)
        olds: list[FactId] = []
        found: list[Evidence] = []
        told: list[Opinion | None] = []
        for old, pair, opinion in zip(weighed.olds, weighed.pairs, given, strict=True):
            evidence = self._evidence(pair)
            if evidence is not None:
                olds.append(old)
                found.append(evidence)
                told.append(opinion)
        rulings = self.policy.policy.rule_all(found, told)
        return tuple(
            Ruled(old, ruling, with_opinion(each, opinion))
            for old, ruling, each, opinion in zip(olds, rulings, found, told, strict=True)
        )

    def _evidence(self, pair: Pair) -> Evidence | None:
        """None, and told in the log, for a pair that cannot be compared."""
        from rewound.llm.evidence import evidence as evidence_of  # its patterns take a while

        try:
            return evidence_of(pair, self._extra)
        except Exception as error:
            # A mistake of ours about two texts must not keep all others waiting. Its message may
            # quote them, its type cannot.
            _log.warning("comparing two facts ended with %s", type(error).__name__)
            return None


def _whole(vector: Query) -> npt.NDArray[np.float64]:
    return np.asarray(vector.numbers, np.float64) * vector.scale


def with_opinion(found: Evidence, opinion: Opinion | None) -> Evidence:
    """Evidence as it is kept: what is nought is left out, what a model said is written beside."""
    kept = {name: number for name, number in found.items() if number}
    if opinion is not None:
        kept[OPINION + opinion.outcome.name.lower()] = opinion.probability
    return kept


def opinion_in(kept: Evidence) -> Opinion | None:
    """The opinion that was written beside evidence."""
    for name, probability in kept.items():
        if name.startswith(OPINION):
            return Opinion(Outcome[name.removeprefix(OPINION).upper()], probability)
    return None


def judge_name(judge: Judge | None) -> str:
    """What compared, as it is kept with a verdict."""
    return NAME if judge is None else f"{NAME} with {judge.name}"
