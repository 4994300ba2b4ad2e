"""Rerankers without a server: by the words of the question, and by an embedder."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rewound.eventlog.enums import Why
from rewound.llm.embedding import Embedder, EmbeddingFailed, query_vectors
from rewound.llm.reranking import RerankFailed, Scored
from rewound.llm.vocabulary import stem

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
        """An embedder keeps to times of its own. Raises RerankFailed."""
        del timeout_s
        if not texts:
            return Scored([])
        try:
            (asked,) = query_vectors(self._embedder, [query])
            found = self._embedder.embed(texts)
        except EmbeddingFailed as failed:
            raise RerankFailed(str(failed), Why.UNREACHABLE) from None
        cosines = (found @ asked).tolist()
        return Scored([min(max(each, 0.0), 1.0) for each in cosines], calls=2)

    def close(self) -> None:
        """The embedder is others' too: whoever made it ends it."""
