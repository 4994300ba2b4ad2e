"""Cursors: where a list goes on, bound to the very list that gave them.

A cursor holds the position and the now of its first page, so that all pages show one moment however
much is written meanwhile (what is forgotten meanwhile is left out), and the last id shown. It is
sealed with the container's secret over the question: altered, or given to another list, it is
refused.
"""

import base64
import binascii
import struct
from typing import NamedTuple

import msgspec

from rewound.eventlog.bodies import keyed_digest
from rewound.eventlog.errors import InvalidInput
from rewound.memory.requests import Containers, Jobs, List, Reviews

_FORM = struct.Struct(">Qq")
_SEAL_BYTES = 16
Listing = List | Containers | Reviews | Jobs
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Cursor(NamedTuple):
    """The moment of the first page (position, µs) and the place after which the next page begins:
    an id, or what else the list is ordered by."""

    position: int
    now_us: int
    after: bytes


def write(cursor: Cursor, question: Listing, secret: bytes) -> str:
    """The cursor as text, for this question asked with any limit."""
    payload = _FORM.pack(cursor.position, cursor.now_us) + cursor.after
    sealed = payload + _seal(payload, question, secret)
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def read(question: Listing, secret: bytes) -> Cursor | None:
    """The question's cursor, None for the first page. Raises InvalidInput."""
    if question.cursor is None:
        return None
    text = question.cursor.strip()
    try:
        sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _refused() from None
    payload, seal = sealed[:-_SEAL_BYTES], sealed[-_SEAL_BYTES:]
    if len(payload) < _FORM.size or seal != _seal(payload, question, secret):
        raise _refused()
    position, now_us = _FORM.unpack_from(payload)
    return Cursor(position, now_us, payload[_FORM.size :])


def _seal(payload: bytes, question: Listing, secret: bytes) -> bytes:
    same_list = msgspec.structs.replace(question, cursor=None, limit=1, at_least=None)
    return keyed_digest(secret, b"cursor", _encode(same_list), payload)


def _refused() -> InvalidInput:
    return InvalidInput(
        "this cursor is not from this list: it was altered, or given for another container, kind, "
        "moment or filters; leave it out to begin again",
        field="cursor",
    )
