"""Memos of texts for the workers: taken from the log where they are there already (the process died
before the views had them), else made by a model, outside of any snapshot."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rewound.eventlog.ids import ContainerId, Ref
from rewound.llm.askers import asking_while
from rewound.llm.embedding import EmbeddingAway, EmbeddingBusy, EmbeddingFailed, Served, Vectors
from rewound.memory.inbox import Closed
from rewound.memory.proving import CHARS_MAX
from rewound.projections.masks import forgotten
from rewound.projections.memos import Memo, decode_memo, memo_key, text_digest
from rewound.projections.vectors import quantise

if TYPE_CHECKING:
    from rewound.eventlog.log import Reader
    from rewound.memory.engine import Engine
    from rewound.memory.meaning import Meaning
    from rewound.projections.views import ViewReader

PORTION = 8
"""Texts that are embedded at once in this process: between portions it is seen that the store is
closing. A whole batch of long texts takes a minute on a machine with much else to do."""

_PLAIN = "a plain sentence"

_log = logging.getLogger(__name__)

Memos = list[tuple[Ref, Memo]]


class Made(NamedTuple):
    """What came of texts. Those that the model refuses by themselves are left to their words; of
    the others that have no memo nobody was asked."""

    memos: Memos
    refused: tuple[Ref, ...] = ()


class MemoMaker:
    """Makes memos of one model after the other, of a store's texts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def memos(self, meaning: Meaning, container: ContainerId, texts: dict[Ref, str]) -> Made:
        """Raises EmbeddingFailed when the model refuses all that has no memo yet, and Closed when
        the store is closed meanwhile."""
        known: Memos = []
        with self._engine.log.reading() as log:
            for item, text in texts.items():
                memo = known_memo(log, container, meaning.model, item, text, meaning.width)
                if memo is not None:
                    known.append((item, memo))
        there = {item for item, _ in known}
        rest = {item: text for item, text in texts.items() if item not in there}
        made = self._made(meaning, container, rest)
        return Made(known + made.memos, made.refused)

    def works(self, meaning: Meaning) -> bool:
        """Whether the model takes any text at all: then it is the texts that it refuses."""
        try:
            meaning.embed([_PLAIN], "background")
        except EmbeddingFailed:
            return False
        return True

    def _made(self, meaning: Meaning, container: ContainerId, texts: dict[Ref, str]) -> Made:
        try:
            return Made(self._embedded(meaning, container, texts))
        except EmbeddingBusy:
            raise
        except EmbeddingFailed:
            if len(texts) == 1:
                raise
        made: Memos = []
        refused: dict[Ref, EmbeddingFailed] = {}
        for item, text in texts.items():
            try:
                made += self._embedded(meaning, container, {item: text})
            except EmbeddingBusy:
                if not made:
                    raise
                return Made(made)  # nobody refused the rest: it waits for its turn
            except EmbeddingFailed as error:
                refused[item] = error
        if not made:
            raise next(iter(refused.values()))
        _log.warning("the embedder refuses %d of %d texts", len(refused), len(texts))
        itself = (item for item, why in refused.items() if not isinstance(why, EmbeddingAway))
        return Made(made, tuple(itself))

    def _embedded(self, meaning: Meaning, container: ContainerId, texts: dict[Ref, str]) -> Memos:
        if not texts:
            return []
        shown = [text[:CHARS_MAX] for text in texts.values()]
        with asking_while(lambda: self._are_as_read(container, texts)):
            vectors = self._vectors(meaning, shown)
        numbers, scales = quantise(vectors)
        with self._engine.log.reading() as log:
            secret = log.key(container)
        return [
            (item, Memo(text_digest(secret, text), float(scale), row))
            for (item, text), row, scale in zip(texts.items(), numbers, scales, strict=True)
        ]

    def _vectors(self, meaning: Meaning, texts: list[str]) -> Vectors:
        """A server is asked once, and is given up when the store closes (`Meaning.close`)."""
        if isinstance(meaning.embedder, Served):
            return meaning.embed(texts, "background")
        made = []
        for start in range(0, len(texts), PORTION):
            if self._engine.closing:
                raise Closed("the store is closed")
            made.append(meaning.embed(texts[start : start + PORTION], "background"))
        return np.concatenate(made)

    def _are_as_read(self, container: ContainerId, texts: dict[Ref, str]) -> bool:
        """Whether all these items are found by the same texts still: what was forgotten or erased
        while they waited for a model is shown to none."""
        with self._engine.reading() as views:
            hidden = forgotten(views.container(container).columns())
            return all(
                text_of(views, container, item) == text
                and not any(hidden[each.ordinal] for each in views.index.worded(container, item))
                for item, text in texts.items()
            )


def known_memo(
    log: Reader, container: ContainerId, model: str, item: Ref, text: str, width: int | None
) -> Memo | None:
    """The memo that is kept of an item, if it is of this very text, and of as many dimensions as
    the model's vectors have (None: whatever it has). At an address was another model, perhaps."""
    secret = log.key(container)
    value = log.memo(container, memo_key(secret, model, item))
    memo = None if value is None else decode_memo(value)
    if memo is None or memo.digest != text_digest(secret, text):
        return None
    return memo if width in (None, len(memo.numbers)) else None


def text_of(views: ViewReader, container: ContainerId, item: Ref) -> str:
    """What an item is found by now, "" if nothing."""
    worded = views.index.worded(container, item)
    return next((each.text for each in reversed(worded) if each.text), "")
