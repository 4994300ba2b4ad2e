"""Time expressions of a sentence, resolved against the moment and the place it was said at.

What a fact may say of its time is what the sentence says: `yesterday` is a day of the speaker's
own zone, `two years ago` a year, `last week` the week, named by its Monday. An event keeps an open
end: that the van was sold stays true. Only what is said to begin and to end (`from … to …`,
`until …`) has an end: the first moment after a last day, or the month or year as it was named.

English is read by the grammar of `time_points`; dates and day words of some other languages go
through `dateparser`, which is loaded only for a text that seems to hold one.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from rewound.eventlog.instants import Precision, zone_named
from rewound.llm.english import is_past, words_of
from rewound.llm.time_languages import FOREIGN, foreign_points
from rewound.llm.time_lookalikes import is_lookalike
from rewound.llm.time_points import COUNT, UNIT, count_of, day_before_next, may_hold_time, points
from rewound.llm.time_ranges import (
    PREPOSITION,
    TimeExpression,
    close_of,
    instant_of,
    ranged,
    ranges,
)
from rewound.llm.time_stretches import Point, Tense, day_made, month_made, shifted

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_TIME = (
    r"(?P<hour>[01]?\d|2[0-3])(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap]\.?m\b\.?)?"
    r"|(?P<noon>noon|midday|midnight)"
)
_TIME_AFTER = re.compile(rf",? (?:(?P<at>at|@|around) )?(?:{_TIME})(?![\w:.-]*\w)", re.I)
_TIME_BEFORE = re.compile(rf"(?:\b(?P<at>at|around) )?(?<![\w:.-])(?:{_TIME}),?(?: on)? $", re.I)
_SHIFT = re.compile(rf"\b{COUNT} {UNIT} (?P<way>from|after|before) $", re.I)
_ONWARD = re.compile(
    r"(?:\s(?:to|until|till|through|and)|\s?[-–—])\s?(?:now|today|the present|present)\b", re.I
)
_JOIN = re.compile(r"\s?(?:to|until|till|through|and|-|–|—|up to)\s(?:the )?|\s?[-–—]\s?", re.I)
_SOON = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|next|later|this|week|january"
    r"|february|march|april|may|june|july|august|september|october|november|december"
)
_FUTURE = re.compile(
    r"\b(?:will|won['’]t|shall|going to|gonna|tomorrow|next|upcoming|plan|plans|planning|due"
    r"|expires?"
    r"|starts?|begins?|ends?|leaves?|is on|are on|must(?! have)|(?:have|has|needs?) to"
    r"|(?:am"
    r"|is|are) \w+ing)\b|['’](?:ll|m \w+ing)\b",
    re.I,
)
# An appointment that moved lies ahead, though the moving is over.
_MOVED_TO = re.compile(
    r"\b(?:(?:moved|postponed|rescheduled|shifted|pushed|brought forward|changed|slipped|extended"
    r"|delayed) (?:\w+ ){0,3}?(?:to|until)|(?:planned|scheduled|booked|set) for)"
    rf" (?=(?:the )?(?:{_SOON}|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_SOON})|\d{{4}}-\d\d"
    r"|\d{1,2}(?::\d\d)? ?[ap]\.?m\b|\d{1,2}(?:st|nd|rd|th)$)\b)",
    re.I,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|didn['’]t|ago|last|yesterday|since|used to|born)\b|['’]ve\b"
    r"|\b(?:have|has) \w+(?:ed|n)\b",
    re.I,
)
_LONG_PAST = re.compile(r"\b(?:was|were|last|ago|yesterday)\b", re.I)
_EVERY = re.compile(r"\b(?:every|each|any|all|most|some)(?: other| single)? $", re.I)
_ANNIVERSARY = re.compile(r"\b(?:birthday|anniversary|name day|holiday is|every year)\b", re.I)
# Of a day that comes every year the month does: her birthday is in October.
_IN_EVERY_YEAR = re.compile(
    r"\b(?:birthday|anniversary|name day)(?:['’]s| is| falls)(?: always)? in (?:early |late )?$",
    re.I,
)


@lru_cache(maxsize=256)
def place(zone: str) -> tzinfo:
    """The zone of an IANA name or an offset such as +05:30. Raises InvalidInput."""
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return zone_named(zone)
    ahead = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(-ahead if found[1] == "-" else ahead) if ahead < timedelta(days=1) else UTC


def tense_of(text: str) -> Tense:
    """Whether a sentence looks back: what it says with a past verb, unless it also plans."""
    if _MOVED_TO.search(text):
        return "future"
    if _FUTURE.search(text) and not _LONG_PAST.search(text):
        return "future"
    if _PAST.search(text) or any(is_past(word.low) for word in words_of(text)):
        return "past"
    return "future"


def find(
    text: str,
    at: int,
    zone: str = "UTC",
    tense: Tense | None = None,
    after: datetime | None = None,
) -> list[TimeExpression]:
    """The time expressions of one sentence or clause, in order; none for a moment `at` (UTC µs)
    outside the years 2 to 9998. What recurs (`every Friday`, a birthday) is not resolved.

    `after` is the local day that the sentence named before this text: `the 21st` follows it.

    Raises InvalidInput for a zone that there is not.
    """
    if not may_hold_time(text) and not FOREIGN.search(text):
        return []
    here = place(zone)
    try:
        now = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).astimezone(here)
    except OverflowError:
        return []
    if not 2 <= now.year <= 9998:
        return []
    local = now.replace(tzinfo=None)
    tense = tense or tense_of(text)
    found = [one for one in ranges(text, local, tense, here) if _is_time(text, one)]
    named = (_shift(text, point) for point in points(text, local, tense, after))
    singles = [point for point in named if not _within(point, found) and _is_time(text, point)]
    found += _joined(text, [point for point in singles if _once(text, point)], here)
    if not found and not singles:
        others = foreign_points(text, local, tense)
        found = [_single(text, point, None, here) for point in others if _is_time(text, point)]
    return sorted(found, key=lambda expression: expression.start)


def last_day(times: list[TimeExpression]) -> datetime | None:
    """The local day that a bare `the 21st` behind these times comes after."""
    for time in reversed(times):
        if time.first is None or time.past is None:
            continue
        precision = Precision.DAY if time.past - time.first < _MONTH_LONG else Precision.MONTH
        if time.relation == "range":
            return day_before_next(time.past - _DAY, time.past, Precision.DAY)
        if time.past - time.first <= _YEAR_SHORT:
            return day_before_next(time.first, time.past, precision)
    return None


_DAY = timedelta(days=1)
_MONTH_LONG = timedelta(days=28)
_YEAR_SHORT = timedelta(days=100)


def _shift(text: str, point: Point) -> Point:
    """`two weeks after 13 May`: the day that is meant, not the one that is named."""
    found = _SHIFT.search(text, max(0, point.start - 40), point.start)
    if found is None or point.precision < Precision.DAY:
        return point
    count = count_of(found["count"]) * (-1 if found["way"].lower() == "before" else 1)
    try:
        made = day_made(shifted(point.first, count, found["unit"].lower()))
    except (ValueError, OverflowError):  # Outside the calendar.
        return point
    return Point(found.start(), point.end, *made)


def _is_time(text: str, one: Point | TimeExpression) -> bool:
    return not is_lookalike(text, one.start, one.end)


def _within(point: Point, found: list[TimeExpression]) -> bool:
    return any(other.start < point.end and point.start < other.end for other in found)


def _once(text: str, point: Point) -> bool:
    before = text[max(0, point.start - 24) : point.start]
    if _EVERY.search(before):
        return False
    yearly = bool(_ANNIVERSARY.search(text)) and point.precision >= Precision.DAY
    yearly = yearly or _IN_EVERY_YEAR.search(text, 0, point.start) is not None
    return not yearly or point.told or point.year_said


def _joined(text: str, singles: list[Point], here: tzinfo) -> list[TimeExpression]:
    """Points as expressions; two that are joined by `to` or `until` become one range."""
    found: list[TimeExpression] = []
    place_in = 0
    while place_in < len(singles):
        point = singles[place_in]
        after = singles[place_in + 1] if place_in + 1 < len(singles) else None
        before = PREPOSITION.search(text, max(0, point.start - 28), point.start)
        onward = _ONWARD.match(text, point.end)
        if onward and (after is None or after.start >= onward.start()):
            found.append(_until_now(point, onward.end(), before, here))
            place_in += 1 + (after is not None and after.start < onward.end())
            continue
        joint = _JOIN.fullmatch(text, point.end, after.start) if after else None
        opens = before is not None and before["word"].lower() in ("from", "between")
        ands = joint is not None and joint[0].strip().lower() == "and"
        if (
            after
            and joint
            and (opens or not ands)
            and not (ands and before and _says(before, "from"))
        ):
            found.append(_between(text, point, after, before if opens else None, here))
            place_in += 2
            continue
        found.append(_single(text, point, before, here))
        place_in += 1
    return found


def _until_now(
    point: Point, end: int, before: re.Match[str] | None, here: tzinfo
) -> TimeExpression:
    opens = before is not None and before["word"].lower() in ("from", "between")
    start = before.start() if before and opens else point.start
    instant = instant_of(point.first, point.precision, here)
    return TimeExpression(
        start, end, f"since {point.name}", point.first, None, instant, None, "since"
    )


def _says(before: re.Match[str], word: str) -> bool:
    return before["word"].lower() == word


def _between(
    text: str, one: Point, two: Point, before: re.Match[str] | None, here: tzinfo
) -> TimeExpression:
    first, precision = one.first, one.precision
    if two.first < first and one.precision == two.precision == Precision.DAY:
        weeks = (first - two.first).days // 7 + 1
        if weeks <= 1:  # From next Monday to Friday.
            ahead = timedelta(days=7 * weeks)
            two = two._replace(**day_made(two.first + ahead)._asdict())
    if not one.year_said and two.first < first:  # From November to March 2020.
        first = first.replace(year=two.first.year, day=min(first.day, 28))
        first = first.replace(year=first.year - (first > two.first), day=min(one.first.day, 28))
    start = before.start() if before else one.start
    names = [one.name if first == one.first else _named(first, precision), two.name]
    told = one.told and two.told
    wording = None if told else f"from {names[0]} to {names[1]}"
    return ranged(start, two.end, wording, (first, precision), two, here)


def _named(first: datetime, precision: Precision) -> str:
    if precision == Precision.YEAR:
        return str(first.year)
    return (month_made if precision == Precision.MONTH else day_made)(first).name


def _single(text: str, point: Point, before: re.Match[str] | None, here: tzinfo) -> TimeExpression:
    """A point with its preposition, and with a time of day that stands next to it."""
    point, before_time = _with_time(text, point)
    if before_time is not None:
        before = PREPOSITION.search(text, max(0, point.start - 28), point.start)
    word = before["word"].lower() if before else ""
    part = before["part"] if before else None
    instant = instant_of(point.first, point.precision, here)
    start, wording = point.start, point.name
    if before and not part and word in ("in", "on", "at", "during", "over", "for"):
        start = before.start()
    if start < point.start or not word:
        wording = f"{point.preposition} {point.name}".strip()
    said = None if point.told else wording
    if word in ("since", "from", "as of"):
        return TimeExpression(start, point.end, said, point.first, None, instant, None, "since")
    if word in ("until", "till"):
        close = instant_of(close_of(point), point.precision, here)
        return TimeExpression(start, point.end, said, None, point.past, None, close, "until")
    if word in ("before", "after", "by", "between"):
        return TimeExpression(start, point.end, said, point.first, point.past, None, None, "other")
    return TimeExpression(start, point.end, said, point.first, point.past, instant, None, "at")


def _with_time(text: str, point: Point) -> tuple[Point, re.Match[str] | None]:
    if point.precision != Precision.DAY or " " in point.name:
        return point, None
    after = _TIME_AFTER.match(text, point.end)
    before = None if after else _TIME_BEFORE.search(text, max(0, point.start - 24), point.start)
    time = after or before
    clock = _clock(time) if time else None
    if time is None or clock is None:
        return point, None
    first = point.first.replace(hour=clock[0], minute=clock[1])
    start = min(point.start, time.start())
    return (
        point._replace(
            start=start,
            end=max(point.end, time.end()),
            first=first,
            past=first + timedelta(minutes=1),
            precision=Precision.MINUTE,
            name=f"{first:%Y-%m-%d at %H:%M}",
            preposition="on",
            told=False,
        ),
        before,
    )


def _clock(found: re.Match[str]) -> tuple[int, int] | None:
    if found["noon"]:
        return (0 if found["noon"].lower() == "midnight" else 12), 0
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if not half and not (found["at"] and found["minute"]) and not found[0].startswith(" "):
        return None
    if half:
        return (
            (hour % 12 + 12 * half.startswith("p"), int(found["minute"] or 0))
            if hour < 13
            else None
        )
    if found["minute"] and (found["at"] or ":" in found[0]):
        return hour, int(found["minute"])
    return None
