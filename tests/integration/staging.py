"""A store whose questions go through a stage that asks a chat model: rewriting, taking apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.replies import Found
from tests.integration.faking import Answer, FakeServer

KEY = "LLM-CANARY-789"
"""The chat server's, which nobody may ever see."""


def saying(content: str, finish: str = "stop") -> Answer:
    """What a chat server sends."""
    choices = [{"finish_reason": finish, "message": {"content": content}}]
    return 200, {"choices": choices, "usage": {"prompt_tokens": 100, "completion_tokens": 9}}


def staged(stage: str, server: FakeServer | None, **more: Any) -> Models:
    """The models of a store with a stage, as `rewriter`, that asks this server; with none where
    there is no server."""
    named: dict[str, Any] = {"embedder": "none", "extractor": "none", "judge": "none"}
    if server is not None:
        named |= {stage: "model", "chat_url": server.url, "chat_model": "toy", "chat_key": KEY}
    return Models(**(named | more))


def holding(folder: Path, models: Models, facts: Sequence[str]) -> Memory:
    """The owner of a store with these facts."""
    memory = Memory(folder, models=models)
    memory.own()
    for fact in facts:
        memory.remember(fact)
    return memory


def texts(found: Found) -> list[str]:
    return [hit.text for hit in found.hits]
