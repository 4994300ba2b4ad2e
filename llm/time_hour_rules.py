"""Rules for hours from one time of day to another: 9 to 10 am, from 2 pm for two hours."""

import re
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_clock_rules import (
    DOT,
    IN_PART,
    clock_found,
    clock_of,
    in_half,
    in_part,
    two_numbers,
)
from rewound.llm.time_context import Context
from rewound.llm.time_meanings import (
    Clock,
    Day,
    DayPart,
    Duration,
    Hours,
    Moment,
    Number,
    Span,
    day_at,
)

Found = re.Match[str]


def _hours(context: Context, *parts: Any) -> Hours | None:
    """From one clock to another; a bare hour takes the half of the day that the other has."""
    ends = [part for part in parts if isinstance(part, Number | Clock)]
    clocks = [clock_of(end.value) if isinstance(end, Number) else end for end in ends]
    if any(isinstance(end, Number) and end.rank for end in ends) or len(clocks) != 2:
        return None
    return hours_between(clocks[0], clocks[1], any(isinstance(end, Clock) for end in ends))


def hours_between(one: Clock | None, two: Clock | None, told: bool = True) -> Hours | None:
    if one is None or two is None:
        return None
    if one.open and not two.open:
        early, late = in_half(one, "a"), in_half(one, "p")
        fits = late is not None and _minute(late) < _minute(two)
        one = late if fits else early
    elif two.open and not one.open:
        early, late = in_half(two, "a"), in_half(two, "p")
        fits = early is not None and _minute(early) > _minute(one)
        two = early if fits else late
    elif one.open and two.open:
        before_noon = _minute(two) % 720 <= _minute(one) % 720
        if before_noon:
            one, two = in_half(one, "a"), in_half(two, "p")
        elif one.hour == 12:
            one, two = in_half(one, "p"), in_half(two, "p")
    if one is None or two is None:
        return None
    return Hours(one, two, told)


def _minute(clock: Clock) -> int:
    return clock.hour * 60 + clock.minute


def _four_numbers(
    context: Context, _: Any, a: Number, b: Number, __: Any, c: Number, d: Number
) -> Hours | None:
    return hours_between(two_numbers(a, b), two_numbers(c, d))


def _figures(context: Context, _: Any, found: Found) -> Hours | None:
    one = clock_of(int(found["h"]), int(found["m"]))
    two = clock_of(int(found["h2"]), int(found["m2"]))
    return hours_between(one, two)


def _to_clock(context: Context, *parts: Any) -> Span | None:
    """From 2:00 tomorrow to 4:00."""
    begin = next(part for part in parts if isinstance(part, Moment))
    end = next(part for part in parts if isinstance(part, Clock))
    hours = hours_between(begin.clock, end)
    return Span(hours.begin, hours.end, day=begin.day) if hours else None


def _half_of(hours: Hours, part: str) -> Hours:
    begin, end = in_part(hours.begin, part), in_part(hours.end, part)
    if begin is None or end is None:
        return hours
    if _minute(end) <= _minute(begin) and hours.end.open:
        end = Clock((end.hour + 12) % 24, end.minute, end.second)
    return Hours(begin, end, True)


def _hours_part(context: Context, hours: Hours, found: Found) -> Hours:
    return _half_of(hours, found["part"].lower())


def _day_hours(context: Context, *parts: Any) -> Span | None:
    """Hours of a day, or of a part of one."""
    hours = next(part for part in parts if isinstance(part, Hours))
    day = next(part for part in parts if isinstance(part, Day | DayPart))
    if isinstance(day, DayPart):
        hours, day = _half_of(hours, day.part.name), day.day
    return Span(hours.begin, hours.end, day=day)


def _for(context: Context, *parts: Any) -> Span | None:
    """From 2 pm for two hours: of a clock or of a moment."""
    begin = next(part for part in parts if isinstance(part, Clock | Moment))
    duration = next(part for part in parts if isinstance(part, Duration))
    if duration.grain not in ("minute", "hour") or duration.bound or duration.total >= 86_400:
        return None
    clock = begin.clock if isinstance(begin, Moment) else begin
    end = clock.hour * 60 + clock.minute + duration.total // 60
    if end >= 1440:
        return None
    last = Clock(end // 60, end % 60, clock.second, clock.open)
    day = begin.day if isinstance(begin, Moment) else None
    return Span(clock, last, day=day)


def _for_hour(
    context: Context, _: Found, number: Number, __: Found, duration: Duration
) -> Span | None:
    clock = None if number.rank else clock_of(number.value)
    return _for(context, clock, duration) if clock else None


def _for_from(
    context: Context, day: Day, _: Any, duration: Duration, __: Any, clock: Clock
) -> Span | None:
    return _for(context, Moment(day, clock), duration)


_DASH = r"to|-|–|—|~|until|till|through|thru|up to|and"


_FROM = r"from|between|starting at|starting from|start from"


HOUR_RULES = (
    Rule((_FROM, (Number, Clock), _DASH, (Number, Clock)), _hours),
    Rule(((Number, Clock), r"to|-|–|—|~|until|till|through|thru", (Number, Clock)), _hours),
    Rule((_FROM, Number, Number, _DASH, Number, Number), _four_numbers),
    Rule(
        (
            _FROM,
            r"(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)\s?(?:-|–|to|and|until)\s?(?P<h2>[01]\d"
            r"|2[0-3])(?P<m2>[0-5]\d)(?!\d)",
        ),
        _figures,
        0.6,
    ),
    Rule(
        (_FROM, rf"{DOT}[.](?P<m>[0-5]\d)", _DASH, Clock),
        lambda context, word, found, _, clock: hours_between(clock_found(context, found), clock),
    ),
    Rule(
        (r"from", Number, r"for", Duration),
        _for_hour,
        0.6,
    ),
    Rule((r"from|between", Moment, _DASH, Clock), _to_clock),
    Rule((Moment, r"to|-|–|—|~|until|till", Clock), _to_clock),
    Rule(
        (r"from", Clock, r"to|until|till", Moment),
        lambda context, _, clock, __, end: Span(Moment(day_at(context.now), clock), end),
        0.7,
    ),
    Rule((Hours, IN_PART), _hours_part),
    Rule((Day, r"?from|,|at|between|:", Hours), _day_hours),
    Rule((DayPart, r"?from|,|at|between", Hours), _day_hours),
    Rule((Hours, r"?on|,|of", (Day, DayPart)), _day_hours),
    Rule(((Clock, Moment), r"?,", r"for", Duration), _for),
    Rule((r"from", Clock, r"for", Duration), _for),
    Rule((r"for", Duration, r"from|starting at|starting from|at", (Clock, Moment)), _for),
    Rule((Day, r"?for", Duration, r"from|starting at|starting from|at", Clock), _for_from),
)
