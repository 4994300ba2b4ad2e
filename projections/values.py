"""Values of metadata, found by a path and compared.

Numbers are compared as numbers (5 is 5.0), texts as texts, and RFC 3339 times as times where both
texts are one, whatever their offsets. Nothing else is alike: "5" is no number, and neither is true.
"""

import enum
from collections.abc import Mapping
from typing import Any, Final

from rewound.eventlog.spelling import composed
from rewound.projections import measures


class _Missing(enum.Enum):
    MISSING = 0


MISSING: Final = _Missing.MISSING
"""There is no value at a path; null is one."""


def at(metadata: Mapping[str, Any], path: str) -> Any:
    """The value at a path, MISSING where there is none.

    A dot leads into an object. A key may hold dots itself: the longest that leads somewhere counts.
    """
    if path in metadata:
        return metadata[path]
    end = path.rfind(".")
    while end > 0:
        inner = metadata.get(path[:end])
        if isinstance(inner, Mapping):
            found = at(inner, path[end + 1 :])
            if found is not MISSING:
                return found
        end = path.rfind(".", 0, end)
    return MISSING


def holds(op: str, value: Any, operand: Any, *, ignore_case: bool = False) -> bool:
    """Whether a value is eq, gt, gte, lt or lte the operand, or contains or array_contains it."""
    match op:
        case "eq":
            return same(value, operand, ignore_case=ignore_case)
        case "contains":
            if not isinstance(value, str):
                return False
            part, whole = composed(operand), composed(value)
            return part.casefold() in whole.casefold() if ignore_case else part in whole
        case "array_contains":
            return isinstance(value, list) and any(
                same(part, operand, ignore_case=ignore_case) for part in value
            )
    return _is_ordered(op, value, operand)


def same(one: Any, other: Any, *, ignore_case: bool = False) -> bool:
    match one, other:
        case str(), str():
            times = (measures.time_of(one), measures.time_of(other))
            if None not in times:
                return times[0] == times[1]
            left, right = composed(one), composed(other)
            return left.casefold() == right.casefold() if ignore_case else left == right
        case list() | tuple(), list() | tuple():
            return len(one) == len(other) and all(
                same(*parts, ignore_case=ignore_case) for parts in zip(one, other, strict=True)
            )
        case Mapping(), Mapping():
            return one.keys() == other.keys() and all(
                same(one[key], other[key], ignore_case=ignore_case) for key in one
            )
    alike = _is_number(one) and _is_number(other)
    return bool((alike or type(one) is type(other)) and one == other)


def _is_ordered(op: str, value: Any, operand: Any) -> bool:
    if isinstance(value, str) and isinstance(operand, str):
        times = (measures.time_of(value), measures.time_of(operand))
        if None not in times:
            value, operand = times
    elif not (_is_number(value) and _is_number(operand)):
        return False
    below, above = value < operand, value > operand
    return bool({"gt": above, "gte": not below, "lt": below, "lte": not above}[op])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
