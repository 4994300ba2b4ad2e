"""Rerankers without a server: by the words of the question, and by an embedder."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rewound.eventlog.enums import Why
from rewound.llm.calling import lasting
from rewound.llm.embedding import Embedder, EmbeddingFailed, Laned, Timed, Vectors, embedded
from rewound.llm.reranking import RerankFailed, Scored
from rewound.llm.vocabulary import stem

TEXTS_AT_ONCE = 8
"""For an embedder that cannot be broken off: a fifth of a second of the one in process."""

_WORD = re.compile(r"\w+")


class WordsReranker:
    """The share of the question's words that a text holds; the rarer among the texts, the more a
    word counts. Words count by their English stem."""

    name = "words/1"

    def scores(self, query: str, texts: Sequence[str], timeout_s: float | None = None) -> Scored:
        del timeout_s  # it takes no time
        bags = [_stems(text) for text in texts]
        asked = sorted(_stems(query))
        weights = {
            word: math.log(1 + len(bags) / (1 + sum(word in bag for bag in bags))) for word in asked
        }
        whole = math.fsum(weights.values())
        if not whole:
            return Scored([0.0] * len(bags))
        return Scored(
            [math.fsum(weights[word] for word in asked if word in bag) / whole for bag in bags]
        )

    def close(self) -> None:
        """There is nothing to give up."""


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()))


class EmbedderReranker:
    """The cosine of a text's vector and the question's, what is below 0 counting as 0."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return f"embedder/1 {self._embedder.name}"

    def scores(self, query: str, texts: Sequence[str], timeout_s: float | None = None) -> Scored:
        """Raises RerankFailed. Of an embedder that keeps to no time a few texts may come late."""
        if not texts:
            return Scored([])
        left_s = lasting(timeout_s)
        (asked,) = self._vectors([query], left_s(), asked=True)
        # What can be broken off is asked for all at once, all else for a few at a time.
        at_once = len(texts) if isinstance(self._embedder, Laned | Timed) else TEXTS_AT_ONCE
        cosines: list[float] = []
        for start in range(0, len(texts), at_once):
            found = self._vectors(texts[start : start + at_once], left_s())
            cosines += (found @ asked).tolist()
        return Scored([min(max(each, 0.0), 1.0) for each in cosines], calls=2)

    def _vectors(
        self, texts: Sequence[str], left_s: float | None, *, asked: bool = False
    ) -> Vectors:
        if left_s is not None and left_s <= 0:
            raise RerankFailed("the embedder had no time left", Why.UNREACHABLE)
        try:
            return embedded(self._embedder, texts, left_s, asked=asked)
        except EmbeddingFailed as failed:
            raise RerankFailed(str(failed), Why.UNREACHABLE) from None

    def close(self) -> None:
        """The embedder is others' too: whoever made it ends it."""
