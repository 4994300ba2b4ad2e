"""What a claim says of whom: subject, attribute, value, and whether it holds."""

import pytest

from rewound.llm.attribute_table import parse
from rewound.llm.claim_words import tokens_of
from rewound.llm.reading import Polarity, Reading, read

SAME = [
    ("home", ["Nina lives in Rome", "Nina has moved to Rome", "Nina's home is Rome"]),
    (
        "employer",
        ["Tom works at Orbit Labs", "Tom joined Orbit Labs", "Tom is employed by Orbit Labs"],
    ),
    (
        "due",
        [
            "The report is due on Friday",
            "The deadline for the report is Friday",
            "The report's deadline was moved to Friday",
            "The report is now due Friday",
        ],
    ),
    (
        "cost",
        [
            "The pass costs $20",
            "The price of the pass is 20 dollars",
            "The pass's price rose to $20",
        ],
    ),
    (
        "owner",
        [
            "Billing is owned by Marta",
            "Marta took over Billing",
            "The owner of Billing is Marta",
            "Billing's lead is Marta",
        ],
    ),
    (
        "phone",
        [
            "Nina's phone number is 555-0199",
            "The phone number of Nina is 555-0199",
            "Nina changed her phone number to 555-0199",
        ],
    ),
    ("when", ["The demo is at 4 pm", "The demo was moved to 16:00", "The demo starts at 4:00 pm"]),
    (
        "name",
        [
            "The project is called Falcon",
            "The project's codename is Falcon",
            "The project was renamed to Falcon",
        ],
    ),
    ("deploys from", ["The team deploys from release", "The team now deploys from release"]),
    ("doctor", ["Nina's GP is Dr Colin", "Dr Colin is Nina's family doctor"]),
]


@pytest.mark.parametrize(("attribute", "texts"), SAME, ids=[name for name, _ in SAME])
def test_one_attribute_in_many_wordings(attribute: str, texts: list[str]) -> None:
    readings = [read(text) for text in texts]
    assert {one.attribute for one in readings} == {attribute}
    assert len({one.subject for one in readings}) == 1
    assert len({one.value for one in readings}) == 1
    assert all(one.single for one in readings)


def test_a_sister_is_not_her_brother() -> None:
    assert read("Nina's sister lives in Rome").subject == ("nina", "sister")
    assert read("Nina lives in Rome").subject == ("nina",)


def test_whoever_speaks_is_the_user() -> None:
    assert read("I live in Rome").subject == read("The user lives in Rome").subject == ("user",)


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("Nina works at Orbit Labs", Polarity.AFFIRMED),
        ("Nina does not work at Orbit Labs", Polarity.DENIED),
        ("Nina stopped working at Orbit Labs", Polarity.ENDED),
        ("Nina used to work at Orbit Labs", Polarity.ENDED),
        ("The user sold the red van", Polarity.ENDED),
        ("Do not forget to open the blue valve", Polarity.AFFIRMED),
    ],
)
def test_polarity(text: str, polarity: Polarity) -> None:
    assert read(text).polarity is polarity


def test_only_what_is_denied_is_denied() -> None:
    allergic = read("I'm not allergic to nuts, only to kiwi.")
    assert "nut" in allergic.denied
    assert "kiwi" not in allergic.denied
    assert read("We replaced Oslo with Rome").denied == {"oslo"}
    assert read("We use Postgres instead of MySQL").denied == {"mysql"}
    assert read("Do not forget to open the blue valve").denied == frozenset()


@pytest.mark.parametrize(
    "verb", ["plans to move", "might move", "is thinking of moving", "will move"]
)
def test_a_plan_is_marked(verb: str) -> None:
    assert read(f"Nina {verb} to Berlin").plan
    assert not read("Nina moved to Berlin").plan


def test_what_one_thinks_of_a_thing_is_one_value() -> None:
    loves, hates = read("I love olives."), read("I can't stand olives any more.")
    assert loves.attribute == hates.attribute
    assert (loves.value, hates.value) == (("yes",), ("no",))
    assert loves.single


def test_what_the_caller_knows_wins() -> None:
    reading = read("It is orange.", "Nina's bike", "colour", "orange")
    assert reading.subject == ("nina", "bike")
    assert (reading.attribute, reading.value, reading.single) == ("colour", ("orang",), True)


def test_rows_of_the_user_extend_the_table() -> None:
    rows = parse('[{"attribute": "parking", "verbs": ["parks her car in"]}]')
    bare, extended = (
        read("Nina parks her car in lot 4"),
        read("Nina parks her car in lot 4", extra=rows),
    )
    assert bare.attribute == ""
    assert (extended.attribute, extended.value) == ("parking", ("lot", "4"))
    assert extended.single


def test_a_text_without_a_statement_reads_as_nothing() -> None:
    for text in ("", "…", "?!", "ok"):
        reading = read(text)
        assert isinstance(reading, Reading)
        assert (reading.attribute, reading.value) == ("", ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 4 pm", "at 16:00"),
        ("on May 5th", "on 5 May"),
        ("on 2026-05-05", "on May 5, 2026"),
        ("1,200 dollars", "$1200"),
        ("three rooms", "3 rooms"),
        ("North Korea", "north korea"),
    ],
)
def test_one_spelling(one: str, other: str) -> None:
    assert sorted(t.low for t in tokens_of(one)) == sorted(t.low for t in tokens_of(other))
