"""The log as an interface: what every implementation gives, and one conformance suite tests.

A container has its own gapless positions from 1 and its own hash chain. The store-wide order is
internal (`after` and `sequence` of `Reader.all_events`) and never shown to users.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from rewound.eventlog import envelope as envelopes
from rewound.eventlog import registry
from rewound.eventlog.bodies import Body, BodyReader, BodyWriter, Place, Sealed
from rewound.eventlog.envelope import PERSON, Actor, Envelope
from rewound.eventlog.errors import Damaged
from rewound.eventlog.events import Event
from rewound.eventlog.ids import ContainerId, EventId, GroupId, IdSource, Ref


class Draft(NamedTuple):
    """An event to be appended, with the bodies that its slots name."""

    event: Event
    bodies: Sequence[Sealed] = ()
    causes: tuple[EventId, ...] = ()
    scope: Body | None = None
    event_id: EventId | None = None
    """Given by a decider that must name this event in another of the same group."""


class Recorded(NamedTuple):
    """An event as it stands in the log, brought up to today's vocabulary."""

    envelope: Envelope
    event: Event

    @property
    def position(self) -> int:
        return self.envelope.position

    @property
    def container(self) -> ContainerId:
        return self.envelope.container


class Head(NamedTuple):
    """The end of a container's chain; position 0 and 32 zero bytes before its first event."""

    position: int
    digest: bytes


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """What an idempotency key was answered with."""

    request: bytes
    """Digest of the request, under the container's key."""
    reply: bytes
    positions: tuple[int, int]
    """First and last position appended."""


class Reader(BodyReader, Protocol):
    """One consistent snapshot of the log. Short-lived: a held one keeps freed pages from reuse."""

    def head(self, container: ContainerId) -> Head: ...

    def head_at(self, container: ContainerId, position: int) -> Head:
        """The chain's value at a position, as stored. Raises NotFound past the end."""
        ...

    def raw(self, container: ContainerId, position: int) -> bytes | None:
        """The envelope's bytes as stored: what the chain hashes."""
        ...

    def containers(self) -> Iterator[ContainerId]:
        """All containers that have an event, the reserved one included, by id."""
        ...

    def key(self, container: ContainerId) -> bytes:
        """The container's secret (32 bytes) for digests of content.

        Made with its first event, or when an open write asks for it before. Raises NotFound.
        """
        ...

    def read(self, container: ContainerId, position: int) -> Recorded | None: ...

    def find(self, event_id: EventId) -> tuple[ContainerId, int] | None: ...

    def events(
        self, container: ContainerId, after: int = 0, until: int | None = None
    ) -> Iterator[Recorded]:
        """Events with after < position <= until, in order."""
        ...

    def all_events(self, after: int = 0) -> Iterator[tuple[int, Recorded]]:
        """(sequence, event) of all containers with sequence > after, in the order recorded."""
        ...

    def sequence(self) -> int:
        """The last store-wide sequence, 0 for an empty log."""
        ...

    def last_recorded_at(self) -> int:
        """µs of the last event in the store, 0 for an empty log."""
        ...

    def tagged(self, container: ContainerId, tag: bytes, after: int = 0) -> list[int]:
        """Positions of the events with that 17-byte tag, rising, greater than `after`."""
        ...

    def position_at(self, container: ContainerId, at_us: int) -> int:
        """Last position recorded at or before that time, 0 if none."""
        ...

    def sealed(self, container: ContainerId, place: Place) -> Sealed | None:
        """A body with its salt, None once erased."""
        ...

    def known(self, container: ContainerId, digest: bytes) -> list[Ref]:
        """Items once filed under a content digest or a caller's id, oldest first."""
        ...

    def answered(self, container: ContainerId, key: bytes) -> Answered | None:
        """The answer filed under an idempotency key's digest."""
        ...

    def memo(self, container: ContainerId, key: bytes) -> bytes | None:
        """A memoised embedding, by (model, recipe, item) digest."""
        ...


class Tally(NamedTuple):
    """How many rows of each kind the whole store holds."""

    events: int
    positions: int
    event_ids: int
    tags: int
    bodies: int


@runtime_checkable
class Audit(Reader, Protocol):
    """What `verify` asks besides; every implementation's own reader gives it."""

    def has_tag(self, container: ContainerId, tag: bytes, position: int) -> bool:
        """Whether the event at `position` is found under the tag."""
        ...

    def tally(self) -> Tally: ...


class Writer(Reader, Protocol):
    """The one open write: reads see its own appends; nothing is durable before its commit."""

    def append(
        self,
        container: ContainerId,
        drafts: Sequence[Draft],
        *,
        actor: Actor = PERSON,
        group: GroupId | None = None,
    ) -> list[Recorded]:
        """Append events in order, as one group (or as more of an open one).

        Recorded times are max(now, last + 1 µs). Event ids come from the draft or the log's ids.
        """
        ...

    def file(self, container: ContainerId, digest: bytes, item: Ref) -> None:
        """File an item under a content digest; several may share one."""
        ...

    def answer(self, container: ContainerId, key: bytes, answered: Answered) -> None: ...

    def put_memo(self, container: ContainerId, key: bytes, value: bytes, item: Ref) -> None: ...

    def drop_memo(self, container: ContainerId, key: bytes) -> bool:
        """Whether there was one."""
        ...

    def erase(self, container: ContainerId, places: Iterable[Place], items: Iterable[Ref]) -> int:
        """Remove bodies, digests, memo and answers of these; marks the log as to be compacted.

        Returns how many bodies were there. The bytes leave the disk only with `Log.compact`.
        """
        ...


class Log(Protocol):
    """An append-only log with bodies. Closing is idempotent; use after close raises StoreBusy."""

    @property
    def ids(self) -> IdSource: ...

    def reading(self) -> AbstractContextManager[Reader]: ...

    def writing(self, *, urgent: bool = False) -> AbstractContextManager[Writer]:
        """One group: committed durably on leaving without error, else as if it had not begun.

        `urgent` is for taking back (forget, undo, erase): it may use the room kept for that on a
        full disk. Raises MapGrew when the map was too small: run the same group again; StoreFull.
        """
        ...

    def make_way(self) -> bool:
        """On a full disk: give the room kept for taking back to what must follow this log; False
        when there is none to give. Writes that are not urgent are refused until it is there again.
        """
        ...

    def needs_compaction(self) -> bool:
        """True from an erase until its compaction, across restarts."""
        ...

    def compact(self) -> None:
        """Rewrite the files without erased bytes; pauses readers and the writer shortly."""
        ...

    def close(self) -> None: ...


def bodies(log: Log) -> BodyWriter:
    return BodyWriter(log.ids)


def envelope_from(raw: bytes) -> Envelope:
    """Decode stored bytes; the payload refers to them. Raises Damaged."""
    try:
        return envelopes.decode(raw)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise Damaged(f"an envelope cannot be decoded: {error}") from error


def recorded_from(raw: bytes) -> Recorded:
    """Decode stored bytes into an envelope and today's form of its event. Raises Damaged."""
    envelope = envelope_from(raw)
    return Recorded(envelope, registry.decode(envelope.name, envelope.schema, envelope.payload))
