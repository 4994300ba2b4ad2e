"""Whether anything stored fits a question: a logistic over a few numbers of the whole answer.

What is nearest is always near to something, so a list of hits alone never says that nothing fits.
The numbers tell what an answer that is none lacks: the first hits mean something else, none of them
says the most telling word or the name that was asked for, or what is near was said by somebody
about themselves while another was asked about.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.projections.feature_names import NAMES

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

ANYTHING: Final = (
    "one",
    "score of the first",
    "meaning of the first ones",
    "how much is asked",
    "most telling term that the first five lack",
    "terms that nobody says",
    "names that the first five lack",
    "lead of another who speaks of themselves",
    "others who speak of themselves among the first five",
)
"""What tells whether anything fits, in the order of `Model.anything`."""

_FIRST: Final = 5
_LOOKED_AT: Final = 10
_ONES: Final = 20
_ONE_OF: Final = 12
"""The first ones are a twelfth of all candidates, and at most twenty: of three facts the first."""
_TERMS_LEAST: Final = 4
"""A question of fewer terms asks no less: one exact word is not to count against itself."""

_MEANING: Final = (NAMES.index("meaning"), NAMES.index("meaning its facts add"))
_BY_NAMED: Final = NAMES.index("said by whom the query names")
_BY_ANOTHER: Final = NAMES.index("said by another")
_QUOTED: Final = NAMES.index("says what is quoted")


class Evidence(NamedTuple):
    """What the units that are ranked say of the query's terms, as far as these tell anything."""

    says: Mask
    """Which unit says which term, shape (terms, units)."""
    weights: Floats
    """How telling each term is: its idf, shape (terms,)."""
    known: Mask
    """Which terms anything of the moment says, shape (terms,)."""
    names: Mask
    """Which terms are of names, shape (terms,)."""
    personal: Mask
    """Which units speak in the first person, shape (units,)."""
    places: npt.NDArray[np.int64]
    """The units in the order of their ids, shape (units,): it decides between equal scores."""


def anything(weights: tuple[float, ...], evidence: Evidence, rows: Floats, score: Floats) -> float:
    """The logit that something fits. `rows` are the features of at least one unit, `score` is
    without what lifts.

    Where one of the first hits says every term of the query, or what it quotes, it is at least as
    likely as not: whoever looks for words has found them.
    """
    told = numbers(evidence, rows, score)
    logit = sum(weight * number for weight, number in zip(weights, told, strict=True))
    first = _order(evidence, score)[:_LOOKED_AT]
    whole = len(evidence.says) > 0 and bool(evidence.says[:, first].all(axis=0).any())
    if whole or bool((rows[first, _QUOTED] > 0.0).any()):
        return max(logit, 0.0)
    return logit


def numbers(evidence: Evidence, rows: Floats, score: Floats) -> tuple[float, ...]:
    """The numbers named by ANYTHING."""
    order = _order(evidence, score)
    five = order[:_FIRST]
    ones = order[: max(1, min(_ONES, len(score) // _ONE_OF))]
    terms = len(evidence.weights)
    meaning = (rows[ones, _MEANING[0]] + rows[ones, _MEANING[1]]).tolist()
    lacked = evidence.weights[~evidence.says[:, five].any(axis=1)]
    own = (rows[:, _BY_ANOTHER] > 0.0) & evidence.personal
    return (
        1.0,
        float(score[order[0]]),
        sum(meaning) / len(meaning),
        math.log(max(terms, _TERMS_LEAST)),
        float(lacked.max(initial=0.0)),
        int(np.count_nonzero(~evidence.known)) / max(terms, 1),
        _names_lacking(evidence, rows, five),
        _lead(own, score, order[0]),
        int(np.count_nonzero(own[five])) / len(five),
    )


def _order(evidence: Evidence, score: Floats) -> npt.NDArray[np.int64]:
    """The units, best first; equal ones by id."""
    found: npt.NDArray[np.int64] = np.lexsort((evidence.places, -score))
    return found


def _names_lacking(evidence: Evidence, rows: Floats, five: npt.NDArray[np.int64]) -> float:
    """The share of the names of a query that a unit neither says nor is said by, on average."""
    count = int(np.count_nonzero(evidence.names))
    if not count:
        return 0.0
    said = np.count_nonzero(evidence.says[evidence.names][:, five], axis=0)
    said[rows[five, _BY_NAMED] > 0.0] = count
    return 1.0 - int(said.sum()) / (count * len(five))


def _lead(own: Mask, score: Floats, first: np.int64) -> float:
    """How far the first, if it is one of `own`, stands before all that are not."""
    if not own[first] or own.all():
        return 0.0
    return float(score[first] - score[~own].max())
