"""Erasing: bodies are destroyed for good, with everything that came with them.

The one command that cannot be undone, so its dry run lists all that would go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, WrongKind
from rewound.eventlog.ids import NAMES, Kind, Ref
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.erasing import Erasure, belongings, erasure
from rewound.memory.replies import Erased, Hidden
from rewound.memory.settling import stand_alone
from rewound.memory.standing import Standing, standing

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


@decides(q.Erase)
def erase(command: q.Erase, deciding: Deciding) -> Plan:
    """Destroy items, forgotten or not.

    Raises NotFound, WrongKind, or Conflict for what was erased already.
    """
    view = deciding.views.container(deciding.home())
    gone = erasure(view, dict.fromkeys(_named(view, text, command.scope) for text in command.ids))
    beside = belongings(view, gone)
    elsewhere = standing(view, gone, beside)
    places = sorted(
        place
        for place in gone.wordings | (beside.bodies.keys() - elsewhere.kept)
        if view.log.body(view.id, place) is not None
    )
    items = _told(view, gone, dry_run=command.dry_run)
    notes = _notes(view, gone, elsewhere)
    head = deciding.log.head(view.id).position

    def reply(recorded: list[Recorded], after: Deciding) -> Erased:
        event = Ref(Kind.EVENT, recorded[0].envelope.event_id)
        return Erased(
            container=after.name,
            position=head if command.dry_run else recorded[0].position,
            event=None if command.dry_run else str(event),
            items=items,
            bodies=after.erased,
            stands_in=elsewhere.same,
            compaction="none" if command.dry_run else "pending",
            dry_run=command.dry_run,
            notes=notes,
        )

    draft = Draft(e.ContentErased(gone.items, tuple(places)))
    return Plan([draft], reply, aftermath=stand_alone, dry_run=command.dry_run)


def _named(view: ContainerView, text: str, scope: q.Scope) -> Ref:
    ref = t.named(view, text, field="ids")
    if ref.kind in (Kind.EVENT, Kind.GROUP):
        brought = dict.fromkeys(
            str(item) for each in t.events_of(view, ref, field="ids") for item in t.brought(each)
        )
        inside = f": name what it brought in, {t.listed(brought)}" if brought else ""
        raise WrongKind(
            f"{ref} is {NAMES[ref.kind]}, but erasing cannot be undone, so it wants the items "
            f"themselves{inside}",
            field="ids",
            ids=(str(ref), *brought),
        )
    t.check_scope(view, ref, scope, field="ids")
    if ref.kind is Kind.PASSAGE:
        document = t.document_of(view, ref)
        raise WrongKind(
            f"{ref} is a passage: erase the document that holds it ({document}), or a fact drawn "
            "from it, which takes the passage along",
            field="ids",
            ids=(str(ref), str(document)),
        )
    hidden = view.hidden(ref)
    if hidden is not None and hidden.erased:
        raise Conflict(f"{ref} was erased already", field="ids", ids=(str(ref),))
    return ref


# --- the reply


def _told(view: ContainerView, gone: Erasure, *, dry_run: bool) -> tuple[Hidden, ...]:
    """All that goes: the items, then the passages that documents lose.

    Only a dry run tells texts: the reply to an erasure must not hold what it destroyed. What is
    forgotten is told without its text there too.
    """
    documents = dict.fromkeys(gone.holes.values())
    passages = [
        Ref(Kind.PASSAGE, row.id)
        for document in documents
        for row in view.passages_of(document.id)
        if row.state.body.place(0) in gone.holes
    ]
    return tuple(
        t.told(view, ref)
        if dry_run and _shows(view, ref)
        else Hidden(id=str(ref), kind=ref.kind.name.lower())
        for ref in (*gone.items, *passages)
    )


def _shows(view: ContainerView, ref: Ref) -> bool:
    row = view.passage(ref.id) if ref.kind is Kind.PASSAGE else None
    if row is not None and view.hidden(Ref(Kind.DOCUMENT, row.state.document)) is not None:
        return False
    return view.hidden(ref) is None


def _notes(view: ContainerView, gone: Erasure, elsewhere: Standing) -> tuple[str, ...]:
    notes: list[str] = []
    asked = set(gone.asked)
    along = [str(ref) for ref in gone.items if ref not in asked]
    if along:
        notes.append(f"{t.listed(along)}: nothing of these is left without the words that go")
    documents = list(dict.fromkeys(str(ref) for ref in gone.holes.values()))
    if documents:
        notes.append(
            f"{t.listed(documents)}: only the passages that held the words go, "
            f"{len(gone.holes)} in all; the rest of the text stays"
        )
    facts = _left_without_source(view, gone)
    if facts:
        notes.append(f"{t.listed(facts)}: drawn from texts that go, but not asked for, and stay")
    if elsewhere.same:
        notes.append(
            f"the same words stand in {len(elsewhere.same)} other places, forgotten and undone "
            "ones included: erase these too if they should go"
        )
    if elsewhere.alike:
        notes.append(
            f"some details that came with it (such as a tag, a name or a caller's id) also stand "
            f"in {len(elsewhere.alike)} other places, which keep them"
        )
    return tuple(notes)


def _left_without_source(view: ContainerView, gone: Erasure) -> list[str]:
    """Facts that stay although a text goes that they were drawn from."""
    items = set(gone.items)
    sources = [ref for ref in (*gone.items, *gone.holes.values()) if ref.kind is not Kind.FACT]
    facts = dict.fromkeys(
        Ref(Kind.FACT, raw) for source in dict.fromkeys(sources) for raw in view.facts_from(source)
    )
    return [
        str(ref)
        for ref in facts
        if ref not in items
        and (row := view.fact(ref.id)) is not None
        and any(span.place in gone.wordings for span in row.state.sources)
    ]
