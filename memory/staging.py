"""The stages that a model does around a search, in their order: the question is put into further
words and taken apart before anything is looked for, and the first hits are ordered anew after.

None of them is waited for while a snapshot is held. A context, an answer and an `explain` go by
the hits of the search for their question, so these are reranked first and their scores handed on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from rewound.memory import requests as q
from rewound.memory.recollecting import Recollection
from rewound.memory.replies import Found, Packed, Reply, Responded, Traced

if TYPE_CHECKING:
    from rewound.memory.decomposing import Decomposes
    from rewound.memory.reranking import Reranks
    from rewound.memory.rewriting import Rewrites


class Stages(Protocol):
    """What does them for one store."""

    @property
    def reranks(self) -> Reranks: ...

    @property
    def rewrites(self) -> Rewrites: ...

    @property
    def decomposes(self) -> Decomposes: ...


class Further(NamedTuple):
    """What stages made of a question: `words` to seek in place of its own, `parts` to seek besides,
    `scores` of hits by their ids."""

    words: str | None = None
    parts: tuple[str, ...] = ()
    scores: Mapping[str, float] = MappingProxyType({})


AS_ASKED = Further()

Read = Callable[[q.Read, Further], Reply]


def staged(stages: Stages, request: q.Asks, until: float, read: Read) -> Reply:
    """The reply to a question with all the stages that it wants. `read` answers from a snapshot;
    `until` is of the monotonic clock. Raises RewoundError."""

    def left_s() -> float:
        return max(0.0, until - time.monotonic())

    def search(search: q.Search) -> Found:
        return _found(read(search, AS_ASKED))

    sought = stages.rewrites.sought(request, left_s())
    parted = stages.decomposes.parted(request, left_s(), search)
    further = Further(sought.words, parted.queries)
    notes = (*sought.notes, *parted.notes)
    reranks = stages.reranks
    if isinstance(request, q.Search):
        found = _found(read(reranks.widened(request), further))
        found = msgspec.structs.replace(found, notes=(*notes, *found.notes))
        ordered = reranks.reordered(request, found, left_s())
        return msgspec.structs.replace(ordered, rewriting=sought.told, decomposing=parted.told)
    why_not, ranked = reranks.why_not(request), None
    if why_not is None:
        wide = reranks.widened(_search(request, reranks.depth))
        found = msgspec.structs.replace(_found(read(wide, further)), notes=())
        ranked = reranks.reordered(wide, found, left_s())
        scores = {hit.id: hit.score for hit in ranked.hits if hit.reranked is not None}
        further = further._replace(scores=scores)
    reply = read(request, further)
    recollected = reply if isinstance(reply, Recollection) else None
    reply = reply if recollected is None else recollected.blank
    assert isinstance(reply, Packed | Traced | Responded), "its own reply"
    after = ranked.notes if ranked is not None else (why_not,) if why_not else ()
    reply = msgspec.structs.replace(
        reply,
        reranking=None if ranked is None else ranked.reranking,
        rewriting=sought.told,
        decomposing=parted.told,
        notes=(*notes, *reply.notes, *after),
    )
    if recollected is not None:
        return msgspec.structs.replace(recollected, blank=reply)
    return _moved(reply, ranked) if isinstance(reply, Traced) and ranked is not None else reply


def _found(reply: Reply) -> Found:
    assert isinstance(reply, Found), "a search is answered by what it found"
    return reply


def _search(request: q.Context | q.Inquire | q.Explain, depth: int) -> q.Search:
    """The search whose hits a context or an `explain` goes by; `depth` hits of it for a context."""
    names = set(q.Search.__struct_fields__) & set(request.__struct_fields__)
    given: dict[str, Any] = {"limit": depth} | {name: getattr(request, name) for name in names}
    return q.Search(**given)


def _moved(reply: Traced, ranked: Found) -> Traced:
    """The fate of an item with where a reranker moved it from."""
    ids = (reply.fate.id, reply.part)
    moved = next((hit.reranked for hit in ranked.hits if hit.id in ids), None)
    return msgspec.structs.replace(reply, reranked=moved)
