"""A chat model that says what a test wants."""

from collections.abc import Callable
from typing import Any

from rewound.llm.chat_model import Spent
from rewound.llm.replies import ChatFailed, Schema


class Saying:
    """It gives one answer, or fails with one failure, and keeps what it was told."""

    model: str | None = "toy"

    def __init__(self, said: dict[str, Any] | ChatFailed, spent: Callable[[Spent], None]) -> None:
        self.said, self.spent = said, spent
        self.told: list[tuple[str, str]] = []
        """The instructions and the question of each call."""
        self.within: list[float | None] = []
        """Its seconds."""

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        self.told.append((system, user))
        self.within.append(timeout_s)
        self.spent(Spent(90, 7))
        if isinstance(self.said, ChatFailed):
            raise self.said
        return self.said

    def context_tokens(self, timeout_s: float | None = None) -> int:
        raise AssertionError("a question fits into any context")

    def close(self) -> None:
        pass
