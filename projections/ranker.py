"""The learned ranker: features of a candidate weighed and added up, and how likely it answers.

    score = sum over the features of  weight * (feature - mean) / spread
    logit = fit of the best candidate + slope * (score - best score)
    probability = 1 / (1 + exp(-logit))

Recency and importance only lift (`LIFTS`): the best score, and how well that candidate fits, are
told without them. Whether anything fits at all is a logistic of its own (`relevance`); below its
`floor` nothing does.

The weights are fitted listwise (ListNet: Cao et al. 2007, "Learning to Rank: From Pairwise Approach
to Listwise Approach") by `python -m eval.fit_ranker`, on several data sets at once that count the
same. How well the best candidate fits is a logistic over few numbers of the whole answer, fitted on
questions with an answer and questions without. `ranker.json` holds two models: for words and
meaning, and for words alone, with their figures.
"""

import math
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from rewound.projections.feature_names import LIFTS, NAMES
from rewound.projections.relevance import ANYTHING, Evidence, anything

Floats = npt.NDArray[np.float64]

NEARLY: Final = 1.0
"""So far below the best score a candidate is nearly as good."""

FITS: Final = (
    "one",
    "best meaning",
    "best words, of what was to be reached",
    "query covered by the first",
    "query covered around the first",
    "lead over the fifth",
    "lead over the twentieth",
    "best fact's meaning",
    "score of the first",
    "query covered by the first's conversation",
    "the first said by whom the query names",
    "the first said by another",
    "the first's length",
    "the first says all that is asked",
    "how many are nearly as good",
)
"""What tells how well the best candidate fits, in the order of `Model.fits`."""

_COLUMNS: Final = {name: column for column, name in enumerate(NAMES)}


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows have one number for each of NAMES, `fits` for each of FITS, `anything` for each of
    ANYTHING."""

    mean: tuple[float, ...]
    spread: tuple[float, ...]
    weights: tuple[float, ...]
    fits: tuple[float, ...]
    slope: float
    """How fast the logit falls with the score."""
    anything: tuple[float, ...]
    floor: float
    """Where it is less likely than this that anything fits, 0 to 1, nothing is held to."""


class Ranker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    version: int
    features: tuple[str, ...]
    meaning: Model
    """For words and meaning."""
    words: Model
    """For words alone."""
    figures: dict[str, float] = {}
    """Recall and reciprocal rank on questions that no fit has seen."""

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    @staticmethod
    def from_json(content: bytes) -> "Ranker":
        """Raises msgspec.ValidationError, or ValueError for features or rows that do not fit."""
        ranker = msgspec.json.decode(content, type=Ranker)
        if ranker.features != NAMES:
            raise ValueError(f"its features are not those of this version: {', '.join(NAMES)}")
        for model in (ranker.meaning, ranker.words):
            rows = (model.mean, model.spread, model.weights)
            told = len(model.fits), len(model.anything)
            if any(len(row) != len(NAMES) for row in rows) or told != (len(FITS), len(ANYTHING)):
                raise ValueError("each row needs one number a feature")
            if not all(spread > 0.0 for spread in model.spread):
                raise ValueError("each spread needs to be above 0: scores are divided by it")
            if not 0.0 <= model.floor < 1.0:
                raise ValueError("the floor is a probability: from 0 to below 1")
            for at in _LIFTS:
                if model.mean[at] > 0.0 or model.weights[at] < 0.0:
                    raise ValueError(
                        f"{NAMES[at]} only lifts: its mean may not be above 0, nor its weight below"
                    )
        return ranker


_LIFTS: Final = tuple(NAMES.index(name) for name in LIFTS)


class Ranked(NamedTuple):
    """Scores and logits in the order of the rows given, shape (candidates,) each.

    `best` is the best score without what lifts, `fit` the logit of a candidate that has it, and
    `anything` the logit that something fits.
    """

    score: Floats
    logit: Floats
    fit: float
    best: float
    anything: float


@lru_cache(maxsize=8)
def loaded(path: str) -> Ranker:
    """The ranker in a file; with "" the one that is shipped. Raises OSError or ValueError."""
    if path:
        return Ranker.from_json(Path(path).read_bytes())
    return Ranker.from_json(files("rewound.projections").joinpath("ranker.json").read_bytes())


def contributions(model: Model, rows: Floats) -> Floats:
    """What each feature adds to the score, shape (candidates, features)."""
    mean, spread, weights = _rows_of(model)
    added: Floats = (rows - mean) / spread * weights
    return added


@lru_cache(maxsize=8)
def _rows_of(model: Model) -> tuple[Floats, Floats, Floats]:
    return np.array(model.mean), np.array(model.spread), np.array(model.weights)


def ranked(model: Model, rows: Floats, reached: float, evidence: Evidence) -> Ranked:
    """`rows` are features of at least one candidate, `reached` is the share of what the query's
    words could score that the best one has."""
    added = contributions(model, rows)
    score, lift = np.zeros((2, len(rows)), np.float64)
    for column, each in enumerate(added.T):  # in order, so that the shape cannot change a bit
        if column in _LIFTS:
            lift += each
        else:
            score += each
    best = float(score.max())
    fitting = anything(model.anything, evidence, rows, score)
    told = fits(rows, score, reached)
    fit = float(sum(w * x for w, x in zip(model.fits, told, strict=True)))
    lifted: Floats = score + lift
    return Ranked(lifted, fit + model.slope * (lifted - best), fit, best, fitting)


def fits(rows: Floats, score: Floats, reached: float) -> tuple[float, ...]:
    """The numbers named by FITS; `score` is without what lifts."""
    falling = np.sort(score)[::-1]
    leads = np.flatnonzero(score == falling[0])

    def told(name: str) -> Floats:
        return rows[:, _COLUMNS[name]]

    def of_first(name: str) -> float:
        return float(told(name)[leads].max())

    return (
        1.0,
        float(told("meaning").max()),
        reached,
        of_first("query covered"),
        of_first("query covered with neighbours"),
        float(falling[0] - falling[min(4, len(falling) - 1)]),
        float(falling[0] - falling[min(19, len(falling) - 1)]),
        float((told("meaning") + told("meaning its facts add")).max()),
        float(falling[0]),
        of_first("query covered by conversation"),
        of_first("said by whom the query names"),
        of_first("said by another"),
        of_first("length"),
        float(of_first("says just what is asked") > 0.0),
        math.log(float(np.count_nonzero(score >= falling[0] - NEARLY))),
    )


def probability(logit: float) -> float:
    """Of a logit of any size."""
    return 1.0 / (1.0 + math.exp(-max(-500.0, min(500.0, logit))))
