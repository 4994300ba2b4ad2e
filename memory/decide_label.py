"""Labelling: a person's word on judged pairs, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.enums import Outcome
from rewound.eventlog.errors import InvalidInput, NotFound
from rewound.eventlog.ids import EventId, FactId, Kind, Ref, parse
from rewound.eventlog.log import Draft, Recorded
from rewound.memory import requests as q
from rewound.memory import targets as t
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.following import changes
from rewound.memory.replies import Labelled, LabelView
from rewound.memory.settling import follow
from rewound.projections.fold import Touched

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView
    from rewound.projections.verdicts import VerdictRow


class _Given(NamedTuple):
    judged: EventId
    fact: FactId
    old: FactId
    was: Outcome
    outcome: Outcome
    event_id: EventId


@decides(q.Label)
def label(command: q.Label, deciding: Deciding) -> Plan:
    """What a person says of pairs holds from now on.

    Raises NotFound for a pair that was not judged, InvalidInput for a label that says nothing.
    """
    view = deciding.views.container(deciding.home())
    given = [_given(view, deciding, command, new) for new in command.labels]
    scope, sealed = t.scope_body(deciding.ids, command.scope)
    first = deciding.log.head(view.id).position + 1
    seen = None if scope is None else scope.seen_from(first)
    drafts = [
        Draft(
            e.LabelGiven(each.judged, each.fact, each.old, each.outcome),
            () if number else sealed,
            scope=seen if number else scope,
            event_id=each.event_id,
        )
        for number, each in enumerate(given)
    ]

    def reply(recorded: list[Recorded], after: Deciding) -> Labelled:
        touched: list[Touched] = [row for folded in after.folded for row in folded.touched]
        now = after.views.container(view.id)
        return Labelled(
            container=after.name,
            group=str(Ref(Kind.GROUP, recorded[0].envelope.group)),
            position=recorded[-1].position,
            labels=tuple(_view(each) for each in given),
            changes=changes(now, [row for row in touched if row.view == "facts"], frozenset()),
        )

    plan = _one_by_one(list(zip(given, drafts, strict=True)))
    assert plan is not None, "a command has labels"
    return replace(plan, reply=reply)


def _one_by_one(left: list[tuple[_Given, Draft]]) -> Plan | None:
    """Each label with what follows from it, before the next: each can be taken back alone."""
    if not left:
        return None
    (given, draft), rest = left[0], left[1:]

    def then(recorded: list[Recorded], after: Deciding) -> Plan | None:
        return _one_by_one(rest)

    return Plan([draft], aftermath=follow((given.fact,), given.event_id, then), tell=True)


def _given(view: ContainerView, deciding: Deciding, command: q.Label, new: q.NewLabel) -> _Given:
    fact, old = _fact(view, command, new.fact, "fact"), _fact(view, command, new.old, "old")
    row = view.verdict(fact)
    pair = None
    if row is not None:
        pair = next((pair for pair in row.state.pairs if pair.old == old), None)
    if row is None or pair is None:
        raise NotFound(
            f"{new.fact} was not compared with {new.old}: `rewound why` names the pairs of a fact",
            field="old",
            ids=(new.fact, new.old),
        )
    return _Given(
        judged=row.state.event,
        fact=fact,
        old=old,
        was=row.state.outcome(pair),
        outcome=_outcome(row.state, pair, new),
        event_id=EventId(deciding.ids.new()),
    )


def _fact(view: ContainerView, command: q.Label, text: str, field: str) -> FactId:
    ref = Ref(Kind.FACT, parse(text, Kind.FACT, field=field))
    if view.row(ref) is None or view.hidden(ref) is not None:
        raise NotFound(f"{text} is not in this container", field=field, ids=(text,))
    t.check_scope(view, ref, command.scope, field=field)
    return FactId(ref.id)


def _outcome(verdict: VerdictRow, pair: e.Pair, new: q.NewLabel) -> Outcome:
    if (new.outcome is None) == (new.confirm is None):
        raise InvalidInput(
            "say how the pair relates: give outcome (duplicate, updates, corrects, extends or "
            "distinct), or confirm",
            field="outcome",
        )
    if new.outcome is not None:
        return Outcome[new.outcome.upper()]
    found = verdict.outcome(pair)
    found = pair.leaning if found is Outcome.REVIEW else found
    if new.confirm:
        return found
    if found is Outcome.DISTINCT:
        raise InvalidInput(
            "the pair was found distinct: to reject that, give the outcome that is right",
            field="outcome",
            ids=(new.fact, new.old),
        )
    return Outcome.DISTINCT


def _view(given: _Given) -> LabelView:
    return LabelView(
        event=str(Ref(Kind.EVENT, given.event_id)),
        fact=str(Ref(Kind.FACT, given.fact)),
        old=str(Ref(Kind.FACT, given.old)),
        was=given.was.name.lower(),
        outcome=given.outcome.name.lower(),
    )
