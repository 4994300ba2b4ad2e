"""Ranges of time that are one phrase: 2015-2019, 5 to 8 May, for three years.

An end is the first moment after a last day, but a month or a year as it was named.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, NamedTuple

from rewound.eventlog.instants import Instant, Precision, to_us
from rewound.llm.time_points import COUNT, UNIT, count_of
from rewound.llm.time_stretches import (
    MONTHS,
    Point,
    Tense,
    day_made,
    month_made,
    shifted,
    year_made,
)

Relation = Literal["at", "since", "until", "range", "other"]


class TimeExpression(NamedTuple):
    """Characters [start, end) of a text that name a time, and the same said absolutely.

    `wording` is None where the text is absolute already. `first` and `past` bound the time in the
    speaker's local days; either is None where it is open.
    """

    start: int
    end: int
    wording: str | None
    first: datetime | None
    past: datetime | None
    valid_from: Instant | None
    valid_to: Instant | None
    relation: Relation


PREPOSITION = re.compile(
    r"\b(?P<word>since|until|till|by|before|after|from|between|in|on|at|during|over|of|for|to"
    r"|than|through|as of)"
    r"(?P<part> the (?:year|(?:beginning|start|middle|end) of)| early| late| mid| about| around"
    r"| roughly)?[ -]$",
    re.I,
)
_YEARS = re.compile(
    r"\b(?<!-)(?P<one>(?:19|20)\d\d)\s?(?:-|–|—|to|until|through|and)\s?"
    r"(?P<two>(?:19|20)\d\d)\b(?!-)"
)
_MONTH_WORD = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_DAYS = re.compile(
    rf"\b(?:(?P<one>[0-3]?\d)(?:st|nd|rd|th)?\s?(?:-|–|to|until|and)\s?(?P<two>[0-3]?\d)"
    rf"(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH_WORD})"
    rf"|(?P<month2>{_MONTH_WORD}) (?P<one2>[0-3]?\d)(?:st|nd|rd|th)?\s?(?:-|–|to|until|and)\s?"
    rf"(?P<two2>[0-3]?\d)(?:st|nd|rd|th)?)\b(?:,? (?P<year>(?:19|20)\d\d))?",
    re.I,
)
_MONTHS_TO = re.compile(
    rf"\b(?P<one>{_MONTH_WORD})\s?(?:-|–|to|until|through)\s?(?P<two>{_MONTH_WORD})\b"
    r"(?:,? (?P<year>(?:19|20)\d\d))?",
    re.I,
)
_FOR = re.compile(
    rf"\bfor (?:about |around |over |almost |nearly )?(?:the (?:last|past) )?{COUNT} {UNIT}\b", re.I
)
_OVER = re.compile(
    rf"\b(?:over|in|during|within) the (?:last|past|previous) {COUNT} {UNIT}\b", re.I
)
_PERFECT = re.compile(
    r"(?:['’]ve|['’]s|\bhave|\bhas)(?: \w+){0,2} (?:been|\w+ed|had|known|lived)\b", re.I
)


def instant_of(local: datetime, precision: Precision, here: tzinfo) -> Instant | None:
    try:
        moment = local.replace(tzinfo=here)
        offset = moment.utcoffset() or timedelta(0)
        return Instant(to_us(moment.astimezone(UTC)), precision, int(offset.total_seconds() // 60))
    except OverflowError:
        return None


def ranged(
    start: int,
    end: int,
    wording: str | None,
    begin: tuple[datetime, Precision],
    last: Point,
    here: tzinfo,
) -> TimeExpression:
    valid_from = instant_of(*begin, here)
    valid_to = instant_of(close_of(last), last.precision, here)
    if valid_from and valid_to and valid_to.at <= valid_from.at:
        valid_to = None
    return TimeExpression(start, end, wording, begin[0], last.past, valid_from, valid_to, "range")


def close_of(last: Point) -> datetime:
    """A last day counts whole; a month or a year is told as it was named."""
    return last.past if last.precision >= Precision.DAY else last.first


def ranges(text: str, now: datetime, tense: Tense, here: tzinfo) -> list[TimeExpression]:
    """Ranges that are one phrase: 2015-2019, 5 to 8 May, for three years."""
    found: list[TimeExpression] = []
    readers: tuple[tuple[re.Pattern[str], Callable[..., TimeExpression | None]], ...] = (
        (_YEARS, _years_range),
        (_DAYS, _days_range),
        (_MONTHS_TO, _months_range),
        (_FOR, _for_range),
        (_OVER, _for_range),
    )
    for pattern, read in readers:
        for match in pattern.finditer(text):
            try:
                expression = read(text, match, now, tense, here)
            except (ValueError, OverflowError):  # 31 February, or outside the calendar.
                continue
            if expression and not any(
                other.start < expression.end and expression.start < other.end for other in found
            ):
                found.append(expression)
    return found


def _opened(text: str, start: int) -> int:
    """Where a range begins, with the `from` or `between` in front of it."""
    before = PREPOSITION.search(text, max(0, start - 28), start)
    return before.start() if before and before["word"].lower() in ("from", "between") else start


def _years_range(
    text: str, found: re.Match[str], now: datetime, tense: Tense, here: tzinfo
) -> TimeExpression | None:
    last = Point(0, 0, *year_made(int(found["two"])))
    begin = (datetime(int(found["one"]), 1, 1), Precision.YEAR)
    start = _opened(text, found.start())
    if last.first < begin[0] or (" and " in found[0] and start == found.start()):
        return None
    return ranged(start, found.end(), None, begin, last, here)


def _month_number(word: str) -> int:
    return next(i for i, name in enumerate(MONTHS, 1) if name.startswith(word.lower()))


def _days_range(
    text: str, found: re.Match[str], now: datetime, tense: Tense, here: tzinfo
) -> TimeExpression | None:
    one, two = int(found["one"] or found["one2"]), int(found["two"] or found["two2"])
    month = _month_number(found["month"] or found["month2"])
    year = int(found["year"] or now.year)
    first, last = datetime(year, month, one), datetime(year, month, two)
    if not found["year"] and tense == "past" and first > now:
        first, last = first.replace(year=year - 1), last.replace(year=year - 1)
    if not found["year"] and tense == "future" and last + timedelta(days=1) <= now:
        first, last = first.replace(year=year + 1), last.replace(year=year + 1)
    if last < first:
        return None
    wording = None if found["year"] else f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}"
    point = Point(0, 0, *day_made(last))
    start = _opened(text, found.start())
    return ranged(start, found.end(), wording, (first, Precision.DAY), point, here)


def _months_range(
    text: str, found: re.Match[str], now: datetime, tense: Tense, here: tzinfo
) -> TimeExpression | None:
    if not (found["one"][0].isupper() and found["two"][0].isupper()):
        return None
    one, two = _month_number(found["one"]), _month_number(found["two"])
    year = int(found["year"] or now.year)
    if not found["year"] and tense == "past" and datetime(year, two, 1) > now:
        year -= 1
    if not found["year"] and tense == "future" and datetime(year, two, 28) < now:
        year += 1
    first = datetime(year - (one > two), one, 1)
    last = Point(0, 0, *month_made(datetime(year, two, 1)))
    wording = f"from {month_made(first).name} to {last.name}"
    start = _opened(text, found.start())
    return ranged(start, found.end(), wording, (first, Precision.MONTH), last, here)


def _for_range(
    text: str, found: re.Match[str], now: datetime, tense: Tense, here: tzinfo
) -> TimeExpression | None:
    """`for three years`, of what still lasts: since about when. Else a mere duration: None."""
    unit = found["unit"].lower()
    lasting = re.search(r"\b(?:last|past|previous)\b", found[0], re.I)
    if not lasting and not _PERFECT.search(text):
        return None
    if unit in ("minute", "min", "hour"):
        return None
    first = shifted(now, -count_of(found["count"]), unit)
    if unit in ("year", "decade"):
        made = year_made(first.year)
    else:
        made = month_made(first) if unit in ("month", "quarter") else day_made(first)
    valid_from = instant_of(made.first, made.precision, here)
    wording = f"since about {made.name}"
    begin = first if unit not in ("month", "year") else first.replace(hour=0, minute=0)
    return TimeExpression(
        found.start(), found.end(), wording, begin, None, valid_from, None, "since"
    )
