"""The façade for programs that speak Supermemory's v3 API: POST /v3/search, which finds documents
by their chunks.

What their words are here:

- a container tag is a container; a chunk is a passage of a document, or a message, which is then a
  document of its own; ids are shown as UUIDs, which every route of ours reads too;
- `score` is the third root of how likely a chunk answers; `chunkThreshold` is held against it.
  Without one, chunks that are less than a tenth as likely as the best of their document are left
  out, and all of them where nothing fits the question;
- the chunks before and after one that matches come along (`isRelevant` false), unless
  `onlyMatchingChunks` is true.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from aiohttp import web

from rewound.http.asking import Desk
from rewound.http.decoding import FormReader
from rewound.http.limits import Limits, json_body
from rewound.http.problems import invalid
from rewound.http.supermemory_filters import conditions
from rewound.http.supermemory_hits import similarity
from rewound.http.supermemory_lookup import Lookup
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
from rewound.memory.replies import Found, Hit, View

_CHUNKS_OF_ONE = 5
"""So many chunks are looked for as documents are wanted, times this: some are of the same one."""
_HITS_MIN = 50
_LIKELY_SHARE = 0.1


class SearchDocuments(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """POST /v3/search. `limit` counts documents. `documentThreshold` counts for nothing, there as
    here; `rerank` counts where a reranker is set, `rewriteQuery` where a rewriter is."""

    q: str
    container_tag: str | None = None
    container_tags: tuple[str, ...] | None = None
    """Exactly one."""
    chunk_threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    document_threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    doc_id: str | None = None
    filepath: str | None = None
    categories_filter: tuple[str, ...] | None = None
    filters: dict[str, Any] | str | None = None
    """As text it is JSON."""
    include_full_docs: bool = False
    include_summary: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10
    only_matching_chunks: bool = False
    rerank: bool = False
    rewrite_query: bool = False


class DocumentChunk(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`position` counts the chunks of a document from 0."""

    content: str
    is_relevant: bool
    position: int
    score: float


class FoundDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A document or message, its score that of its best chunk; chunks in their order in it."""

    document_id: str
    score: float
    created_at: str
    updated_at: str
    chunks: tuple[DocumentChunk, ...]
    title: str | None = None
    type: str | None = None
    metadata: dict[str, Any] = {}
    content: str | None = None


class FoundDocuments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`timing` in milliseconds; `total` counts the results. `notes`, where there are any, say what
    was done without, and why nothing was found."""

    results: tuple[FoundDocument, ...]
    timing: float
    total: int
    notes: tuple[str, ...] = ()


SECTION = "Supermemory v3"
DECLARED = (
    Declared(
        "/v3/search", "Find documents by their chunks.", SECTION, SearchDocuments, FoundDocuments
    ),
)


def handlers(desk: Desk, limits: Limits) -> dict[str, Handler]:
    """Path -> handler of a POST."""
    searching = FormReader(SearchDocuments)

    async def search(request: web.Request) -> web.StreamResponse:
        raw = await json_body(request, limits)
        return await answered(request, desk, lambda: _found(desk, searching.body(raw)), TAGGED)

    return {"/v3/search": search}


def _found(desk: Desk, sent: SearchDocuments) -> FoundDocuments:
    started = time.perf_counter()
    for name, given in (("filepath", sent.filepath), ("categoriesFilter", sent.categories_filter)):
        if given is not None:
            raise invalid(f"{name} is not a condition here: leave it out", name)
    asked = q.Search(
        container=one_tag(sent.container_tag, sent.container_tags),
        query=sent.q,
        limit=max(_HITS_MIN, sent.limit * _CHUNKS_OF_ONE),
        nearest=sent.chunk_threshold is not None,
        filters=q.Filters(
            what=("passage", "message"), source=sent.doc_id, where=conditions(sent.filters)
        ),
        rerank=sent.rerank,
        rewrite=sent.rewrite_query,
        decompose=False,
    )
    results: tuple[FoundDocument, ...] = ()
    try:
        found = desk.link.call(asked)
    except RewoundError as error:
        if error.code != "not_found":
            raise
        notes: tuple[str, ...] = (error.message,)
    else:
        assert isinstance(found, Found), "Search is answered with Found"
        lookup = Lookup(desk.link, found.container, forgotten=False)
        results = tuple(_documents(lookup, found.hits, sent))
        notes = theirs(found.notes, "chunkThreshold")
    if sent.include_summary:
        notes = (*notes, "summaries are left out: none are written of documents")
    elapsed_ms = (time.perf_counter() - started) * 1000
    return FoundDocuments(
        results=results, timing=round(elapsed_ms, 3), total=len(results), notes=notes
    )


def _documents(
    lookup: Lookup, hits: tuple[Hit, ...], sent: SearchDocuments
) -> Iterable[FoundDocument]:
    """The first documents that hits are of, the best first."""
    by_document: dict[str, list[Hit]] = {}
    for hit in hits:
        of = hit.id if hit.kind == "message" or not hit.sources else hit.sources[0].id
        if similarity(hit.score) < (sent.chunk_threshold or 0.0):
            continue
        if of in by_document or len(by_document) < sent.limit:
            by_document.setdefault(of, []).append(hit)
    for document, matched in by_document.items():
        item = lookup.item(document)
        if item is None:
            continue  # it was taken back since the search
        if sent.chunk_threshold is None:
            least = _LIKELY_SHARE * max(hit.score for hit in matched)
            matched = [hit for hit in matched if hit.score >= least]
        yield _document(lookup, item, matched, sent)


def _document(lookup: Lookup, item: View, hits: list[Hit], sent: SearchDocuments) -> FoundDocument:
    made = made_at(item.id)
    return FoundDocument(
        document_id=uuid_of(item.id),
        score=max(similarity(hit.score) for hit in hits),
        created_at=made,
        updated_at=item.recorded_at or made,
        chunks=_chunks(lookup, item, hits, around=not sent.only_matching_chunks),
        title=item.title or item.conversation,
        type="text",
        metadata=item.metadata,
        content=item.text if sent.include_full_docs else None,
    )


def _chunks(
    lookup: Lookup, item: View, hits: list[Hit], *, around: bool
) -> tuple[DocumentChunk, ...]:
    scores = {hit.id: similarity(hit.score) for hit in hits}
    if item.kind == "message":
        score = max(scores.values())
        return (DocumentChunk(content=item.text, is_relevant=True, position=0, score=score),)
    passages = lookup.passages(item.id)
    places = {place for place, passage in enumerate(passages) if passage.id in scores}
    shown = (
        {near for place in places for near in (place - 1, place, place + 1)} if around else places
    )
    return tuple(
        DocumentChunk(
            content=passage.text,
            is_relevant=place in places,
            position=place,
            score=scores.get(passage.id, 0.0),
        )
        for place, passage in enumerate(passages)
        if place in shown
    )
