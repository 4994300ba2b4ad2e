"""What events are made of: the base of their structs, and what several of them hold."""

import msgspec

from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.enums import FactKind, Outcome
from rewound.eventlog.ids import EventId, FactId, Kind, PassageId, Ref
from rewound.eventlog.instants import Instant


class Span(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Characters [start, end) of one body of a document or message."""

    source: Ref
    place: Place
    start: int
    end: int


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """One passage: characters [start, end) of one piece of a document."""

    passage: PassageId
    body: Body
    start: int
    end: int


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """What a fact says: its wording, when it holds, and what it is about."""

    text: Body
    kind: FactKind = FactKind.FACT
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    subject: Body | None = None
    attribute: Body | None = None
    value: Body | None = None
    entities: Body | None = None


class Pair(msgspec.Struct, frozen=True, array_like=True):
    """One judged pair: the older fact, what it came to and how surely (‰).

    `leaning` is the likeliest outcome, also where it was not likely enough to be the outcome.
    """

    old: FactId
    outcome: Outcome
    probability: int
    leaning: Outcome


class Event(msgspec.Struct, frozen=True, array_like=True):
    """Base of all events."""

    def creates(self) -> tuple[Ref, ...]:
        return ()

    def refers(self) -> tuple[Ref, ...]:
        return ()


def facts(ids: tuple[FactId, ...]) -> tuple[Ref, ...]:
    return tuple(Ref(Kind.FACT, raw) for raw in ids)


def events(ids: tuple[EventId, ...]) -> tuple[Ref, ...]:
    return tuple(Ref(Kind.EVENT, raw) for raw in ids)


def sources(spans: tuple[Span, ...]) -> tuple[Ref, ...]:
    return tuple(dict.fromkeys(span.source for span in spans))
