"""Undoing: one event, or all that still hold of a group, with what they caused.

What an undo changes is found by its fold, also for a dry run, which is then rolled back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.errors import (
    AlreadyUndone,
    Conflict,
    HasDependents,
    NotFound,
    Stale,
    WrongKind,
)
from rewound.eventlog.ids import NAMES, STORE, EventId, Kind, Ref, parse_any
from rewound.eventlog.instants import show_us
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.following import changes, settle_documents
from rewound.memory.replies import Undid
from rewound.memory.unravelling import Unravelled, unravel

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


@decides(q.Undo)
def undo(command: q.Undo, deciding: Deciding) -> Plan:
    """Take events back.

    Raises WrongKind, NotFound, AlreadyUndone, HasDependents (unless `cascade`; a dry run tells them
    instead), or Conflict for what cannot be undone.
    """
    view = deciding.views.container(deciding.home())
    target = _target(command, view)
    notes: list[str] = []
    names = _names(view, target, notes)
    unravelled = unravel(view, names)
    _check_erased(view, target, unravelled, notes)
    dependents = tuple(_event(recorded) for recorded in unravelled.dependents)
    if dependents and not command.cascade:
        if not command.dry_run:
            raise _refused(target, unravelled)
        notes.append(
            "without cascade this would be refused; shown is what happens with it, the later "
            "commands named as dependents being undone too"
        )
    if any(isinstance(recorded.event, e.Forgotten) for recorded in unravelled.dependents):
        notes.append(
            "a forgetting is taken back with it: reads of the past show what it had hidden"
        )
    _check_stale(view, command, unravelled)
    names += [recorded.envelope.event_id for recorded in unravelled.dependents]
    scope, sealed = t.scope_body(deciding.ids, command.scope)
    draft = Draft(e.Undone(target, tuple(names)), sealed, scope=scope)
    head = deciding.log.head(view.id).position
    withheld = _withheld(view, unravelled) if command.dry_run else frozenset[Ref]()

    def reply(recorded: list[Recorded], after: Deciding) -> Undid:
        now = after.views.container(view.id)
        cut = [r.event.document for r in recorded if isinstance(r.event, e.PassagesCut)]
        again = [f"{Ref(Kind.DOCUMENT, raw)} was cut into passages anew" for raw in cut]
        return Undid(
            container=after.name,
            position=head if command.dry_run else recorded[-1].position,
            event=None if command.dry_run else _event(recorded[0]),
            dropped=tuple(_event(r) for folded in after.folded for r in folded.dropped),
            returned=tuple(_event(r) for folded in after.folded for r in folded.returned),
            dependents=dependents,
            changes=changes(
                now, [row for folded in after.folded for row in folded.touched], withheld
            ),
            refolded=sum(folded.refolded for folded in after.folded),
            dry_run=command.dry_run,
            notes=(*notes, *again),
        )

    return Plan([draft], reply, aftermath=settle_documents, dry_run=command.dry_run, tell=True)


# --- what is to be undone


def _target(command: q.Undo, view: ContainerView) -> Ref:
    kind, raw = parse_any(command.id, field="id")
    if kind not in (None, Kind.EVENT, Kind.GROUP):
        raise WrongKind(
            f"{command.id} is {NAMES[kind]}, but undo wants an event (ev_…) or a group (grp_…): "
            "the item's history names its events",
            field="id",
        )
    found = view.log.find(EventId(raw))
    if found is not None and found[0] == STORE:
        raise Conflict(
            f"{Ref(Kind.EVENT, raw)} is about the store as a whole (a seal of all chains): it "
            "cannot be undone",
            field="id",
        )
    target = Ref(kind or Kind.EVENT, raw)
    for recorded in t.events_of(view, target, field="id"):
        if not _in_scope(view, recorded, command.scope):
            shown = str(target)
            raise NotFound(f"{shown} is not in this container", field="id", ids=(shown,))
    return target


def _in_scope(view: ContainerView, recorded: Recorded, scope: q.Scope) -> bool:
    wanted = t.scope_parts(scope)
    body = recorded.envelope.scope
    held = view.value(body.seen_from(recorded.position)) if wanted and body is not None else None
    return all((held or {}).get(name) == value for name, value in wanted.items())


def _names(view: ContainerView, target: Ref, notes: list[str]) -> list[EventId]:
    """The events to be undone by name: those that hold, less what they cause of each other."""
    events = t.events_of(view, target, field="id")
    for recorded in events:
        if isinstance(recorded.event, e.ContentErased | e.HeadsSealed):
            raise Conflict(
                f"{t.event_named(recorded)} cannot be undone: what was erased is gone for good"
                if isinstance(recorded.event, e.ContentErased)
                else f"{t.event_named(recorded)} cannot be undone: it seals what happened before",
                field="id",
                ids=(_event(recorded),),
            )
    making = next(view.about(Ref(Kind.CONTAINER, view.id)), None)
    undoable = [recorded for recorded in events if recorded != making]
    if not undoable:
        raise Conflict(
            f"{target} made the container, and everything in it stands on that: it cannot be "
            "undone",
            field="id",
            ids=(str(target),),
        )
    if len(undoable) < len(events):
        notes.append("the container itself stays: its making is not undone")
    effectivity = view.effectivity()
    holding = [recorded for recorded in undoable if effectivity.holds(recorded)]
    if not holding:
        raise _already(view, target, undoable)
    names = {recorded.envelope.event_id for recorded in holding}
    return [
        recorded.envelope.event_id
        for recorded in holding
        if names.isdisjoint(recorded.envelope.causes)
    ]


# --- refusals


def _already(view: ContainerView, target: Ref, events: Sequence[Recorded]) -> AlreadyUndone:
    undoing = view.effectivity().dropped_by(events[0])
    assert undoing is not None, "an event that does not hold was dropped by an undoing"
    by, at = _event(undoing), show_us(undoing.envelope.recorded_at)
    return AlreadyUndone(
        f"{target} was undone already, at {at} by {by}: to bring it back, undo {by}",
        field="id",
        ids=(by,),
    )


def _check_erased(
    view: ContainerView, target: Ref, unravelled: Unravelled, notes: list[str]
) -> None:
    """Undoing what is only about erased items would promise something that cannot be."""
    flipped = [*unravelled.flipped.dropped, *unravelled.flipped.returned]
    changing = [recorded for recorded in flipped if not isinstance(recorded.event, e.Undone)]
    if changing and all(_is_erased(view, recorded.event) for recorded in changing):
        raise Conflict(
            f"{target} is about what has been erased since: nothing is left to be taken back or "
            "to come back",
            field="id",
            ids=(str(target),),
        )
    items = dict.fromkeys(ref for recorded in changing for ref in t.about(recorded.event))
    gone = [str(ref) for ref in items if _hidden_for_ever(view, ref)]
    if gone:
        notes.append(f"erased since, and not brought back by anything: {t.listed(gone)}")


def _is_erased(view: ContainerView, event: e.Event) -> bool:
    items = t.about(event)
    return bool(items) and all(_hidden_for_ever(view, ref) for ref in items)


def _hidden_for_ever(view: ContainerView, ref: Ref) -> bool:
    hidden = view.hidden(ref)
    return hidden is not None and hidden.erased


def _refused(target: Ref, unravelled: Unravelled) -> HasDependents:
    dependents = unravelled.dependents
    count = len(dependents)
    what = "1 later command stands" if count == 1 else f"{count} later commands stand"
    named = t.listed(t.event_named(recorded) for recorded in dependents)
    return HasDependents(
        f"{what} on what undoing {target} would take back: {named}. Undo first what came later, "
        "or all together with cascade",
        field="id",
        ids=tuple(_event(recorded) for recorded in dependents),
    )


def _check_stale(view: ContainerView, command: q.Undo, unravelled: Unravelled) -> None:
    """The engine compares what the undoing refers to, which are events; here it is their items."""
    if command.unless_after is None:
        return
    flipped = [*unravelled.flipped.dropped, *unravelled.flipped.returned]
    items = dict.fromkeys(ref for recorded in flipped for ref in t.about(recorded.event))
    since = [ref for ref in items if view.log.tagged(view.id, ref.key(), command.unless_after)]
    if since:
        raise Stale(
            f"something happened to {since[0]} after position {command.unless_after}: read it "
            "again and decide anew",
            field="unless_after",
            ids=tuple(str(ref) for ref in since),
        )


def _withheld(view: ContainerView, unravelled: Unravelled) -> frozenset[Ref]:
    """What is forgotten now, wholly or in part: a dry run must not tell what it only would show."""
    flipped = (*unravelled.flipped.dropped, *unravelled.flipped.returned)
    masked = (
        span.source
        for recorded in flipped
        if isinstance(recorded.event, e.Forgotten | e.Restored)
        for span in recorded.event.masks
    )
    return frozenset((*(ref for ref, _ in view.hidden_items()), *masked))


def _event(recorded: Recorded) -> str:
    return str(Ref(Kind.EVENT, recorded.envelope.event_id))
