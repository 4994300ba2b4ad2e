"""Rules for dates by day, month and year, in words and figures, and for feasts."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context, on_date
from rewound.llm.time_day_rules import LAST, NEXT, THIS, WEEKDAY
from rewound.llm.time_feasts import FEAST, named
from rewound.llm.time_meanings import Day, Month, Number, Stretch, day_at

Found = re.Match[str]
_CENTURY_TURNS = 40
"""A year in two figures is of the last century from here on."""


def _month_day(month: Month, number: Number) -> Day | None:
    if not 1 <= number.value <= 31:
        return None
    if number.spelled and not number.rank and month.name in ("may", "march", "mar"):
        return None  # One may ask.
    return Day(month=month.number, day=number.value)


def _with_year(day: Day, year: int) -> Day | None:
    if day.year is not None or (day.month is None and day.feast is None):
        return None
    if day.feast is None and day.month and day.day:
        return Day(year, day.month, day.day)
    return Day(year, feast=day.feast)


def year_of(number: Number) -> int | None:
    return number.value if 1400 <= number.value <= 2200 and not number.rank else None


def _date(month: Month, day: Number, year: Number) -> Day | None:
    made, full = _month_day(month, day), year_of(year)
    return _with_year(made, full) if made and full else None


def _full_year(year: int) -> int:
    """The year that two figures mean."""
    return year + (1900 if year >= _CENTURY_TURNS else 2000)


def _apostrophe_year(context: Context, day: Day, found: Found) -> Day | None:
    return _with_year(day, _full_year(int(found["year"])))


def _two_figures(
    context: Context, day: Number, _: Found, month: Month, __: Found, found: Found
) -> Day | None:
    made = _month_day(month, day)
    return _with_year(made, _full_year(int(found["year"]))) if made else None


def _month_then_day(context: Context, month: Month, _: Any, day: Number, *__: Any) -> Day | None:
    return _month_day(month, day)


def _day_then_month(context: Context, day: Number, _: Any, month: Month) -> Day | None:
    return _month_day(month, day)


def _day_year(context: Context, day: Day, _: Any, number: Number) -> Day | None:
    year = year_of(number)
    return _with_year(day, year) if year else None


def _whole_date(context: Context, found: Found) -> Day | None:
    """A date in figures. 3/4 is read as the context says, 25/12 as it must be."""
    groups = found.groupdict()
    year = groups.get("year")
    if groups.get("m"):
        month, day = int(groups["m"] or 0), int(groups["day"] or 0)
    else:
        one, two = int(groups["one"] or 0), int(groups["two"] or 0)
        month, day = (two, one) if one > 12 or (context.day_first and two <= 12) else (one, two)
    datetime(2000, month, day)
    if year is None:
        return Day(month=month, day=day)
    full = int(year)
    if len(year) == 2:
        full = _full_year(full)
    datetime(full, month, day)
    return Day(full, month, day)


def _whole_date_after(context: Context, _: Found, found: Found) -> Day | None:
    return _whole_date(context, found)


def _either_way(context: Context, found: Found) -> Day | None:
    """Figures that may be read as day and month or as month and day."""
    one, two = int(found["one"]), int(found["two"])
    return _whole_date(context, found) if one <= 12 and two <= 12 and one != two else None


def _one_way(context: Context, found: Found) -> Day | None:
    return None if _either_way(context, found) else _whole_date(context, found)


def _short_year(context: Context, day: Number, month: Month, year: Number) -> Day | None:
    """1 Jan 16."""
    if year.rank or year.spelled or not 0 <= year.value <= 99:
        return None
    made = _month_day(month, day)
    return _with_year(made, _full_year(year.value)) if made else None


def _ahead(context: Context, _: Found, day: Day) -> Day | None:
    """Next 5/12: the one still to come."""
    if day.month is None or day.year is not None:
        return None
    return day_at(on_date(day, context._replace(past=False), context.today + timedelta(days=1)))


def _feast(context: Context, found: Found) -> Day:
    return Day(feast=named(found["feast"]))


def _feast_near(step: int) -> Callable[..., Day]:
    def make(context: Context, _: Found, found: Found) -> Day:
        feast = Day(feast=named(found["feast"]))
        if step == 0:
            return Day(context.now.year, feast=feast.feast)
        looking = context._replace(past=step < 0)
        since = context.today + timedelta(days=1) if step > 0 else None
        return day_at(on_date(feast, looking, since))

    return make


def _feast_in(context: Context, day: Day, _: Any, year: Stretch) -> Day | None:
    if year.grain != "year" or year.first is None or year.edge:
        return None
    return _with_year(day, year.first.year)


_SEP = r"\s?[-/.]\s?"

_FEAST = rf"(?P<feast>{FEAST})"

DATE_RULES = (
    Rule(
        (
            r"(?<!\d)(?<!\d[-/.])(?P<year>\d{4})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<day>3[01]"
            r"|[0-2]?\d)(?![\d])",
        ),
        _whole_date,
    ),
    Rule(
        (
            r"(?<!\d)(?P<year>(?:19|20)\d\d) (?P<m>1[0-2]|0?[1-9]) (?P<day>3[01]"
            r"|[0-2]?\d)(?![\d:/])",
        ),
        _whole_date,
        0.85,
    ),
    Rule(
        (r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<m>1[0-2]|0[1-9])(?P<day>3[01]|[0-2]\d)(?!\d)",),
        _whole_date,
        0.85,
    ),
    Rule(
        (
            r"(?<![\d/.])(?P<one>[0-3]?\d)(?P<sep>[/.-])(?P<two>[0-3]?\d)(?P=sep)(?P<year>\d{4}"
            r"|\d\d)(?![\d/]|\.\d)",
        ),
        _one_way,
    ),
    Rule(
        (
            r"(?<![\d/.])(?P<one>[0-3]?\d)(?P<sep>[/.-])(?P<two>[0-3]?\d)(?P=sep)(?P<year>\d{4}"
            r"|\d\d)(?![\d/]|\.\d)",
        ),
        _either_way,
        0.6,
    ),
    Rule((r"(?<![\d/.])(?P<one>[0-3]?\d)/(?P<two>[0-3]?\d)(?![\d/]|\.\d)",), _one_way, 0.75),
    Rule((r"(?<![\d/.])(?P<one>[0-3]?\d)/(?P<two>[0-3]?\d)(?![\d/]|\.\d)",), _either_way, 0.5),
    Rule(
        (
            r"on|by|from|since|until|till|before|after|to",
            r"(?<![\d.-])(?P<one>1?\d)[.-](?P<two>[0-3]?\d)(?![\d.:-]|\s?[ap]\.?m)",
        ),
        _whole_date_after,
        0.5,
    ),
    Rule((r"(?<![\d/.-])(?P<one>[0-3]?\d)-(?P<two>[0-3]?\d)(?![\d-])",), _one_way, 0.5),
    Rule((Number, Month, Number), _short_year, 0.7),
    Rule(
        (Day, r"['’](?P<year>\d\d)(?!\d)"),
        _apostrophe_year,
        0.9,
    ),
    Rule(
        (Month, r"?the|[-/]", Number),
        _month_then_day,
    ),
    Rule(
        (Month, r"?[-/]", Number, r"\(", WEEKDAY, r"\)"),
        _month_then_day,
    ),
    Rule(
        (Number, r"?day of|of|[-/]|of the month of", Month),
        _day_then_month,
    ),
    Rule(
        (Number, r"[-/]", Month, r"[-/]", r"(?<!\d)(?P<year>\d\d)(?!\d)"),
        _two_figures,
        0.9,
    ),
    Rule(
        (Number, r"?[-/]", Month, r"?[-/]", Number),
        lambda context, year, _, month, __, day: _date(month, day, year),
    ),
    Rule(
        (Number, r"[-/]", Number, r"[-/]", Month),
        lambda context, year, _, day, __, month: _date(month, day, year),
    ),
    Rule(
        (r"this", Day),
        lambda context, _, day: _with_year(day, context.now.year) if day.month else None,
        0.8,
    ),
    Rule(
        (Month, r"[-/]", Number, r"[-/]", Number),
        lambda context, month, _, year, __, day: _date(month, day, year),
    ),
    Rule(
        (Day, r"?of|in|[-/]|the year|of the year|in the year", Number),
        _day_year,
    ),
    Rule((Day, r"?in|of|,", Stretch), _feast_in),
    Rule((r"next|the next|this coming|coming", Day), _ahead, 0.8),
    Rule((_FEAST,), _feast),
    Rule((NEXT, _FEAST), _feast_near(1)),
    Rule((LAST, _FEAST), _feast_near(-1)),
    Rule((THIS, _FEAST), _feast_near(0)),
)
