"""How a question is answered: what an answerer is given.

An answerer is a pure function `(question, Asking) -> Reply` over one snapshot of the views and one
of the log. The views' snapshot is taken first, so the log may already hold more than the views have
folded, never less: a read ends at the views' position. Each `answer_*` module says what it answers
with `@answers(...)`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from rewound.eventlog.errors import RewoundError
from rewound.eventlog.ids import ContainerId
from rewound.eventlog.log import Reader
from rewound.memory import requests as q
from rewound.memory.deciding import container_named, no_container
from rewound.memory.meaning import Meaning
from rewound.memory.replies import Found, Reply

if TYPE_CHECKING:
    from rewound.memory.reranking import Reranks
    from rewound.projections.vectors import Query
    from rewound.projections.views import ViewReader


class Sizes(NamedTuple):
    """What the store takes on disk (bytes), and whether a rewrite of its files is still to come."""

    log_bytes: int = 0
    view_bytes: int = 0
    compaction: str = "none"


NO_SIZES = Sizes()


@dataclass(frozen=True, slots=True)
class Asking:
    """All that an answerer may look at.

    `container` is None when no container has the name `name`, or when the question is about the
    whole store. `now_us` is never before the log's last recorded time. `read_only` says why the
    store takes no writes, when it does not. `sizes` are of the whole store.
    """

    log: Reader
    views: ViewReader
    now_us: int
    name: str
    container: ContainerId | None
    read_only: str | None = None
    sizes: Sizes = NO_SIZES
    meaning: Query | None = None
    """The query's vector, for questions that have a query."""
    meaningless: str | None = None
    """Why the question is answered by words alone although an embedder is set."""
    meanings: Mapping[str, Query] = field(default_factory=dict[str, "Query"])
    """The vectors of a question's queries by their text, where it may have several."""

    def home(self) -> ContainerId:
        """The container asked about. Raises NotFound."""
        if self.container is None:
            raise no_container(self.name)
        return self.container


Answerer = Callable[[Any, Asking], Reply]
Q = TypeVar("Q", bound=q.Read)

ANSWERS: dict[type[q.Read], Answerer] = {}
"""Question -> its answerer; filled by `load`."""

MODULES = (
    "answer_search",
    "answer_explain",
    "answer_profile",
    "answer_items",
    "answer_events",
    "answer_diff",
    "answer_stats",
    "answer_why",
    "answer_reviews",
    "answer_timeline",
    "answer_graph",
)
"""Where the answerers are; each module enters its own."""


def answers(
    question: type[Q],
) -> Callable[[Callable[[Q, Asking], Reply]], Callable[[Q, Asking], Reply]]:
    """Enter a function as the answerer of a question."""

    def enter(answerer: Callable[[Q, Asking], Reply]) -> Callable[[Q, Asking], Reply]:
        assert question not in ANSWERS, f"{question.__name__} has an answerer already"
        ANSWERS[question] = answerer
        return answerer

    return enter


def load() -> dict[type[q.Read], Answerer]:
    """The whole table. Here rather than at import: the answer_* modules import this one."""
    for module in MODULES:
        import_module(f"rewound.memory.{module}")
    return ANSWERS


class Store(Protocol):
    """Where questions are answered: a store that is owned here, or one whose files are read."""

    @property
    def meaning(self) -> Meaning: ...

    @property
    def reranks(self) -> Reranks: ...

    @property
    def readonly_reason(self) -> str | None: ...

    def reading(self, timeout_s: float) -> AbstractContextManager[ViewReader]:
        """A snapshot that holds all that is acknowledged now. Raises StoreBusy."""
        ...

    def wait_past(self, sequence: int, until: float, what: str) -> None:
        """Wait until the views have folded more than `sequence`. Raises StoreBusy at `until`."""
        ...

    def now_us(self, last_recorded_us: int) -> int: ...

    def sizes(self) -> Sizes: ...


def answered(store: Store, request: q.Read, timeout_s: float) -> Reply:
    """The reply to a question, its hits ordered anew where that is wanted. Raises RewoundError;
    StoreBusy when the views are behind what is acknowledged, or behind `at_least`, for longer than
    `timeout_s`."""
    until = time.monotonic() + timeout_s
    reply = _read(store, store.reranks.widened(request), timeout_s)
    if isinstance(request, q.Search) and isinstance(reply, Found):
        # after the snapshot is closed: a model may take seconds
        return store.reranks.reordered(request, reply, max(0.0, until - time.monotonic()))
    return reply


def _read(store: Store, request: q.Read, timeout_s: float) -> Reply:
    answerer = load().get(type(request))
    if answerer is None:
        raise RewoundError(f"{type(request).__name__} is not answered by anything yet")
    until = time.monotonic() + timeout_s
    meant = store.meaning.ahead(request, timeout_s)
    while True:
        with store.reading(max(0.0, until - time.monotonic())) as views:
            log, name = views.log, request.container
            container = container_named(log, name)
            position = views.position(container) if container is not None else 0
            sequence = views.sequence()
            if container is None or position >= (request.at_least or 0):
                if store.meaning.is_wanted(request, views, container, meant):
                    meant = store.meaning.asked(request, until - time.monotonic())
                    continue  # embedding takes longer than a snapshot should be held
                now_us = store.now_us(log.last_recorded_at())
                sizes = store.sizes() if isinstance(request, q.Stats) else NO_SIZES
                asking = Asking(
                    log, views, now_us, name, container, store.readonly_reason, sizes,
                    meant.query, store.meaning.why_not(request, views, container, meant),
                    meant.queries,
                )  # fmt: skip
                return answerer(request, asking)
        what = f"the container is at position {position}, not yet at {request.at_least}"
        # the snapshot is closed while we wait: a held one keeps freed pages from reuse
        store.wait_past(sequence, until, what)
