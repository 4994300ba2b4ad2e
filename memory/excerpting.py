"""The part of a long text that answers a question: the stretch of sentences that says most of it.

A context has few tokens. A passage of three hundred that answers in two sentences would crowd out
others, and the head of a long message is seldom what was found. The work grows with the length of
the text and the number of terms asked for.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from rewound.projections.tokens import tokenize_many

_END = re.compile(
    r"(?<=[.!?…])[\"')\]]*\s+"
    r"|(?<=[。！？])(?![。！？])[\"')\]」』”’）]*\s*"  # no blank follows in Chinese and Japanese
    r"|\n+"
)
GAP = "…"
_SENTENCE_CHARS_MAX = 400
"""A longer one is cut at blanks, so that a text without full stops has parts as well."""
_AGAIN = 0.3
"""What a term is worth for every further time, of what it was worth before."""


class _Part(NamedTuple):
    start: int
    end: int
    terms: frozenset[str]


def excerpt(text: str, weights: Mapping[str, float], chars: int) -> str:
    """At most `chars` of a text, and marks: the sentences in a row that hold most of what is asked.

    `weights` tells how telling each term of the question is, from 0 up. What is left out is marked.
    A text that fits is given whole; one that holds nothing of the question by its head. A sentence
    that is longer than `chars` is given in part.
    """
    if len(text) <= chars:
        return text
    chars = max(chars, 1)
    spans = _sentences(text, min(chars, _SENTENCE_CHARS_MAX))
    # As a text, not as a query: that leaves out single characters and words that say little.
    told = tokenize_many([text[start:end] for start, end in spans])
    parts = [
        _Part(start, end, frozenset(weights.keys() & terms))
        for (start, end), terms in zip(spans, told, strict=True)
    ]
    if not parts:
        return ""
    first, last = _best(parts, weights, chars)
    start, end = parts[first].start, parts[last].end
    before = f"{GAP} " if text[:start].strip() else ""
    after = f" {GAP}" if text[end:].strip() else ""
    return f"{before}{text[start:end].strip()}{after}"


def closing(text: str, chars: int) -> str:
    """The last sentence of a text, of which at most `chars` from its end."""
    spans = _sentences(text, chars)
    return text[spans[-1][0] :].strip() if spans else ""


def _sentences(text: str, most: int) -> list[tuple[int, int]]:
    """Where the sentences or lines of a text begin and end, none blank or longer than `most`."""
    cuts = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    found: list[tuple[int, int]] = []
    for start, end in pairwise(cuts):
        while end - start > most:
            at = text.rfind(" ", start + 1, start + most) + 1
            cut = at or start + most
            found.append((start, cut))
            start = cut
        found.append((start, end))
    return [(start, end) for start, end in found if not text[start:end].isspace() and start < end]


class _Stretch:
    """Some parts in a row: how often they hold each term, and what they are worth.

    Each term counts once, and a little for every further time. Counts are kept and not sums, so
    that what was added and taken away again leaves no trace.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._times: dict[str, int] = {}

    def add(self, part: _Part) -> None:
        for term in part.terms:
            self._times[term] = self._times.get(term, 0) + 1

    def take(self, part: _Part) -> None:
        for term in part.terms:
            self._times[term] -= 1

    def worth(self) -> float:
        whole = 1.0 - _AGAIN
        return sum(
            weight * (1.0 - _AGAIN ** self._times.get(term, 0)) / whole
            for term, weight in self._weights.items()
        )


def _best(parts: Sequence[_Part], weights: Mapping[str, float], chars: int) -> tuple[int, int]:
    """The first and last part of the stretch of at most `chars` that is worth the most; of equal
    ones the first, and the shorter, then filled up with what follows and what stands before.

    A stretch is worth no less than a shorter one with the same first part, so that of each first
    part only the longest is looked at; both ends only ever move on.
    """
    stretch = _Stretch(weights)
    best, at, end = -1.0, 0, 0
    for first, part in enumerate(parts):
        more = not first
        while end < len(parts) and parts[end].end - part.start <= chars:
            stretch.add(parts[end])
            more = more or bool(parts[end].terms)
            end += 1
        if more:  # one that only lost its first part is worth no more than it was
            worth = stretch.worth()
            if worth > best + 1e-9:
                best, at = worth, first
        stretch.take(part)
    return _widened(parts, (at, _shortest(parts, weights, at, best)), chars)


def _shortest(
    parts: Sequence[_Part], weights: Mapping[str, float], first: int, worth: float
) -> int:
    """The last part of the shortest stretch from `first` on that is worth as much."""
    stretch = _Stretch(weights)
    last = first
    stretch.add(parts[first])
    while stretch.worth() < worth - 1e-9:
        last += 1
        stretch.add(parts[last])
    return last


def _widened(parts: Sequence[_Part], chosen: tuple[int, int], chars: int) -> tuple[int, int]:
    """With what follows and what stands before, in turn, as far as there is room."""
    first, last = chosen
    while True:
        was = (first, last)
        if last + 1 < len(parts) and parts[last + 1].end - parts[first].start <= chars:
            last += 1
        if first > 0 and parts[last].end - parts[first - 1].start <= chars:
            first -= 1
        if was == (first, last):
            return was
