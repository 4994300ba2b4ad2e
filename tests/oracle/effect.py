"""Which events hold: the definition of semantics, recomputed from all events each time.

effective(E) = every cause of E is effective, and no effective Undone names E.
"""

from collections.abc import Callable, Sequence
from typing import Any

from rewound.eventlog.bodies import Body, Place, read_text, read_value
from rewound.eventlog.events import Undone
from rewound.eventlog.ids import EventId
from rewound.eventlog.log import Recorded

BodyOf = Callable[[Place], bytes | None]


def effective_ids(events: Sequence[Recorded]) -> set[EventId]:
    """Ids of the events that hold, seen over exactly these events."""
    by_id = {recorded.envelope.event_id: recorded for recorded in events}
    undoers: dict[EventId, list[EventId]] = {}
    for recorded in events:
        if isinstance(recorded.event, Undone):
            for target in recorded.event.events:
                undoers.setdefault(target, []).append(recorded.envelope.event_id)
    known: dict[EventId, bool] = {}

    def holds(event_id: EventId) -> bool:
        if event_id not in known:
            causes = by_id[event_id].envelope.causes
            known[event_id] = all(holds(cause) for cause in causes) and not any(
                holds(undoer) for undoer in undoers.get(event_id, ())
            )
        return known[event_id]

    return {event_id for event_id in by_id if holds(event_id)}


def without(events: Sequence[Recorded], gone: set[EventId]) -> list[Recorded]:
    """The events less `gone` and all that they caused, as if they had never been appended."""
    left: list[Recorded] = []
    dropped = set(gone)
    for recorded in events:
        envelope = recorded.envelope
        if envelope.event_id in dropped or not dropped.isdisjoint(envelope.causes):
            dropped.add(envelope.event_id)
        else:
            left.append(recorded)
    return left


class Texts:
    """Bodies by reference: texts, values and the sets of tags; None once erased."""

    def __init__(self, body: BodyOf) -> None:
        self._body = body

    def raw(self, ref: Body | None, position: int) -> bytes | None:
        return None if ref is None else self._body(ref.place(position))

    def text(self, ref: Body | None, position: int) -> str | None:
        content = self.raw(ref, position)
        return None if content is None else read_text(content)

    def value(self, ref: Body | None, position: int) -> Any:
        content = self.raw(ref, position)
        return None if content is None else read_value(content)

    def tags(self, ref: Body | None, position: int) -> set[str]:
        return set(self.value(ref, position) or ())
