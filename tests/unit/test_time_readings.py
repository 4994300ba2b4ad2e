"""The wide reading: every kind of time expression, what it means, and how sure that is."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewound.llm.time_context import Context
from rewound.llm.time_feasts import FEAST, falls_on, named, weekday_of
from rewound.llm.time_numbers import digits, spelled
from rewound.llm.time_readings import SURE, read
from rewound.llm.time_resolving import Reading

NOW = datetime(2016, 11, 7, 16, 12)  # A Monday.


def only(text: str, past: bool = False, now: datetime = NOW) -> Reading:
    found = read(text, Context(now, past))
    assert len(found) == 1, found
    return found[0]


def day(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("4th Jan 2019", "2019-01-04"),
        ("June 5,2019", "2019-06-05"),
        ("May twenty nine", "2017-05-29"),
        ("twenty five January nineteen eighty six", "1986-01-25"),
        ("January first two thousand and thirty two", "2032-01-01"),
        ("Dec31, 1994", "1994-12-31"),
        ("2019/aug/01", "2019-08-01"),
        ("25/12/2018", "2018-12-25"),
        ("5-Jun-18", "2018-06-05"),
        ("20170302", "2017-03-02"),
        ("three weeks from tomorrow", "2016-11-29"),
        ("2 weeks and 2 days ago", "2016-10-22"),
        ("two Sundays from now", "2016-11-20"),
        ("the day after Christmas", "2016-12-26"),
        ("Thanksgiving 2018", "2018-11-22"),
        ("Easter Monday 2019", "2019-04-22"),
        ("the last Friday of May 2018", "2018-05-25"),
        ("the first Monday of next month", "2016-12-05"),
        ("the last day of June 2018", "2018-06-30"),
        ("Tuesday of last week", "2016-11-01"),
        ("friday next week", "2016-11-18"),
        ("the twenty third day of September 2018", "2018-09-23"),
        ("next month on the 5th", "2016-12-05"),
        ("a year ago today", "2015-11-07"),
        ("three business days ago", "2016-11-02"),
    ],
)
def test_dates(text: str, date: str) -> None:
    found = only(text)
    assert (found.kind, found.first, found.start, found.end) == ("date", day(date), 0, len(text))


@pytest.mark.parametrize(
    ("text", "first", "last", "past"),
    [
        ("from June to September 2018", "2018-06-01", "2018-09-01", "2018-10-01"),
        ("between 2007 and 2010", "2007-01-01", "2010-01-01", "2011-01-01"),
        ("between 2007 and the end of 2008", "2007-01-01", "2009-01-01", "2009-01-01"),
        ("from 5/1 to 5/7, 2020", "2020-05-01", "2020-05-07", "2020-05-08"),
        ("3-10 June 2018", "2018-06-03", "2018-06-10", "2018-06-11"),
        ("Nov 18 2014-Dec 19 2015", "2014-11-18", "2015-12-19", "2015-12-20"),
        ("November to February 5th, 2017", "2016-11-01", "2017-02-05", "2017-02-06"),
        ("August 2019", "2019-08-01", "2019-09-01", "2019-09-01"),
        ("the last 3 months", "2016-08-07", "2016-11-07", "2016-11-08"),
        ("the next couple of weeks", "2016-11-08", "2016-11-22", "2016-11-22"),
        ("since 2010", "2010-01-01", None, None),
        ("after June 2016", "2016-07-01", None, None),
        ("before 2015", None, "2015-01-01", "2015-01-01"),
        ("until next week", None, "2016-11-14", "2016-11-21"),
        ("more than 2 weeks ago", None, "2016-10-24", "2016-10-24"),
        ("2017 Q1", "2017-01-01", "2017-04-01", "2017-04-01"),
        ("the second half of 2019", "2019-07-01", "2020-01-01", "2020-01-01"),
        ("the third week of next month", "2016-12-12", "2016-12-19", "2016-12-19"),
        ("week 3 of 2027", "2027-01-18", "2027-01-25", "2027-01-25"),
        ("the week commencing February 4", "2017-01-30", "2017-02-06", "2017-02-06"),
        ("the week after next", "2016-11-21", "2016-11-28", "2016-11-28"),
        ("the 1990s", "1990-01-01", "2000-01-01", "2000-01-01"),
        ("the 15th century", "1400-01-01", "1500-01-01", "1500-01-01"),
        ("labor day 2021 weekend", "2021-09-04", "2021-09-07", "2021-09-07"),
        ("three days starting tomorrow", "2016-11-08", "2016-11-11", "2016-11-11"),
        ("year to date", "2016-01-01", "2016-11-07", "2016-11-08"),
        ("the rest of this month", "2016-11-07", "2016-11-30", "2016-12-01"),
        ("two quarters ago", "2016-04-01", "2016-07-01", "2016-07-01"),
        ("early this year", "2016-01-01", "2016-07-01", "2016-07-01"),
    ],
)
def test_date_ranges(text: str, first: str | None, last: str | None, past: str | None) -> None:
    found = only(text)
    assert found.kind == "daterange"
    wanted = tuple(day(one) if one else None for one in (first, last, past))
    assert (found.first, found.last, found.past) == wanted
    assert found.end == len(text)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("5:30pm", "17:30"),
        ("12 am", "00:00"),
        ("3 p . m .", "15:00"),
        ("half past five in the morning", "05:30"),
        ("20 min past eight in the evening", "20:20"),
        ("a quarter to three", "02:45"),
        ("five thirty pm", "17:30"),
        ("in the afternoon at 7", "19:00"),
        ("noon", "12:00"),
        ("15h30", "15:30"),
    ],
)
def test_times(text: str, time: str) -> None:
    found = only(text)
    assert found.kind == "time"
    assert found.first is not None
    assert f"{found.first:%H:%M}" == time


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("today at 8.30pm", "2016-11-07T20:30", "2016-11-07T20:30"),
        ("noon on June 5", "2017-06-05T12:00", "2017-06-05T12:00"),
        ("in half an hour", "2016-11-07T16:42", "2016-11-07T16:42"),
        ("tomorrow 3-5pm", "2016-11-08T15:00", "2016-11-08T17:00"),
        ("next evening from 7 to 9", "2016-11-08T19:00", "2016-11-08T21:00"),
        ("from 10:30 to 3 on 1/1/2015", "2015-01-01T10:30", "2015-01-01T15:00"),
        ("14th Feb for 7 hours from 9:30am", "2017-02-14T09:30", "2017-02-14T16:30"),
        ("tomorrow afternoon", "2016-11-08T12:00", "2016-11-08T16:00"),
        ("Wednesday evening next week", "2016-11-16T16:00", "2016-11-16T20:00"),
        ("the last 24 hours", "2016-11-06T16:12", "2016-11-07T16:12"),
        ("Wed Oct 26 15:50:06 2016", "2016-10-26T15:50:06", "2016-10-26T15:50:06"),
    ],
)
def test_days_with_a_time(text: str, first: str, last: str) -> None:
    found = only(text)
    assert found.kind in ("datetime", "datetimerange")
    end = found.last if found.kind == "datetimerange" else found.first
    assert (found.first, end) == (day(first), day(last))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2.5 hours", 9000),
        ("two and a half years", 78_840_000),
        ("3 years, 2 months and 5 days", 100_224_000),
        ("half an hour", 1800),
        ("90 min", 5400),
        ("two nights", 172_800),
        ("an hour and a half", 5400),
        ("less than 2 hours", 7200),
        ("three weekends", 518_400),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    found = only(text)
    assert (found.kind, found.seconds) == ("duration", seconds)


@pytest.mark.parametrize(
    "text",
    [
        "every other Friday",
        "each Monday at 4pm",
        "on weekends",
        "twice a week",
        "every last Friday of the month",
        "weekly",
        "Friday mornings",
        "every 30 minutes",
    ],
)
def test_what_recurs_is_known_as_such(text: str) -> None:
    assert only(text).kind == "set"


@pytest.mark.parametrize(
    "text",
    [
        "You may not!",
        "I march on",
        "May I ask why?",
        "schedule me a 1:1 meeting",
        "I've kept it up-to-date.",
        "One may ask a question",
        "Maybe we can leave",
        "It costs $ 12 or €5",
        "Labs: 30/4.85",
    ],
)
def test_other_words_and_numbers_are_no_time(text: str) -> None:
    assert read(text, Context(NOW, False)) == []


@pytest.mark.parametrize(
    "text",
    [
        "3/4/2018",  # Of March, or the third of April?
        "at 5",
        "Room 2019 is free",
        "mid June",
        "last summer",
        "the first of Monday",
        "a few days ago",
        "Monday to Friday next week",
    ],
)
def test_what_may_be_something_else_is_not_sure(text: str) -> None:
    found = read(text, Context(NOW, False))
    assert found
    assert all(reading.confidence < SURE for reading in found)


def test_a_day_that_is_not_in_the_calendar_is_seen_and_not_resolved() -> None:
    found = only("feb 30 2019")
    assert (found.kind, found.first) == ("date", None)
    assert found.confidence < SURE


def test_the_order_of_day_and_month_is_the_contexts() -> None:
    (found,) = read("3/4/2018", Context(NOW, False, day_first=True))
    assert found.first == day("2018-04-03")


def test_a_text_that_looks_back_means_the_latest_such_day() -> None:
    assert only("on Friday", past=True).first == day("2016-11-04")
    assert only("on Friday").first == day("2016-11-11")
    assert only("in December", past=True).first == day("2015-12-01")
    assert only("in December").first == day("2016-12-01")


def test_a_leap_day_waits_for_a_leap_year() -> None:
    assert only("29 February", past=True, now=day("2019-03-22")).first == day("2016-02-29")
    assert only("29 February", now=day("2019-03-22")).first == day("2020-02-29")


def test_numbers_are_read_in_words_and_figures() -> None:
    assert (0, 12, 23, True) in set(spelled("twenty-third"))
    assert (0, 19, 1996, False) in set(spelled("nineteen ninety six"))
    assert (0, 24, 2015, False) in set(spelled("two thousand and fifteen"))
    assert list(digits("5th of 1,200 in $40")) == [(0, 3, 5, True), (9, 12, 200, False)]


def test_feasts_move_as_they_do() -> None:
    easter = named("Easter")
    dates = [falls_on(easter, year) for year in (1961, 2000, 2008, 2019, 2038)]
    assert [f"{date:%m-%d}" for date in dates] == ["04-02", "04-23", "03-23", "04-21", "04-25"]
    assert falls_on(named("labor day"), 2021) == day("2021-09-06")
    assert falls_on(named("cyber monday"), 2016) == day("2016-11-28")
    assert "easter" in FEAST
    with pytest.raises(ValueError, match="weekday"):
        weekday_of(2016, 11, 0, 5)


PARTS = st.sampled_from(
    "last next the first week of May 5 2019 from to until since in on at 4 pm : / - . 31 February "
    "99999 two half past Monday every other quarter ago end 12:30 9999 0 century ’s \n".split(" ")
)
TEXT = st.lists(PARTS | st.text(max_size=3), max_size=16).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(TEXT, st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), st.booleans())
def test_no_text_is_too_odd(text: str, now: datetime, past: bool) -> None:
    last = 0
    for reading in read(text, Context(now, past)):
        assert last <= reading.start < reading.end <= len(text)
        last = reading.end
        assert 0 < reading.confidence <= 1
        if reading.first and reading.last:
            assert reading.first <= reading.last


def test_a_text_full_of_times_ends() -> None:
    assert isinstance(read("monday the 5th of may at 5 to 6 " * 60, Context(NOW, True)), list)
