"""Law 2's other side: a log copied event by event up to a position, then today's overlay.

Uses only the interface of the log. Ids, times, salts and positions of the copied events are the
same; after them come the forgettings, restorings and erasures of later positions, with the undos
that touch them, so that what is hidden is what is hidden today.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from rewound.eventlog.bodies import Place, Sealed
from rewound.eventlog.events import ContentErased, Event, Forgotten, Restored, Undone
from rewound.eventlog.ids import ContainerId, EventId
from rewound.eventlog.log import Draft, Log, Reader, Recorded
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
    for recorded in overlay_after(events, position):
        _append(source, target, recorded)


def overlay_after(events: Sequence[Recorded], position: int) -> list[Recorded]:
    """Later events that hide or show, and the undos of such: nothing that changes a row."""
    overlay: set[EventId] = set()
    picked: list[Recorded] = []
    for r in events:
        event = _overlaying(r.event, overlay, position)
        if event is not None:
            overlay.add(r.envelope.event_id)
            if r.position > position:
                picked.append(Recorded(r.envelope, event))
    return picked


def _overlaying(event: Event, overlay: set[EventId], position: int) -> Event | None:
    """What of an event belongs to the overlay; spans of later texts name nothing in the copy."""
    replace = msgspec.structs.replace
    match event:
        case Forgotten() | Restored():
            kept = tuple(span for span in event.masks if span.place.at <= position)
            return replace(event, masks=kept)
        case ContentErased():
            places = tuple(place for place in event.places if place.at <= position)
            return replace(event, places=places)
        case Undone():
            touched = tuple(target for target in event.events if target in overlay)
            return replace(event, events=touched) if touched else None
    return None


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
