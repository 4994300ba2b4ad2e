"""What kind of question a query is: tables of queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections.asked import Asked, asked, dates
from rewound.projections.tokens import tokenize

KINDS = ("assistant", "suggestion", "when", "many", "several", "first_person")

CASES: list[tuple[str, set[str]]] = [
    ("", set()),
    (" \n ", set()),
    ("Nina antenna roof", set()),
    # What the assistant said.
    ("What did you say: you said it was blue", {"assistant"}),
    ("Which book was it that you recommended?", {"assistant"}),
    ("Did you tell me of a book?", {"assistant", "first_person"}),
    ("Remind me of the title", {"assistant", "first_person"}),
    ("In our previous conversation there was a title", {"assistant", "first_person"}),
    ("the title from the last chat", {"assistant"}),
    ("you told of a title earlier", {"assistant"}),
    ("Do you like tea?", set()),
    ("the young said no", set()),
    # Advice; not where it was given already.
    ("Any tips for a garden?", {"suggestion"}),
    ("What should I cook?", {"suggestion", "first_person"}),
    ("Nina is looking for a hotel", {"suggestion"}),
    ("Which book did you recommend?", {"assistant"}),
    ("the suggestion box", set()),
    # A time.
    ("When was the launch?", {"when"}),
    ("WHEN WAS THE LAUNCH?", {"when"}),
    ("What date was the launch?", {"when"}),
    ("how long was the walk", {"when"}),
    ("whenever", set()),
    # A number.
    ("How many cats are there?", {"many", "several"}),
    ("how often does it rain", {"many", "several"}),
    ("the total price", {"many", "several"}),
    ("totally lost", set()),
    ("How many days was the walk?", {"when", "many", "several"}),
    # More than one thing.
    ("List the cats of Nina", {"several"}),
    ("All of my trips to Rome", {"several", "first_person"}),
    ("What are Nina's hobbies?", {"several"}),
    ("what kinds of tea does she like", {"several"}),
    ("Which of the cats is older?", {"several"}),
    ("Compare Rome and Oslo", {"several"}),
    ("the difference between the two plans", {"several"}),
    ("What else did she buy?", {"several"}),
    ("Is the listed price right?", set()),
    ("what is all this noise", set()),
    # Of oneself.
    ("Where do I live?", {"first_person"}),
    ("Where's our car?", {"first_person"}),
    ("I\u2019ve a car", {"first_person"}),
    ("I'm there", {"first_person"}),
    ("the mire and the wet", set()),
    # Other languages are asked by words and meaning alone.
    ("Wann war der Start?", set()),
    ("彼女はいつ来ましたか", set()),
    ("Когда она приехала?", set()),
    ("🐈", set()),
]


@pytest.mark.parametrize(("query", "kinds"), CASES)
def test_kinds_of_questions(query: str, kinds: set[str]) -> None:
    found = asked(query)
    assert {kind for kind in KINDS if getattr(found, kind)} == kinds
    assert not found.months and not found.years


DATES: list[tuple[str, set[int], set[int]]] = [
    ("what happened in march", {3}, set()),
    ("what happened in MARCH 2024", {3}, {2024}),
    ("between January and December of 1999", {1, 12}, {1999}),
    ("in May", {5}, set()),
    ("from 2019 to 2021", set(), {2019, 2021}),
    ("marching on", set(), set()),
    ("in mayor's time", set(), set()),
    ("12024 or 1850 or 2100", set(), set()),
    ("room 202", set(), set()),
    ("im März 2024", set(), {2024}),
    ("2024年3月", set(), set()),
]


@pytest.mark.parametrize(("query", "months", "years"), DATES)
def test_months_and_years_that_are_asked_for(query: str, months: set[int], years: set[int]) -> None:
    found = asked(query)
    assert (set(found.months), set(found.years)) == (months, years)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("where did Nina work in April 2026", "april 2026"),
        ("what was on the 3rd of April, 2026", "3rd april 2026"),
        ("who came on May 12", "may 12"), ("what may Nina eat", ""),
        ("what happened on 2026-04-03", "2026-04-03"), ("call 2026778", ""),
        ("the 12 apostles in March", "march"), ("she marches", ""),
    ],
)  # fmt: skip
def test_dates_that_are_asked_for(query: str, told: str) -> None:
    assert dates(query) == set(tokenize(told))


@pytest.mark.parametrize("quote", ["'", "\u2019"])
def test_curly_and_straight_quotes_are_the_same(quote: str) -> None:
    assert asked(f"What I{quote}m good at") == asked("What I am good at")


def test_a_query_is_read_at_its_beginning_only() -> None:
    padding = "tea " * 1_000
    assert asked(padding + "when was it in march 2024?") == asked("tea")
    assert asked("when was it? " + padding).when


@given(st.text(max_size=300))
def test_any_text_is_a_query(query: str) -> None:
    found = asked(query)
    assert isinstance(found, Asked) and found == asked(query)
    assert not (found.assistant and found.suggestion)
    assert all(1 <= month <= 12 for month in found.months)


@pytest.mark.parametrize(
    ("query", "asks", "tells"),
    [
        ("any tips for a useful garden?", "tips useful", "garden"),
        ("can you recommend a good book", "recommend good", "book"),
        ("how many different cats are there in total", "many different total", "cats"),
        ("the good garden", "", "good garden"),
        ("Which book did you recommend?", "", "recommend book"),
    ],
)
def test_what_only_asks_says_nothing(query: str, asks: str, tells: str) -> None:
    found = asked(query)
    assert all(map(found.says_nothing, tokenize(asks)))
    assert not any(map(found.says_nothing, tokenize(tells)))
