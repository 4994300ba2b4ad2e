"""Facts as a judge sees them: the wording, its times, and what was really said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rewound.eventlog.ids import Kind, Ref
from rewound.llm.judging import Claim

if TYPE_CHECKING:
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row

BLACK = "█"

AROUND_CHARS = 240
"""How much is read on each side of the words that a fact was drawn from: a correction is often
announced in the sentence before."""


class _Origin(NamedTuple):
    said: str | None
    at: int
    conversation: bytes


def claim_of(view: ContainerView, row: Row[FactRow]) -> Claim | None:
    """The claim that a fact makes; None when its words are erased or partly forgotten."""
    fact = row.state
    text = view.wording(fact)
    if text is None or BLACK in text:
        return None
    origin = _origin(view, fact)
    at = _said_at(fact, origin)
    said = origin.said if origin is not None and origin.said != text else None
    return Claim(
        text=text,
        said_at=at,
        valid_from=fact.valid_from,
        valid_to=None if fact.stated_to is None else fact.stated_to.at,
        dated=fact.stated_from is not None and fact.valid_from != at,
        kind=fact.kind,
        subject=view.text(fact.subject),
        attribute=view.text(fact.attribute),
        value=view.text(fact.value),
        entities=tuple(view.value(fact.entities) or ()),
        said=said,
        conversation=None if origin is None else origin.conversation,
    )


def said_at(view: ContainerView, fact: FactRow) -> int:
    """When it was stated (µs), as far as that was told."""
    return _said_at(fact, _origin(view, fact))


def _said_at(fact: FactRow, origin: _Origin | None) -> int:
    if fact.said_at is not None:
        return fact.said_at.at
    return fact.recorded_at if origin is None else origin.at


def _origin(view: ContainerView, fact: FactRow) -> _Origin | None:
    """Where it was drawn from first, as far as that shows today."""
    for span in fact.sources:
        row = view.row(span.source)
        if row is None or view.hidden(span.source) is not None:
            continue
        state: Any = row.state
        at = state.recorded_at if state.said_at is None else state.said_at.at
        if span.source.kind is Kind.MESSAGE:
            whole = view.shown(span.source, state.text)
            return _Origin(_around(whole, span.start, span.end), at, bytes(state.conversation))
        piece = next((body for body in state.pieces if body.place(0) == span.place), None)
        whole = None if piece is None else view.shown(span.source, piece)
        return _Origin(_around(whole, span.start, span.end), at, bytes(span.source.id))
    return None


def _around(text: str | None, start: int, end: int) -> str | None:
    if text is None:
        return None
    return text[max(0, start - AROUND_CHARS) : end + AROUND_CHARS]


def in_one_scope(view: ContainerView, one: FactRow, other: FactRow) -> bool:
    """Whether two facts belong to the same user, agent, run and session: nobody's words end what
    somebody else said."""
    if one.scope is None and other.scope is None:
        return True
    first, second = view.value(one.scope) or {}, view.value(other.scope) or {}
    return bool(first == second)


def is_shown(view: ContainerView, fact: bytes) -> bool:
    return view.hidden(Ref(Kind.FACT, fact)) is None
