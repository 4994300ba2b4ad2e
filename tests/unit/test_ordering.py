"""The order of what was found: the learned order of the units, and everything else behind it."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections import bm25, ordering
from rewound.projections.asked import asked
from rewound.projections.feature_names import NAMES
from rewound.projections.features import Query
from rewound.projections.ordering import (
    BEHIND,
    CANDIDATES,
    FURTHER,
    SPREAD,
    Candidates,
    candidates,
    order,
)
from rewound.projections.ranker import FITS, Model
from rewound.projections.ranking import Scores
from rewound.projections.relevance import ANYTHING
from rewound.projections.selection import Selected
from tests.unit.evidence import silent
from tests.unit.scenes import Scene, columns_of

Floats = npt.NDArray[np.float64]


def by(name: str, weight: float = 1.0) -> Model:
    """A model that looks at one feature only: the logit is how far it lies below the best."""
    nothing = [0.0] * len(NAMES)
    weights = list(nothing)
    weights[NAMES.index(name)] = weight
    return Model(
        mean=tuple(nothing),
        spread=(1.0,) * len(NAMES),
        weights=tuple(weights),
        fits=(0.0,) * len(FITS),
        slope=1.0,
        anything=(0.0,) * len(ANYTHING),
        floor=0.0,
    )


WORDS = by("words")


def found(
    totals: list[float], units: list[int], learned: list[float], threads: list[int] | None = None
) -> Candidates:
    """Entries 100, 101, ... with falling first scores; `units` names those of the first ones,
    `threads` their conversations, and `learned` what the model thinks of each unit."""
    names = np.array(sorted(set(units)), np.int64)
    rows = np.zeros((len(names), len(NAMES)))
    rows[:, NAMES.index("words")] = learned
    return Candidates(
        np.arange(100, 100 + len(totals), dtype=np.uint32),
        np.array(totals, np.float64),
        len(units),
        names,
        np.searchsorted(names, np.array(units, np.int64)),
        np.array(units if threads is None else threads, np.int64),
        rows,
        1.0,
        silent(len(rows)),
    )


# --- by hand


def test_units_are_ordered_by_what_was_learned() -> None:
    made = order(found([0.9, 0.8, 0.7], [1, 2, 3], [0.1, 0.3, 0.2]), WORDS)
    assert made.entries.tolist() == [101, 102, 100]
    assert made.logits == pytest.approx([0.0, -0.1, -0.2])


def test_further_entries_of_a_unit_are_half_as_likely() -> None:
    """Five facts of one message do not push the next message away."""
    made = order(found([0.9, 0.8, 0.7, 0.6], [7, 7, 7, 8], [1.0, 0.0]), WORDS)
    assert made.entries.tolist() == [100, 101, 103, 102]
    assert made.logits == pytest.approx([0.0, -math.log(2), -1.0, -2 * math.log(2)])
    assert math.log(2.0) == FURTHER


def test_where_several_are_asked_for_one_place_does_not_fill_the_list() -> None:
    """Further entries of a unit lose more, and further units of a conversation a little."""
    same = found([0.9, 0.8, 0.7, 0.6], [7, 7, 7, 8], [1.0, 0.0])
    made = order(same, WORDS, several=True)
    assert made.entries.tolist() == [100, 103, 101, 102]
    assert made.logits == pytest.approx([0.0, -1.0, -math.log(8), -2 * math.log(8)])
    units, learned, threads = [1, 2, 3, 4], [1.0, 0.9, 0.8, 0.5], [5, 5, 5, 6]
    apart = found([0.9, 0.8, 0.7, 0.6], units, learned, threads)
    made = order(apart, WORDS, several=True)
    assert made.entries.tolist() == [100, 101, 103, 102]
    second, third = SPREAD * math.log(2), SPREAD * math.log(3)
    assert made.logits == pytest.approx([0.0, -0.1 - second, -0.5, -0.2 - third])
    assert order(apart, WORDS).entries.tolist() == [100, 101, 102, 103]


def test_equal_ones_keep_the_order_of_the_first_score() -> None:
    made = order(found([0.9, 0.8, 0.7, 0.6], [4, 3, 2, 1], [0.5, 0.5, 0.5, 0.5]), WORDS)
    assert made.entries.tolist() == [100, 101, 102, 103]


def test_the_rest_stands_behind_in_its_order() -> None:
    """Its logits fall as the first scores do, from below the last that was ranked anew."""
    made = order(found([0.9, 0.8, 0.5, 0.5, 0.1], [1, 2], [0.0, 3.0]), WORDS)
    assert made.entries.tolist() == [101, 100, 102, 103, 104]
    assert made.logits == pytest.approx([0.0, -3.0, -4.3, -4.3, -4.7])


def test_nothing_found_nothing_ordered() -> None:
    empty = np.zeros(0, np.int64)
    none = Candidates(
        np.zeros(0, np.uint32),
        np.zeros(0),
        0,
        empty,
        empty,
        empty,
        np.zeros((0, len(NAMES))),
        0.0,
        silent(0),
    )
    assert len(order(none, WORDS).entries) == len(order(none, WORDS).logits) == 0


# --- whatever is found


@st.composite
def any_found(draw: st.DrawFn) -> Candidates:
    few = st.integers(0, 5).map(lambda n: n / 5)
    totals = sorted(draw(st.lists(few, min_size=1, max_size=30)), reverse=True)
    ranked = draw(st.integers(1, len(totals)))
    units = draw(st.lists(st.integers(0, 6), min_size=ranked, max_size=ranked))
    size = len(set(units))
    return found(totals, units, draw(st.lists(few, min_size=size, max_size=size)))


@given(any_found())
def test_nothing_is_lost_and_nothing_double(near: Candidates) -> None:
    made = order(near, WORDS)
    assert sorted(made.entries.tolist()) == sorted(near.entries.tolist())
    assert len(made.logits) == len(made.entries)
    assert (np.diff(made.logits) <= 1e-12).all(), "best first"


@given(any_found())
def test_each_entry_has_the_logit_that_is_told(near: Candidates) -> None:
    """In plain Python: of its unit, less what the further ones lose; of the rest, behind."""
    learned = near.rows[:, NAMES.index("words")]
    met: dict[int, int] = {}
    wanted: dict[int, float] = {}
    for place in range(near.ranked):
        unit = int(near.at[place])
        further = met[unit] = met.get(unit, -1) + 1
        wanted[int(near.entries[place])] = learned[unit] - learned.max() - further * FURTHER
    last = min(wanted.values())
    for place in range(near.ranked, len(near.entries)):
        falls = near.totals[near.ranked - 1] - near.totals[place]
        wanted[int(near.entries[place])] = last - BEHIND - falls
    made = order(near, WORDS)
    logits = dict(zip(made.entries.tolist(), made.logits.tolist(), strict=True))
    assert logits == pytest.approx(wanted)
    places = {int(entry): n for n, entry in enumerate(near.entries)}
    anew = sorted(
        near.entries[: near.ranked].tolist(), key=lambda entry: (-logits[entry], places[entry])
    )
    assert made.entries.tolist() == [*anew, *near.entries[near.ranked :].tolist()]


# --- from the columns


def crowd(seed: int, facts: int, messages: int) -> tuple[Selected, Scores, Query]:
    """Facts of their own, and messages with a fact each, with first scores of few values."""
    scene = Scene()
    for _ in range(facts):
        scene.state()
    for _ in range(messages):
        scene.draw(scene.say())
    chance = np.random.default_rng(seed)
    n = len(scene.rows)
    ids = chance.permutation(n)
    columns = columns_of(
        [row._replace(item=int(ids[k]).to_bytes(16)) for k, row in enumerate(scene.rows)]
    )
    everything = np.ones(n, np.bool_)
    total = chance.integers(0, 40, n) / 40
    share = chance.random(n)
    cosines = chance.random(n)
    scores = Scores(total, share, share, cosines, np.arange(n), total > 0, meant=True)
    held = np.flatnonzero(chance.random(n) < 0.3).astype(np.uint32)
    lists = [(held, np.ones(len(held), np.uint16))]
    query = Query(asked("tea"), lists, bm25.statistics(columns.length, everything))
    return Selected(columns, everything, everything, ~everything), scores, query


def ids_of(selected: Selected, entries: npt.NDArray[np.uint32]) -> list[bytes]:
    return [selected.columns.item[n].tobytes() for n in entries.tolist()]


@pytest.mark.parametrize("seed", range(3))
def test_the_first_hits_are_the_same_for_every_limit(seed: int) -> None:
    selected, scores, query = crowd(seed, 300, 200)
    whole = order(candidates(selected, scores, query, 2.0, 700), WORDS)
    for taken in (0, 1, 10, 299, 300, 301, 500):
        near = candidates(selected, scores, query, 2.0, taken)
        made = order(near, WORDS)
        count = len(made.entries)
        assert near.ranked == CANDIDATES and count == max(taken, CANDIDATES)
        assert made.entries.tobytes() == whole.entries[:count].tobytes()
        assert made.logits.tobytes() == whole.logits[:count].tobytes()


@pytest.mark.parametrize("kept", [1, 7, 40])
def test_candidates_are_the_best_by_first_score_then_by_id(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordering, "CANDIDATES", kept)
    selected, scores, query = crowd(5, 40, 20)
    near = candidates(selected, scores, query, 2.0, 60)
    items = ids_of(selected, np.arange(selected.columns.n, dtype=np.uint32))
    falling = sorted(
        np.flatnonzero(scores.found).tolist(), key=lambda n: (-scores.total[n], items[n])
    )
    assert near.entries.tolist() == falling[:60]
    assert near.totals.tolist() == [scores.total[n] for n in falling[:60]]
    assert near.ranked == min(kept, len(falling)) == len(near.at)
    assert near.rows.shape == (len(near.units), len(NAMES))


def test_an_entry_stands_for_its_unit() -> None:
    """A fact of a message is ranked as the message is."""
    selected, scores, query = crowd(6, 3, 3)
    near = candidates(selected, scores, query, 2.0)
    of = near.units[near.at].tolist()
    for entry, unit in zip(near.entries.tolist(), of, strict=True):
        drawn = selected.columns.source[entry] != 0xFFFFFFFF
        assert unit == (entry - 1 if drawn else entry)
    assert near.units.tolist() == sorted(set(of))


def test_only_what_is_allowed_and_found_is_a_candidate() -> None:
    selected, scores, query = crowd(7, 20, 10)
    allowed = np.arange(selected.columns.n) % 3 == 0
    near = candidates(selected._replace(allowed=allowed), scores, query, 2.0)
    assert sorted(near.entries.tolist()) == np.flatnonzero(allowed & scores.found).tolist()
    nothing = candidates(selected._replace(allowed=allowed & False), scores, query, 2.0)
    assert nothing.ranked == 0 and len(order(nothing, WORDS).entries) == 0


@pytest.mark.parametrize(("reach", "reached"), [(2.0, 0.25), (0.0, 0.0)])
def test_what_was_reached_is_the_best_of_what_counts(reach: float, reached: float) -> None:
    selected, scores, query = crowd(8, 4, 0)
    words = np.array([0.1, 0.5, 9.0, 0.2])
    counted = np.array([True, True, False, True])
    near = candidates(
        selected._replace(counted=counted, allowed=counted),
        scores._replace(words=words, found=counted),
        query,
        reach,
    )
    assert near.reached == reached
