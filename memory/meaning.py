"""The meaning of a query: its vector, made by the embedder that is set, remembered for a while."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewound.llm.embedding import (
    Embedder,
    EmbeddingAway,
    EmbeddingBusy,
    EmbeddingFailed,
    Laned,
    Vectors,
    checked,
    query_vectors,
)
from rewound.llm.nodes import LANES, Lane
from rewound.memory import requests as q
from rewound.memory.deciding import Likeness

if TYPE_CHECKING:
    from rewound.eventlog.ids import ContainerId
    from rewound.projections.vectors import Query
    from rewound.projections.views import ViewReader

QUERIES_MAX = 512
"""Vectors of queries that are kept: agents ask the same more than once."""

CONTAINERS_MAX = 1_024
"""Containers that are remembered to have vectors."""

QUERY_CHARS_MAX = 4_000
"""A model reads some hundreds of words: what lies behind costs time and changes nothing."""

_PAUSE_S = 30.0
"""So long after a failure the embedder is left alone, and words answer."""

_log = logging.getLogger(__name__)


class Meant(NamedTuple):
    """A question's vector, once it was asked for; of one with several queries those by text."""

    was_asked: bool
    query: Query | None
    queries: Mapping[str, Query] = {}


NOT_ASKED = Meant(False, None)


def _queries_of(request: q.Request) -> tuple[str, ...]:
    """The texts of a request whose meaning is looked for."""
    match request:
        case q.Search() | q.Explain() | q.Context():
            return (request.query,)
        case q.Forget() if request.similar is not None:
            return (request.similar,)
        case q.Profile():
            asked = (bucket.query for bucket in (request.buckets or {}).values())
            return tuple(dict.fromkeys(query for query in asked if query is not None))
    return ()


class Meaning:
    """Queries into vectors. Safe for any number of threads; without an embedder it is silent."""

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self._kept: OrderedDict[str, Query] = OrderedDict()
        self._usual: set[str] = set()
        """Containers, by name, of which questions wanted a vector."""
        self._guard = threading.Lock()
        self._failed: dict[Lane, tuple[str, float]] = {}
        """Why it failed whom, and until when (monotonic) it is left alone."""
        self._width: int | None = None

    @property
    def model(self) -> str:
        """The embedder's name, "" without one."""
        return "" if self.embedder is None else self.embedder.name

    @property
    def trouble(self) -> str | None:
        """Why there is no vector to be had now, when an embedder is set."""
        why = self.trouble_in("interactive")
        return why and f"answered by words alone, since the embedder failed: {why}"

    def trouble_in(self, lane: Lane) -> str | None:
        """Why the embedder is left alone now by people, or by what goes on behind their backs."""
        why, until = self._failed.get(lane, ("", 0.0))
        return why if time.monotonic() < until else None

    def of(self, query: str, timeout_s: float | None = None) -> Query | None:
        """The query's vector; None without an embedder, or while it fails (`trouble` says why).

        An embedder at a node that cannot begin within `timeout_s` is done without.
        """
        embedder = self.embedder
        if embedder is None or self.trouble is not None:
            return None
        with self._guard:
            known = self._kept.get(query)
            if known is not None:
                self._kept.move_to_end(query)
                return known
        from rewound.projections.vectors import query_of

        try:
            shown = [query[:QUERY_CHARS_MAX]]
            vector = self.embed(shown, timeout_s=timeout_s, asked=True)[0]
        except EmbeddingFailed as error:
            self.failed(error)
            return None
        made = query_of(vector, embedder.name)
        with self._guard:
            self._kept[query] = made
            while len(self._kept) > QUERIES_MAX:
                self._kept.popitem(last=False)
        return made

    # --- of a question

    def is_wanted(
        self, request: q.Request, views: ViewReader, container: ContainerId | None, meant: Meant
    ) -> bool:
        """Whether the question has a query whose vector is still to be made, for there is
        something to compare it with."""
        if meant.was_asked or container is None or not _queries_of(request):
            return False
        embeddings = views.index.embeddings
        if not self.model or embeddings.model != self.model:
            return False
        self.look(views, container)
        wanted = embeddings.store.head(views.txn, container)[0] > 0
        with self._guard:
            if not wanted or len(self._usual) >= CONTAINERS_MAX:
                self._usual.clear()
            if wanted:
                self._usual.add(request.container)
        return wanted

    def ahead(self, request: q.Request, timeout_s: float) -> Meant:
        """The question's vector before a snapshot is opened, where questions to its container
        wanted one before: it spares opening another snapshot after."""
        if not self.model or request.container not in self._usual or not _queries_of(request):
            return NOT_ASKED
        return self.asked(request, timeout_s)

    def asked(self, request: q.Request, timeout_s: float | None = None) -> Meant:
        texts = _queries_of(request)
        assert texts, "only what has a query is asked for"
        made = {text: query for text in texts if (query := self.of(text, timeout_s)) is not None}
        return Meant(True, made.get(texts[0]), made)

    def likeness(
        self, request: q.Request, views: ViewReader, container: ContainerId | None, meant: Meant
    ) -> Likeness:
        """The same for a command, which says in any case why words alone choose."""
        why_not = self.why_not(request, views, container, meant)
        if why_not is None and not self.model:
            why_not = "chosen by words alone, since no embedder is set"
        return Likeness(meant.query, why_not or "chosen by words alone: nothing has a vector yet")

    def why_not(
        self, request: q.Request, views: ViewReader, container: ContainerId | None, meant: Meant
    ) -> str | None:
        """Why words alone answer, where an embedder is set and there is something to compare."""
        if not _queries_of(request) or container is None:
            return None
        kept = views.index.embeddings.model
        if kept and self.model and kept != self.model:
            return changed_model(kept, self.model)
        return self.trouble if kept and meant.query is None else None

    # --- making vectors

    def look(self, views: ViewReader, container: ContainerId) -> None:
        """See of how many dimensions the vectors here are, which are this embedder's."""
        slots, dimensions = views.index.embeddings.store.head(views.txn, container)
        if slots:
            self._width = dimensions

    def embed(
        self,
        texts: Sequence[str],
        lane: Lane = "interactive",
        timeout_s: float | None = None,
        *,
        asked: bool = False,
    ) -> Vectors:
        """Unit vectors of the texts, or of questions that were `asked`. Raises EmbeddingFailed,
        whatever the embedder raises or gives.

        There must be one. Lane and time count where it is at nodes.
        """
        embedder = self.embedder
        assert embedder is not None
        try:
            if isinstance(embedder, Laned):
                made = embedder.embed_for(texts, lane, timeout_s, asked=asked)
            else:
                made = query_vectors(embedder, texts) if asked else embedder.embed(texts)
            dimensions = embedder.dimensions
            if self._width is not None and dimensions != self._width:
                raise EmbeddingFailed(
                    f"{embedder.name} gives vectors of {dimensions} dimensions, and those "
                    f"kept under its name have {self._width}: another model runs there; give it "
                    "a name of its own"
                )
            return checked(made, len(texts), dimensions)
        except EmbeddingFailed:
            raise
        except Exception as error:  # a model may fail in any way: its texts are found by words
            raise EmbeddingFailed(f"it ended with {type(error).__name__}") from error

    def failed(self, error: EmbeddingFailed, lane: Lane = "interactive") -> None:
        """Leave the embedder alone for a while: in this lane only, where it has lanes and nobody
        had time or was there."""
        pause_s = error.after_s if isinstance(error, EmbeddingBusy) else _PAUSE_S
        told = (str(error), time.monotonic() + pause_s)
        apart = isinstance(error, EmbeddingAway | EmbeddingBusy) and isinstance(
            self.embedder, Laned
        )
        self._failed |= dict.fromkeys((lane,) if apart else LANES, told)
        _log.warning("the embedder failed: %s", error)

    def nodes_are_back(self) -> None:
        """Ask the embedder again at once, rather than when its pause is over."""
        self._failed = {}

    def forget(self) -> None:
        """Let go of remembered queries (an erase leaves nothing behind in memory)."""
        with self._guard:
            self._kept.clear()
            self._usual.clear()


def changed_model(kept: str, wanted: str) -> str:
    """What to say where vectors are another model's than the one that is set."""
    return (
        f"answered by words alone: the vectors here were made by {kept}, and the embedder that is "
        f"set is {wanted}: `rewound reembed` makes them anew"
    )
