"""A store for tests: an engine over a log in memory, with a clock and ids that repeat.

    with open_store(tmp_path) as store:
        store.remember("Ann likes tea.")
        page = store.ask(requests.List(container=store.name))

Requests go through the engine like everyone's; `record` appends events as a worker would.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.clock import Clock
from rewound.eventlog.envelope import WORKER, Actor
from rewound.eventlog.events import ContainerConfigured
from rewound.eventlog.ids import STORE, ContainerId, Kind, Ref, parse
from rewound.eventlog.log import Draft, Log, Recorded
from rewound.eventlog.memory_log import MemoryLog
from rewound.memory import requests as q
from rewound.memory.deciding import container_digest
from rewound.memory.engine import Engine
from rewound.projections.reader import ContainerView
from tests.oracle.story import CountedIds

START_US = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
DAY_US = 24 * HOUR_US


class HandClock(Clock):
    """A clock that stands until it is moved."""

    def __init__(self, at: int = START_US) -> None:
        self.at = at

    def now_us(self) -> int:
        return self.at


class Store:
    """An open engine and what it was made of. `name` is the container that helpers write into."""

    def __init__(
        self, log: Log, folder: Path, clock: HandClock, ids: CountedIds, name: str
    ) -> None:
        self.log = log
        self.clock = clock
        self.ids = ids
        self.name = name
        self.engine = Engine(log, folder / "views", clock=clock, ids=ids)

    def ask(self, request: q.Request) -> Any:
        """The reply; raises RewoundError."""
        return self.engine.call(request)

    def writer(self) -> BodyWriter:
        """For the bodies of one draft."""
        return BodyWriter(self.ids)

    def record(
        self, drafts: Sequence[Draft], *, actor: Actor = WORKER, name: str | None = None
    ) -> list[Recorded]:
        """Append events as they are, into a container that is there."""
        return self.engine.record(self.container(name), drafts, actor=actor)

    def container(self, name: str | None = None) -> ContainerId:
        """The id of a container; raises KeyError."""
        for info in self.ask(q.Containers(limit=1000)).containers:
            if info.name == (name or self.name):
                return ContainerId(parse(info.id, Kind.CONTAINER))
        raise KeyError(name or self.name)

    @contextmanager
    def view(self, name: str | None = None) -> Iterator[ContainerView]:
        """A snapshot of one container."""
        container = self.container(name)
        with self.engine.reading() as views:
            yield views.container(container)

    # --- commands in a few words

    def configure(self, zone: str | None = None, name: str | None = None) -> Any:
        """Make a container, or set its zone."""
        return self.ask(q.Configure(container=name or self.name, zone=zone))

    def remember(self, *texts: str, scope: q.Scope | None = None, **fields: Any) -> list[str]:
        """Facts word for word; their ids."""
        facts = tuple(q.NewFact(text=text, **fields) for text in texts)
        command = q.Remember(container=self.name, facts=facts, scope=scope or q.Scope())
        return [item.id for item in self.ask(command).items]

    def ingest(self, text: str, *, infer: bool = True, **fields: Any) -> str:
        """A document; its id."""
        documents = (q.NewDocument(text=text, **fields),)
        command = q.Ingest(container=self.name, documents=documents, infer=infer)
        item: str = self.ask(command).items[0].id
        return item

    def say(self, *contents: str, conversation: str = "talk", **fields: Any) -> list[str]:
        """Messages of a conversation; their ids."""
        messages = tuple(q.NewMessage(content=content, **fields) for content in contents)
        command = q.AddMessages(
            container=self.name, messages=messages, conversation=conversation, infer=True
        )
        return [item.id for item in self.ask(command).items]

    def update(self, item: str, text: str, **fields: Any) -> str:
        """A new wording; the new version's id."""
        command = q.Update(container=self.name, id=item, text=text, **fields)
        version: str = self.ask(command).items[0].id
        return version

    def forget(self, *ids: str, **fields: Any) -> Any:
        return self.ask(q.Forget(container=self.name, ids=ids, **fields))

    def undo(self, event: str, **fields: Any) -> Any:
        return self.ask(q.Undo(container=self.name, id=event, **fields))

    # --- reads in a few words

    def listed(self, **fields: Any) -> list[str]:
        """Ids of one page."""
        return [item.id for item in self.ask(q.List(container=self.name, **fields)).items]

    def get(self, item: str, **fields: Any) -> Any:
        return self.ask(q.Get(container=self.name, id=item, **fields)).item

    def events(self, **fields: Any) -> Any:
        return self.ask(q.Events(container=self.name, limit=1000, **fields)).events


@contextmanager
def open_store(folder: Path, *, at: int = START_US, name: str = "alpha") -> Iterator[Store]:
    """A store at a time (µs) with one container, which holds nothing but the event that made it."""
    clock, ids = HandClock(at), CountedIds()
    log = MemoryLog(clock=clock, ids=ids)
    container = ContainerId(ids.new())
    bodies = BodyWriter(ids)
    made = ContainerConfigured(container, bodies.piece(name))
    with log.writing() as writer:
        writer.append(container, [Draft(made, bodies.sealed)])
        writer.file(STORE, container_digest(writer, name), Ref(Kind.CONTAINER, container))
    store = Store(log, folder, clock, ids, name)
    try:
        yield store
    finally:
        store.engine.close()
        log.close()
