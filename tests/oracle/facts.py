"""Facts and their versions: what they say, when they hold, what ended them."""

from collections.abc import Iterator
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import FactId, Kind, Ref, show
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Recorded
from tests.oracle.ledger import Ledger, place_name

Row = dict[str, Any]


def fact(ledger: Ledger, item: Ref) -> Row | None:
    creating = (e.FactRemembered, e.FactExtracted, e.FactEdited)
    support = ledger.asserting(item, *creating)
    if not support:
        return None
    stated = ledger.stated(support[-1])
    event, at = stated.event, stated.position
    assert isinstance(event, creating)
    said = None if isinstance(event, e.FactExtracted) else event.said_at
    extras: Row = {"metadata": None, "expires_at": None, "caller_id": None}
    if not isinstance(event, e.FactExtracted):
        extras = {
            "metadata": ledger.texts.value(event.metadata, at),
            "expires_at": event.expires_at,
            "caller_id": ledger.texts.text(event.caller_id, at),
        }
    ended = ended_by(ledger, FactId(item.id))
    unsaid = unsaid_at(ledger, item, support)
    valid_from, valid_to = validity(stated, said, ended, unsaid)
    statement = event.statement
    return {
        "text": ledger.texts.text(statement.text, at),
        "kind": statement.kind.name.lower(),
        "valid_from": valid_from,
        "valid_to": valid_to,
        "subject": ledger.texts.text(statement.subject, at),
        "attribute": ledger.texts.text(statement.attribute, at),
        "value": ledger.texts.text(statement.value, at),
        "entities": ledger.texts.value(statement.entities, at),
        "sources": sources(ledger, item, support),
        "tags": ledger.tags(item, *creating),
        "scope": ledger.texts.value(stated.envelope.scope, at),
        "said_at": said.at if said else None,
        "supersedes": supersedes(ledger, FactId(item.id)),
        "ended": ended,
        "unsaid_at": unsaid,
        **extras,
    }


def validity(
    stated: Recorded, said: Instant | None, ended: Row | None, unsaid: int | None
) -> tuple[int, int | None]:
    assert isinstance(stated.event, e.FactRemembered | e.FactExtracted | e.FactEdited)
    statement = stated.event.statement
    begin = statement.valid_from or said
    start = begin.at if begin else stated.envelope.recorded_at
    end = statement.valid_to.at if statement.valid_to else None
    if ended and ended["corrects"]:
        return start, start
    for at in (ended["at"] if ended else None, unsaid):
        if at is not None:
            cut = max(start, at)
            end = cut if end is None else min(end, cut)
    return start, end


def withdrawals(ledger: Ledger, item: Ref) -> list[Recorded]:
    """Effective events that say that a fact's sources no longer say so."""
    return [
        r
        for r in ledger.about(item)
        if isinstance(r.event, e.FactsEnded) and item.id in r.event.facts
    ]


def unsaid_at(ledger: Ledger, item: Ref, support: list[Recorded]) -> int | None:
    """The earliest of the withdrawals that no statement of the fact comes after."""
    times = [
        r.event.at.at if r.event.at else r.envelope.recorded_at
        for r in withdrawals(ledger, item)
        if isinstance(r.event, e.FactsEnded) and r.position > support[-1].position
    ]
    return min(times, default=None)


def sources(ledger: Ledger, item: Ref, support: list[Recorded]) -> list[list[Any]]:
    """Own spans by how often the fact was withdrawn since, then those of what is re-stated."""
    ends = [r.position for r in withdrawals(ledger, item)]
    ranked: list[tuple[int, int, e.Span]] = []
    for r in support:
        later = sum(end > r.position for end in ends)
        ranked += [(later, r.position, span) for span in getattr(r.event, "sources", ())]
    ranked.sort(key=lambda each: each[:2])
    spans = [span for _, _, span in ranked]
    for r in support:
        spans += getattr(ledger.stated(r).event, "sources", ())
    return [
        [str(span.source), place_name(span.place), span.start, span.end]
        for span in dict.fromkeys(spans)
    ]


def ends(ledger: Ledger, fact: FactId) -> Iterator[Recorded]:
    """Effective events that end a fact and were not lifted by a FactReinstated naming it."""
    for r in ledger.about(Ref(Kind.FACT, fact)):
        if isinstance(r.event, e.FactEdited | e.FactSuperseded) and fact in r.event.ends:
            if not any(
                isinstance(other.event, e.FactReinstated)
                and other.event.superseding == r.envelope.event_id
                and fact in other.event.facts
                for other in ledger.about(Ref(Kind.FACT, fact))
            ):
                yield r


def ended_by(ledger: Ledger, fact: FactId) -> Row | None:
    """A correction of this very version, else the earliest in world time, else by position."""
    found: list[tuple[bool, int, int, Row]] = []
    for r in ends(ledger, fact):
        event = r.event
        if isinstance(event, e.FactEdited):
            by, told = event.fact, event.statement.valid_from or event.said_at
        else:
            assert isinstance(event, e.FactSuperseded)
            by, told = event.by, event.at
        corrects = event.corrects and event.ends[0] == fact
        at = told.at if told else r.envelope.recorded_at
        row: Row = {"by": show(Kind.FACT, by), "at": at, "corrects": corrects}
        found.append((not corrects, at, r.position, row))
    found.sort(key=lambda each: each[:3])
    return found[0][3] if found else None


def supersedes(ledger: Ledger, fact: FactId) -> list[str]:
    """All that its edits ended, and all that it superseded and that was not reinstated."""
    found: list[FactId] = []
    for r in ledger.about(Ref(Kind.FACT, fact)):
        if isinstance(r.event, e.FactEdited) and r.event.fact == fact:
            found += r.event.ends
        elif isinstance(r.event, e.FactSuperseded) and r.event.by == fact:
            found += [
                old
                for old in r.event.ends
                if any(other.position == r.position for other in ends(ledger, old))
            ]
    return [show(Kind.FACT, old) for old in dict.fromkeys(found)]
