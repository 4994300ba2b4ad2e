"""When two sendings are the same item: what is compared, and the digests it is filed under.

A document, a fact or a message is its caller's id where it has one. Without one, equal text is one
document or one fact only with the same time, title, metadata, scope and so on: everything but tags.
Digests are HMACs under the container's key, in rows that erase drops. Times count by what they
name: 10:00Z and 11:00+01:00 are equal.

Of several digests an item is filed under the first, that of the composed spelling. The other is of
the spelling that was sent, under which stores filed before names were one in either spelling.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from rewound.eventlog.bodies import keyed_digest
from rewound.eventlog.events import FactKind, Role
from rewound.eventlog.ids import ConversationId
from rewound.eventlog.instants import Instant
from rewound.eventlog.spelling import composed, spellings

_encode = msgspec.msgpack.Encoder(order="deterministic").encode

Scope = Mapping[str, str]
Digests = tuple[bytes, ...]


def normalised(text: str) -> str:
    """A text as it is compared: composed, line ends of one kind, no white space at the end."""
    return _trimmed(composed(text))


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip()


def _spelt(text: str) -> list[bytes]:
    return [_trimmed(each).encode() for each in spellings(text)]


def same_value(one: Any, other: Any) -> bool:
    """Equality of metadata as JSON has it: 1, 1.0 and true differ, the order of keys does not."""
    return bool(_encode(one) == _encode(other))


class DocumentContent(msgspec.Struct, frozen=True, array_like=True):
    """What a document is compared by."""

    text: str
    title: str | None
    address: str | None
    said_at: Instant | None
    metadata: Mapping[str, Any]
    scope: Scope

    def digests(self, key: bytes) -> Digests:
        """Under the container's key."""
        rest = (self.title, self.address, _moment(self.said_at), self.metadata, self.scope)
        return tuple(keyed_digest(key, b"doc", text, _encode(rest)) for text in _spelt(self.text))


class FactContent(msgspec.Struct, frozen=True, array_like=True):
    """What a remembered fact is compared by. `expires_at` is in µs."""

    text: str
    kind: FactKind
    said_at: Instant | None
    valid_from: Instant | None
    valid_to: Instant | None
    expires_at: int | None
    subject: str | None
    attribute: str | None
    value: str | None
    metadata: Mapping[str, Any]
    scope: Scope

    def digests(self, key: bytes) -> Digests:
        """Under the container's key."""
        rest = (
            self.kind,
            _moment(self.said_at),
            _moment(self.valid_from),
            _moment(self.valid_to),
            self.expires_at,
            (self.subject, self.attribute, self.value),
            self.metadata,
            self.scope,
        )
        return tuple(keyed_digest(key, b"fact", text, _encode(rest)) for text in _spelt(self.text))


class MessageContent(msgspec.Struct, frozen=True, array_like=True):
    """What a message is compared by, besides its place in the conversation."""

    role: Role
    speaker: str | None
    said_at: tuple[int, int] | None
    text: str

    def digest(self, key: bytes, conversation: ConversationId) -> bytes:
        """Under the container's key."""
        return keyed_digest(key, b"message", conversation, _encode(self))


def message_content(
    role: Role, speaker: str | None, said_at: Instant | None, text: str
) -> MessageContent:
    spelt = None if speaker is None else composed(speaker)
    return MessageContent(role, spelt, _moment(said_at), normalised(text))


def caller_digests(key: bytes, kind: str, caller_id: str, scope: Scope) -> Digests:
    """A caller's id for a `document` or a `fact`; each scope has its own."""
    sort, within = b"caller-" + kind.encode(), _encode(scope)
    return tuple(keyed_digest(key, sort, each.encode(), within) for each in spellings(caller_id))


def caller_message_digests(key: bytes, conversation: ConversationId, caller_id: str) -> Digests:
    """A caller's id for a message: exports number the messages of each conversation anew."""
    return tuple(
        keyed_digest(key, b"caller-message", conversation, each.encode())
        for each in spellings(caller_id)
    )


def conversation_digests(key: bytes, name: str, scope: Scope) -> Digests:
    within = _encode(scope)
    return tuple(
        keyed_digest(key, b"conversation", each.encode(), within) for each in spellings(name)
    )


def returned_digest(key: bytes, conversation: ConversationId) -> bytes:
    """Filed once a message was recorded anew in the place of a forgotten one."""
    return keyed_digest(key, b"returned", conversation)


def _moment(instant: Instant | None) -> tuple[int, int] | None:
    return None if instant is None else (instant.at, instant.precision)
