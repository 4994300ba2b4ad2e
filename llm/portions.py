"""Texts of one source, cut into portions that a model can read in one call.

Only its writer's own prose is shown to a model: recalled memories, code, logs and tables are left
out before, as they are for the rules. A long paragraph is cut between sentences, and the next
portion begins a little before where the last one ended.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rewound.llm.extraction import Said
from rewound.llm.screening import prose
from rewound.llm.sentences import Span

CHARS_MAX = 200_000
"""Characters of one piece that are read."""

OVERLAP_CHARS = 240
_CUTS = ("\n\n", "\n", ". ", "! ", "? ", "。", "; ", ", ", " ")

Count = Callable[[str], int]


class Stretch(NamedTuple):
    """Characters of a piece, from `start` on, that are shown without a break."""

    piece: int
    start: int
    text: str


class Portion(NamedTuple):
    stretches: tuple[Stretch, ...]

    @property
    def text(self) -> str:
        return "\n".join(stretch.text for stretch in self.stretches)

    def halves(self) -> tuple["Portion", ...]:
        """The same in two smaller ones; itself when it cannot be made smaller."""
        only, *others = self.stretches
        if others:
            middle = len(self.stretches) // 2
            return Portion(self.stretches[:middle]), Portion(self.stretches[middle:])
        parts = list(_cut(only.text, max(len(only.text) // 2, 1), len))
        if len(parts) < 2 or len(only.text) < 2 * OVERLAP_CHARS:
            return (self,)
        return tuple(
            Portion((Stretch(only.piece, only.start + part.start, _of(only.text, part)),))
            for part in parts
        )


def portions(pieces: Sequence[Said], most: int, count: Count) -> Iterator[Portion]:
    """The prose of users and documents, in order, in portions of at most `most` by `count`.

    What an assistant, a tool or a system prompt says is no fact about anybody: it is found as it
    was said, and no model is asked about it.
    """
    held: list[Stretch] = []
    size = 0
    for stretch in _stretches(pieces):
        for part in _cut(stretch.text, most, count):
            text = _of(stretch.text, part)
            cost = count(text) + 1
            if held and size + cost > most:
                yield Portion(tuple(held))
                held, size = [], 0
            held.append(Stretch(stretch.piece, stretch.start + part.start, text))
            size += cost
    if held:
        yield Portion(tuple(held))


def parts(text: str, most: int, count: Count) -> Iterator[str]:
    """A text in parts of at most `most` by `count`, which overlap a little."""
    return (_of(text, span) for span in _cut(text, most, count))


def _stretches(pieces: Sequence[Said]) -> Iterator[Stretch]:
    for number, piece in enumerate(pieces):
        if piece.role not in ("user", "document"):
            continue
        for span in prose(piece.text, piece.media, CHARS_MAX, piece.role == "user"):
            if text := piece.text[span.start : span.end].strip():
                start = piece.text.index(text, span.start)
                yield Stretch(number, start, text)


def _of(text: str, span: Span) -> str:
    return text[span.start : span.end]


def _cut(text: str, most: int, count: Count) -> Iterator[Span]:
    """The text in parts of at most `most` that overlap; one part if it fits."""
    start = 0
    while True:
        end = _fitting(text, start, most, count)
        if end >= len(text):
            yield Span(start, len(text))
            return
        cut = _good_cut(text, start + (end - start) // 2, end)
        yield Span(start, cut)
        start = max(
            _good_cut(text, max(cut - OVERLAP_CHARS, start + 1), cut, first=True), start + 1
        )


def _fitting(text: str, start: int, most: int, count: Count) -> int:
    """Where the longest part that begins at `start` and fits may end; one character at least."""
    low, high = start + 1, len(text)
    if count(text[start:]) <= most:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[start:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _good_cut(text: str, begin: int, end: int, *, first: bool = False) -> int:
    """The last place in [begin, end] where a thought ends, or the `first`; `end` if there is
    none."""
    for mark in _CUTS:
        at = text.find(mark, begin, end) if first else text.rfind(mark, begin, end)
        if at >= 0:
            return at + len(mark)
    return end
