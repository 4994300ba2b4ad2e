"""Restoring: what was forgotten shows again, by lifting every forgetting that hides it.

A document or message comes back with all that its own forgetting had hidden; a fact with its chain
and the words it was drawn from. What another forgetting hides besides stays hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, InvalidInput
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.decide_forget import forgot
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.replies import Forgot
from rewound.memory.settling import repeat_again
from rewound.memory.withholding import lineage

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


@decides(q.Restore)
def restore(command: q.Restore, deciding: Deciding) -> Plan:
    """Show forgotten items again. Raises NotFound, or Conflict for what is not forgotten."""
    view = deciding.views.container(deciding.home())
    drafts: list[Draft] = []
    shows: dict[Ref, None] = {}
    done: set[Ref] = set()
    for item in _meant(view, command):
        if item in done:
            continue  # another version of a chain that comes back already
        done.update(_members(view, item))
        lifting = _lifting(view, item)
        shows.update(dict.fromkeys(lifting.shows))
        scope, sealed = t.scope_body(deciding.ids, command.scope)
        event = e.Restored(item, lifting.shows, lifting.lifts, lifting.masks)
        drafts.append(Draft(event, sealed, scope=scope))
    before = {ref for ref in shows if view.hidden(ref) is not None}

    def reply(recorded: list[Recorded], after: Deciding) -> Forgot:
        now = after.views.container(view.id)
        back = [ref for ref in shows if ref in before and now.hidden(ref) is None]
        items = [t.told(now, ref) for ref in back if now.row(ref) is not None]
        return forgot(after, recorded, items, _notes(now, shows, back))

    return Plan(drafts, reply, aftermath=repeat_again)


def _notes(view: ContainerView, shows: dict[Ref, None], back: list[Ref]) -> list[str]:
    """Say what does not show although it was lifted."""
    notes: list[str] = []
    for ref in shows:
        hidden = view.hidden(ref)
        if hidden is not None and hidden.erased:
            notes.append(f"{ref} was erased: it cannot come back")
        elif hidden is not None:
            by = Ref(Kind.EVENT, hidden.by[0])
            notes.append(f"{ref} stays hidden, since it was also forgotten by itself ({by})")
    notes += [
        f"{ref} is no longer forgotten, but it was taken back by an undo or removed"
        for ref in back
        if ref.kind in t.ITEMS and view.row(ref) is None
    ]
    return notes


# --- what is meant


def _meant(view: ContainerView, command: q.Restore) -> dict[Ref, None]:
    """The items named, or that the events named had forgotten or brought in."""
    meant: dict[Ref, None] = {}
    for text in command.ids:
        ref = t.named(view, text, field="ids")
        if ref.kind in (Kind.EVENT, Kind.GROUP):
            items = _of_events(view, ref)
        else:
            _check_forgotten(view, ref)
            items = [ref]
        for item in items:
            t.check_scope(view, item, command.scope, field="ids")
            meant[item] = None
    return meant


def _of_events(view: ContainerView, ref: Ref) -> list[Ref]:
    items: dict[Ref, None] = {}
    for recorded in t.events_of(view, ref, field="ids"):
        event = recorded.event
        found = [event.item] if isinstance(event, e.Forgotten) else t.brought(recorded)
        items.update(dict.fromkeys(found))
    if not items:
        raise InvalidInput(
            f"{ref} neither forgot anything nor brought anything in: name what to restore",
            field="ids",
        )
    hidden = [item for item in items if _lifts(view, item) and not _erased(view, item)]
    if not hidden:
        _check_forgotten(view, next(iter(items)))
    return hidden


def _check_forgotten(view: ContainerView, ref: Ref) -> None:
    """Raises Conflict for what is not forgotten, or erased."""
    if _erased(view, ref):
        raise Conflict(
            f"{ref} was erased: nothing of it is left that could come back",
            field="ids",
            ids=(str(ref),),
        )
    if _lifts(view, ref):
        return
    row = view.passage(ref.id) if ref.kind is Kind.PASSAGE else None
    document = None if row is None else Ref(Kind.DOCUMENT, row.state.document)
    if document is not None and view.hidden(document) is not None:
        raise Conflict(
            f"{ref} is hidden with its document: restore {document}",
            field="ids",
            ids=(str(ref), str(document)),
        )
    raise Conflict(f"{ref} is not forgotten", field="ids", ids=(str(ref),))


def _erased(view: ContainerView, ref: Ref) -> bool:
    hidden = view.hidden(ref)
    return hidden is not None and hidden.erased


# --- what is lifted


class _Lifting(NamedTuple):
    shows: tuple[Ref, ...]
    lifts: tuple[EventId, ...]
    masks: tuple[e.Span, ...]


def _members(view: ContainerView, ref: Ref) -> list[Ref]:
    return lineage(view, FactId(ref.id)) if ref.kind is Kind.FACT else [ref]


def _lifts(view: ContainerView, item: Ref) -> dict[EventId, None]:
    """The forgettings that hide an item, or any version of its chain, oldest first."""
    rows = (view.hidden(member) for member in _members(view, item))
    return {event_id: None for row in rows if row is not None for event_id in row.by}


def _lifting(view: ContainerView, item: Ref) -> _Lifting:
    members = dict.fromkeys((item, *_members(view, item)))
    lifts = _lifts(view, item)
    shows = {member: None for member in members if view.hidden(member) is not None}
    masks: dict[e.Span, None] = {}
    for event_id in lifts:
        recorded = t.event_of(view, event_id)
        assert recorded is not None and isinstance(recorded.event, e.Forgotten)
        if recorded.event.item in members:
            shows.update(dict.fromkeys(recorded.event.hides))
            masks.update(dict.fromkeys(recorded.event.masks))
    return _Lifting(tuple(shows), tuple(lifts), tuple(masks))
