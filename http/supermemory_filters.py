"""The filters of Supermemory's v3 and v4 API, as far as ours can say the same.

    {"AND": [{"key": "topic", "value": "sea"}, …]}

Equalities of metadata joined by AND, nested as deep as they like; a number is compared as one with
`filterType: numeric`. Anything else is refused by its place, since leaving it out would find more
than was asked for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rewound.http.problems import invalid


def equalities(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Metadata that must be equal; None when two values are asked of one key, which nothing has.

    Raises Problem naming what cannot be translated.
    """
    pairs: list[tuple[str, Any]] = []
    if filters is not None:
        _gather(filters, "filters", pairs)
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            return None
    return found


def _gather(node: Any, place: str, found: list[tuple[str, Any]]) -> None:
    if not isinstance(node, dict):
        raise invalid(f"{place} must be an object", place)
    if "key" in node:
        return _leaf(node, place, found)
    for name, operands in node.items():
        if name not in ("AND", "OR") or not isinstance(operands, list):
            raise invalid(f"{place}.{name[:40]} is not read: use AND with a list", place)
        if name == "OR" and len(operands) != 1:
            raise invalid(f"{place}.OR is not done here: use AND, or ask twice", f"{place}.OR")
        for number, operand in enumerate(operands):
            _gather(operand, f"{place}.{name}[{number}]", found)
    return None


def _leaf(leaf: dict[str, Any], place: str, found: list[tuple[str, Any]]) -> None:
    for name in ("negate", "ignoreCase"):
        if leaf.get(name) not in (None, False):
            raise invalid(f"{place}.{name} is not done here: leave it out", f"{place}.{name}")
    kind = leaf.get("filterType", "metadata")
    operator = leaf.get("numericOperator", "=")
    unknown = set(leaf) - {"key", "value", "negate", "ignoreCase", "filterType", "numericOperator"}
    if unknown:
        raise invalid(f"{place}.{min(unknown)[:40]} is not a field here", place)
    if kind not in ("metadata", "numeric"):
        raise invalid(f"{place}.filterType must be metadata or numeric here", f"{place}.filterType")
    if kind == "numeric" and operator != "=":
        name = f"{place}.numericOperator"
        raise invalid(f"{name} must be = here: numbers are compared for equality only", name)
    key, value = leaf["key"], leaf.get("value")
    if not isinstance(key, str) or not isinstance(value, str | int | float | bool):
        raise invalid(f"{place} wants a key and a value that is text, a number or true", place)
    value = _number(value, place) if kind == "numeric" else value
    found.append((key, value))


def _number(value: Any, place: str) -> int | float:
    try:
        return msgspec.convert(value, int | float, strict=False)
    except msgspec.ValidationError:
        raise invalid(f"{place}.value must be a number", f"{place}.value") from None
