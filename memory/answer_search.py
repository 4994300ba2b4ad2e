"""Answers to search and context: hits with where they come from, and hits packed for a model."""

import msgspec

from rewound.eventlog.ids import Kind
from rewound.memory import requests as q
from rewound.memory.answering import Asking, answers
from rewound.memory.find import find
from rewound.memory.moments import resolve
from rewound.memory.question_times import in_words
from rewound.memory.replies import Found, Hit, Line, Packed
from rewound.memory.showing import WHAT, Shower
from rewound.projections.search import Hits, Match
from rewound.projections.tokens import query_terms

_CHARS_PER_TOKEN = 4
"""A model's tokens are estimated: about four characters each in English."""

_CONTEXT_HITS = 60
_RELEVANT_SHARE = 0.5
"""What scores less than this share of the best hit would only fill a context."""
_EXCERPT_TOKENS = 60
"""A line that is cut to fit is cut to no less: fewer words say nothing."""


@answers(q.Search)
def search(question: q.Search, asking: Asking) -> Found:
    view = asking.views.container(asking.home())
    when = in_words(view, question, resolve(view, question, asking.now_us))
    hits, zoned = find(
        view,
        question.query,
        question.filters,
        when,
        question.limit,
        scope=question.scope,
        superseded=question.include_superseded,
        forgotten=question.include_forgotten,
        meaning=asking.meaning,
    )
    shower = Shower(view, when, forgotten=question.include_forgotten)
    return Found(
        container=asking.name,
        query=question.query,
        hits=tuple(_hit(shower, match) for match in hits.matches),
        moment=when.told(zoned=zoned),
        filters=msgspec.to_builtins(question.filters),
        unembedded=hits.unembedded,
        notes=_notes(question.query, hits, asking),
    )


def _notes(query: str, hits: Hits, asking: Asking) -> tuple[str, ...]:
    notes = (asking.meaningless,) if asking.meaningless else ()
    if hits.matches:
        return notes
    if hits.unembedded:
        count = f"{hits.unembedded:,} text{'s' if hits.unembedded > 1 else ''}"
        notes = (*notes, f"{count} without a vector yet can be found by words only: ask again soon")
    if not query_terms(query):
        return (*notes, "the query holds no word to search by")
    return (*notes, "nothing stored holds a word of the query and passes the filters")


def _hit(shower: Shower, match: Match) -> Hit:
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
        also=tuple(str(ref) for ref in match.also),
    )


@answers(q.Context)
def context(question: q.Context, asking: Asking) -> Packed:
    """Facts first, then the passages and messages, each best first; one dated, cited line each."""
    view = asking.views.container(asking.home())
    when = in_words(view, question, resolve(view, question, asking.now_us))
    forgotten = question.include_forgotten
    hits, zoned = find(
        view,
        question.query,
        question.filters,
        when,
        _CONTEXT_HITS,
        scope=question.scope,
        forgotten=forgotten,
        meaning=asking.meaning,
    )
    least = _RELEVANT_SHARE * hits.matches[0].score if hits.matches else 0.0
    found = [match for match in hits.matches if match.score >= least]
    shower = Shower(view, when, forgotten=forgotten)
    facts = [match for match in found if match.ref.kind is Kind.FACT]
    others = [match for match in found if match.ref.kind is not Kind.FACT]
    lines: list[Line] = []
    left = question.budget
    for match in (*facts, *others):
        line = _line(shower, match, left)
        if line is not None:
            lines.append(line)
            left -= line.tokens
    notes = _notes(question.query, hits, asking)
    if len(lines) < len(found):
        notes = (*notes, f"{len(found) - len(lines)} more hits did not fit into the budget")
    return Packed(
        container=asking.name,
        query=question.query,
        text="\n".join(line.text for line in lines),
        tokens=question.budget - left,
        budget=question.budget,
        lines=tuple(lines),
        unembedded=hits.unembedded,
        moment=when.told(zoned=zoned),
        notes=notes,
    )


def tokens_of(text: str) -> int:
    """An estimate, rounded up; the line's end counts as well."""
    return (len(text) + 1 + _CHARS_PER_TOKEN - 1) // _CHARS_PER_TOKEN


def _line(shower: Shower, match: Match, left: int) -> Line | None:
    """The hit as a line of at most `left` tokens, its text cut if need be; None if it cannot."""
    hit = _hit(shower, match)
    head, tail = _frame(hit)
    text = " ".join(hit.text.split())
    over = tokens_of(head + text + tail) - left
    if over > 0:
        keep = len(text) - (over + 1) * _CHARS_PER_TOKEN
        if keep < _EXCERPT_TOKENS * _CHARS_PER_TOKEN:
            return None
        text = text[:keep].rsplit(" ", 1)[0] + " …"
    whole = head + text + tail
    return Line(id=hit.id, text=whole, tokens=tokens_of(whole))


def _frame(hit: Hit) -> tuple[str, str]:
    """What stands before and after the text: when, who or where from, and the id to cite."""
    first = hit.sources[0] if hit.sources else None
    when = hit.valid_from or (first.time if first else None) or ""
    who = first and (first.speaker or first.title or first.address or first.role)
    who = who and " ".join(who.split())  # a name with line breaks in it could forge a line
    head = f"- [{when[:10]}] " + (f"{who}: " if who and hit.kind != "fact" else "")
    return head, f" ({hit.id})"
