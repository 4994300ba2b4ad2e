"""What a tree of conditions must be: every part of it is named by its place where it is wrong."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.memory import fields as f
from rewound.memory.conditions import FIELDS, METADATA, NAMES, TIMES, Where
from rewound.memory.conversions import translated
from rewound.memory.requests import FactKindName, What

DEPTH_MAX: Final = 10
PARTS_MAX: Final = 1_000
"""Conditions and joins of one tree."""
VALUES_MAX: Final = 1_000
"""Values of one `in`."""
PATH_PARTS_MAX: Final = 20

_EQUAL = ("eq", "neq", "in")
_ORDER = ("gt", "gte", "lt", "lte")
_TEXTS = (*_EQUAL, "contains")
_LISTED = (*_TEXTS, "array_contains", "exists")
OPS: Final[Mapping[str, tuple[str, ...]]] = {
    "tag": _LISTED,
    "entity": _LISTED,
    **dict.fromkeys(("subject", "attribute", "speaker"), (*_TEXTS, "exists")),
    "kind": (*_EQUAL, "exists"),
    "what": _EQUAL,
    "source": (*_EQUAL, "exists"),
    "conversation": _EQUAL,
    **dict.fromkeys(TIMES, ("eq", "neq", *_ORDER, "exists")),
    METADATA: (*_EQUAL, *_ORDER, "contains", "array_contains", "exists"),
}
"""Field -> the ops that can be asked of it."""

_VALUES: Mapping[str, f.Check] = {
    **dict.fromkeys(("tag", *NAMES), f.words(f.TAG_CHARS_MAX)),
    "kind": f.one_of(FactKindName),
    "what": f.one_of(What),
    **dict.fromkeys(("source", "conversation"), f.words(f.ID_CHARS_MAX)),
    **dict.fromkeys(TIMES, f.time),
}
_JOINS = ("and", "or", "not", "field")


def read(value: Any, place: str = "filters.where") -> Where:
    """A tree from what a caller has at hand: a `Where`, or a mapping. Raises InvalidInput."""
    if not isinstance(value, Where):
        if not isinstance(value, Mapping):
            raise InvalidInput(
                f"{place} must be an object such as "
                f'{{"field": "tag", "op": "eq", "value": "work"}}, not {f.kind_of(value)}',
                field=place,
            )
        try:
            value = msgspec.convert(dict(value), Where)
        except msgspec.ValidationError as error:
            raise translated(error, Where, place) from None
        except RecursionError:
            raise _too_deep(place) from None
    check(value, place)
    found: Where = value
    return found


def check(value: Any, place: str) -> None:
    """Check a whole tree. Raises InvalidInput naming the first part that is wrong."""
    _Checked().node(value, place, 1)


class _Checked:
    """Counts the parts of a tree as they are checked."""

    def __init__(self) -> None:
        self._parts = 0

    def node(self, value: Any, place: str, depth: int) -> None:
        if not isinstance(value, Where):
            raise InvalidInput(f"{place} must be a condition, not {f.kind_of(value)}", field=place)
        if depth > DEPTH_MAX:
            raise _too_deep(place)
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise InvalidInput(
                f"{place} is one condition too many: at most {PARTS_MAX:,} are allowed", field=place
            )
        given = [name for name in _JOINS if _given(value, name) is not None]
        if len(given) > 1:
            raise InvalidInput(
                f"{place}.{given[1]} stands beside {given[0]}: join the two by an and",
                field=f"{place}.{given[1]}",
            )
        if given == ["field"]:
            _check_leaf(value, place)
            return
        _check_no_leaf(value, place)
        if not given:
            raise InvalidInput(
                f"{place} is empty: give and, or or not, or a field, an op and a value", field=place
            )
        inner = _given(value, given[0])
        if given == ["not"]:
            self.node(inner, f"{place}.not", depth + 1)
        else:
            self._parts_of(inner, f"{place}.{given[0]}", depth + 1)

    def _parts_of(self, parts: Any, place: str, depth: int) -> None:
        f.each(lambda *_: None, PARTS_MAX)(parts, place)
        if not parts:
            raise InvalidInput(f"{place} is empty: give at least one condition", field=place)
        for number, part in enumerate(parts):
            self.node(part, f"{place}[{number}]", depth)


def _given(where: Where, name: str) -> Any:
    return getattr(where, name if name == "field" else f"{name}_")


def _too_deep(place: str) -> InvalidInput:
    return InvalidInput(
        f"{place[:200]} is nested too deep: a tree of conditions has at most {DEPTH_MAX} levels",
        field=place[:200],
    )


def _check_no_leaf(where: Where, place: str) -> None:
    for name, left_out in (("op", None), ("value", msgspec.UNSET), ("ignore_case", False)):
        if getattr(where, name) is not left_out:
            raise InvalidInput(
                f"{place}.{name} stands without a field: add the field that it is about",
                field=f"{place}.{name}",
            )


# --- one condition


def _check_leaf(where: Where, place: str) -> None:
    field = where.field
    f.string(field, f"{place}.field")
    assert field is not None, "only a condition with a field is one"
    sort = METADATA if field.startswith(METADATA) else field
    if sort not in OPS:
        raise _unknown(field, place)
    if sort == METADATA:
        _check_path(field.removeprefix(METADATA), f"{place}.field")
    shown = field if len(field) <= 100 else "metadata"
    ops = f.either(OPS[sort])
    if where.op is None:
        raise InvalidInput(f"{place}.op is missing: {shown} takes {ops}", field=f"{place}.op")
    if where.op not in OPS[sort]:
        raise InvalidInput(
            f"{place}.op is {str(where.op)[:40]}, but {shown} takes {ops}", field=f"{place}.op"
        )
    f.flag(where.ignore_case, f"{place}.ignore_case")
    if where.ignore_case and (sort not in ("tag", METADATA, *NAMES) or where.op in _NO_CASE):
        raise InvalidInput(
            f"{place}.ignore_case says nothing here: it is for texts that are equal or contained",
            field=f"{place}.ignore_case",
        )
    _check_value(where, sort, place)


_NO_CASE = (*_ORDER, "exists")


def _unknown(field: str, place: str) -> InvalidInput:
    near = get_close_matches(field, FIELDS, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    shown = field if len(field) <= 40 else field[:37] + "…"
    return InvalidInput(
        f"{place}.field is {shown!r}{hint}, but it must be {', '.join(FIELDS)}, or metadata.NAME",
        field=f"{place}.field",
    )


def _check_path(path: str, place: str) -> None:
    f.words(f.TAG_CHARS_MAX)(path, place)
    parts = path.count(".") + 1
    if parts > PATH_PARTS_MAX:
        raise InvalidInput(
            f"{place} leads through {parts} keys, at most {PATH_PARTS_MAX} are allowed", field=place
        )


def _check_value(where: Where, sort: str, place: str) -> None:
    value, where_it_is = where.value, f"{place}.value"
    if where.op == "exists":
        if value is not msgspec.UNSET:
            f.flag(value, where_it_is)
        return
    if value is msgspec.UNSET:
        raise InvalidInput(
            f"{where_it_is} is missing: say what {where.op} compares with", field=where_it_is
        )
    if where.op == "in":
        f.each(lambda *_: None, VALUES_MAX, empty=False)(value, where_it_is)
        for number, each in enumerate(value):
            _check_one(each, where, sort, f"{where_it_is}[{number}]")
    else:
        _check_one(value, where, sort, where_it_is)


def _check_one(value: Any, where: Where, sort: str, place: str) -> None:
    if sort != METADATA:
        _VALUES[sort](value, place)
    elif where.op in _ORDER:
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise InvalidInput(
                f"{place} must be a number or text for {where.op}, not {f.kind_of(value)}",
                field=place,
            )
        _check_json(value, place)
    elif where.op == "contains":
        f.string(value, place)
        if not value:
            raise InvalidInput(f"{place} is empty, which every text contains", field=place)
        _check_json(value, place)
    else:
        if where.op == "array_contains" and isinstance(value, Mapping | Sequence):
            f.string(value, place)  # of lists and objects it says that they are no text
        _check_json(value, place)


def _check_json(value: Any, place: str) -> None:
    """JSON that metadata could hold. The check of a whole metadata names a key in its place."""
    head, _, key = place.rpartition(".")
    f.metadata({key: value}, head)


# --- what it says of nothing


def may_want_nothing(where: Where) -> bool:
    """Whether an item that has nothing to it may meet the tree: it says what items are not."""
    return _wants(where) is not False


def _wants(where: Where) -> bool | None:
    """What the tree says of an item without tags, names or metadata; None where that depends."""
    if where.not_ is not None:
        inner = _wants(where.not_)
        return None if inner is None else not inner
    if where.and_ is not None or where.or_ is not None:
        decides = where.or_ is not None
        said = {_wants(part) for part in (where.or_ or where.and_ or ())}
        if decides in said:
            return decides
        return None if None in said else not decides
    if where.field in ("what", "kind", "source", "conversation", *TIMES):
        return None
    if where.op == "exists":
        return where.value is False
    return where.op == "neq"
