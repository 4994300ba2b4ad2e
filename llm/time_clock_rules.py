"""Rules for times of day: half past nine, 4 pm, seven in the evening."""

import re
from collections.abc import Callable
from typing import Any

from rewound.llm.time_chart import Rule
from rewound.llm.time_context import Context
from rewound.llm.time_meanings import (
    Clock,
    Duration,
    Number,
    Part,
)

Found = re.Match[str]


HALF = r"(?P<half>a\s?\.\s?m\s?\.?|p\s?\.\s?m\s?\.?|a\s?m|p\s?m|[ap](?![\w'’]))(?!\d)"


PARTS = {
    "morning": (8, 12), "mornings": (8, 12), "am": (8, 12), "afternoon": (12, 16), "pm": (12, 16),
    "evening": (16, 20), "night": (20, 24), "daytime": (8, 18),
    "night-time": (0, 8), "nighttime": (0, 8),
    "business hour": (8, 18),
    "breakfast": (8, 12), "brunch": (8, 12), "lunch": (11, 13), "lunchtime": (11, 13),
    "lunch time": (11, 13), "breakfast time": (8, 12), "dinner": (16, 20), "dinnertime": (16, 20),
    "dinner time": (16, 20), "supper": (16, 20),
}  # fmt: skip


TIMES = ("morning", "afternoon", "evening", "night", "am", "pm", "daytime")


PART = r"(?P<part>morning|afternoon|evening|night)"


def part_named(name: str) -> Part:
    return Part(name, *PARTS[name])


def in_half(clock: Clock, half: str) -> Clock | None:
    """The clock in the morning or in the second half of the day."""
    if clock.hour > 12 or clock.hour == 0:
        return Clock(clock.hour, clock.minute, clock.second)
    later = 12 if half.lower().startswith("p") else 0
    return Clock(clock.hour % 12 + later, clock.minute, clock.second)


def in_part(clock: Clock, part: str) -> Clock | None:
    """`Seven` in the evening is 19:00; a clock that is told already stays."""
    if not clock.open:
        return clock
    if part.startswith("night"):
        return in_half(clock, "a" if clock.hour < 6 or clock.hour == 12 else "p")
    if part.startswith(("morning", "breakfast", "am")):
        return in_half(clock, "a")
    return in_half(clock, "p")


def clock_of(hour: int, minute: int = 0, second: int = 0) -> Clock | None:
    if hour == 24 and not minute:
        hour = 0
    if hour > 23 or minute > 59 or second > 59:
        return None
    return Clock(hour, minute, second, open=1 <= hour <= 12)


def clock_found(context: Context, found: Found, *_: Any) -> Clock | None:
    groups = found.groupdict()
    made = clock_of(int(found["h"]), int(groups.get("m") or 0), int(groups.get("s") or 0))
    half = groups.get("half")
    if made is None or half is None:
        return made
    return in_half(made, half) if made.hour <= 12 and (made.hour or groups.get("m")) else None


def _after_word(context: Context, _: Found, found: Found) -> Clock | None:
    return clock_found(context, found)


def _number_half(context: Context, number: Number, found: Found) -> Clock | None:
    made = clock_of(number.value) if not number.rank and 0 < number.value < 13 else None
    return in_half(made, found["half"]) if made else None


def _two_numbers_half(context: Context, one: Number, two: Number, found: Found) -> Clock | None:
    made = two_numbers(one, two)
    return in_half(made, found["half"]) if made else None


def two_numbers(one: Number, two: Number) -> Clock | None:
    """Seven twenty-seven."""
    if not two.spelled or one.rank or two.rank:
        return None
    return clock_of(one.value, two.value) if 1 <= one.value <= 12 and two.value > 9 else None


def _hour(context: Context, _: Found, number: Number) -> Clock | None:
    return clock_of(number.value) if not number.rank and number.value < 25 else None


def _spelled_at(context: Context, _: Found, one: Number, two: Number) -> Clock | None:
    return two_numbers(one, two)


def _oclock(context: Context, number: Number, _: Found) -> Clock | None:
    return clock_of(number.value) if not number.rank and 0 < number.value < 25 else None


def _past(minutes: int) -> Callable[..., Clock | None]:
    def make(context: Context, _: Found, hour: Number | Clock) -> Clock | None:
        return _moved(hour, minutes)

    return make


def _moved(hour: Number | Clock, minutes: int) -> Clock | None:
    made = clock_of(hour.value) if isinstance(hour, Number) else hour
    if made is None or (isinstance(hour, Number) and hour.rank):
        return None
    told = made.hour * 60 + made.minute + minutes
    hour_now = told // 60 % 24
    if made.open and hour_now == 0:
        hour_now = 12
    return Clock(hour_now, told % 60, open=made.open)


def _minutes(sign: int) -> Callable[..., Clock | None]:
    def make(context: Context, number: Number, _: Found, hour: Number | Clock) -> Clock | None:
        if number.rank or not 1 <= number.value <= 59:
            return None
        return _moved(hour, sign * number.value)

    return make


def _spelled_minutes(context: Context, number: Number, _: Found, hour: Number) -> Clock | None:
    """Twenty to three, but not five to seven."""
    if not number.spelled or number.value not in (10, 20, 25) or hour.value >= number.value:
        return None
    return _moved(hour, -number.value)


def _number_part(context: Context, number: Number, found: Found) -> Clock | None:
    made = clock_of(number.value) if not number.rank and 0 < number.value < 13 else None
    return in_part(made, found["part"].lower()) if made else None


def _clock_part(context: Context, clock: Clock, found: Found) -> Clock | None:
    return in_part(clock, found["part"].lower())


def _part_clock(context: Context, found: Found, clock: Clock) -> Clock | None:
    return in_part(clock, found["part"].lower()) if clock.open else None


def _moved_moment(times: int) -> Callable[..., Any]:
    def make(context: Context, duration: Duration, _: Found, clock: Clock) -> Clock | None:
        if duration.total >= 43_200 or duration.bound:
            return None
        return _moved(clock, times * duration.total // 60)

    return make


def _named_clock(hour: int) -> Callable[..., Clock]:
    return lambda context, _: Clock(hour)


IN_PART = rf"(?:early |late )?(?:in the (?:early |late )?|at |(?<=\d )){PART}"


_OF_PART = rf"(?:in the (?:early |late )?|at |this ){PART}"


DOT = r"(?<![\d.:$/])(?P<h>[01]?\d|2[0-4])"


CLOCK_RULES = (
    Rule((rf"{DOT}:(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?(?![:\d])(?:\s?{HALF})?",), clock_found),
    Rule((rf"{DOT}[. ](?P<m>[0-5]\d)\s?{HALF}",), clock_found),
    Rule((rf"{DOT}(?P<m>[0-5]\d)\s?{HALF}",), clock_found),
    Rule((rf"{DOT}\s?{HALF}",), clock_found),
    Rule(
        (
            r"at",
            rf"{DOT}[.](?P<m>[0-5]\d)(?!\d|\.\d|%)",
        ),
        _after_word,
        0.9,
    ),
    Rule(
        (
            r"at",
            r"(?P<h>[01]\d|2[0-3])(?P<m>[0-5]\d)(?!\d)",
        ),
        _after_word,
        0.6,
    ),
    Rule((r"(?P<h>[01]\d|2[0-3]):?(?P<m>[0-5]\d)\s?(?:hrs|hours|h)",), clock_found, 0.9),
    Rule((r"(?P<h>[01]?\d|2[0-3])h(?P<m>[0-5]\d)(?!\s?m)",), clock_found, 0.9),
    Rule((Number, HALF), _number_half, 0.95),
    Rule((Number, Number, HALF), _two_numbers_half, 0.95),
    Rule((Number, r"o['’]? ?clock"), _oclock),
    Rule((r"at about|at around|at|@|circa|around", Number), _hour, 0.75),
    Rule((r"at|around", Number, Number), _spelled_at, 0.9),
    Rule((r"(?:12 )?(?:noon|midday|noontime|mid-?day)(?:-?ish)?",), _named_clock(12)),
    Rule((r"mid[- ]?night",), _named_clock(0)),
    Rule((r"half past|half", (Number, Clock)), _past(30), 0.95),
    Rule((r"(?:a )?quarter (?:past|after)", (Number, Clock)), _past(15)),
    Rule((r"(?:a )?quarter (?:to|of|till|before)", (Number, Clock)), _past(-15)),
    Rule((Number, r"(?:minutes? |mins? )?(?:past|after)", (Number, Clock)), _minutes(1), 0.95),
    Rule((Number, r"(?:minutes? |mins? )?(?:to|till)", Clock), _minutes(-1), 0.6),
    Rule((Number, r"to|till", Number), _spelled_minutes, 0.5),
    Rule((Number, r"ish|-ish"), lambda context, number, _: _oclock(context, number, _), 0.6),
    Rule((Clock, r"ish|-ish"), lambda context, clock, _: clock, 0.9),
    Rule((Number, r"(?:minutes?|mins?) (?:to|till|before)", (Number, Clock)), _minutes(-1), 0.9),
    Rule((Number, _OF_PART), _number_part, 0.95),
    Rule((Clock, IN_PART), _clock_part, 1.0),
    Rule(
        (rf"in the {PART}", r"?at", Clock),
        lambda context, found, _, clock: _part_clock(context, found, clock),
    ),
    Rule((r"at|@|around|about|circa|by about", Clock), lambda context, _, clock: clock),
    Rule(
        (Clock, r"sharp|on the dot|or so|est|pst|gmt|utc|pt|et|ct"), lambda context, clock, _: clock
    ),
    Rule((Duration, r"before|prior to", Clock), _moved_moment(-1), 0.9),
    Rule((Duration, r"after|past|from", Clock), _moved_moment(1), 0.9),
)
