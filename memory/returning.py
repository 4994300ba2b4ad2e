"""What an undoing or a restoring unsettles: facts that came back among others that were judged
without them, and facts that were judged by others which are gone.

An ending names the whole chain that it ends. When the middle of that chain is gone, nobody has said
yet whether the last of it ends the first as well: they are compared as if it had never been.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.enums import Outcome
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.candidates import PAIRS_MAX
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
    effectivity = view.effectivity()
    for other in _flipped(view, recorded):
        if isinstance(other.event, e.Forgotten):
            yield from _facts(other.event.hides)
        if effectivity.holds(other):
            yield from _facts(other.event.creates())


def _flipped(view: ContainerView, recorded: Recorded) -> Iterator[Recorded]:
    """What an undoing names, with all that goes and comes back with it."""
    if not isinstance(recorded.event, e.Undone):
        return
    waiting: list[EventId] = list(recorded.event.events)
    seen: set[EventId] = set()
    while waiting:
        event_id = waiting.pop()
        other = None if event_id in seen else event_of(view, event_id)
        seen.add(event_id)
        if other is None:
            continue
        yield other
        if isinstance(other.event, e.Undone):
            waiting.extend(other.event.events)
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


_BOUND = frozenset((Outcome.DUPLICATE, Outcome.UPDATES, Outcome.CORRECTS, Outcome.EXTENDS))
_AGAIN = frozenset((Outcome.DUPLICATE,))


def left_behind(view: ContainerView, recorded: Recorded) -> list[FactId]:
    """Facts whose verdict an undoing took a pair from that told more than that both hold, or that
    may have kept another from being compared; and those that say again what had ended by something
    that is gone."""
    found: dict[FactId, None] = {}
    effectivity = view.effectivity()
    for other in _flipped(view, recorded):
        if effectivity.holds(other):
            continue
        for fact in _facts(other.event.creates()):
            if view.fact(fact) is None:
                found |= dict.fromkeys(_bound_to(view, fact, _BOUND, PAIRS_MAX))
        for fact in other.event.ends if isinstance(other.event, e.FactSuperseded) else ():
            if view.fact(fact) is not None:
                found |= dict.fromkeys(_bound_to(view, fact, _AGAIN))
    return list(found)


def _bound_to(
    view: ContainerView, old: FactId, outcomes: frozenset[Outcome], full: int | None = None
) -> Iterator[FactId]:
    """Later facts whose verdict says one of the outcomes of an older one, or has `full` pairs."""
    for recorded in view.about(Ref(Kind.FACT, old)):
        if not isinstance(recorded.event, e.FactsJudged) or recorded.event.fact == old:
            continue
        later = recorded.event.fact
        verdict = view.verdict(later)
        if verdict is None or verdict.state.event != recorded.envelope.event_id:
            continue  # Judged anew since then, or not judged any more.
        told = {pair.old: verdict.state.outcome(pair) for pair in verdict.state.pairs}
        if told[old] in outcomes or (full is not None and len(told) >= full):
            if is_shown(view, later):
                yield later
