"""Identifiers: UUIDv7 bits (RFC 9562, section 5.7), shown as a kind prefix and base32.

The kind is not in the bits; it lies in the prefix (`fact_…`), in the type (`FactId`) and, in tags
and item references, in a kind byte.
"""

import enum
import os
import struct
import threading
import uuid
from typing import NewType, Protocol

import msgspec

from rewound.eventlog.clock import Clock
from rewound.eventlog.errors import InvalidInput, WrongKind

EventId = NewType("EventId", bytes)
GroupId = NewType("GroupId", bytes)
ContainerId = NewType("ContainerId", bytes)
DocumentId = NewType("DocumentId", bytes)
MessageId = NewType("MessageId", bytes)
PassageId = NewType("PassageId", bytes)
FactId = NewType("FactId", bytes)
ConversationId = NewType("ConversationId", bytes)
EntityId = NewType("EntityId", bytes)
KeyId = NewType("KeyId", bytes)


class Kind(enum.IntEnum):
    """What an id names. The numbers are stored: never renumber, only add."""

    EVENT = 1
    GROUP = 2
    CONTAINER = 3
    DOCUMENT = 4
    MESSAGE = 5
    PASSAGE = 6
    FACT = 7
    CONVERSATION = 8
    ENTITY = 9
    KEY = 10


PREFIXES = {
    Kind.EVENT: "ev",
    Kind.GROUP: "grp",
    Kind.CONTAINER: "con",
    Kind.DOCUMENT: "doc",
    Kind.MESSAGE: "msg",
    Kind.PASSAGE: "psg",
    Kind.FACT: "fact",
    Kind.CONVERSATION: "conv",
    Kind.ENTITY: "ent",
    Kind.KEY: "key",
}
_KINDS = {prefix: kind for kind, prefix in PREFIXES.items()}
NAMES = {
    Kind.EVENT: "an event",
    Kind.GROUP: "a group of events",
    Kind.CONTAINER: "a container",
    Kind.DOCUMENT: "a document",
    Kind.MESSAGE: "a message",
    Kind.PASSAGE: "a passage",
    Kind.FACT: "a fact",
    Kind.CONVERSATION: "a conversation",
    Kind.ENTITY: "an entity",
    Kind.KEY: "a key",
}

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford: no i, l, o, u
_VALUES = {char: value for value, char in enumerate(_ALPHABET)}
_CHARS = 26  # 128 bits in groups of five
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS = range(10 * (_CHARS // 2 - 1), -1, -10)

_KIND_BYTES = tuple(bytes((kind,)) for kind in range(256))
_pack = struct.Struct(">QQ").pack

STORE = ContainerId(bytes(16))
"""The reserved container for store matters (sealed heads, later keys and nodes)."""


class Ref(msgspec.Struct, frozen=True, array_like=True, order=True):
    """A typed id: what it names, and the 16 bytes."""

    kind: Kind
    id: bytes

    def __str__(self) -> str:
        return show(self.kind, self.id)

    def key(self) -> bytes:
        """17 bytes: the kind and the id, as tags and row keys hold it."""
        return _KIND_BYTES[self.kind] + self.id


def show(kind: Kind, raw: bytes) -> str:
    """The printed form: `fact_` and 26 base32 characters."""
    number = int.from_bytes(raw, "big")
    pairs = [_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS]
    return f"{PREFIXES[kind]}_{''.join(pairs)}"


def as_uuid(raw: bytes) -> str:
    """The same bits as a UUID, as façades for other clients show them."""
    return str(uuid.UUID(bytes=raw))


def parse_any(text: str, *, field: str = "id") -> tuple[Kind | None, bytes]:
    """Read a printed id or a UUID; the kind is None for a UUID, which does not hold one.

    Raises InvalidInput naming `field` when the text is neither.
    """
    prefix, mark, rest = text.strip().partition("_")
    kind = _KINDS.get(prefix.lower())
    if mark and kind is not None and len(rest) == _CHARS:
        values = [_VALUES.get(char) for char in rest.lower()]
        number = 0
        for value in values:
            if value is None:
                break
            number = number << 5 | value
        else:
            if number >> 128 == 0:
                return kind, number.to_bytes(16, "big")
    raw = _uuid_bytes(text)
    if raw is not None:
        return None, raw
    shown = text if len(text) <= 40 else text[:37] + "…"
    raise InvalidInput(
        f"{shown!r} is not an id: ids look like fact_01j… (a kind, an underscore and 26 letters "
        "or digits) or like a UUID",
        field=field,
    )


def _uuid_bytes(text: str) -> bytes | None:
    if len(text) not in (32, 36):
        return None
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return None


def parse(text: str, kind: Kind, *, field: str = "id") -> bytes:
    """Read an id that must be of `kind`. Raises WrongKind naming the kind that was given."""
    found, raw = parse_any(text, field=field)
    if found is not None and found is not kind:
        raise WrongKind(
            f"{text} is {NAMES[found]}, but {field} wants {NAMES[kind]} ({PREFIXES[kind]}_…)",
            field=field,
        )
    return raw


class IdSource(Protocol):
    def new(self) -> bytes:
        """16 fresh bytes, greater than all given before by this source."""
        ...

    def salt(self) -> bytes:
        """16 bytes nobody can guess."""
        ...


class UuidV7Source:
    """UUIDv7 from a clock and the system's randomness, rising even within a millisecond."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0  # milliseconds and the 12-bit counter, as one number

    def new(self) -> bytes:
        noise = int.from_bytes(os.urandom(8), "big")
        with self._lock:
            stamp = self._clock.now_us() // 1000 << 12
            if stamp <= self._last:
                stamp = self._last + 1
            self._last = stamp
        return _pack(stamp >> 12 << 16 | 0x7000 | stamp & 0xFFF, 1 << 63 | noise >> 2)

    def several(self, count: int) -> list[bytes]:
        """As many fresh ids, for the price of one look at the clock and at the randomness."""
        noise = struct.unpack(f">{count}Q", os.urandom(8 * count))
        with self._lock:
            first = max(self._clock.now_us() // 1000 << 12, self._last + 1)
            self._last = first + count - 1
        return [
            _pack(stamp >> 12 << 16 | 0x7000 | stamp & 0xFFF, 1 << 63 | bits >> 2)
            for stamp, bits in enumerate(noise, first)
        ]

    def salt(self) -> bytes:
        return os.urandom(16)


def several(source: IdSource, count: int) -> list[bytes]:
    """Fresh ids from any source, quickly from the real one."""
    if count > 1 and isinstance(source, UuidV7Source):
        return source.several(count)
    return [source.new() for _ in range(count)]
