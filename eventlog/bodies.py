"""Bodies: everything that a person, a client or a model wrote, kept apart from the events.

An event holds only a reference and HMAC-SHA256(salt, body) (RFC 2104). The salt lies with the body:
once both are erased, nothing left can confirm a guess of a short text.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from rewound.eventlog.ids import IdSource

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder().decode

SALT_BYTES = 16


class Body(msgspec.Struct, frozen=True, array_like=True):
    """Where a body lies and what it must hash to.

    `slot` numbers the bodies of one event; `at` is the container position of the event that brought
    it, 0 for the event that holds this reference. `chars` is the length of a text in code points
    (0 for structured bodies); it stays true after the body is erased, so offsets do not move.
    """

    slot: int
    digest: bytes
    chars: int = 0
    at: int = 0

    def place(self, position: int) -> "Place":
        """Its address, given the position of the event that holds this reference."""
        return Place(self.at or position, self.slot)

    def seen_from(self, position: int) -> "Body":
        """The same body as a later event refers to it."""
        return Body(self.slot, self.digest, self.chars, self.at or position)


class Place(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The address of a body in its container: the event's position and the slot."""

    at: int
    slot: int


class Sealed(NamedTuple):
    """A body with its salt, as it is stored."""

    salt: bytes
    content: bytes


class BodyReader(Protocol):
    def body(self, container: bytes, place: Place) -> bytes | None:
        """The content, or None once it is erased."""
        ...


def digest_of(salt: bytes, content: bytes) -> bytes:
    return hmac.digest(salt, content, hashlib.sha256)


def keyed_digest(key: bytes, *parts: bytes) -> bytes:
    """A 16-byte HMAC of several parts under a container's key: for dedup rows and idempotency.

    Parts are length-prefixed, so ("ab", "c") and ("a", "bc") differ.
    """
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.digest(key, whole, hashlib.sha256)[:16]


class BodyWriter:
    """Collects the bodies of one event to be; hands out the references."""

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self.sealed: list[Sealed] = []

    def text(self, text: str | None) -> Body | None:
        """A reference to a new text body; None stays None."""
        return None if text is None else self.piece(text)

    def piece(self, text: str) -> Body:
        return self._add(text.encode(), len(text))

    def value(self, value: Mapping[str, Any] | Sequence[Any] | None) -> Body | None:
        """A reference to a structured body (tags, metadata, scope); empty or None stays None."""
        return self._add(_encode(value), 0) if value else None

    def _add(self, content: bytes, chars: int) -> Body:
        salt = self._ids.salt()
        self.sealed.append(Sealed(salt, content))
        return Body(len(self.sealed) - 1, digest_of(salt, content), chars)


def read_text(content: bytes) -> str:
    return content.decode()


def read_value(content: bytes) -> Any:
    return _decode(content)
