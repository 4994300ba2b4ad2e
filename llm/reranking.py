"""What a reranker is: a question and texts in, how well each text answers out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rewound.llm.failing import ServerFailed

TIMEOUT_S = 5.0
"""A search waits for its reranker for so long at most."""


class Scored(NamedTuple):
    """`scores` from 0 to 1, in the order of the texts; what they took: `calls` of a server or a
    model, and the `tokens` that it counts."""

    scores: list[float]
    calls: int = 0
    tokens: int = 0


class RerankFailed(ServerFailed):
    """No usable scores; the message says why and holds no text of a memory."""


class Reranker(Protocol):
    """Says how well texts answer a question. Safe for any number of threads.

    `name` tells the method, its version and the model.
    """

    @property
    def name(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str], timeout_s: float | None = None) -> Scored:
        """One score for each text. Raises RerankFailed, after `timeout_s` at the latest."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...
