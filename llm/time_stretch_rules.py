"""Rules for stretches of the calendar under their names: weeks, months, quarters, years."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context, in_year, on_date, span_of
from rewound.llm.time_date_rules import year_of
from rewound.llm.time_meanings import (
    Day,
    Month,
    Number,
    Stretch,
)

Found = re.Match[str]


def _month_year(context: Context, month: Month, _: Any, number: Number) -> Stretch | None:
    year = year_of(number)
    if year is None and not number.spelled and not number.rank and 32 <= number.value <= 99:
        year = number.value + (1900 if number.value > 70 else 2000)
    return span_of("month", datetime(year, month.number, 1)) if year else None


def _month_short_year(context: Context, month: Month, found: Found) -> Stretch:
    year = int(found["year"])
    return span_of("month", datetime(year + (1900 if year > 70 else 2000), month.number, 1))


def _year_month(context: Context, number: Number, _: Any, month: Month) -> Stretch | None:
    year = year_of(number)
    return span_of("month", datetime(year, month.number, 1)) if year else None


def _month_figures(context: Context, found: Found) -> Stretch:
    return span_of("month", datetime(int(found["year"]), int(found["m"]), 1))


def _month(context: Context, month: Month) -> Stretch:
    """A month by itself; some are rather a verb."""
    bare = "verb" if month.name in ("may", "march", "mar") else ""
    return Stretch("month", month=month.number, bare="unsure" if month.name == "May" else bare)


def _told(context: Context, _: Any, stretch: Stretch) -> Stretch:
    """In 2016, in may: after such a word it is no number and no verb."""
    return replace(stretch, bare="")


def _told_month(context: Context, _: Any, stretch: Stretch) -> Stretch | None:
    return _told(context, _, stretch) if stretch.grain == "month" else None


def _of_this_year(context: Context, stretch: Stretch, _: Found) -> Stretch | None:
    """The first quarter of the year."""
    return in_year(stretch, context.now.year) if stretch.month else None


def _stretch_year(context: Context, stretch: Stretch, _: Any, number: Number) -> Stretch | None:
    year = year_of(number)
    return in_year(stretch, year) if year and stretch.first is None else None


def _stretch_of_year(context: Context, one: Stretch, _: Any, year: Stretch) -> Stretch | None:
    """The first quarter of 2019, June of last year, the third week of June 2019."""
    if one.first is not None or year.first is None or year.edge or one.edge:
        return None
    if year.grain == "year":
        return in_year(one, year.first.year)
    return None


def _year(context: Context, number: Number) -> Stretch | None:
    year = year_of(number)
    if year is None or (number.spelled and number.value % 1000 == 0):
        return None
    return replace(span_of("year", datetime(year, 1, 1)), bare="unsure")


def _year_after(context: Context, _: Found, number: Number) -> Stretch | None:
    year = year_of(number)
    return span_of("year", datetime(year, 1, 1)) if year else None


def _short_year(context: Context, found: Found) -> Stretch:
    year = int(found["year"])
    year += 0 if year > 99 else 1900 if year > 70 else 2000
    return span_of("year", datetime(year, 1, 1))


def _unresolved_year(context: Context, found: Found) -> Stretch:
    return Stretch("year", vague=True)


def _quarter(context: Context, found: Found) -> Stretch:
    number = int(found["q"])
    return Stretch("quarter", month=number * 3 - 2)


def _half_year(context: Context, found: Found) -> Stretch:
    return Stretch("half", month=int(found["q"]) * 6 - 5)


def _ranked_part(context: Context, number: Number, found: Found) -> Stretch | None:
    size = {"quarter": 3, "half": 6}[found["size"].lower()]
    if not number.rank or number.value > 12 // size:
        return None
    return Stretch(found["size"].lower(), month=(number.value - 1) * size + 1)


def _last_part(context: Context, found: Found) -> Stretch:
    return Stretch(found["size"].lower(), month={"quarter": 10, "half": 7}[found["size"].lower()])


def _decade(context: Context, found: Found) -> Stretch:
    year = int(found["decade"])
    return span_of("decade", datetime(year if year > 99 else 1900 + year, 1, 1))


_DECADES: tuple[str, ...] = (
    "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties",
)  # fmt: skip


def _named_decade(context: Context, found: Found) -> Stretch:
    return span_of("decade", datetime(1920 + 10 * _DECADES.index(found["word"].lower()), 1, 1))


def _century(context: Context, number: Number, _: Found) -> Stretch | None:
    if not number.rank or not 1 < number.value < 99:
        return None
    return span_of("century", datetime((number.value - 1) * 100, 1, 1))


def _week_of_year(
    context: Context, _: Found, number: Number, __: Any, year: Stretch
) -> Stretch | None:
    if number.rank or not 1 <= number.value <= 53 or year.first is None or year.grain != "year":
        return None
    return _iso_week(year.first.year, number.value)


def _ranked_week_of_year(
    context: Context, number: Number, _: Found, year: Stretch
) -> Stretch | None:
    if not number.rank or year.first is None or year.grain != "year" or year.edge:
        return None
    return _iso_week(year.first.year, number.value)


def _iso_week(year: int, number: int) -> Stretch:
    return span_of("week", datetime.fromisocalendar(year, number, 1))


def _week_figures(context: Context, found: Found) -> Stretch:
    return _iso_week(int(found["year"]), int(found["w"]))


def _ranked_month(context: Context, number: Number, _: Found, year: Stretch) -> Stretch | None:
    if not number.rank or number.value > 12 or year.grain != "year" or year.first is None:
        return None
    return span_of("month", year.first.replace(month=number.value)) if not year.edge else None


def _week_number(context: Context, _: Found, number: Number) -> Stretch | None:
    if number.rank or not 1 <= number.value <= 53:
        return None
    return _iso_week(context.now.year, number.value)


def _ranked_week(
    context: Context, number: Number | Found, _: Found, month: Stretch
) -> Stretch | None:
    rank = number.value if isinstance(number, Number) else -1
    if month.grain == "year" and month.first is not None and rank == -1 and not month.edge:
        return span_of("week", datetime(month.first.year, 12, 28))
    if month.grain != "month" or month.edge or rank > 5:
        return None
    if isinstance(number, Number) and not number.rank:
        return None
    if month.month is not None:
        return Stretch(f"week {rank}", month=month.month)
    if month.first is None:
        return None
    return in_year(Stretch(f"week {rank}", month=month.first.month), month.first.year)


def _week_of_day(grain: str) -> Callable[..., Stretch]:
    return lambda context, _, day: span_of(grain, on_date(day, context))


def _weekend_after(context: Context, day: Day, _: Found) -> Stretch | None:
    """Labor day weekend, with the feast itself where it is next to it."""
    if day.feast is None:
        return None
    made = on_date(day, context)
    saturday = made - timedelta(days=(made.weekday() - 5) % 7)
    if made.weekday() < 5 and made.weekday() > 1:
        saturday = span_of("weekend", made).first or made
    past = max(saturday + timedelta(days=2), made + timedelta(days=1))
    return Stretch("weekend", min(saturday, made), past)


def _weekend_of(context: Context, _: Found, day: Day) -> Stretch | None:
    if day.feast:
        return _weekend_after(context, day, _)
    return span_of("weekend", on_date(day, context))


_OF = r"?of the year|in the year|of|in|,|/|-|'"


STRETCH_RULES = (
    Rule((Month,), _month, 0.9),
    Rule((r"in|during|throughout", Stretch), _told),
    Rule(
        (r"(?:in |during |for )?(?:the )?month of", Stretch),
        _told_month,
    ),
    Rule((Number, r"month of|month in", Stretch), _ranked_month),
    Rule(
        (r"of|for|over|within|in the|during the|of the|for the|over the", Stretch),
        lambda context, _, stretch: None if stretch.bare == "verb" else stretch,
    ),
    Rule((Month, _OF, Number), _month_year),
    Rule((Month, r"['’](?P<year>\d\d)(?!\d)"), _month_short_year),
    Rule((Number, r"?,|-|/|\.", Month), _year_month, 0.9),
    Rule(
        (
            r"(?<![\d/.-])(?P<year>(?:1[89]|20|21)\d\d)\s?[-/.]\s?(?P<m>1[0-2]|0?[1-9])(?![\d]"
            r"|[-/.]\d)",
        ),
        _month_figures,
        0.85,
    ),
    Rule(
        (
            r"(?<![\d/.-])(?P<m>1[0-2]|0?[1-9])\s?[-/]\s?(?P<year>(?:1[89]|20|21)\d\d)(?![\d]"
            r"|[-/.]\d)",
        ),
        _month_figures,
        0.85,
    ),
    Rule((Stretch, _OF, Number), _stretch_year),
    Rule((Stretch, _OF, Stretch), _stretch_of_year),
    Rule((Number,), _year, 0.9),
    Rule((r"in|during|throughout", Number), _year_after, 0.95),
    Rule((r"(?:the |in |for |calendar )*year(?: of)?|in the year|cy", Number), _year_after),
    Rule((r"(?:cy|year ['’])(?P<year>\d{4}|\d\d)(?!\d)",), _short_year),
    Rule((r"['’](?P<year>\d\d)(?!\d|['’])",), _short_year, 0.5),
    Rule(
        (
            r"(?:fy|sy)[ '’]?(?:\d{4}|\d\d)(?!\d)|(?:(?:the )?(?:last|this|next|previous"
            r"|current) )?(?:fiscal|school|academic|financial) year(?: \d{4})?",
        ),
        _unresolved_year,
        0.7,
    ),
    Rule((r"q(?P<q>[1-4])",), _quarter),
    Rule((r"h(?P<q>[12])",), _half_year, 0.7),
    Rule(
        (r"quarter", r"(?P<q>[1-4])(?!\d)"), lambda context, _, found: _quarter(context, found), 0.9
    ),
    Rule(
        (Number, r"[- ]?q(?P<q>[1-4])"),
        lambda context, number, found: in_year(_quarter(context, found), year_of(number) or 0),
    ),
    Rule(
        (Number, r"[- ]?h(?P<q>[12])"),
        lambda context, number, found: in_year(_half_year(context, found), year_of(number) or 0),
        0.8,
    ),
    Rule((Number, r"(?P<size>quarter|half)(?! (?:past|hour|an))"), _ranked_part, 0.9),
    Rule((r"(?:the )?last (?P<size>quarter|half)(?= of)",), _last_part, 0.9),
    Rule(
        (Stretch, r"of the year"),
        _of_this_year,
        0.7,
    ),
    Rule((r"(?:the )?['’]?(?P<decade>(?:1[5-9]|20)\d0|[2-9]0)['’]?s",), _decade, 0.85),
    Rule(
        (rf"(?:the )?(?P<word>{'|'.join(_DECADES)})",),
        _named_decade,
        0.75,
    ),
    Rule((Number, r"century"), _century),
    Rule((r"week|wk|week number|the week", Number, r"?of|in|,", Stretch), _week_of_year),
    Rule((r"week|wk|week number|the week", Number), _week_number, 0.7),
    Rule((Number, r"week of|week in", Stretch), _ranked_week_of_year, 0.75),
    Rule((r"(?P<year>\d{4})-?W(?P<w>\d\d)(?!-)",), _week_figures),
    Rule((Number, r"week of|week in", Stretch), _ranked_week),
    Rule((r"(?:the )?(?:last)", r"week of|week in", Stretch), _ranked_week),
    Rule(
        (
            r"(?:the )?week (?:of|commencing|beginning|starting)(?: on)?|w/c"
            r"|(?:the )?week that (?:begins|starts)(?: on)?",
            Day,
        ),
        _week_of_day("week"),
        0.9,
    ),
    Rule(
        (r"(?:the )?weekend of", Day),
        _weekend_of,
    ),
    Rule((Day, r"weekend"), _weekend_after, 0.75),
    Rule((r"the", Stretch), lambda context, _, stretch: stretch),
)
