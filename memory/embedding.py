"""The worker that gives texts their vectors, newest first, a batch at a time.

It reads what waits from the views, embeds outside of any snapshot, and hands the result to the
writer as a `Memoise`. What was forgotten, masked or erased meanwhile is left out there: a vector is
only ever kept for the text that an entry is found by now. A memo that is in the log already (the
process died before the views had it) is used again.

While one model takes the place of another (`switching.py`), each text is embedded by the new one
first: so nothing that has a vector of the old one lacks its successor.
"""

from __future__ import annotations

import logging
import time
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.envelope import WORKER
from rewound.eventlog.errors import RewoundError
from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.llm.embedding import EmbeddingBusy, EmbeddingFailed, Served
from rewound.memory.deciding import Memoise
from rewound.memory.vector_making import MemoMaker, text_of
from rewound.projections.masks import forgotten, unembedded

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.memory.meaning import Meaning
    from rewound.projections.views import ViewReader

BATCH = 64
"""Texts a step: a fifth of a second of short ones. Closing waits for a portion of them only."""

BUSY_BATCH = 8
QUIET_S = 0.05
PATIENCE_S = 1.0
"""While people ask, work waits for a pause of `QUIET_S`; when none comes for so long, one small
batch is done all the same, and at once when somebody waits for it."""

RETRY_S = 30.0

_log = logging.getLogger(__name__)


class Patience:
    """When vectors may be made beside what people ask. A `polite` one waits for pauses."""

    def __init__(self, engine: Engine, *, polite: bool) -> None:
        self._engine = engine
        self._polite = polite
        self._since: float | None = None

    def batch(self) -> int:
        """How many texts may be embedded now; 0: none yet."""
        if not self._polite or self._engine.quiet_s() >= QUIET_S:
            return BATCH
        return BUSY_BATCH if self._engine.awaited() or self._is_over() else 0

    def served(self) -> None:
        """There was a turn, or nothing to be done."""
        self._since = None

    def _is_over(self) -> bool:
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return now - self._since >= PATIENCE_S


class _Batch(NamedTuple):
    container: ContainerId
    texts: dict[Ref, str]
    forgotten: frozenset[Ref]


class EmbeddingDuty:
    """A duty of the workers: see `workers.py`."""

    name = "embedding"
    short = True

    def __init__(self, engine: Engine, *, polite: bool = False) -> None:
        """A `polite` one waits for pauses between what people ask."""
        self._engine = engine
        self._patience = Patience(engine, polite=polite)
        self._maker = MemoMaker(engine)
        self._after: ContainerId | None = None
        """The container served last: the others come first."""

    def close(self) -> None:
        """Give up what is under way with a server; called from any thread."""
        self._engine.meaning.close()

    def step(self) -> float | None:
        """Embed one batch of one container. 0: more at once; seconds to wait; None: none waits."""
        engine = self._engine
        size = self._patience.batch()
        if not size:
            return QUIET_S
        if engine.meaning.embedder is None or engine.readonly_reason is not None:
            return None
        with engine.reading() as views:
            kept = views.index.embeddings.models
            meaning = engine.meaning.of_vectors(kept)
            batch = None if meaning is None else self._next(views, meaning, size)
            if meaning is None or batch is None:
                self._patience.served()
                is_lost = meaning is None and bool(kept.model)  # but it may yet be opened again
                return RETRY_S if is_lost else None
            meaning.look(views, batch.container)
        if kept.coming and kept.coming == engine.meaning.model:
            self._ahead(batch)
        if meaning.trouble_in("background") is not None:
            return RETRY_S
        try:
            memos = self._maker.memos(meaning, batch.container, batch.texts).memos
        except EmbeddingBusy as error:
            return float(error.after_s)
        except EmbeddingFailed as error:
            if not self._maker.works(meaning):
                meaning.failed(error, "background")
            return RETRY_S
        try:
            engine.memoise(Memoise(batch.container, kept.model, tuple(memos)), WORKER)
        except RewoundError:
            return RETRY_S  # full, closing or read-only: what waits is derived, nothing is lost
        self._after = batch.container
        self._patience.served()
        return 0.0

    def _ahead(self, batch: _Batch) -> None:
        """Make the vectors of the model that is to come. Where it fails now, the switch makes them
        later."""
        meaning = self._engine.meaning
        if meaning.trouble_in("background") is not None:
            return
        served = isinstance(meaning.embedder, Served)
        texts = {
            item: text
            for item, text in batch.texts.items()
            if not (served and item in batch.forgotten)
        }
        try:
            memos = self._maker.memos(meaning, batch.container, texts).memos
            self._engine.memoise(Memoise(batch.container, meaning.model, tuple(memos)), WORKER)
        except (EmbeddingFailed, RewoundError) as error:
            _log.debug("the embedder that is set makes no vectors now: %s", error)

    def _next(self, views: ViewReader, meaning: Meaning, count: int) -> _Batch | None:
        """Of the next container where something waits, up to a count of items, with the text that
        each is found by. What is forgotten leaves this machine for no server: it waits to be
        restored."""
        hidden = not isinstance(meaning.embedder, Served)
        waiting = list(views.index.embeddings.containers_waiting())
        later = [each for each in waiting if self._after is not None and each > self._after]
        for container in (*later, *waiting):
            view = views.container(container)
            columns = view.columns()
            away = forgotten(columns)
            items = {
                Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes()): ordinal
                for ordinal in islice(unembedded(view, hidden=hidden), count)
            }
            if items:
                texts = {item: text_of(views, container, item) for item in items}
                gone = frozenset(item for item, ordinal in items.items() if away[ordinal])
                return _Batch(container, texts, gone)
        return None
