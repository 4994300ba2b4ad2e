"""Whether anything fits: the numbers that tell, and what follows from them."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections.asked import names
from rewound.projections.feature_names import NAMES
from rewound.projections.ranker import loaded
from rewound.projections.relevance import ANYTHING, Evidence, anything, numbers
from rewound.projections.tokens import tokenize
from tests.unit.evidence import evidence, permuted, silent

Floats = npt.NDArray[np.float64]
SEEDS = st.integers(0, 10_000)
UNITS = st.integers(1, 300)


def table(seed: int, units: int) -> tuple[Floats, Floats]:
    """Rows of 0, 1 and halves, and scores of which many are equal."""
    chance = np.random.default_rng(seed)
    rows: Floats = chance.integers(0, 3, (units, len(NAMES))) / 2
    return rows, chance.integers(0, 6, units) / 2.0


def of(rows: Floats, name: str) -> list[float]:
    found: list[float] = rows[:, NAMES.index(name)].tolist()
    return found


def plainly(given: Evidence, rows: Floats, score: Floats) -> dict[str, float]:
    """The same by lists and loops."""
    order = sorted(range(len(score)), key=lambda unit: (-score[unit], given.places[unit]))
    five, terms = order[:5], range(len(given.weights))
    near = order[: min(20, max(1, len(order) // 12))]
    facts = of(rows, "meaning its facts add")
    meaning = [own + facts[unit] for unit, own in enumerate(of(rows, "meaning"))]
    lacked = [given.weights[t] for t in terms if not any(given.says[t][unit] for unit in five)]
    by, another = of(rows, "said by whom the query names"), of(rows, "said by another")
    own = [another[unit] > 0 and bool(given.personal[unit]) for unit in range(len(score))]
    named = [t for t in terms if given.names[t]]
    lacks = [
        0.0 if by[unit] > 0 else sum(not given.says[t][unit] for t in named) / len(named)
        for unit in five
        if named
    ]
    others = [score[unit] for unit in order if not own[unit]]
    return {
        "one": 1.0,
        "score of the first": score[order[0]],
        "meaning of the first ones": sum(meaning[unit] for unit in near) / len(near),
        "how much is asked": math.log(max(4, len(terms))),
        "most telling term that the first five lack": max(lacked, default=0.0),
        "terms that nobody says": sum(not known for known in given.known) / max(len(terms), 1),
        "names that the first five lack": sum(lacks) / len(five),
        "lead of another who speaks of themselves": (
            score[order[0]] - max(others) if own[order[0]] and others else 0.0
        ),
        "others who speak of themselves among the first five": sum(
            own[unit] for unit in five
        ) / len(five),
    }  # fmt: skip


@given(SEEDS, UNITS, st.integers(0, 6))
def test_the_numbers_are_those_of_plain_loops(seed: int, units: int, terms: int) -> None:
    rows, score = table(seed, units)
    said = evidence(seed, units, terms)
    told = dict(zip(ANYTHING, numbers(said, rows, score), strict=True))
    assert told == pytest.approx(plainly(said, rows, score))


@given(SEEDS, UNITS)
def test_how_units_are_numbered_changes_no_bit(seed: int, units: int) -> None:
    """Of equal scores the id decides, so a replayed store says the same."""
    rows, score = table(seed, units)
    said = evidence(seed, units)
    order = np.random.default_rng(seed + 1).permutation(units)
    again = numbers(permuted(said, order), rows[order], score[order])
    assert again == numbers(said, rows, score)


def sparse(units: int = 30) -> tuple[Floats, Floats]:
    """Hits that are far from everything."""
    return np.zeros((units, len(NAMES))), np.linspace(-3.0, -6.0, units)


def logit(given: Evidence, rows: Floats, score: Floats) -> float:
    return anything(loaded("").meaning.anything, given, rows, score)


def saying(*units: int) -> Evidence:
    """A query of one term, which these units say."""
    says = np.zeros((1, 30), np.bool_)
    says[0, list(units)] = True
    places = np.arange(30)
    none = np.zeros(30, np.bool_)
    known = np.array([len(units) > 0])
    return Evidence(says, np.array([8.0]), known, np.zeros(1, np.bool_), none, places)


def test_whoever_looks_for_words_finds_them() -> None:
    """A hit among the first ten that says all of the query is at least as likely to fit as not."""
    rows, score = sparse()
    assert logit(saying(9), rows, score) == 0.0
    assert logit(saying(10), rows, score) < 0.0 and logit(saying(), rows, score) < 0.0
    rows[4, NAMES.index("says what is quoted")] = 0.5
    assert logit(saying(), rows, score) == 0.0
    close = rows.copy()
    close[:, NAMES.index("meaning")] = 0.9
    assert logit(saying(9), close, score + 12.0) > 0.0


def test_a_query_without_a_term_says_nothing_of_terms() -> None:
    rows, score = sparse()
    told = dict(zip(ANYTHING, numbers(silent(30), rows, score), strict=True))
    assert told["most telling term that the first five lack"] == 0.0
    assert told["terms that nobody says"] == told["names that the first five lack"] == 0.0
    assert logit(silent(30), rows, score) < 0.0, "no term is not every term"


@pytest.mark.parametrize("model", ["meaning", "words"])
def test_what_ships_takes_signs_for_what_they_are(model: str) -> None:
    weights = dict(zip(ANYTHING, getattr(loaded(""), model).anything, strict=True))
    assert weights["score of the first"] > 0.0 and weights["meaning of the first ones"] >= 0.0
    for sign in ANYTHING[4:]:
        assert weights[sign] < 0.0, sign


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("What is Tomasz's salary at the day clinic?", "Tomasz"),
        ("Which airline did we fly with to Porto?", "Porto"),
        ("When did Ana Pereira, Ben and I meet?", "Ana Pereira Ben"),
        ("Where does the garage stand?", ""),
        ("Did she like it? Where was it?", ""),
        ("wer hat Émile gesehen", "Émile"),
    ],
)
def test_names_of_a_query(query: str, told: str) -> None:
    assert names(query) - set(tokenize("I")) == set(tokenize(told))
