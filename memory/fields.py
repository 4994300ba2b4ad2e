"""Limits on what comes in, and the check of one field of each sort.

A check takes the value and the field's name, and raises InvalidInput that names the field, says
what was wrong and what would be right. It never quotes a memory's text.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import msgspec

from rewound.eventlog.errors import InvalidInput, RewoundError
from rewound.eventlog.ids import Kind, parse, parse_any
from rewound.eventlog.instants import parse_instant
from rewound.memory.durations import parse_duration
from rewound.memory.requests import Scope

TEXT_BYTES_MAX = 32 * 1024 * 1024
FACT_CHARS_MAX = 10_000
QUERY_CHARS_MAX = 32_000
ID_CHARS_MAX = 2_000
LABEL_CHARS_MAX = 8_000  # titles, addresses, subjects, values, names, reasons
CONTAINER_CHARS_MAX = 200
SCOPE_CHARS_MAX = 1_000
TAGS_MAX = 200
TAG_CHARS_MAX = 1_000
METADATA_DEPTH_MAX = 20
METADATA_BYTES_MAX = 64 * 1024
BATCH_MAX = 10_000
LIMIT_MAX = 1_000
BUDGET_TOKENS_MAX = 200_000

Check = Callable[[Any, str], None]

NOW = "now"

_LIKE_AN_ID = re.compile(r"[a-zA-Z]+_|[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}")
_DIGITS = re.compile(r"[0-9]{1,19}")
_INT_BITS = range(-(1 << 63), 1 << 63)


def string(value: Any, field: str) -> None:
    """Text that can be stored at all: whole Unicode characters, none of them zero."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {kind_of(value)}", field=field)
    if "\0" in value:
        raise InvalidInput(
            f"{field} holds a zero character (U+0000) at {value.index(chr(0))}: leave it out",
            field=field,
        )
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(value[error.start]):04X}"
        raise InvalidInput(
            f"{field} holds half a character ({half}, a lone surrogate) at {error.start}: send "
            "whole Unicode characters",
            field=field,
        ) from None


def is_blank(text: str) -> bool:
    """Nothing to be seen: only white space, control and formatting characters."""
    rest = text.strip()
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in rest)


def words(chars_max: int) -> Check:
    """Text that is not blank, up to a number of characters."""

    def check(value: Any, field: str) -> None:
        string(value, field)
        if len(value) > chars_max:
            raise InvalidInput(
                f"{field} has {len(value):,} characters, at most {chars_max:,} are allowed",
                field=field,
            )
        if is_blank(value):
            raise InvalidInput(f"{field} is blank: give it some text", field=field)

    return check


def body(value: Any, field: str) -> None:
    """A text to be kept: not blank, up to 32 MB."""
    string(value, field)
    if len(value) * 4 > TEXT_BYTES_MAX and len(value.encode()) > TEXT_BYTES_MAX:
        raise InvalidInput(
            f"{field} is longer than {TEXT_BYTES_MAX // (1024 * 1024)} MB: split it up", field=field
        )
    if is_blank(value):
        raise InvalidInput(f"{field} is blank: there is nothing to remember", field=field)


def statement(value: Any, field: str) -> None:
    """A text to be taken as one fact, word for word."""
    body(value, field)
    if len(value) > FACT_CHARS_MAX:
        raise InvalidInput(
            f"{field} has {len(value):,} characters, but one fact has at most {FACT_CHARS_MAX:,}: "
            "ingest it as a document (with infer on) and let the facts be drawn from it",
            field=field,
        )


def flag(value: Any, field: str) -> None:
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} must be true or false, not {kind_of(value)}", field=field)


def never(why: str) -> Check:
    """A flag that a request has and cannot be true."""

    def check(value: Any, field: str) -> None:
        flag(value, field)
        if value:
            raise InvalidInput(why, field=field)

    return check


def whole(low: int, high: int | None = None) -> Check:
    """A whole number in [low, high]."""
    right = f"from {low:,} to {high:,}" if high is not None else f"{low:,} or more"

    def check(value: Any, field: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(
                f"{field} must be a whole number {right}, not {kind_of(value)}", field=field
            )
        if value < low or value > (_INT_BITS[-1] if high is None else high):
            shown = value if value in _INT_BITS else "a number over 64 bits"
            raise InvalidInput(f"{field} is {shown}, but it must be {right}", field=field)

    return check


def share(value: Any, field: str) -> None:
    """A number from 0 to 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise InvalidInput(f"{field} must be a number from 0 to 1", field=field)


def one_of(literal: Any) -> Check:
    """One of the values of a Literal type."""
    values = get_args(literal)

    def check(value: Any, field: str) -> None:
        if value not in values:
            shown = repr(value) if isinstance(value, str) and len(value) <= 40 else kind_of(value)
            raise InvalidInput(f"{field} is {shown}, but it must be {either(values)}", field=field)

    return check


def optional(check: Check) -> Check:
    def checked(value: Any, field: str) -> None:
        if value is not None:
            check(value, field)

    return checked


def each(check: Check, count_max: int, *, empty: bool = True) -> Check:
    """A list, each element of which passes a check."""

    def checked(value: Any, field: str) -> None:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise InvalidInput(f"{field} must be a list, not {kind_of(value)}", field=field)
        if len(value) > count_max:
            raise InvalidInput(
                f"{field} has {len(value):,} entries, at most {count_max:,} are allowed",
                field=field,
            )
        if not value and not empty:
            raise InvalidInput(f"{field} is empty: give at least one", field=field)
        for number, entry in enumerate(value):
            check(entry, f"{field}[{number}]")

    return checked


tags = each(words(TAG_CHARS_MAX), TAGS_MAX)


def time(value: Any, field: str) -> None:
    string(value, field)
    parse_instant(value, field=field)


def duration(value: Any, field: str) -> None:
    string(value, field)
    parse_duration(value, field)


def time_or_now(value: Any, field: str) -> None:
    string(value, field)
    if value.strip().lower() != NOW:
        parse_instant(value, field=field)


def moment(value: Any, field: str) -> None:
    """A time, `@position`, an event's id, or `now`."""
    string(value, field)
    value = value.strip()
    if value.lower() == NOW:
        return
    if value.startswith("@"):
        position = value[1:]
        if not (_DIGITS.fullmatch(position) and int(position) in _INT_BITS):
            raise InvalidInput(
                f"{field} is not a position: write @ and a whole number, such as @123", field=field
            )
    elif _LIKE_AN_ID.match(value):
        parse(value, Kind.EVENT, field=field)
    else:
        try:
            parse_instant(value, field=field)
        except InvalidInput as error:
            raise InvalidInput(f"{error.message}; or @123, or an event's id", field=field) from None


def event_or_group(value: Any, field: str) -> None:
    string(value, field)
    kind, _ = parse_any(value, field=field)
    if kind not in (None, Kind.EVENT, Kind.GROUP):
        parse(value, Kind.EVENT, field=field)


def scope(value: Any, field: str) -> None:
    if not isinstance(value, Scope):
        raise InvalidInput(f"{field} must be a scope, not {kind_of(value)}", field=field)
    for name in Scope.__struct_fields__:
        part = getattr(value, name)
        if part is not None:
            words(SCOPE_CHARS_MAX)(part, f"{field}.{name}")


def metadata(value: Any, field: str) -> None:
    """JSON of bounded depth and size, that comes back as it was given."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be an object, not {kind_of(value)}", field=field)
    _json(value, field, 1)
    size = len(msgspec.json.encode(value))
    if size > METADATA_BYTES_MAX:
        raise InvalidInput(
            f"{field} is {size:,} bytes of JSON, at most {METADATA_BYTES_MAX:,} are allowed",
            field=field,
        )


def _json(value: Any, field: str, depth: int) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        string(value, field)
    elif isinstance(value, int):
        if value not in _INT_BITS:
            raise InvalidInput(f"{field} is a number over 64 bits: send it as text", field=field)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{field} is {value}, which JSON does not have", field=field)
    elif isinstance(value, Mapping | list | tuple):
        _nested(value, field, depth)
    else:
        raise InvalidInput(
            f"{field} is {kind_of(value)}: use text, numbers, true, false, null, lists and objects",
            field=field,
        )


def _nested(value: Mapping[Any, Any] | Sequence[Any], field: str, depth: int) -> None:
    if depth > METADATA_DEPTH_MAX:
        raise InvalidInput(
            f"{field} is nested more than {METADATA_DEPTH_MAX} levels deep, which is the most",
            field=field,
        )
    if not isinstance(value, Mapping):
        for number, entry in enumerate(value):
            _json(entry, f"{field}[{number}]", depth + 1)
        return
    for name, entry in value.items():
        string(name, f"a key of {field}")
        shown = name if len(name) <= 40 else name[:37] + "…"
        _json(entry, f"{field}.{shown}", depth + 1)


def kind_of(value: Any) -> str:
    """A value's type in words, for messages."""
    if value is None:
        return "nothing"
    names: dict[type, str] = {
        bool: "true or false", int: "a number", float: "a number", str: "text", bytes: "bytes",
        list: "a list", tuple: "a list", set: "a set", dict: "an object",
    }  # fmt: skip
    return names.get(type(value), f"a {type(value).__name__}")


def either(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


def named(error: RewoundError, prefix: str) -> InvalidInput:
    """The same error with the field put below `prefix`."""
    field = f"{prefix}.{error.field}" if error.field else prefix
    return InvalidInput(error.message, field=field)
