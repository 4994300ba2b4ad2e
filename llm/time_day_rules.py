"""Rules for weekdays and for days told from another: next Friday, two weeks ago, the 21st."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context, on_date, span_of
from rewound.llm.time_feasts import weekday_of
from rewound.llm.time_meanings import Clock, Day, Duration, Moment, Number, Stretch, day_at

Found = re.Match[str]
WEEKDAY = (
    r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|mon\b\.?|tues?\b\.?|weds?\b\.?|thurs?\b\.?|thu\b\.?|fri\b\.?|sat\b\.?|sun\b\.?)"
)
NEXT = r"(?P<which>next|coming|upcoming|following|the next|the coming|the following)"

LAST = r"(?P<which>last|past|previous|the last|the past|the previous)"

THIS = r"(?P<which>this|current|the current|this coming|this past)"

OF = r"?of|in|,"
_SHORT = re.compile(r"(?:mon|tues?|weds?|thu|thurs?|fri|sat|sun)\.?", re.I)

_DAY_WORDS = {
    "day before yesterday": -2, "yesterday": -1, "last day": -1, "ystd": -1, "day before": -1,
    "today": 0, "otd": 0, "tonight": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1, "tomorow": 1,
    "day after tomorrow": 2, "day after": 1, "next day": 1, "day": 0, "current day": 0,
    "this day": 0, "that day": 0, "same day": 0, "previous day": -1, "following day": 1,
}  # fmt: skip
_UNSURE_WORDS = (
    r"the day before|the day after|the day|(?:the )?(?:same|next|following|previous|last) day"
    r"|that day|otd"
)


def weekday_of_word(word: str) -> int:
    return ["mo", "tu", "we", "th", "fr", "sa", "su"].index(word[:2].lower())


def _weekday(context: Context, found: Found) -> Day | None:
    if _SHORT.fullmatch(found["weekday"]) and found["weekday"][0].islower():
        return None
    return Day(weekday=weekday_of_word(found["weekday"]))


def _short_weekday(context: Context, _: Found, found: Found) -> Day:
    return Day(weekday=weekday_of_word(found["weekday"]))


def _weekdays_on(step: int) -> Callable[..., Day | None]:
    def make(context: Context, number: Number, found: Found, _: Found) -> Day | None:
        """Two Sundays from now."""
        if number.rank or not 1 <= number.value <= 52:
            return None
        weekday, today = weekday_of_word(found["weekday"]), context.today
        away = (step * (weekday - today.weekday()) - 1) % 7 + 1 + 7 * (number.value - 1)
        return day_at(today + timedelta(days=step * away))

    return make


def _weekday_date(context: Context, found: Found, _: Any, day: Day) -> Day | None:
    """Friday, 5 May: the date counts, and a bare rank must fall on the weekday."""
    if day.weekday is not None:
        return None
    if day.year and day.month and day.day:
        weekday = datetime(day.year, day.month, day.day).weekday()
        return day if weekday == weekday_of_word(found["weekday"]) else None
    if day.month is None and day.year is None and day.feast is None:
        return Day(day=day.day, weekday=weekday_of_word(found["weekday"]))
    return day


def _weekday_rank(context: Context, found: Found, _: Any, number: Number) -> Day | None:
    if not number.rank or not 1 <= number.value <= 31:
        return None
    return Day(day=number.value, weekday=weekday_of_word(found["weekday"]))


def _weekday_number(context: Context, found: Found, number: Number) -> Day | None:
    if number.rank or number.spelled or not 1 <= number.value <= 31:
        return None
    return Day(day=number.value, weekday=weekday_of_word(found["weekday"]))


def _in_week_of(moment: Any, found: Found) -> Day | None:
    """That weekday of the week, from Sunday on, which the day lies in."""
    if not isinstance(moment, Day):
        return None
    day = datetime(moment.year or 1, moment.month or 1, moment.day or 1)
    away = (weekday_of_word(found["weekday"]) + 1) % 7 - (day.weekday() + 1) % 7
    return day_at(day + timedelta(days=away))


def _weekday_away(context: Context, found: Found, duration: Duration, *_: Any) -> Day | None:
    return _in_week_of(moved(context.now, duration, 1), found)


def _weekday_after(
    context: Context, found: Found, duration: Duration, _: Found, day: Day
) -> Day | None:
    return _in_week_of(moved(on_date(day, context), duration, 1), found)


def _rank(context: Context, _: Found, number: Number) -> Day | None:
    """The 21st; in words it is rather a rank."""
    told = number.rank and not number.spelled
    return Day(day=number.value) if told and 1 <= number.value <= 31 else None


def _plain_day(context: Context, _: Found, number: Number) -> Day | None:
    """On the 17."""
    bare = not number.rank and not number.spelled
    return Day(day=number.value) if bare and 1 <= number.value <= 31 else None


def _spelled_rank(context: Context, _: Found, number: Number) -> Day | None:
    return Day(day=number.value) if number.rank and 1 <= number.value <= 31 else None


def _relative_weekday(step: int) -> Callable[..., Day]:
    def make(context: Context, which: Found, found: Found) -> Day:
        weekday, now = weekday_of_word(found["weekday"]), context.today
        word = which["which"].lower().removeprefix("the ")
        if word in ("coming", "upcoming", "this coming"):
            return day_at(now + timedelta(days=(weekday - now.weekday() - 1) % 7 + 1))
        if word in ("past", "this past") or (step < 0 and word == "last"):
            return day_at(now - timedelta(days=(now.weekday() - weekday - 1) % 7 + 1))
        return day_at(context.monday + timedelta(days=7 * step + weekday))

    return make


def _weekday_in_week(context: Context, found: Found, _: Any, week: Stretch) -> Day | None:
    if week.grain not in ("week", "business week") or week.first is None or week.edge:
        return None
    return day_at(week.first + timedelta(days=weekday_of_word(found["weekday"])))


def _week_weekday(context: Context, week: Stretch, _: Any, found: Found) -> Day | None:
    return _weekday_in_week(context, found, None, week)


def _month_then_rank(context: Context, month: Stretch, _: Any, day: Day) -> Day | None:
    """Next month on the 5th."""
    if month.grain != "month" or month.first is None or month.edge:
        return None
    if day.day is None or day.month is not None or day.weekday is not None:
        return None
    return day_at(month.first.replace(day=day.day))


def _ranked_weekday(
    context: Context, rank: Number | Found, found: Found, _: Any, month: Stretch
) -> Day | None:
    """The first Monday of June: also of a year, and of a month without one."""
    number = rank.value if isinstance(rank, Number) else -1
    if not (number == -1 or (isinstance(rank, Number) and rank.rank and number <= 53)):
        return None
    first = month.first
    if month.grain not in ("month", "year") or month.edge:
        return None
    weekday = weekday_of_word(found["weekday"])
    if first is None:
        near = on_date(Day(month=month.month, day=1), context)
        return day_at(weekday_of(near.year, near.month, weekday, number))
    if month.grain == "year":
        start = weekday_of(first.year, 1 if number > 0 else 12, weekday, min(number, 1))
        return day_at(start + timedelta(days=7 * max(number - 1, 0)))
    return day_at(weekday_of(first.year, first.month, weekday, number))


def _ranked_day(context: Context, rank: Number | Found, _: Any, month: Stretch) -> Day | None:
    """The 21st of this month, the last day of June, the first day of next year."""
    number = rank.value if isinstance(rank, Number) else -1
    if isinstance(rank, Number) and not rank.rank:
        return None
    if month.edge or month.grain not in ("month", "year", "week", "quarter", "decade"):
        return None
    if month.first is None or month.past is None:
        if month.month is None or number < 0:
            return None
        datetime(2000, month.month, number)
        return Day(month=month.month, day=number)
    day = (month.past if number < 0 else month.first) + timedelta(days=number - (number > 0))
    return day_at(day) if month.first <= day < month.past else None


def _figure_of(context: Context, rank: Number, month: Stretch) -> Day | None:
    """The 21st this month."""
    return None if rank.spelled else _ranked_day(context, rank, None, month)


def _day_word(context: Context, found: Found) -> Day:
    word = " ".join(found["word"].lower().split())
    for lead in ("the ", "earlier ", "later "):
        word = word.removeprefix(lead)
    return day_at(context.now + timedelta(days=_DAY_WORDS[word]))


def moved(moment: datetime, duration: Duration, times: int) -> Day | Moment | Stretch | None:
    """A day so far from the moment; a moment where hours are counted."""
    if duration.bound or duration.years + duration.months != int(duration.years + duration.months):
        return None
    made = duration.after(moment, times)
    if duration.grain in ("weekend", "quarter"):
        return span_of(duration.grain, moment, int(duration.count) * times)
    if duration.grain in ("second", "minute", "hour"):
        return Moment(day_at(made), Clock(made.hour, made.minute, made.second))
    return day_at(made)


def _ago(context: Context, duration: Duration, *_: Any) -> Day | Moment | Stretch | None:
    return moved(context.now, duration, -1)


def _hence(context: Context, duration: Duration, _: Found) -> Day | Moment | Stretch | None:
    return moved(context.now, duration, 1)


def _in(context: Context, _: Found, duration: Duration, *__: Any) -> Day | Moment | Stretch | None:
    return None if context.past else moved(context.now, duration, 1)


def _shifted(times: int) -> Callable[..., Any]:
    def make(
        context: Context, duration: Duration, _: Found, day: Day
    ) -> Day | Moment | Stretch | None:
        if duration.grain in ("second", "minute", "hour"):
            return None
        return moved(on_date(day, context), duration, times)

    return make


def _beside(context: Context, found: Found, day: Day) -> Day:
    """The day after Christmas."""
    step = -1 if found["eve"] or found["way"].lower() == "before" else 1
    return day_at(on_date(day, context) + timedelta(days=step))


_AGO = r"ago today|ago|back|earlier|before now|prior"
_HENCE = r"from now|hence|later|from today|from this moment|ahead"
DAY_RULES = (
    Rule((Number, rf"{WEEKDAY}s", r"ago|back"), _weekdays_on(-1), 0.8),
    Rule((Number, rf"{WEEKDAY}s", r"from now|from today|later|ahead"), _weekdays_on(1), 0.8),
    Rule(
        (r"the", Day), lambda context, _, day: day if day.month or day.year or day.feast else None
    ),
    Rule((rf"{WEEKDAY}(?!s)",), _weekday, 0.75),
    Rule((rf"on {WEEKDAY}(?!s)",), _weekday),
    Rule((r"on|for", WEEKDAY), _short_weekday, 0.9),
    Rule((WEEKDAY, r"?the", Day), _weekday_date),
    Rule((WEEKDAY, r"?the", Number), _weekday_rank, 0.85),
    Rule((WEEKDAY, Number), _weekday_number, 0.5),
    Rule((WEEKDAY, Duration, _HENCE), _weekday_away, 0.7),
    Rule((WEEKDAY, Duration, r"after|from|following", Day), _weekday_after, 0.7),
    Rule(
        (r"in", Duration, r"on", WEEKDAY),
        lambda context, _, duration, __, found: _weekday_away(context, found, duration),
        0.7,
    ),
    Rule(
        (Duration, _HENCE, r"on", WEEKDAY),
        lambda context, duration, _, __, found: _weekday_away(context, found, duration),
        0.7,
    ),
    Rule((Day, r"\(", WEEKDAY, r"\)"), lambda context, day, *_: day if day.month else None),
    Rule(
        (Day, r"on", WEEKDAY),
        lambda context, day, _, found: day if day.month and not day.complete else None,
        0.7,
    ),
    Rule((r"the", Number), _rank, 0.85),
    Rule((r"the", Number), _spelled_rank, 0.5),
    Rule(
        (r"on the|for the", Number),
        _plain_day,
        0.5,
    ),
    Rule((THIS, WEEKDAY), _relative_weekday(0)),
    Rule((NEXT, WEEKDAY), _relative_weekday(1), 0.85),
    Rule((LAST, WEEKDAY), _relative_weekday(-1)),
    Rule((WEEKDAY, OF, Stretch), _weekday_in_week),
    Rule((Stretch, r"?on|'s|-", WEEKDAY), _week_weekday),
    Rule((Stretch, r"on|,", Day), _month_then_rank),
    Rule((Number, WEEKDAY, OF, Stretch), _ranked_weekday),
    Rule((r"(?:the )?last", WEEKDAY, r"of|in", Stretch), _ranked_weekday),
    Rule((Number, r"day of|day in|of", Stretch), _ranked_day),
    Rule((Number, Stretch), _figure_of),
    Rule((r"(?:the )?last day", r"of|in", Stretch), _ranked_day),
    Rule(
        (
            r"(?P<word>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|ystd"
            r"|today|tomorrow|tmrw|tmr|tomorow)",
        ),
        _day_word,
    ),
    Rule((rf"(?P<word>{_UNSURE_WORDS})",), _day_word, 0.5),
    Rule((Duration, _AGO), _ago),
    Rule((Duration, _HENCE), _hence),
    Rule(
        (r"in|in about|in around", Duration, r"?time|from now|from today|['’]s? time"),
        _in,
        0.95,
    ),
    Rule((Duration, r"before|prior to", Day), _shifted(-1)),
    Rule((Duration, r"after|from|following", Day), _shifted(1)),
    Rule(
        (Duration, r"before|prior to", r"now|today"),
        _ago,
    ),
    Rule(
        (r"(?:the )?day (?P<way>before|after|following)|(?:the )?(?P<eve>eve) of", Day),
        _beside,
        0.85,
    ),
    Rule((r"around|about|circa|on|roughly", Day), lambda context, _, day: day),
)
