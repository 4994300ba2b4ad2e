"""How long a text is for a model, in tokens: by an estimate, or by a model's own tokenizer.

A line's end counts as well: what is counted is a line of a longer text.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BYTES_PER_TOKEN = 4
"""About four characters each in English. Other letters are cut smaller, about as their bytes are
more: one or two of Chinese, two of Russian."""


WORDS_KEPT = 20_000
WORD_CHARS_KEPT = 40
"""Words whose tokens are remembered, about 3 MB of them; an id with its brackets has 35."""

_log = logging.getLogger(__name__)

_BLANKS = re.compile(r"[ \n]")


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


class TokenizerCounter:
    """Counts by a tokenizer, which `make` loads when it is first wanted.

    A word that the tokenizer does not know is one token to it, however long it is: such a word is
    counted by its bytes.
    """

    bytes_most = 6

    # A WordPiece tokenizer cuts at blanks before all else, so that words may be counted one by one,
    # and those that were counted before need not be cut again. Others may join what a blank parts.

    def __init__(self, name: str, make: Callable[[], Tokenizer]) -> None:
        self.name = name
        self._make = make
        self._tokenizer: Tokenizer | None = None
        self._unknown: int | None = None
        self._known: dict[str, int] | None = None
        self._failed: str | None = None
        self._loading = threading.Lock()

    def load(self) -> None:
        """Raises CountingFailed; once that happened, it is not tried again."""
        with self._loading:
            if self._tokenizer is not None:
                return
            if self._failed is not None:
                raise CountingFailed(self._failed)
            try:
                tokenizer = self._make()
            except Exception as error:  # files and packages fail in ways of their own
                self._failed = f"{self.name} cannot be loaded: {error}"
                _log.warning("tokens are estimated: %s", self._failed)
                raise CountingFailed(self._failed) from error
            tokenizer.no_padding()
            tokenizer.no_truncation()
            tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
            self._unknown = _unknown(tokenizer)
            self._known = {} if type(tokenizer.model).__name__ == "WordPiece" else None
            self._tokenizer = tokenizer

    def forget(self) -> None:
        """Let go of words that were counted (an erase leaves nothing behind in memory)."""
        if self._known is not None:
            self._known = {}

    def line(self, text: str) -> int:
        return self._count(text + "\n")

    def whole(self, text: str) -> int | None:
        return self._count(text)

    def _count(self, text: str) -> int:
        known = self._known
        if known is None:
            return self._cut(text)
        total = 0
        for word in _BLANKS.split(text):
            count = known.get(word)
            if count is None:
                count = self._cut(word) if word else 0
                if len(word) <= WORD_CHARS_KEPT:
                    if len(known) >= WORDS_KEPT:
                        known.clear()
                    known[word] = count
            total += count
        return total

    def _cut(self, text: str) -> int:
        assert self._tokenizer is not None, "it is loaded before it counts"
        readable = text.encode("utf-8", "replace").decode()
        found = self._tokenizer.encode(readable, add_special_tokens=False)
        count = len(found.ids)
        if self._unknown is not None and self._unknown in found.ids:
            for token, (start, end) in zip(found.ids, found.offsets, strict=True):
                if token == self._unknown:
                    count += -(-bytes_of(readable[start:end]) // BYTES_PER_TOKEN) - 1
        return count


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The number of the token that stands for what the tokenizer does not know."""
    word = getattr(tokenizer.model, "unk_token", None)
    return tokenizer.token_to_id(word) if isinstance(word, str) else None
