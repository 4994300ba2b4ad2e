"""Time expressions: what is found, how it is said absolutely, and when it begins and ends."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import Instant, Precision, parse_instant, to_us
from rewound.llm.time_expressions import find, last_day, place
from rewound.llm.time_ranges import TimeExpression

# A Monday evening; in UTC it is Tuesday already.
AT = to_us(datetime.fromisoformat("2026-03-02T23:30:00-08:00").astimezone(UTC))


def only(text: str, zone: str = "-08:00") -> TimeExpression:
    found = find(text, AT, zone)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "wording", "begins"),
    [
        ("I planted it yesterday", "on 2026-03-01", "2026-03-01"),
        ("I planted it the day before yesterday", "on 2026-02-28", "2026-02-28"),
        ("I'm off today", "on 2026-03-02", "2026-03-02"),
        ("I fly tomorrow", "on 2026-03-03", "2026-03-03"),
        ("I slept badly last night", "on 2026-03-01 at night", "2026-03-01"),
        ("I sold it last week", "in the week of 2026-02-23", "2026-02-23"),
        ("I rest next week", "in the week of 2026-03-09", "2026-03-09"),
        ("I met her last weekend", "on the weekend of 2026-02-28", "2026-02-28"),
        ("I moved last month", "in February 2026", "2026-02"),
        ("I moved last year", "in 2025", "2025"),
        ("I moved last summer", "in the summer of 2025", "2025"),
        ("I moved three days ago", "on 2026-02-27", "2026-02-27"),
        ("I moved two weeks ago", "around 2026-02-16", "2026-02-16"),
        ("I moved 3 months ago", "around December 2025", "2025-12"),
        ("I moved a couple of years ago", "around 2024", "2024"),
        ("I moved ten years ago", "in 2016", "2016"),
        ("I move in 3 days", "on 2026-03-05", "2026-03-05"),
        ("I ran last Friday", "on 2026-02-27", "2026-02-27"),
        ("I ran on Friday", "on 2026-02-27", "2026-02-27"),
        ("I will run on Friday", "on 2026-03-06", "2026-03-06"),
        ("I will run next Friday", "on 2026-03-13", "2026-03-13"),
        ("I will run this Friday", "on 2026-03-06", "2026-03-06"),
        ("I arrived on 5 May", "on 2025-05-05", "2025-05-05"),
        ("I will arrive on May 5th", "on 2026-05-05", "2026-05-05"),
        ("I arrived on the 18th", "on 2026-02-18", "2026-02-18"),
        ("I arrived on the second of August", "on 2025-08-02", "2025-08-02"),
        ("I arrived in June", "in June 2025", "2025-06"),
        ("I arrived in mid-June", "June 2025", "2025-06"),
        ("I slipped last Christmas", "on 2025-12-25", "2025-12-25"),
        ("I moved to Rome in January", "in January 2026", "2026-01"),
        ("The demo moved to Friday", "2026-03-06", "2026-03-06"),
        ("The demo was moved to Friday", "2026-03-06", "2026-03-06"),
        ("I moved to 5 Elm Road in January", "in January 2026", "2026-01"),
        ("We pushed the whole release to June", "June 2026", "2026-06"),
        ("My birthday is next Saturday", "on 2026-03-14", "2026-03-14"),
        ("I have lived here since about 2020", None, "2020"),
        ("I paid on 25/12/2024", "on 2024-12-25", "2024-12-25"),
        ("I paid two weeks before 15 May 2024", "on 2024-05-01", "2024-05-01"),
        ("I signed it on 5 May 2024", None, "2024-05-05"),
        ("I signed it on May 5th, 2024", None, "2024-05-05"),
        ("I signed it in May 2024", None, "2024-05"),
        ("I signed it in 2019", None, "2019"),
        ("I signed it on 2024-05-05", None, "2024-05-05"),
        ("昨天我买了车", "2026-03-01", "2026-03-01"),
        ("2024年5月3日に買った", None, "2024-05-03"),
    ],
)
def test_a_point_is_said_absolutely(text: str, wording: str | None, begins: str) -> None:
    found = only(text)
    assert found.wording == wording
    assert str(found.valid_from) == begins
    assert found.valid_to is None


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("The demo is on Friday at 4 pm", "2026-03-06T16:00-08:00"),
        ("The demo is at 4:30 pm on Friday", "2026-03-06T16:30-08:00"),
        ("The demo is tomorrow at noon", "2026-03-03T12:00-08:00"),
        ("The demo was on 2026-03-01 at 09:15", "2026-03-01T09:15-08:00"),
        ("We left 2 hours ago", "2026-03-02T21:30-08:00"),
    ],
)
def test_a_time_of_day_beside_a_day_makes_a_minute(text: str, begins: str) -> None:
    assert str(only(text).valid_from) == begins


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("I worked there from 2015 to 2019", "2015", "2019"),
        ("I worked there 2015-2019", "2015", "2019"),
        ("I worked there between 2015 and 2019", "2015", "2019"),
        ("I was away from 5 to 8 February", "2026-02-05", "2026-02-09"),
        ("I was away from May to July 2020", "2020-05", "2020-07"),
        ("I was away from last Monday to yesterday", "2026-02-23", "2026-03-02"),
        ("I have lived here since 2020", "2020", None),
        ("I have lived here since last March", "2025-03", None),
        ("I have lived here for three years", "2023", None),
        ("I lived there until 2020", None, "2020"),
        ("I will be away until Friday", None, "2026-03-07"),
    ],
)
def test_a_range_has_what_ends_were_said(text: str, begins: str | None, ends: str | None) -> None:
    found = only(text)
    assert (str(found.valid_from) if found.valid_from else None) == begins
    assert (str(found.valid_to) if found.valid_to else None) == ends


@pytest.mark.parametrize(
    "text",
    [
        "I swim every Friday",
        "I ride on Sundays",
        "I get up at 6 am",
        "I slept for three hours",
        "My birthday is on 5 May",
        "I paid on 03/04/2024",
        "I met him on 31 February",
        "I may march on",
        "We sat there and saw the sun",
        "Room 2019 is free",
        "My office is on the 3rd floor",
        "My anniversary is on Halloween",
        "Whatever comes, may the second one win",
        "99999999 years ago there was life",
    ],
)
def test_what_recurs_or_could_be_anything_is_left_alone(text: str) -> None:
    assert find(text, AT, "-08:00") == []


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("I fly on 12 June and return on the 21st", ["2026-06-12", "2026-06-21"]),
        ("I fly on 12 June and return on the 3rd", ["2026-06-12", "2026-07-03"]),
        ("I fly next month, on the 14th", ["2026-04", "2026-04-14"]),
        ("I fly next week, on the 12th", ["2026-03-09", "2026-03-12"]),
        ("I came on 3 January and left on the 9th", ["2026-01-03", "2026-01-09"]),
        ("I fly on the 21st and return on the 3rd", ["2026-03-21", "2026-04-03"]),
        ("I came on 1 March and left on the 9th", ["2026-03-01"]),
        ("I fly on 12 January and return on the 31st", ["2027-01-12", "2027-01-31"]),
    ],
)
def test_a_bare_day_follows_the_one_named_before_unless_the_tense_denies_it(
    text: str, days: list[str]
) -> None:
    assert [str(found.valid_from) for found in find(text, AT, "-08:00")] == days


def test_a_bare_day_may_follow_one_of_another_clause() -> None:
    june = find("I fly on 12 June", AT, "-08:00")
    (back,) = find("I return on the 21st", AT, "-08:00", after=last_day(june))
    assert str(back.valid_from) == "2026-06-21"
    assert last_day(find("I moved in 2020", AT, "-08:00")) is None


def test_a_day_is_the_speakers_own() -> None:
    here, there = only("I left yesterday"), only("I left yesterday", "UTC")
    assert str(here.valid_from) == "2026-03-01"
    assert str(there.valid_from) == "2026-03-02"
    assert here.valid_from == Instant(
        parse_instant("2026-03-01T00:00:00-08:00").at, Precision.DAY, -480
    )


def test_a_zone_by_name_has_the_offset_of_that_day() -> None:
    summer = find("I left on 1 July 2025", AT, "America/Los_Angeles")[0].valid_from
    winter = find("I left on 1 January 2025", AT, "America/Los_Angeles")[0].valid_from
    assert summer is not None and summer.offset == -420
    assert winter is not None and winter.offset == -480


def test_a_zone_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput):
        find("I left yesterday", AT, "Mars/Olympus")
    assert place("+05:30").utcoffset(None) is not None


@pytest.mark.parametrize(
    "text", ["gestern war ich in Berlin", "ayer fui al cine", "вчера я был там"]
)
def test_day_words_of_other_languages(text: str) -> None:
    assert str(only(text).valid_from) == "2026-03-01"


def test_a_date_of_another_language() -> None:
    assert str(only("Am 3. Mai 2024 war ich dort").valid_from) == "2024-05-03"


def test_dateparser_is_loaded_only_for_a_text_that_may_need_it() -> None:
    program = """
import sys
from rewound.llm.time_expressions import find
assert find("I sold the van last week, on 5 May and two days ago", 0)
assert "dateparser" not in sys.modules
assert find("gestern war ich in Berlin", 0)
assert "dateparser" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


PARTS = st.sampled_from(
    "yesterday last next Friday May 5 2019 -3 ago from to until since in on at 4 pm : / . weeks 31 "
    "February 99999 the of and 2024-13-45 gestern years 年 月 日 昨天 ' \n".split(" ")
)
TEXT = st.lists(PARTS | st.text(max_size=3), max_size=20).map(" ".join)


@given(TEXT, st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from(["UTC", "+14:00", "-23:59"]))
def test_no_text_and_no_moment_is_too_odd(text: str, at: int, zone: str) -> None:
    last = 0
    for expression in find(text, at, zone):
        assert last <= expression.start < expression.end <= len(text)
        last = expression.end
        begins, ends = expression.valid_from, expression.valid_to
        assert not (begins and ends) or begins.at < ends.at
