"""The envelope around each event, and the hash chain over the envelopes of a container."""

import enum
import hashlib
from collections.abc import Callable

import msgspec

from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import ContainerId, EventId, GroupId, KeyId, Kind, Ref

FORMAT = 1
GENESIS = bytes(32)
"""The chain's value before a container's first event."""


class ActorKind(enum.IntEnum):
    PERSON = 1
    WORKER = 2
    SYSTEM = 3


class Actor(msgspec.Struct, frozen=True, array_like=True):
    """Who caused the event: a person (later through a key), a background worker, the store."""

    kind: ActorKind = ActorKind.PERSON
    key: KeyId | None = None


PERSON = Actor(ActorKind.PERSON)
WORKER = Actor(ActorKind.WORKER)
SYSTEM = Actor(ActorKind.SYSTEM)


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """What surrounds an event in the log. `recorded_at` is UTC µs and never runs back.

    `group` is the id of the first event of one request, job or import. `scope` refers to a body
    {user, agent, run, session}. Grows only at the end.
    """

    format: int
    position: int
    event_id: EventId
    recorded_at: int
    container: ContainerId
    scope: Body | None
    actor: Actor
    causes: tuple[EventId, ...]
    group: GroupId
    name: str
    schema: int
    payload: msgspec.Raw


_EVENT_TAG, _GROUP_TAG = bytes((Kind.EVENT,)), bytes((Kind.GROUP,))

encode: Callable[[Envelope], bytes] = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(Envelope)


def decode(raw: bytes | memoryview) -> Envelope:
    """Decode, with the payload left raw (a view into `raw`: copy it to keep it)."""
    return _decoder.decode(raw)


def chain(previous: bytes, raw: bytes | memoryview) -> bytes:
    """The chain's next value: SHA-256 over the previous one and the envelope's bytes."""
    return hashlib.sha256(previous + raw).digest()


def tags_of(envelope: Envelope, created: tuple[Ref, ...], referred: tuple[Ref, ...]) -> list[bytes]:
    """The 17-byte tags by which the log finds an event: items, causes, its group if not first."""
    tags = [ref.key() for ref in created]
    if referred:
        tags += [ref.key() for ref in referred]
    if envelope.causes:
        tags += [_EVENT_TAG + cause for cause in envelope.causes]
    if bytes(envelope.group) != envelope.event_id:
        tags.append(_GROUP_TAG + envelope.group)
    return tags if len(tags) < 2 else list(dict.fromkeys(tags))
