"""The worker that gives texts their vectors, newest first, a batch at a time.

It reads what waits from the views, embeds outside of any snapshot, and hands the result to the
writer as a `Memoise`. What was forgotten, masked or erased meanwhile is left out there: a vector is
only ever kept for the text that an entry is found by now. A memo that is in the log already (the
process died before the views had it) is used again.
"""

from __future__ import annotations

import logging
import time
from itertools import islice
from typing import TYPE_CHECKING

from rewound.eventlog.envelope import WORKER
from rewound.eventlog.errors import RewoundError
from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.llm.askers import asking_while
from rewound.llm.embedding import EmbeddingBusy, EmbeddingFailed, Served
from rewound.memory.deciding import Memoise
from rewound.projections.masks import forgotten, unembedded
from rewound.projections.memos import Memo, decode_memo, memo_key, text_digest
from rewound.projections.vectors import quantise

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.projections.views import ViewReader

BATCH = 64
"""Texts a step: a fifth of a second of short ones, so that closing waits no longer."""

BUSY_BATCH = 8
QUIET_S = 0.05
PATIENCE_S = 1.0
"""While people ask, work waits for a pause of `QUIET_S`; when none comes for so long, one small
batch is done all the same, and at once when somebody waits for it."""

CHARS_MAX = 8_000
"""Of a text that is put before the model: it reads less than that."""

_RETRY_S = 30.0
_PLAIN = "a plain sentence"

_log = logging.getLogger(__name__)


class EmbeddingDuty:
    """A duty of the workers: see `workers.py`."""

    name = "embedding"
    short = True

    def __init__(self, engine: Engine, *, polite: bool = False) -> None:
        """A `polite` one waits for pauses between what people ask."""
        self._engine = engine
        self._polite = polite
        self._waited_since: float | None = None
        self._after: ContainerId | None = None
        """The container served last: the others come first."""

    def close(self) -> None:
        """Give up what is under way with a server; called from any thread."""
        embedder = self._engine.meaning.embedder
        if isinstance(embedder, Served):
            embedder.close()

    def step(self) -> float | None:
        """Embed one batch of one container. 0: more at once; seconds to wait; None: none waits."""
        engine = self._engine
        meaning = engine.meaning
        quiet = not self._polite or engine.quiet_s() >= QUIET_S
        if not (quiet or engine.awaited() or self._patience_is_over()):
            return QUIET_S
        if meaning.embedder is None or engine.readonly_reason is not None:
            return None
        with engine.reading() as views:
            if views.index.embeddings.model != meaning.model:
                return None
            found = self._next(views, BATCH if quiet else BUSY_BATCH)
            if found is None:
                self._waited_since = None
                return None
            container, texts = found
            meaning.look(views, container)
        if meaning.trouble_in("background") is not None:
            return _RETRY_S
        memos = self._known(container, texts)
        try:
            memos += self._made(container, texts)
        except EmbeddingBusy as error:
            return float(error.after_s)
        except EmbeddingFailed as error:
            if not self._works():
                meaning.failed(error, "background")
            return _RETRY_S
        try:
            engine.memoise(Memoise(container, meaning.model, tuple(memos)), WORKER)
        except RewoundError:
            return _RETRY_S  # full, closing or read-only: what waits is derived, nothing is lost
        self._after, self._waited_since = container, None
        return 0.0

    def _works(self) -> bool:
        """Whether the embedder takes any text at all: then it is the texts that it refuses."""
        try:
            self._engine.meaning.embed([_PLAIN], "background")
        except EmbeddingFailed:
            return False
        return True

    def _known(self, container: ContainerId, texts: dict[Ref, str]) -> list[tuple[Ref, Memo]]:
        """Memos that are in the log already, taken out of the texts."""
        known: list[tuple[Ref, Memo]] = []
        with self._engine.log.reading() as log:
            secret = log.key(container)
            for item, text in list(texts.items()):
                value = log.memo(container, memo_key(secret, self._engine.meaning.model, item))
                memo = None if value is None else decode_memo(value)
                if memo is not None and memo.digest == text_digest(secret, text):
                    known.append((item, memo))
                    del texts[item]
        return known

    def _made(self, container: ContainerId, texts: dict[Ref, str]) -> list[tuple[Ref, Memo]]:
        """Memos of the texts. One that the model refuses by itself is left to its words.

        Raises EmbeddingFailed when the model refuses all.
        """
        try:
            return self._embedded(container, texts)
        except EmbeddingBusy:
            raise
        except EmbeddingFailed:
            if len(texts) == 1:
                raise
        made: list[tuple[Ref, Memo]] = []
        refused: list[EmbeddingFailed] = []
        for item, text in texts.items():
            try:
                made += self._embedded(container, {item: text})
            except EmbeddingBusy:
                if not made:
                    raise
                return made  # nobody refused the rest: it waits for its turn
            except EmbeddingFailed as error:
                refused.append(error)
        if not made:
            raise refused[0]
        _log.warning("the embedder refuses %d of %d texts", len(refused), len(texts))
        return made

    def _embedded(self, container: ContainerId, texts: dict[Ref, str]) -> list[tuple[Ref, Memo]]:
        if not texts:
            return []
        shown = [text[:CHARS_MAX] for text in texts.values()]
        with asking_while(lambda: self._are_as_read(container, texts)):
            vectors = self._engine.meaning.embed(shown, "background")
        numbers, scales = quantise(vectors)
        with self._engine.log.reading() as log:
            secret = log.key(container)
        return [
            (item, Memo(text_digest(secret, text), float(scale), row))
            for (item, text), row, scale in zip(texts.items(), numbers, scales, strict=True)
        ]

    def _are_as_read(self, container: ContainerId, texts: dict[Ref, str]) -> bool:
        """Whether all these items are found by the same texts still: what was forgotten or erased
        while they waited for a model is shown to none."""
        with self._engine.reading() as views:
            hidden = forgotten(views.container(container).columns())
            return all(
                _text_of(views, container, item) == text
                and not any(hidden[each.ordinal] for each in views.index.worded(container, item))
                for item, text in texts.items()
            )

    def _patience_is_over(self) -> bool:
        now = time.monotonic()
        if self._waited_since is None:
            self._waited_since = now
        return now - self._waited_since >= PATIENCE_S

    def _next(self, views: ViewReader, count: int) -> tuple[ContainerId, dict[Ref, str]] | None:
        """Of the next container where something waits, up to a count of items, with the text that
        each is found by. What is forgotten leaves this machine for no server: it waits to be
        restored."""
        hidden = not isinstance(self._engine.meaning.embedder, Served)
        waiting = list(views.index.embeddings.containers_waiting())
        later = [each for each in waiting if self._after is not None and each > self._after]
        for container in (*later, *waiting):
            view = views.container(container)
            columns = view.columns()
            items = dict.fromkeys(
                Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
                for ordinal in islice(unembedded(view, hidden=hidden), count)
            )
            if items:
                return container, {item: _text_of(views, container, item) for item in items}
        return None


def _text_of(views: ViewReader, container: ContainerId, item: Ref) -> str:
    """What an item is found by now, "" if nothing."""
    worded = views.index.worded(container, item)
    return next((each.text for each in reversed(worded) if each.text), "")
