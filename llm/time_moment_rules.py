"""Rules for days with a time and for parts of days: tomorrow at noon, last night."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_clock_rules import PART, TIMES, clock_of, in_part, part_named
from rewound.llm.time_context import Context
from rewound.llm.time_date_rules import year_of
from rewound.llm.time_meanings import (
    Clock,
    Day,
    DayPart,
    Moment,
    Number,
    Part,
    Stretch,
    day_at,
)

Found = re.Match[str]

_PART_WORD = (
    r"(?P<part>morning|afternoon|evening|night-?time|night|daytime"
    r"|lunch ?time|dinner ?time|breakfast time)(?!s)"
)


def _moment(context: Context, day: Day, _: Any, clock: Clock) -> Moment:
    return Moment(day, clock)


def _moment_from(context: Context, clock: Clock, _: Any, day: Day) -> Moment:
    return Moment(day, clock)


def _moment_year(context: Context, moment: Moment, _: Any, number: Number) -> Moment | None:
    day, year = moment.day, year_of(number)
    if year is None or day.year is not None or day.month is None or day.day is None:
        return None
    return Moment(Day(year, day.month, day.day), moment.clock)


def _part(context: Context, found: Found) -> Part:
    return part_named(found["part"].lower())


def _halved(part: Part, when: str) -> Part:
    middle = (part.first + part.past) // 2
    first, past = (part.first, middle) if when.startswith("early") else (middle, part.past)
    return Part(part.name, first, past)


def _half_part(context: Context, found: Found) -> Part:
    when = "early" if found["when"].lower().startswith("earl") else "late"
    return _halved(part_named(found["part"].lower()), when)


def _half_day_part(context: Context, found: Found, part: DayPart) -> DayPart:
    when = "early" if found[0].lower().startswith("earl") else "late"
    return DayPart(part.day, _halved(part.part, when))


def _meal(context: Context, _: Found, found: Found) -> Part:
    return part_named(found["part"].lower())


def _day_part(shift: int) -> Callable[..., DayPart]:
    def make(context: Context, found: Found) -> DayPart:
        return DayPart(
            day_at(context.now + timedelta(days=shift)), part_named(found["part"].lower())
        )

    return make


def _with_part(context: Context, day: Day, _: Any, part: Part) -> DayPart | None:
    return DayPart(day, part) if part.name in TIMES else None


def _of_day(context: Context, part: Part, _: Any, day: Day) -> DayPart | None:
    return _with_part(context, day, _, part)


def _part_in_week(context: Context, part: DayPart, _: Any, week: Stretch) -> DayPart | None:
    """Wednesday evening next week."""
    weekday = part.day.weekday
    if week.grain != "week" or week.first is None or weekday is None or week.edge:
        return None
    return DayPart(day_at(week.first + timedelta(days=weekday)), part.part)


def _part_moment(context: Context, part: DayPart, _: Any, clock: Clock) -> Moment | None:
    made = in_part(clock, part.part.name)
    return Moment(part.day, made) if made else None


def _moment_part(context: Context, clock: Clock, _: Any, part: DayPart) -> Moment | None:
    made = in_part(clock, part.part.name)
    return Moment(part.day, made) if made else None


def _now(context: Context, _: Found) -> Moment:
    now = context.now
    return Moment(day_at(now), Clock(now.hour, now.minute, now.second))


def _end_of_day(context: Context, *parts: Any) -> Moment:
    days = [part for part in parts if isinstance(part, Day)]
    return Moment(days[0] if days else day_at(context.now), Clock(23, 59, 59))


def _iso(context: Context, found: Found) -> Moment | None:
    clock = clock_of(int(found["h"]), int(found["min"]), int(found["s"] or 0))
    day = Day(int(found["year"]), int(found["m"]), int(found["day"]))
    return Moment(day, Clock(clock.hour, clock.minute, clock.second)) if clock else None


_AT = r"?at about|at around|at|@|around|about|for|on|,|-|:"


MOMENT_RULES = (
    Rule(
        (
            r"(?<!\d)(?P<year>\d{4})-(?P<m>\d\d)-(?P<day>\d\d)"
            r"[T ](?P<h>\d\d):(?P<min>[0-5]\d)(?::(?P<s>[0-5]\d))?(?:\.\d+)?Z?",
        ),
        _iso,
    ),
    Rule((Day, _AT, Clock), _moment),
    Rule((Clock, r"?on|of|,", Day), _moment_from),
    Rule((Moment, r"?,", Number), _moment_year),
    Rule(
        (r"right now|just now|now|at the (?:minute|moment)|at present|asap|as soon as possible",),
        _now,
        0.85,
    ),
    Rule((r"(?:the )?end of (?:the )?day|eod|eod\.",), _end_of_day, 0.85),
    Rule(
        (r"(?:the )?end of (?:the )?day|eod|close of business|cob", r"?on|,", Day),
        _end_of_day,
        0.85,
    ),
    Rule((Day, r"?,", r"eod|end of day|cob"), _end_of_day, 0.85),
    Rule((r"(?:at )?(?:the )?end of(?: the)?|eod", Day), _end_of_day, 0.85),
    Rule((DayPart, _AT, Clock), _part_moment),
    Rule((Clock, r"?on|,", DayPart), _moment_part),
    Rule((rf"(?:in |on |during )?(?:the )?{_PART_WORD}",), _part, 0.75),
    Rule((r"business hours",), lambda context, _: part_named("business hour"), 0.75),
    Rule(
        (rf"(?P<when>early|late|earlier|later) (?:in the |on the |on |in )?{PART}",),
        _half_part,
        0.5,
    ),
    Rule((r"early|late|earlier|later", DayPart), _half_day_part, 0.5),
    Rule(
        (
            r"at|over|during|for|around|the",
            r"(?P<part>breakfast|brunch|lunch|dinner|supper)(?! with)",
        ),
        _meal,
        0.7,
    ),
    Rule((rf"this {PART}",), _day_part(0), 0.75),
    Rule((r"to(?P<part>night)",), _day_part(0), 0.75),
    Rule(
        (r"(?:last|previous|past) (?P<part>night|evening|afternoon|morning)",), _day_part(-1), 0.75
    ),
    Rule((rf"(?:the )?(?:next|following) {PART}",), _day_part(1), 0.7),
    Rule(
        (Day, r"?in the|early|late|at|,|during the|early in the|late in the", Part),
        _with_part,
        0.85,
    ),
    Rule((Day, r"in the|'s", Part), _with_part, 0.85),
    Rule(
        (Day, r"(?P<part>am|pm)"),
        lambda context, day, found: DayPart(day, part_named(found["part"].lower())),
        0.8,
    ),
    Rule((Part, r"?of|on", Day), _of_day, 0.85),
    Rule((DayPart, r"?of|in", Stretch), _part_in_week, 0.85),
)
