"""Answers to `explain`: what became of an item in a search, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import msgspec

from rewound.eventlog.ids import Kind, Ref
from rewound.memory import requests as q
from rewound.memory.answer_items import refs_of
from rewound.memory.answering import Asking, answers
from rewound.memory.explained_replies import Explanation, Fate, Ranking, Reason, Traced
from rewound.memory.explaining_stages import Final, final
from rewound.memory.find import sought
from rewound.memory.missing import Kept, Missing
from rewound.memory.moments import When, resolve
from rewound.memory.plurals import so_many
from rewound.memory.question_times import in_words
from rewound.memory.scoping import Within
from rewound.memory.showing import WHAT
from rewound.memory.showing_explanations import of_entry, of_hit, of_search
from rewound.memory.targets import known
from rewound.projections import explaining as x
from rewound.projections.reader import ContainerView
from rewound.projections.search import Ran, run
from rewound.projections.selection import Criteria
from rewound.projections.vectors import Query

PARTS_MAX = 50
"""Passages of a document, or facts of a message, that are told, those first that came furthest."""

_ORDER = {reason: at for at, reason in enumerate(get_args(Reason))}


class _Part(NamedTuple):
    """What became of one entry; `rank` is its place by words and meaning, if it has one."""

    ref: Ref
    fate: Fate
    ordinal: int | None = None
    rank: int = 0


@answers(q.Explain)
def explain(asked: q.Explain, asking: Asking) -> Traced:
    view = asking.views.container(asking.home())
    question = _question(asked)
    when = in_words(view, question, resolve(view, question, asking.now_us))
    narrow = sought(
        view,
        asked.filters,
        when,
        scope=asked.scope,
        superseded=asked.include_superseded,
        forgotten=asked.include_forgotten,
    )
    plain = Traced(
        container=asking.name,
        query=asked.query,
        limit=asked.limit,
        fate=_unknown(asked.id),
        moment=when.told(zoned=narrow.zoned),
        filters=msgspec.to_builtins(asked.filters),
        notes=(asking.meaningless,) if asking.meaningless else (),
    )
    ref = _named(view, asked)
    if ref is None:
        return plain
    missing = Missing(view, question, when, narrow.criteria)
    kept = missing.gone(ref)
    if kept is not None:
        return msgspec.structs.replace(plain, fate=_fate(ref, kept))
    end = final(view, question, narrow.criteria, asking)
    tracings = _tracings(view, question, when, narrow.criteria, missing, asking, end)
    others = _parts_of(view, ref, when, asked)
    traced = [_traced(tracing, ref, others) for tracing in tracings]
    at = min(range(len(traced)), key=lambda place: _furthest(traced[place].told))
    if end is not None:
        at = end.origin.get(ref, at)
    tracing, (told, parts) = tracings[at], traced[at]
    notes = plain.notes
    if len(parts) > PARTS_MAX:
        rest = so_many(len(parts) - PARTS_MAX, "more part came", "more parts came")
        notes = (*notes, f"{rest} less far and not told here")
    fate, part = told.fate, None
    if told.ref != ref:
        part = str(told.ref)
        whole = {"id": str(ref), "kind": WHAT[ref.kind], "told": f"{part}: {fate.told}"}
        fate = msgspec.structs.replace(fate, **whole)
    return msgspec.structs.replace(
        plain,
        fate=fate,
        part=part,
        parts=tuple(each.fate for each in parts[:PARTS_MAX]),
        explanation=tracing.explanation(told),
        ranking=tracing.ranking(),
        of_query=tracing.query if len(tracings) > 1 else None,
        searched=() if end is None else end.found.searched,
        notes=notes,
    )


class _Traced(NamedTuple):
    """What became of an item, or of the part of it that came furthest; and of all its parts."""

    told: _Part
    parts: list[_Part]


def _traced(tracing: _Tracing, ref: Ref, others: Sequence[Ref]) -> _Traced:
    own = tracing.trace(ref)
    parts = sorted(map(tracing.trace, others), key=_furthest)
    if ref.kind is not Kind.DOCUMENT:
        return _Traced(own, parts)
    parts = sorted([*parts, own], key=_furthest)
    return _Traced(parts[0], parts)


def _tracings(
    view: ContainerView,
    question: q.Search,
    when: When,
    criteria: Criteria,
    missing: Missing,
    asking: Asking,
    end: Final | None,
) -> list[_Tracing]:
    """The searches for the question and for each of its parts."""
    whole = question.query if asking.words is None else asking.words
    queries = [(part, part, asking.meanings.get(part)) for part in asking.parts]
    return [
        _Tracing(view, question, when, criteria, missing, said, query, meaning, end)
        for said, query, meaning in ((question.query, whole, asking.meaning), *queries)
    ]


def _question(asked: q.Explain) -> q.Search:
    """The search that is asked about."""
    names = set(q.Search.__struct_fields__) & set(q.Explain.__struct_fields__)
    return q.Search(**{name: getattr(asked, name) for name in names})


def _unknown(text: str) -> Fate:
    told = "there is no such item in this container"
    return Fate(id=text.strip(), kind="unknown", found=False, told=told, reason="unknown")


def _named(view: ContainerView, asked: q.Explain) -> Ref | None:
    """The item of the id, unless it lies outside of the read's scope. Raises WrongKind."""
    within = Within(view, asked.scope, view.position)
    return next((ref for ref in refs_of(asked.id) if known(view, ref) and within.item(ref)), None)


def _parts_of(view: ContainerView, ref: Ref, when: When, asked: q.Explain) -> list[Ref]:
    """The passages of a document, the facts of a message, as far as the read may know of them."""
    found: list[Ref] = []
    if ref.kind is Kind.DOCUMENT:
        found = [Ref(Kind.PASSAGE, row.id) for row in view.passages_of(ref.id, when.at)]
    elif ref.kind is Kind.MESSAGE:
        found = [Ref(Kind.FACT, raw) for raw in view.facts_from(ref)]
    within = Within(view, asked.scope, when.at)
    there = (each for each in found if view.row(each, when.at) is not None and within.item(each))
    return [each for each in there if asked.include_forgotten or view.hidden(each) is None]


def _furthest(part: _Part) -> tuple[Any, ...]:
    """What came back first, by place; then what came nearest to it."""
    fate = part.fate
    if fate.found:
        return 0, fate.place, part.ref.id
    assert fate.reason is not None, "what did not come back has a reason"
    return 1, -_ORDER[fate.reason], fate.place or part.rank, part.ref.id


def _fate(ref: Ref, kept: Kept, place: int | None = None) -> Fate:
    found = kept._asdict()
    return Fate(id=str(ref), kind=WHAT[ref.kind], found=False, place=place, **found)


class _Tracing:
    """One search, run once, in which items are looked for: for what was `said`, in the words of
    `query`. `end` is what came of it after all stages, where there were any."""

    def __init__(
        self,
        view: ContainerView,
        question: q.Search,
        when: When,
        criteria: Criteria,
        missing: Missing,
        said: str,
        query: str,
        meaning: Query | None,
        end: Final | None,
    ) -> None:
        self.query = query
        self._said = said
        self._view = view
        self._question = question
        self._at = when.at
        self._criteria = criteria
        self._missing = missing
        self._meaning = meaning
        self._end = end
        self._within = Within(view, question.scope, when.at)
        self._ran = run(view, query, criteria, question.limit, meaning, said)
        self._explaining: x.Explaining | None = None
        if isinstance(self._ran, Ran):
            self._explaining = x.Explaining(self._ran, question.limit)

    def trace(self, ref: Ref) -> _Part:
        kept = self._missing.gone(ref)
        if kept is not None:
            return _Part(ref, _fate(ref, kept))
        row = self._view.row(ref, self._at)
        assert row is not None, "what is not gone has a row"
        kept = self._missing.kept_out(ref, row)
        if kept is not None:
            return _Part(ref, _fate(ref, kept))
        if self._explaining is None:
            kept = Kept("empty_query", "the query holds no word to search by")
            return _Part(ref, _fate(ref, kept))
        near = self._explaining.near(row.ordinal)
        fate = self._followed(self._explaining, ref, row.ordinal)
        if self._end is not None:
            fate = self._end.settled(ref, fate)
        return _Part(ref, fate, row.ordinal, near.rank if near else 0)

    def _followed(self, explaining: x.Explaining, ref: Ref, ordinal: int) -> Fate:
        """How far an entry came that the filters allow."""
        outcome, limit = explaining.outcome(ordinal), self._question.limit
        if outcome.fate is x.Fate.UNMET:
            return _fate(ref, self._unmet(ref, ordinal))
        if outcome.fate is x.Fate.BELOW:
            near = explaining.near(ordinal)
            assert near is not None, "what has a place by words and meaning was found"
            told = f"it is number {near.rank:,} by words and meaning, too far behind to be ranked"
            return _fate(ref, Kept("below_candidates", told))
        place, leads = outcome.place, outcome.leads
        assert place is not None and leads is not None, "it belongs to a hit"
        scored = explaining.scored(explaining.gives_score(explaining.hit(place)))
        assert scored is not None, "a hit has a score"
        likely, by = scored.probability, None if leads == ref else str(leads)
        same = f" with {by}, which says the same" if by else ""
        if outcome.fate is x.Fate.BEYOND:
            told = f"it would be hit {place}{same}, score {likely:.2f}; {limit} were asked for"
            return _fate(ref, Kept("beyond_limit", told, by), place)
        if likely < self._question.threshold:
            told = (
                f"it would be hit {place}{same}, but its score of {likely:.2f} is below the "
                f"threshold of {self._question.threshold:g}"
            )
            return _fate(ref, Kept("unlikely", told, by), place)
        if outcome.fate is x.Fate.COLLAPSED:
            told = f"it says the same as {by}, which stands for it as hit {place}"
            return _fate(ref, Kept("collapsed", told, by), place)
        told = f"it is hit {place}, score {likely:.2f}"
        return Fate(id=str(ref), kind=WHAT[ref.kind], found=True, told=told, place=place)

    def _unmet(self, ref: Ref, ordinal: int) -> Kept:
        """Why neither words nor meaning speak for an entry."""
        lacks = f"its {'title' if ref.kind is Kind.DOCUMENT else 'text'} holds no word of the query"
        model = self._view.index.embeddings.model
        if not model or ref.kind is Kind.DOCUMENT:
            why = "" if model else ", and no embedder is set to compare meanings"
            return Kept("no_word", f"{lacks}{why}")
        if self._view.columns().vector[ordinal] == 0:
            return Kept("waiting", f"{lacks}, and it has no vector yet to be found by meaning")
        if self._meaning is None:
            return Kept("no_word", f"{lacks}, and words alone were asked")
        return Kept("not_near", f"{lacks}, and many others are nearer in meaning")

    # --- why

    def explanation(self, part: _Part) -> Explanation | None:
        """The stages of what was looked for, as far as it came."""
        if self._explaining is None or part.ordinal is None:
            return None
        place = self._explaining.outcome(part.ordinal).place
        if part.fate.found and place is not None:
            group: Sequence[int] = self._explaining.hit(place)
            return of_hit(self._explaining, self._within, group, place)
        return of_entry(self._explaining, self._within, part.ordinal, place=place)

    def ranking(self) -> Ranking | None:
        if self._explaining is None:
            return None
        account = self._explaining.account(self._view, self._said, self._criteria)
        return of_search(account)
