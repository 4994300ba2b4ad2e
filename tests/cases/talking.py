"""Talks and pages told one after the other to a store in this process, as it comes by default."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.doors import Json, told
from tests.cases.given import Clock
from tests.cases.over_time import Life

_names = count(1)


def owned(folder: Path) -> Iterator[Memory]:
    """A store that this process owns, with vectors that know words and parts of them."""
    with Memory(folder / "store", models=Models(embedder="hashing"), clock=Clock()) as memory:
        memory.own()
        yield memory


class Talk:
    """An empty container: texts told one after the other, each judged before the next."""

    def __init__(self, store: Memory) -> None:
        self.memory = store.container(f"kind-{next(_names)}")

    def say(self, *messages: str | Json, conversation: str = "chat") -> Life:
        """Messages of one request."""
        sent = [{"content": each} if isinstance(each, str) else each for each in messages]
        self.memory.add_messages(sent, conversation=conversation)
        return self.life()

    def each(self, *messages: str | Json) -> Life:
        """A request for every message."""
        for message in messages:
            self.say(message)
        return self.life()

    def write(self, text: str, said_at: str | None = None) -> Life:
        """A document of its own."""
        self.memory.ingest(text, id=f"page {next(_names)}", said_at=said_at)
        return self.life()

    def life(self) -> Life:
        working = self.memory.workers("wait", timeout_s=240)
        assert working.pending == working.failed == working.parked == 0, working
        page = self.memory.list(limit=1000, include_superseded=True)
        return Life(told(view) for view in page.items)

    def on(self, day: str, words: str = "") -> list[str]:
        """What was true on a day, as far as it has these words."""
        found = [view.text for view in self.memory.list(valid_at=day).items]
        return [text for text in found if re.search(words, text, re.IGNORECASE)]

    def found(self, query: str, **which: Any) -> list[str]:
        hits = self.memory.search(query, what="fact", **which).hits
        return [hit.text for hit in hits]


def said(text: str, time: str, name: str | None = None) -> Json:
    return {"content": text, "time": time} | ({} if name is None else {"name": name})
