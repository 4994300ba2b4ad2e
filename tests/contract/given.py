"""What the tests of the log start from: a clock that is moved by hand, ids in order, drafts."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.ids import (
    ContainerId,
    ConversationId,
    EventId,
    FactId,
    Kind,
    MessageId,
    Ref,
)
from rewound.eventlog.lmdb_errors import MapGrew
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Draft, Log, Recorded, Writer
from rewound.eventlog.memory_log import MemoryLog

T = TypeVar("T")

START_US = 1_750_000_000_000_000


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.at = START_US

    def now_us(self) -> int:
        return self.at


class CountedIds:
    """Ids and salts that rise by one; the same in every run."""

    def __init__(self) -> None:
        self._last = 0

    def skip_to(self, number: int) -> None:
        self._last = number

    def new(self) -> bytes:
        self._last += 1
        return b"id" + self._last.to_bytes(14, "big")

    def salt(self) -> bytes:
        self._last += 1
        return b"salt" + self._last.to_bytes(12, "big")


class Given(Protocol):
    """A log to be tested, and how to get another one over the same content."""

    clock: HandClock
    ids: CountedIds
    log: Log

    def reopen(self) -> Log: ...


class InMemory:
    """A log in memory: what it holds lives as long as it does."""

    def __init__(self) -> None:
        self.clock, self.ids = HandClock(), CountedIds()
        self.log: Log = MemoryLog(self.clock, self.ids)

    def reopen(self) -> Log:
        return self.log


class OnDisk:
    """A log in a folder."""

    def __init__(self, folder: Path, map_bytes: int = 1 << 20) -> None:
        self.clock, self.ids = HandClock(), CountedIds()
        self.folder = folder
        self._map_bytes = map_bytes
        self.open()

    def open(self) -> None:
        self.lmdb = LmdbLog(self.folder, self.clock, self.ids, map_bytes=self._map_bytes)
        self.log: Log = self.lmdb

    def reopen(self) -> LmdbLog:
        self.log.close()
        self.open()
        return self.lmdb


def container(number: int = 1) -> ContainerId:
    return ContainerId(b"container-" + number.to_bytes(6, "big"))


def event_id(number: int) -> EventId:
    return EventId(b"given-" + number.to_bytes(10, "big"))


def fact_ref(number: int) -> Ref:
    return Ref(Kind.FACT, b"fact-" + number.to_bytes(11, "big"))


CONVERSATION = ConversationId(b"a-conversation--")


def message(log: Log, text: str = "hello", *, causes: tuple[EventId, ...] = ()) -> Draft:
    """A message with a text and a speaker: two bodies."""
    bodies = BodyWriter(log.ids)
    event = e.MessageRecorded(
        MessageId(log.ids.new()),
        CONVERSATION,
        0,
        e.Role.USER,
        bodies.piece(text),
        speaker=bodies.text("Ada"),
    )
    return Draft(event, bodies.sealed, causes)


def fact(log: Log, text: str, number: int, *, given: EventId | None = None) -> Draft:
    """A fact with one body."""
    bodies = BodyWriter(log.ids)
    event = e.FactRemembered(FactId(fact_ref(number).id), e.Statement(bodies.piece(text)))
    return Draft(event, bodies.sealed, event_id=given)


def write(log: Log, change: Callable[[Writer], T]) -> T:
    """One group, run again whenever the map had to grow, as every caller has to."""
    while True:
        try:
            with log.writing() as writer:
                return change(writer)
        except MapGrew:
            continue


def put(log: Log, owner: ContainerId, *drafts: Draft) -> list[Recorded]:
    """Append drafts as one group."""
    return write(log, lambda writer: writer.append(owner, drafts))
