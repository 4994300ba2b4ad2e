"""Stretches of the calendar under their absolute names: a day, a week, a month, a year.

All reckoning is in local time without a zone. Weeks begin on Monday.
"""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from rewound.eventlog.instants import Precision

Tense = Literal["past", "future"]


class Point(NamedTuple):
    """A named stretch of time [first, past) at text[start:end].

    `preposition` and `name` say it absolutely; `told` means that the text does so already.
    `year_said` is False for `5 May`, whose year was supplied.
    """

    start: int
    end: int
    first: datetime
    past: datetime
    precision: Precision
    preposition: str
    name: str
    told: bool = False
    year_said: bool = True


MONTHS = (
    "january february march april may june july august september october november december".split()
)
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def add_months(moment: datetime, months: int) -> datetime:
    """The same day some months on, or the last day of a shorter month."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1)


def shifted(moment: datetime, count: int, unit: str) -> datetime:
    """`count` units on. Raises ValueError or OverflowError outside years 1 to 9999."""
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}.get(unit)
    if months:
        return add_months(moment, count * months)
    seconds = {"minute": 60, "min": 60, "hour": 3600, "week": 604_800, "fortnight": 1_209_600}
    return moment + timedelta(seconds=count * seconds.get(unit, 86_400))


class Made(NamedTuple):
    """A stretch, before it is known where in the text it stands."""

    first: datetime
    past: datetime
    precision: Precision
    preposition: str
    name: str
    told: bool = False
    year_said: bool = True


def day_made(
    day: datetime, told: bool = False, year_said: bool = True, about: bool = False
) -> Made:
    first = midnight(day)
    past = first + timedelta(days=1)
    word = "around" if about else "on"
    return Made(first, past, Precision.DAY, word, first.strftime("%Y-%m-%d"), told, year_said)


def week_made(day: datetime) -> Made:
    first = midnight(day) - timedelta(days=day.weekday())
    name = f"the week of {first:%Y-%m-%d}"
    return Made(first, first + timedelta(days=7), Precision.DAY, "in", name)


def weekend_made(day: datetime) -> Made:
    first = midnight(day) + timedelta(days=5 - day.weekday())
    name = f"the weekend of {first:%Y-%m-%d}"
    return Made(first, first + timedelta(days=2), Precision.DAY, "on", name)


def month_made(
    day: datetime, told: bool = False, year_said: bool = True, about: bool = False
) -> Made:
    first = midnight(day).replace(day=1)
    name = f"{MONTHS[first.month - 1].capitalize()} {first.year}"
    word = "around" if about else "in"
    past = add_months(first, 1)
    return Made(first, past, Precision.MONTH, word, name, told, year_said)


def year_made(year: int, told: bool = False, about: bool = False, years: int = 1) -> Made:
    first = datetime(year, 1, 1)
    name = f"the {year}s" if years == 10 else str(year)
    past = datetime(year + years, 1, 1)
    return Made(first, past, Precision.YEAR, "around" if about else "in", name, told)


def minute_made(day: datetime, hour: int, minute: int, told: bool = False) -> Made:
    first = midnight(day).replace(hour=hour, minute=minute)
    name = f"{first:%Y-%m-%d at %H:%M}"
    return Made(first, first + timedelta(minutes=1), Precision.MINUTE, "on", name, told)


def quarter_made(year: int, quarter: int) -> Made:
    first = datetime(year, quarter * 3 - 2, 1)
    return Made(first, add_months(first, 3), Precision.MONTH, "in", f"Q{quarter} {year}")


def nearest(now: datetime, month: int, day: int, tense: Tense) -> datetime:
    """The latest such day up to today, or the first from today on; 29 February waits for one."""
    step = -1 if tense == "past" else 1
    for year in range(now.year, now.year + 9 * step, step):
        try:
            candidate = datetime(year, month, day)
        except ValueError:
            continue
        if (candidate <= now) if tense == "past" else (candidate >= midnight(now)):
            return candidate
    raise ValueError("no such day")
