"""Which facts end when a document no longer holds the text that they were drawn from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import FactId, Kind, Ref
from rewound.memory.withholding import held_otherwise

if TYPE_CHECKING:
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView


def unsaid(
    view: ContainerView,
    document: Ref,
    facts: Iterable[FactId],
    kept: Collection[Place],
    now_us: int,
) -> tuple[FactId, ...]:
    """Those of the facts that stand now and that nothing supports if the document has the pieces
    `kept` and no others. What a person stated or edited stays."""

    def gone(span: e.Span) -> bool:
        if span.source == document:
            return span.place not in kept
        return not _stands(view, span)

    return tuple(
        fact
        for fact in facts
        if (row := view.fact(fact)) is not None
        and _holds(row.state, now_us)
        and view.hidden(Ref(Kind.FACT, fact)) is None
        and not held_otherwise(view, Ref(Kind.FACT, fact), gone)
    )


def drawn(view: ContainerView, document: Ref, places: Collection[Place]) -> list[FactId]:
    """Facts that were ever drawn from certain pieces of a document, oldest first."""
    found = _drawn(view, document, places) if places else ()
    return list(dict.fromkeys(found))


def _drawn(view: ContainerView, document: Ref, places: Collection[Place]) -> Iterator[FactId]:
    for recorded in view.about(document):
        match recorded.event:
            case e.FactExtracted(fact=fact, sources=spans):
                pass
            case e.SeenAgain(item=Ref(kind=Kind.FACT, id=raw), sources=spans):
                fact = FactId(raw)
            case _:
                continue
        if any(span.source == document and span.place in places for span in spans):
            yield fact


def _holds(fact: FactRow, now_us: int) -> bool:
    """Whether there is anything to end."""
    corrected = fact.ended is not None and fact.ended.corrects
    return fact.unsaid is None and not corrected and fact.valid_to > now_us


def _stands(view: ContainerView, span: e.Span) -> bool:
    """Whether another document or message is there and shows, and still has the text."""
    row = view.row(span.source)
    if row is None or view.hidden(span.source) is not None:
        return False
    if span.source.kind is not Kind.DOCUMENT:
        return True
    return any(piece.place(0) == span.place for piece in row.state.pieces)
