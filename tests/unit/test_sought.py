"""Of whom a question asks what, and what a fact gains that states it."""

import numpy as np
import pytest

from rewound.projections.ordering import SOUGHT, order
from rewound.projections.sought import pairs
from tests.unit.test_ordering import WORDS, found

HOME = ("home", "address")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("where does Carla live", [("Carla", name) for name in HOME]),
        ("Where does Carla's mother live now?", [("Carla's mother", name) for name in HOME]),
        ("In which city does Ana live?", [("Ana", name) for name in HOME]),
        ("where do I live", [("the user", name) for name in HOME]),
        ("where does my dad live", [("the user's dad", name) for name in HOME]),
        ("Who does Leo work for?", [("Leo", "employer")]),
        ("when is Tom's birthday", [("Tom", "birthday")]),
        ("When is Tom’s wife’s birthday?", [("Tom’s wife", "birthday")]),
        ("Tom's email address", [("Tom", "email address"), ("Tom", "email")]),
        ("what's the wifi password", [("wifi", "password")]),
        ("What is the colour of the van?", [("the van", "colour")]),
        ("what is my email", [("the user", "email")]),
        ("what is Carla's dog called", [("Carla's dog", "name"), ("Carla", "dog")]),
    ],
)
def test_a_plain_question_names_a_subject_and_an_attribute(
    query: str, told: list[tuple[str, str]]
) -> None:
    assert pairs(query) == told


@pytest.mark.parametrize(
    "query",
    [
        "",
        "where did Carla live before",
        "what did Tom say about Rome",
        "tell me about the project",
        "what's that",
        "Carla lives in Rome",
        "wo wohnt Carla",
        "where is the meeting " * 50,
    ],
)
def test_of_any_other_question_nothing_is_told(query: str) -> None:
    assert pairs(query) == []


def test_what_states_it_gains_and_nothing_else_moves() -> None:
    near = found([0.9, 0.8, 0.7], [1, 2, 3], [0.3, 0.2, 0.1])
    plain = order(near, WORDS)
    made = order(near, WORDS, sought=np.array([102, 999], np.uint32))
    assert plain.entries.tolist() == [100, 101, 102]
    assert made.entries.tolist() == [102, 100, 101]
    assert made.logits == pytest.approx([plain.logits[2] + SOUGHT, *plain.logits[:2]])
    assert made.anything == plain.anything
    assert made.sought == {102} and plain.sought == frozenset()
