"""Every route that takes a body, and wrong values for every field of it, from the structs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from rewound.memory import requests as q

FACT_ID = "fact_01jqz3v5x8e9q7m4n2k6h0w1ar"
EVENT_ID = "ev_01jqz3v5x8e9q7m4n2k6h0w1ar"
LABEL = {"fact": FACT_ID, "old": FACT_ID, "outcome": "updates"}
LISTS = ("facts", "documents", "messages", "labels")
"""Fields that hold several items."""


class Body(NamedTuple):
    """A route, the struct that its body is of, and a body that has the right form."""

    method: str
    path: str
    struct: type[msgspec.Struct]
    right: dict[str, Any]
    leaves_out: tuple[str, ...] = ()
    """Fields of the struct that the body does not have: they stand in the path, or nowhere."""
    inside: str = ""
    """The field of the body in which the struct lies, where it is not the body itself."""


BODIES = [
    Body("POST", "/v1/facts", q.Remember, {"facts": [{"text": "A."}]}),
    Body("POST", "/v1/facts", q.NewFact, {"text": "A."}),
    Body("POST", "/v1/facts", q.NewFact, {"text": "A."}, inside="facts"),
    Body("PATCH", f"/v1/facts/{FACT_ID}", q.Update, {"text": "A."}, ("id",)),
    Body("POST", "/v1/documents", q.Ingest, {"documents": [{"text": "A."}]}),
    Body("POST", "/v1/documents", q.NewDocument, {"text": "A."}),
    Body("POST", "/v1/documents", q.NewDocument, {"text": "A."}, inside="documents"),
    Body("PATCH", "/v1/documents/page", q.Update, {"add_tags": ["a"]}, ("id",)),
    Body("POST", "/v1/documents/page/remove", q.RemoveDocument, {}, ("id",)),
    Body("POST", "/v1/messages", q.AddMessages, {"messages": [{"content": "A."}]}),
    Body("POST", "/v1/messages", q.NewMessage, {"content": "A."}, inside="messages"),
    Body("POST", "/v1/search", q.Search, {"query": "a"}),
    Body("POST", "/v1/search", q.Filters, {}, inside="filters"),
    Body("POST", "/v1/search", q.Scope, {}, inside="scope"),
    Body("POST", "/v1/context", q.Context, {"query": "a"}),
    Body("POST", "/v1/context", q.Filters, {}, inside="filters"),
    Body("POST", "/v1/ask", q.Inquire, {"query": "a"}),
    Body("POST", "/v1/ask", q.Filters, {}, inside="filters"),
    Body("POST", "/v1/forget", q.Forget, {"query": "a"}),
    Body("POST", "/v1/forget", q.Filters, {"tags": ["a"]}, inside="filters"),
    Body("POST", "/v1/restore", q.Restore, {"ids": [FACT_ID]}),
    Body("POST", "/v1/erase", q.Erase, {"ids": [FACT_ID]}),
    Body("POST", "/v1/undo", q.Undo, {"id": EVENT_ID}),
    Body("POST", f"/v1/events/{EVENT_ID}/undo", q.Undo, {}, ("id",)),
    Body(
        "POST",
        f"/v1/events/{EVENT_ID}/forget",
        q.Forget,
        {},
        ("ids", "filters", "query", "limit"),
    ),
    Body("POST", "/v1/labels", q.Label, {"labels": [LABEL]}),
    Body("POST", "/v1/labels", q.NewLabel, LABEL),
    Body("POST", "/v1/labels", q.NewLabel, LABEL, inside="labels"),
    Body("POST", "/v1/policy/fit", q.Fit, {}, ("container",)),
    Body("POST", "/v1/rejudge", q.Rejudge, {}, ("container",)),
    Body("POST", "/v1/jobs/retry", q.Retry, {}),
    Body("POST", "/v1/workers", q.Workers, {"action": "status"}, ("container",)),
    Body("POST", "/v1/nodes", q.Nodes, {"action": "list"}, ("container",)),
    Body("PUT", "/v1/containers/home", q.Configure, {}, ("container",)),
    Body("POST", "/v1/verify", q.Verify, {}, ("container",)),
    Body("POST", "/v1/rebuild", q.Rebuild, {}, ("container",)),
    Body("POST", "/v1/replay", q.Replay, {"at": "@1"}, ("container", "to")),
]


class Wrong(NamedTuple):
    """A body with one wrong value, and the field that must be named."""

    body: Body
    field: str
    sent: dict[str, Any]

    def __str__(self) -> str:
        path = self.body.path.replace(FACT_ID, "ID").replace(EVENT_ID, "ID")
        value = repr(self.sent_value())[:40]
        return f"{self.body.method} {path} {self.field}={value}"

    def sent_value(self) -> Any:
        inner: Any = self.sent
        if self.body.inside:
            inner = inner[self.body.inside]
            inner = inner[0] if isinstance(inner, list) else inner
        return inner.get(self.field.rpartition(".")[2])


def wrong_types() -> Iterator[Wrong]:
    """For each field of each body, a value of every JSON type that is not the field's own."""
    for body in BODIES:
        info = inspect.type_info(body.struct)
        assert isinstance(info, inspect.StructType)
        for field in info.fields:
            if field.name in body.leaves_out:
                continue
            place = f"{body.inside}.{field.name}" if body.inside else field.name
            if body.inside in LISTS:
                place = f"{body.inside}[0].{field.name}"
            for value in wrong_values(field.type):
                yield Wrong(body, place, placed(body, field.name, value))


def placed(body: Body, name: str, value: Any) -> dict[str, Any]:
    """The right body with one field set to another value."""
    if body.inside in LISTS:
        return {body.inside: [{**body.right, name: value}]}
    if body.inside:
        return {"query": "a", body.inside: {**body.right, name: value}}
    return {**body.right, name: value}


VALUES: dict[str, Any] = {
    "null": None,
    "bool": True,
    "int": 7,
    "float": 0.15,
    "str": "certainly not",
    "list": [{"a": 1}],
    "dict": {"a": True},
}


def wrong_values(kind: inspect.Type) -> Iterator[Any]:
    """Values that a field of this type must refuse."""
    fit = fitting(kind)
    for name, value in VALUES.items():
        if name not in fit:
            yield value
    if isinstance(kind, inspect.VarTupleType):
        yield from ([None], [7], [["a"]], "a,b", '{"a": true}', "[1]")
    if "int" in fit:
        yield from ("5.5", "five", "", "0x10", "[5]")


def fitting(kind: inspect.Type) -> set[str]:
    """Names of the JSON types that a field may hold. Enumerations take none of `VALUES`."""
    match kind:
        case inspect.UnionType(types=types):
            return {name for each in types for name in fitting(each)}
        case inspect.NoneType():
            return {"null"}
        case inspect.BoolType():
            return {"bool"}
        case inspect.IntType():
            return {"int"}
        case inspect.FloatType():
            return {"int", "float"}
        case inspect.StrType():
            return {"str"}
        case inspect.DictType():
            return {"dict"}
        case inspect.LiteralType() | inspect.VarTupleType() | inspect.StructType():
            return set()
        case _:
            raise AssertionError(f"no wrong values are known for {kind}")
