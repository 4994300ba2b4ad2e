"""The façade for programs that speak Supermemory's v5 API: POST /ns/{namespace}/search and
/ns/{namespace}/profile, the same under /v5/ns.

What their words are here:

- a namespace is a container, a memory a fact, a chunk a passage or message; ids are shown as UUIDs,
  which every route of ours reads too;
- `similarity` is the third root of how likely the hit answers; what is under `threshold` (0.3 when
  it is not given) is left out, and everything is where nothing fits the question;
- `rerank` is `none` or `order`, which counts where a reranker is set, as `rewriteQuery` does where
  a rewriter is; `aggregate` is refused;
- a profile's `static` is what is stable, `dynamic` what is recent, and its buckets are ours; with
  `Accept: text/markdown` it comes as Markdown;
- `filter` is a tree of conditions on metadata; it becomes one of ours.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web

from rewound.http.asking import Desk
from rewound.http.decoding import FormReader
from rewound.http.limits import Limits, json_body
from rewound.http.problems import JSON_HEADERS, invalid
from rewound.http.supermemory_profile import Sections, named_buckets, sections
from rewound.http.supermemory_v5_filters import conditions_of
from rewound.http.supermemory_v5_hits import Included, Matched, matched
from rewound.http.supermemory_words import Declared, Handler, answered, in_their_words, theirs
from rewound.memory import RewoundError
from rewound.memory import requests as q
from rewound.memory.foreign_ids import uuid_of
from rewound.memory.replies import Found, ProfileLine

_WHAT: dict[str, tuple[q.What, ...]] = {
    "memories": ("fact",),
    "chunks": ("passage", "message"),
    "hybrid": ("fact", "passage", "message"),
}
_THRESHOLD = 0.3
_NAMES = {"container": "namespace"}


class SearchNamespace(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """POST /ns/{namespace}/search."""

    query: str
    filter: dict[str, Any] | None = None
    search_mode: Literal["hybrid", "memories", "chunks"] = "hybrid"
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    include: Included = Included()
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = _THRESHOLD
    rerank: Literal["none", "order", "aggregate"] = "none"
    rewrite_query: bool = False


class AskNamespaceProfile(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """POST /ns/{namespace}/profile. `buckets` are names of those that every profile can have, by
    default all."""

    filter: dict[str, Any] | None = None
    buckets: Annotated[tuple[str, ...], msgspec.Meta(max_length=50)] | None = None


class NamespaceMatches(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """`searchTime` in milliseconds. `notes`, where there are any, say what was done without, and
    why nothing was found."""

    results: tuple[Matched, ...]
    search_time: float
    notes: tuple[str, ...] = ()


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    memory: str


class NamespaceProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Memories, best first."""

    static: tuple[Remembered, ...]
    dynamic: tuple[Remembered, ...]
    buckets: dict[str, tuple[Remembered, ...]]


class NamespaceProfiled(msgspec.Struct, frozen=True, kw_only=True):
    profile: NamespaceProfile


SECTION = "Supermemory v5"
DECLARED = (
    Declared(
        "/ns/{namespace}/search",
        "Find memories and chunks of what was sent.",
        SECTION,
        SearchNamespace,
        NamespaceMatches,
    ),
    Declared(
        "/ns/{namespace}/profile",
        "Tell what is stable, what is recent, and buckets.",
        SECTION,
        AskNamespaceProfile,
        NamespaceProfiled,
        markdown=True,
    ),
)


def handlers(desk: Desk, limits: Limits) -> dict[str, Handler]:
    """Path -> handler of a POST."""
    searching, profiling = FormReader(SearchNamespace), FormReader(AskNamespaceProfile)

    async def search(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        name = request.match_info["namespace"]
        return await answered(
            request, desk, lambda: _found(desk, name, searching.body(raw)), _NAMES
        )

    async def profile(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        name = request.match_info["namespace"]
        if "text/markdown" not in request.headers.get("Accept", ""):
            return await answered(
                request, desk, lambda: _told(_profile(desk, name, profiling.body(raw))), _NAMES
            )
        found = await desk.run(
            lambda: in_their_words(lambda: _profile(desk, name, profiling.body(raw)), _NAMES)
        )
        headers = {**JSON_HEADERS, "content-type": "text/markdown; charset=utf-8"}
        return web.Response(body=f"{found.text}\n".encode(), headers=headers)

    paths = {"/ns/{namespace}/search": search, "/ns/{namespace}/profile": profile}
    return {**paths, **{f"/v5{path}": handler for path, handler in paths.items()}}


def _found(desk: Desk, namespace: str, sent: SearchNamespace) -> NamespaceMatches:
    started = time.perf_counter()
    if sent.rerank == "aggregate":
        raise invalid("rerank aggregate is not done here: use none or order", "rerank")
    asked = q.Search(
        container=namespace,
        query=sent.query,
        limit=sent.limit,
        nearest=sent.threshold == 0,
        filters=q.Filters(what=_WHAT[sent.search_mode], where=conditions_of(sent.filter)),
        include_forgotten=sent.include.forgotten,
        rerank=sent.rerank == "order",
        rewrite=sent.rewrite_query,
        decompose=False,
    )
    results: tuple[Matched, ...] = ()
    try:
        found = desk.link.call(asked)
    except RewoundError as error:
        if error.code != "not_found":
            raise
        notes: tuple[str, ...] = (f"nothing was ever put under {namespace}",)
    else:
        assert isinstance(found, Found), "Search is answered with Found"
        results = matched(desk.link, found, sent.include, sent.threshold)
        notes = theirs(found.notes)
    elapsed_ms = (time.perf_counter() - started) * 1000
    return NamespaceMatches(results=results, search_time=round(elapsed_ms, 3), notes=notes)


def _profile(desk: Desk, namespace: str, sent: AskNamespaceProfile) -> Sections:
    buckets = named_buckets(sent.buckets)
    narrow = q.Filters(where=conditions_of(sent.filter))
    return sections(desk.link.call, namespace, buckets, narrow)


def _told(found: Sections) -> NamespaceProfiled:
    return NamespaceProfiled(
        profile=NamespaceProfile(
            static=_memories(found.stable),
            dynamic=_memories(found.recent),
            buckets={name: _memories(lines) for name, lines in found.buckets.items()},
        )
    )


def _memories(lines: Iterable[ProfileLine]) -> tuple[Remembered, ...]:
    return tuple(Remembered(id=uuid_of(line.id), memory=line.text) for line in lines)
