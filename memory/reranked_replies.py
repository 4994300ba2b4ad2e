"""Parts of a reply about the stages of a search that a model does. `replies.py` has them too, with
all others.
"""

from rewound.memory.reply_parts import Part


class Reranked(Part, frozen=True, kw_only=True):
    """Where a hit stood `before`, from 1, and what its score is mixed of: how likely the ranking
    holds it to answer, and the reranker's `score`, both from 0 to 1."""

    before: int
    probability: float
    score: float


class Reranking(Part, frozen=True, kw_only=True):
    """What ordered the first `hits` anew, how much it counted against the ranking (`weight`), and
    what it took: milliseconds, `calls` of a server or a model, and the `tokens` that it counts."""

    reranker: str
    hits: int
    weight: float
    ms: float
    calls: int
    tokens: int


class Rewriting(Part, frozen=True, kw_only=True):
    """What put the question into further words, the `query` that was searched for with them, and
    what it took: milliseconds, `calls` of a model, and the `tokens` that it counts."""

    rewriter: str
    query: str
    ms: float
    calls: int
    tokens: int


class Decomposing(Part, frozen=True, kw_only=True):
    """What took the question apart, its `parts` (none: it is one question), and what that took:
    milliseconds, `calls` of a model, and the `tokens` that it counts. `{1}` in a part stands for
    the answer of the first."""

    decomposer: str
    parts: tuple[str, ...]
    ms: float
    calls: int
    tokens: int


class Searched(Part, frozen=True, kw_only=True):
    """One of several queries that were searched for: the question itself, or a part of it with the
    answers that it needs; and the ids that it found, best first, at most ten."""

    query: str
    hits: tuple[str, ...]
