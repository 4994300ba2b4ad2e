"""Two statements laid side by side: which words they share in order, and what stands where they
part."""

from collections.abc import Sequence
from typing import NamedTuple

from rewound.llm.claim_words import Token


class Gap(NamedTuple):
    """A place where the two part: the words of either side, one of them perhaps empty."""

    old: tuple[Token, ...]
    new: tuple[Token, ...]


class Alignment(NamedTuple):
    """`shared` counts the words of the longest common subsequence; `gaps` in order."""

    shared: int
    gaps: tuple[Gap, ...]


TOKENS_MAX = 80
"""Words of a statement that are laid side by side; the work grows with their product."""


def align(old: Sequence[Token], new: Sequence[Token]) -> Alignment:
    """By the longest common subsequence of stems; what begins and ends both is taken as shared."""
    old, new = old[:TOKENS_MAX], new[:TOKENS_MAX]
    first = [token.stem for token in old]
    second = [token.stem for token in new]
    head = 0
    least = min(len(first), len(second))
    while head < least and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < least - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    inner_old, inner_new = first[head : len(first) - tail], second[head : len(second) - tail]
    pairs = _common(inner_old, inner_new)
    gaps: list[Gap] = []
    at_old = at_new = 0
    for place_old, place_new in [*pairs, (len(inner_old), len(inner_new))]:
        if place_old > at_old or place_new > at_new:
            gaps.append(
                Gap(
                    tuple(old[head + at_old : head + place_old]),
                    tuple(new[head + at_new : head + place_new]),
                )
            )
        at_old, at_new = place_old + 1, place_new + 1
    return Alignment(head + tail + len(pairs), tuple(gaps))


def _common(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence."""
    rows = [[0] * (len(other) + 1)]
    for word in one:
        above = rows[-1]
        row = [0]
        left = 0
        for place, against in enumerate(other):
            if word == against:
                left = above[place] + 1
            elif above[place + 1] > left:
                left = above[place + 1]
            row.append(left)
        rows.append(row)
    pairs: list[tuple[int, int]] = []
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1] and rows[i][j] == rows[i - 1][j - 1] + 1:
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif rows[i - 1][j] >= rows[i][j - 1]:
            i -= 1
        else:
            j -= 1
    pairs.reverse()
    return pairs
