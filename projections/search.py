"""Search by words and meaning over facts, passages and messages together.

Hits that say the same are one: near-duplicates, and a fact that merely repeats its source.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rewound.eventlog.ids import Kind, Ref
from rewound.projections import bm25, entries, ranking
from rewound.projections.reader import ContainerView
from rewound.projections.repeats import Ranked, Texts, collapsed
from rewound.projections.rows import Row
from rewound.projections.selection import Criteria, Selected, select
from rewound.projections.tokens import query_terms
from rewound.projections.vectors import Query


class Match(NamedTuple):
    """One hit: the item, its score, its signals by name, the items that say the same, its row."""

    ref: Ref
    score: float
    signals: dict[str, float]
    also: tuple[Ref, ...]
    row: Row[Any]


class Hits(NamedTuple):
    """The best hits, best first. `unembedded` counts what could be found by words only."""

    matches: list[Match]
    unembedded: int


def search(
    view: ContainerView, query: str, criteria: Criteria, limit: int, meaning: Query | None = None
) -> Hits:
    """The best `limit` hits; equal scores by id. Without `meaning`, words alone are asked."""
    selected = select(view, criteria)
    embeddings = view.index.embeddings
    if meaning is not None and meaning.model != embeddings.model:
        meaning = None
    terms = sorted(query_terms(query))
    if not selected.allowed.any() or not (terms or meaning):
        return Hits([], _unembedded(selected) if embeddings.model else 0)
    words, reach = _words(view, terms, selected, titles=Kind.DOCUMENT in criteria.what)
    scores = ranking.score(view.txn, embeddings.store, view.id, selected, words, reach, meaning)
    wanted = np.flatnonzero(selected.allowed & scores.found).astype(np.uint32)
    totals = scores.total[wanted]
    taken = limit + 10
    texts = Texts(view, criteria)
    while True:
        best, _ = bm25.top_k(totals, wanted, selected.columns.item, taken)
        ranked = [_ranked(selected, scores, ordinal) for ordinal in best.tolist()]
        groups = collapsed(texts, ranked, limit)
        if len(groups) == limit or taken >= len(wanted):
            break
        taken *= 4
    missing = _unembedded(selected) if embeddings.model else 0
    return Hits([_match(texts, scores, group) for group in groups], missing)


def _words(
    view: ContainerView, terms: Sequence[str], selected: Selected, *, titles: bool
) -> tuple[ranking.Floats, float]:
    """BM25 of everything that counts at the moment, shape (entries,), of documents if wanted; and
    what the query could reach at most."""
    columns = selected.columns
    words, reach = np.zeros(columns.n, np.float64), 0.0
    if terms:
        lists = [view.postings(entries.WORDS, term) for term in terms]
        counted = bm25.statistics(columns.length, selected.counted)
        reach = bm25.reach(lists, counted)
        ordinals, scored = bm25.score(lists, columns.length, counted, selected.counted)
        words[ordinals] = scored
        if titles:
            ordinals, scored = bm25.score(lists, columns.length, counted, selected.allowed)
            words[ordinals] = scored
    return words, reach


def _unembedded(selected: Selected) -> int:
    missing = selected.allowed & (selected.columns.vector == 0)
    return int(np.count_nonzero(missing & (selected.columns.kind != Kind.DOCUMENT)))


def _ranked(selected: Selected, scores: ranking.Scores, ordinal: int) -> Ranked:
    columns = selected.columns
    ref = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
    # The same words have the same length and score by words.
    likeness = (float(scores.words[ordinal]), int(columns.length[ordinal]))
    return Ranked(ref, ordinal, likeness)


def _match(texts: Texts, scores: ranking.Scores, group: Sequence[Ranked]) -> Match:
    """The first of a group leads it; the best of its members gives the score."""
    best = max(group, key=lambda ranked: float(scores.total[ranked.ordinal])).ordinal
    before = int(scores.previous[best])
    signals = {
        "words": float(scores.words[best]),
        "meaning": float(scores.meaning[best]),
    }
    if before != best:
        signals["previous words"] = float(scores.words[before])
        signals["previous meaning"] = float(scores.meaning[before])
    told = {name: value for name, value in signals.items() if value}
    others = tuple(dict.fromkeys(ranked.ref for ranked in group[1:]))
    row = texts.row(group[0].ref)
    assert row is not None, "a hit is a row of the moment"
    return Match(group[0].ref, float(scores.total[best]), told, others, row)
