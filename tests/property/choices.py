"""Where random choices come from: Hypothesis, or a seeded generator."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    def below(self, count: int) -> int:
        """A number in [0, count)."""
        ...


class Drawn:
    """Choices drawn by Hypothesis, which shrinks them."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def below(self, count: int) -> int:
        return self._data.draw(st.integers(0, count - 1))


class Seeded:
    """Choices of one generator, which the seed repeats."""

    def __init__(self, seed: int) -> None:
        self._generator = random.Random(seed)

    def below(self, count: int) -> int:
        return self._generator.randrange(count)


def one(c: Choices, options: Sequence[T]) -> T:
    return options[c.below(len(options))]


def chance(c: Choices, percent: int) -> bool:
    """True that often; shrinks towards False."""
    return c.below(100) >= 100 - percent
