"""Forgetting: which items a command means, and what is hidden and blacked out for each.

One Forgotten event for each item meant, so that each can be restored or its forgetting undone
alone; the items that go with it are named in the event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter, keyed_digest
from rewound.eventlog.ids import FactId, Kind, Ref
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.choosing import Chosen, chosen, stale
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.find import find
from rewound.memory.moments import present
from rewound.memory.replies import Forgot, Hidden
from rewound.memory.settling import stand_alone
from rewound.memory.withholding import Withheld, withheld

_TWINS_LOOKED_FOR = 10
_TWIN_CHARS = 2_000

_encode = msgspec.msgpack.Encoder(order="deterministic").encode

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


@decides(q.Forget)
def forget(command: q.Forget, deciding: Deciding) -> Plan:
    """Hide what the command means.

    Raises NotFound, WrongKind or Conflict (hidden already) for any id, and Stale for a batch that
    no longer stands for what would go; then nothing is hidden.
    """
    view = deciding.views.container(deciding.home())
    notes: list[str] = []
    meant = chosen(command, deciding, view, notes)
    forgettings = _forgettings(view, meant)
    _note_chains(view, command, forgettings, notes)
    _note_twins(view, command, deciding, forgettings, notes)
    scores = {each.item: each.score for each in meant}
    items = [
        msgspec.structs.replace(t.told(view, ref), score=scores.get(ref))
        for ref in _newly_hidden(view, forgettings)
    ]
    items.sort(key=lambda item: -(item.score or 0.0))  # found ones best first, then what goes along
    batch = None
    if command.similar is not None:
        batch = _batch(command, view, forgettings)
        if command.batch not in (None, batch):
            raise stale()
    drafts = _drafts(command, deciding, view, forgettings)
    dry_run = q.only_tells(command)
    head = deciding.log.head(view.id).position

    def reply(recorded: list[Recorded], after: Deciding) -> Forgot:
        told = forgot(after, recorded, items, notes, head if dry_run else None)
        return msgspec.structs.replace(told, batch=batch)

    return Plan(drafts, reply, aftermath=stand_alone, dry_run=dry_run)


def _forgettings(view: ContainerView, meant: Iterable[Chosen]) -> list[Withheld]:
    """One forgetting for each item that does not go with another one."""
    hidden: set[Ref] = set()
    forgettings: list[Withheld] = []
    for item, named, _ in meant:
        if item in hidden and not (named and _only_along(item, forgettings)):
            continue
        forgetting = withheld(view, item, hidden)
        forgettings.append(forgetting)
        hidden.update(forgetting.hides)
    return forgettings


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
    named = [each for each in recorded if isinstance(each.event, e.Forgotten | e.Restored)]
    masked = {
        span
        for each in named
        if isinstance(each.event, e.Forgotten | e.Restored)
        for span in each.event.masks
    }
    return Forgot(
        container=deciding.name,
        group=None if dry else str(Ref(Kind.GROUP, recorded[0].envelope.group)),
        position=deciding.log.head(deciding.home()).position if not dry else rolled_back_to or 0,
        events=() if dry else tuple(str(Ref(Kind.EVENT, each.envelope.event_id)) for each in named),
        items=told,
        count=len(told),
        masked=len(masked),
        dry_run=dry,
        notes=tuple(notes),
    )


# --- events and reply


def _drafts(
    command: q.Forget, deciding: Deciding, view: ContainerView, forgettings: list[Withheld]
) -> list[Draft]:
    """One event each; query, reason and scope are bodies of the first, to which all refer. A text
    given is the items' own, and is not kept twice."""
    bodies = BodyWriter(deciding.ids)
    query = bodies.text(command.query if command.similar is None else command.similar)
    reason = bodies.text(command.reason)
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


def _newly_hidden(view: ContainerView, forgettings: list[Withheld]) -> list[Ref]:
    """What shows now (in the present or, for an item named, in the past) and will not any more."""
    hides = dict.fromkeys(
        ref
        for forgetting in forgettings
        for ref in forgetting.hides
        if view.row(ref) is not None or ref == forgetting.item
    )
    return [ref for ref in hides if view.hidden(ref) is None]


def _batch(command: q.Forget, view: ContainerView, forgettings: list[Withheld]) -> str:
    """What stands for the request and all that would go, words included; under the container's
    key, so that it tells nothing of them."""
    asked = msgspec.structs.replace(
        command, batch=None, dry_run=None, reason=None, key=None, unless_after=None
    )
    going = [
        (str(ref), t.text_of(view, ref)) for forgetting in forgettings for ref in forgetting.hides
    ]
    masks = [span for forgetting in forgettings for span in forgetting.masks]
    digest = keyed_digest(
        view.log.key(view.id), b"batch", *(_encode(part) for part in (asked, going, masks))
    )
    return digest.hex()


def _note_chains(
    view: ContainerView, command: q.Forget, forgettings: list[Withheld], notes: list[str]
) -> None:
    """Say where more or less happened than an id alone suggests."""
    for item, hides, _ in forgettings if command.ids or command.text is not None else ():
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
    named = command.ids or command.text is not None
    for item, _, _ in forgettings[:_TWINS_LOOKED_FOR] if named else ():
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
