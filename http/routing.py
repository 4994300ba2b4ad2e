"""The table of routes: one declaration from which handlers, OpenAPI and the docs page are made.

A route says what a client fills in (its form), which request to the store that becomes, and which
reply comes back. Fields travel in the body where there is one, else in the query string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from rewound.http.decoding import FormReader, with_key
from rewound.http.forms import FILTER_PARTS, body_form, fields_of, form, gathered, query_form
from rewound.http.problems import Problem, invalid
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.foreign_ids import kind_of_id

Build = Callable[[dict[str, Any], Mapping[str, str]], q.Request]
"""From a form's values and the path's to the request."""

R = TypeVar("R", bound=q.Request)

_WITH_BODY = ("POST", "PUT", "PATCH")

FORMAT = (("format", q.ProfileFormat | None, None),)
"""The parameter of routes whose reply has a text in Markdown."""


STREAM = (("stream", bool | None, None),)
"""The parameter of routes whose reply can be told in parts."""


class Route(NamedTuple):
    """One method and path. `kind` is what an id in the path must be, where only one will do."""

    method: str
    path: str
    summary: str
    section: str
    request: type[q.Request]
    reply: type[r.Reply]
    form: type[msgspec.Struct]
    build: Build
    reader: FormReader[msgspec.Struct]
    kind: str | None = None
    text: bool = False
    """Whether the reply has a `text` in Markdown, which `format` or the Accept header ask for."""
    streams: bool = False
    """Whether the reply is told in parts too, where `stream` or the Accept header ask for that."""

    @property
    def in_body(self) -> bool:
        """Whether the fields travel in the body."""
        return self.method in _WITH_BODY

    @property
    def writes(self) -> bool:
        return issubclass(self.request, q.Write)

    @property
    def path_names(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def asked(self, filled: msgspec.Struct, path: Mapping[str, str], key: str | None) -> q.Request:
        """The request that a filled-in form stands for. Raises Problem or RewoundError."""
        self._check_kind(path)
        values = msgspec.structs.asdict(filled)
        if self.text:
            del values["format"]
        if self.streams:
            del values["stream"]
        if self.writes:
            with_key(values, key)
        return _settled(self.build(values, path))

    def _check_kind(self, path: Mapping[str, str]) -> None:
        if self.kind is not None:
            given = kind_of_id(path["id"])
            if given is not None and given != self.kind:
                raise wrong_kind(path["id"], given, self.kind)


def _settled(request: R) -> R:
    """Filters with a scope in them, be it an empty one, as the library and the command line make
    them: a cursor or an idempotency key of one door then fits the others."""
    filters: q.Filters | None = getattr(request, "filters", None)
    if filters is None:
        return request
    scope = msgspec.structs.replace(filters.scope)  # a copy: the default itself is left out
    return msgspec.structs.replace(request, filters=msgspec.structs.replace(filters, scope=scope))


def wrong_kind(shown: str, given: str, wanted: str) -> Problem:
    article = "an" if given[0] in "aeiou" else "a"
    return Problem(
        "wrong_kind",
        f"{shown[:100]} is {article} {given}, but this route is about {wanted}s: "
        f"{_elsewhere(given)}",
        field="id",
    )


def _elsewhere(kind: str) -> str:
    if kind in ("fact", "document", "message"):
        return f"ask under /v1/{kind}s"
    return "events are under /v1/events" if kind == "event" else "/v1/items shows items of any kind"


# --- how forms become requests


def _plain(
    request: type[q.Request],
    fixed: Mapping[str, Any],
    names: Mapping[str, str],
    values: dict[str, Any],
    path: Mapping[str, str],
) -> q.Request:
    """Field by field; `names` says which field a part of the path is."""
    for part, name in names.items():
        values[name] = (path[part],) if name == "ids" else path[part]
    return request(**values, **fixed)


def _from_query(
    request: type[q.Request],
    fixed: Mapping[str, Any],
    names: Mapping[str, str],
    values: dict[str, Any],
    path: Mapping[str, str],
) -> q.Request:
    filters = "filters" in request.__struct_fields__ and not issubclass(request, q.Write)
    return _plain(request, fixed, names, gathered(values, filters=filters), path)


def _several_or_one(
    request: type[q.Request],
    item: type[msgspec.Struct],
    batch: str,
    text: str,
    values: dict[str, Any],
    path: Mapping[str, str],
) -> q.Request:
    """A list of items under `batch`, or the fields of one beside the others."""
    del path
    given = {name: values.pop(name) for name in item.__struct_fields__}
    one = {name: value for name, value in given.items() if value is not msgspec.UNSET}
    if values[batch] is msgspec.UNSET:
        if text not in one:
            raise invalid(f"{text} is missing: give a {text}, or several {batch}", text)
        for field in msgspec.structs.fields(item):
            if field.required and field.name not in one:
                raise invalid(f"{field.name} is missing", field.name)
        values[batch] = (item(**one),)
    elif one:
        name = next(iter(one))
        raise invalid(f"{name} stands beside {batch}: put it into each of the {batch}", name)
    return request(**values)


def _inline_form(
    name: str, request: type[q.Request], item: type[msgspec.Struct], batch: str
) -> type[msgspec.Struct]:
    """The form of a batch that also takes one item's fields beside it."""
    unset = msgspec.UnsetType
    own = [
        (field[0], field[1] | unset, msgspec.UNSET) if field[0] == batch else field
        for field in fields_of(request)
    ]
    one = [(field[0], field[1] | unset, msgspec.UNSET) for field in fields_of(item)]
    return form(name, [*own, *one])


# --- declaring


def _route(
    section: str,
    method: str,
    path: str,
    request: type[q.Request],
    reply: type[r.Reply],
    summary: str,
    *,
    omit: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    fixed: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
    filters: tuple[str, ...] = FILTER_PARTS,
    kind: str | None = None,
    text: bool = False,
    streams: bool = False,
) -> Route:
    """A route. `names`: part of the path -> field; `fixed`: fields that the route itself sets."""
    fixed, names = fixed or {}, names or {}
    left_out = (*omit, *fixed, *names.values())
    name = _form_name(method, path)
    if method in _WITH_BODY:
        told = STREAM if streams else ()
        filled = body_form(name, request, omit=left_out, only=only, more=told)
        build: Build = partial(_plain, request, fixed, names)
    else:
        more = FORMAT if text else ()
        filled = query_form(name, request, omit=left_out, filters=filters, more=more)
        build = partial(_from_query, request, fixed, names)
    reader = FormReader(filled)
    return Route(
        method, path, summary, section, request, reply, filled, build, reader, kind, text, streams
    )


def _form_name(method: str, path: str) -> str:
    """`GetFactsIdHistory`, as OpenAPI calls the form and the operation."""
    parts = [part.strip("{}") for part in path.split("/")[2:]]
    words = [word for part in parts for word in part.split("-")]
    return method.capitalize() + "".join(word.capitalize() for word in words)


def _batch(
    path: str,
    request: type[q.Request],
    item: type[msgspec.Struct],
    batch: str,
    summary: str,
    section: str,
    *,
    needed: str = "text",
    reply: type[r.Reply] = r.Written,
) -> Route:
    """Several items or one inline, whose `needed` field tells that it is there."""
    filled = _inline_form(_form_name("POST", path), request, item, batch)
    build = partial(_several_or_one, request, item, batch, needed)
    return Route("POST", path, summary, section, request, reply, filled, build, FormReader(filled))


_CHOOSING = ("filters", "text", "query", "similar", "batch", "limit")
_DELETE = ("ids", *_CHOOSING, "key")
_OTHERS = tuple(name for name in FILTER_PARTS if name not in ("what", "kinds"))
_LISTED = tuple(name for name in FILTER_PARTS if name != "what")
_MARKS = ("container", "key", "scope", "unless_after", "add_tags", "remove_tags", "importance")
_NODE = (
    "name", "host", "embed", "rerank", "chat", "decide", "lanes", "slots", "model", "api_key",
)  # fmt: skip
_ID = {"id": "id"}
_IDS = {"id": "ids"}


def _facts() -> list[Route]:
    make = partial(_route, "Facts")
    return [
        _batch("/v1/facts", q.Remember, q.NewFact, "facts",
               "Remember statements word for word, or one given inline.", "Facts"),
        make("GET", "/v1/facts", q.List, r.Page, "List facts, oldest first.",
             fixed={"what": "fact"}, filters=_LISTED),
        make("GET", "/v1/facts/{id}", q.Get, r.Shown, "Show one fact or version.",
             names=_ID, kind="fact"),
        make("GET", "/v1/facts/{id}/history", q.History, r.Versions,
             "Tell a fact's life: its versions and events.", names=_ID, kind="fact"),
        make("GET", "/v1/facts/{id}/why", q.Why, r.Explained,
             "Say why a fact is believed, and how to take each step back.",
             names=_ID, kind="fact"),
        make("PATCH", "/v1/facts/{id}", q.Update, r.Written,
             "Give a fact a new wording, other tags or another importance.",
             names=_ID, kind="fact"),
        make("DELETE", "/v1/facts/{id}", q.Forget, r.Forgot,
             "Forget a fact with all its versions.", names=_IDS, omit=_DELETE, kind="fact"),
    ]  # fmt: skip


def _documents() -> list[Route]:
    make = partial(_route, "Documents and messages")
    return [
        _batch("/v1/documents", q.Ingest, q.NewDocument, "documents",
               "Keep documents verbatim, or one given inline.", "Documents and messages"),
        make("GET", "/v1/documents", q.List, r.Page, "List documents, oldest first.",
             fixed={"what": "document"}, filters=_OTHERS),
        make("GET", "/v1/documents/{id}", q.Get, r.Shown,
             "Show a document; its status tells whether facts are still being derived.",
             names=_ID, kind="document"),
        make("PATCH", "/v1/documents/{id}", q.Update, r.Written,
             "Give a document other tags or another importance.",
             names=_ID, only=_MARKS, kind="document"),
        make("DELETE", "/v1/documents/{id}", q.Forget, r.Forgot,
             "Forget a document and what has no other support.",
             names=_IDS, omit=_DELETE, kind="document"),
        make("POST", "/v1/documents/{id}/remove", q.RemoveDocument, r.Written,
             "Say that a document no longer exists at its source.", names=_ID, kind="document"),
        make("POST", "/v1/messages", q.AddMessages, r.Written,
             "Keep the messages of a conversation; sent again, only new ones are added."),
        make("GET", "/v1/messages", q.List, r.Page, "List messages, oldest first.",
             fixed={"what": "message"}, filters=_OTHERS),
        make("GET", "/v1/messages/{id}", q.Get, r.Shown, "Show one message.",
             names=_ID, kind="message"),
        make("PATCH", "/v1/messages/{id}", q.Update, r.Written,
             "Give a message other tags or another importance.",
             names=_ID, only=_MARKS, kind="message"),
        make("DELETE", "/v1/messages/{id}", q.Forget, r.Forgot, "Forget a message.",
             names=_IDS, omit=_DELETE, kind="message"),
        make("GET", "/v1/passages", q.List, r.Page, "List the passages of documents.",
             fixed={"what": "passage"}, filters=_OTHERS),
    ]  # fmt: skip


def _reading() -> list[Route]:
    make = partial(_route, "Asking")
    return [
        make("POST", "/v1/search", q.Search, r.Found, "Find facts, passages and messages."),
        make("GET", "/v1/search", q.Search, r.Found, "The same, with a query string."),
        make("POST", "/v1/explain", q.Explain, r.Traced,
             "Say what became of an item in a search, and why."),
        make("GET", "/v1/explain", q.Explain, r.Traced, "The same, with a query string."),
        make("POST", "/v1/context", q.Context, r.Packed,
             "Pack what is relevant into a budget of tokens."),
        make("POST", "/v1/ask", q.Inquire, r.Responded,
             "Answer a question from what is remembered, each sentence cited.", streams=True),
        make("GET", "/v1/conversations/{id}/recent", q.Recent, r.Recounted,
             "A conversation's last messages as they are, and what is older in short.",
             names={"id": "conversation"}),
        make("GET", "/v1/profile", q.Profile, r.Portrait,
             "What is known, in short: what is stable, what is recent, and buckets by name.",
             omit=("include_forgotten",), filters=_LISTED, text=True),
        make("GET", "/v1/items/{id}", q.Get, r.Shown, "Show an item of any kind.", names=_ID),
        make("GET", "/v1/items/{id}/history", q.History, r.Versions,
             "Tell the life of an item of any kind.", names=_ID),
        make("GET", "/v1/timeline", q.Timeline, r.Chronicle,
             "What held of a subject from when to when, and who says so."),
        make("GET", "/v1/graph", q.Graph, r.Network,
             "What is around an entity, or the shortest path to another."),
    ]  # fmt: skip


def _correcting() -> list[Route]:
    make = partial(_route, "Correcting")
    return [
        make("POST", "/v1/forget", q.Forget, r.Forgot,
             "Hide items by id, text, query, likeness or filters, until they are restored."),
        make("POST", "/v1/restore", q.Restore, r.Forgot, "Show forgotten items again."),
        make("POST", "/v1/erase", q.Erase, r.Erased, "Destroy items for ever."),
        make("POST", "/v1/undo", q.Undo, r.Undid, "Take an event back, or all of a group."),
        make("POST", "/v1/events/{id}/undo", q.Undo, r.Undid, "Take this event back.",
             names=_ID),
        make("POST", "/v1/events/{id}/forget", q.Forget, r.Forgot,
             "Forget all that this event brought in.",
             names=_IDS, omit=_CHOOSING),
    ]  # fmt: skip


def _judging() -> list[Route]:
    make = partial(_route, "Judging")
    return [
        make("GET", "/v1/reviews", q.Reviews, r.ReviewList,
             "List pairs of facts that wait for a person's word."),
        _batch("/v1/labels", q.Label, q.NewLabel, "labels",
               "Say how judged facts relate, several pairs or one given inline.", "Judging",
               needed="fact", reply=r.Labelled),
        make("POST", "/v1/policy/fit", q.Fit, r.Fitted,
             "Fit the container's judging to the labels given."),
        make("POST", "/v1/rejudge", q.Rejudge, r.Rejudged,
             "Go over the past again with the models that are set."),
    ]  # fmt: skip


def _past() -> list[Route]:
    make = partial(_route, "Looking back")
    return [
        make("GET", "/v1/events", q.Events, r.Told, "Tell what happened, oldest first."),
        make("GET", "/v1/diff", q.Diff, r.Differences,
             "What was learned, changed and forgotten between two moments."),
        make("POST", "/v1/replay", q.Replay, r.Replayed,
             "Build the store as it was at a moment, and compare.", fixed={"to": None}),
    ]  # fmt: skip


def _store() -> list[Route]:
    make = partial(_route, "The store")
    return [
        make("GET", "/v1/jobs", q.Jobs, r.JobList, "What is still to be derived, what failed."),
        make("POST", "/v1/jobs/retry", q.Retry, r.Written,
             "Try again to derive facts where that failed or was parked."),
        make("POST", "/v1/workers", q.Workers, r.Working,
             "How the workers stand; pause them, let them go on, or wait for them."),
        make("GET", "/v1/nodes", q.Nodes, r.NodeList,
             "List the model servers that work is sent to, and how they stand.",
             omit=("container", *_NODE), fixed={"action": "list"}),
        make("POST", "/v1/nodes", q.Nodes, r.NodeList,
             "Add a model server, drain it, remove it, or check that all of them work.",
             omit=("container",)),
        make("GET", "/v1/stats", q.Stats, r.Figures, "Figures of a container or of the store."),
        make("GET", "/v1/containers", q.Containers, r.ContainerList, "List the containers.",
             omit=("container",)),
        make("PUT", "/v1/containers/{name}", q.Configure, r.Written,
             "Make a container, or set its time zone.", names={"name": "container"}),
        make("POST", "/v1/verify", q.Verify, r.Verified,
             "Check that nothing was lost or altered."),
        make("POST", "/v1/seal", q.Seal, r.Sealed,
             "Hash all chains into one head to keep elsewhere."),
        make("POST", "/v1/rebuild", q.Rebuild, r.Rebuilt, "Fold the views anew from the log."),
        make("POST", "/v1/reembed", q.Reembed, r.Reembedding,
             "Change to the embedder that is set: its vectors take the place of those kept."),
        make("POST", "/v1/accept-clock", q.AcceptClock, r.Accepted,
             "Go on writing after the clock was set back."),
    ]  # fmt: skip


ROUTES: tuple[Route, ...] = (
    *_facts(), *_documents(), *_reading(), *_correcting(), *_judging(), *_past(), *_store(),
)  # fmt: skip
"""Every route under /v1."""
