"""How long a text is for a model, in tokens: what counts them, and an estimate.

A line's end counts as well: what is counted is a line of a longer text.
"""

from typing import Protocol

BYTES_PER_TOKEN = 4
"""About four characters each in English. Other letters are cut smaller, about as their bytes are
more: one or two of Chinese, two of Russian."""


class CountingFailed(Exception):
    """The tokenizer could not be loaded; the message says why."""


class TokenCounter(Protocol):
    """Counts tokens. Safe for any number of threads.

    `name` tells by what; `bytes_most` is how many bytes a token has at most in common prose, for
    a first guess at what fits.
    """

    @property
    def name(self) -> str: ...

    @property
    def bytes_most(self) -> int: ...

    def load(self) -> None:
        """Make ready to count. Raises CountingFailed."""
        ...

    def forget(self) -> None:
        """Let go of what is remembered of texts."""
        ...

    def line(self, text: str) -> int:
        """The tokens of a text and its line's end."""
        ...

    def whole(self, text: str) -> int | None:
        """The tokens of a text of several lines; None where that is the sum of its lines."""
        ...


def ready(counter: TokenCounter) -> TokenCounter:
    """The counter once it can count; the estimate in place of one that cannot."""
    try:
        counter.load()
    except CountingFailed:
        return ESTIMATE
    return counter


def bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


class Estimate:
    """Four bytes a token, rounded up: it knows no tokenizer and takes no time."""

    name = "estimate"
    bytes_most = BYTES_PER_TOKEN

    def load(self) -> None:
        pass

    def forget(self) -> None:
        pass

    def line(self, text: str) -> int:
        return -(-(bytes_of(text) + 1) // BYTES_PER_TOKEN)

    def whole(self, text: str) -> int | None:
        del text
        return None


ESTIMATE = Estimate()
