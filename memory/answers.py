"""Answers kept under idempotency keys: the same key and request get the same answer.

Neither keys nor requests are kept readable, and keys are scoped by container and actor. Two rows
are filed. The whole one holds the reply and a digest of the request, both of which may say what a
person wrote: it spans every event that they may be about, and the log drops it when something in
that span is erased. The other holds neither texts nor digests of them, and stays: after an erasure
a retry still finds that its command was done (for a write of new things: is refused, saying so),
and never brings back what was erased.
"""

from typing import Any, NamedTuple

import msgspec

from rewound.eventlog.bodies import keyed_digest
from rewound.eventlog.envelope import Actor
from rewound.eventlog.errors import Conflict, KeyReused
from rewound.eventlog.ids import ContainerId
from rewound.eventlog.log import Answered, Recorded, Writer
from rewound.memory.replies import AnyReply, Change, Forgot, Hidden, Item, Reply, Written
from rewound.memory.requests import Write, only_tells

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode_reply = msgspec.msgpack.Decoder(AnyReply).decode

_QUOTING: dict[type, dict[str, None]] = {
    Item: {"caller_id": None},
    Hidden: {"text": None},
    Change: {"text": None},
}
"""Parts of a write's reply, and their fields that hold what a person wrote."""


_NOWHERE = (0, 0)
"""A span that holds no position: such an answer is never dropped."""


class _Slots(NamedTuple):
    """Where the two rows are filed, and the digest of the request."""

    whole: bytes
    done: bytes
    request: bytes


def _slots(command: Write, actor: Actor, key: bytes) -> _Slots:
    assert command.key is not None
    who, name = bytes((actor.kind,)) + (actor.key or b""), command.key.encode()
    request = _encode(msgspec.structs.replace(command, key=None))
    return _Slots(
        keyed_digest(key, b"idempotency", who, name),
        keyed_digest(key, b"idempotency, done", who, name),
        keyed_digest(key, b"request", request),
    )


def find(command: Write, actor: Actor, log: Writer, container: ContainerId) -> Reply | None:
    """What the command was answered when it first came under its key.

    Raises KeyReused for another request, Conflict when what was written has been erased.
    """
    if command.key is None or only_tells(command):
        return None
    slots = _slots(command, actor, log.key(container))
    done = log.answered(container, slots.done)
    if done is None:
        return None
    whole = log.answered(container, slots.whole)
    if whole is None:
        reply = _decode_reply(done.reply)
        if isinstance(reply, Written):
            # Whether it is the same request can no longer be told, and must not be guessed.
            raise Conflict(
                "what was written under this idempotency key has been erased since: take a fresh "
                "key for a new request",
                field="key",
            )
        return reply
    if whole.request != slots.request:
        raise KeyReused(
            "this idempotency key was used before, with another request: take a fresh key for "
            "each new request",
            field="key",
        )
    return _decode_reply(whole.reply)


def keep(
    command: Write,
    reply: Reply,
    recorded: list[Recorded],
    actor: Actor,
    log: Writer,
    container: ContainerId,
) -> None:
    """File the reply under the command's key."""
    slots = _slots(command, actor, log.key(container))
    head = log.head(container).position
    span = (_first(reply, recorded, log, container, head), head)
    log.answer(container, slots.whole, Answered(slots.request, _encode(reply), span))
    plain = _encode(without_quotations(reply))
    log.answer(container, slots.done, Answered(b"", plain, _NOWHERE))


def _first(
    reply: Reply, recorded: list[Recorded], log: Writer, container: ContainerId, head: int
) -> int:
    """Where the oldest thing was first heard of that a reply may quote.

    What was written quotes only the items it is about; other replies quote from anywhere.
    """
    if not isinstance(reply, Written):
        return 1
    events = [each.event for each in recorded]
    items = dict.fromkeys(ref for event in events for ref in (*event.creates(), *event.refers()))
    heard = [positions[0] for ref in items if (positions := log.tagged(container, ref.key()))]
    return min([head, *heard, *(each.position for each in recorded)])


def without_quotations(reply: Reply) -> Reply:
    """The reply without what a person wrote."""
    plain: dict[str, Any] = {}
    for name in reply.__struct_fields__:
        value = getattr(reply, name)
        if isinstance(value, tuple) and any(type(part) in _QUOTING for part in value):
            plain[name] = tuple(
                msgspec.structs.replace(part, **_QUOTING[type(part)]) for part in value
            )
    if isinstance(reply, Forgot):
        plain["batch"] = None  # a digest of texts
    return msgspec.structs.replace(reply, **plain) if plain else reply
