"""A chat server that sums up word for word, and a store that asks it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.integration.chatting import ChatServer, chatting

RECENT = 40
"""Characters of recent messages: two of `TALK`."""

TALK = tuple(f"Message {number} of our talk." for number in range(8))
"""22 characters each."""


def shown(told: str) -> dict[str, Any]:
    """The summary so far and the messages that a request shows to the model."""
    found: dict[str, Any] = json.loads(told.split("\n", 1)[1].rsplit("\n", 2)[0])
    return found


def word_for_word(told: str) -> Any:
    """A sentence for each sentence and message shown."""
    given = shown(told)
    said = [{"text": each["text"], "sources": [each["n"]]} for each in given["messages"]]
    return {"sentences": [*given["summary"], *said]}


@contextmanager
def summing_server() -> Iterator[ChatServer]:
    with chatting() as chat:
        chat.good = word_for_word
        chat.props = {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 4}
        yield chat


def summing(folder: Path, server: ChatServer | None, **settings: Any) -> Memory:
    """A store that sums up, or without a server one that does not."""
    given: dict[str, Any] = {"embedder": "none", "extractor": "none", "judge": "none"}
    given["recent_chars"] = RECENT
    if server is not None:
        given |= {"summarizer": "model", "chat_url": server.url, "chat_model": "toy"}
    memory = Memory(folder, models=Models(**(given | settings)))
    memory.own()
    return memory


def talk(memory: Memory, *texts: str, conversation: str = "talk", **more: Any) -> list[str]:
    """Say these, one after the other; the ids of the messages."""
    messages = [{"content": text, "name": "Ann"} for text in texts]
    written = memory.add_messages(messages, conversation=conversation, **more)
    return [item.id or "" for item in written.items]


def summaries(memory: Memory) -> list[r.EventView]:
    """Those written, oldest first."""
    memory.workers("wait")
    return list(memory.events(types=["summary written"], limit=1000).events)
