"""What is put right in a later message (R02, R07): where there may be several too, what was said in
jest, and back to what was said first."""

from collections.abc import Iterator, Sequence

import pytest

from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.doors import Json
from tests.cases.given import Clock
from tests.cases.talking import Talk, said


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    models = Models(embedder="none", extractor="rules", judge="rules")
    with Memory(tmp_path_factory.mktemp("right"), models=models, clock=Clock()) as memory:
        memory.own()
        yield memory


REX, MAX = "The user's dog is called Rex", "The user's dog is called Max"
THREE, FOUR = "The demo is at 3 pm", "The demo is at 4 pm"
NOW = "current"

# What is said minute by minute, and what is known of it after all.
PUT_RIGHT: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "correction": (
        ("My dog is called Rex.", "Correction: my dog is called Max."),
        {REX: "corrected", MAX: NOW},
    ),
    "not that": (("My dog is called Rex.", "Not Rex, Max."), {REX: "corrected", MAX: NOW}),
    "this, not that": (("My dog is called Rex.", "Max, not Rex."), {REX: "corrected", MAX: NOW}),
    "I meant": (("My dog is called Rex.", "I meant Max."), {REX: "corrected", MAX: NOW}),
    "taken back": (
        ("My dog is called Rex.", "I take that back, my dog is called Max."),
        {REX: "corrected", MAX: NOW},
    ),
    "a language": (
        ("I speak Spanish.", "Sorry, I meant Portuguese."),
        {"The user speaks Spanish": "corrected", "The user speaks Portuguese": NOW},
    ),
    "a slip": (
        ("I moved to Rome.", "I misspoke: I moved to Oslo."),
        {"The user moved to Rome": "superseded", "The user moved to Oslo": NOW},
    ),
    "in jest": (
        ("I hate cilantro.", "Just kidding, I love cilantro."),
        {"The user hates cilantro": "corrected", "The user loves cilantro": NOW},
    ),
    "it was right": (
        ("Book the demo for 3 pm.", "Sorry, make that 4 pm.", "No wait, 3 pm was right."),
        {THREE: NOW, FOUR: "corrected"},
    ),
    "back to it": (
        ("Book the demo for 3 pm.", "Sorry, make that 4 pm.", "Back to 3 pm."),
        {THREE: NOW, FOUR: "superseded"},
    ),
}

BESIDE: dict[str, Sequence[str]] = {
    "two dogs": ("My dog is called Rex.", "My dog is called Max."),
    "another dog": ("My dog is called Rex.", "Sorry, my other dog is called Max."),
    "two languages": ("I speak Spanish.", "Actually I speak Portuguese too."),
    "of somebody else": ("My dog is called Rex.", "Correction: Nina's dog is called Max."),
}


def minutes(told: Sequence[str]) -> list[Json]:
    return [said(text, f"2026-05-10T10:{minute:02}:00Z") for minute, text in enumerate(told)]


@pytest.mark.parametrize(("told", "known"), PUT_RIGHT.values(), ids=PUT_RIGHT.keys())
def test_r07_what_is_put_right_is_the_only_current_one(
    store: Memory, told: Sequence[str], known: dict[str, str]
) -> None:
    talk = Talk(store)
    for message in minutes(told):
        talk.say(message)
    views = talk.life().views
    states = {view["text"].rstrip("."): view["standing"]["state"] for view in views}
    assert states == known  # of one text the last counts


@pytest.mark.parametrize("told", BESIDE.values(), ids=BESIDE.keys())
def test_r07_what_puts_nothing_right_stands_beside_it(store: Memory, told: Sequence[str]) -> None:
    talk = Talk(store)
    for message in minutes(told):
        talk.say(message)
    life = talk.life()
    assert [view["standing"]["state"] for view in life.views] == [NOW, NOW], life
