"""The sentences of a model's answer as they come in, and the numbers that each of them cites.

A mark such as [2] or [1, 3] belongs to the sentence that it stands in, or right behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from rewound.llm.sentences import sentences

_MARK = r"[\[【]\s*(?:[a-z]{1,9}\s)?#?\d{1,4}(?:\s*(?:,|;|and|&)\s*#?\d{1,4})*\s*[\]】]"
_MARKS = re.compile(rf"\s*(?:{_MARK}[\s,;]*)*{_MARK}", re.I)
_AFTER_END = re.compile(rf"([.!?…。！？]+[\"'”’»)*_]*)(\s?(?:{_MARK}[ ,;]*)*{_MARK})", re.I)
_WHOLE = re.compile(r"[.!?…。！？][\"'”’»)*_]*\s*$")
_LIST = re.compile(r"^\s*(?:[-*•–]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)+")
_BOLD = re.compile(r"\*\*|__|`")
_BLANK_BEFORE = re.compile(r"\s+([.!?…,;:])")


class Marked(NamedTuple):
    """A sentence without its marks and signs of lists, and the numbers in its marks, each once."""

    text: str
    cites: tuple[int, ...]


class Sentences:
    """Tells each sentence of words that come bit by bit, once the next one has begun."""

    def __init__(self, tell: Callable[[Marked], None]) -> None:
        self._tell = tell
        self._held = ""

    def hear(self, words: str) -> None:
        self._held += words
        self._held = _AFTER_END.sub(r"\2\1", self._held)
        while True:
            found = sentences(self._held, 0, len(self._held))
            if len(found) < 2 or not _has_begun(self._held[found[1].start :]):
                return
            self._said(self._held[: found[1].start])
            self._held = self._held[found[1].start :]

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
        marked = marked_in(sentence)
        if marked.text or marked.cites:
            self._tell(marked)


def _has_begun(rest: str) -> bool:
    """Whether more than a mark of the sentence before stands there."""
    return not rest.startswith(("[", "【")) and len(rest) > 1


def marked_in(sentence: str) -> Marked:
    """A sentence apart from its marks."""
    cites = [int(each) for mark in _MARKS.findall(sentence) for each in re.findall(r"\d+", mark)]
    bare = _BOLD.sub("", _LIST.sub("", _MARKS.sub("", sentence)))
    text = _BLANK_BEFORE.sub(r"\1", " ".join(bare.split())).strip()
    return Marked(text if re.search(r"\w", text) else "", tuple(dict.fromkeys(cites)))
