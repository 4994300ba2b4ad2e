"""Answers to search and context: hits with where they come from, and hits packed for a model."""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from rewound.eventlog.ids import Kind, Ref
from rewound.llm.token_counting import TokenCounter, bytes_of
from rewound.memory import requests as q
from rewound.memory.answering import Asking, answers
from rewound.memory.excerpting import excerpt
from rewound.memory.find import sought
from rewound.memory.merging import explained, gathered, reordered
from rewound.memory.moments import When, resolve
from rewound.memory.neighbours import asked_before
from rewound.memory.plurals import so_many
from rewound.memory.question_times import in_words
from rewound.memory.recent_context import RecentPart, recent_in
from rewound.memory.replies import Found, Hit, Line, Moment, Packed, Searched
from rewound.memory.scoping import Within
from rewound.memory.showing import WHAT, Shower
from rewound.memory.showing_explanations import of_search
from rewound.projections.asked import Asked, asked
from rewound.projections.explaining import Explaining
from rewound.projections.search import Hits, Match, Ran
from rewound.projections.tokens import query_terms

_CONTEXT_HITS = 60
_RELEVANT_SHARE = 0.5
_LIKELY_SHARE = 0.1
"""What has less than these shares of the best would only fill a context."""
_EXCERPT_BYTES = 240
"""A line that is cut to fit is cut to no less: fewer words say nothing."""
_LINE_BYTES = (1_200, 1_200, 600, 600, 300)
"""The most that a long text may take in its place, and in those after: the likelier it answers, the
more of it is shown. What is longer is told by the part that answers."""
_OF_SEVERAL = (600, 300)
"""The same where a list, a count or a comparison is asked for: more of less each."""
_DAY_CHARS = len("2026-03-01")
_LIKELY_OF_SEVERAL = 0.05
_MARKS = 9
"""Bytes kept free for the marks of what is left out, and the line's end."""
_OVER = ("superseded", "corrected", "ended", "expired")
"""What a line in a context says of words that were true once, or never."""


@answers(q.Search)
def search(question: q.Search, asking: Asking) -> Found:
    view = asking.views.container(asking.home())
    when = in_words(view, question, resolve(view, question, asking.now_us))
    narrow = sought(
        view,
        question.filters,
        when,
        scope=question.scope,
        superseded=question.include_superseded,
        forgotten=question.include_forgotten,
    )
    found = gathered(view, question.query, narrow.criteria, question.limit, asking)
    query, ran = found.queries[0], found.runs[0]
    hits, left_out = _fitting(found.hits, question.threshold, nearest=question.nearest)
    shower = Shower(view, when, forgotten=question.include_forgotten)
    shown = tuple(found.parted(match, _hit(shower, match)) for match in hits.matches)
    ranking = None
    if question.explain and isinstance(ran, Ran):
        shown = explained(found, shown, question.limit, Within(view, question.scope, when.at))
        account = Explaining(ran, question.limit).account(view, question.query, narrow.criteria)
        ranking = of_search(account)
    return Found(
        container=asking.name,
        query=question.query,
        hits=shown,
        moment=when.told(zoned=narrow.zoned),
        fits=hits.fits,
        nothing_relevant=not hits.matches or hits.nothing_fits,
        filters=msgspec.to_builtins(question.filters),
        unembedded=hits.unembedded,
        ranking=ranking,
        searched=found.searched,
        notes=_notes(query, hits, left_out, asking, when, nearest=question.nearest),
    )


def _fitting(hits: Hits, threshold: float, *, nearest: bool) -> tuple[Hits, int]:
    """The hits that are to be shown, and how many are left out."""
    kept = [match for match in hits.matches if match.score >= threshold]
    if hits.nothing_fits and not nearest:
        kept = []
    return hits._replace(matches=kept), len(hits.matches) - len(kept)


def _notes(
    query: str, hits: Hits, left_out: int, asking: Asking, when: When, *, nearest: bool | None
) -> tuple[str, ...]:
    """`nearest` is None where it cannot be asked for."""
    notes = (asking.meaningless,) if asking.meaningless else ()
    if hits.fits is not None and hits.nothing_fits:
        notes = (*notes, _nothing_fits(hits.fits, left_out, nearest=nearest))
        if not nearest:
            return notes
    if left_out:
        what = "nothing relevant: " if not hits.matches else ""
        hit = "hit" if left_out == 1 else "hits"
        return (*notes, f"{what}{left_out} {hit} less likely than the threshold left out")
    if hits.matches:
        return notes
    if hits.unembedded:
        count = f"{hits.unembedded:,} text{'s' if hits.unembedded > 1 else ''}"
        notes = (*notes, f"{count} without a vector yet can be found by words only: ask again soon")
    if not query_terms(query):
        return (*notes, "the query holds no word to search by")
    nothing = "nothing stored holds a word of the query and passes the filters"
    if words := when.moment.window_words:
        nothing += f"; “{words}” was read as a time, and facts that did not hold then left out"
    return (*notes, nothing)


def _nothing_fits(fits: float, left_out: int, *, nearest: bool | None) -> str:
    told = f"nothing relevant: it is {fits:.0%} likely that anything stored fits the question"
    if nearest:
        return f"{told}, and these hits are only the nearest"
    hits = "the nearest hit is" if left_out == 1 else f"the {left_out} nearest hits are"
    by = "a search" if nearest is None else "`nearest`"
    return f"{told}; {hits} left out, which {by} shows"


def _hit(shower: Shower, match: Match, told: Set[Ref] = frozenset()) -> Hit:
    """`told` are hits that were given already, and need not be told of again."""
    state = match.row.state
    valid_from, valid_to = shower.validity(state)
    tags, metadata = shower.labels(state)
    return Hit(
        id=str(match.ref),
        kind=WHAT[match.ref.kind],
        text=shower.text(match.ref, state),
        score=match.score,
        signals=match.signals,
        standing=shower.outdated(match.ref, state) or shower.standing(match.ref, state),
        sources=shower.sources(match.ref, state),
        valid_from=valid_from,
        valid_to=valid_to,
        tags=tags,
        metadata=metadata,
        importance=shower.importance(state),
        also=tuple(str(ref) for ref in match.also),
        answers=None if match.previous in told else asked_before(shower, match),
    )


@answers(q.Context)
def context(question: q.Context, asking: Asking) -> Packed:
    """The best hits that fit the budget: facts first, then passages and messages, each best first;
    one dated, cited line each."""
    got = picked(question, asking)
    facts_first = sorted(got.fitted, key=lambda fitted: fitted.match.ref.kind is not Kind.FACT)
    lines = [fitted.line for fitted in facts_first]
    text, tokens = _within(lines, question.budget, asking.counter, got.recent)
    return Packed(
        container=asking.name,
        query=question.query,
        text=text,
        tokens=tokens,
        budget=question.budget,
        counter=asking.counter.name,
        lines=tuple(lines),
        fits=got.fits,
        nothing_relevant=got.nothing_relevant,
        unembedded=got.unembedded,
        searched=got.searched,
        moment=got.moment,
        recent=got.recent.told,
        notes=got.told(len(lines)),
    )


class Fitted(NamedTuple):
    """A hit that found room: the `part` of its text that answers, and its line in a context."""

    match: Match
    hit: Hit
    part: str
    line: Line


class Picked(NamedTuple):
    """What a context holds of the hits that were `found`, best first; `zone` is the container's.
    `recent` is what comes beside them."""

    fitted: tuple[Fitted, ...]
    asked: Asked
    zone: str
    moment: Moment
    fits: float | None
    nothing_relevant: bool
    unembedded: int
    searched: tuple[Searched, ...]
    found: int
    notes: tuple[str, ...]
    recent: RecentPart

    def told(self, kept: int) -> tuple[str, ...]:
        """The notes, with how many hits had no room beside those that were `kept`."""
        if kept >= self.found:
            return self.notes
        rest = so_many(self.found - kept, "more hit", "more hits")
        return (*self.notes, f"{rest} did not fit into the budget")


def picked(question: q.Context | q.Inquire, asking: Asking) -> Picked:
    """The hits of a question that are near enough to the best, as far as its budget goes."""
    view = asking.views.container(asking.home())
    when = in_words(view, question, resolve(view, question, asking.now_us))
    forgotten = question.include_forgotten
    narrow = sought(view, question.filters, when, scope=question.scope, forgotten=forgotten)
    shower = Shower(view, when, forgotten=forgotten)
    recent = recent_in(question, asking, shower)
    most_hits = _CONTEXT_HITS + recent.more
    gathering = gathered(view, question.query, narrow.criteria, most_hits, asking)
    nearest = question.nearest if isinstance(question, q.Context) else None
    fitting, left_out = _fitting(gathering.hits, question.threshold, nearest=bool(nearest))
    # What the recent part shows fits, too, though it is not repeated.
    nothing = not fitting.matches or fitting.nothing_fits
    hits = reordered(recent.without(fitting), asking.scores)
    words = asked(question.query)
    found = _relevant(hits.matches, _LIKELY_OF_SEVERAL if words.several else _LIKELY_SHARE)
    sizes = _OF_SEVERAL if words.several else _LINE_BYTES
    chosen: list[Fitted] = []
    left = question.budget - recent.tokens
    for place, match in enumerate(found):
        most = sizes[min(place, len(sizes) - 1)]
        told = {before.match.ref for before in chosen}
        hit = _hit(shower, match, told)
        fitted = _fitted(match, hit, hits.weights, left, most, asking.counter)
        if fitted is not None:
            chosen.append(fitted)
            left -= fitted.line.tokens
    notes = (
        *recent.notes,
        *_notes(question.query, fitting, left_out, asking, when, nearest=nearest),
    )
    return Picked(
        tuple(chosen), words, when.zone.name, when.told(zoned=narrow.zoned), hits.fits,
        nothing, hits.unembedded, gathering.searched, len(found), notes, recent,
    )  # fmt: skip


def _relevant(matches: Sequence[Match], share: float) -> list[Match]:
    """Hits that are not much less near, or not much less likely to answer, than the best."""
    near = _RELEVANT_SHARE * max((match.closeness for match in matches), default=0.0)
    likely = share * max((match.score for match in matches), default=0.0)
    return [match for match in matches if match.closeness >= near or match.score >= likely]


def _within(
    lines: list[Line], budget: int, counter: TokenCounter, recent: RecentPart
) -> tuple[str, int]:
    """The lines and the recent part as one text, and its tokens. Lines whose tokens grow by
    standing together are left out from the end, until the text is within the budget."""
    while True:
        text = "\n".join((*(line.text for line in lines), *recent.lines))
        tokens = counter.whole(text)
        if tokens is None:
            return text, sum(line.tokens for line in lines) + recent.tokens
        if tokens <= budget or not lines:
            return text, tokens
        lines.pop()


def _fitted(
    match: Match,
    hit: Hit,
    weights: Mapping[str, float],
    left: int,
    most: int,
    counter: TokenCounter,
) -> Fitted | None:
    """The hit as a line of at most `left` tokens, with at most about `most` bytes of its text, the
    part that answers; None if there is no room for that."""
    head, tail = _frame(hit)
    room = left * counter.bytes_most - bytes_of(head) - bytes_of(tail) - _MARKS
    least = min(bytes_of(hit.text), _EXCERPT_BYTES)
    most = max(most, least)
    while room >= max(least, 1):
        part = _part(hit.text, weights, min(room, most))
        tokens = counter.line(head + part + tail)
        if tokens <= left:
            return Fitted(match, hit, part, Line(id=hit.id, text=head + part + tail, tokens=tokens))
        room = min(room, bytes_of(part)) * left // tokens
    return None


def _part(text: str, weights: Mapping[str, float], room: int) -> str:
    """A text in one line of at most `room` bytes and the marks of what is left out."""
    chars = room
    while True:
        part = " ".join(excerpt(text, weights, chars).split())
        size = bytes_of(part)
        if size < room + _MARKS:
            return part
        chars = chars * room // size


def _frame(hit: Hit) -> tuple[str, str]:
    """What stands before and after the text: when, who or where from, and the id to cite."""
    when, who = (dated(hit) or "")[:_DAY_CHARS], said_by(hit)
    if hit.standing.state in _OVER:
        until = (hit.valid_to or "")[:_DAY_CHARS]
        when = f"{when} to {until}" if until and until != when else when
        when = f"{when}, {hit.standing.state}"
    asked = f"(asked: {hit.answers.text}) " if hit.answers else ""
    head = f"- [{when}] {asked}" + (f"{who}: " if who and hit.kind != "fact" else "")
    return head, f" ({hit.id})"


def dated(hit: Hit) -> str | None:
    """When it holds from, or else when it was said."""
    said = hit.sources[0].time if hit.sources else None
    return hit.valid_from or said or None


def said_by(hit: Hit) -> str | None:
    """Who said it, or where it stands."""
    if not hit.sources:
        return None
    first = hit.sources[0]
    who = first.speaker or first.title or first.address or first.role
    return who and " ".join(who.split())  # a name with line breaks in it could forge a line
