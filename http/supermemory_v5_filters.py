"""The filter of Supermemory's v5 API, in a tree of conditions of ours.

    {"operator": "and", "operands": [
        {"field": "topic", "operator": "eq", "value": "sea", "caseSensitive": false}, …]}

A condition is about metadata, and a dot in its `field` belongs to the name. Anything else is
refused by its place, since leaving it out would find more than was asked for.
"""

from __future__ import annotations

from typing import Any, Final

from rewound.http.problems import invalid
from rewound.memory import RewoundError
from rewound.memory.condition_checks import DEPTH_MAX, check
from rewound.memory.conditions import METADATA, Op, Where

_JOINS: Final = ("and", "or")
_ORDER: Final = ("gt", "gte", "lt", "lte")
_EQUAL: Final = ("eq", "neq")
_WITHIN: Final[dict[str, Op]] = {
    "contains": "contains",
    "notContains": "contains",
    "arrayContains": "array_contains",
    "arrayNotContains": "array_contains",
}
_NEGATED: Final = ("notContains", "arrayNotContains")
_WITH_CASE: Final = (*_EQUAL, "contains", "notContains")
_OPERATORS: Final = (*_EQUAL, *_ORDER, *_WITHIN)


def conditions_of(tree: dict[str, Any] | None) -> Where | None:
    """The tree that a filter stands for, None for none. Raises Problem naming what is no filter."""
    if not tree:
        return None
    found = _node(tree, "filter", 1)
    try:
        check(found, "filter")
    except RewoundError as error:  # a limit: its place is that of our own tree
        raise invalid(error.message, "filter") from None
    return found


def _node(node: Any, place: str, depth: int) -> Where:
    if not isinstance(node, dict):
        raise invalid(f"{place} must be an object", place)
    if depth > DEPTH_MAX:
        raise invalid(f"filter is nested over {DEPTH_MAX} levels, which is the most", "filter")
    if "field" in node:
        return _leaf(node, place)
    _check_fields(node, ("operator", "operands"), place)
    operator, operands = node.get("operator"), node.get("operands")
    if operator not in _JOINS:
        raise invalid(
            f"{place} joins conditions by the operator and or or, and a condition has a field",
            f"{place}.operator",
        )
    if not isinstance(operands, list) or not operands:
        raise invalid(f"{place}.operands must be a list of conditions", f"{place}.operands")
    parts = tuple(
        _node(operand, f"{place}.operands[{number}]", depth + 1)
        for number, operand in enumerate(operands)
    )
    return Where(and_=parts) if operator == "and" else Where(or_=parts)


def _leaf(leaf: dict[str, Any], place: str) -> Where:
    _check_fields(leaf, ("field", "operator", "value", "caseSensitive"), place)
    name, operator, value = leaf["field"], leaf.get("operator"), leaf.get("value")
    if not isinstance(name, str) or not name.strip():
        raise invalid(f"{place}.field must name a key of the metadata", f"{place}.field")
    if operator not in _OPERATORS:
        raise invalid(
            f"{place}.operator must be one of {', '.join(_OPERATORS)}", f"{place}.operator"
        )
    field = METADATA + name
    _check_value(operator, value, place)
    ignore_case = _ignores_case(leaf, operator, value, place)
    if operator in _WITHIN:
        found = Where(field=field, op=_WITHIN[operator], value=value, ignore_case=ignore_case)
        return Where(not_=found) if operator in _NEGATED else found
    return Where(field=field, op=operator, value=value, ignore_case=ignore_case)


def _check_fields(node: dict[str, Any], known: tuple[str, ...], place: str) -> None:
    unknown = set(node).difference(known)
    if unknown:
        raise invalid(f"{place}.{min(unknown)[:40]} is not a field here", place)


def _check_value(operator: str, value: Any, place: str) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if operator in _ORDER:
        right, wanted = is_number, "a number"
    elif operator in _EQUAL:
        right, wanted = isinstance(value, str | int | float), "text, a number, true or false"
    else:
        right, wanted = isinstance(value, str) and bool(value), "text to look for"
    if not right:
        raise invalid(f"{place}.value must be {wanted} for {operator}", f"{place}.value")


def _ignores_case(leaf: dict[str, Any], operator: str, value: Any, place: str) -> bool:
    if "caseSensitive" not in leaf:
        return False
    told, name = leaf["caseSensitive"], f"{place}.caseSensitive"
    if not isinstance(told, bool):
        raise invalid(f"{name} must be true or false", name)
    if operator not in _WITH_CASE or not isinstance(value, str):
        raise invalid(f"{name} says nothing here: it is for text and {', '.join(_WITH_CASE)}", name)
    return not told
