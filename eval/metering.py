"""A chat model whose calls are counted: what was asked of it, and what that took."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.chat_model import ChatModel, Spent
from rewound.llm.replies import ChatFailed, Schema


class Price(NamedTuple):
    """What a million tokens cost, in any money."""

    read: float
    written: float


class Meter:
    """A chat model (`ChatModel`) that keeps account. `make` is given what is told of each call."""

    def __init__(self, make: Callable[[Callable[[Spent], None]], ChatModel]) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.failed: Counter[Why] = Counter()
        """Calls without a usable answer."""
        self.spent = Spent()
        self._chat = make(self._spend)

    @property
    def model(self) -> str | None:
        return self._chat.model

    def close(self) -> None:
        self._chat.close()

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        begun = time.perf_counter()
        self.calls += 1
        try:
            return self._chat.answer(system, user, schema, max_tokens, timeout_s)
        except ChatFailed as failed:
            self.failed[failed.why] += 1
            raise
        finally:
            self.seconds += time.perf_counter() - begun

    def context_tokens(self, timeout_s: float | None = None) -> int:
        try:
            return self._chat.context_tokens(timeout_s)
        except ChatFailed as failed:
            self.failed[failed.why] += 1
            raise

    @property
    def is_absent(self) -> bool:
        """Whether nobody was there, as far as can be told: no call was ever answered."""
        nobody = self.failed[Why.UNREACHABLE]
        return nobody > 0 and nobody >= max(self.calls, self.failed.total())

    def cost(self, price: Price) -> float:
        read, written = self.spent
        return (read * price.read + written * price.written) / 1e6

    def _spend(self, spent: Spent) -> None:
        self.spent = Spent(self.spent.read + spent.read, self.spent.written + spent.written)
