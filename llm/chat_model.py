"""What a chat model is to Rewound: a question with the form of its answer in, an object out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from rewound.llm.replies import Schema

if TYPE_CHECKING:
    from rewound.llm.chat_streams import Hearer


class Spent(NamedTuple):
    """Tokens that one call took, as its server counts them; 0 where it does not."""

    read: int = 0
    written: int = 0


NOTHING_SPENT = Spent()


class ChatModel(Protocol):
    """One model of one server. Safe for any number of threads."""

    @property
    def model(self) -> str | None:
        """The model that was named, if one was."""
        ...

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """One object of the form of `schema`, of at most `max_tokens`. Raises ChatFailed, after
        `timeout_s` at the latest."""
        ...

    def context_tokens(self, timeout_s: float | None = None) -> int:
        """How many tokens the model reads and writes in one call. Raises ChatFailed, after
        `timeout_s` at the latest."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


@runtime_checkable
class SpeakingModel(Protocol):
    """A chat model that answers in words, told as they come. Safe for any number of threads."""

    @property
    def model(self) -> str | None:
        """The model that was named, if one was."""
        ...

    def speak(
        self,
        system: str,
        user: str,
        hearer: Hearer,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> None:
        """Tell the hearer at most `max_tokens` of words, without the model's thoughts. Raises
        ChatFailed, after `timeout_s` at the latest; what was told until then was said."""
        ...

    def context_tokens(self, timeout_s: float | None = None) -> int:
        """How many tokens the model reads and writes in one call. Raises ChatFailed, after
        `timeout_s` at the latest."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


def spent_in(body: bytes) -> Spent:
    """What the body of a good reply says that it took, in the words of OpenAI or Anthropic."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return NOTHING_SPENT
    return spent_of(reply) if isinstance(reply, dict) else NOTHING_SPENT


def spent_of(reply: Mapping[str, Any]) -> Spent:
    """The same of a reply, or a part of one, that was read."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return NOTHING_SPENT
    known = {name: count for name, count in usage.items() if type(count) is int and count >= 0}
    return Spent(
        known.get("prompt_tokens") or known.get("input_tokens") or known.get("total_tokens") or 0,
        known.get("completion_tokens") or known.get("output_tokens") or 0,
    )
