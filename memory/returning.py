"""Facts that came back by an undoing or a restoring, among others that were judged without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.claims import is_shown
from rewound.memory.targets import event_of

if TYPE_CHECKING:
    from rewound.memory.weighing import Scales
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row


def came_back(view: ContainerView, recorded: Recorded) -> list[FactId]:
    """Facts that are there and show since an undoing or a restoring, or did before it too."""
    found = dict.fromkeys(_named(view, recorded))
    return [fact for fact in found if view.fact(fact) is not None and is_shown(view, fact)]


def _named(view: ContainerView, recorded: Recorded) -> Iterator[FactId]:
    if isinstance(recorded.event, e.Restored):
        yield from _facts(recorded.event.shows)
    if not isinstance(recorded.event, e.Undone):
        return
    effectivity = view.effectivity()
    waiting: list[EventId] = list(recorded.event.events)
    seen: set[EventId] = set()
    while waiting:
        event_id = waiting.pop()
        other = None if event_id in seen else event_of(view, event_id)
        seen.add(event_id)
        if other is None:
            continue
        if isinstance(other.event, e.Forgotten):
            yield from _facts(other.event.hides)
        if isinstance(other.event, e.Undone):
            waiting.extend(other.event.events)
        if effectivity.holds(other):
            yield from _facts(other.event.creates())
            effects = view.about(Ref(Kind.EVENT, event_id))
            waiting.extend(r.envelope.event_id for r in effects if event_id in r.envelope.causes)


def _facts(refs: tuple[Ref, ...]) -> Iterator[FactId]:
    return (FactId(ref.id) for ref in refs if ref.kind is Kind.FACT)


def judged_without(view: ContainerView, scales: Scales, fact: FactId) -> list[Row[FactRow]]:
    """Later facts about the like that were judged while a fact was not there."""
    row = view.fact(fact)
    found: list[Row[FactRow]] = []
    for later in () if row is None else scales.later(row):
        verdict = view.verdict(later.id)
        if verdict is not None and all(pair.old != fact for pair in verdict.state.pairs):
            found.append(later)
    return found
