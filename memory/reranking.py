"""The first hits of a search, ordered anew by a reranker, once the ranking has found them.

It works on the reply, after the snapshot that it was made from is closed, for a model may take
seconds. What the reranker says is mixed with how likely the ranking holds each hit to answer:

    (1 - weight) * probability + weight * score

When it fails, the hits stay as they were and a note says why; then it is left alone for a while.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec

from rewound.eventlog.enums import Why
from rewound.llm.askers import asker_here
from rewound.llm.reranking import TIMEOUT_S, RerankFailed, Scored
from rewound.memory import requests as q
from rewound.memory.replies import Found, Hit
from rewound.memory.reranked_replies import Reranked, Reranking

if TYPE_CHECKING:
    from rewound.llm.dispatching import Dispatcher
    from rewound.llm.embedding import Embedder
    from rewound.llm.reranking import Reranker
    from rewound.memory.models import Models

DEPTH = 20
WEIGHT = 0.5

TIME_MIN_S = 0.1
"""With less time left nothing is asked."""

_PAUSE_S = 30.0
"""So long after a failure the reranker is left alone."""

_log = logging.getLogger(__name__)


class Reranks:
    """The rerank stage of one store's searches. Safe for any number of threads.

    The first `depth` hits take part. `always`: for each search that does not refuse it.
    """

    def __init__(
        self,
        reranker: Reranker | None = None,
        *,
        depth: int = DEPTH,
        weight: float = WEIGHT,
        always: bool = False,
    ) -> None:
        self._reranker = reranker
        self._depth = depth
        self._weight = weight
        self._always = always
        self._failed = ""
        self._again_at = 0.0

    @staticmethod
    def of(models: Models, embedder: Embedder | None, nodes: Dispatcher | None = None) -> Reranks:
        """What the settings ask for; `embedder` is that of the store's searches, `nodes` makes the
        calls at servers."""
        return Reranks(
            models.make_reranker(embedder, nodes),
            depth=models.rerank_depth,
            weight=models.rerank_weight,
            always=models.rerank == "always",
        )

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        if self._reranker is not None:
            self._reranker.close()

    def nodes_are_back(self) -> None:
        """Ask the reranker again at once, rather than when its pause is over."""
        self._again_at = 0.0

    @property
    def depth(self) -> int:
        """How many of the first hits take part."""
        return self._depth

    def widened(self, request: q.Search) -> q.Search:
        """The request with as many hits as are to be ordered anew."""
        if self.why_not(request) is not None:
            return request
        return msgspec.structs.replace(request, limit=max(request.limit, self._depth))

    def reordered(self, request: q.Search, found: Found, timeout_s: float = TIMEOUT_S) -> Found:
        """The reply in its new order, as many hits as the request wants."""
        why_not = self.why_not(request)
        if why_not is not None:
            notes = (*found.notes, why_not) if why_not else found.notes
            return msgspec.structs.replace(found, notes=notes)
        assert self._reranker is not None
        first, rest = found.hits[: self._depth], found.hits[self._depth :]
        told: Reranking | None = None
        notes = found.notes
        if timeout_s < TIME_MIN_S:
            notes = (*notes, "not reranked: no time was left")
        elif len(first) > 1:
            begun = time.monotonic()
            try:
                scored = self._scored(self._reranker, request.query, first, timeout_s)
            except RerankFailed as failed:
                if timeout_s >= TIMEOUT_S and not asker_here().gone:  # else it was the caller
                    self._failed, self._again_at = str(failed), time.monotonic() + _PAUSE_S
                _log.warning("the reranker failed: %s", failed)
                notes = (*notes, _as_they_were(str(failed)))
            else:
                first = self._mixed(first, scored)
                told = Reranking(
                    reranker=self._reranker.name,
                    hits=len(first),
                    weight=self._weight,
                    ms=round((time.monotonic() - begun) * 1000, 1),
                    calls=scored.calls,
                    tokens=scored.tokens,
                )
        hits = (*first, *rest)[: request.limit]
        return msgspec.structs.replace(found, hits=hits, reranking=told, notes=notes)

    def why_not(self, request: q.Asks) -> str | None:
        """Why the hits keep their order; empty when nobody wants another one, None when they are
        to get one."""
        wanted = self._always if request.rerank is None else request.rerank
        if not wanted:
            return ""
        if self._reranker is None:
            why_not = "not reranked: no reranker is set (REWOUND_RERANKER)"
            return why_not if request.rerank else ""
        if request.include_forgotten:
            return "not reranked: what was forgotten is shown to no model"
        if time.monotonic() < self._again_at:
            return _as_they_were(self._failed)
        return None

    def _scored(
        self, reranker: Reranker, query: str, hits: tuple[Hit, ...], timeout_s: float
    ) -> Scored:
        """One score for each hit. Raises RerankFailed, whatever the reranker raises or gives."""
        try:
            scored = reranker.scores(query, list(map(_shown, hits)), min(timeout_s, TIMEOUT_S))
        except RerankFailed:
            raise
        except Exception as error:  # a model may fail in any way: the ranking's order is there
            what = f"it ended with {type(error).__name__}"
            raise RerankFailed(what, Why.MALFORMED) from error
        usable = len(scored.scores) == len(hits) and all(0 <= each <= 1 for each in scored.scores)
        if not usable:
            raise RerankFailed("it gave what is no score for each hit", Why.MALFORMED)
        return scored

    def _mixed(self, hits: tuple[Hit, ...], scored: Scored) -> tuple[Hit, ...]:
        """The hits in their new order; of equals the one that was before stays so."""
        own = 1 - self._weight
        mixed = [
            msgspec.structs.replace(
                hit,
                score=own * hit.score + self._weight * score,
                reranked=Reranked(before=place, probability=hit.score, score=score),
            )
            for place, (hit, score) in enumerate(zip(hits, scored.scores, strict=True), 1)
        ]
        return tuple(sorted(mixed, key=lambda hit: -hit.score))


def _shown(hit: Hit) -> str:
    """What a reranker reads of a hit: a short answer with the question that it answers."""
    return hit.text if hit.answers is None else f"{hit.answers.text}\n{hit.text}"


def _as_they_were(why: str) -> str:
    return f"in the order of the ranking alone, since the reranker failed: {why}"
