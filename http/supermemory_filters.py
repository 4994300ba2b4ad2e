"""The filters of Supermemory's v3 and v4 API, in a tree of conditions of ours.

    {"AND": [{"key": "topic", "value": "sea"}, {"OR": [{"key": …, "negate": true}, …]}]}

A condition is about metadata. Its `filterType` says how the value is compared: `metadata` (equal;
the default), `numeric` (by `numericOperator`), `string_contains` or `array_contains`. Values come
as text, so an equal text stands for the number or truth that it spells as well. `negate` inverts:
what has no such key then passes. Anything else is refused by its place, since leaving it out would
find more than was asked for.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from rewound.http.problems import Problem, invalid
from rewound.memory import RewoundError
from rewound.memory.condition_checks import DEPTH_MAX, check
from rewound.memory.conditions import METADATA, Op, Where

_FIELDS: Final = ("key", "value", "negate", "ignoreCase", "filterType", "numericOperator")
_TYPES: Final = ("metadata", "numeric", "array_contains", "string_contains")
_OPERATORS: Final[dict[str, Op]] = {">": "gt", "<": "lt", ">=": "gte", "<=": "lte", "=": "eq"}


def conditions(filters: dict[str, Any] | str | None) -> Where | None:
    """The tree that filters stand for, None for none; as text they are JSON.

    Raises Problem naming what is no filter.
    """
    if isinstance(filters, str):
        filters = _from_text(filters)
    if not filters or filters == {"AND": []}:
        return None
    tree = _node(filters, "filters", 1)
    try:
        check(tree, "filters")
    except RewoundError as error:  # a limit: its place is that of our own tree
        raise invalid(error.message, "filters") from None
    return tree


def _from_text(text: str) -> dict[str, Any]:
    try:
        found: Any = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        found = None
    if not isinstance(found, dict):
        raise invalid("filters must be an object, or one written as JSON", "filters")
    return found


def _node(node: Any, place: str, depth: int) -> Where:
    if not isinstance(node, dict):
        raise invalid(f"{place} must be an object", place)
    if depth > DEPTH_MAX:
        raise invalid(f"filters are nested over {DEPTH_MAX} levels, which is the most", "filters")
    if "key" in node:
        return _leaf(node, place)
    joined: list[Where] = []
    for name, operands in node.items():
        if name not in ("AND", "OR") or not isinstance(operands, list):
            raise invalid(f"{place}.{name[:40]} is not read: use AND or OR with a list", place)
        if not operands:
            raise invalid(f"{place}.{name} is empty: give a condition", f"{place}.{name}")
        parts = tuple(
            _node(operand, f"{place}.{name}[{number}]", depth + 1)
            for number, operand in enumerate(operands)
        )
        joined.append(Where(and_=parts) if name == "AND" else Where(or_=parts))
    if not joined:
        raise invalid(f"{place} is empty: give a key and a value, AND or OR", place)
    return joined[0] if len(joined) == 1 else Where(and_=tuple(joined))


def _leaf(leaf: dict[str, Any], place: str) -> Where:
    unknown = set(leaf).difference(_FIELDS)
    if unknown:
        raise invalid(f"{place}.{min(unknown)[:40]} is not a field here", place)
    kind = leaf.get("filterType", "metadata")
    if kind not in _TYPES:
        raise invalid(f"{place}.filterType must be {_either(_TYPES)}", f"{place}.filterType")
    key, value = leaf["key"], leaf.get("value")
    if not isinstance(key, str) or not isinstance(value, str | int | float | bool):
        raise invalid(f"{place} wants a key and a value that is text, a number or true", place)
    if not key.strip():
        raise invalid(f"{place}.key is blank: name a key of the metadata", f"{place}.key")
    found = _compared(leaf, kind, value, place)
    return Where(not_=found) if _flag(leaf, "negate", place) else found


def _compared(leaf: dict[str, Any], kind: str, value: Any, place: str) -> Where:
    field = METADATA + leaf["key"]
    ignore_case = _flag(leaf, "ignoreCase", place)
    if kind == "numeric":
        operator = leaf.get("numericOperator", "=")
        if not isinstance(operator, str) or operator not in _OPERATORS:
            name = f"{place}.numericOperator"
            raise invalid(f"{name} must be {_either(tuple(_OPERATORS))}", name)
        return Where(field=field, op=_OPERATORS[operator], value=_number(value, place))
    if kind == "string_contains":
        if not isinstance(value, str) or not value:
            raise invalid(f"{place}.value must be text to look for", f"{place}.value")
        return Where(field=field, op="contains", value=value, ignore_case=ignore_case)
    if kind == "array_contains":
        spelt = _spelt(value)
        parts = tuple(
            Where(field=field, op="array_contains", value=each, ignore_case=ignore_case)
            for each in spelt
        )
        return parts[0] if len(parts) == 1 else Where(or_=parts)
    return Where(field=field, op="in", value=_spelt(value), ignore_case=ignore_case)


def _spelt(value: Any) -> tuple[Any, ...]:
    """The value, and the number or truth that a text spells just as JSON writes it."""
    if not isinstance(value, str):
        return (value,)
    try:
        read: Any = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return (value,)
    if isinstance(read, int | float) and msgspec.json.encode(read).decode() == value:
        return (value, read)
    return (value,)


def _flag(leaf: dict[str, Any], name: str, place: str) -> bool:
    """True or false, which their client also sends as text."""
    value = leaf.get(name)
    if value in (None, False, "false"):
        return False
    if value in (True, "true"):
        return True
    raise invalid(f"{place}.{name} must be true or false", f"{place}.{name}")


def _number(value: Any, place: str) -> int | float:
    problem: Problem = invalid(f"{place}.value must be a number", f"{place}.value")
    if isinstance(value, bool):
        raise problem
    try:
        return msgspec.convert(value, int | float, strict=False)
    except msgspec.ValidationError:
        raise problem from None


def _either(values: tuple[str, ...]) -> str:
    return f"{', '.join(values[:-1])} or {values[-1]}"
