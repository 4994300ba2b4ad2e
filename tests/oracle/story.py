"""A hand-made log of one container: events with their bodies, told in a few words each.

Ids are small numbers, recorded times rise by one second, so that expectations can be written down.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog import registry
from rewound.eventlog.bodies import Body, BodyWriter, Place, Sealed
from rewound.eventlog.envelope import FORMAT, PERSON, Envelope
from rewound.eventlog.ids import (
    ContainerId,
    ConversationId,
    DocumentId,
    EventId,
    FactId,
    GroupId,
    Kind,
    MessageId,
    PassageId,
    Ref,
    show,
)
from rewound.eventlog.instants import parse_instant
from rewound.eventlog.log import Draft, Log, Recorded
from tests.oracle.fold import Dump, oracle, oracle_at

CONTAINER = ContainerId(bytes(15) + b"\xcc")
START = 1_700_000_000_000_000
SECOND = 1_000_000


def number(value: int) -> bytes:
    """An id for tests: 16 bytes that hold a small number."""
    return value.to_bytes(16, "big")


def fact(value: int) -> str:
    return show(Kind.FACT, number(value))


def doc(value: int) -> str:
    return show(Kind.DOCUMENT, number(value))


def msg(value: int) -> str:
    return show(Kind.MESSAGE, number(value))


def psg(value: int) -> str:
    return show(Kind.PASSAGE, number(value))


def ev(position: int) -> str:
    return show(Kind.EVENT, number(position))


def fact_ref(value: int) -> Ref:
    return Ref(Kind.FACT, number(value))


def doc_ref(value: int) -> Ref:
    return Ref(Kind.DOCUMENT, number(value))


def msg_ref(value: int) -> Ref:
    return Ref(Kind.MESSAGE, number(value))


def recorded_at(position: int) -> int:
    return START + position * SECOND


class HandClock:
    """A clock that stands until it is moved."""

    def __init__(self, at: int = START) -> None:
        self.at = at

    def now_us(self) -> int:
        return self.at


class CountedIds:
    """An id source that counts: the same run gives the same ids, salts included."""

    def __init__(self, start: int = 1 << 60) -> None:
        self._last = start

    def new(self) -> bytes:
        self._last += 1
        return number(self._last)

    def salt(self) -> bytes:
        return self.new()


class Story:
    """Collects events; `position` and `event id` of the n-th are n."""

    def __init__(self) -> None:
        self.events: list[Recorded] = []
        self.kept: dict[Place, bytes] = {}
        self.sealed: dict[Place, Sealed] = {}
        self._writer = BodyWriter(CountedIds())

    # --- bodies of the event to come

    def text(self, text: str | None) -> Body | None:
        return self._writer.text(text)

    def piece(self, text: str) -> Body:
        return self._writer.piece(text)

    def value(self, value: Any) -> Body | None:
        return self._writer.value(value)

    def statement(self, text: str, **fields: Any) -> e.Statement:
        for bound in ("valid_from", "valid_to"):
            if bound in fields:
                fields[bound] = parse_instant(fields[bound])
        for name in ("subject", "attribute"):
            fields[name] = self.text(fields.get(name))
        return e.Statement(self.piece(text), **fields)

    # --- events

    @property
    def next(self) -> int:
        return len(self.events) + 1

    def add(
        self, event: e.Event, *, causes: tuple[int, ...] = (), scope: dict[str, str] | None = None
    ) -> int:
        """Append an event and its bodies; the answer is its position."""
        position = self.next
        scope_body = self.value(scope)
        name, schema, payload = registry.encode(event)
        envelope = Envelope(
            FORMAT,
            position,
            EventId(number(position)),
            recorded_at(position),
            CONTAINER,
            scope_body,
            PERSON,
            tuple(EventId(number(cause)) for cause in causes),
            GroupId(number(position)),
            name,
            schema,
            msgspec.Raw(payload),
        )
        for slot, sealed in enumerate(self._writer.sealed):
            self.kept[Place(position, slot)] = sealed.content
            self.sealed[Place(position, slot)] = sealed
        self._writer = BodyWriter(CountedIds((position + 1) << 70))
        self.events.append(Recorded(envelope, event))
        return position

    def remember(self, value: int, text: str = "a", **fields: Any) -> int:
        event = e.FactRemembered(FactId(number(value)), self.statement(text), **fields)
        return self.add(event)

    def edit(self, value: int, ends: tuple[int, ...], text: str = "b", **fields: Any) -> int:
        chain = tuple(FactId(number(old)) for old in ends)
        return self.add(e.FactEdited(FactId(number(value)), chain, self.statement(text), **fields))

    def supersede(
        self, by: int, ends: tuple[int, ...], *, causes: tuple[int, ...] = (), **fields: Any
    ) -> int:
        chain = tuple(FactId(number(old)) for old in ends)
        return self.add(e.FactSuperseded(FactId(number(by)), chain, **fields), causes=causes)

    def reinstate(
        self, value: int, superseding: int, by: int, *, causes: tuple[int, ...] = ()
    ) -> int:
        facts = (FactId(number(value)),)
        event = e.FactReinstated(facts, EventId(number(superseding)), FactId(number(by)))
        return self.add(event, causes=causes)

    def repeat(self, by: int, value: int, *, causes: tuple[int, ...] = ()) -> int:
        """Fact `value` says the same as `by`; none of its own times differs."""
        ended = (FactId(number(value)),)
        return self.add(e.FactSuperseded(FactId(number(by)), ended, repeats=True), causes=causes)

    def judge(
        self, value: int, *pairs: tuple[int, e.Outcome], causes: tuple[int, ...] = (), **fields: Any
    ) -> int:
        """A judging that leans to `updates` wherever it leaves a pair to a person."""
        found: list[e.Pair] = []
        for old, outcome in pairs:
            leaning = e.Outcome.UPDATES if outcome is e.Outcome.REVIEW else outcome
            found.append(e.Pair(FactId(number(old)), outcome, 900, leaning))
        return self.add(e.FactsJudged(FactId(number(value)), tuple(found), **fields), causes=causes)

    def label(self, judged: int, value: int, old: int, outcome: e.Outcome) -> int:
        pair = FactId(number(value)), FactId(number(old))
        return self.add(e.LabelGiven(EventId(number(judged)), *pair, outcome))

    def link(self, source: int, target: int, outcome: e.Outcome = e.Outcome.EXTENDS) -> int:
        return self.add(e.FactsLinked(FactId(number(source)), FactId(number(target)), outcome))

    def fit(self, parameters: str, *labels: int) -> int:
        given = tuple(EventId(number(label)) for label in labels)
        event = e.PolicyFitted(CONTAINER, self.piece(parameters), given)
        return self.add(event, causes=labels)

    def end(self, *values: int, at: str | None = None, causes: tuple[int, ...] = ()) -> int:
        facts = tuple(FactId(number(value)) for value in values)
        when = parse_instant(at) if at else None
        return self.add(e.FactsEnded(facts, when), causes=causes)

    def seen(self, item: Ref, at: int, *sources: e.Span) -> int:
        return self.add(e.SeenAgain(item, at, sources))

    def ingest(self, value: int, *pieces: str, **fields: Any) -> int:
        """A document, and its pieces cut into one passage each (ids 10 * document + piece)."""
        bodies = tuple(self.piece(piece) for piece in pieces)
        at = self.add(e.DocumentIngested(DocumentId(number(value)), bodies, **fields))
        self.cut(value, bodies, at)
        return at

    def cut(self, value: int, bodies: tuple[Body, ...], at: int, first: int | None = None) -> int:
        start = 10 * value if first is None else first
        cuts = tuple(
            e.Cut(PassageId(number(start + n)), body.seen_from(at), 0, body.chars)
            for n, body in enumerate(bodies)
        )
        return self.add(e.PassagesCut(DocumentId(number(value)), cuts), causes=(at,))

    def say(self, value: int, text: str, **fields: Any) -> int:
        conversation = ConversationId(number(99))
        event = e.MessageRecorded(
            MessageId(number(value)), conversation, 0, e.Role.USER, self.piece(text), **fields
        )
        return self.add(event)

    def undo(self, *positions: int) -> int:
        target = Ref(Kind.EVENT, number(positions[0]))
        return self.add(e.Undone(target, tuple(EventId(number(p)) for p in positions)))

    def erase(self, item: Ref, *places: Place) -> int:
        for place in places:
            del self.kept[place]
        return self.add(e.ContentErased((item,), places))

    def pour(self, log: Log, clock: HandClock) -> Iterator[int]:
        """Append all to an empty log, one group each; positions, ids and times come out the same.

        Gives the position after each event; what was erased is erased at the end.
        """
        for recorded in self.events:
            envelope = recorded.envelope
            slots = sorted(place for place in self.sealed if place.at == envelope.position)
            bodies = [self.sealed[place] for place in slots]
            draft = Draft(
                recorded.event, bodies, envelope.causes, envelope.scope, envelope.event_id
            )
            clock.at = envelope.recorded_at
            with log.writing() as writer:
                appended = writer.append(CONTAINER, [draft])
                assert [r.position for r in appended] == [envelope.position]
                if isinstance(recorded.event, e.ContentErased):
                    writer.erase(CONTAINER, recorded.event.places, recorded.event.items)
            yield envelope.position

    # --- reading

    def dump(self) -> Dump:
        dump = oracle(self.events, self.kept.get)
        assert oracle(self.events, self.kept.get, by_tag=True) == dump
        return dump

    def dump_at(self, position: int) -> Dump:
        return oracle_at(self.events, self.kept.get, position)
