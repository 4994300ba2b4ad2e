"""A model of meaning that a test can read, and a store whose texts it embeds when told to.

with bench(folder) as made:
    made.remember("Nina adopted a puppy.")
    made.embed()
    made.found("which dog is hers")
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rewound.eventlog.ids import ContainerId, Kind, Ref, UuidV7Source, parse_any
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Log
from rewound.eventlog.memory_log import MemoryLog
from rewound.llm.embedding import Embedder, Vectors
from rewound.llm.hashing import HashingEmbedder
from rewound.memory import requests as q
from rewound.memory.deciding import container_named
from rewound.memory.embedding import RETRY_S, EmbeddingDuty
from rewound.memory.engine import Engine
from rewound.memory.switching import SwitchDuty
from rewound.projections.feature_names import LIFTS
from rewound.projections.vectors import Query, query_of
from tests.integration.given import HandClock

ALIKE = {
    "puppy": "dog", "pet": "dog", "animal": "dog", "terrier": "dog",
    "automobile": "car", "vehicle": "car",
    "resides": "lives", "dwells": "lives",
    "employed": "works", "job": "works",
}  # fmt: skip
"""Words that mean the same."""

STEPS_MAX = 200


def nearness(hit: Any) -> dict[str, float]:
    """The signals that tell how near a hit is, whatever else was found."""
    return {name: value for name, value in hit.signals.items() if name not in LIFTS}


class Thesaurus:
    """Texts are near when they share words, or words that mean the same.

    `asked` holds every text it was given; `before` is called with each batch and may raise.
    """

    def __init__(self, name: str = "thesaurus/1", dimensions: int = 256) -> None:
        self.name = name
        self.dimensions = dimensions
        self.asked: list[str] = []
        self.before: Callable[[Sequence[str]], object] = lambda texts: None
        self.after: Callable[[Vectors], Any] = lambda vectors: vectors
        self._hashing = HashingEmbedder(dimensions)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        self.before(texts)
        made: Vectors = self.after(self._hashing.embed([meant(text) for text in texts]))
        return made


def meant(text: str) -> str:
    words = ("".join(c if c.isalnum() else " " for c in text)).lower().split()
    return " ".join(ALIKE.get(word, word) for word in words)


class Bench:
    """One open store in a folder. Nothing is embedded but by `embed`."""

    def __init__(self, folder: Path, embedder: Embedder | None, *, durable: bool) -> None:
        self.folder = folder
        self.durable = durable
        self.embedder = embedder
        self.before: dict[str, Embedder] = {}
        """Embedders that can be opened again once another is set, by their name."""
        self.clock = HandClock()
        self.ids = UuidV7Source(self.clock)
        self.log: Log = self._open_log()
        self.engine = self._open_engine(embedder)

    # --- life

    def _open_log(self) -> Log:
        if self.durable:
            return LmdbLog(self.folder / "log", clock=self.clock, ids=self.ids)
        return MemoryLog(clock=self.clock, ids=self.ids)

    def _open_engine(self, embedder: Embedder | None, views: str = "views") -> Engine:
        path = self.folder / views
        return Engine(
            self.log, path, clock=self.clock, ids=self.ids, embedder=embedder,
            opening=embedder.name.encode() if embedder else b"", reopen=self._reopened,
        )  # fmt: skip

    def _reopened(self, model: str, opening: bytes) -> Embedder | str:
        assert opening == model.encode(), "what was written down comes back"
        return self.before.get(model, "it has gone")

    def reopen(self, embedder: Embedder | None) -> None:
        self.close(keep_log=not self.durable)
        self.embedder = embedder
        if self.durable:
            self.log = self._open_log()
        self.engine = self._open_engine(embedder)

    def close(self, *, keep_log: bool = False) -> None:
        self.engine.close()
        if not keep_log:
            self.log.close()

    # --- writing

    def ask(self, request: q.Request) -> Any:
        return self.engine.call(request)

    def remember(self, *texts: str, **fields: Any) -> list[str]:
        facts = tuple(q.NewFact(text=text) for text in texts)
        return [item.id for item in self.ask(q.Remember(facts=facts, **fields)).items]

    def say(self, *messages: q.NewMessage | str, **fields: Any) -> Any:
        """The reply to messages of one conversation."""
        made = tuple(q.NewMessage(content=m) if isinstance(m, str) else m for m in messages)
        return self.ask(q.AddMessages(messages=made, conversation="talk", **fields))

    def embed(self) -> int:
        """Embed all that waits; how many steps did something."""
        duty = EmbeddingDuty(self.engine)
        for step in range(STEPS_MAX):
            if duty.step() != 0.0:
                return step
        raise AssertionError("embedding comes to no end")

    def switching(self) -> Iterator[float | None]:
        """Put another model's vectors in place, step by step; swaps are waited for."""
        duty = SwitchDuty(self.engine)
        for _ in range(STEPS_MAX):
            told = duty.step()
            duty.wait()
            yield told
            if told is None or told >= RETRY_S:
                return
        raise AssertionError("the switch comes to no end")

    def switch(self) -> None:
        for _ in self.switching():
            pass

    # --- reading

    def search(self, query: str, **fields: Any) -> Any:
        return self.ask(q.Search(query=query, **fields))

    def found(self, query: str, **fields: Any) -> list[str]:
        return [hit.text for hit in self.search(query, **fields).hits]

    def ranking(self, query: str, **fields: Any) -> list[Any]:
        """What a search says of each hit, to the last bit."""
        hits = self.search(query, limit=100, **fields).hits
        return [(hit.id, hit.score, hit.signals, hit.also) for hit in hits]

    def waiting(self, **fields: Any) -> tuple[int, int, int]:
        """What search, context and jobs say of texts without vectors."""
        return (
            self.search("anything").unembedded,
            self.ask(q.Context(query="anything")).unembedded,
            self.ask(q.Jobs()).unembedded,
        )

    def container(self) -> ContainerId:
        with self.log.reading() as reader:
            found = container_named(reader, "default")
        assert found is not None
        return found

    def vectors(self) -> dict[Ref, list[bytes]]:
        """Item -> the int8 numbers of its entries that have some, in any order."""
        found: dict[Ref, list[bytes]] = {}
        with self.engine.reading() as views:
            view = views.container(self.container())
            columns = view.columns()
            for ordinal in np.flatnonzero(columns.vector).tolist():
                ref = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
                slot = int(columns.vector[ordinal]) - 1
                numbers, _ = views.index.embeddings.store.vector(views.txn, view.id, slot)
                found.setdefault(ref, []).append(numbers.tobytes())
        return {ref: sorted(held) for ref, held in found.items()}

    def all_numbers(self) -> bytes:
        """Every slot of the container, used or not."""
        with self.engine.reading() as views:
            store, container = views.index.embeddings.store, self.container()
            slots, _ = store.head(views.txn, container)
            return b"|".join(
                store.vector(views.txn, container, slot)[0].tobytes() for slot in range(slots)
            )

    def numbers(self, text: str) -> bytes:
        """What the model makes of a text, as it is kept."""
        return self.query(text).numbers.tobytes()

    def query(self, text: str) -> Query:
        assert self.embedder is not None
        quiet = HashingEmbedder(self.embedder.dimensions)  # not counted as asked
        return query_of(quiet.embed([meant(text)])[0], self.embedder.name)


def ref(shown: str) -> Ref:
    kind, raw = parse_any(shown)
    assert kind is not None
    return Ref(kind, raw)


@contextmanager
def bench(
    folder: Path, embedder: Embedder | None = None, *, durable: bool = False
) -> Iterator[Bench]:
    made = Bench(folder, embedder or Thesaurus(), durable=durable)
    try:
        yield made
    finally:
        made.close()
