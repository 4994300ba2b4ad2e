"""What would follow from an undo: which events would drop out or hold again, what stands on them.

Worked out before anything is written, so that an undo can be refused with the names of those in
its way. The fold of the undo then finds the same by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.targets import event_of

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


class Flipped(NamedTuple):
    """Events whose standing an undo changes, in the order recorded."""

    dropped: list[Recorded]
    returned: list[Recorded]


class Unravelled(NamedTuple):
    """`dependents` are to be undone too; `flipped` is what changes with them."""

    dependents: list[Recorded]
    flipped: Flipped


def unravel(view: ContainerView, names: Collection[EventId]) -> Unravelled:
    """What an undo of these events comes to, with all later commands that stand on them."""
    dependents: dict[EventId, Recorded] = {}
    while True:
        imagined = _Imagined(view, {*names, *dependents})
        flipped = _flipped(view, imagined, [*names, *dependents])
        further = {r.envelope.event_id: r for r in _dependents(view, imagined, flipped)}
        if not further.keys() - dependents.keys():
            ordered = sorted(dependents.values(), key=lambda recorded: recorded.position)
            return Unravelled(ordered, flipped)
        dependents |= further


class _Imagined:
    """Which events would hold if those named were undone."""

    def __init__(self, view: ContainerView, names: Collection[EventId]) -> None:
        self._view = view
        self._known: dict[EventId, bool] = dict.fromkeys(names, False)

    def holds(self, recorded: Recorded) -> bool:
        event_id = recorded.envelope.event_id
        known = self._known.get(event_id)
        if known is None:
            known = self._caused(recorded) and not any(
                self.holds(undoing) for undoing in _undoings(self._view, event_id)
            )
            self._known[event_id] = known
        return known

    def _caused(self, recorded: Recorded) -> bool:
        causes = (event_of(self._view, cause) for cause in recorded.envelope.causes)
        return all(cause is None or self.holds(cause) for cause in causes)


def _undoings(view: ContainerView, event_id: EventId) -> Iterator[Recorded]:
    for recorded in view.about(Ref(Kind.EVENT, event_id)):
        if isinstance(recorded.event, e.Undone) and event_id in recorded.event.events:
            yield recorded


def _flipped(view: ContainerView, imagined: _Imagined, names: list[EventId]) -> Flipped:
    """Walk from the events named to what they caused and, from an undo, to what it had undone."""
    held = view.effectivity()
    flipped: dict[int, Recorded] = {}
    seen: set[EventId] = set()
    waiting = list(names)
    while waiting:
        event_id = waiting.pop()
        recorded = None if event_id in seen else event_of(view, event_id)
        seen.add(event_id)
        if recorded is None or held.holds(recorded) == imagined.holds(recorded):
            continue
        flipped[recorded.position] = recorded
        if isinstance(recorded.event, e.Undone):
            waiting.extend(recorded.event.events)
        waiting.extend(
            effect.envelope.event_id
            for effect in view.about(Ref(Kind.EVENT, event_id))
            if event_id in effect.envelope.causes
        )
    ordered = [flipped[position] for position in sorted(flipped)]
    return Flipped(
        [recorded for recorded in ordered if not imagined.holds(recorded)],
        [recorded for recorded in ordered if imagined.holds(recorded)],
    )


# --- dependents


def _dependents(view: ContainerView, imagined: _Imagined, flipped: Flipped) -> Iterator[Recorded]:
    """Commands (events without causes) that would be left standing on nothing."""
    returned = {recorded.position for recorded in flipped.returned}
    for ref in _gone(view, imagined, flipped.dropped):
        for recorded in view.about(ref):
            if recorded.envelope.causes or recorded.position in returned:
                continue
            if ref in _stands_on(recorded.event) and imagined.holds(recorded):
                yield recorded
    yield from _rivals(view, imagined, flipped)


def _gone(view: ContainerView, imagined: _Imagined, dropped: list[Recorded]) -> Iterator[Ref]:
    """The dropped events, and the items that none supports any more."""
    for recorded in dropped:
        yield Ref(Kind.EVENT, recorded.envelope.event_id)
    for ref in dict.fromkeys(ref for recorded in dropped for ref in recorded.event.creates()):
        supports = (other for other in view.about(ref) if ref in other.event.creates())
        if not any(imagined.holds(other) for other in supports):
            yield ref


def _stands_on(event: e.Event) -> tuple[Ref, ...]:
    """What an event makes no sense without; other items that it names may well be gone.

    A forgetting never goes with what it hides: that is still there for reads of the past, and
    would show again. An edit is about the version that was edited.
    """
    match event:
        case e.Forgotten():
            return ()
        case e.Restored():
            return tuple(Ref(Kind.EVENT, lifted) for lifted in event.lifts)
        case e.FactEdited():
            return tuple(Ref(Kind.FACT, fact) for fact in event.ends[:1])
        case e.SeenAgain() | e.ContentErased() | e.Undone():
            return ()
    return tuple(ref for ref in event.refers() if ref.kind is not Kind.PASSAGE)


def _rivals(view: ContainerView, imagined: _Imagined, flipped: Flipped) -> Iterator[Recorded]:
    """Edits made since an undo, of a fact whose undone edit would hold again beside them."""
    for recorded in flipped.returned:
        if not isinstance(recorded.event, e.FactEdited) or not recorded.event.ends:
            continue
        edited = recorded.event.ends[0]
        for other in view.about(Ref(Kind.FACT, edited)):
            rival = other.event
            if (
                isinstance(rival, e.FactEdited)
                and edited in rival.ends
                and recorded.event.fact not in rival.ends
                and other.position > recorded.position
                and not other.envelope.causes
                and imagined.holds(other)
                and other not in flipped.returned
            ):
                yield other
