"""The meaning of a query: its vector, made by the model whose vectors it is compared with.

That is the embedder that is set, or, until those vectors are replaced, the one that was set before,
opened again. Vectors of two models are never compared, so what counts is the model that a snapshot
of the views names: a query whose vector is another's is asked for anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewound.llm.askers import asker_here
from rewound.llm.embedding import (
    Embedder,
    EmbeddingAway,
    EmbeddingBusy,
    EmbeddingFailed,
    Laned,
    Served,
    Vectors,
    checked,
    query_vectors,
)
from rewound.llm.growing_pause import GrowingPause
from rewound.llm.nodes import LANES, Lane
from rewound.memory import requests as q
from rewound.memory.deciding import Likeness
from rewound.memory.proving import Proof, proof_of

if TYPE_CHECKING:
    from rewound.eventlog.ids import ContainerId
    from rewound.projections.embeddings import VectorModels
    from rewound.projections.vectors import Query
    from rewound.projections.views import ViewReader

QUERIES_MAX = 512
"""Vectors of queries that are kept: agents ask the same more than once."""

CONTAINERS_MAX = 1_024
"""Containers that are remembered to have vectors."""

QUERY_CHARS_MAX = 4_000
"""A model reads some hundreds of words: what lies behind costs time and changes nothing."""

REOPEN_S = (30.0, 3_600.0)
"""How soon it is tried again to open a model that was set before, and at most, each time twice as
long: its folder may lie on a disk that comes later than this process."""

_PAUSE_S = 30.0
"""So long after a failure the embedder is left alone, and words answer."""

Reopen = Callable[[str, bytes], "Embedder | str"]
"""By a model's name and how it was opened: the embedder, or why there is none any more."""

_log = logging.getLogger(__name__)


class _Lost(NamedTuple):
    """A model that cannot be opened, why, and when that is tried again."""

    why: str
    pause: GrowingPause


class Meant(NamedTuple):
    """A question's vector, once it was asked for; of one with several queries those by text."""

    was_asked: bool
    query: Query | None
    queries: Mapping[str, Query] = {}
    model: str = ""
    """What was asked."""


NOT_ASKED = Meant(False, None)


def _queries_of(request: q.Request) -> tuple[str, ...]:
    """The texts of a request whose meaning is looked for."""
    match request:
        case q.Search() | q.Explain() | q.Context() | q.Inquire():
            return (request.query,)
        case q.Forget() if request.similar is not None:
            return (request.similar,)
        case q.Profile():
            asked = (bucket.query for bucket in (request.buckets or {}).values())
            return tuple(dict.fromkeys(query for query in asked if query is not None))
    return ()


class Meaning:
    """Queries into vectors. Safe for any number of threads; without an embedder it is silent.

    `reopen` opens the embedder that was set before, as long as its vectors are there. A `wary` one
    is asked now and then whether it still gives the vectors that are kept: at an address may be
    another model by now.
    """

    def __init__(
        self,
        embedder: Embedder | None,
        reopen: Reopen = lambda model, opening: "",
        *,
        wary: bool = False,
    ) -> None:
        self.embedder = embedder
        self._reopen = reopen
        self._wary = wary
        self._others: dict[tuple[str, bytes], Meaning | _Lost] = {}
        """Models that were set before, and why some cannot be opened."""
        self._opening = threading.Lock()
        self._proof: Proof | None = None
        self._speaking = self
        self._kept: OrderedDict[str, Query] = OrderedDict()
        self._usual: set[str] = set()
        """Containers, by name, of which questions wanted a vector."""
        self._guard = threading.Lock()
        self._failed: dict[Lane, tuple[str, float]] = {}
        """Why it failed whom, and until when (monotonic) it is left alone."""
        self._width: int | None = None
        self._given: int | None = None
        """Dimensions of the vectors that are kept, and of the last that it gave."""

    @property
    def width(self) -> int | None:
        """Of how many dimensions its vectors are; None as long as none was seen here."""
        return self._given if self._width is None else self._width

    @property
    def model(self) -> str:
        """The embedder's name, "" without one."""
        return "" if self.embedder is None else self.embedder.name

    @property
    def speaking(self) -> Meaning:
        """That of the model whose vectors were compared last."""
        return self._speaking

    def of_vectors(self, kept: VectorModels) -> Meaning | None:
        """That of the model whose vectors are kept; None without one, where it cannot be opened,
        and where words alone are to find."""
        if not kept.model or self.embedder is None:
            return None
        if kept.model == self.model:
            return self
        other = self._other(kept)
        return None if isinstance(other, str) else other

    def _other(self, kept: VectorModels) -> Meaning | str:
        """That of a model which is not the one that is set, or why it cannot be opened."""
        key = (kept.model, kept.opening)
        with self._opening:
            known = self._others.get(key)
            if known is None or (isinstance(known, _Lost) and known.pause.is_over(_now())):
                known = self._others[key] = self._reopened(key, known)
            return known.why if isinstance(known, _Lost) else known

    def _reopened(self, key: tuple[str, bytes], lost: _Lost | None) -> Meaning | _Lost:
        """The same, tried anew after it was `lost`."""
        made = self._reopen(*key)
        if not isinstance(made, str):
            return Meaning(made, wary=isinstance(made, Served))
        pause = GrowingPause(*REOPEN_S) if lost is None else lost.pause
        pause.failed(_now())
        return _Lost(made, pause)

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
            if not asker_here().gone:  # else it was the caller
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
        if container is None or not _queries_of(request):
            return False
        embeddings = views.index.embeddings
        speaking = self.of_vectors(embeddings.models)
        if speaking is None or (meant.was_asked and meant.model == speaking.model):
            return False
        self._speaking = speaking
        speaking.look(views, container)
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
        model = self._speaking
        made = {text: query for text in texts if (query := model.of(text, timeout_s)) is not None}
        return Meant(True, made.get(texts[0]), made, model.model)

    def besides(self, meant: Meant, queries: Sequence[str], timeout_s: float) -> Meant:
        """The same with the vectors of further queries, where that of the first was asked for."""
        model = self._speaking
        if not meant.was_asked or meant.query is None or not queries:
            return meant
        if model.model != meant.model:
            return meant  # the vectors were replaced meanwhile: the first is to be asked for anew
        until = time.monotonic() + timeout_s
        made = {text: model.of(text, max(0.0, until - time.monotonic())) for text in queries}
        known = {text: query for text, query in made.items() if query is not None}
        return meant._replace(queries={**meant.queries, **known})

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
        """Why words alone answer, where an embedder is set and there is something to compare; or
        that a model answers which is not the one that is set."""
        kept = views.index.embeddings.models
        if not _queries_of(request) or container is None or not kept.model:
            return None
        if kept.model == self.model or not self.model:
            return self.trouble if self.model and meant.query is None else None
        return self.changed(kept, lacking=meant.query is None)

    def changed(self, kept: VectorModels, *, lacking: bool = False) -> str | None:
        """What to say where vectors are another model's than the one that is set: nothing, while
        they are being replaced and that model answers. `lacking`: a query has no vector."""
        other = self._other(kept)
        why_not = other if isinstance(other, str) else None
        if not isinstance(other, str) and lacking:
            why_not = other.trouble_in("interactive")
        under_way = kept.coming == self.model
        if why_not is not None:
            return changed_model(kept.model, self.model, why_not, under_way=under_way)
        return None if under_way else old_model(kept.model, self.model)

    # --- making vectors

    def look(self, views: ViewReader, container: ContainerId) -> None:
        """See of how many dimensions the vectors here are, which are this embedder's."""
        slots, dimensions = views.index.embeddings.store.head(views.txn, container)
        if slots:
            self._width = dimensions
        if self._wary and (self._proof is None or self._proof.is_old()):
            self._proof = proof_of(views, container)

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
        if self._wary:
            self._prove(lane, timeout_s)
        return self._embedded(texts, lane, timeout_s, asked=asked)

    def _prove(self, lane: Lane, timeout_s: float | None) -> None:
        """Raises EmbeddingFailed where another model answers than made what is kept."""
        proof = self._proof
        if proof is None:
            raise EmbeddingFailed(f"there is nothing to tell {self.model} by")
        if not proof.is_old():
            return
        (vector,) = self._embedded([proof.text], lane, timeout_s)
        if not proof.holds(vector):
            raise EmbeddingFailed(f"another model answers where {self.model} did")

    def _embedded(
        self,
        texts: Sequence[str],
        lane: Lane,
        timeout_s: float | None,
        *,
        asked: bool = False,
    ) -> Vectors:
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
            vectors = checked(made, len(texts), dimensions)
            self._given = dimensions
            return vectors
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
        for other in self._opened():
            other.nodes_are_back()

    def _opened(self) -> list[Meaning]:
        return [each for each in [*self._others.values()] if isinstance(each, Meaning)]

    def close(self) -> None:
        """Give up what is under way with a server; called from any thread."""
        for each in (self, *self._opened()):
            if isinstance(each.embedder, Served):
                each.embedder.close()

    def forget(self) -> None:
        """Let go of remembered queries (an erase leaves nothing behind in memory)."""
        with self._guard:
            self._kept.clear()
            self._usual.clear()
        self._proof = None
        for other in self._opened():
            other.forget()


def _now() -> float:
    return time.monotonic()


def old_model(kept: str, wanted: str) -> str:
    """What to say where a model answers that is not set any more."""
    return (
        f"the vectors here were made by {kept}, which goes on answering; the embedder that is set "
        f"is {wanted}: `rewound reembed` changes to it"
    )


def changed_model(kept: str, wanted: str, why: str = "", *, under_way: bool = False) -> str:
    """What to say where that cannot be opened any more."""
    told = f" ({why})" if why else ""
    said = (
        f"answered by words alone: the vectors here were made by {kept}, which cannot be asked "
        f"any more{told}, and the embedder that is set is {wanted}: "
    )
    if under_way:
        return said + "its vectors are being made, and `rewound reembed --status` tells how far"
    return said + "`rewound reembed` makes them anew"
