"""Lengths of time as people and programs write them: `30 days`, `1 h 30 min`, `P30D`, `PT12H`.

A day has 24 hours and a week seven days. Months and years have no fixed length and are refused.
"""

import re

from rewound.eventlog.errors import InvalidInput

_SECOND_US = 1_000_000
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NAMES = {
    "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
    "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
    "d": "d", "day": "d", "days": "d",
    "w": "w", "wk": "w", "wks": "w", "week": "w", "weeks": "w",
}  # fmt: skip
_UNFIXED = frozenset({"mo", "month", "months", "y", "yr", "year", "years"})

_PART = r"([0-9]{1,9})\s*([a-z]+)"
_WORDS = re.compile(rf"{_PART}(?:[\s,]+(?:and\s+)?{_PART})*")
_ISO = re.compile(r"p(?:[0-9]+[ymwd])*(?:t(?:[0-9]+[hms])+)?", re.IGNORECASE)

_RIGHT = "write it like 30 days, 12 hours, P30D or PT12H"


def parse_duration(text: str, field: str | None = None) -> int:
    """The length in µs, more than none. Raises InvalidInput."""
    plain = text.strip().lower()
    if plain.startswith("p") and _ISO.fullmatch(plain) and any(map(str.isdigit, plain)):
        parts = _iso(plain)
    elif _WORDS.fullmatch(plain):
        parts = [(int(number), unit) for number, unit in re.findall(_PART, plain)]
    else:
        raise InvalidInput(f"{field or 'this'} is no length of time: {_RIGHT}", field=field)
    seconds = 0
    for number, unit in parts:
        name = _NAMES.get(unit)
        if name is None:
            unfixed = "a month or a year has no fixed length, so count in days: "
            unknown = f"{unit[:20]!r} is no unit of time: "
            said = unfixed if unit in _UNFIXED else unknown
            raise InvalidInput(f"{field or 'this'} cannot be told: {said}{_RIGHT}", field=field)
        seconds += number * _UNITS[name]
    if seconds == 0:
        raise InvalidInput(f"{field or 'this'} is no time at all: {_RIGHT}", field=field)
    return seconds * _SECOND_US


def _iso(text: str) -> list[tuple[int, str]]:
    """Number and unit of each part; before the T an M is months."""
    days, _, times = text[1:].partition("t")
    found = [(days, {"m": "month", "y": "year"}), (times, {})]
    return [
        (int(number), names.get(unit, unit))
        for part, names in found
        for number, unit in re.findall(r"([0-9]{1,9})([a-z])", part)
    ]
