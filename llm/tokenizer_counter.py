"""Tokens counted by a model's own tokenizer, as its tokenizer.json describes it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rewound.llm.growing_pause import GrowingPause
from rewound.llm.token_counting import BYTES_PER_TOKEN, CountingFailed, bytes_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORDS_KEPT = 20_000
WORD_CHARS_KEPT = 40
"""Words whose tokens are remembered, about 3 MB of them; an id with its brackets has 35."""

RELOAD_S = (30.0, 3_600.0)
"""How soon it is tried again to load it, and at most, each time twice as long."""

_log = logging.getLogger(__name__)

_PLAIN = "a plain sentence"
_BLANKS = re.compile(r"[ \n]")


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
        self._pause = GrowingPause(*RELOAD_S)
        self._loading = threading.Lock()

    def load(self) -> None:
        """Raises CountingFailed; once that happened, it is tried again ever later."""
        with self._loading:
            if self._tokenizer is not None:
                return
            if self._failed is not None and not self._pause.is_over(time.monotonic()):
                raise CountingFailed(self._failed)
            from rewound.llm.onnx_running import panics_told

            try:
                with panics_told():
                    tokenizer = self._make()
                    tokenizer.encode(_PLAIN, add_special_tokens=False)
            except Exception as error:  # files and packages fail in ways of their own
                self._failed = f"{self.name} cannot be loaded: {error}"
                self._pause.failed(time.monotonic())
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
