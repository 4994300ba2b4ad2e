"""Search by words and meaning over facts, passages and messages together.

What is near by words and meaning is ranked by what has been learned of such answers (`ordering`).
Hits that say the same are one: near-duplicates, and a fact that merely repeats its source.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rewound.eventlog.ids import Kind, Ref
from rewound.projections import bm25, entries, ranking
from rewound.projections.asked import Asked, asked, dates, names
from rewound.projections.entries import folded
from rewound.projections.features import Kin, Lists, Query
from rewound.projections.ordering import Candidates, Ordered, candidates, lifts, order
from rewound.projections.postings import Ordinals
from rewound.projections.quoted import quoted
from rewound.projections.ranker import Model, Ranker, probability
from rewound.projections.ranking import Scores
from rewound.projections.reader import ContainerView
from rewound.projections.related import NONE, related
from rewound.projections.remembered import remembered
from rewound.projections.repeats import Ranked, Texts, collapsed
from rewound.projections.rows import Row
from rewound.projections.selection import Criteria, Selected, select
from rewound.projections.sought import sought
from rewound.projections.tokens import query_terms, tokenize
from rewound.projections.vectors import Query as Vector

_WORD = re.compile(r"[^\W\d_]\w*(?:['’-]\w{2,})*")
_NAME_WORDS = 12
_ALSO_WORDS = frozenset(
    "will may mark rose grace art bill sue pat jack rob nick drew chase frank hope joy faith dawn"
    " summer june april august user assistant".split()
)
"""Without a capital these are hardly meant as names."""


class Match(NamedTuple):
    """One hit: the item, how likely it answers (0 to 1), its signals by name, the items that say
    the same, its row."""

    ref: Ref
    score: float
    closeness: float
    """How near it is by words and meaning alone, 0 to about 1: what the ranker starts from."""
    signals: dict[str, float]
    also: tuple[Ref, ...]
    row: Row[Any]
    previous: Ref | None = None
    """The message before a message, if that may be found as well."""


class Hits(NamedTuple):
    """The best hits, best first. `unembedded` counts what could be found by words only."""

    matches: list[Match]
    unembedded: int
    weights: Mapping[str, float] = MappingProxyType({})
    """How telling each term of the query is: its idf at the moment."""
    fits: float | None = None
    """How likely it is that anything fits, 0 to 1; None where nothing was found."""
    floor: float = 0.0
    """Where `fits` is below it, nothing does."""

    @property
    def nothing_fits(self) -> bool:
        return self.fits is None or self.fits < self.floor


class Asking(NamedTuple):
    """One search under way: what may be found, what the query is, how near everything is."""

    selected: Selected
    query: Query
    scores: Scores
    reach: float
    """What the query's words could score at most."""


class Ran(NamedTuple):
    """A search that was run, with all its stages: what `explaining` tells of."""

    asking: Asking
    candidates: Candidates
    ordered: Ordered
    ranker: Ranker
    model: Model
    texts: Texts
    groups: list[list[Ranked]]
    """Entries that say the same, the leading one first; as many as hits were asked for."""
    unembedded: int


def search(
    view: ContainerView,
    query: str,
    criteria: Criteria,
    limit: int,
    meaning: Vector | None = None,
) -> Hits:
    """The best `limit` hits; equal ones by closeness, then by id. Without `meaning`, words alone
    are asked."""
    return hits_of(run(view, query, criteria, limit, meaning))


def run(
    view: ContainerView,
    query: str,
    criteria: Criteria,
    limit: int,
    meaning: Vector | None = None,
    question: str | None = None,
) -> Ran | Hits:
    """The same with its stages; no hits where there is nothing to find or to ask by.

    `question` is what was asked, where `query` has further words: nobody need say those, and who
    says one says what was asked.
    """
    begun = begin(view, query, criteria, meaning, question)
    if isinstance(begun, Hits):
        return begun
    selected, scores = begun.selected, begun.scores
    ranker = view.ranker
    model = ranker.meaning if scores.meant else ranker.words
    taken = limit + 10
    texts = Texts(view, criteria)
    told = sought(view, question or query)
    while True:
        near = candidates(selected, scores, begun.query, begun.reach, taken)
        found = order(near, model, several=begun.query.asked.several, sought=told)
        best = found.entries[:taken].tolist()
        groups = collapsed(texts, [ranked_as(begun, ordinal) for ordinal in best], limit)
        if len(groups) == limit or len(best) < taken:
            break
        taken *= 4
    missing = _unembedded(selected) if view.index.embeddings.model else 0
    return Ran(begun, near, found, ranker, model, texts, groups, missing)


def hits_of(ran: Ran | Hits) -> Hits:
    """What a search that was run comes back with."""
    if isinstance(ran, Hits):
        return ran
    logits = dict(zip(ran.ordered.entries.tolist(), ran.ordered.logits.tolist(), strict=True))
    shown = {entry.ordinal for group in ran.groups for entry in group}
    lifted = lifts(ran.candidates, shown)
    matches = [_match(ran.texts, ran.asking, logits, lifted, group) for group in ran.groups]
    logit = ran.ordered.anything
    fits = None if logit is None else probability(logit)
    weights = ran.asking.query.weights()
    return Hits(matches, ran.unembedded, weights, fits, ran.model.floor)


def begin(
    view: ContainerView,
    query: str,
    criteria: Criteria,
    meaning: Vector | None,
    question: str | None = None,
) -> Asking | Hits:
    """Select and score; no hits where there is nothing to find or to ask by."""
    selected = select(view, criteria)
    embeddings = view.index.embeddings
    if meaning is not None and meaning.model != embeddings.model:
        meaning = None
    kind = asked(query)
    terms = sorted(_telling(query_terms(query), kind))
    if not selected.allowed.any() or not (terms or meaning):
        return Hits([], _unembedded(selected) if embeddings.model else 0)
    columns = selected.columns
    lists = [view.postings(entries.WORDS, term) for term in terms]
    counted = remembered(
        columns,
        selected.counted,
        "statistics",
        lambda: bm25.statistics(columns.length, selected.counted),
    )
    held_by = bm25.document_frequencies(lists, counted.mask)
    reach = bm25.reach(lists, counted, held=held_by)
    words = _words(selected, lists, counted, held_by, titles=Kind.DOCUMENT in criteria.what)
    scores = ranking.score(view.txn, embeddings.store, view.id, selected, words, reach, meaning)
    told = quoted(view, query, criteria, selected, words)
    if told:
        scores = scores._replace(found=scores.found.copy())
        scores.found[np.concatenate(told)] = True
    further = frozenset(terms) - set(query_terms(question)) if question else frozenset[str]()
    named, aside = names(query), dates(query) | further
    heard = _heard(view, question or query, selected, criteria)
    # A speaker is called by name without a capital too, or at the beginning of a question.
    called = frozenset(tokenize(" ".join(heard)))
    held = Query(
        kind,
        lists,
        counted,
        np.concatenate([*heard.values()]) if heard else None,
        terms,
        selected.documents,
        len(tokenize(query)),
        told,
        named,
        aside,
        further,
        _related(view, terms, named | aside | called),
    )
    return Asking(selected, held, scores, reach)


def _related(
    view: ContainerView, terms: Sequence[str], unlike: Collection[str]
) -> list[Kin | None]:
    """Where the words are held that belong to each of the terms, but are none of them; none to what
    is `unlike` all else: a name or a date means just itself."""
    found: list[Kin | None] = []
    for term in terms:
        told = NONE if term in unlike else related(term)
        kept = [n for n, other in enumerate(told.terms) if other not in terms]
        ordinals, counts = view.each(entries.WORDS, [told.terms[n] for n in kept])
        near = [told.nearness[n] for n in kept]
        found.append(Kin(ordinals, counts, near) if len(ordinals) else None)
    return found


def _telling(terms: Sequence[str], kind: Asked) -> Sequence[str]:
    """The terms that are about something, as long as there are such."""
    return [term for term in terms if not kind.says_nothing(term)] or terms


def _heard(
    view: ContainerView, query: str, selected: Selected, criteria: Criteria
) -> dict[str, Ordinals]:
    """The messages of each speaker whom a query names, of those who have spoken by then and within
    the scope."""
    named = speakers(view, query)
    if not named:
        return named
    heard = selected.counted
    secret = view.log.key(view.id)
    for name, value in criteria.scope:
        inside = np.zeros(len(heard), np.bool_)
        inside[view.postings(entries.SCOPE, entries.scope_term(secret, name, value))[0]] = True
        heard = heard & inside
    return {name: said for name, said in named.items() if heard[said].any()}


def speakers(view: ContainerView, query: str) -> dict[str, Ordinals]:
    """The messages of each speaker whom a query names, whenever they were said: in full, or by
    one word of the name. A query without any capital is read as if all words had one."""
    words = _WORD.findall(query)
    if query == query.lower():
        words = [word for word in words if word not in _ALSO_WORDS]
    else:
        words = [word for word in words if word[0] != word[0].lower()]
    words = words[:_NAME_WORDS]
    secret = view.log.key(view.id)
    found: dict[str, Ordinals] = {}
    whole: set[str] = set()
    for first, second in pairwise(words):
        name = folded(f"{first} {second}")
        said = view.postings(entries.SPEAKERS, entries.speaker_term(secret, name))[0]
        if len(said):
            found[name] = said
            whole |= {first, second}
    for word in words:
        name = folded(word)
        if word not in whole:
            term = entries.speaker_term(secret, name)
            either = (entries.SPEAKERS, entries.CALLED)
            found[name] = np.concatenate([view.postings(field, term)[0] for field in either])
    return {name: found[name] for name in sorted(found) if len(found[name])}


def _words(
    selected: Selected,
    lists: Lists,
    counted: bm25.Statistics,
    held_by: Sequence[int],
    *,
    titles: bool,
) -> ranking.Floats:
    """BM25 of everything that counts at the moment, shape (entries,), of documents if wanted."""
    columns = selected.columns
    words = np.zeros(columns.n, np.float64)
    for mask in (selected.counted, *([selected.allowed] if titles else [])):
        ordinals, scored = bm25.score(lists, columns.length, counted, mask, held=held_by)
        words[ordinals] = scored
    return words


def _unembedded(selected: Selected) -> int:
    columns, allowed = selected.columns, selected.allowed

    def work() -> int:
        missing = allowed & (columns.vector == 0)
        return int(np.count_nonzero(missing & (columns.kind != Kind.DOCUMENT)))

    return remembered(columns, allowed, "unembedded", work)


def ranked_as(asking: Asking, ordinal: int) -> Ranked:
    """An entry as it is compared with others that may say the same."""
    columns = asking.selected.columns
    ref = Ref(Kind(int(columns.kind[ordinal])), columns.item[ordinal].tobytes())
    # The same words have the same length and score by words.
    likeness = (float(asking.scores.words[ordinal]), int(columns.length[ordinal]))
    return Ranked(ref, ordinal, likeness)


def _match(
    texts: Texts,
    asking: Asking,
    logits: Mapping[int, float],
    lifted: Mapping[int, Mapping[str, float]],
    group: Sequence[Ranked],
) -> Match:
    """The first of a group leads it; the best of its members gives the score."""
    scores = asking.scores
    best = max(group, key=lambda ranked: logits[ranked.ordinal]).ordinal
    before = int(scores.previous[best])
    signals = {
        "words": float(scores.words[best]),
        "meaning": float(scores.meaning[best]),
    }
    if before != best:
        signals["previous words"] = float(scores.words[before])
        signals["previous meaning"] = float(scores.meaning[before])
    signals |= lifted.get(best, {})
    told = {name: value for name, value in signals.items() if value}
    others = tuple(dict.fromkeys(ranked.ref for ranked in group[1:]))
    row = texts.row(group[0].ref)
    assert row is not None, "a hit is a row of the moment"
    closest = max(float(scores.total[ranked.ordinal]) for ranked in group)
    previous = _message_before(asking, group[0].ordinal)
    return Match(group[0].ref, probability(logits[best]), closest, told, others, row, previous)


def _message_before(asking: Asking, ordinal: int) -> Ref | None:
    """The message before a message, where the search may return it."""
    columns, allowed = asking.selected.columns, asking.selected.allowed
    before = int(asking.scores.previous[ordinal])
    if before == ordinal or columns.kind[ordinal] != Kind.MESSAGE or not allowed[before]:
        return None
    return Ref(Kind.MESSAGE, columns.item[before].tobytes())
