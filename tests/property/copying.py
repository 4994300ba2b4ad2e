"""Law 2's other side: a log copied event by event up to a position, then today's overlay.

Uses only the interface of the log. Ids, times, salts and positions of the copied events are the
same. After them come later erasures, and forgettings and restorings that make the overlay what it
is today, without touching a row.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from rewound.eventlog.bodies import Place, Sealed
from rewound.eventlog.events import ContentErased, Event, Forgotten, Restored, Span
from rewound.eventlog.ids import ContainerId, EventId, Ref
from rewound.eventlog.log import Draft, Log, Reader, Recorded
from tests.oracle.fold import lifts
from tests.oracle.ledger import Ledger
from tests.property.words import own_bodies

GONE = Sealed(bytes(16), b"")


class SetClock(Protocol):
    at: int


def copy_until(
    source: Reader, target: Log, clock: SetClock, container: ContainerId, position: int
) -> None:
    """Copy one container's events <= position, and of the later ones the overlay."""
    events = list(source.events(container))
    for recorded in events[:position]:
        clock.at = recorded.envelope.recorded_at
        _append(source, target, recorded)
    # the clock stands: now stays the moment of the last copied event, but for a µs each
    for event in overlay_after(events, position):
        with target.writing() as writer:
            writer.append(container, [Draft(event)])


def overlay_after(events: Sequence[Recorded], position: int) -> list[Event]:
    """What brings the overlay of that position to what it is today; spans of later texts left out.

    Not the later events themselves: an undo may take back a forgetting and a fact at once.
    """
    then, today = forgettings(events[:position]), forgettings(events)
    overlay: list[Event] = []
    for event_id in {**then, **today}:
        old, new = then.get(event_id, NOTHING), today.get(event_id, NOTHING)
        item = (old.item or new.item)[0]
        shows = tuple(ref for ref in old.hides if ref not in new.hides)
        clears = tuple(span for span in old.masks if span not in new.masks)
        if shows or clears:
            overlay.append(Restored(item, shows, (event_id,), clears))
        hides = tuple(ref for ref in new.hides if ref not in old.hides)
        fresh = (span for span in new.masks if span not in old.masks)
        masks = tuple(span for span in fresh if span.place.at <= position)
        if hides or masks:
            overlay.append(Forgotten(item, hides, masks))
    for r in events[position:]:
        if isinstance(r.event, ContentErased):
            places = tuple(place for place in r.event.places if place.at <= position)
            overlay.append(msgspec.structs.replace(r.event, places=places))
    return overlay


class Forgetting(NamedTuple):
    """What a forgetting still hides and masks. `item` has one entry, or none for no forgetting."""

    item: tuple[Ref, ...]
    hides: tuple[Ref, ...]
    masks: tuple[Span, ...]


NOTHING = Forgetting((), (), ())


def forgettings(events: Sequence[Recorded]) -> dict[EventId, Forgetting]:
    """Those that hold, less what was restored."""
    ledger = Ledger(events, lambda _: None)
    found: dict[EventId, Forgetting] = {}
    for r in ledger.held:
        if isinstance(r.event, Forgotten):
            shown = {ref for restored in lifts(ledger, r) for ref in restored.shows}
            lifted = {span for restored in lifts(ledger, r) for span in restored.masks}
            hides = tuple(ref for ref in r.event.hides if ref not in shown)
            masks = tuple(span for span in r.event.masks if span not in lifted)
            found[r.envelope.event_id] = Forgetting((r.event.item,), hides, masks)
    return found


def _append(source: Reader, target: Log, recorded: Recorded) -> None:
    envelope = recorded.envelope
    refs = own_bodies(recorded)
    slots = range(refs[-1].slot + 1 if refs else 0)
    sealed = [source.sealed(envelope.container, Place(envelope.position, n)) for n in slots]
    bodies = [kept or GONE for kept in sealed]
    draft = Draft(recorded.event, bodies, envelope.causes, envelope.scope, envelope.event_id)
    group = None if bytes(envelope.group) == bytes(envelope.event_id) else envelope.group
    with target.writing() as writer:
        copied = writer.append(envelope.container, [draft], actor=envelope.actor, group=group)
        gone = [Place(copied[0].position, n) for n in slots if sealed[n] is None]
        if gone:
            writer.erase(envelope.container, gone, ())
