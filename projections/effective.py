"""Which events hold: an event does unless it, or anything that caused it, has been undone."""

from collections.abc import Callable, Iterable

from rewound.eventlog.events import Undone
from rewound.eventlog.ids import ContainerId, EventId, Kind
from rewound.eventlog.log import Reader, Recorded

UndosOf = Callable[[EventId], Iterable[int]]
"""Positions of the undoings that name an event."""


class Effectivity:
    """What holds in a container as of a position. Remembers what it found: make a new one per use.

    The recursion ends, because a cause lies before its effect and an undoing names only events
    that lie before it.
    """

    def __init__(self, log: Reader, container: ContainerId, undos_of: UndosOf, until: int) -> None:
        self._log = log
        self._container = container
        self._undos_of = undos_of
        self._until = until
        self._known: dict[EventId, bool] = {}

    def holds(self, recorded: Recorded) -> bool:
        event_id = recorded.envelope.event_id
        known = self._known.get(event_id)
        if known is None:
            known = self._holds(recorded)
            self._known[event_id] = known
        return known

    def undoing(self, event_id: EventId) -> Recorded | None:
        """The undoing that holds and names this very event, if any."""
        for position in self._undos_of(event_id):
            if position <= self._until:
                undone = self.read(position)
                if self.holds(undone):
                    return undone
        return None

    def dropped_by(self, recorded: Recorded) -> Recorded | None:
        """The undoing because of which an event does not hold, its own or that of a cause."""
        own = self.undoing(recorded.envelope.event_id)
        if own is not None:
            return own
        for cause in recorded.envelope.causes:
            found = self._cause(cause)
            if found is not None and not self.holds(found):
                return self.dropped_by(found)
        return None

    def read(self, position: int) -> Recorded:
        recorded = self._log.read(self._container, position)
        assert recorded is not None, f"position {position} is not in the log"
        return recorded

    def _cause(self, cause: EventId) -> Recorded | None:
        found = self._log.find(cause)
        return self.read(found[1]) if found and found[0] == self._container else None

    def _holds(self, recorded: Recorded) -> bool:
        if self.undoing(recorded.envelope.event_id) is not None:
            return False
        for cause in recorded.envelope.causes:
            found = self._cause(cause)
            if found is not None and not self.holds(found):
                return False
        return True


def caused_by(
    log: Reader, container: ContainerId, event_id: EventId, until: int
) -> Iterable[Recorded]:
    """Events that name this one among their causes."""
    for position in log.tagged(container, bytes((Kind.EVENT,)) + event_id):
        if position <= until:
            recorded = log.read(container, position)
            if recorded is not None and event_id in recorded.envelope.causes:
                yield recorded


def flipped(
    log: Reader, container: ContainerId, undone: Recorded, before: Effectivity, after: Effectivity
) -> list[Recorded]:
    """Events whose standing an undoing changes: those it drops, or gives back (an undone undo)."""
    assert isinstance(undone.event, Undone)
    waiting = list(undone.event.events)
    seen: set[EventId] = set()
    found: dict[int, Recorded] = {}
    while waiting:
        event_id = waiting.pop()
        if event_id in seen:
            continue
        seen.add(event_id)
        place = log.find(event_id)
        if place is None or place[0] != container:
            continue
        recorded = after.read(place[1])
        if before.holds(recorded) == after.holds(recorded):
            continue  # what it caused stands as it stood, unless another path reaches it
        found[place[1]] = recorded
        if isinstance(recorded.event, Undone):
            waiting.extend(recorded.event.events)
        effects = caused_by(log, container, event_id, undone.position)
        waiting.extend(effect.envelope.event_id for effect in effects)
    return [found[position] for position in sorted(found)]
