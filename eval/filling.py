"""Made-up facts in English words, and stores filled with them quickly.

Words come from the vocabulary of the embedding model's tokenizer, which lists English words with
the frequent ones first, and are drawn as language draws them (Zipf 1949). So texts cost about what
real ones do, in the index of words and in the model.
"""

import itertools
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rewound.llm.embedding import Vectors
from rewound.llm.minilm import DIMENSIONS, TOKENIZER, MiniLM
from rewound.memory import Memory, embedding
from rewound.memory.models import Models

FACT_WORDS = 12
QUERY_WORDS = 6
POOL = 4_096
"""Texts drawn beforehand and then repeated: far more than a store remembers queries."""

_SEED = 20261129
_BATCH = 1_000
_WAIT_S = 60


def vocabulary() -> list[str]:
    """English words in lower case, the frequent ones first."""
    known = json.loads(TOKENIZER.verified().read_text())["model"]["vocab"]
    return [
        word
        for word in sorted(known, key=known.__getitem__)
        if len(word) > 1 and word.isascii() and word.isalpha() and word.islower()
    ]


def texts(words: int, count: int, seed: int) -> list[str]:
    """Made-up sentences, the same for the same seed."""
    rng = random.Random(_SEED + seed)
    known = vocabulary()
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(1, len(known) + 1)))
    return [" ".join(rng.choices(known, cum_weights=weights, k=words)) for _ in range(count)]


def facts(seed: int) -> Iterator[str]:
    """Facts without end, no two alike."""
    pool = texts(FACT_WORDS, POOL, seed)
    return (f"{pool[n % POOL]} {seed}-{n}." for n in itertools.count())


def queries(seed: int, count: int = POOL) -> Iterator[str]:
    """Queries without end; after `count` of them they begin again."""
    return itertools.cycle(texts(QUERY_WORDS, count, seed))


class RandomVectors:
    """Goes by the real model's name, and takes no time."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(_SEED)

    @property
    def name(self) -> str:
        return MiniLM().name

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        drawn = self._rng.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)
        unit: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit


class _Filling(Models, frozen=True, kw_only=True):
    def make_embedder(self, nodes: object = None) -> RandomVectors:
        return RandomVectors()


def fill(data: Path, count: int, seconds: float = math.inf) -> int:
    """Fill a store with facts that each have a vector, written as any owner of it would.

    Ends early once the seconds are over, with some facts at least; how many there are.
    """
    usual, embedding.BATCH = embedding.BATCH, _BATCH
    begun = time.perf_counter()
    done = 0
    try:
        with Memory(data, models=_Filling(extractor="none", judge="none")) as memory:
            source = facts(seed=0)
            while done < count and (not done or time.perf_counter() - begun < seconds):
                some = [*itertools.islice(source, min(_BATCH, count - done))]
                memory.remember([{"text": text} for text in some])
                memory.workers("wait", timeout_s=_WAIT_S)
                done += len(some)
            missing = memory.search("the").unembedded
    finally:
        embedding.BATCH = usual
    if missing:
        raise RuntimeError(f"{missing} facts have no vector")
    return done


def pause(data: Path) -> None:
    """From now on what is written there gets no vectors, whoever owns the store."""
    with Memory(data) as memory:
        memory.workers("pause")
