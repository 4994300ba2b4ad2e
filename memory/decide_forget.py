"""Forgetting: which items a command means, and what is hidden and blacked out for each.

One Forgotten event for each item meant, so that each can be restored or its forgetting undone
alone; the items that go with it are named in the event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter
from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import NAMES, FactId, Kind, Ref
from rewound.eventlog.instants import show_us
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.find import find
from rewound.memory.moments import present
from rewound.memory.replies import Forgot, Hidden
from rewound.memory.seeing import select
from rewound.memory.withholding import Withheld, lineage, withheld

_TWINS_LOOKED_FOR = 10
_TWIN_CHARS = 2_000

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


@decides(q.Forget)
def forget(command: q.Forget, deciding: Deciding) -> Plan:
    """Hide what the ids, the filters or the query mean.

    Raises NotFound, WrongKind or Conflict (hidden already) for any id, and then hides nothing.
    """
    view = deciding.views.container(deciding.home())
    notes: list[str] = []
    hidden: set[Ref] = set()
    forgettings: list[Withheld] = []
    for item, asked in _meant(command, deciding, view, notes):
        if item in hidden and not (asked and _only_along(item, forgettings)):
            continue
        forgetting = withheld(view, item, hidden)
        forgettings.append(forgetting)
        hidden.update(forgetting.hides)
    _note_chains(view, command, forgettings, notes)
    _note_twins(view, command, deciding, forgettings, notes)
    items = _newly_hidden(view, forgettings)
    drafts = _drafts(command, deciding, view, forgettings)
    head = deciding.log.head(view.id).position

    def reply(recorded: list[Recorded], after: Deciding) -> Forgot:
        return forgot(after, recorded, items, notes, head if command.dry_run else None)

    return Plan(drafts, reply, dry_run=command.dry_run)


def _only_along(item: Ref, forgettings: list[Withheld]) -> bool:
    """Whether an item goes so far only with the document or message it was drawn from."""
    return not any(item in other.hides for other in forgettings if other.item.kind is item.kind)


def forgot(
    deciding: Deciding,
    recorded: list[Recorded],
    items: Iterable[Hidden],
    notes: Iterable[str],
    rolled_back_to: int | None = None,
) -> Forgot:
    """The reply to a forgetting or restoring; a dry run names no events, since none will be."""
    told = tuple(items)
    dry = rolled_back_to is not None
    masked = {
        span
        for each in recorded
        if isinstance(each.event, e.Forgotten | e.Restored)
        for span in each.event.masks
    }
    return Forgot(
        container=deciding.name,
        group=None if dry else str(Ref(Kind.GROUP, recorded[0].envelope.group)),
        position=deciding.log.head(deciding.home()).position if not dry else rolled_back_to or 0,
        events=()
        if dry
        else tuple(str(Ref(Kind.EVENT, each.envelope.event_id)) for each in recorded),
        items=told,
        count=len(told),
        masked=len(masked),
        dry_run=dry,
        notes=tuple(notes),
    )


# --- what is meant


def _meant(
    command: q.Forget, deciding: Deciding, view: ContainerView, notes: list[str]
) -> Iterator[tuple[Ref, bool]]:
    """Items to forget, and whether each was named by its own id."""
    if command.ids:
        for text in command.ids:
            yield from _by_id(view, text, command.scope)
        return
    if command.query is not None:
        items = _by_query(command, deciding, view, notes)
    else:
        items = _by_filters(command, deciding, view)
    for item in items:
        yield item, False


def _by_id(view: ContainerView, text: str, scope: q.Scope) -> Iterator[tuple[Ref, bool]]:
    ref = t.named(view, text, field="ids")
    if ref.kind in (Kind.EVENT, Kind.GROUP):
        yield from ((item, False) for item in _by_event(view, ref, scope))
        return
    t.check_scope(view, ref, scope, field="ids")
    if ref.kind is Kind.PASSAGE:
        document = t.document_of(view, ref)
        raise WrongKind(
            f"{ref} is {NAMES[ref.kind]}: forget the document that holds it ({document}), or the "
            "facts drawn from it, which blacks out their words",
            field="ids",
            ids=(str(ref), str(document)),
        )
    _check_shown(view, ref)
    yield ref, True


def _by_event(view: ContainerView, ref: Ref, scope: q.Scope) -> list[Ref]:
    """What an event or a group brought in and is not hidden yet."""
    events = t.events_of(view, ref, field="ids")
    brought = [item for recorded in events for item in t.brought(recorded)]
    if not brought:
        what = t.event_named(events[0]) if ref.kind is Kind.EVENT else str(ref)
        raise InvalidInput(
            f"{what} brought nothing in that could be forgotten: to take it back, undo it",
            field="ids",
        )
    items = [item for item in dict.fromkeys(brought) if t.in_scope(view, item, scope)]
    if not items:
        raise NotFound(f"{ref} is not in this container", field="ids", ids=(str(ref),))
    shown = [item for item in items if not _all_hidden(view, item)]
    if not shown:
        _check_shown(view, items[0])
    # sources first: their facts mostly go with them
    return sorted(shown, key=lambda item: item.kind is Kind.FACT)


def _by_filters(command: q.Forget, deciding: Deciding, view: ContainerView) -> list[Ref]:
    """Everything that meets the filters, expired and ended facts too; chains by their newest."""
    filters = command.filters
    if filters is None or filters == q.Filters():
        raise InvalidInput(
            "an empty filter never means everything: name tags, a source, a scope, kinds or times",
            field="filters",
        )
    if "passage" in filters.what:
        raise InvalidInput(
            "passages are forgotten with their document, by the facts drawn from them, or by a "
            "query: use fact, message or document",
            field="filters.what",
        )
    when = present(view, deciding.now_us)
    found = [
        ref
        for ref in select(view, filters, when, superseded=True)
        if t.in_scope(view, ref, command.scope) and _is_newest(view, ref)
    ]
    if not found:
        raise NotFound("nothing meets these filters, so nothing was forgotten", field="filters")
    return sorted(found, key=lambda item: item.kind is Kind.FACT)


def _by_query(
    command: q.Forget, deciding: Deciding, view: ContainerView, notes: list[str]
) -> list[Ref]:
    """What a search for the query shows, near-duplicates included."""
    assert command.query is not None
    filters = command.filters or q.Filters()
    when = present(view, deciding.now_us)
    ranked, _ = find(view, command.query, filters, when, command.limit)
    matches = ranked.matches
    hits = dict.fromkeys(ref for match in matches for ref in (match.ref, *match.also))
    found = [ref for ref in hits if t.in_scope(view, ref, command.scope)]
    if not found:
        raise NotFound("nothing is found by this query, so nothing was forgotten", field="query")
    if len(matches) == command.limit:
        notes.append(f"the limit of {command.limit} hits was reached: more may be found")
    return sorted(_whole(view, found), key=lambda item: item.kind is Kind.FACT)


def _whole(view: ContainerView, found: list[Ref]) -> list[Ref]:
    """The hits, with a document in place of its passages when all of them are among the hits."""
    hits = set(found)
    whole: dict[Ref, None] = {}
    for ref in found:
        row = view.row(ref) if ref.kind is Kind.PASSAGE else None
        if row is None:
            whole[ref] = None
            continue
        passages = (Ref(Kind.PASSAGE, r.id) for r in view.passages_of(row.state.document))
        left = [p for p in passages if p not in hits and view.hidden(p) is None]
        whole[ref if left else Ref(Kind.DOCUMENT, row.state.document)] = None
    return list(whole)


def _is_newest(view: ContainerView, ref: Ref) -> bool:
    row = view.fact(ref.id) if ref.kind is Kind.FACT else None
    return row is None or row.state.ended is None


# --- what is hidden already


def _members(view: ContainerView, ref: Ref) -> list[Ref]:
    return lineage(view, FactId(ref.id)) if ref.kind is Kind.FACT else [ref]


def _all_hidden(view: ContainerView, ref: Ref) -> bool:
    """Hidden, for a fact with all versions that there are now."""
    members = [member for member in _members(view, ref) if view.row(member) is not None] or [ref]
    return all(view.hidden(member) is not None for member in members)


def _check_shown(view: ContainerView, ref: Ref) -> None:
    """Raises Conflict for what is forgotten or erased, saying when."""
    hidden = view.hidden(ref)
    if hidden is None or not _all_hidden(view, ref):
        return
    if hidden.erased:
        raise Conflict(f"{ref} was erased: nothing of it is left", field="ids", ids=(str(ref),))
    forgetting = t.event_of(view, hidden.by[0])
    assert forgetting is not None, "a hidden item names the event that hides it"
    event = Ref(Kind.EVENT, hidden.by[0])
    raise Conflict(
        f"{ref} is forgotten already, since {show_us(forgetting.envelope.recorded_at)} ({event})",
        field="ids",
        ids=(str(ref), str(event)),
    )


# --- events and reply


def _drafts(
    command: q.Forget, deciding: Deciding, view: ContainerView, forgettings: list[Withheld]
) -> list[Draft]:
    """One event each; query, reason and scope are bodies of the first, to which all refer."""
    bodies = BodyWriter(deciding.ids)
    query, reason = bodies.text(command.query), bodies.text(command.reason)
    scope = bodies.value(t.scope_parts(command.scope))
    first = deciding.log.head(view.id).position + 1
    drafts: list[Draft] = []
    for item, hides, masks in forgettings:
        event = e.Forgotten(item, hides, masks, query, reason)
        drafts.append(Draft(event, () if drafts else bodies.sealed, scope=scope))
        query, reason, scope = (_seen(body, first) for body in (query, reason, scope))
    return drafts


def _seen(body: Body | None, position: int) -> Body | None:
    return None if body is None else body.seen_from(position)


def _newly_hidden(view: ContainerView, forgettings: list[Withheld]) -> list[Hidden]:
    """What shows now (in the present or, for an item named, in the past) and will not any more."""
    hides = dict.fromkeys(
        ref
        for forgetting in forgettings
        for ref in forgetting.hides
        if view.row(ref) is not None or ref == forgetting.item
    )
    return [t.told(view, ref) for ref in hides if view.hidden(ref) is None]


def _note_chains(
    view: ContainerView, command: q.Forget, forgettings: list[Withheld], notes: list[str]
) -> None:
    """Say where more or less happened than an id alone suggests."""
    for item, hides, _ in forgettings if command.ids else ():
        if item.kind is Kind.FACT and len(hides) > 1:
            current = view.current(FactId(item.id))
            newest = "" if current is None else f", the current one being {_fact(current.id)}"
            notes.append(f"{item} went with all {len(hides)} versions of its fact{newest}")
        elif item.kind is not Kind.FACT:
            kept = _reworded(view, hides)
            if kept:
                notes.append(
                    f"{t.listed(kept)}: reworded by a person since, so these versions stay"
                )
        if view.row(item) is None:
            notes.append(f"{item} was taken back before: now it is hidden in the past too")


def _note_twins(
    view: ContainerView,
    command: q.Forget,
    deciding: Deciding,
    forgettings: list[Withheld],
    notes: list[str],
) -> None:
    """Say what else holds the same words, which a search shows as one hit with what was named."""
    gone = {ref for forgetting in forgettings for ref in (forgetting.item, *forgetting.hides)}
    when = present(view, deciding.now_us)
    for item, _, _ in forgettings[:_TWINS_LOOKED_FOR] if command.ids else ():
        row = view.fact(item.id) if item.kind is Kind.FACT else view.message(item.id)
        text = None if row is None or item.kind is Kind.DOCUMENT else view.text(row.state.text)
        if not text:
            continue
        ranked, _ = find(view, text[:_TWIN_CHARS], q.Filters(), when, _TWINS_LOOKED_FOR)
        alike = next((m for m in ranked.matches if item in (m.ref, *m.also)), None)
        twins = [ref for ref in (alike.ref, *alike.also) if ref not in gone] if alike else []
        if twins:
            notes.append(
                f"the same is said by {t.listed([str(ref) for ref in twins])}: not forgotten"
            )


def _reworded(view: ContainerView, hides: Iterable[Ref]) -> list[str]:
    """Later versions of hidden facts that are not hidden with them."""
    gone = set(hides)
    later = (view.current(FactId(ref.id)) for ref in hides if ref.kind is Kind.FACT)
    kept = {_fact(row.id) for row in later if row is not None}
    return sorted(str(ref) for ref in kept if ref not in gone and view.hidden(ref) is None)


def _fact(raw: bytes) -> Ref:
    return Ref(Kind.FACT, raw)
