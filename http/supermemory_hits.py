"""Hits of a search as results of Supermemory's v4 API, with what a client asked to be included."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from rewound.http.supermemory_lookup import Link, Lookup
from rewound.memory.foreign_ids import made_at, uuid_of
from rewound.memory.replies import Found, Hit, Source, View


class Include(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What results bring along. The store writes no summaries, so those stay null."""

    documents: bool = False
    summaries: bool = False
    related_memories: bool = False
    forgotten_memories: bool = False
    chunks: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of what results are made of; what is not known is left out."""


class Related(Part, frozen=True, kw_only=True, rename="camel"):
    """Another version of the memory (`updates`: -1 is the one before it, +1 the one after), or a
    memory that it adds to (`extends`)."""

    memory: str
    relation: str
    updated_at: str
    version: int | None = None
    metadata: dict[str, Any] = {}


class Relatives(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    parents: tuple[Related, ...] = ()
    children: tuple[Related, ...] = ()
    related: tuple[Related, ...] = ()


class Document(Part, frozen=True, kw_only=True, rename="camel"):
    """Where a result came from: a document, or the message it was said in."""

    id: str
    type: str
    created_at: str
    updated_at: str
    title: str | None = None
    metadata: dict[str, Any] = {}


class Chunk(Part, frozen=True, kw_only=True, rename="camel"):
    """The part of a source that a result was drawn from; `position` counts them from 0."""

    content: str
    document_id: str
    position: int


class Result(Part, frozen=True, kw_only=True, rename="camel"):
    """A memory, or a chunk of what was sent. `version` counts from 1."""

    id: str
    similarity: float
    updated_at: str
    memory: str | None = None
    chunk: str | None = None
    metadata: dict[str, Any] = {}
    version: int | None = None
    root_memory_id: str | None = None
    context: Relatives | None = None
    documents: tuple[Document, ...] | None = None
    chunks: tuple[Chunk, ...] | None = None


def results(link: Link, found: Found, include: Include, threshold: float) -> tuple[Result, ...]:
    """Hits at or above the threshold, in the order found."""
    shaper = _Shaper(link, found.container, include)
    return tuple(shaper.result(hit) for hit in found.hits if similarity(hit.score) >= threshold)


def similarity(score: float) -> float:
    """The third root of how likely the hit answers: a likelihood of one in eight is 0.5.

    Clients hold thresholds of 0.3 to 0.6 against what they know as similarities, where likelihoods
    of a tenth are good hits. It rises with the score, so that results stay in their order.
    """
    return round(math.pow(min(1.0, max(0.0, score)), 1 / 3), 6)


class _Shaper:
    """Makes results of hits."""

    def __init__(self, link: Link, container: str, include: Include) -> None:
        self._lookup = Lookup(link, container, forgotten=include.forgotten_memories)
        self._include = include

    def result(self, hit: Hit) -> Result:
        is_fact = hit.kind == "fact"
        versions = self._lookup.versions(hit.id) if is_fact else ()
        number = next((n for n, view in enumerate(versions) if view.id == hit.id), 0)
        root = versions[0].id if len(versions) > 1 else None
        include = self._include
        related = is_fact and include.related_memories
        return Result(
            id=uuid_of(hit.id),
            similarity=similarity(hit.score),
            updated_at=made_at(hit.id),
            memory=hit.text if is_fact else None,
            chunk=None if is_fact else hit.text,
            metadata=hit.metadata,
            version=number + 1 if is_fact else None,
            root_memory_id=None if root is None else uuid_of(root),
            context=self._relatives(versions, number) if related else None,
            documents=self._documents(hit.sources) if include.documents else None,
            chunks=self._chunks(hit.sources) if include.chunks else None,
        )

    def _documents(self, sources: Iterable[Source]) -> tuple[Document, ...]:
        by_id = {source.id: source for source in sources}
        return tuple(self._document(source) for source in by_id.values())

    def _document(self, source: Source) -> Document:
        item = self._lookup.item(source.id)
        made = made_at(source.id)
        return Document(
            id=uuid_of(source.id),
            type="text",
            title=source.title or source.conversation,
            created_at=made,
            updated_at=(item.recorded_at if item is not None else None) or made,
            metadata={} if item is None else item.metadata,
        )

    def _chunks(self, sources: Iterable[Source]) -> tuple[Chunk, ...]:
        found: list[Chunk] = []
        for source in sources:
            item = self._lookup.item(source.id)
            if item is not None:
                text = item.text[source.start or 0 : source.end]
                found.append(
                    Chunk(content=text, document_id=uuid_of(source.id), position=len(found))
                )
        return tuple(found)

    def _relatives(self, versions: tuple[View, ...], number: int) -> Relatives:
        """The versions around one, nearest first, and what it adds to."""
        of_chain = [
            _related(view, "updates", place - number) for place, view in enumerate(versions)
        ]
        return Relatives(
            parents=tuple(reversed(of_chain[:number])),
            children=tuple(of_chain[number + 1 :]),
            related=tuple(
                _related(view, "extends") for view in self._lookup.extended(versions, number)
            ),
        )


def _related(view: View, relation: str, version: int | None = None) -> Related:
    return Related(
        memory=view.text,
        relation=relation,
        version=version,
        updated_at=made_at(view.id),
        metadata=view.metadata,
    )
