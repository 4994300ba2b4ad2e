"""Fitting of the ranker: listwise weights, and logistics for how well the best candidate fits and
for whether anything does.

ListNet's top-one loss (Cao et al. 2007): the softmax of the scores of a question's candidates
against the share that each of the right ones has. Full-batch Adam (Kingma and Ba 2015), no chance
in it: the same cases give the same weights.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from eval.ranked_cases import Case
from rewound.projections.feature_names import NAMES
from rewound.projections.ranker import FITS, Model, contributions, fits
from rewound.projections.relevance import ANYTHING, numbers

Floats = npt.NDArray[np.float64]

STEPS = 130
FIRST_STEPS = 60
RATE = 0.08
WEIGHED = 120
"""So many candidates of a question are weighed: at first the nearest by words and meaning, then
those that come first by the weights that this gave. What is right and far behind them teaches no
more than that nothing speaks for it."""

PENALTY = 0.05
"""Chosen by how well sets that are left out do: less of it serves only what was fitted on."""
_SLOW_SHARE = 0.7

FIXED = {
    "all its facts are outdated": -2.0,
    "recency": 0.02,
    "importance": 0.6,
    "says just what is asked": 1.0,
    "says what is quoted": 8.0,
}
"""Weights that no set teaches. What no longer holds shall not stand above what does: nothing is
ended in the sets. What was said last lifts a little: in sets, whose questions are made of all that
was said, what is older answers as often as chance puts it there. Nobody said in them how important
anything is: it decides between hits about equally near, and no more than that. Their questions
quote nothing and are never the very words of what answers them; who asks in those words, or quotes
some, means them."""


SAYS_ALL = 0.8
"""What it weighs for the likelihood that the first holds every telling word. The sets teach the
contrary, as their unanswerable questions are made of the words of a text; nobody else asks so."""
_SAYS_ALL = FITS.index("the first says all that is asked")

STRANGERS = 0.15
"""What all strange questions of a set count, of what the set counts."""

STIFFNESS = 0.03
"""How much the weights of what tells whether anything fits are held down. With less of it the sets
that are fitted on gain nothing, and others lose: more of their answers come to lie below any floor.
"""

FLOORS = {"meaning": 0.04, "words": 0.05}
"""Below it nothing is held to fit. On the sets that are fitted on it could be .2 before one right
hit in a hundred were lost; but a set of our own, which no fit has seen, is less sure of its answers
than they are, and would have lost one in four."""


def fit(cases: Sequence[Case], penalty: float = PENALTY) -> Model:
    """A model without its calibration. Every set counts the same; cases without a right candidate
    do not count."""
    told = [case for case in cases if case.target.any()]
    fixed = [NAMES.index(name) for name in FIXED]
    near = [case.rows[:, NAMES.index("best words and meaning")] for case in told]
    raw = np.zeros(len(NAMES))
    for steps in (FIRST_STEPS, STEPS):
        first = [_first(case, score) for case, score in zip(told, near, strict=True)]
        chosen = [case for case in first if case.target.any()]
        every = np.concatenate([case.rows for case in chosen])
        mean, spread = every.mean(axis=0), every.std(axis=0)
        spread[spread < 1e-9] = 1.0
        rows, target, base = _packed(chosen, mean, spread)
        rows[:, :, fixed] = 0.0
        weights = _descend(rows, target, base, shares(chosen), penalty, raw * spread, steps)
        raw = weights / spread
        near = [case.rows @ raw for case in told]
    for name, weight in FIXED.items():
        at = NAMES.index(name)
        mean[at], spread[at], weights[at] = 0.0, 1.0, weight
    return Model(
        mean=_rounded(mean),
        spread=_rounded(spread),
        weights=_rounded(weights),
        fits=(0.0,) * len(FITS),
        slope=1.0,
        anything=(0.0,) * len(ANYTHING),
        floor=0.0,
    )


def _first(case: Case, score: Floats) -> Case:
    """The case with the candidates that come first."""
    kept = np.sort(np.argsort(-score, kind="stable")[:WEIGHED])
    return case._replace(rows=case.rows[kept], target=case.target[kept])


def _packed(
    cases: Sequence[Case], mean: Floats, spread: Floats
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Standardised rows (cases, candidates, features), the share that each has of what is right,
    and 0 where there is one."""
    longest = max(len(case.rows) for case in cases)
    rows = np.zeros((len(cases), longest, len(NAMES)), np.float32)
    target = np.zeros((len(cases), longest), np.float32)
    base = np.full((len(cases), longest), -1e9, np.float32)
    for n, case in enumerate(cases):
        rows[n, : len(case.rows)] = (case.rows - mean) / spread
        target[n, : len(case.rows)] = case.target / case.target.sum()
        base[n, : len(case.rows)] = 0.0
    return rows, target, base


def shares(cases: Sequence[Case]) -> Floats:
    """What each case counts: all sets the same, strange questions a part of theirs."""
    sorts = [(case.set, case.stranger) for case in cases]
    counts = Counter(sorts)
    share: Floats = np.array([(STRANGERS if of[1] else 1.0) / counts[of] for of in sorts])
    share /= share.sum()
    return share


def _descend(
    rows: npt.NDArray[np.float32],
    target: npt.NDArray[np.float32],
    base: npt.NDArray[np.float32],
    share: Floats,
    penalty: float,
    weights: Floats,
    steps: int,
) -> Floats:
    """Better weights for what `rows` (cases, candidates, features) add to the scores `base`."""
    first, second = np.zeros((2, len(weights)))
    flat = rows.reshape(-1, len(weights))
    for step in range(1, steps + 1):
        scores = base + rows @ weights.astype(np.float32)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        wrong = ((chances - target) * share[:, None]).astype(np.float32)
        slope = wrong.reshape(-1) @ flat + 2 * penalty * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope * slope
        ahead = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = weights - RATE * (1.0 if step < _SLOW_SHARE * steps else 0.3) * ahead
    return weights


def scored(model: Model, case: Case) -> Floats:
    """The score of every candidate, shape (units,)."""
    found: Floats = contributions(model, case.rows).sum(axis=1)
    return found


def fit_anything(pairs: Sequence[tuple[Case, Floats]]) -> tuple[float, ...]:
    """The weights of `Model.anything`, from cases with scores that no fit of theirs has seen."""
    rows = np.array([numbers(case.evidence, case.rows, scores) for case, scores in pairs])
    fitting = np.array([float(not case.question.abstain) for case, _ in pairs])
    share = shares([case for case, _ in pairs])
    mean = share @ rows
    spread = np.sqrt(share @ (rows - mean) ** 2)
    mean[0], spread[0] = 0.0, 1.0  # of what is always 1
    spread[spread < 1e-9] = 1.0
    held = np.full(len(mean), STIFFNESS)
    held[0] = 0.0
    nothing = np.zeros(len(rows))
    weights = _logistic((rows - mean) / spread, fitting, share, nothing, held) / spread
    weights[0] -= weights[1:] @ mean[1:]
    # Weights that are held down say too little of what is sure: one slope makes up for that.
    told = np.array([np.ones(len(rows)), rows @ weights]).T
    base, slope = _logistic(told, fitting, share, nothing)
    weights *= slope
    weights[0] += base
    return _rounded(weights)


def calibrate(model: Model, pairs: Sequence[tuple[Case, Floats]], floor: float) -> Model:
    """The model with what tells of probabilities, from cases with scores that no fit of theirs has
    seen.

    `anything` tells whether something fits, `fits` whether the first candidate is right, `slope`
    how fast that falls with the score; for those two no strange question counts.
    """
    weights_of_any = fit_anything(pairs)
    pairs = [pair for pair in pairs if not pair[0].stranger]
    first = np.array([fits(case.rows, scores, case.reached) for case, scores in pairs])
    right = np.array([_is_right(case, scores) for case, scores in pairs])
    share = shares([case for case, _ in pairs])
    sure = first[:, _SAYS_ALL] * SAYS_ALL
    first[:, _SAYS_ALL] = 0.0
    weights = _logistic(first, right, share, sure)
    weights[_SAYS_ALL] = SAYS_ALL
    first[:, _SAYS_ALL] = sure / SAYS_ALL
    behind, hit, fit_of, of = [], [], [], []
    for n, (case, scores) in enumerate(pairs):
        best = np.argsort(-scores, kind="stable")[:20]
        behind += (scores[best] - scores[best[0]]).tolist()
        hit += (case.target[best] * (not case.question.abstain)).tolist()
        fit_of += [float(first[n] @ weights)] * len(best)
        of += [share[n]] * len(best)
    slope = _logistic(np.array(behind)[:, None], np.array(hit), np.array(of), np.array(fit_of))
    return msgspec.structs.replace(
        model,
        fits=_rounded(weights),
        slope=_rounded(slope)[0],
        anything=weights_of_any,
        floor=floor,
    )


def _is_right(case: Case, scores: Floats) -> float:
    return float(not case.question.abstain and case.target[int(np.argmax(scores))])


def _logistic(
    rows: Floats, right: Floats, share: Floats, offset: Floats, held: Floats | float = 0.0
) -> Floats:
    """Weights by Newton's method, with a small penalty, and more of it where they are `held`."""
    weights = np.zeros(rows.shape[1])
    share = share / share.sum()
    penalty = 1e-4 + held * np.ones(len(weights))
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-(rows @ weights + offset)))
        slope = rows.T @ (share * (chance - right)) + penalty * weights
        curve = (rows * (share * chance * (1 - chance))[:, None]).T @ rows
        weights = weights - np.linalg.solve(curve + np.diag(penalty), slope)
    return weights


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)
