"""The log's tables in LMDB: their names, keys and row forms.

    meta       name                             → format, store id, mark that erased bytes lie here
    events     sequence u64                     → envelope
    bodies     sequence u64, slot u16           → salt, content
    event_ids  event id                         → sequence
    positions  container, position u64          → sequence, chain digest
    tags       container, tag, position u64     → further positions of the same write
    keys       container                        → secret
    known      container, length, digest, item  → its place among them u64
    answers    container, length, key           → first and last position, answer
    memo       container, length, key           → item, value

Ids and tags have a fixed length and a digest at most 64 bytes, so that no key comes near the 511
bytes that LMDB takes, whatever a client sends. Numbers are big-endian: LMDB sorts by bytes.
"""

import struct

from rewound.eventlog.envelope import GENESIS

META, EVENTS, BODIES, EVENT_IDS = "meta", "events", "bodies", "event_ids"
POSITIONS, TAGS, KEYS = "positions", "tags", "keys"
KNOWN, ANSWERS, MEMO = "known", "answers", "memo"
TABLES = (META, EVENTS, BODIES, EVENT_IDS, POSITIONS, TAGS, KEYS, KNOWN, ANSWERS, MEMO)

FORMAT, STORE_ID, COMPACTION, CUT = b"format", b"store", b"compaction", b"cut"

ID_BYTES = 16
TAG_BYTES = 17
SEQUENCE_BYTES = 8
DIGEST_BYTES_MAX = 64
SLOT_MAX = (1 << 16) - 1

pack8 = struct.Struct(">Q").pack
pack_body = struct.Struct(">QH").pack
SPAN = struct.Struct(">QQ")

LINK_BYTES = len(GENESIS)


def number(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def checked_id(raw: bytes) -> bytes:
    """An id as part of a key. Raises ValueError."""
    if len(raw) != ID_BYTES:
        raise ValueError(f"an id has {ID_BYTES} bytes, not {len(raw)}")
    return raw


def tagged_key(container: bytes, tag: bytes) -> bytes:
    """What the rows of one tag begin with. Raises ValueError."""
    if len(container) != ID_BYTES or len(tag) != TAG_BYTES:
        raise ValueError(f"{len(container)} and {len(tag)} bytes are no container and tag")
    return container + tag


def digest_key(container: bytes, digest: bytes) -> bytes:
    """What the rows of one digest begin with; its length keeps one from continuing another.

    Raises ValueError.
    """
    if len(container) != ID_BYTES or not 1 <= len(digest) <= DIGEST_BYTES_MAX:
        raise ValueError(
            f"a digest has 1 to {DIGEST_BYTES_MAX} bytes and a container {ID_BYTES}, "
            f"not {len(digest)} and {len(container)}"
        )
    return container + bytes((len(digest),)) + digest


def pack_positions(positions: list[int]) -> bytes:
    return struct.pack(f">{len(positions)}Q", *positions)


def unpack_positions(raw: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(raw) // 8}Q", raw)
