"""The façade for programs that speak Supermemory's v4 API: POST /v4/memories, /v4/search and
/v4/profile.

What their words are here:

- a container tag is a container; a memory is a fact, remembered word for word; its id is shown as
  a UUID, which every route of ours reads too; `isStatic` is the tag `static`;
- `documentId` is the id of the group that the call wrote (`grp_…`): undo or forget it as one;
- `similarity` is the third root of how likely the hit answers, which `threshold` is held against;
  without a threshold all hits are given, but none where nothing fits the question;
- a profile's `static` is what is stable, `dynamic` what is recent, and its buckets are ours;
- `filters` are conditions on metadata, joined by AND and OR; they become a tree of ours.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web

from rewound.http.asking import Desk, encode
from rewound.http.decoding import FormReader
from rewound.http.limits import Limits, json_body
from rewound.http.problems import JSON_HEADERS, invalid
from rewound.http.supermemory_filters import conditions
from rewound.http.supermemory_hits import Include, Result, results
from rewound.http.supermemory_profile import AskProfile, Profile, profile_of
from rewound.http.supermemory_words import (
    TAGGED,
    Declared,
    Handler,
    answered,
    one_tag,
    theirs,
)
from rewound.memory import RewoundError
from rewound.memory import requests as q
from rewound.memory.foreign_ids import made_at, uuid_of
from rewound.memory.inputs import check
from rewound.memory.replies import Found, Written

STATIC = "static"

_WHAT: dict[str, tuple[q.What, ...]] = {
    "memories": ("fact",),
    "documents": ("passage", "message"),
    "hybrid": ("fact", "passage", "message"),
}


class Form(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of what clients send."""


class NewMemory(Form, frozen=True, kw_only=True, rename="camel"):
    """A statement to be remembered word for word."""

    content: str
    is_static: bool = False
    metadata: dict[str, Any] | None = None


class AddMemories(Form, frozen=True, kw_only=True, rename="camel"):
    """POST /v4/memories."""

    memories: Annotated[tuple[NewMemory, ...], msgspec.Meta(min_length=1, max_length=100)]
    container_tag: str


class SearchMemories(Form, frozen=True, kw_only=True, rename="camel"):
    """POST /v4/search. `rerank` counts where a reranker is set, `rewriteQuery` where a rewriter
    is."""

    q: str
    container_tag: str | None = None
    container_tags: tuple[str, ...] | None = None
    """The older spelling: exactly one."""
    search_mode: Literal["memories", "hybrid", "documents"] = "memories"
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    rerank: bool = False
    rewrite_query: bool = False
    aggregate: bool = False
    filepath: str | None = None
    filters: dict[str, Any] | str | None = None
    """As text it is JSON."""
    include: Include = Include()


class Reply(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what clients get."""


class Memory(Reply, frozen=True, kw_only=True, rename="camel"):
    id: str
    memory: str
    is_static: bool
    created_at: str


class Added(Reply, frozen=True, kw_only=True, rename="camel"):
    """`documentId` names all that one call wrote."""

    document_id: str
    memories: tuple[Memory, ...]


class Matches(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`timing` in milliseconds; `total` counts the results. `notes`, where there are any, say what
    was done without, and why nothing was found."""

    results: tuple[Result, ...]
    timing: float
    total: int
    notes: tuple[str, ...] = ()


class Profiled(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`searchResults` is there when a query was sent."""

    profile: Profile
    search_results: Matches | None = None


SECTION = "Supermemory v4"

DECLARED = (
    Declared("/v4/memories", "Remember statements word for word.", SECTION, AddMemories, Added),
    Declared(
        "/v4/search", "Find memories, or chunks of what was sent.", SECTION, SearchMemories, Matches
    ),
    Declared(
        "/v4/profile", "Tell what is stable and what is recent.", SECTION, AskProfile, Profiled
    ),
)

# --- handlers


def handlers(desk: Desk, limits: Limits) -> dict[str, Handler]:
    """Path -> handler of a POST."""
    adding, searching = FormReader(AddMemories), FormReader(SearchMemories)
    profiling = FormReader(AskProfile)

    async def add(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        key = request.headers.get("Idempotency-Key")
        sent, command = await desk.run(lambda: _command(adding.body(raw), key))
        written = await desk.write(command)
        assert isinstance(written, Written), "Remember is answered with Written"
        return web.Response(body=encode(_added(sent, written)), headers=JSON_HEADERS)

    async def search(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        return await answered(request, desk, lambda: _found(desk, searching.body(raw)), TAGGED)

    async def profile(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        return await answered(request, desk, lambda: _profiled(desk, profiling.body(raw)), TAGGED)

    return {"/v4/memories": add, "/v4/search": search, "/v4/profile": profile}


def _command(sent: AddMemories, key: str | None) -> tuple[AddMemories, q.Remember]:
    """All or nothing: their reply has no place for a refused memory. Raises RewoundError."""
    facts = tuple(
        q.NewFact(
            text=memory.content,
            tags=(STATIC,) if memory.is_static else (),
            metadata=memory.metadata or {},
        )
        for memory in sent.memories
    )
    command = q.Remember(container=sent.container_tag, facts=facts, infer=False, key=key)
    try:
        check(command)
    except RewoundError as error:
        raise invalid(_theirs(error.message), _theirs(error.field or "")) from None
    return sent, command


def _theirs(text: str) -> str:
    """Names of fields as this façade has them."""
    for ours, name in (("facts", "memories"), ("text", "content"), ("container", "containerTag")):
        text = text.replace(ours, name)
    return text


def _added(sent: AddMemories, written: Written) -> Added:
    memories: list[Memory] = []
    for memory, item in zip(sent.memories, written.items, strict=True):
        assert item.id is not None, "a fact that was remembered has an id"
        memories.append(
            Memory(
                id=uuid_of(item.id),
                memory=memory.content,
                is_static=memory.is_static,
                created_at=made_at(item.id),
            )
        )
    assert written.group is not None, "what was written has a group"
    return Added(document_id=written.group, memories=tuple(memories))


def _found(desk: Desk, sent: SearchMemories) -> Matches:
    started = time.perf_counter()
    _check_supported(sent)
    asked = q.Search(
        container=one_tag(sent.container_tag, sent.container_tags),
        query=sent.q,
        limit=sent.limit,
        nearest=sent.threshold is not None,
        filters=q.Filters(what=_WHAT[sent.search_mode], where=conditions(sent.filters)),
        include_forgotten=sent.include.forgotten_memories,
        rerank=sent.rerank,
        rewrite=sent.rewrite_query,
        decompose=False,
    )
    matched: tuple[Result, ...] = ()
    try:
        found = desk.link.call(asked)
    except RewoundError as error:
        if error.code != "not_found":
            raise
        notes: tuple[str, ...] = (f"nothing was ever put under {asked.container}",)
    else:
        assert isinstance(found, Found), "Search is answered with Found"
        matched = results(desk.link, found, sent.include, sent.threshold or 0.0)
        notes = theirs(found.notes)
    if sent.include.summaries:
        notes = (*notes, "summaries are left out: none are written of documents")
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Matches(results=matched, timing=round(elapsed_ms, 3), total=len(matched), notes=notes)


def _profiled(desk: Desk, sent: AskProfile) -> Profiled:
    narrow = q.Filters(where=conditions(sent.filters))
    profile = profile_of(desk.link.call, sent, narrow)
    if not sent.q:
        return Profiled(profile=profile)
    search = SearchMemories(
        q=sent.q,
        container_tag=sent.container_tag,
        threshold=sent.threshold,
        filters=sent.filters,
    )
    return Profiled(profile=profile, search_results=_found(desk, search))


def _check_supported(sent: SearchMemories) -> None:
    """Raises Problem for what would change the answer and is not done here."""
    if sent.aggregate:
        raise invalid("aggregate is not done here: leave it out", "aggregate")
    if sent.filepath is not None:
        raise invalid("filepath is not a condition here: leave it out", "filepath")
