"""The sentences of a model's answer as they come in, and the numbers that each of them cites.

A mark such as [2], [1, 3] or [1-3] belongs to the sentence that it stands in, or right behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.replies import ChatFailed
from rewound.llm.sentences import sentences

SENTENCE_CHARS_MAX = 4_000
"""What is longer is no sentence of an answer."""

_RANGE_MAX = 20
"""Numbers that a mark such as [1-3] may name."""

_NUMBERS = r"#?\d{1,4}(?:\s?[-–]\s?#?\d{1,3}(?!\d))?"
_MARK = rf"[\[【]\s*(?:[a-z]{{1,9}}:?\s)?{_NUMBERS}(?:\s*(?:,|;|and|&)\s*{_NUMBERS})*\s*[\]】]"
_MARKS = re.compile(rf"\s*(?:{_MARK}[\s,;]*)*{_MARK}", re.I)
_AFTER_END = re.compile(rf"([.!?…。！？]{{1,8}}[\"'”’»)*_]*)(\s?(?:{_MARK}[ ,;]*)*{_MARK})", re.I)
_WHOLE = re.compile(r"[.!?…。！？][\"'”’»)*_]*\s*$")
_LIST = re.compile(r"^\s*(?:[-*•–]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)+")
_BOLD = re.compile(r"\*\*|__|`")
_BLANK_BEFORE = re.compile(r"\s+([.!?…,;:])")
_AROUND_MARKS = re.compile(r"\s*\(\s*\)")
_CITED = re.compile(r"(\d+)(?:\s?[-–]\s?#?(\d+))?")


class Marked(NamedTuple):
    """A sentence without its marks and signs of lists, and the numbers in its marks, each once."""

    text: str
    cites: tuple[int, ...]


class Sentences:
    """Tells each sentence of words that come bit by bit, once the next one has begun. Raises
    ChatFailed for one that does not end."""

    def __init__(self, tell: Callable[[Marked], None]) -> None:
        self._tell = tell
        self._held = ""

    def hear(self, words: str) -> None:
        self._held = held = _AFTER_END.sub(r"\2\1", self._held + words)
        begin = 0
        for _, after in pairwise(sentences(held, 0, len(held))):
            if not _has_begun(held, after.start):
                break
            self._said(held[begin : after.start])
            begin = after.start
        self._held = held[begin:]
        if len(self._held) > SENTENCE_CHARS_MAX:
            self._held = self._held[:SENTENCE_CHARS_MAX]
            raise _endless()

    def were_thoughts(self) -> None:
        self._held = ""

    def end(self) -> None:
        """There are no more words."""
        rest, self._held = self._held, ""
        for span in sentences(rest, 0, len(rest)):
            self._said(rest[span.start : span.end])

    def break_off(self) -> bool:
        """No more words will come; whether a sentence was begun that is not whole."""
        whole = marked_in(self._held).cites and _WHOLE.search(self._held)
        if whole:
            self.end()
        return not whole and bool(self._held.strip())

    def _said(self, sentence: str) -> None:
        if len(sentence) > SENTENCE_CHARS_MAX:
            raise _endless()
        marked = marked_in(sentence)
        if marked.text or marked.cites:
            self._tell(marked)


def _endless() -> ChatFailed:
    return ChatFailed("a sentence of the answer does not end", Why.MALFORMED)


def _has_begun(words: str, start: int) -> bool:
    """Whether more than a mark of the sentence before stands there."""
    return not words.startswith(("[", "【"), start) and len(words) > start + 1


def marked_in(sentence: str) -> Marked:
    """A sentence apart from its marks."""
    cites = [number for mark in _MARKS.findall(sentence) for number in _numbers(mark)]
    bare = _BOLD.sub("", _LIST.sub("", _MARKS.sub("", sentence)))
    if cites:
        bare = _AROUND_MARKS.sub("", bare)
    text = _BLANK_BEFORE.sub(r"\1", " ".join(bare.split())).strip()
    return Marked(text if re.search(r"\w", text) else "", tuple(dict.fromkeys(cites)))


def _numbers(mark: str) -> Iterator[int]:
    for found in _CITED.finditer(mark):
        first = int(found[1])
        last = int(found[2] or first)
        if first <= last <= first + _RANGE_MAX:
            yield from range(first, last + 1)
        else:
            yield from (first, last)
