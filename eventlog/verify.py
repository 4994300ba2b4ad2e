"""Recompute everything that the log says about itself, and say what does not hold.

Each container's chain is computed anew from the envelopes; every event is decoded; the indexes
and bodies are checked against the events; each seal (`HeadsSealed`) against the heads as they were
then. A consistent rewrite of the whole store, or a cut tail, can only be found with a head token
that was kept elsewhere (`expect`).
"""

import hashlib
import hmac
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from rewound.eventlog import envelope as envelopes
from rewound.eventlog.bodies import Body, Place, digest_of
from rewound.eventlog.envelope import GENESIS
from rewound.eventlog.errors import Damaged, InvalidInput, NotFound
from rewound.eventlog.events import ContentErased, HeadsSealed
from rewound.eventlog.ids import STORE, ContainerId, EventId
from rewound.eventlog.log import Audit, Head, Reader, Recorded, Tally, recorded_from

_NO_HEAD = "without a head that was kept elsewhere, a cut off end cannot be found"
_TOKEN = re.compile(r"head_(\d+)_([0-9a-f]{64})")


class Finding(NamedTuple):
    """Something that does not hold; `container` is None when it is about no one container."""

    container: ContainerId | None
    position: int
    """0 when it is about no one event."""
    problem: str


class Report(NamedTuple):
    """What was looked at, and what was found."""

    events: int
    bodies: int
    """Bodies that are there."""
    erased: int
    """Bodies that are gone because they were erased."""
    head: str
    """The head token, to be kept elsewhere."""
    expected: bool | None
    """Whether the head that was expected is in the chain; None when none was given."""
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """What could not be checked."""

    @property
    def ok(self) -> bool:
        return not self.findings and self.expected is not False


def heads_digest(reader: Reader) -> tuple[bytes, int]:
    """All containers' heads but the reserved one's, hashed together by id; and how many."""
    digest, count = hashlib.sha256(), 0
    for container in reader.containers():
        if container != STORE:
            digest.update(_head_bytes(container, reader.head(container)))
            count += 1
    return digest.digest(), count


def head_token(reader: Reader) -> str:
    """The reserved container's head as text. Its seals pin the heads of all other containers."""
    head = reader.head(STORE)
    return f"head_{head.position}_{head.digest.hex()}"


def verify(reader: Reader, *, expect: str | None = None) -> Report:
    """Check the whole log. Takes long, and memory for one container's erased places.

    `expect` is a head token kept from earlier. Raises InvalidInput when it is none.
    """
    if not isinstance(reader, Audit):
        raise TypeError("only an implementation's own reader can be verified")
    wanted = None if expect is None else _parse(expect)
    return _Verification(reader, wanted).run()


def _parse(token: str) -> Head:
    found = _TOKEN.fullmatch(token.strip())
    if found is None:
        raise InvalidInput("a head looks like head_12_ and 64 letters or digits", field="expect")
    return Head(int(found[1]), bytes.fromhex(found[2]))


def _head_bytes(container: ContainerId, head: Head) -> bytes:
    return container + head.position.to_bytes(8, "big") + head.digest


class _Seal:
    """A seal, and the heads up to its moment, gathered container by container."""

    def __init__(self, recorded: Recorded, event: HeadsSealed) -> None:
        self.position = recorded.position
        self.at = recorded.envelope.recorded_at
        self.event = event
        self.heads = hashlib.sha256()
        self.containers = 0

    def holds(self) -> bool:
        event = self.event
        return event.digest == self.heads.digest() and event.containers == self.containers


class _Verification:
    """One walk over all containers, the reserved one first: its seals are about the others."""

    def __init__(self, reader: Audit, wanted: Head | None) -> None:
        self._reader = reader
        self._wanted = wanted
        self._expected = None if wanted is None else wanted == Head(0, GENESIS)
        self._findings: list[Finding] = []
        self._seals: list[_Seal] = []
        self._seen = Tally(0, 0, 0, 0, 0)
        self._erased = 0
        self.there = reader.tally()

    def run(self) -> Report:
        for container in self._reader.containers():
            _Container(self, container).run()
        for seal in self._seals:
            if not seal.holds():
                self.found(STORE, seal.position, "the heads sealed are not those of that moment")
        self._check_tally()
        return Report(
            self._seen.events,
            self._seen.bodies,
            self._erased,
            head_token(self._reader),
            self._expected,
            tuple(self._findings),
            () if self._wanted is not None else (_NO_HEAD,),
        )

    @property
    def reader(self) -> Audit:
        return self._reader

    @property
    def seals(self) -> list[_Seal]:
        return self._seals

    def found(self, container: ContainerId | None, position: int, problem: str) -> None:
        self._findings.append(Finding(container, position, problem))

    def count(self, *, events: int = 0, tags: int = 0, bodies: int = 0, erased: int = 0) -> None:
        seen = self._seen
        self._seen = Tally(
            seen.events + events,
            seen.positions + events,
            seen.event_ids + events,
            seen.tags + tags,
            seen.bodies + bodies,
        )
        self._erased += erased

    def passed(self, container: ContainerId, head: Head) -> None:
        """Called with each head of the reserved container as it is recomputed."""
        if (
            container == STORE
            and self._wanted is not None
            and self._wanted.position == head.position
        ):
            self._expected = self._wanted == head

    def _check_tally(self) -> None:
        """Rows that belong to no event. With other findings, counts say nothing certain."""
        if self._findings:
            return
        for name, seen, there in zip(Tally._fields, self._seen, self.there, strict=True):
            if seen != there:
                self.found(None, 0, f"the table {name} has {there} rows where {seen} belong")


class _Container:
    """The walk over one container."""

    def __init__(self, whole: _Verification, container: ContainerId) -> None:
        self._whole = whole
        self._reader = whole.reader
        self._container = container
        self._seals = [] if container == STORE else list(whole.seals)
        self._at = 0
        self._missing: dict[Place, int] = {}  # body -> the event that refers to it
        self._erased: set[Place] = set()

    def run(self) -> None:
        stored = true = GENESIS
        end = self._end()
        for position in range(1, end + 1):
            raw = self._reader.raw(self._container, position)
            if raw is None:
                self._found(position, "the event is missing")
                true = envelopes.chain(true, b"")
                continue
            link = self._link(position)
            whole = link == envelopes.chain(stored, raw)
            before, true = true, link if whole and true == stored else envelopes.chain(true, raw)
            stored = link
            if whole:
                self._event(raw, Head(position, before))
            else:
                self._found(position, "the event, or the one before it, is not what was chained")
            self._whole.passed(self._container, Head(position, true))
        self._seal(Head(end, true), None)
        self._bodies_gone()

    def _end(self) -> int:
        """The head's position. One that lies beyond all that the log holds is damaged itself, and
        walking up to it might take for ever."""
        end, rows = self._reader.head(self._container).position, self._whole.there.positions
        if end <= rows:
            return end
        self._found(rows, f"the head is at position {end}, but the log holds {rows} events in all")
        return rows

    def _found(self, position: int, problem: str) -> None:
        self._whole.found(self._container, position, problem)

    def _link(self, position: int) -> bytes:
        try:
            return self._reader.head_at(self._container, position).digest
        except NotFound:
            return b""

    def _seal(self, head: Head, until: int | None) -> None:
        """Give the head to the seals made before `until`; all that are left when it is None."""
        while self._seals and (until is None or self._seals[0].at < until):
            seal = self._seals.pop(0)
            if head.position:
                seal.heads.update(_head_bytes(self._container, head))
                seal.containers += 1

    def _event(self, raw: bytes, before: Head) -> None:
        """Check one event; `before` is its own position and the chain up to it."""
        position = before.position
        try:
            recorded = recorded_from(raw)
        except Damaged as error:
            self._found(position, error.message)
            return
        envelope, event = recorded
        if (envelope.container, envelope.position) != (self._container, position):
            self._found(position, "the event says that it stands elsewhere")
            return
        if envelope.recorded_at <= self._at:
            self._found(position, "the event is not later than the one before it")
        self._at = envelope.recorded_at
        self._seal(Head(position - 1, before.digest), envelope.recorded_at)
        if not self._finds(envelope.event_id, position):
            self._found(position, "the event is not found by its id")
        tags = envelopes.tags_of(envelope, event.creates(), event.refers())
        for tag in tags:
            if not self._reader.has_tag(self._container, tag, position):
                self._found(position, f"the event is not found by its tag {tag.hex()}")
        self._whole.count(events=1, tags=len(tags), bodies=self._bodies(recorded))
        if isinstance(event, HeadsSealed) and self._container == STORE:
            self._whole.seals.append(_Seal(recorded, event))
        elif isinstance(event, ContentErased):
            self._erased.update(event.places)

    def _finds(self, event_id: EventId, position: int) -> bool:
        try:
            return self._reader.find(event_id) == (self._container, position)
        except Damaged:
            return False  # it leads to an event that has a finding of its own

    def _bodies(self, recorded: Recorded) -> int:
        """Check the bodies an event refers to; how many of its own are there."""
        position = recorded.position
        own: set[Place] = set()
        for body in bodies_of(recorded):
            place = body.place(position)
            sealed = self._reader.sealed(self._container, place)
            if sealed is None:
                self._missing.setdefault(place, position)
            elif not hmac.compare_digest(digest_of(*sealed), body.digest):
                self._found(position, f"body {place.slot} of event {place.at} was changed")
            if sealed is not None and place.at == position:
                own.add(place)
        return len(own)

    def _bodies_gone(self) -> None:
        for place, position in self._missing.items():
            if place in self._erased:
                self._whole.count(erased=place.at == position)
            else:
                self._found(position, f"body {place.slot} of event {place.at} is missing")
        for place in self._erased:
            if self._reader.sealed(self._container, place) is not None:
                self._found(place.at, f"body {place.slot} was erased and is still there")


def bodies_of(recorded: Recorded) -> Iterator[Body]:
    """All body references of an event, its scope's included."""
    if recorded.envelope.scope is not None:
        yield recorded.envelope.scope
    yield from _bodies_in(recorded.event)


def _bodies_in(value: object) -> Iterator[Body]:
    if isinstance(value, Body):
        yield value
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from _bodies_in(getattr(value, field))
    elif isinstance(value, tuple):
        for item in value:
            yield from _bodies_in(item)
