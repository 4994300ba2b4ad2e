"""Conditions met by looking at every item as a reply shows it: what the index is held against.

Nothing here is taken from the product but the shape of its replies.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rewound.memory.replies import View

Json = Any
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_ARTICLES = ("the ", "a ", "an ")
NOTHING: Any = object()


def meets(where: Json, item: View, messages: Mapping[str, View], home: View | None) -> bool:
    """Whether an item meets a tree. `messages` are all that may be spoken of at the moment, `home`
    is the document of a passage."""
    if "and" in where:
        return all(meets(part, item, messages, home) for part in where["and"])
    if "or" in where:
        return any(meets(part, item, messages, home) for part in where["or"])
    if "not" in where:
        return not meets(where["not"], item, messages, home)
    field, op, value = where["field"], where["op"], where.get("value", NOTHING)
    held = _held(field, item, messages, home)
    if op == "exists":
        return (held != []) is (value is not False)
    if op == "neq":
        return not _one(field, "eq", held, value, where)
    if op == "in":
        return any(_one(field, "eq", held, each, where) for each in value)
    return _one(field, op, held, value, where)


def _held(field: str, item: View, messages: Mapping[str, View], home: View | None) -> list[Any]:
    """All values that an item has under a field."""
    if field.startswith("metadata."):
        found = _at(item.metadata, field.removeprefix("metadata."))
        return [] if found is NOTHING else [found]
    match field:
        case "tag":
            return list(item.tags)
        case "kind":
            return [item.fact_kind] if item.fact_kind else []
        case "what":
            return [item.kind]
        case "subject":
            return [item.subject] if item.subject else []
        case "attribute":
            return [item.attribute] if item.attribute else []
        case "entity":
            return [name for name in (item.subject, item.value) if name]
        case "speaker":
            said = [messages[s.id] for s in item.sources if s.id in messages]
            said += [item] if item.kind == "message" else []
            return [view.speaker for view in said if view.speaker]
        case "source":
            own = [] if item.kind in ("fact", "passage") else [item.id]
            return own + [source.id for source in item.sources]
        case "valid_from":
            return [item.valid_from] if item.kind == "fact" else []
        case "valid_to":
            return [item.valid_to] if item.kind == "fact" and item.valid_to else []
        case "said_at":
            shown = home or item
            said_at = shown.said_at or (None if item.kind == "fact" else shown.recorded_at)
            return [said_at] if said_at else []
        case "recorded_at":
            return [(home or item).recorded_at]
    raise AssertionError(field)


def _at(metadata: Mapping[str, Any], path: str) -> Any:
    keys = path.split(".")
    for count in range(len(keys), 0, -1):
        key = ".".join(keys[:count])
        if key not in metadata:
            continue
        if count == len(keys):
            return metadata[key]
        if isinstance(metadata[key], dict):
            found = _at(metadata[key], ".".join(keys[count:]))
            if found is not NOTHING:
                return found
    return NOTHING


def _one(field: str, op: str, held: list[Any], value: Any, where: Json) -> bool:
    if field in ("valid_from", "valid_to", "said_at", "recorded_at"):
        return any(_timed(op, each, value) for each in held)
    if field in ("entity", "subject", "attribute", "speaker"):
        if op == "contains":
            return any(_bare(value) in _bare(each) for each in held)
        return any(_name(each) == _name(value) for each in held)
    fold = bool(where.get("ignore_case"))
    if op == "array_contains" and field != "tag":
        return any(
            isinstance(each, list | tuple) and any(_same(part, value, fold) for part in each)
            for each in held
        )
    if op == "contains":
        texts = [each for each in held if isinstance(each, str)]
        if fold:
            return any(value.casefold() in text.casefold() for text in texts)
        return any(value in text for text in texts)
    if op in ("gt", "gte", "lt", "lte"):
        return any(_ordered(op, each, value) for each in held)
    if not field.startswith("metadata."):
        return any((e.casefold() == value.casefold()) if fold else e == value for e in held)
    return any(_same(each, value, fold) for each in held)


def _bare(name: str) -> str:
    return " ".join(name.casefold().split())


def _name(name: str) -> str:
    bare = _bare(name)
    for article in _ARTICLES:
        if bare.startswith(article):
            return bare.removeprefix(article)
    return bare


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else datetime.fromisoformat(text + "T00:00:00+00:00")


def _timed(op: str, held: str, value: str) -> bool:
    at, start = _instant(held), _instant(value)
    end = start + (timedelta(days=1) if len(value) == 10 else timedelta(microseconds=1))
    return {
        "eq": start <= at < end,
        "gt": at >= end,
        "gte": at >= start,
        "lt": at < start,
        "lte": at < end,
    }[op]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "list" if isinstance(value, list | tuple) else type(value).__name__


def _both_times(one: Any, other: Any) -> bool:
    return bool(_TIME.fullmatch(one) and _TIME.fullmatch(other))


def _same(one: Any, other: Any, fold: bool) -> bool:
    if _kind(one) != _kind(other):
        return False
    match _kind(one):
        case "str" if _both_times(one, other):
            return _instant(one) == _instant(other)
        case "str" if fold:
            return bool(one.casefold() == other.casefold())
        case "list":
            return len(one) == len(other) and all(
                _same(a, b, fold) for a, b in zip(one, other, strict=True)
            )
        case "dict":
            return set(one) == set(other) and all(_same(one[k], other[k], fold) for k in one)
    return bool(one == other)


def _ordered(op: str, one: Any, other: Any) -> bool:
    if _kind(one) != _kind(other):
        return False
    if _kind(one) == "str" and _both_times(one, other):
        one, other = _instant(one), _instant(other)
    return bool(
        {"gt": one > other, "gte": one >= other, "lt": one < other, "lte": one <= other}[op]
        if _kind(one) in ("number", "str", "datetime")
        else False
    )
