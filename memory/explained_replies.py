"""Replies about a search's order: why each hit stands where it does, and what became of an item
that did not come back. `replies.py` has them too, with all others."""

from typing import Any, Literal

import msgspec

from rewound.memory.reply_parts import Moment, Part, Reply
from rewound.memory.reranked_replies import Decomposing, Reranked, Reranking, Rewriting, Searched


class Feature(Part, frozen=True, kw_only=True):
    """`adds` is what it adds to the score: the weight times how many spreads the value lies above
    the mean of what the ranker was fitted on."""

    name: str
    value: float
    weight: float
    adds: float


class Nearness(Part, frozen=True, kw_only=True, omit_defaults=True):
    """How near it is by words and meaning alone, which choose what is ranked anew. `closeness`
    gives the `rank`, from 1. `share` is what its `words` (BM25) are of what they are held against,
    `meaning` the cosine with the query; `previous` is the message before it, whose share and
    meaning count a little too (a text without one counts twice itself)."""

    rank: int
    closeness: float
    words: float
    share: float
    meaning: float
    previous: str | None = None
    previous_share: float | None = None
    previous_meaning: float | None = None


class Explanation(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Why something has its `place` among the hits, stage by stage: its `nearness` and the rank by
    that; what each feature adds to its `score`, the most telling first, and its `rank` after that;
    how many entries that say the same were `collapsed` into the hit.

    `of` is the entry that this is about, when the hit has its score from another one than it shows.
    `unit` is what that is ranked with: a message with its facts. `further` entries of the unit
    stand before it, of which each takes half of its odds. `sought` is a fact that states just what
    the query asks, of just whom it asks it. A logit is
    `fit + slope * (score - best) - further * log(2)`, and log(8) more for what is sought; the
    probability follows from it. What was not ranked anew has no score and no features."""

    place: int | None = None
    of: str | None = None
    nearness: Nearness | None = None
    rank: int | None = None
    score: float | None = None
    logit: float | None = None
    probability: float | None = None
    unit: str | None = None
    further: int = 0
    sought: bool = False
    collapsed: int = 0
    features: tuple[Feature, ...] = ()


class Understood(Part, frozen=True, kw_only=True):
    """What the question was taken for. `months` are 1 to 12; `speakers` are the names in it of
    somebody who said something, in small letters."""

    when: bool
    many: bool
    suggestion: bool
    assistant: bool
    first_person: bool
    months: tuple[int, ...]
    years: tuple[int, ...]
    speakers: tuple[str, ...]


class Ranking(Part, frozen=True, kw_only=True):
    """What holds for all of a search. `entries` is how many facts, passages and messages there are
    at the moment (within the scope), `allowed` how many pass the filters, `found` how many of these
    words or meaning speak for, `candidates` how many were ranked anew, in `units`. `fit` is the
    logit of the best of them, `best` its score."""

    ranker: str
    version: int
    words_alone: bool
    understood: Understood
    entries: int
    allowed: int
    found: int
    candidates: int
    units: int
    fit: float
    best: float
    slope: float


Reason = Literal[
    "unknown",
    "erased",
    "forgotten",
    "not_yet",
    "undone",
    "removed",
    "superseded",
    "corrected",
    "repeated",
    "ended",
    "expired",
    "not_valid",
    "said_later",
    "filtered",
    "empty_query",
    "no_word",
    "waiting",
    "not_near",
    "below_candidates",
    "beyond_limit",
    "reranked",
    "unlikely",
    "collapsed",
]
"""Why something did not come back, from what rules it out at once to what nearly brought it."""


class Fate(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one item: `found` at a `place` among the hits, or the first `reason` that kept
    it away, told in a sentence. `by` is what stands for it or ended it, `condition` the filter that
    it does not meet."""

    id: str
    kind: str
    found: bool
    told: str
    reason: Reason | None = None
    place: int | None = None
    by: str | None = None
    condition: str | None = None


class Traced(Reply, frozen=True, kw_only=True):
    """What became of an item in a search. A document is found by its passages, and by its title
    where documents are asked for: its fate is that of the part which came furthest, `part`. `parts`
    are the passages and the title of a document, or the facts of a message. The `explanation` is of
    the item or that part, as far as it came.

    What the stages of the search took is told as in `Found`. Of a question that was taken apart,
    `of_query` is the one among `searched` by which it came furthest: the explanation and the
    ranking are of that. `reranked` tells where a reranker moved it from."""

    container: str
    query: str
    limit: int
    fate: Fate
    moment: Moment
    part: str | None = None
    parts: tuple[Fate, ...] = ()
    explanation: Explanation | None = None
    ranking: Ranking | None = None
    filters: dict[str, Any] = msgspec.field(default_factory=dict)
    of_query: str | None = None
    reranked: Reranked | None = None
    reranking: Reranking | None = None
    rewriting: Rewriting | None = None
    decomposing: Decomposing | None = None
    searched: tuple[Searched, ...] = ()
    notes: tuple[str, ...] = ()
