"""Embeddings kept in the log beside the events, so that no text is embedded twice.

A memo belongs to (container, model, recipe, item). It holds a digest of the very text that was
embedded, under the container's key: a text that was masked since, or that was sent anew in another
form, does not fit its memo and is embedded again.

    key     keyed digest of model, recipe and item
    value   digest (16 bytes) | scale (f4, LE) | numbers (i1)
"""

import struct
from typing import NamedTuple

import numpy as np

from rewound.eventlog.bodies import keyed_digest
from rewound.eventlog.ids import Ref
from rewound.projections.vectors import Numbers

RECIPE = "words/1"
"""How an entry's text is put before the model: its indexed words, with the speaker's name."""

DIGEST_BYTES = 16
_SCALE = struct.Struct("<f")


class Memo(NamedTuple):
    """What was made of one text. `numbers` has shape (dimensions,)."""

    digest: bytes
    scale: float
    numbers: Numbers


def memo_key(secret: bytes, model: str, item: Ref) -> bytes:
    return keyed_digest(secret, b"memo", model.encode(), RECIPE.encode(), item.key())


def text_digest(secret: bytes, text: str) -> bytes:
    """What tells whether a memo is of this text; how its words are spaced makes no difference."""
    words = " ".join(text.split())
    return keyed_digest(secret, b"embedded", words.encode("utf-8", "surrogatepass"))[:DIGEST_BYTES]


def encode_memo(memo: Memo) -> bytes:
    return memo.digest + _SCALE.pack(memo.scale) + memo.numbers.tobytes()


def decode_memo(value: bytes) -> Memo:
    scale = _SCALE.unpack_from(value, DIGEST_BYTES)[0]
    numbers = np.frombuffer(value, np.int8, offset=DIGEST_BYTES + _SCALE.size)
    return Memo(value[:DIGEST_BYTES], scale, numbers)
