"""What was denied and holds after all, and the other way round (R02, R08): the newer statement is
the only current one, and is never taken for the older one said again."""

from collections.abc import Iterator

import pytest

from rewound.eventlog.enums import Outcome
from rewound.llm.attributes import attributes_of
from rewound.llm.evidence import evidence
from rewound.llm.judging import Claim, Pair
from rewound.llm.policy import ENDINGS, shipped
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.given import Clock
from tests.cases.talking import Talk

DAY = 86_400_000_000
CLOCK = Clock()

CONTRARIES = (
    ("I'm not married.", "I got married."),
    ("I'm not married.", "I'm married."),
    ("The door is not locked.", "The door is locked."),
    ("The door is locked.", "The door is not locked."),
    ("I don't have a car.", "I have a car."),
    ("I don't have a car.", "I bought a car."),
    ("I don't drink coffee.", "I started drinking coffee."),
    ("I don't smoke.", "I started smoking again."),
    ("I can't swim.", "I learned to swim."),
    ("The project is not finished.", "The project is finished."),
    ("I haven't been vaccinated.", "I got vaccinated."),
    ("I've never been to Japan.", "I've been to Japan."),
    ("The tickets aren't booked yet.", "The tickets are booked."),
    ("I don't like jazz.", "I love jazz."),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    models = Models(embedder="none", extractor="rules", judge="rules")
    with Memory(tmp_path_factory.mktemp("contraries"), models=models, clock=CLOCK) as memory:
        memory.own()
        yield memory


@pytest.mark.parametrize(("first", "then"), CONTRARIES)
def test_r02_what_holds_after_all_is_the_only_current_one(
    store: Memory, first: str, then: str
) -> None:
    talk = Talk(store)
    talk.say(first)
    CLOCK.at += DAY
    states = [view["standing"]["state"] for view in talk.say(then).views]
    assert states == ["superseded", "current"]


def ruled(first: str, then: str) -> Outcome:
    """How the second of two statements, a day later, relates to the first."""
    claims = [
        Claim(text, at, at, subject=known.subject, attribute=known.attribute, value=known.value)
        for text, at in ((first, DAY), (then, 2 * DAY))
        for known in (attributes_of(text),)
    ]
    return shipped().rule(evidence(Pair(claims[1], claims[0]))).outcome


BOTH_HOLD = (
    ("Nina doesn't have a red car", "Nina has a car"),
    ("Nina doesn't eat fish", "Nina eats meat"),
    ("Nina is not married", "Omar is married"),
    ("Nina did not go to the gym", "Nina went to the gym"),
    ("Nina is not only a doctor", "Nina is a doctor"),
    ("Nina is not tired", "Nina will be tired"),
    ("Nina doesn't work at Orbit Labs", "Nina works at Harbor Foods"),
)


@pytest.mark.parametrize(("first", "then"), BOTH_HOLD)
def test_r08_what_denies_another_thing_stays(first: str, then: str) -> None:
    assert ruled(first, then) not in (*ENDINGS, Outcome.DUPLICATE)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Nina isn't insured against fire", "Nina is insured against fire now with Arvo"),
        ("The shop in Elm Road isn't open on Sundays", "The shop in Elm Road is open on Sundays"),
        ("Omar is no longer a member", "Omar is a member"),
    ],
)
def test_r08_what_is_denied_is_never_a_repetition(first: str, then: str) -> None:
    assert ruled(first, then) is not Outcome.DUPLICATE
    assert ruled(then, first) is not Outcome.DUPLICATE


def test_r08_the_same_denied_twice_ends_nothing() -> None:
    assert ruled("Omar doesn't eat pork", "Omar eats no pork") not in ENDINGS
    assert ruled("Nina hates mushrooms", "Nina can't stand mushrooms") not in ENDINGS
