"""Words that belong to a word: what asks for pets may be answered by what tells of a dog.

For each common English word the table that ships holds those whose vectors, by the embedder that
ships, lie nearest (`python -m eval.fit_related` makes it). Words are terms of the index. No model
is asked when a query is, and the table is the same for every store.

    a line    term | for each that belongs to it, the nearest first: term, nearness in hundredths
"""

import gzip
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

NEAREST: Final = 8
"""At most so many belong to a word. Twice as many found no more of what answers (measured)."""

WHOLE: Final = 100
"""The nearness of a word to itself; others come to 90 at most."""


class Related(NamedTuple):
    """Terms that belong to a term, the nearest first, and how near they are, 0 to 1."""

    terms: tuple[str, ...]
    nearness: tuple[float, ...]


NONE: Final = Related((), ())


@cache
def _lines() -> dict[str, str]:
    """A megabyte of text, read when a first question asks for it."""
    content = files("rewound.projections").joinpath("related.txt.gz").read_bytes()
    lines = gzip.decompress(content).decode("ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def related(term: str) -> Related:
    """What belongs to a term of the index."""
    line = _lines().get(term)
    if line is None:
        return NONE
    told = line.split(" ")
    return Related(tuple(told[::2]), tuple(int(near) / WHOLE for near in told[1::2]))
