"""From what a Python or JSON caller has at hand to the fields of a request."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, TypeVar, get_args

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import show_us
from rewound.memory.conditions import Op, Where
from rewound.memory.fields import either, kind_of
from rewound.memory.requests import (
    FactKindName,
    MediaName,
    OutcomeName,
    ProfileFormat,
    RoleName,
    Scope,
    What,
)

Time = str | datetime | date | int | float
"""A time as callers have it: RFC 3339 or a day as text, a datetime or date, or Unix seconds."""

As_of = str | datetime | date | int
"""A moment: a time, `@position` or an event's id as text, or a position as a number."""

SECONDS_MAX = 100_000_000_000  # the year 5138; what is larger is in milliseconds or finer

S = TypeVar("S", bound=msgspec.Struct)


def as_time(value: Time | None, field: str) -> str | None:
    """A time as requests hold it. A datetime without a zone is in the container's zone."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        offset = value.utcoffset()
        if offset is not None and offset.total_seconds() % 60:
            value = value.astimezone(UTC)  # an old local mean time; RFC 3339 has whole minutes
        return value.isoformat(timespec="microseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(
            f"{field} must be a time (text, datetime or Unix seconds), not {kind_of(value)}",
            field=field,
        )
    if not -SECONDS_MAX < value < SECONDS_MAX:
        raise InvalidInput(
            f"{field} is out of range: a number is read as Unix seconds; divide milliseconds by "
            "1000, or give a datetime",
            field=field,
        )
    try:
        return show_us(round(value * 1_000_000))
    except OverflowError:
        raise InvalidInput(f"{field} lies before the year 1", field=field) from None


def as_moment(value: As_of | None, field: str) -> str | None:
    """A moment as requests hold it: a number is a position."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < 1 << 63:
            raise InvalidInput(f"{field} is not a position: give 0 or more", field=field)
        return f"@{value}"
    return as_time(value, field)


def as_scope(value: Scope | Mapping[str, str | None] | None, field: str = "scope") -> Scope:
    """A scope from a mapping of user, agent, run and session."""
    if value is None:
        return Scope()
    if isinstance(value, Scope):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be an object, not {kind_of(value)}", field=field)
    return convert(Scope, value, field)


def convert(kind: type[S], given: Mapping[str, Any], field: str = "") -> S:
    """A struct from a mapping. Raises InvalidInput naming the field that does not fit."""
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        raise translated(error, kind, field) from None
    except RecursionError:
        place = field or "the request"
        raise InvalidInput(f"{place} is nested too deep to be read", field=field or None) from None


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}
_TREE = re.compile(r"(?:^|\.)where(?:\.(?:and|or)\[(?:\d+|\.\.\.)\]|\.not)*$")
"""The place of a condition in a tree."""
_LITERALS = {"op": Op, "kind": FactKindName, "kinds": FactKindName, "what": What, "role": RoleName,
             "media": MediaName, "outcome": OutcomeName, "format": ProfileFormat}  # fmt: skip
_PATH = re.compile(r" - at `\$?\.?(?P<path>[^`]*)`$")
_KEY = re.compile(r" - at `key` in `\$?\.?(?P<path>[^`]*)`$")
_EXPECTED = re.compile(
    r"Expected `(?P<right>[^`]+)`(?:, got `(?P<wrong>[^`]+)`)?"
    r"(?P<long> of length)?(?: (?P<bound>[<>]=) (?P<size>[\d.-]+))?"
)
_BOUNDS = {">=": "at least", "<=": "at most"}
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`$")


def translated(
    error: msgspec.ValidationError, kind: type[msgspec.Struct] | None = None, field: str = ""
) -> InvalidInput:
    """What msgspec found wrong with an input, in our words and with the field's name."""
    message = str(error)
    path = ""
    key = _KEY.search(message)
    if found := key or _PATH.search(message):
        path = found["path"]
        message = message[: found.start()]
    place = ".".join(part for part in (field, path) if part)
    if found := _MISSING.match(message):
        name = ".".join(part for part in (place, found["name"]) if part)
        return InvalidInput(f"{name} is missing", field=name)
    if found := _UNKNOWN.match(message):
        name = ".".join(part for part in (place, found["name"][:100]) if part)
        allowed = kind.__struct_encode_fields__ if kind is not None and not path else ()
        if _TREE.search(place):
            allowed = Where.__struct_encode_fields__
        hint = f": use {either(allowed)}" if allowed else ""
        return InvalidInput(f"{name} is not a field here{hint}", field=name)
    what = f"a key of {place}" if key else place or "the request"
    if found := _EXPECTED.match(message):
        right = either([_TYPES.get(part.strip(), part) for part in found["right"].split("|")])
        wrong = f", not {_TYPES.get(found['wrong'], found['wrong'])}" if found["wrong"] else ""
        bound = _bound(found) if found["bound"] else ""
        return InvalidInput(f"{what} must be {right}{wrong}{bound}", field=place or None)
    literal = _LITERALS.get(re.sub(r"\[.*", "", place.rpartition(".")[2]))
    if message.startswith("Invalid enum value") and literal is not None:
        values = either(get_args(literal))
        return InvalidInput(f"{what} must be {values}", field=place)
    return InvalidInput(f"{what}: {message}", field=place or None)


def _bound(found: re.Match[str]) -> str:
    """What a value may be at most or at least, or how long."""
    bound = f"{_BOUNDS[found['bound']]} {found['size'].removesuffix('.0')}"
    if not found["long"]:
        return f" of {bound}"
    return f" of {bound} {'characters' if found['right'] == 'str' else 'entries'}"
