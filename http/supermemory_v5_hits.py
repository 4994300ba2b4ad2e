"""Hits of a search as results of Supermemory's v5 API, with what a client asked to be included."""

from __future__ import annotations

from typing import Any

import msgspec

from rewound.http.supermemory_hits import similarity
from rewound.http.supermemory_lookup import Link, Lookup
from rewound.memory.foreign_ids import made_at, uuid_of
from rewound.memory.replies import Found, Hit, Source, View

_OVER = ("superseded", "corrected")


class Included(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What results bring along, and whether what is forgotten is found too."""

    documents: bool = False
    related: bool = False
    forgotten: bool = False


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of what results are made of; what is not known is left out."""


class Stamps(Shape, frozen=True, kw_only=True, rename="camel"):
    """When it was made, and when it became what it is."""

    updated_at: str
    created_at: str | None = None


class Relative(Shape, frozen=True, kw_only=True, rename="camel"):
    """Another version (`updates`: -1 is the one before, +1 the one after), or a memory that is
    added to (`extends`)."""

    id: str
    relation: str
    memory: str
    metadata: dict[str, Any]
    system: Stamps
    version: int | None = None


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """The versions around a memory, nearest first; siblings are what it adds to."""

    parents: tuple[Relative, ...] = ()
    children: tuple[Relative, ...] = ()
    siblings: tuple[Relative, ...] = ()


class Origin(Shape, frozen=True, kw_only=True, rename="camel"):
    """The document or message that a result was first drawn from."""

    id: str
    type: str
    metadata: dict[str, Any]
    system: Stamps
    title: str | None = None


class Beside(Shape, frozen=True, kw_only=True, rename="camel"):
    """What a client asked to be included."""

    related: Family | None = None
    document: Origin | None = None


class Matched(Shape, frozen=True, kw_only=True, rename="camel"):
    """A memory, or a chunk of what was sent. `isInference` is always false: a memory says what
    somebody said."""

    id: str
    metadata: dict[str, Any]
    similarity: float
    is_latest: bool
    is_inference: bool
    system: Stamps
    memory: str | None = None
    chunk: str | None = None
    included: Beside | None = None


def matched(link: Link, found: Found, include: Included, threshold: float) -> tuple[Matched, ...]:
    """Hits at or above the threshold, in the order found."""
    lookup = Lookup(link, found.container, forgotten=include.forgotten)
    return tuple(
        _matched(lookup, hit, include) for hit in found.hits if similarity(hit.score) >= threshold
    )


def _matched(lookup: Lookup, hit: Hit, include: Included) -> Matched:
    is_fact = hit.kind == "fact"
    asked = include.documents or include.related
    return Matched(
        id=uuid_of(hit.id),
        metadata=hit.metadata,
        similarity=similarity(hit.score),
        is_latest=hit.standing.state not in _OVER,
        is_inference=False,
        system=_stamps(hit.id, None),
        memory=hit.text if is_fact else None,
        chunk=None if is_fact else hit.text,
        included=_beside(lookup, hit, include) if asked else None,
    )


def _beside(lookup: Lookup, hit: Hit, include: Included) -> Beside:
    family = None
    if include.related:
        family = _family(lookup, hit.id) if hit.kind == "fact" else Family()
    first = hit.sources[0] if include.documents and hit.sources else None
    return Beside(related=family, document=None if first is None else _origin(lookup, first))


def _family(lookup: Lookup, fact: str) -> Family:
    versions = lookup.versions(fact)
    number = next((n for n, view in enumerate(versions) if view.id == fact), 0)
    chain = [_relative(view, "updates", place - number) for place, view in enumerate(versions)]
    return Family(
        parents=tuple(reversed(chain[:number])),
        children=tuple(chain[number + 1 :]),
        siblings=tuple(_relative(view, "extends") for view in lookup.extended(versions, number)),
    )


def _relative(view: View, relation: str, version: int | None = None) -> Relative:
    return Relative(
        id=uuid_of(view.id),
        relation=relation,
        memory=view.text,
        metadata=view.metadata,
        system=_stamps(view.id, None),
        version=version,
    )


def _origin(lookup: Lookup, source: Source) -> Origin:
    item = lookup.item(source.id)
    return Origin(
        id=uuid_of(source.id),
        type="text",
        metadata={} if item is None else item.metadata,
        system=_stamps(source.id, None if item is None else item.recorded_at),
        title=source.title or source.conversation,
    )


def _stamps(item: str, updated_at: str | None) -> Stamps:
    made = made_at(item)
    return Stamps(updated_at=updated_at or made, created_at=made)
