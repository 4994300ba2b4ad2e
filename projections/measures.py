"""Terms for what metadata holds: which keys, values of which sort, and numbers and times in order.

    key (32 hex digits) | sort                                    every key
    key (32 hex digits) | sort | rank (16 hex digits) | rest (4)  a number or a time

The key is a digest under the container's own, as a tag is. A number's rank is the nearest float64,
as an integer that orders as it does; the rest is what an integer of over 53 bits lies above or
below that. A time's rank is its UTC µs. So the terms of one key stand in the order of its values,
and a stretch of them is read without reading any text.
"""

import enum
import re
import struct
from typing import Any, Final, NamedTuple

from rewound.eventlog.bodies import keyed_digest
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import parse_instant

_FLOAT = struct.Struct(">d")
_WORD = struct.Struct(">Q")
_SIGN: Final = 1 << 63
_REST: Final = 1 << 15
"""An integer of 64 bits lies at most 512 from the nearest float64."""

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class Sort(enum.StrEnum):
    """What a value of metadata is."""

    NUMBER = "n"
    TIME = "t"
    """A text that is an RFC 3339 time with its offset."""
    TEXT = "s"
    TRUTH = "b"
    NOTHING = "z"
    LIST = "l"
    OBJECT = "o"


def sort_of(value: Any) -> Sort:
    match value:
        case None:
            return Sort.NOTHING
        case bool():
            return Sort.TRUTH
        case int() | float():
            return Sort.NUMBER
        case str():
            return Sort.TEXT if time_of(value) is None else Sort.TIME
        case dict():
            return Sort.OBJECT
    return Sort.LIST


def time_of(text: str) -> int | None:
    """UTC µs of a full RFC 3339 time with its offset, None for any other text."""
    if not _INSTANT.fullmatch(text):
        return None
    try:
        return parse_instant(text.upper()).at
    except InvalidInput:  # the form of a time, but no such day or hour
        return None


def key_term(secret: bytes, key: str, sort: Sort) -> str:
    """What an entry is found by that has a value of that sort under a key."""
    return keyed_digest(secret, b"key", key.encode()).hex() + sort


def measure_term(secret: bytes, key: str, value: float | str) -> str:
    """The term of a number, or of a text that is a time."""
    if isinstance(value, str):
        at = time_of(value)
        assert at is not None, "only a text that is a time has a place among times"
        return key_term(secret, key, Sort.TIME) + _shown(at + _SIGN, 0)
    near = float(value)
    rest = value - int(near) if isinstance(value, int) else 0
    (bits,) = _WORD.unpack(_FLOAT.pack(near + 0.0))  # -0.0 + 0.0 is 0.0
    rank = bits ^ (2 * _SIGN - 1) if bits & _SIGN else bits | _SIGN
    return key_term(secret, key, Sort.NUMBER) + _shown(rank, rest)


def _shown(rank: int, rest: int) -> str:
    return f"{rank:016x}{rest + _REST:04x}"


class Stretch(NamedTuple):
    """Terms t with low <= t < high."""

    low: str
    high: str


def stretch(secret: bytes, key: str, op: str, value: float | str) -> Stretch:
    """The terms of all numbers (or times) under a key that are eq, gt, gte, lt or lte a value."""
    term = measure_term(secret, key, value)
    head = term[: -len(_shown(0, 0))]
    after = term + "0"  # longer than any: just behind this one
    match op:
        case "gt":
            return Stretch(after, head + "g")
        case "gte":
            return Stretch(term, head + "g")
        case "lt":
            return Stretch(head, term)
        case "lte":
            return Stretch(head, after)
    return Stretch(term, after)


def terms_of(secret: bytes, metadata: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The terms of an entry's keys, and those of its numbers and times."""
    keys: list[str] = []
    measures: list[str] = []
    for key, value in metadata.items():
        sort = sort_of(value)
        keys.append(key_term(secret, key, sort))
        if sort in (Sort.NUMBER, Sort.TIME):
            measures.append(measure_term(secret, key, value))
    return keys, measures
