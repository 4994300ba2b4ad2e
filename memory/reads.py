"""A read from beginning to end: what stages before make of the question (`staging.py`), a snapshot
that holds what it must, the query's vector, the answer of `answering.py`, and what stages after
make of it, the last of which is an answer to what was asked.

The same for the process that owns a store and for one that reads its files.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

import msgspec

from rewound.eventlog.errors import RewoundError
from rewound.llm.token_counting import ESTIMATE, TokenCounter, ready
from rewound.memory import requests as q
from rewound.memory.answering import NO_SIZES, Asking, Sizes, load
from rewound.memory.deciding import container_named
from rewound.memory.meaning import Meaning
from rewound.memory.recollecting import Recollection
from rewound.memory.replies import Reply
from rewound.memory.rhythm import Rhythm
from rewound.memory.staging import AS_ASKED, Further, staged

if TYPE_CHECKING:
    from rewound.memory.decomposing import Decomposes
    from rewound.memory.reranking import Reranks
    from rewound.memory.responding import Responds
    from rewound.memory.rewriting import Rewrites
    from rewound.projections.views import ViewReader


class Store(Protocol):
    """Where questions are answered: a store that is owned here, or one whose files are read."""

    @property
    def meaning(self) -> Meaning: ...

    @property
    def counter(self) -> TokenCounter: ...

    @property
    def reranks(self) -> Reranks: ...

    @property
    def rewrites(self) -> Rewrites: ...

    @property
    def decomposes(self) -> Decomposes: ...

    @property
    def responds(self) -> Responds: ...

    @property
    def recent_chars(self) -> int:
        """Characters of a conversation's last messages that are shown as they are."""
        ...

    @property
    def readonly_reason(self) -> str | None: ...

    @property
    def rhythm(self) -> Rhythm: ...

    def reading(self, timeout_s: float) -> AbstractContextManager[ViewReader]:
        """A snapshot that holds all that is acknowledged now. Raises StoreBusy."""
        ...

    def wait_past(self, sequence: int, until: float, what: str) -> None:
        """Wait until the views have folded more than `sequence`. Raises StoreBusy at `until`."""
        ...

    def now_us(self, last_recorded_us: int) -> int: ...

    def sizes(self) -> Sizes: ...


def answered(store: Store, request: q.Read, timeout_s: float) -> Reply:
    """The reply to a question, with the stages before and after it that are wanted. Raises
    RewoundError; StoreBusy when the views are behind what is acknowledged, or behind `at_least`,
    for longer than `timeout_s`. An answerer has a time of its own besides that."""
    until = time.monotonic() + timeout_s
    if isinstance(request, q.Asks):
        reply = staged(
            store, request, until, lambda asked, further: _read(store, asked, until, further)
        )
        if isinstance(request, q.Inquire) and isinstance(reply, Recollection):
            return store.responds.responded(request, reply)
        return reply
    return _read(store, request, until, AS_ASKED)


def _read(store: Store, request: q.Read, until: float, further: Further) -> Reply:
    """The answer from a snapshot, by what stages made of the question."""
    answerer = load().get(type(request))
    if answerer is None:
        raise RewoundError(f"{type(request).__name__} is not answered by anything yet")
    said = request
    if further.words is not None and isinstance(request, q.Asks):
        said = msgspec.structs.replace(request, query=further.words)
    counts = isinstance(request, q.Context | q.Profile | q.Recent)
    counter = ready(store.counter) if counts else ESTIMATE
    meant = store.meaning.ahead(said, max(0.0, until - time.monotonic()))
    meant = store.meaning.besides(meant, further.parts, until - time.monotonic())
    while True:
        with store.reading(max(0.0, until - time.monotonic())) as views:
            log, name = views.log, request.container
            container = container_named(log, name)
            position = views.position(container) if container is not None else 0
            sequence = views.sequence()
            reached = container is None or position >= (request.at_least or 0)
            asks = reached and store.meaning.is_wanted(said, views, container, meant)
            if reached and not asks:
                now_us = store.now_us(log.last_recorded_at())
                sizes = store.sizes() if isinstance(request, q.Stats) else NO_SIZES
                asking = Asking(
                    log, views, now_us, name, container, store.readonly_reason, sizes,
                    meant.query, store.meaning.why_not(said, views, container, meant),
                    meant.queries, further.words, further.parts, further.scores, counter,
                    store.rhythm, recent_chars=store.recent_chars,
                )  # fmt: skip
                return answerer(request, asking)
        # The snapshot is closed while we wait: a held one keeps freed pages from reuse, and keeps
        # an erasing from its end.
        if asks:
            meant = store.meaning.asked(said, until - time.monotonic())
            meant = store.meaning.besides(meant, further.parts, until - time.monotonic())
        else:
            what = f"the container is at position {position}, not yet at {request.at_least}"
            store.wait_past(sequence, until, what)
