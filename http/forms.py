"""Forms: what a client fills in, made from the request structs of the store.

A form is a struct without the request's type tag and without the fields that the path says. In a
query string the parts of a scope and of filters stand beside the other fields.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from rewound.memory.requests import Filters, Request, Scope

SCOPE_PARTS = Scope.__struct_fields__
FILTER_PARTS = tuple(name for name in Filters.__struct_fields__ if name != "scope")

Field = tuple[str, Any] | tuple[str, Any, Any]

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_BOOLS = {"true": True, "1": True, "false": False, "0": False}


def fields_of(struct: type[msgspec.Struct], omit: Iterable[str] = ()) -> list[Field]:
    """A struct's fields with types and defaults, but for some."""
    hints = typing.get_type_hints(struct, include_extras=True)
    left_out = frozenset(omit)
    found: list[Field] = []
    for field in msgspec.structs.fields(struct):
        if field.name in left_out:
            continue
        if field.default is not msgspec.NODEFAULT:
            found.append((field.name, hints[field.name], field.default))
        elif field.default_factory is not msgspec.NODEFAULT:
            made = msgspec.field(default_factory=field.default_factory)
            found.append((field.name, hints[field.name], made))
        else:
            found.append((field.name, hints[field.name]))
    return found


def body_form(
    name: str,
    request: type[Request],
    *,
    omit: Iterable[str] = (),
    only: Iterable[str] = (),
    more: Iterable[Field] = (),
) -> type[msgspec.Struct]:
    """The form of a body: the request's own fields, or `only` some of them, and `more`."""
    fields = fields_of(request, omit)
    kept = frozenset(only)
    return form(name, [*(field for field in fields if not kept or field[0] in kept), *more])


def query_form(
    name: str,
    request: type[Request],
    *,
    omit: Iterable[str] = (),
    filters: Iterable[str] = FILTER_PARTS,
    more: Iterable[Field] = (),
) -> type[msgspec.Struct]:
    """The form of a query string: scope and filters laid out flat, and `more` fields."""
    left_out = frozenset(omit)
    parts: list[Field] = []
    for field in fields_of(request, left_out):
        if field[0] == "scope":
            parts += fields_of(Scope)
        elif field[0] == "filters":
            wanted = frozenset(filters)
            parts += [part for part in fields_of(Filters) if part[0] in wanted]
        else:
            parts.append(field)
    return form(name, [*parts, *more])


def form(name: str, fields: Iterable[Field]) -> type[msgspec.Struct]:
    """A struct that knows its fields and no others."""
    return msgspec.defstruct(
        name, list(fields), frozen=True, kw_only=True, forbid_unknown_fields=True
    )


def gathered(values: dict[str, Any], *, filters: bool) -> dict[str, Any]:
    """The flat values of a query form with its scope and filters put together again."""
    scope = {name: values.pop(name) for name in SCOPE_PARTS if name in values}
    if any(part is not None for part in scope.values()):
        values["scope"] = Scope(**scope)
    if filters:
        values["filters"] = Filters(
            **{name: values.pop(name) for name in FILTER_PARTS if name in values}
        )
    return values


# --- values that were sent as text


def loosened(value: Any, kind: inspect.Type, *, from_query: bool = False) -> Any:
    """The value with lists and numbers that came as text read as what they are.

    A query string holds nothing but text, so there switches and objects are read too, and a list
    may be written `a,b`. What does not read as the wanted type is left for the check to name.
    """
    match kind:
        case inspect.UnionType():
            return _one_of(value, kind, from_query)
        case inspect.StructType() if isinstance(value, dict):
            types = {field.encode_name: field.type for field in kind.fields}
            return {
                name: loosened(part, types[name], from_query=from_query) if name in types else part
                for name, part in value.items()
            }
        case inspect.VarTupleType() | inspect.ListType():
            listed = _as_list(value, from_query)
            if isinstance(listed, list):
                return [loosened(part, kind.item_type) for part in listed]
            return listed
        case inspect.IntType() if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            return int(value)
        case inspect.FloatType() if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            return float(value)
        case inspect.BoolType() if from_query and isinstance(value, str):
            return _BOOLS.get(value.strip().lower(), value)
        case inspect.DictType() | inspect.StructType() if from_query and isinstance(value, str):
            return _json(value, dict)
    return value


def _one_of(value: Any, kind: inspect.UnionType, from_query: bool) -> Any:
    """Text stays text where text is right; else the first type that it reads as."""
    if isinstance(value, str) and any(isinstance(each, inspect.StrType) for each in kind.types):
        return value
    for each in kind.types:
        read = loosened(value, each, from_query=from_query)
        if read is not value:
            return read
    return value


def _as_list(value: Any, from_query: bool) -> Any:
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            return _json(value, list)
        return [part.strip() for part in value.split(",")] if from_query else value
    if from_query and isinstance(value, list):  # the parameter was repeated
        return [part for each in value for part in _as_list(each, True)]
    return value


def _json(text: str, kind: type) -> Any:
    """The list or object that a text holds, else the text itself."""
    try:
        read = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return read if isinstance(read, kind) else text
