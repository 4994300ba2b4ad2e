"""Texts that lie ready to be asked for: by words alone, or by words and meaning.

A `Shelf` is a store in this process in which every collection of texts has a container of its own,
filled when it is first asked for.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from rewound.memory import Memory
from rewound.memory.models import EmbedderName, Models
from rewound.memory.replies import Found, Hit
from tests.cases.doors import Json
from tests.cases.given import Clock

WORDS: EmbedderName = "none"
MEANING: EmbedderName = "minilm"
BOTH: tuple[EmbedderName, ...] = (WORDS, MEANING)

UNSURE = 0.5
"""What is less likely than this answers nothing, and a careful caller sets it as the threshold."""

_names = count(1)


class Shelf:
    """A store and what lies in it."""

    def __init__(self, store: Memory) -> None:
        self.store = store
        self._filled: dict[tuple[str, ...], Memory] = {}

    def empty(self) -> Memory:
        return self.store.container(f"shelf-{next(_names)}")

    def facts(self, texts: Sequence[str]) -> Memory:
        """A container that holds these as facts, word for word."""
        key = tuple(texts)
        if key not in self._filled:
            memory = self.empty()
            memory.remember(list(texts))
            self._filled[key] = settled(memory)
        return self._filled[key]

    def talk(self, *messages: Json) -> Memory:
        """A container in which this was said."""
        memory = self.empty()
        memory.add_messages(list(messages), conversation="chat")
        return settled(memory)


def shelf(folder: Path, embedder: EmbedderName) -> Iterator[Shelf]:
    """A shelf with this embedder, where rules draw facts and nothing judges them."""
    models = Models(embedder=embedder, extractor="rules", judge="none")
    with Memory(folder / "store", models=models, clock=Clock()) as memory:
        memory.own()
        yield Shelf(memory)


def settled(memory: Memory) -> Memory:
    """The same once all facts are drawn and all texts have their vectors."""
    working = memory.workers("wait", timeout_s=240)
    assert working.pending == working.failed == working.unembedded == 0, working
    return memory


def user(text: str, time: str | None = None, name: str | None = None) -> Json:
    return _said("user", text, time, name)


def assistant(text: str, time: str | None = None) -> Json:
    return _said("assistant", text, time, None)


def _said(role: str, text: str, time: str | None, name: str | None) -> Json:
    given: dict[str, Any] = {"role": role, "content": text, "time": time, "name": name}
    return {key: value for key, value in given.items() if value is not None}


def shown(found: Found) -> str:
    """Hits as a person reads them, for the message of a failure."""
    lines = [f"{hit.score:.3f} {hit.kind} {hit.text[:100]!r} {hit.signals}" for hit in found.hits]
    return "\n".join([repr(found.query[:100]), *lines, *found.notes])


def likely(found: Found) -> list[Hit]:
    """The hits that claim to answer."""
    return [hit for hit in found.hits if hit.score >= UNSURE]
