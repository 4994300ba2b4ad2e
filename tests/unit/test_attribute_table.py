"""The table of attributes that users may extend: what a file may hold, and what is wrong in it."""

import json
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.llm import changes
from rewound.llm.attribute_table import (
    DEFAULT,
    ROWS_MAX,
    Table,
    digest,
    many_valued,
    parse,
)
from rewound.llm.attributes import _CHANGE_WORDS, attributes_of
from rewound.llm.extraction import Said
from rewound.llm.openings import openings
from rewound.llm.rules import RulesExtractor


def table(*entries: Any) -> str:
    return json.dumps(entries)


def test_verbs_stand_between_subject_and_value() -> None:
    rows = parse(table({"attribute": "parking spot", "verbs": ["parks in", "has parked in"]}))
    assert [row.attribute for row in rows] == ["parking spot", "parking spot"]
    assert tuple(attributes_of("Nina parks in bay 12", rows)) == ("Nina", "parking spot", "bay 12")
    found = attributes_of("The red van now parks in bay 3 because of the works", rows)
    assert tuple(found) == ("red van", "parking spot", "bay 3")
    assert attributes_of("Nina parks in bay 12").attribute is None
    assert attributes_of("Nina doesn't park in bay 12", rows).attribute is None


@pytest.mark.parametrize(
    ("pattern", "text", "known"),
    [
        ("{subject} is {value} tall", "The mast is 30 m tall", ("mast", "height", "30 m")),
        (
            "the height of {subject} is {value}",
            "The height of the mast is 30 m",
            ("mast", "height", "30 m"),
        ),
        (
            "{value} is how tall {subject} is",
            "30 m is how tall the mast is",
            ("mast", "height", "30 m"),
        ),
        ("{subject} (cm): {value}", "Mast (cm): 300", ("Mast", "height", "300")),
    ],
)
def test_patterns_are_whole_statements(
    pattern: str, text: str, known: tuple[str, str, str]
) -> None:
    rows = parse(table({"attribute": "height", "patterns": [pattern]}))
    assert tuple(attributes_of(text, rows)) == known


def test_own_rows_go_before_the_others() -> None:
    rows = parse(table({"attribute": "site", "verbs": ["works at"], "single": False}))
    assert attributes_of("Nina works at Orbit").attribute == "employer"
    assert attributes_of("Nina works at Orbit", rows).attribute == "site"
    assert many_valued(rows) == {"site"}
    assert "employer" not in many_valued() and "language" in many_valued()


def test_the_extractor_is_named_after_its_table() -> None:
    rows = parse(table({"attribute": "parking spot", "verbs": ["parks in"]}))
    other = parse(table({"attribute": "parking spot", "verbs": ["parks at"]}))
    names = {RulesExtractor(each).name for each in ((), rows, other)}
    assert len(names) == 3 and "rules/4" in names
    assert RulesExtractor(rows).name == f"rules/4+{digest(rows)}"
    ((fact,),) = RulesExtractor(rows).extract([Said("My van always parks in bay 2.", 0)])
    assert (fact.subject, fact.attribute, fact.value) == ("The user's van", "parking spot", "bay 2")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[", "attributes is not JSON"),
        ("{}", "must be a list of entries"),
        (table("x"), "entry 1 must be an object"),
        (
            table({"attribute": "a", "verbs": ["b"]}, {"verbs": ["b"]}),
            "entry 2: attribute must be text",
        ),
        (table({"attribute": " ", "verbs": ["b"]}), "entry 1: attribute must be text"),
        (table({"attribute": "a"}), "entry 1: give verbs or patterns"),
        (table({"attribute": "a", "verbs": "b"}), "entry 1: verbs must be a list"),
        (table({"attribute": "a", "verbs": [3]}), "entry 1: verbs must be text"),
        (table({"attribute": "a", "verbs": ["b {value}"]}), "entry 1: verbs hold no {subject}"),
        (table({"attribute": "a", "verbs": ["b"], "single": 1}), "single must be true or false"),
        (table({"attribute": "a", "verb": ["b"]}), "entry 1: there is no field 'verb'"),
        (table({"attribute": "a", "patterns": ["{subject} x"]}), "must hold {subject} and {value}"),
        (table({"attribute": "a", "patterns": ["{subject}{value}"]}), "must have words between"),
        (
            table({"attribute": "a", "patterns": ["{subject} {x} {value}"]}),
            "may hold no braces",
        ),
        (json.dumps([{"attribute": "a", "verbs": ["b"]}] * (ROWS_MAX + 1)), "use at most"),
    ],
)
def test_what_is_wrong_is_named_with_its_entry_and_field(content: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(content)
    assert told in str(refused.value)


def test_patterns_of_users_are_no_regular_expressions() -> None:
    rows = parse(table({"attribute": "a", "verbs": ["(x+x+)+y"]}))
    assert attributes_of("Nina " + "x" * 2000, rows).attribute is None
    assert attributes_of("Nina (x+x+)+y bay", rows).value == "bay"


@pytest.mark.parametrize(
    "table_of", [DEFAULT, parse(table({"attribute": "a", "verbs": ["(b) c"]}))]
)
def test_every_row_is_found_by_the_words_that_it_begins_with(table_of: Table) -> None:
    for row in table_of:
        begins = row.openings()
        assert begins, row.attribute
        assert {first for first, _ in begins} <= table_of.words


@pytest.mark.parametrize(
    ("pattern", "begins"),
    [
        (" (?:works?|is working) at ", {("works", "at"), ("work", "at"), ("is", "working")}),
        (" goes(?: straight)? to (?P<v>x)", {("goes", "to"), ("goes", "straight")}),
        (" is (?:very )?allergic(?= to) ", {("is", "very"), ("is", "allergic")}),
        (" is (?P<v>open|closed)$", {("is", None)}),
        (r" in (?:[Rr]oom|\d+) ", {("in", "Room"), ("in", "room"), ("in", None)}),
        (r"\ has\ \(no\)\ ", {("has", "(no)")}),
    ],
)
def test_openings_are_the_first_two_words(
    pattern: str, begins: frozenset[tuple[str, str | None]]
) -> None:
    assert openings(pattern) == frozenset(begins)


@pytest.mark.parametrize(
    "pattern", [r" \w+ at ", " (?:works|w+) at ", " works", " [a-z] ", "works "]
)
def test_openings_that_are_not_spelled_out_are_not_guessed(pattern: str) -> None:
    assert openings(pattern) is None


def test_a_row_without_a_first_word_is_tried_on_every_text() -> None:
    entries = [
        {"attribute": "a", "patterns": ["{subject}: {value}"]},
        {"attribute": "b", "verbs": ["sleeps in"]},
    ]
    rows = parse(table(*entries))
    for order in (rows, Table(reversed(rows))):
        found = attributes_of("Nina sleeps in bay: 12", order)
        assert (found.subject, found.attribute) == ("Nina", "b")
        assert attributes_of("Code: 12", order).attribute == "a"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Nina now works at Orbit", ("Nina", "employer", "Orbit")),
        ("Nina friendly works at Orbit", ("Nina", "employer", "Orbit")),
        ("Nina, who works at Orbit", (None, None, None)),
        ("works at Orbit", (None, None, None)),
        ("When Nina works at Orbit", (None, None, None)),
        ("The long list of all my friends works at Orbit", (None, None, None)),
        ("The code is  (x)", (None, None, None)),
    ],
)
def test_the_subject_ends_where_the_row_begins(
    text: str, known: tuple[str | None, str | None, str | None]
) -> None:
    assert tuple(attributes_of(text)) == known


def test_the_quick_look_at_changes_knows_their_words() -> None:
    begins = openings(f" {changes._DID} ")
    assert begins is not None
    assert {first for first, _ in begins} - {"has", "have", "just", "now"} <= _CHANGE_WORDS
