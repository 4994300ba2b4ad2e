"""Cutting a document's text into pieces of about a paragraph.

The pieces joined are the text, verbatim. A text of more than 1,200 characters is cut into pieces of
at least 400 and at most 2,000, most of them below 1,200.

Where to cut is decided by what stands there, so that an edit changes the pieces around it and no
others. It is done in stages: blank lines and headings first, over the whole text; then, only inside
parts that are still too long, line ends, sentence ends, clause ends and words. Within a stage a
place is cut at when no place within 400 characters ranks higher; rank is the kind of place, then
checksums of the text between it and the place before: of how that begins (an edit within a numbered
line leaves its rank alone), then of the whole. An edit can thus move the cuts of a stage only near
it, and those of later stages only inside the parts so touched. Repetitive text, where many places
rank alike, is cut from left to right inside its part, and a run without any place to cut at (ten
megabytes of one word) every 1,200 characters.
"""

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.eventlog.events import Media

PIECE_CHARS_MIN = 400
PIECE_CHARS_AIM = 1_200
PIECE_CHARS_MAX = 2_000
_OPENING_CHARS = 12

# Kinds of places to cut at, the best last. In code a blank line before an indented one is worse.
_WORD, _CLAUSE, _SENTENCE, _LINE, _INDENTED, _PARAGRAPH, _HEADING = range(7)

# Possessive where a repetition could be tried again and again: no input makes a pattern slow. Each
# begins with a plain character or set of characters, which is what makes them fast to look for.
_PATTERNS = (
    (_PARAGRAPH, re.compile(r"\n(?:[ \t\r]*+\n)++")),
    (_LINE, re.compile(r"[\r\n](?:[ \t]*+[\r\n])*+")),
    (_SENTENCE, re.compile(r"[.!?…][\"'”’»)\]]*+\s++")),
    (_SENTENCE, re.compile(r"[。！？]++[」』”’）]*+\s*+")),
    (_CLAUSE, re.compile(r"[,;}\])>，；：、]++\s*+")),
    (_WORD, re.compile(r"\s++")),
)

# A heading `# …`, or several, with the blank lines below; and the line under a heading of the other
# form. Fences are not minded: whether a line lies in one depends on the whole text before, and an
# edit far away would move cuts here.
_HASHED = re.compile(r"(?m)^(?:#{1,6}[ \t][^\n]*+(?:\n|\Z)(?:[ \t\r]*+\n)*+)++")
_UNDERLINE = re.compile(r"(?m)^(?:=++|-++)[ \t\r]*+(?:\n|\Z)(?:[ \t\r]*+\n)*+")

_Ints = npt.NDArray[np.int64]
_Part = tuple[int, int]


class _Stage(NamedTuple):
    """Parts longer than `limit` are cut at places of the kind `worst` or a better one."""

    worst: int
    limit: int


_PROSE = (
    _Stage(_INDENTED, PIECE_CHARS_AIM),
    _Stage(_LINE, PIECE_CHARS_AIM),
    _Stage(_SENTENCE, PIECE_CHARS_AIM),
    _Stage(_CLAUSE, PIECE_CHARS_MAX),
    _Stage(_WORD, PIECE_CHARS_MAX),
)
_SOURCE = tuple(stage for stage in _PROSE if stage.worst != _SENTENCE)
"""For code and data: there a full stop ends no sentence."""


def pieces(text: str, media: Media = Media.TEXT) -> list[str]:
    """Cut a text; the result joined is the text. An empty text has no pieces."""
    cuts = [0, *cut_points(text, media), len(text)]
    return [text[start:end] for start, end in pairwise(cuts) if end > start]


def inked(piece: str) -> tuple[int, int] | None:
    """[start, end) of a piece without blank lines around; None when there is nothing to read.

    The first line keeps its indentation.
    """
    end = len(piece.rstrip())
    if end == 0:
        return None
    indented = len(piece) - len(piece.lstrip())
    return piece.rfind("\n", 0, indented) + 1, end


def cut_points(text: str, media: Media = Media.TEXT) -> list[int]:
    """The inner boundaries, rising."""
    source = media in (Media.CODE, Media.JSON)
    headings = _headings(text) if not source and len(text) > PIECE_CHARS_AIM else []
    parts: list[_Part] = [(0, len(text))]
    for stage in _SOURCE if source else _PROSE:
        long = [part for part in parts if part[1] - part[0] > stage.limit]
        if long:
            at, rank = _places(text, long, stage.worst, media, headings)
            peaks = at[_peaks(at, rank)].tolist()
            parts = list(_divided(parts, peaks, at.tolist(), rank.tolist(), stage.limit))
    return [end for part in parts for _, end in _chopped(*part)][:-1]


def _divided(
    parts: Sequence[_Part], peaks: list[int], at: list[int], rank: list[int], limit: int
) -> Iterator[_Part]:
    """The parts cut at their peaks, and where that leaves too much, at the best of the rest."""
    for start, end in parts:
        first, last = bisect_right(peaks, start), bisect_left(peaks, end)
        for left, right in pairwise([start, *peaks[first:last], end]):
            yield from pairwise([left, *_walk(at, rank, left, right, limit), right])


def _chopped(start: int, end: int) -> Iterator[_Part]:
    """A part that nothing could divide, in lengths that leave none too short."""
    while end - start > PIECE_CHARS_MAX:
        yield start, start + PIECE_CHARS_AIM
        start += PIECE_CHARS_AIM
    yield start, end


# --- places


def _places(
    text: str, parts: Sequence[_Part], worst: int, media: Media, headings: list[_Part]
) -> tuple[_Ints, _Ints]:
    """Where the parts may be cut, rising, and how each place ranks.

    Left out are places so near the end of a part that a piece would be too short.
    """
    at, kind = _marks(text, parts, worst, media)
    if headings:
        at, kind = _mind_headings(at, kind, worst, parts, headings)
    order = np.lexsort((kind, at))
    at, kind = at[order], kind[order]
    best = np.ones(len(at), bool)
    best[:-1] = at[1:] != at[:-1]
    at, kind = at[best], kind[best]
    starts = np.array([start for start, _ in parts], np.int64)
    ends = np.array([end for _, end in parts], np.int64)
    part = np.searchsorted(starts, at, "left") - 1
    before = np.maximum(np.concatenate(([0], at))[:-1], starts[part])
    inner = (at - starts[part] >= PIECE_CHARS_MIN) & (ends[part] - at >= PIECE_CHARS_MIN)
    units = [text[a:b] for a, b in zip(before[inner].tolist(), at[inner].tolist(), strict=True)]
    openings = _checksums([unit[:_OPENING_CHARS] for unit in units])
    return at[inner], kind[inner] << 56 | openings << 28 | _checksums(units)


def _checksums(texts: Sequence[str]) -> _Ints:
    """28 bits each. Those of texts that are alike would be alike: multiplied, they look random."""
    plain = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
    mixed = np.array(plain, np.uint64) * np.uint64(0x9E3779B1)
    return (mixed >> np.uint64(4) & np.uint64((1 << 28) - 1)).astype(np.int64)


def _marks(text: str, parts: Sequence[_Part], worst: int, media: Media) -> tuple[_Ints, _Ints]:
    """Every place of the kind `worst` or a better one, and its kind."""
    places: list[int] = []
    kinds: list[_Ints] = []
    for kind, pattern in _PATTERNS:
        if kind < worst:
            continue
        found = [mark.end() for part in parts for mark in pattern.finditer(text, *part)]
        of_kind = np.full(len(found), kind, np.int64)
        if kind == _PARAGRAPH and media is Media.CODE:
            of_kind[[text[place : place + 1] in (" ", "\t") for place in found]] = _INDENTED
        places += found
        kinds.append(of_kind)
    return np.array(places, np.int64), np.concatenate(kinds)


def _headings(text: str) -> list[_Part]:
    """Each heading, or several in a row, from its start to where what follows begins."""
    found = [match.span() for match in _HASHED.finditer(text)]
    for match in _UNDERLINE.finditer(text):
        above = text.rfind("\n", 0, max(match.start() - 1, 0)) + 1
        if text[above : match.start()].strip():
            found.append((above, match.end()))
    runs: list[_Part] = []
    for start, end in sorted(found):
        if runs and start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(runs[-1][1], end))
        else:
            runs.append((start, end))
    return runs


def _mind_headings(
    at: _Ints, kind: _Ints, worst: int, parts: Sequence[_Part], headings: list[_Part]
) -> tuple[_Ints, _Ints]:
    """Make the places before headings the best ones, and those between one and its text the worst.

    The worst are none at all as long as there is hope for better ones.
    """
    starts, ends = (np.array(bounds, np.int64) for bounds in zip(*headings, strict=True))
    above = np.searchsorted(starts, at, "left") - 1
    within = (above >= 0) & (at <= ends[above])
    kind = np.where(within, _WORD, kind)
    if worst > _WORD:
        at, kind = at[~within], kind[~within]
    opened, closed = (np.array(bounds, np.int64) for bounds in zip(*parts, strict=True))
    part = np.searchsorted(opened, starts, "left") - 1
    starts = starts[(part >= 0) & (starts < closed[part])]
    return np.concatenate((at, starts)), np.concatenate((kind, np.full(len(starts), _HEADING)))


# --- choosing among them


def _peaks(at: _Ints, rank: _Ints) -> npt.NDArray[Any]:
    """Indices of places that no other within reach outranks; of equal ones the first.

    Places of different parts are never within reach of each other. Each round compares those left
    with their neighbours one step further away.
    """
    left = np.arange(len(at))
    step = 1
    while len(left):
        after, before = left + step, left - step
        near_after, near_before = after < len(at), before >= 0
        there = near_after.nonzero()[0]
        near_after[there] = at[after[there]] - at[left[there]] <= PIECE_CHARS_MIN
        there = near_before.nonzero()[0]
        near_before[there] = at[left[there]] - at[before[there]] <= PIECE_CHARS_MIN
        if not (near_after.any() or near_before.any()):
            break
        lower = np.zeros(len(left), bool)
        lower[near_after] = rank[after[near_after]] > rank[left[near_after]]
        lower[near_before] |= rank[before[near_before]] >= rank[left[near_before]]
        left = left[~lower]
        step += 1
    return left


def _walk(
    at: Sequence[int], rank: Sequence[int], start: int, end: int, limit: int
) -> Iterator[int]:
    """Cuts from left to right in a part that is still too long: the best place of each stretch."""
    stop = bisect_right(at, end - PIECE_CHARS_MIN)
    while end - start > limit:
        low = bisect_left(at, start + PIECE_CHARS_MIN)
        high = min(bisect_right(at, start + PIECE_CHARS_AIM), stop)
        if low >= stop:
            return
        best = low
        for index in range(low + 1, high):
            if rank[index] >= rank[best]:
                best = index
        start = at[best]
        yield start
