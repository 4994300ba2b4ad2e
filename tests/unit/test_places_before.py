"""`There` is the place that was named before, where that leaves one answer."""

import pytest

from rewound.eventlog.instants import parse_instant
from rewound.llm.extraction import Drawn, Role, Said
from rewound.llm.rules import RulesExtractor

AT = parse_instant("2026-03-02T10:00:00Z").at
RULES = RulesExtractor()


def drawn(text: str, *before: Said, speaker: str = "Nina") -> list[Drawn]:
    return RULES.extract([Said(text, AT, speaker=speaker, before=before)])[0]


def last(text: str, *before: Said) -> str:
    facts = drawn(text, *before)
    assert facts, "nothing is drawn"
    return facts[-1].text


RESOLVED = {
    "Tom moved to Lisbon in May. He runs a bakery there.": "Tom runs a bakery in Lisbon",
    "Tom lives in Oslo. He works there.": "Tom works in Oslo",
    "My sister lives in Porto. I have a flat there.": "Nina has a flat in Porto",
    "I moved to Ghent last year. I teach maths there.": "Nina teaches maths in Ghent",
    "I grew up in Cape Town. My parents live there.":
        "Nina's parents live in Cape Town",
    "Tom works at Orbit Labs. His sister works there too.":
        "Tom's sister works at Orbit Labs too",
    "Marta joined Orbit Labs in May. She leads the design team there.":
        "Marta leads the design team at Orbit Labs",
    "I visited New Delhi in March. I met my cousin there.": "Nina met their cousin in New Delhi",
    "Tom is from Lima. His parents run a hotel there.": "Tom's parents run a hotel in Lima",
    "I love Lisbon. I go there every summer.": "Nina goes to Lisbon every summer",
    "I live in Oslo. My brother moved there in 2024.": "Nina's brother moved to Oslo in 2024",
    "Tom moved from Oslo to Lisbon. He has a boat there.": "Tom has a boat in Lisbon",
    "My office is on Elm Road. I keep my bike there.": "Nina keeps their bike on Elm Road",
    "I moved to Lisbon and I run a bakery there.": "Nina runs a bakery in Lisbon",
    "I moved to Lisbon in May. I run a bakery here.": "Nina runs a bakery in Lisbon",
    "Tom lives in Oslo. He drives a Volvo. His mother lives there.":
        "Tom's mother lives in Oslo",
}  # fmt: skip


@pytest.mark.parametrize("text", RESOLVED)
def test_there_is_the_place_named_before(text: str) -> None:
    assert last(text) == RESOLVED[text]


UNSURE = [
    "Tom speaks French. He owns a bakery there.",
    "Tom likes fish. He owns a bakery there.",
    "Tom moved in May. He owns a bakery there.",
    "Tom lived in Oslo and Bergen. He owns a bakery there.",
    "Tom lives in Oslo. What is the weather like? He owns a bakery there.",
    "Tom works at Orbit in Lisbon. His brother owns a bakery there.",
    "Tom moved to Lisbon in May. I own a bakery here.",
]


@pytest.mark.parametrize("text", UNSURE)
def test_where_it_is_not_sure_there_stands_in_no_value(text: str) -> None:
    for fact in drawn(text):
        assert "bakery in" not in fact.text and "bakery at" not in fact.text
        assert "here" not in (fact.value or "").split()
        assert "there" not in (fact.value or "").split()
    (owned,) = [fact for fact in drawn("I own an old bakery there.") if fact.attribute]
    assert (owned.attribute, owned.value) == ("owns", "old bakery")


def test_what_is_no_place_stays() -> None:
    assert last("Tom lives in Oslo. There are 14 people in his team.").startswith("There are 14")
    assert "over Oslo" not in last("I live in Oslo. I finally got over there being no sun.")


def said(text: str, minutes: int, role: Role = "user", speaker: str | None = "Nina") -> Said:
    return Said(text, AT - minutes * 60_000_000, role=role, speaker=speaker)


def test_the_place_may_stand_in_the_speakers_message_before() -> None:
    before = said("Tom moved to Lisbon in May.", 5)
    assert last("He runs a bakery there.", before) == "Tom runs a bakery in Lisbon"
    answer = said("How nice! It is sunny.", 4, "assistant", None)
    assert last("He runs a bakery there.", before, answer) == "Tom runs a bakery in Lisbon"


_STAYS = "Nina runs a lovely bakery there"


def test_not_where_somebody_else_named_another_place_or_said_it() -> None:
    before = said("I moved to Lisbon in May.", 5)
    elsewhere = said("Have you been to Porto as well?", 4, "assistant", None)
    assert last("I run a lovely bakery there.", before, elsewhere) == _STAYS
    other = said("I moved to Lisbon in May.", 5, speaker="Tom")
    assert last("I run a lovely bakery there.", other) == _STAYS
    later = said("I moved to Porto in June.", 3)
    assert last("I run a bakery there.", before, later) == "Nina runs a bakery in Porto"


def test_where_it_is_resolved_the_place_is_an_entity_and_a_value() -> None:
    fact = drawn("Tom moved to Lisbon in May. His mother lives there.")[-1]
    assert (fact.subject, fact.attribute, fact.value) == ("Tom's mother", "home", "Lisbon")
    assert "Lisbon" in fact.entities
