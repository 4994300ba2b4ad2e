"""The calibrated parameters that turn evidence into an outcome, and how labels re-fit them.

A multinomial logistic over the five outcomes. Weights and evidence are whole thousandths, so the
sums are exact and a pair has the same probabilities alone and among a million. What is not clear
enough is ruled REVIEW. No weights, labels or opinion can lift the law: without `may_end` in the
evidence nothing is ever ended.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from rewound.eventlog.enums import Outcome
from rewound.llm.fitting import Floats, fit, losses, probabilities
from rewound.llm.grounds import (
    COMPARABLE,
    CONTRARY,
    DENIED_BY_ONE,
    ELSEWHERE,
    MAY_END,
    MAY_REVIEW,
    PUT_RIGHT,
    REPLACED,
    RESTATED,
    SAID_AGAIN,
)
from rewound.llm.judging import Evidence, Opinion

OUTCOMES = (
    Outcome.DUPLICATE,
    Outcome.UPDATES,
    Outcome.CORRECTS,
    Outcome.EXTENDS,
    Outcome.DISTINCT,
)
ENDINGS = (Outcome.UPDATES, Outcome.CORRECTS)
BIAS = "bias"
"""The first feature of every policy: 1000 for every pair."""


NEVER = 1001
"""A margin above every probability."""


class Ruling(NamedTuple):
    """`outcome` is what holds; `leaning` what is likeliest, and `probability` (thousandths) how
    likely it is. They differ where the outcome is REVIEW, and where it is DISTINCT because nothing
    else is likely enough to follow from."""

    outcome: Outcome
    probability: int
    leaning: Outcome


class Labelled(NamedTuple):
    """Evidence with the outcome that a person says is right."""

    evidence: Evidence
    outcome: Outcome


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`weights` and `contradiction` are thousandths, in the order of `features`."""

    name: str
    version: int
    features: tuple[str, ...]
    weights: tuple[tuple[int, ...], ...]
    """One row for each of OUTCOMES."""
    margins: tuple[int, ...]
    """The least probability at which each of OUTCOMES is decided; an ending counts as one."""
    margin_long: int
    """The margin of a duplicate of two long statements: there the order of words decides much."""
    margin_words: int
    """The margin of an ending by words alone, where no attribute is in conflict."""
    doubt: int
    """From this probability of an ending on, a pair that is not ended is to be reviewed."""
    opinion: int
    """How much the opinion of a judge model counts; 1000 takes its odds as they are."""
    contradiction: tuple[int, ...]
    """Weights of the score that two statements cannot both be true."""
    figures: dict[str, float] = {}
    """How well it did on cases that it was not fitted on."""

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    @staticmethod
    def from_json(content: bytes) -> "Policy":
        """Raises msgspec.ValidationError, or ValueError for rows of different lengths."""
        policy = msgspec.json.decode(content, type=Policy)
        rows = (*policy.weights, policy.contradiction)
        if len(policy.weights) != len(OUTCOMES) or len(policy.margins) != len(OUTCOMES):
            raise ValueError(f"a policy has {len(OUTCOMES)} rows of weights and as many margins")
        if policy.features[:1] != (BIAS,) or any(len(r) != len(policy.features) for r in rows):
            raise ValueError(f"each row needs one weight a feature, the first of which is {BIAS}")
        return policy

    def rule(self, evidence: Evidence, opinion: Opinion | None = None) -> Ruling:
        """The ruling on one pair."""
        return self.rule_all([evidence], [opinion])[0]

    def rule_all(
        self, evidences: Sequence[Evidence], opinions: Sequence[Opinion | None] | None = None
    ) -> list[Ruling]:
        """The rulings on many pairs, each the same as by itself."""
        if not evidences:
            return []
        chances = self.chances(evidences, opinions)
        return [
            self._ruling(row, one) for row, one in zip(chances.tolist(), evidences, strict=True)
        ]

    def chances(
        self, evidences: Sequence[Evidence], opinions: Sequence[Opinion | None] | None = None
    ) -> Floats:
        """The probability of each of OUTCOMES for each pair, shape (pairs, 5)."""
        logits = self._table(evidences) @ np.array(self.weights, np.int64).T
        scaled = logits.astype(np.float64) / 1e6
        for row, given in enumerate(opinions or ()):
            if given is not None and given.outcome in OUTCOMES:
                scaled[row, OUTCOMES.index(given.outcome)] += self._weighed(given)
        scaled -= scaled.max(axis=1, keepdims=True)
        raised = np.exp(scaled)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float64)

    def contradictions(self, evidences: Sequence[Evidence]) -> list[int]:
        """How surely two statements cannot both be true, in thousandths, for each pair."""
        scores = self._table(evidences) @ np.array(self.contradiction, np.int64)
        chances = 1 / (1 + np.exp(-np.clip(scores.astype(np.float64) / 1e6, -30, 30)))
        return [round(1000 * chance) for chance in chances.tolist()]

    def _table(self, evidences: Sequence[Evidence]) -> npt.NDArray[np.int64]:
        places = {name: place for place, name in enumerate(self.features)}
        table = np.zeros((len(evidences), len(self.features)), np.int64)
        table[:, 0] = 1000
        for row, one in enumerate(evidences):
            for name, value in one.items():
                place = places.get(name, 0)
                if place:
                    table[row, place] = value
        return table

    def _weighed(self, opinion: Opinion) -> float:
        """The log odds of an opinion against an even share among the outcomes."""
        chance = min(max(opinion.probability, 10), 990) / 1000
        return self.opinion / 1000 * float(np.log(chance / (1 - chance) * (len(OUTCOMES) - 1)))

    def _ruling(self, chances: list[float], found: Evidence) -> Ruling:
        """What is likeliest where it is likely enough; an ending that may be is asked about."""
        sure = [round(1000 * chance) for chance in chances]
        if found.get(SAID_AGAIN):
            return Ruling(Outcome.DUPLICATE, max(sure[0], self.margins[0]), Outcome.DUPLICATE)
        ending, rest = sure[1] + sure[2], (sure[0], sure[3], sure[4])
        taken = any(found.get(name) for name in (REPLACED, CONTRARY, PUT_RIGHT))
        if taken and found.get(MAY_END) and not found.get(ELSEWHERE):
            return self._ended(sure, max(ending, self.margins[1]), found)
        near = bool(found.get(COMPARABLE))
        asks = (near or bool(found.get(MAY_REVIEW))) and not found.get(ELSEWHERE)
        if asks and ending > max(rest):
            return self._ended(sure, ending, found)
        leaning = (0, 3, 4)[rest.index(max(rest))]
        # Who says that something was wrong is asked sooner what it was.
        doubt = self.doubt // 2 if near and found.get("correction") else self.doubt
        if asks and ending >= doubt:
            return Ruling(Outcome.REVIEW, sure[leaning], OUTCOMES[leaning])
        margin = self.margins[leaning]
        if leaning == 0 and found.get("subject_apart") and found.get("one_place"):
            margin = NEVER  # The ferry leaves at nine, and so does the train.
        elif leaning == 0 and found.get(DENIED_BY_ONE):
            margin = NEVER  # Is married, and is not: no words in common make that the same.
        elif leaning == 0 and found.get("long"):
            margin = self.margin_long
        elif leaning == 0 and found.get(RESTATED):
            margin = 0
        if sure[leaning] < margin or (leaning == 3 and not near):
            return Ruling(Outcome.DISTINCT, sure[leaning], OUTCOMES[leaning])
        return Ruling(OUTCOMES[leaning], sure[leaning], OUTCOMES[leaning])

    def _ended(self, sure: list[int], ending: int, found: Evidence) -> Ruling:
        """An update or, where words put something right that was said before, a correction."""
        wrong = found.get("correction_said") and not found.get("new_earlier")
        leaning = Outcome.CORRECTS if wrong and sure[2] > sure[1] else Outcome.UPDATES
        plain = found.get("conflict") or found.get("turned")
        margin = self.margins[1] if plain else self.margin_words
        if found.get("turned") and found.get("opposed"):
            margin = self.margins[1] // 2  # Love turned to hate: the words leave little doubt.
        decided = bool(found.get(MAY_END)) and ending >= margin
        return Ruling(leaning if decided else Outcome.REVIEW, ending, leaning)


@lru_cache(maxsize=1)
def shipped() -> Policy:
    """The policy that comes with the product."""
    return Policy.from_json(files("rewound.llm").joinpath("policy.json").read_bytes())


class Refit(NamedTuple):
    """`policy` is the new one where `accepted`, else the prior; `why` says what decided.

    `figures`: `labels`, `loss_before` and `loss_after` (mean log loss on held-out labels, nats),
    `loss_guessed` (of a guess by how often each outcome is given, whatever the evidence),
    `errors_before` and `errors_after` (shares of held-out labels whose likeliest outcome is wrong).
    """

    policy: Policy
    figures: dict[str, float]
    accepted: bool
    why: str


FOLDS = 5
LABELS_MIN = 10
PRECISION = 2.0
"""How firmly a re-fit holds each weight at its prior: the shipped fit is worth far more than one
label, and a few dozen labels must be able to move it."""


def refit(prior: Policy, labels: Sequence[Labelled]) -> Refit:
    """The policy that fits the labels, near the prior. Refused with fewer than LABELS_MIN labels,
    and where it would do worse on labels that it has not seen than the prior or a mere guess."""
    known = [label for label in labels if label.outcome in OUTCOMES]
    if len(known) < LABELS_MIN:
        why = f"{len(known)} labels are too few; {LABELS_MIN} are needed"
        return Refit(prior, {"labels": float(len(known))}, False, why)
    features = prior._table([label.evidence for label in known]).astype(np.float64) / 1000
    allowed = np.zeros((len(known), len(OUTCOMES)))
    for row, label in enumerate(known):
        allowed[row, OUTCOMES.index(label.outcome)] = 1
    start = np.array(prior.weights, np.float64).T / 1000
    before = probabilities(features, start)
    after, guessed = np.zeros_like(before), np.zeros_like(before)
    fold = np.arange(len(known)) % FOLDS
    for number in range(FOLDS):
        kept, held = fold != number, fold == number
        weights = _fitted(features[kept], allowed[kept], start)
        after[held] = probabilities(features[held], weights)
        often = allowed[kept].sum(axis=0) + 0.5
        guessed[held] = often / often.sum()
    figures = _figures(before, after, guessed, allowed)
    if figures["loss_after"] > figures["loss_guessed"]:
        why = (
            f"the evidence tells nothing of these labels: the log loss on held-out ones, "
            f"{figures['loss_after']:.3f}, is above that of a guess, {figures['loss_guessed']:.3f}"
        )
        return Refit(prior, figures, False, why)
    if figures["loss_after"] > figures["loss_before"]:
        why = (
            f"on held-out labels the log loss would rise from {figures['loss_before']:.3f} to "
            f"{figures['loss_after']:.3f}"
        )
        return Refit(prior, figures, False, why)
    weights = np.rint(1000 * _fitted(features, allowed, start).T).astype(np.int64)
    policy = msgspec.structs.replace(
        prior,
        version=prior.version + 1,
        weights=tuple(tuple(row) for row in weights.tolist()),
        figures=figures,
    )
    why = (
        f"on held-out labels the log loss falls from {figures['loss_before']:.3f} to "
        f"{figures['loss_after']:.3f}"
    )
    return Refit(policy, figures, True, why)


def _fitted(features: Floats, allowed: Floats, start: Floats) -> Floats:
    return fit(features, allowed, start, np.full(features.shape[1], PRECISION))


def _figures(before: Floats, after: Floats, guessed: Floats, allowed: Floats) -> dict[str, float]:
    right = allowed.argmax(axis=1)
    return {
        "labels": float(len(allowed)),
        "loss_before": round(float(losses(before, allowed).mean()), 6),
        "loss_after": round(float(losses(after, allowed).mean()), 6),
        "loss_guessed": round(float(losses(guessed, allowed).mean()), 6),
        "errors_before": round(float((before.argmax(axis=1) != right).mean()), 6),
        "errors_after": round(float((after.argmax(axis=1) != right).mean()), 6),
    }
