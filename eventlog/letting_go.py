"""What this process remembers of texts only to be quick, and how all of it is let go of.

A cache that is keyed by a text, or by a word of one, keeps that in memory until it is full. An
erasing must leave nothing behind, so every such cache is named here, and an erasing empties all.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar


class Remembering(Protocol):
    """A function that `functools.lru_cache` has wrapped."""

    def cache_clear(self) -> None: ...

    def cache_info(self) -> Any: ...


F = TypeVar("F", bound=Remembering)

_ways: list[Callable[[], None]] = []
_sizes: list[Callable[[], int]] = []


def named(clear: Callable[[], None], size: Callable[[], int]) -> None:
    """Name a cache by what empties it and what tells how many entries it has. For imports."""
    _ways.append(clear)
    _sizes.append(size)


def holds_texts(function: F) -> F:
    """The same function, its cache named; stands above `lru_cache`."""
    named(function.cache_clear, lambda: int(function.cache_info().currsize))
    return function


def let_go() -> None:
    """Empty all that was named. May be called from any thread."""
    for clear in _ways:
        clear()


def held() -> int:
    """How many entries all of them have."""
    return sum(size() for size in _sizes)
