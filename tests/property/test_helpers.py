"""The judge's own tools, shown on small cases before they judge."""

import os
import random
import socket
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import EventId
from tests.oracle.compare import differences
from tests.oracle.effect import effective_ids, without
from tests.oracle.fold import oracle
from tests.oracle.story import Story, fact_ref, msg_ref, number
from tests.property.choices import Seeded
from tests.property.copying import overlay_after
from tests.property.inventing import Inventor
from tests.property.purity import Impure, pure
from tests.property.words import blacked, canaries, owners, withheld


def invented(seed: int, events: int) -> Story:
    inventor = Inventor(Seeded(seed))
    for _ in range(events):
        inventor.step()
    return inventor.story


@pytest.mark.parametrize(
    "ask",
    [
        lambda: time.time(),
        lambda: time.time_ns(),
        lambda: os.urandom(1),
        lambda: random.random(),
        lambda: uuid.uuid4(),
        lambda: socket.socket(),
    ],
)
def test_the_guard_catches_clock_randomness_and_network(ask: "object") -> None:
    with pure(), pytest.raises(Impure):
        ask()  # type: ignore[operator]
    assert time.time() > 0, "and lets go afterwards"


def test_a_canary_is_withheld_when_all_it_stands_in_is_hidden_or_masked() -> None:
    story = Story()
    story.say(1, "I like teaq1 and carsq2", infer=False)
    story.remember(1, "Ann likes teaq1", tags=story.value(["tagq3"]))
    story.remember(2, "Bob drives carsq2")

    def secret(hidden: set[str], masks: dict[str, list[list[int]]]) -> set[str]:
        return withheld(story.events, story.kept.get, hidden, masks)

    first, message = str(fact_ref(1)), str(msg_ref(1))
    assert secret(set(), {}) == set()
    assert secret({first}, {}) == {"tagq3"}, "teaq1 is still told in the message"
    assert secret({first}, {"1:0": [[7, 12]]}) == {"teaq1", "tagq3"}
    assert secret({first, message}, {}) == {"teaq1", "tagq3"}, "carsq2 is in fact 2"


def test_words_of_a_forgetting_belong_to_what_it_forgot() -> None:
    story = Story()
    story.remember(1)
    story.add(e.Forgotten(fact_ref(1), (fact_ref(1),), reason=story.text("reasonq1")))
    assert owners(story.events[1]) == {str(fact_ref(1))}
    assert canaries(b"x likeq12 Qq1 aq") == {"likeq12"}
    assert blacked("über teaq1".encode(), [[0, 5]]) == b"\0\0\0\0\0teaq1"


def test_differences_name_their_path() -> None:
    found = {"facts": {"a": {"text": "x"}, "b": {}}}
    wanted = {"facts": {"a": {"text": "y"}, "c": {}}}
    assert list(differences(found, wanted)) == [
        "/facts/a/text: found 'x', want 'y'",
        "/facts/b should not be there ({})",
        "/facts/c is missing (want {})",
    ]


@given(seed=st.integers(0, 10_000), cut=st.integers(1, 30))
@settings(max_examples=60)
def test_a_copy_with_the_overlay_folds_into_the_past(seed: int, cut: int) -> None:
    """The events up to a position and the overlay of the rest: rows of then, hidden as now."""
    story = invented(seed, 30)
    then = story.dump_at(cut)
    overlay = overlay_after(story.events, cut)
    del story.events[cut:]
    for event in overlay:
        story.add(event)
    copied = oracle(story.events, story.kept.get)
    places = {name for name in then["masks"] if int(name.split(":")[0]) <= cut}
    then["masks"] = {name: then["masks"][name] for name in places}
    assert copied == then


@given(seed=st.integers(0, 10_000), pick=st.integers(0, 29))
@settings(max_examples=60)
def test_the_oracle_keeps_the_undo_law(seed: int, pick: int) -> None:
    """Undone is as never appended; undone and taken back is as never undone."""
    story = invented(seed, 30)
    before = story.dump()
    target = EventId(number(pick + 1))
    undo = story.undo(pick + 1)
    gone = without(story.events[:-1], {target})
    if not isinstance(story.events[pick].event, e.ContentErased):
        assert oracle(gone, story.kept.get, whole=story.events) == story.dump()
    assert target not in effective_ids(story.events)
    story.undo(undo)
    assert story.dump() == before


def test_bodies_of_an_event_lie_at_its_slots() -> None:
    story = invented(5, 40)
    for place in story.kept:
        assert 1 <= place.at <= 40
    assert all(Place(p.at, p.slot) in story.sealed for p in story.kept)
