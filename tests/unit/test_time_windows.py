"""The stretch of past time that a question is about."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import from_us, to_us
from rewound.llm.time_windows import Window, window_of

NOW = to_us(datetime(2024, 6, 12, 15, 30, tzinfo=UTC))  # A Wednesday.


def window(question: str, zone: str = "UTC") -> Window:
    found = window_of(question, NOW, zone)
    assert found is not None
    return found


def shown(us: int) -> str:
    return f"{from_us(us):%Y-%m-%d %H:%M}".removesuffix(" 00:00")


@pytest.mark.parametrize(
    ("question", "words", "begins", "ends"),
    [
        ("What did I do last March?", "last March", "2024-03-01", "2024-04-01"),
        (
            "What happened between May and July 2023?",
            "between May and July 2023",
            "2023-05-01",
            "2023-08-01",
        ),
        ("What did I read in the first week of June?", None, "2024-06-03", "2024-06-10"),
        ("Which books have I read since 2021?", "since 2021", "2021-01-01", "2024-06-12 15:30"),
        ("What did Anna say yesterday?", "yesterday", "2024-06-11", "2024-06-12"),
        ("meetings in July", "in July", "2023-07-01", "2023-08-01"),
        ("What did I buy on Friday?", "on Friday", "2024-06-07", "2024-06-08"),
        ("What did we decide after June 2023?", None, "2023-07-01", "2024-06-12 15:30"),
        ("What did we decide after 5 June?", None, "2024-06-06", "2024-06-12 15:30"),
        ("What changed in the last 30 days?", None, "2024-05-13", "2024-06-13"),
        ("Where did I live from 2015 to 2018?", None, "2015-01-01", "2019-01-01"),
    ],
)
def test_a_question_that_names_a_time(
    question: str, words: str | None, begins: str, ends: str
) -> None:
    found = window(question)
    assert (shown(found.from_us), shown(found.to_us)) == (begins, ends)
    assert found.words == question[found.start : found.end]
    assert words is None or found.words == words
    assert found.exact


@pytest.mark.parametrize(
    ("question", "begins", "ends"),
    [
        ("What did I do two years ago?", "2022-01-01", "2023-01-01"),
        ("What did I do two weeks ago?", "2024-05-27", "2024-06-03"),
        ("What happened a few days ago?", "2024-06-08", "2024-06-11"),
        ("What did I say 10 minutes ago?", "2024-06-12 15:00", "2024-06-12 16:00"),
        ("What happened a few months ago?", "2024-02-01", "2024-05-01"),
        ("What did I buy over the past month?", "2024-05-01", "2024-06-13"),
        ("What did I do two weeks before 11 August 2023?", "2023-07-24", "2023-07-31"),
        ("What was said at the Sunday mass?", "2024-06-09", "2024-06-10"),
        ("What did I eat last night?", "2024-06-11 20:00", "2024-06-12 06:00"),
        ("What did I say yesterday at 5?", "2024-06-11", "2024-06-12"),
        ("Anything from early 2019?", "2019-01-01", "2019-05-01"),
        ("Trip to Paris 2021", "2021-01-01", "2022-01-01"),
        ("What did I say of room 2019 last week?", "2024-06-03", "2024-06-10"),
        ("What did I pay on 3/4/2024?", "2024-03-04", "2024-03-05"),
    ],
)
def test_what_is_only_likely_is_not_exact(question: str, begins: str, ends: str) -> None:
    found = window(question)
    assert (shown(found.from_us), shown(found.to_us)) == (begins, ends)
    assert not found.exact


@pytest.mark.parametrize(
    "question",
    [
        "When did I move to Rome?",
        "What will happen tomorrow?",
        "What have I planned for next Friday?",
        "May I ask what I said?",
        "How long did it take: two hours?",
        "What do I do every Friday?",
        "When do I get up, at 6 am?",
        "Did we meet in March or in April?",
        "What is my favourite food now?",
        "What did she say the day I moved?",
        "What did she say the week I moved?",
        "Who is coming in 2031?",
        "What was the 27th parameter on the list?",
        "",
    ],
)
def test_a_question_that_names_no_one_past_stretch(question: str) -> None:
    assert window_of(question, NOW, "UTC") is None


def test_a_before_is_open_to_the_past() -> None:
    found = window("What did we decide before 2020?")
    assert shown(found.to_us) == "2020-01-01"
    assert from_us(found.from_us).year == 1
    assert window("What was open until yesterday?").to_us == window("today").from_us


def test_days_are_those_of_the_zone() -> None:
    found = window("What did I do yesterday?", "+05:30")
    assert shown(found.from_us) == "2024-06-10 18:30"
    assert shown(found.to_us) == "2024-06-11 18:30"
    summer = window("What did I do on 10 March 2024?", "America/Los_Angeles")
    assert summer.to_us - summer.from_us == 23 * 3_600_000_000
    with pytest.raises(InvalidInput):
        window_of("What did I do yesterday?", NOW, "Mars/Olympus")


def test_a_day_in_another_language() -> None:
    found = window("Was haben wir gestern gemacht?")
    assert (shown(found.from_us), found.words) == ("2024-06-11", "gestern")


PARTS = st.sampled_from(
    "what happened last before after since until in on the May 5 2019 -1 yesterday ago two years "
    "from to 9999 0001 10000 century night gestern ayer : / \n".split(" ")
)
TEXT = st.lists(PARTS | st.text(max_size=3), max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(TEXT, st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from(["UTC", "+14:00", "-23:59"]))
def test_no_question_and_no_moment_is_too_odd(text: str, now: int, zone: str) -> None:
    found = window_of(text, now, zone)
    if found is not None:
        assert found.from_us < found.to_us
        assert found.from_us <= now
        assert found.words == text[found.start : found.end]
