"""Corrections inside a conversation, and what a message may refer to in those before it."""

from datetime import UTC, datetime, timedelta

import pytest

from rewound.eventlog.instants import to_us
from rewound.llm.corrections import Correction, corrected, correction_in
from rewound.llm.extraction import Drawn, Role, Said
from rewound.llm.rules import BEFORE_US, RulesExtractor

TUESDAY = datetime(2026, 5, 12, 10, tzinfo=UTC)
RULES = RulesExtractor()


def talk(*texts: str, speaker: str | None = "Nina") -> list[list[Drawn]]:
    """What is drawn from each message when each is read by itself, with those before it; `A: `
    begins one of the assistant's, and `Marta: ` one of Marta's."""
    said: list[Said] = []
    for minute, text in enumerate(texts):
        role: Role = "user"
        name = speaker
        if text.startswith("A: "):
            role, name, text = "assistant", None, text[3:]
        elif text.startswith("Marta: "):
            name, text = "Marta", text[7:]
        at = to_us(TUESDAY + timedelta(minutes=minute))
        said.append(Said(text, at, "UTC", role, name, before=tuple(said)))
    return RULES.extract(said)


def texts(*said: str) -> list[list[str]]:
    return [[fact.text for fact in facts] for facts in talk(*said)]


def last(*said: str) -> list[str]:
    return texts(*said)[-1]


def told(fact: Drawn) -> tuple[str | None, str | None, str | None]:
    return fact.subject, fact.attribute, fact.value


def test_each_correction_states_the_whole_anew() -> None:
    first, second, final = talk(
        "Book the launch party for 3 pm.", "Sorry, make that 4 pm.", "Final: 4:30 pm, room Indigo."
    )
    assert [fact.text for fact in (*first, *second, *final)] == [
        "The launch party is at 3 pm",
        "The launch party is at 4 pm",
        "The launch party is at 4:30 pm, in room Indigo",
    ]
    assert [told(*facts) for facts in (first, second, final)] == [
        ("launch party", "time", "3 pm"),
        ("launch party", "time", "4 pm"),
        ("launch party", "time", "4:30 pm"),
    ]


def test_a_correction_stands_on_its_own_words() -> None:
    (_, (fact,)) = talk("My car is blue.", "Sorry, I mean green!")
    assert (fact.text, fact.start, fact.end) == (
        "Nina's car is green",
        0,
        len("Sorry, I mean green"),
    )


def test_in_one_message_only_the_last_word_counts() -> None:
    said = "Book the launch party for 3 pm. Sorry, make that 4 pm. I love parties."
    assert texts(said) == [["The launch party is at 4 pm", "Nina loves parties"]]
    assert texts("I live in Riga. Oops, I meant Vilnius.") == [["Nina lives in Vilnius"]]


@pytest.mark.parametrize(
    ("first", "then", "fact"),
    [
        ("The budget is $900.", "Actually, $950.", "The budget is $950"),
        ("The picnic is for 12 people.", "Make that 15.", "The picnic is for 15 people"),
        ("My cat's name is Ruby.", "Oops, typo: Rudy.", "Nina's cat's name is Rudy"),
        ("I'm from Riga.", "Not Riga, Vilnius.", "Nina is from Vilnius"),
        ("Tom lives in Riga.", "No, in Vilnius.", "Tom lives in Vilnius"),
        ("The door code is k4471.", "Sorry, k4472.", "The door code is k4472"),
        ("My train leaves at 7:15.", "No, 8:15.", "Nina's train leaves at 8:15"),
        ("Set the deadline to Friday.", "Actually, Monday.", "The deadline is on 2026-05-18"),
        ("Set the deadline to Friday.", "Thursday, not Friday.", "The deadline is on 2026-05-14"),
        ("The release is due on Friday.", "Push it to Monday.", "The release is due on 2026-05-18"),
        ('Call the repo "larch".', "No, let's call it birch instead.", "The repo is called birch"),
        ("The sync is at 3 pm.", "It's at 4 pm now.", "The sync is at 4 pm"),
        (
            "The sync is on Friday at 3 pm.",
            "It has been moved to Thursday.",
            "The sync is on 2026-05-14 at 15:00",
        ),
        (
            "The sync is on Friday at 3 pm.",
            "Let's make it 5 pm instead.",
            "The sync is on 2026-05-15 at 5 pm",
        ),
        (
            "The sync is at 3 pm.",
            "Sorry, 4 pm, I have a dentist appointment before.",
            "The sync is at 4 pm",
        ),
    ],
)
def test_what_takes_the_place_of_what(first: str, then: str, fact: str) -> None:
    assert last(first, then) == [fact]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("The sync is at 3 pm.", "Ok, 4 pm."),
        ("The sync is at 3 pm.", "Could we make it 4 pm?"),
        ("The sync is at 3 pm.", "Sorry, 4 pm?"),
        ("The sync is at 3 pm.", "Sorry, long day."),
        ("I work at Orbit.", "No, Monday."),
        ("I have two kids.", "Sorry, Tom."),
        ("I live in Riga.", "Sorry, I mean it."),
        ("I live in Riga.", "I meant Thursday, not Tuesday."),
        ("Thanks!", "Sorry, make that 4 pm."),
    ],
)
def test_what_corrects_nothing_states_nothing(first: str, then: str) -> None:
    assert last(first, then) == []


def test_a_full_statement_behind_a_word_of_correction_is_one() -> None:
    assert last("I work at Orbit.", "Actually, I work at Harbor Foods.") == [
        "Nina works at Harbor Foods"
    ]


def test_what_others_say_between_is_no_statement_and_no_obstacle() -> None:
    assert last(
        "Book the demo for 3 pm.", "A: Done, see you at 2 pm!", "Sorry, make that 4 pm."
    ) == ["The demo is at 4 pm"]
    assert last("A: The demo is at 3 pm.", "Sorry, make that 4 pm.") == []
    assert last("Marta: The demo is at 3 pm.", "Sorry, make that 4 pm.") == []


def test_a_correction_reaches_back_over_a_few_statements_only() -> None:
    between = ["I like jazz.", "I have a dog.", "My car is blue."]
    assert last("The demo is at 3 pm.", *between[:2], "Sorry, make that 4 pm.") == [
        "The demo is at 4 pm"
    ]
    assert last("The demo is at 3 pm.", *between, "Sorry, make that 4 pm.") == []


def test_what_is_forgotten_or_long_ago_is_not_referred_to() -> None:
    now = to_us(TUESDAY)
    then = Said("Sorry, make that 4 pm.", now, speaker="Nina")
    for before, found in (
        (Said("The demo is at 3 pm.", now, speaker="Nina"), 1),
        (Said("The ████ is at 3 pm.", now, speaker="Nina"), 0),
        (Said("The demo is at 3 pm.", now - BEFORE_US - 1, speaker="Nina"), 0),
        (Said("The demo is at 3 pm.", now, role="system", speaker="Nina"), 0),
    ):
        (facts,) = RULES.extract([then._replace(before=(before,))])
        assert len(facts) == found


def test_who_was_spoken_of_in_the_message_before_is_she() -> None:
    (_, (fact,)) = talk("My sister Ana called.", "She lives in Rome now.")
    assert (fact.text, fact.subject, fact.value) == ("Ana lives in Rome now", "Ana", "Rome")
    assert last("My sister Ana called.", "A: How is Ana?", "She lives in Rome now.") == [
        "Ana lives in Rome now"
    ]
    assert last("My sister Ana called.", "A: And Marta?", "She lives in Rome now.") == []
    assert last("My sister Ana called.", "Is it late?", "She lives in Rome now.") == []
    assert last("Marta: My sister Ana called.", "She lives in Rome now.") == []


def test_nothing_is_drawn_from_what_stands_before() -> None:
    before = (Said("I live in Oslo.", to_us(TUESDAY), speaker="Nina"),)
    (facts,) = RULES.extract([Said("It is late.", to_us(TUESDAY), speaker="Nina", before=before)])
    assert not any("Oslo" in fact.text for fact in facts)


@pytest.mark.parametrize(
    ("said", "correction"),
    [
        ("Sorry, make that 4 pm", Correction(("4 pm",), None, True)),
        ("Final: 4:30 pm, room Teal", Correction(("4:30 pm", "room Teal"), None, False)),
        ("I meant Thursday, not Tuesday", Correction(("Thursday",), "Tuesday", True)),
        ("Not Riga but Vilnius", Correction(("Vilnius",), "Riga", True)),
        ("The sky is blue", None),
        ("It's late", None),
    ],
)
def test_what_a_sentence_corrects(said: str, correction: Correction | None) -> None:
    assert correction_in(said) == correction


def test_a_wrong_value_must_have_been_said() -> None:
    at = to_us(TUESDAY)
    right = Correction(("Vilnius",), "Riga", True)
    assert corrected("Nina is from Riga", "Riga", right, at, "UTC") == "Nina is from Vilnius"
    assert corrected("Nina is from Oslo", "Oslo", right, at, "UTC") is None
