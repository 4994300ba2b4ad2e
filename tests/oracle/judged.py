"""Verdicts, what is left for a person to decide, what is still to be judged, and the policy."""

from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, FactId, Kind, Ref, show
from rewound.eventlog.log import Recorded
from tests.oracle.ledger import Ledger

Row = dict[str, Any]


def judgings(ledger: Ledger, item: Ref) -> list[Recorded]:
    """The effective events that judged this fact (as the new one); the last one counts."""
    return [
        r
        for r in ledger.about(item)
        if isinstance(r.event, e.FactsJudged) and r.event.fact == item.id
    ]


def labels(ledger: Ledger, item: Ref) -> dict[str, list[str]]:
    """By old fact the last effective word of a person on a pair with it.

    It may be of a judging before the last: judging anew takes nobody's word away. It is none once
    the judging that it speaks of was taken back.
    """
    judged = {r.envelope.event_id for r in judgings(ledger, item)}
    found: dict[str, list[str]] = {}
    for r in ledger.about(item):
        event = r.event
        if isinstance(event, e.LabelGiven) and event.fact == item.id and event.judged in judged:
            outcome = event.outcome.name.lower()
            found[show(Kind.FACT, event.old)] = [outcome, _event(r.envelope.event_id)]
    return found


def verdict(ledger: Ledger, item: Ref) -> Row | None:
    found = judgings(ledger, item)
    if not found:
        return None
    judged = found[-1]
    event, at = judged.event, judged.position
    assert isinstance(event, e.FactsJudged)
    return {
        "at": at,
        "event": _event(judged.envelope.event_id),
        "policy": None if event.policy is None else _event(event.policy),
        "pairs": [
            [
                show(Kind.FACT, pair.old),
                pair.outcome.name.lower(),
                pair.probability,
                pair.leaning.name.lower(),
            ]
            for pair in event.pairs
        ],
        "judge": ledger.texts.raw(event.judge, at),
        "evidence": ledger.texts.value(event.evidence, at),
        "labels": labels(ledger, item),
    }


def reviews(ledger: Ledger) -> dict[str, Row]:
    """By new fact the old ones whose pair nobody has decided: neither the judge nor a person."""
    found: dict[str, Row] = {}
    for item in ledger.named(Kind.FACT):
        last = judgings(ledger, item)[-1:]
        told = labels(ledger, item)
        old = [
            show(Kind.FACT, pair.old)
            for judged in last
            for pair in getattr(judged.event, "pairs", ())
            if pair.outcome is e.Outcome.REVIEW and show(Kind.FACT, pair.old) not in told
        ]
        if old:
            found[str(item)] = {"at": last[0].position, "old": old}
    return found


def unjudged(ledger: Ledger) -> dict[str, int]:
    """Facts that no effective event judged, with the position of the first that supports them."""
    found: dict[str, int] = {}
    for item in ledger.named(Kind.FACT):
        stating = [
            r.position
            for r in ledger.about(item)
            if (
                isinstance(r.event, e.FactRemembered | e.FactExtracted | e.FactEdited)
                and r.event.fact == FactId(item.id)
            )
            or (isinstance(r.event, e.SeenAgain) and r.event.item == item)
        ]
        if stating and not judgings(ledger, item):
            found[str(item)] = stating[0]
    return found


def policies(ledger: Ledger) -> dict[str, Row]:
    """By container the last fit that holds."""
    found: dict[str, Row] = {}
    for item in ledger.named(Kind.CONTAINER):
        for r in ledger.about(item):
            event = r.event
            if isinstance(event, e.PolicyFitted) and event.container == item.id:
                parameters = ledger.texts.raw(event.parameters, r.position)
                found[str(item)] = {
                    "event": _event(r.envelope.event_id),
                    "parameters": parameters,
                }
    return found


def _event(event_id: EventId) -> str:
    return show(Kind.EVENT, event_id)
