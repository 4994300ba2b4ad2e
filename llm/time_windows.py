"""The stretch of past time that a question in words is about: `last March`, `since 2021`."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from rewound.eventlog.instants import to_us
from rewound.llm.time_context import Context, span_of
from rewound.llm.time_expressions import find, place
from rewound.llm.time_languages import FOREIGN
from rewound.llm.time_lookalikes import is_lookalike, is_name
from rewound.llm.time_meanings import Day, Moment, Span, Stretch
from rewound.llm.time_points import may_hold_time
from rewound.llm.time_readings import SURE, read
from rewound.llm.time_resolving import Reading
from rewound.llm.time_stretches import midnight

_KINDS = ("date", "daterange", "datetime", "datetimerange")
_AHEAD = re.compile(
    r"\b(?:will|won['’]t|shall|going to|gonna|upcoming|coming up|tomorrow|next|due|scheduled"
    r"|ahead)\b",
    re.I,
)
_NOW = re.compile(r"\b(?:now|present|moment|minute|asap|as soon as possible|to date|day)\b$", re.I)
_AGO = re.compile(
    r"(?:(?P<few>few|couple|several|about|around|some) (?:of )?)?(?:\w+ )?"
    r"(?P<grain>day|week|month|year|decade|hour|minute)s? (?:ago|back|earlier)$"
    r"|(?P<far>week|month|year)s? (?:before|after|from)\b",
    re.I,
)
_ROLLING = re.compile(
    r"\b(?:(?:in|over|during|within|for) the last|past) (?:week|month|year)$", re.I
)
_YEAR_MIN = datetime(1, 1, 1)
_LATE = datetime(1, 1, 1, 23, 59).time()
_LEAST = 0.6
_AFTER_MIDNIGHT = timedelta(hours=6)
"""A night lasts until the morning after."""


class Window(NamedTuple):
    """UTC µs [from_us, to_us) and the words for it, characters [start, end) of the question.

    An open end is the moment of the question, an open beginning the first day of the year 1.
    `exact` means that the words say these bounds: not so for `early 2019`, `a few days ago`,
    `yesterday at 5` (the whole day) or 3/4/2023, where the window is the likeliest one.
    """

    from_us: int
    to_us: int
    start: int
    end: int
    words: str
    exact: bool


def window_of(question: str, now_us: int, zone: str) -> Window | None:
    """The stretch of time a question asks about; days are those of the zone.

    None when it names none, only one to come, or more than one. A month or a weekday is the latest
    one, unless the question looks ahead.

    Raises InvalidInput for a zone that there is not.
    """
    if not may_hold_time(question) and not FOREIGN.search(question):
        return None
    here = place(zone)
    try:
        now = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now_us)).astimezone(here)
    except OverflowError:
        return None
    if not 2 <= now.year <= 9998:
        return None
    local = now.replace(tzinfo=None)
    reading = _only(read(question, Context(local, not _AHEAD.search(question))), question)
    if reading is None:
        return _foreign(question, now_us, zone)
    words = question[reading.start : reading.end]
    try:
        bounds = _bounds(reading, words, local)
    except (ValueError, OverflowError):  # Outside the calendar.
        return None
    if bounds is None or bounds[0] > local:
        return None
    about = isinstance(reading.value, Moment) or _AGO.search(words) or _ROLLING.search(words)
    exact = reading.confidence >= SURE and not about
    return _window(question, (reading.start, reading.end), bounds, exact, here, now_us)


def _only(readings: list[Reading], question: str) -> Reading | None:
    """The one reading that narrows; where some are sure, those alone are weighed."""
    fitting = [
        reading
        for reading in readings
        if reading.kind in _KINDS
        and _may_narrow(reading, question[reading.start : reading.end])
        and not is_lookalike(question, reading.start, reading.end)
        and not is_name(question, reading.start, reading.end)
    ]
    sure = [reading for reading in fitting if reading.confidence >= SURE]
    told = [reading for reading in fitting if not _bare(reading)]
    weighed = sure or told or fitting
    return weighed[0] if len(weighed) == 1 else None


def _bare(reading: Reading) -> bool:
    """A mere number that may be a year."""
    return isinstance(reading.value, Stretch) and bool(reading.value.bare)


def _may_narrow(reading: Reading, words: str) -> bool:
    if reading.first is None and reading.past is None:
        return False
    if _NOW.search(words) and reading.confidence < 1:
        return False
    vague = isinstance(reading.value, Stretch) and reading.value.vague
    vague = vague or isinstance(reading.value, Moment)
    dated = isinstance(reading.value, Day) and reading.value.month is not None
    return reading.confidence >= _LEAST or vague or (dated and any(map(str.isdigit, words)))


def _bounds(reading: Reading, words: str, now: datetime) -> tuple[datetime, datetime | None] | None:
    """Where the window begins and, unless it is open, ends; None where it is all the past."""
    first, past = reading.first, reading.past
    if first is None:
        return (_YEAR_MIN, past) if past is not None and past <= now else None
    ago = _AGO.search(words)
    if ago is not None and isinstance(reading.value, Day | Moment):
        return _around(first, (ago["grain"] or ago["far"]).lower(), ago["few"] is not None)
    if _ROLLING.search(words):  # The month that is past, and what there is of this one.
        return first, midnight(now) + timedelta(days=1)
    if reading.kind == "datetimerange" and past is not None and past.time() >= _LATE:
        past = midnight(past) + timedelta(days=1) + _AFTER_MIDNIGHT
    if isinstance(reading.value, Span) and reading.value.beyond:
        first = _beyond(reading.value, first)
    if isinstance(reading.value, Moment):  # What is asked for was hardly said that very minute.
        return midnight(first), midnight(first) + timedelta(days=1)
    return first, past


def _beyond(span: Span, first: datetime) -> datetime:
    """After a day: from the next one on. What is longer was passed over already."""
    return first + timedelta(days=1) if isinstance(span.begin, Day) else first


def _around(first: datetime, grain: str, few: bool) -> tuple[datetime, datetime | None]:
    """Two years ago is that year, two weeks ago that week, a few of them one more or less."""
    if grain in ("hour", "minute"):
        hour = first.replace(minute=0, second=0, microsecond=0)
        return hour, hour + timedelta(hours=1)
    if grain == "day":
        day, slack = midnight(first), timedelta(days=int(few))
        return day - slack, day + timedelta(days=1) + slack
    grain = "year" if grain == "decade" else grain
    begin, end = span_of(grain, first, -int(few)).first, span_of(grain, first, int(few)).past
    return begin or first, end


def _foreign(question: str, now_us: int, zone: str) -> Window | None:
    """A day named in another language."""
    if not FOREIGN.search(question):
        return None
    found = [one for one in find(question, now_us, zone, "past") if one.first and one.past]
    if len(found) != 1 or found[0].first is None:
        return None
    place_in = (found[0].start, found[0].end)
    bounds = (found[0].first, found[0].past)
    return _window(question, place_in, bounds, True, place(zone), now_us)


def _window(
    question: str,
    at: tuple[int, int],
    bounds: tuple[datetime, datetime | None],
    exact: bool,
    here: tzinfo,
    now_us: int,
) -> Window | None:
    from_us = _us(bounds[0], here)
    to_us = now_us + 1 if bounds[1] is None else _us(bounds[1], here)
    if from_us >= to_us or from_us > now_us:
        return None
    return Window(from_us, to_us, *at, question[at[0] : at[1]], exact)


def _us(local: datetime, here: tzinfo) -> int:
    """UTC µs of a local moment; the first day of the calendar stays within it."""
    try:
        return to_us(local.replace(tzinfo=here).astimezone(UTC))
    except OverflowError:
        return to_us(local.replace(tzinfo=UTC))
