"""What a meaning comes to at a moment: where it begins and where it is over."""

from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from rewound.llm.time_chart import Node
from rewound.llm.time_context import Context, in_year, month_on, on_date
from rewound.llm.time_meanings import (
    Clock,
    Day,
    DayPart,
    Duration,
    Hours,
    Moment,
    Part,
    Recurrence,
    Span,
    Stretch,
)
from rewound.llm.time_stretches import midnight

Kind = Literal[
    "date", "daterange", "time", "timerange", "datetime", "datetimerange", "duration", "set"
]
_KINDS: dict[type, Kind] = {
    Day: "date", Stretch: "daterange", Clock: "time", Moment: "datetime", Part: "timerange",
    DayPart: "datetimerange",
}  # fmt: skip
_EITHER = 0.5
"""How sure a reading is at most that leaves open which half of the day or which year is meant."""
_BARE = 0.6
_UNKNOWN = 0.3
NAMES = (*_KINDS, Span, Duration, Recurrence, Hours)
"""The meanings that are a reading by themselves; numbers and names of units are not."""


class Reading(NamedTuple):
    """Characters [start, end) of a text and the time that they name, in local time.

    `first` is where it begins; `last` where the last thing that was named begins, `past` where it
    is over: from May to July has `last` 1 July and `past` 1 August. Each is None where it is open
    or not resolved; times of day stand on the day of the moment of reading. `seconds` is the
    length of a duration, `confidence` 0 to 1.
    """

    start: int
    end: int
    kind: Kind
    first: datetime | None
    last: datetime | None
    past: datetime | None
    seconds: int | None
    confidence: float
    value: Any


def resolved(node: Node, context: Context) -> Reading | None:
    """What a node means; None when it names no moment of the calendar."""
    try:
        return _resolved(node, context)
    except (ValueError, OverflowError):  # 30 February, or outside the calendar.
        if not isinstance(node.value, Day):
            return None
        return _reading(node, "date", _UNKNOWN)


def _reading(
    node: Node,
    kind: Kind,
    sure: float,
    first: datetime | None = None,
    last: datetime | None = None,
    past: datetime | None = None,
    seconds: int | None = None,
) -> Reading:
    return Reading(node.start, node.end, kind, first, last, past, seconds, sure, node.value)


def _resolved(node: Node, context: Context) -> Reading | None:
    value = node.value
    if isinstance(value, Recurrence):
        return _reading(node, "set", node.sure)
    if isinstance(value, Duration):
        return _reading(node, "duration", node.sure, seconds=value.total)
    if isinstance(value, Hours):
        return _span(node, Span(value.begin, value.end), context) if value.told else None
    if isinstance(value, Span):
        return _span(node, value, context)
    if isinstance(value, Stretch):
        return _stretch(node, value, context)
    first, past = bounds(value, context)
    clock = value.clock if isinstance(value, Moment) else value
    sure = min(node.sure, _EITHER) if isinstance(clock, Clock) and clock.open else node.sure
    kind = _KINDS[type(value)]
    return _reading(node, kind, sure, first, past if kind.endswith("range") else first, past)


def _stretch(node: Node, stretch: Stretch, context: Context) -> Reading | None:
    if stretch.bare == "verb":
        return None
    if stretch.first is None and stretch.month is None:
        return _reading(node, "daterange", _UNKNOWN)
    first, past = bounds(stretch, context)
    sure = min(node.sure, _BARE) if stretch.bare else node.sure
    sure = min(sure, _EITHER) if stretch.vague or stretch.bare == "loose" else sure
    return _reading(node, "daterange", sure, first, past, past)


def bounds(
    value: Any, context: Context, since: datetime | None = None
) -> tuple[datetime | None, datetime | None]:
    """Where it begins and where it is over. Raises ValueError outside the calendar."""
    if isinstance(value, Day):
        day = on_date(value, context, since)
        return day, day + timedelta(days=1)
    if isinstance(value, Stretch):
        made = month_on(value, context, since)
        return made.first, made.past
    if isinstance(value, Clock):
        return _clock_on(context.today, value)
    if isinstance(value, Moment):
        return _clock_on(on_date(value.day, context, since), value.clock)
    part = value if isinstance(value, Part) else value.part
    day = context.today if isinstance(value, Part) else on_date(value.day, context, since)
    past = day + timedelta(hours=part.past)
    return day + timedelta(hours=part.first), past - timedelta(seconds=part.past == 24)


def _clock_on(day: datetime, clock: Clock) -> tuple[datetime, datetime]:
    moment = day.replace(hour=clock.hour, minute=clock.minute, second=clock.second)
    return moment, moment + timedelta(minutes=1)


def _span(node: Node, span: Span, context: Context) -> Reading | None:
    ends = [end for end in (span.begin, span.end) if end is not None]
    timed = any(isinstance(end, Clock | Moment | DayPart | Part) for end in ends)
    dated = span.day is not None or not all(isinstance(end, Clock | Part) for end in ends)
    kind: Kind = "datetimerange" if timed and dated else "timerange" if timed else "daterange"
    if span.day is not None:
        context = context._replace(now=midnight(on_date(span.day, context)))
    first, last, past = _ends(span, context)
    if first is not None and last is not None and last < first:
        return None
    return _reading(node, kind, _sureness(node.sure, span, ends), first, last, past)


def _sureness(sure: float, span: Span, ends: list[Any]) -> float:
    if any(isinstance(end, Clock) and end.open for end in ends):
        sure = min(sure, _EITHER)
    if any(isinstance(end, Stretch) and end.vague for end in ends):
        sure = min(sure, _BARE)
    if any(isinstance(end, Stretch) and end.bare == "loose" for end in ends):
        sure = min(sure, _EITHER)
    if isinstance(span.begin, Day) and span.begin.weekday is not None:
        if isinstance(span.end, Day) and span.end.weekday is None:
            sure = min(sure, _BARE)  # Monday to Friday next week: is Monday of next week too?
    return sure


def _ends(span: Span, context: Context) -> tuple[datetime | None, datetime | None, datetime | None]:
    """Where a span begins, where its last bound begins, and where it is over."""
    begin, end = _aligned(span.begin, span.end)
    first = last = past = None
    if begin is not None:
        first = _begins(begin, end, span, context)
    if end is not None:
        last, past = bounds(end, context, midnight(first) if first is not None else None)
        if isinstance(end, Stretch) and end.edge == "end":
            last = past
        past = past if span.whole else last
    return first, last, past


def _begins(begin: Any, end: Any, span: Span, context: Context) -> datetime | None:
    first, over = bounds(begin, context)
    if not context.past and _unsaid(begin) and _unsaid(end):  # It may be going on.
        former, _ = bounds(begin, context._replace(past=True))
        _, close = bounds(end, context, former)
        first = former if close is not None and close > context.now else first
    if span.beyond and isinstance(begin, Stretch | Part):
        return over
    middle = isinstance(begin, Stretch) and begin.edge == "mid" and begin.grain == "month"
    return first.replace(day=16) if middle and first is not None else first


def _unsaid(end: Any) -> bool:
    """A day or a month of an unsaid year."""
    return isinstance(end, Day | Stretch) and _year(end) is None and _month(end) is not None


def _aligned(begin: Any, end: Any) -> tuple[Any, Any]:
    """Both ends, the first with the year that only the second says."""
    if isinstance(begin, Day | Stretch) and isinstance(end, Day | Stretch):
        month, year = _month(begin), _year(end)
        if _year(begin) is None and year is not None and month is not None:
            begin = _in_year(begin, year - (month > (_month(end) or 13)))
    return begin, end


def _year(value: Day | Stretch) -> int | None:
    if isinstance(value, Day):
        return value.year
    return value.first.year if value.first else None


def _month(value: Day | Stretch) -> int | None:
    if isinstance(value, Stretch) and value.first is not None:
        return value.first.month
    return value.month


def _in_year(value: Day | Stretch, year: int) -> Day | Stretch:
    if isinstance(value, Stretch):
        return in_year(value, year)
    return Day(year, value.month, value.day)
