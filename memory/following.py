"""What follows from an undo: passages cut again, facts that end after all, the changes to tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import DocumentId, FactId, Kind, PassageId, Ref
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import targets as t
from rewound.memory.answer_diff import different
from rewound.memory.deciding import Deciding, Plan
from rewound.memory.ending import unsaid
from rewound.memory.pieces import inked
from rewound.memory.replies import Change

if TYPE_CHECKING:
    from rewound.projections.fold import Touched
    from rewound.projections.reader import ContainerView

_WITH_TEXT = frozenset({"facts", "messages", "documents", "passages", "hidden"})


def settle_documents(recorded: list[Recorded], deciding: Deciding) -> Plan | None:
    """Cut documents again that are still there, but whose passages dropped out; and settle which
    facts their present text still supports.

    Passages drop out when a document was sent twice and its first sending is undone: they were
    caused by that. The undoing is the cause of what follows, so undoing it drops that again.
    """
    view = deciding.views.container(deciding.home())
    folded = deciding.folded[-1]
    documents = dict.fromkeys(
        ref.id
        for each in (*folded.dropped, *folded.returned)
        for ref in (*each.event.creates(), *each.event.refers())
        if ref.kind is Kind.DOCUMENT
    )
    cause = recorded[0].envelope.event_id
    drafts: list[Draft] = []
    for document in map(DocumentId, documents):
        cuts = _missing(view, document, deciding)
        if cuts:
            drafts.append(Draft(e.PassagesCut(document, cuts), causes=(cause,)))
        drafts += [Draft(event, causes=(cause,)) for event in _facts_anew(view, document, deciding)]
    return Plan(drafts, tell=True) if drafts else None


def _missing(view: ContainerView, document: DocumentId, deciding: Deciding) -> tuple[e.Cut, ...]:
    """A passage for each piece of the present text that has none."""
    row = view.document(document)
    if row is None:
        return ()
    held = {passage.state.body.place(0) for passage in view.passages_of(document)}
    cuts: list[e.Cut] = []
    for piece in dict.fromkeys(row.state.pieces):
        text = None if piece.place(0) in held else view.text(piece)
        span = None if text is None else inked(text)
        if span is not None:
            cuts.append(e.Cut(PassageId(deciding.ids.new()), piece, *span))
    return tuple(cuts)


def _facts_anew(view: ContainerView, document: DocumentId, deciding: Deciding) -> list[e.Event]:
    """Where an ending dropped out or holds again, but the document says something else today.

    Of three versions the second is undone: what it ended came back, and may not be in the third.
    The second returns although a third was sent meanwhile: what it ended may be in that.
    """
    folded = deciding.folded[-1]
    ref, row = Ref(Kind.DOCUMENT, document), view.document(document)
    kept = frozenset[Place]() if row is None else {piece.place(0) for piece in row.state.pieces}
    back = [fact for fact in _ended(folded.dropped) if _places(view, fact, ref)]
    facts = unsaid(view, ref, back, kept, deciding.now_us)
    anew: list[e.Event] = [e.FactsEnded(facts)] if facts else []
    for fact in _ended(folded.returned):
        stated = view.fact(fact)
        if stated is not None and stated.state.unsaid is not None:
            if not kept.isdisjoint(_places(view, fact, ref)):
                anew.append(e.SeenAgain(Ref(Kind.FACT, fact), stated.state.at))
    return anew


def _ended(events: Iterable[Recorded]) -> dict[FactId, None]:
    endings = (each.event for each in events if isinstance(each.event, e.FactsEnded))
    return dict.fromkeys(fact for ending in endings for fact in ending.facts)


def _places(view: ContainerView, fact: FactId, document: Ref) -> set[Place]:
    """Where in a document a fact stands, or stood."""
    row = view.fact(fact)
    spans = () if row is None else row.state.sources
    return {span.place for span in spans if span.source == document}


_WORK = frozenset({"unjudged", "unsummarised"})
"""Views of what a worker is still to do: no part of what is known."""


def changes(
    view: ContainerView, touched: Iterable[Touched], withheld: Collection[Ref] = ()
) -> tuple[Change, ...]:
    """Rows before an undo and after all that followed from it, in the order touched.

    No text is told of what is `withheld`.
    """
    rows: dict[tuple[str, bytes], Touched] = {}
    for row in touched:
        first = rows.get((row.view, row.key))
        rows[row.view, row.key] = row if first is None else row._replace(before=first.before)
    told = (_change(view, row, withheld) for row in rows.values() if row.before != row.after)
    return tuple(change for change in told if change is not None)


def _change(view: ContainerView, row: Touched, withheld: Collection[Ref]) -> Change | None:
    """None when a row differs in nothing that a person sees."""
    if row.view in _WORK:
        return None
    ref = Ref(Kind(row.key[0]), row.key[1:17])
    fields: tuple[str, ...] = ()
    if row.before is not None and row.after is not None:
        fields = different(view, row.before, row.after)
        if not fields:
            return None
    shown = row.view in _WITH_TEXT and _shows(view, ref, withheld)
    gone: Literal["disappears", "changes"] = "disappears" if row.after is None else "changes"
    return Change(
        view=row.view,
        id=str(ref),
        change="appears" if row.before is None else gone,
        text=t.told(view, ref).text if shown else None,
        fields=fields,
    )


def _shows(view: ContainerView, ref: Ref, withheld: Collection[Ref]) -> bool:
    """What is forgotten is told nowhere, not even when an undo changes it."""
    row = t.latest(view, ref) if ref.kind is Kind.PASSAGE else None
    refs = (ref,) if row is None else (ref, Ref(Kind.DOCUMENT, row.state.document))
    return all(each not in withheld and view.hidden(each) is None for each in refs)
