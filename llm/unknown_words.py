"""Texts in a script that a model does not know: told apart by how they are written.

A model that cuts texts into pieces has one piece for all words that it does not know, and cuts
words of a script that it hardly met into single letters. The vectors of any two such texts are near
each other, whatever they say: a question in Thai would be answered by anything in Khmer, with
certainty, and one emoji would repeat another. (Measured with all-MiniLM-L6-v2: cosine 1.0 for two
sentences of Thai, 0.6 to 0.8 for unrelated ones in Greek or Russian.) The vector of such a text is
made of its words, their beginnings and pairs of characters instead. It is near to what is written
alike, be it inflected, and to nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

UNKNOWN_SHARE = 0.5
"""From this share of characters in pieces that say nothing on, a text counts as unknown."""

_PARTED = re.compile(r"[\s!-/:-@\[-`{-~¡¿«»‐-‧。、，．！？：；「」『』（）।]+")
# Thai to Tibetan, Myanmar, Hangul, Khmer, kana, Han.
_SPACELESS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
)
_SYLLABLE = re.compile(r"[\u3400-\u9fff\uac00-\ud7a3]")  # One of Han or Hangul may be a word.
_BEGINNINGS = (3, 4)


def is_unknown(tokens: Sequence[str], offsets: Sequence[tuple[int, int]], unknown: str) -> bool:
    """Whether most characters of a text lie in pieces that say nothing: in that for `unknown`
    words, and in single letters that are not ASCII.

    `offsets` are the characters of each piece; marks around the text have none.
    """
    whole = lost = 0
    for token, (start, end) in zip(tokens, offsets, strict=True):
        letter = token.removeprefix("##")
        whole += end - start
        if token == unknown or (len(letter) == 1 and not letter.isascii()):
            lost += end - start
    return lost > 0 and lost >= UNKNOWN_SHARE * whole


def written_vector(text: str, dimensions: int) -> npt.NDArray[np.float32]:
    """Shape (dimensions,), of any length but none; the same on every machine."""
    total = np.zeros(dimensions)
    for feature, weight in _features(text):
        place, sign = _hashed(feature)
        total[place % dimensions] += weight * sign
    if not total.any():  # features that cancel each other out, or none
        total[_hashed(text)[0] % dimensions] = 1.0
    return total.astype(np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _PARTED.split(normalize("NFKC", text).casefold()):
        if _SPACELESS.match(word):
            yield from (("".join(pair), 1.5) for pair in pairwise(word))
            yield from ((one, 1.0) for one in _SYLLABLE.findall(word))
        elif word:
            weight = 1.0 if len(word) > 2 else 0.5  # What joins the others is short.
            yield f"={word}", weight
            yield from (("".join(pair), weight) for pair in pairwise(f"<{word}>"))
            yield from ((f"^{word[:size]}", 1.5) for size in _BEGINNINGS if len(word) >= size)


def _hashed(feature: str) -> tuple[int, int]:
    """A number of 63 bits, and a sign: features that meet in one place then tend to cancel out."""
    digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1 if number & 1 else -1
