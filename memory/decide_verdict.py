"""Deciding a verdict: it is recorded, and what follows from it in the same group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.errors import Conflict, NotFound, Stale
from rewound.eventlog.ids import EventId, FactId, Kind, Ref, show
from rewound.eventlog.log import Draft
from rewound.llm.policy import Ruling
from rewound.memory.claims import is_shown
from rewound.memory.deciding import Deciding, Judge, Plan, Ruled
from rewound.memory.settling import follow, stated_by
from rewound.memory.targets import event_of

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

SINCE_MAX: Final = 1_000
"""Events that may have been recorded since facts were compared: these are looked through."""


def decide_verdict(found: Judge, deciding: Deciding) -> Plan:
    """The verdict as an event, and then what it brings about.

    Raises NotFound or Conflict when the fact is gone, hidden or judged by now, Stale when others
    may have come back since it was compared. Older facts that are gone or hidden by now are left
    out.
    """
    view = deciding.views.container(deciding.home())
    ref = Ref(Kind.FACT, found.fact)
    stating = stated_by(view, found.fact)
    if stating is None or view.fact(found.fact) is None:
        raise NotFound(f"{ref} is no longer there: nothing was judged", ids=(str(ref),))
    if not is_shown(view, found.fact):
        raise Conflict(f"{ref} was forgotten meanwhile: nothing was judged", ids=(str(ref),))
    if not found.again and not view.is_unjudged(found.fact):
        raise Conflict(f"{ref} was judged meanwhile", ids=(str(ref),))
    _check_causes(view, found)
    if found.held is not None:
        _check_none_came_back(view, found.held)
    pairs = [each for each in found.pairs if _is_there(view, each.old)]
    pairs += _kept(view, found) if found.again else []
    bodies = BodyWriter(deciding.ids)
    event = e.FactsJudged(
        found.fact,
        tuple(
            e.Pair(each.old, each.ruling.outcome, each.ruling.probability, each.ruling.leaning)
            for each in pairs
        ),
        found.policy,
        bodies.piece(found.judge),
        bodies.value([each.evidence for each in pairs]),
    )
    event_id = found.event_id or EventId(deciding.ids.new())
    draft = Draft(event, bodies.sealed, (stating, *found.causes), event_id=event_id)

    return Plan([draft], aftermath=follow((found.fact,), event_id))


def _check_causes(view: ContainerView, found: Judge) -> None:
    effectivity = view.effectivity()
    for cause in found.causes:
        recorded = event_of(view, cause)
        if recorded is None or not effectivity.holds(recorded):
            shown = show(Kind.EVENT, cause)
            raise Conflict(f"the cause {shown} was undone meanwhile", ids=(shown,))


def _check_none_came_back(view: ContainerView, held: int) -> None:
    """What was not there when a verdict was thought of is not in it, and what an earlier one says
    of that would be taken back with the earlier one."""
    for position in range(held + 1, view.position + 1):
        recorded = view.event(position) if position <= held + SINCE_MAX else None
        if recorded is None or isinstance(recorded.event, e.Undone | e.Restored):
            raise Stale("something may have come back meanwhile: compare again")


def _kept(view: ContainerView, found: Judge) -> list[Ruled]:
    """Pairs of the verdict before that are not compared again: they stay as they were found."""
    row = view.verdict(found.fact)
    if row is None:
        return []
    evidence = view.value(row.state.evidence) or [{} for _ in row.state.pairs]
    compared = {each.old for each in found.pairs}
    return [
        Ruled(pair.old, Ruling(pair.outcome, pair.probability, pair.leaning), measured)
        for pair, measured in zip(row.state.pairs, evidence, strict=True)
        if pair.old not in compared and _is_there(view, pair.old)
    ]


def _is_there(view: ContainerView, fact: FactId) -> bool:
    return view.fact(fact) is not None and is_shown(view, fact)
