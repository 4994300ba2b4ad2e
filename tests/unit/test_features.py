"""What the ranker knows of a candidate, held against plain Python; and what must not matter."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections import bm25
from rewound.projections.asked import Asked, asked
from rewound.projections.columns import OPEN, UNBOUND, Columns
from rewound.projections.entries import StandingCode
from rewound.projections.feature_names import NAMES, PRODUCTS, SINGLE
from rewound.projections.features import Kin, Query, features
from rewound.projections.ranking import Scores
from rewound.projections.threads import threads
from tests.unit.plain_features import UNDATED, Known, Plain
from tests.unit.scenes import (
    MESSAGE,
    SCENES,
    Mask,
    Scene,
    beside,
    columns_of,
    renumbered,
)

Floats = npt.NDArray[np.float64]
Units = npt.NDArray[np.int64]

QUESTIONS = (
    "Nina",
    "when did I go to Rome in May or June 2024?",
    "how many times did you suggest a walk?",
    "any tips for my garden?",
    "",
)
TERMS = 3


class World(NamedTuple):
    """A scene with everything that a search knows of it."""

    scene: Scene
    share: Floats
    cosines: Floats
    postings: list[npt.NDArray[np.uint32]]
    said_by: npt.NDArray[np.uint32] | None
    asked: Asked
    asks: int
    quoted: list[npt.NDArray[np.uint32]]
    related: list[list[tuple[npt.NDArray[np.uint32], float]]]
    """Of each term: which entries hold each of the words that belong to it, and how near it is."""

    def kin(self) -> list[Kin | None]:
        return [
            Kin(np.concatenate([of for of, _ in words]), [len(of) for of, _ in words],
                [near for _, near in words])
            if words else None
            for words in self.related
        ]  # fmt: skip

    def moved(self, by: Callable[[npt.NDArray[np.uint32]], npt.NDArray[np.uint32]]) -> "World":
        """With other numbers for the entries that hold something."""
        return self._replace(
            postings=[by(held) for held in self.postings],
            quoted=[by(held) for held in self.quoted],
            related=[[(by(held), near) for held, near in words] for words in self.related],
        )

    def lists(self) -> list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]]:
        return [(ordinals, np.ones(len(ordinals), np.uint16)) for ordinals in self.postings]


def world(scene: Scene, seed: int, question: str) -> World:
    """Scores of few values, so that many are equal."""
    chance = np.random.default_rng(seed)
    n = len(scene.rows)
    dates = [UNBOUND, 0, 1_714_600_000_000_000, 1_718_500_000_000_000, -1, 1_780_000_000_000_000]
    scene.rows = [
        row._replace(
            length=int(chance.integers(0, 12)) * int(chance.integers(1, 600)) ** (seed % 2),
            traits=int(chance.integers(0, 32)),
            valid_from=int(chance.choice(dates)),
            valid_to=OPEN,
        )
        for row in scene.rows
    ]
    chosen = [np.flatnonzero(chance.random(n) < 0.4).astype(np.uint32) for _ in range(TERMS)]
    messages = [k for k, told in enumerate(scene.told) if told.kind == MESSAGE]
    by = np.array([k for k in messages if chance.random() < 0.5], np.uint32)
    words = [
        [
            (np.flatnonzero(chance.random(n) < 0.3).astype(np.uint32), near)
            for near in (0.9, 0.5, 0.2)[: int(chance.integers(0, 4))]
        ]
        for _ in chosen
    ]
    return World(
        scene,
        chance.integers(0, 4, n) / 3,
        chance.integers(-3, 4, n) / 3,
        chosen if seed % 5 else [],
        by if len(by) and seed % 3 else None,
        asked(question),
        int(chance.integers(1, 9)),
        [by, chosen[0]][: int(chance.integers(0, 3))],
        words if seed % 5 else [],
    )


def table(
    made: World, columns: Columns, counted: Mask, units: Units, *, share: Floats | None = None,
    cosines: Floats | None = None, documents: Mask | None = None,
) -> Floats:  # fmt: skip
    """What the product makes of it."""
    n = columns.n
    nothing = np.zeros(n)
    scores = Scores(
        nothing,
        nothing,
        made.share if share is None else share,
        made.cosines if cosines is None else cosines,
        np.arange(n),
        np.ones(n, np.bool_),
        meant=True,
    )
    statistics = bm25.statistics(columns.length, counted)
    query = Query(
        made.asked,
        made.lists(),
        statistics,
        made.said_by,
        documents=documents,
        length=made.asks,
        quoted=made.quoted,
        related=made.kin(),
    )
    return features(columns, counted, threads(columns, counted), query, scores, units)


def candidates(made: World, counted: Mask, seed: int) -> Units:
    """Some of the units that count, in any order."""
    stand = beside(made.scene, counted)
    units = [n for n in np.flatnonzero(counted).tolist() if stand.unit[n] == n]
    chance = np.random.default_rng(seed + 1)
    chosen = [n for n in units if chance.random() < 0.7] or units[:1]
    return chance.permutation(np.array(chosen, np.int64))


WORLDS = st.builds(world, SCENES, st.integers(0, 1_000), st.sampled_from(QUESTIONS))
SEEDS = st.integers(0, 1_000)


def moment_of(data: st.DataObject, made: World) -> int:
    return data.draw(st.integers(0, len(made.scene.rows)))


def told(made: World, counted: Mask, documents: Mask) -> Known:
    rows = made.scene.rows
    return Known(
        made.scene.told,
        beside(made.scene, counted),
        counted.tolist(),
        made.share.tolist(),
        made.cosines.tolist(),
        [row.length for row in rows],
        [row.valid_from for row in rows],
        [row.traits for row in rows],
        [ordinals.tolist() for ordinals in made.postings],
        made.asked,
        None if made.said_by is None else made.said_by.tolist(),
        documents.tolist(),
        [row.importance for row in rows],
        made.asks,
        [ordinals.tolist() for ordinals in made.quoted],
        [[(held.tolist(), near) for held, near in words] for words in made.related],
    )


@given(WORLDS, SEEDS, st.data())
def test_each_feature_is_what_its_name_says(made: World, seed: int, data: st.DataObject) -> None:
    moment = moment_of(data, made)
    counted, documents = made.scene.counted(moment), made.scene.documents(moment)
    units = candidates(made, counted, seed)
    found = table(made, made.scene.columns, counted, units, documents=documents)
    plain = Plain(told(made, counted, documents), units.tolist())
    assert found.shape == (len(units), len(NAMES))
    for row, unit in zip(found.tolist(), units.tolist(), strict=True):
        wanted = plain.row(unit)
        assert wanted.keys() == set(SINGLE)
        wanted |= {f"{one} * {other}": wanted[one] * wanted[other] for one, other in PRODUCTS}
        for name, value in zip(NAMES, row, strict=True):
            assert value == pytest.approx(wanted[name], abs=1e-9), f"{name} of {unit}"


def test_no_candidates_no_rows() -> None:
    made = world(Scene(), 1, "Nina")
    empty = np.zeros(0, np.int64)
    assert table(made, made.scene.columns, np.zeros(0, np.bool_), empty).shape == (0, len(NAMES))


@given(WORLDS, SEEDS, st.data())
def test_other_numbers_change_no_bit(made: World, seed: int, data: st.DataObject) -> None:
    moment = moment_of(data, made)
    counted, documents = made.scene.counted(moment), made.scene.documents(moment)
    units = candidates(made, counted, seed)
    order = data.draw(st.permutations(range(len(made.scene.rows))))
    new = np.zeros(len(order), np.int64)
    new[list(order)] = np.arange(len(order))
    moved = made.moved(lambda held: np.sort(new[held]).astype(np.uint32))._replace(
        share=made.share[list(order)],
        cosines=made.cosines[list(order)],
        said_by=None if made.said_by is None else new[made.said_by].astype(np.uint32),
    )
    columns = columns_of(renumbered(made.scene.rows, order))
    one = table(made, made.scene.columns, counted, units, documents=documents)
    other = table(
        moved, columns, counted[list(order)], new[units], documents=documents[list(order)]
    )
    assert one.tobytes() == other.tobytes()


@given(WORLDS, SEEDS)
def test_the_order_of_the_candidates_changes_no_bit(made: World, seed: int) -> None:
    counted = made.scene.counted()
    units = candidates(made, counted, seed)
    rows = table(made, made.scene.columns, counted, units)
    again = table(made, made.scene.columns, counted, np.sort(units))
    assert rows[np.argsort(units)].tobytes() == again.tobytes()


@given(WORLDS, SEEDS, st.data())
def test_what_does_not_count_changes_no_bit(made: World, seed: int, data: st.DataObject) -> None:
    """Neither what it scores and holds nor what it is like: hidden, replaced, or of later."""
    moment = moment_of(data, made)
    counted, documents = made.scene.counted(moment), made.scene.documents(moment)
    units = candidates(made, counted, seed)
    one = table(made, made.scene.columns, counted, units, documents=documents)
    chance = np.random.default_rng(seed)
    out = np.flatnonzero(~counted & ~documents)
    share, cosines = made.share.copy(), made.cosines.copy()
    share[out], cosines[out] = 5.0, 5.0
    rows = list(made.scene.rows)
    for n in out.tolist():
        rows[n] = rows[n]._replace(
            length=int(chance.integers(0, 1_000)), traits=31, valid_from=1, detail=3, vector=7,
            importance=int(chance.integers(0, 1_001)),
        )  # fmt: skip
    other = made.moved(lambda held: np.union1d(held, out).astype(np.uint32))
    other = other._replace(quoted=made.quoted)
    two = table(
        other, columns_of(rows), counted, units, share=share, cosines=cosines, documents=documents
    )
    assert one.tobytes() == two.tobytes()


@given(WORLDS, SEEDS, st.data())
def test_what_comes_later_changes_no_bit(made: World, seed: int, data: st.DataObject) -> None:
    """The entries that there were are a store that was built up to then."""
    if not made.scene.rows:
        return
    moment = data.draw(st.integers(0, len(made.scene.rows) - 1))
    counted, documents = made.scene.counted(moment), made.scene.documents(moment)
    units = candidates(made, counted, seed)
    one = table(made, made.scene.columns, counted, units, documents=documents)
    end = moment + 1
    said_by = None if made.said_by is None else made.said_by[made.said_by < end]
    upto = made.moved(lambda held: held[held < end])._replace(
        share=made.share[:end], cosines=made.cosines[:end], said_by=said_by
    )
    two = table(
        upto, columns_of(made.scene.rows[:end]), counted[:end], units, documents=documents[:end]
    )
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("month", range(1, 13))
def test_what_has_no_date_was_said_in_no_month(month: int) -> None:
    """Passages have none; read as a time their mark lies in a month as well."""
    assert UNDATED == UNBOUND
    scene = Scene()
    scene.write(1)
    scene.state()
    made = world(scene, 1, "Nina")._replace(
        asked=asked("Nina")._replace(months=frozenset({month}), years=frozenset({1970}))
    )
    scene.rows = [row._replace(valid_from=UNBOUND) for row in scene.rows]
    rows = table(made, scene.columns, scene.counted(), np.array([1, 2], np.int64))
    assert not rows[:, NAMES.index("month or year asked for")].any()


def test_what_is_ended_makes_nothing_important() -> None:
    """A message is as important as the facts of it that hold; an ended one by itself still is."""
    scene = Scene()
    message = scene.say()
    scene.draw(message)
    scene.rows[1] = scene.rows[1]._replace(importance=901)
    units = np.array([0], np.int64)
    made, documents = world(scene, 1, "Nina"), scene.documents()
    at = NAMES.index("importance")
    assert table(made, scene.columns, scene.counted(), units, documents=documents)[0, at] == 0.9
    scene.rows[1] = scene.rows[1]._replace(standing=int(StandingCode.SUPERSEDED))
    assert table(made, scene.columns, scene.counted(), units, documents=documents)[0, at] == 0.0
    scene.hidden.add(message)
    alone = table(made, scene.columns, scene.counted(), np.array([1]), documents=documents)
    assert alone[0, at] == 0.9


def test_a_document_that_is_asked_for_has_features_too() -> None:
    """It counts in no statistics, and yet a search may ask for documents."""
    scene = Scene()
    scene.write(2)
    scene.say()
    made = world(scene, 1, "Nina")
    rows = table(made, scene.columns, scene.counted(), np.array([0, 1, 3], np.int64))
    assert np.isfinite(rows).all()
    assert rows[0, NAMES.index("words")] == made.share[0]


def test_a_word_that_belongs_to_what_is_asked_counts_where_that_is_not_said() -> None:
    """The nearest one does, and one that many say less than one that few say."""
    scene = Scene()
    for _ in range(6):
        scene.state()
    units = np.arange(6)
    pets, dog, cat = ([0], [0, 1, 2], [2, 3])
    made = world(scene, 1, "pets")._replace(
        postings=[np.array(pets, np.uint32)],
        related=[[(np.array(dog, np.uint32), 0.5), (np.array(cat, np.uint32), 0.8)]],
    )
    rows = table(made, scene.columns, scene.counted(), units)
    by_dog, by_cat = (
        near * min(1.0, bm25.idf(6, held) / bm25.idf(6, 1)) for near, held in ((0.5, 3), (0.8, 2))
    )
    assert by_dog < 0.5
    found = rows[:, NAMES.index("related words said")]
    assert found.tolist() == pytest.approx([0.0, by_dog, by_cat, by_cat, 0.0, 0.0])


def test_the_weights_of_a_query_are_those_of_what_counts() -> None:
    scene = Scene()
    for _ in range(4):
        scene.state()
    scene.hidden.add(3)
    counted = scene.counted()
    held = [np.array(ordinals, np.uint32) for ordinals in ([0, 3], [], [0, 1, 2])]
    lists = [(ordinals, np.ones(len(ordinals), np.uint16)) for ordinals in held]
    query = Query(
        asked(""), lists, bm25.statistics(scene.columns.length, counted), None, ("a", "b", "c")
    )
    weights = query.weights()
    assert weights == {"a": bm25.idf(3, 1), "b": bm25.idf(3, 0), "c": bm25.idf(3, 3)}
    assert weights["b"] > weights["a"] > weights["c"] > 0.0
