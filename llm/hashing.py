"""An embedder without a model: texts are near when they share words or parts of words.

For tests, and for machines where the model cannot run. It knows no synonyms and no languages; what
it gives is the same on every machine and for ever, as its name says.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from rewound.eventlog.letting_go import holds_texts
from rewound.llm.embedding import Vectors, checked

RECIPE = 1
"""Counts up with anything that changes a vector."""

CHARACTERS_MAX = 32_768
"""Characters of a text that count; a passage has some hundreds."""

WORD_CHARACTERS_MAX = 64
"""Characters of a word that count."""

GRAM = 3
"""Characters in a part of a word. Parts make `walked` and `walking` neighbours, in any script."""

WORD_WEIGHT = 2
"""How much a whole word counts against one of its parts."""

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Words and their parts, each added to one of the dimensions that its hash chooses.

    Safe for any number of threads. Long words count more than short ones, for they have more
    parts; that stands in for leaving out `the` and `of`.
    """

    def __init__(self, dimensions: int = 384) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions is {dimensions}; it must be 1 or more")
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return f"hashing/{self._dimensions}/{RECIPE}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (texts, dimensions), in the order of the texts."""
        sums = np.zeros((len(texts), self._dimensions))
        for row, text in enumerate(texts):
            sums[row] = self._sum(text)
        return checked(sums, len(texts), self._dimensions)

    def _sum(self, text: str) -> npt.NDArray[np.float64]:
        plain = unicodedata.normalize("NFKC", text[:CHARACTERS_MAX]).casefold()
        features = [f for word in _WORD.findall(plain) for f in _features(word)]
        places = np.array([place % self._dimensions for place, _ in features], np.int64)
        weights = np.array([weight for _, weight in features], np.float64)
        total = np.zeros(self._dimensions)
        np.add.at(total, places, weights)
        if not total.any():  # no word at all, or features that cancel each other out
            total[_hashed("")[0] % self._dimensions] = 1.0
        return total


@holds_texts
@lru_cache(maxsize=16_384)
def _features(word: str) -> tuple[tuple[int, int], ...]:
    """Place and signed weight of the word and of each of its parts."""
    short = word[:WORD_CHARACTERS_MAX]
    return tuple(
        (place, sign * weight)
        for feature, weight in _parts(short)
        for place, sign in (_hashed(feature),)
    )


def _parts(word: str) -> Iterator[tuple[str, int]]:
    yield f"={word}", WORD_WEIGHT
    marked = f"<{word}>"
    for start in range(len(marked) - GRAM + 1):
        yield marked[start : start + GRAM], 1


def _hashed(feature: str) -> tuple[int, int]:
    """A number of 63 bits, and a sign: features that meet in one place then tend to cancel out."""
    digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number >> 1, 1 if number & 1 else -1
