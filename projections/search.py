"""Search by words over facts, passages and messages together, with near-duplicates collapsed."""

from collections.abc import Sequence
from typing import NamedTuple

from rewound.eventlog.ids import Kind, Ref
from rewound.projections import bm25, entries
from rewound.projections.reader import ContainerView
from rewound.projections.selection import Criteria, Selected, select
from rewound.projections.tokens import query_terms, tokenize


class Match(NamedTuple):
    """One hit: the item, its score, its signals by name, and the items that say the same words."""

    ref: Ref
    score: float
    signals: dict[str, float]
    also: tuple[Ref, ...]


def search(view: ContainerView, query: str, criteria: Criteria, limit: int) -> list[Match]:
    """The best `limit` hits, best first; equal scores by id."""
    selected = select(view, criteria)
    terms = sorted(query_terms(query))
    if not terms or not selected.allowed.any():
        return []
    columns = selected.columns
    lists = [view.postings(entries.WORDS, term) for term in terms]
    counted = bm25.statistics(columns.length, selected.counted)
    ordinals, scores = bm25.score(lists, columns.length, counted, selected.allowed)
    taken = 2 * limit + 10
    while True:
        best, found = bm25.top_k(scores, ordinals, columns.item, taken)
        matches = _collapsed(view, criteria, selected, best.tolist(), found.tolist(), limit)
        if len(matches) == limit or taken >= len(scores):
            return matches
        taken *= 4


def _collapsed(
    view: ContainerView,
    criteria: Criteria,
    selected: Selected,
    ordinals: Sequence[int],
    scores: Sequence[float],
    limit: int,
) -> list[Match]:
    """Hits whose words are the same, whatever their case, punctuation and endings, as one.

    A fact stands for the passage that it repeats: it has dates and a standing. The same words have
    the same length and score, so texts are only read where both agree.
    """
    columns = selected.columns
    matches: list[Match] = []
    first: dict[tuple[float, int], int] = {}
    alike: dict[tuple[float, int], dict[tuple[str, ...], int]] = {}
    for ordinal, score in zip(ordinals, scores, strict=True):
        ref = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
        both = (score, int(columns.length[ordinal]))
        if both not in first:
            if len(matches) < limit:
                first[both] = len(matches)
                matches.append(Match(ref, score, {"words": score}, ()))
            continue
        places = alike.get(both)
        if places is None:
            lead = matches[first[both]].ref
            places = alike[both] = {_words(view, lead, criteria): first[both]}
        words = _words(view, ref, criteria)
        place = places.get(words)
        if place is not None:
            matches[place] = _joined(matches[place], ref)
        elif len(matches) < limit:
            places[words] = len(matches)
            matches.append(Match(ref, score, {"words": score}, ()))
    return matches


def _joined(match: Match, ref: Ref) -> Match:
    """The hit with one more item that says the same."""
    lead, other = match.ref, ref
    if ref.kind is Kind.FACT and lead.kind is not Kind.FACT:
        lead, other = ref, lead
    return match._replace(ref=lead, also=(*match.also, other))


def _words(view: ContainerView, ref: Ref, criteria: Criteria) -> tuple[str, ...]:
    return tuple(tokenize(said(view, ref, criteria) or ""))


def said(view: ContainerView, ref: Ref, criteria: Criteria) -> str | None:
    """The item's text as of the moment, seen through its mask; None once erased."""
    row = view.row(ref, criteria.at)
    if row is None:
        return None
    state = row.state
    match ref.kind:
        case Kind.FACT:
            return view.wording(state, unmasked=criteria.forgotten)
        case Kind.MESSAGE:
            return view.shown(ref, state.text, unmasked=criteria.forgotten)
        case Kind.PASSAGE:
            source = Ref(Kind.DOCUMENT, state.document)
            text = view.shown(source, state.body, unmasked=criteria.forgotten)
            return None if text is None else text[state.start : state.end]
    return view.text(state.title)
