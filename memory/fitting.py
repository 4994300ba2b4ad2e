"""Fitting a container's judging policy to the labels that people gave, and judging its past anew.

The fit itself is arithmetic over the evidence kept with each verdict; nothing is read again. It is
recorded with its figures, caused by the labels it stands on, so that undoing one of them takes the
fit back too, with every verdict that it turned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.envelope import PERSON, Actor
from rewound.eventlog.errors import Conflict, NotFound, ReadOnly
from rewound.eventlog.ids import ContainerId, EventId, FactId, GroupId, Kind, show
from rewound.eventlog.log import Draft
from rewound.llm.judging import Evidence
from rewound.llm.policy import Labelled, Policy, Refit, refit, shipped
from rewound.memory import deciding as d
from rewound.memory import requests as q
from rewound.memory.applying import Applied
from rewound.memory.claims import is_shown
from rewound.memory.replies import Fitted, Flip
from rewound.memory.weighing import opinion_in

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row
    from rewound.projections.verdicts import VerdictRow

FLIPS_TOLD = 1_000

SLICE = 512
"""Verdicts ruled at once."""


class Turned(NamedTuple):
    """A fact whose verdict is another under a policy; `flips` names the pairs."""

    fact: FactId
    pairs: tuple[d.Ruled, ...]
    flips: tuple[Flip, ...]


class _Labels(NamedTuple):
    given: list[Labelled]
    events: list[EventId]


def fit(request: q.Fit, engine: Engine) -> Fitted:
    """Fit, and turn what the new policy rules otherwise. Raises NotFound for no such container."""
    if engine.readonly_reason is not None and not request.dry_run:
        raise ReadOnly(engine.readonly_reason)
    with engine.reading() as views:
        container = d.container_named(views.log, request.container)
        if container is None:
            raise d.no_container(request.container)
        view = views.container(container)
        labels = _labels(view)
        found = refit(shipped(), labels.given)
        turned = list(_turned(view, found.policy)) if found.accepted else []
        position = view.position
    flips = tuple(flip for each in turned for flip in each.flips)
    event: EventId | None = None
    if found.accepted and not request.dry_run:
        event = _record(engine, container, found, labels.events)
        position = _turn(engine, container, event, turned)
    notes: list[str] = []
    if len(flips) > FLIPS_TOLD:
        notes.append(f"{len(flips)} pairs are judged otherwise; the first {FLIPS_TOLD} are told")
    return Fitted(
        container=request.container,
        position=position,
        accepted=found.accepted,
        event=None if event is None else show(Kind.EVENT, event),
        labels=len(labels.given),
        figures=found.figures,
        flips=flips[:FLIPS_TOLD],
        why=found.why,
        dry_run=request.dry_run,
        notes=tuple(notes),
    )


def _labels(view: ContainerView) -> _Labels:
    """Every label whose evidence is still there, in the order given."""
    found: list[tuple[int, Labelled, EventId]] = []
    for row in view.verdicts():
        if not row.state.labels:
            continue
        evidence = evidence_of(view, row.state)
        for label in row.state.labels:
            own = evidence.get(label.old)
            place = view.log.find(label.event)
            if own is not None and place is not None:
                found.append((place[1], Labelled(own, label.outcome), label.event))
    found.sort(key=lambda each: each[0])
    return _Labels([each for _, each, _ in found], [event for _, _, event in found])


def evidence_of(view: ContainerView, verdict: VerdictRow) -> dict[FactId, Evidence]:
    """The evidence of a verdict by older fact; empty once it is erased."""
    kept = view.value(verdict.evidence)
    if kept is None:
        return {}
    return {pair.old: each for pair, each in zip(verdict.pairs, kept, strict=True)}


# --- past verdicts under another policy


def _turned(view: ContainerView, policy: Policy) -> Iterator[Turned]:
    """Verdicts that come out otherwise. Labelled pairs stay as the person said."""
    waiting: list[tuple[Row[VerdictRow], dict[FactId, Evidence]]] = []
    for row in view.verdicts():
        if is_shown(view, row.id) and view.fact(row.id) is not None:
            evidence = evidence_of(view, row.state)
            if evidence:
                waiting.append((row, evidence))
        if len(waiting) >= SLICE:
            yield from _ruled(view, policy, waiting)
            waiting.clear()
    yield from _ruled(view, policy, waiting)


def _ruled(
    view: ContainerView,
    policy: Policy,
    rows: Sequence[tuple[Row[VerdictRow], dict[FactId, Evidence]]],
) -> Iterator[Turned]:
    evidences = [each for _, kept in rows for each in kept.values()]
    rulings = iter(policy.rule_all(evidences, [opinion_in(each) for each in evidences]))
    for row, kept in rows:
        pairs = tuple(d.Ruled(old, next(rulings), each) for old, each in kept.items())
        flips = flips_of(view, row.state, FactId(row.id), pairs)
        if flips:
            yield Turned(FactId(row.id), pairs, flips)


def flips_of(
    view: ContainerView, verdict: VerdictRow, fact: FactId, pairs: Sequence[d.Ruled]
) -> tuple[Flip, ...]:
    """The pairs that a verdict had otherwise, or not at all; labelled ones never, nor those with
    what is forgotten or gone."""
    said = {label.old for label in verdict.labels}
    was = {pair.old: pair.outcome for pair in verdict.pairs}
    return tuple(
        Flip(
            fact=show(Kind.FACT, fact),
            old=show(Kind.FACT, each.old),
            was="nothing" if each.old not in was else was[each.old].name.lower(),
            outcome=each.ruling.outcome.name.lower(),
            probability=each.ruling.probability / 1000,
            text=_text(view, fact),
            old_text=_text(view, each.old),
        )
        for each in pairs
        if each.old not in said
        and was.get(each.old) is not each.ruling.outcome
        and view.fact(each.old) is not None
        and is_shown(view, each.old)
    )


def _text(view: ContainerView, fact: FactId) -> str | None:
    row = view.fact(fact)
    return None if row is None or not is_shown(view, fact) else view.wording(row.state)


# --- recording


def _record(
    engine: Engine, container: ContainerId, found: Refit, labels: Sequence[EventId]
) -> EventId:
    bodies = BodyWriter(engine.ids)
    event_id = EventId(engine.ids.new())
    parameters = bodies.piece(found.policy.to_json().decode())
    event = e.PolicyFitted(container, parameters, tuple(labels))
    engine.record(
        container, [Draft(event, bodies.sealed, tuple(labels), event_id=event_id)], actor=PERSON
    )
    return event_id


def _turn(engine: Engine, container: ContainerId, policy: EventId, turned: Sequence[Turned]) -> int:
    """Record the verdicts that turned, in the fit's group; the container's last position."""
    verdicts = (
        d.Judge(
            container,
            each.fact,
            each.pairs,
            "the policy fitted anew",
            policy,
            again=True,
            causes=(policy,),
            group=GroupId(policy),
        )
        for each in turned
    )
    return record_all(engine, container, verdicts, PERSON)


def record_all(
    engine: Engine, container: ContainerId, verdicts: Iterable[d.Judge], actor: Actor
) -> int:
    """Hand verdicts to the writer, some at once; the container's last position after them.

    What was forgotten or undone meanwhile is left out.
    """
    sent: list[Future[Applied]] = []
    for verdict in verdicts:
        sent.append(engine.submit_record(verdict, actor=actor))
        if len(sent) >= SLICE:
            _wait(sent)
            sent.clear()
    _wait(sent)
    with engine.reading() as views:
        return views.container(container).position


def _wait(sent: Sequence[Future[Applied]]) -> None:
    for done in sent:
        error = done.exception()
        if error is not None and not isinstance(error, Conflict | NotFound):
            raise error
