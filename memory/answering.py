"""How a question is answered: what an answerer is given.

An answerer is a pure function `(question, Asking) -> Reply` over one snapshot of the views and one
of the log. The views' snapshot is taken first, so the log may already hold more than the views have
folded, never less: a read ends at the views' position. Each `answer_*` module says what it answers
with `@answers(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rewound.eventlog.ids import ContainerId
from rewound.eventlog.log import Reader
from rewound.llm.token_counting import ESTIMATE, TokenCounter
from rewound.memory import requests as q
from rewound.memory.deciding import no_container
from rewound.memory.replies import Reply, VectorSwitch
from rewound.memory.rhythm import AT_ONCE, Rhythm
from rewound.memory.setting_values import RECENT_CHARS

if TYPE_CHECKING:
    from rewound.projections.vectors import Query
    from rewound.projections.views import ViewReader


class Sizes(NamedTuple):
    """What the store takes on disk (bytes), whether a rewrite of its files is still to come, and
    how far a change of its vectors is."""

    log_bytes: int = 0
    view_bytes: int = 0
    compaction: str = "none"
    switch: VectorSwitch | None = None


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
    words: str | None = None
    """What a search looks for in place of its query: that and further words for it."""
    parts: tuple[str, ...] = ()
    """What it looks for besides: the parts of a question that was taken apart."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a reranker made of the scores of the first hits, by their ids."""
    counter: TokenCounter = ESTIMATE
    """What counts tokens, where there is a budget of them."""
    rhythm: Rhythm = AT_ONCE
    """When messages are read for facts."""
    recent_chars: int = RECENT_CHARS
    """The setting: characters of a conversation's last messages that are shown as they are."""

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
    "answer_ask",
    "answer_recent",
    "answer_explain",
    "answer_profile",
    "answer_items",
    "answer_events",
    "answer_diff",
    "answer_stats",
    "answer_jobs",
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
