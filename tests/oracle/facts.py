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
    begin = start(stated, said)
    ended = ended_by(ledger, FactId(item.id), begin)
    unsaid = unsaid_at(ledger, item, support)
    valid_to = finish(stated, begin, ended, unsaid)
    statement = event.statement
    return {
        "text": ledger.texts.text(statement.text, at),
        "kind": statement.kind.name.lower(),
        "valid_from": begin,
        "valid_to": valid_to,
        "subject": ledger.texts.text(statement.subject, at),
        "attribute": ledger.texts.text(statement.attribute, at),
        "value": ledger.texts.text(statement.value, at),
        "entities": ledger.texts.value(statement.entities, at),
        "sources": sources(ledger, item, support),
        "tags": ledger.tags(item, *creating),
        "importance": ledger.importance(item, *creating),
        "scope": ledger.texts.value(stated.envelope.scope, at),
        "said_at": said.at if said else None,
        "supersedes": supersedes(ledger, FactId(item.id)),
        "ended": ended,
        "repeated_by": repeated_by(ledger, FactId(item.id)),
        "extends": extends(ledger, FactId(item.id)),
        "unsaid_at": unsaid,
        **extras,
    }


def start(stated: Recorded, said: Instant | None) -> int:
    """When a fact begins to hold: as stated, else when it was said, else when it was recorded."""
    assert isinstance(stated.event, e.FactRemembered | e.FactExtracted | e.FactEdited)
    begin = stated.event.statement.valid_from or said
    return begin.at if begin else stated.envelope.recorded_at


def finish(stated: Recorded, begin: int, ended: Row | None, unsaid: int | None) -> int | None:
    """When it ceases; what was corrected, or only repeats another, holds at no time of its own."""
    assert isinstance(stated.event, e.FactRemembered | e.FactExtracted | e.FactEdited)
    statement = stated.event.statement
    end = statement.valid_to.at if statement.valid_to else None
    if ended and (ended["corrects"] or ended["repeats"]):
        return begin
    for at in (ended["at"] if ended else None, unsaid):
        if at is not None:
            cut = max(begin, at)
            end = cut if end is None else min(end, cut)
    return end


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


def ended_by(ledger: Ledger, fact: FactId, begin: int) -> Row | None:
    """A correction of this very version, else the earliest in world time, else by position."""
    found: list[tuple[bool, int, int, Row]] = []
    for r in ends(ledger, fact):
        event = r.event
        repeats = False
        if isinstance(event, e.FactEdited):
            by, told = event.fact, event.statement.valid_from or event.said_at
        else:
            assert isinstance(event, e.FactSuperseded)
            by, told, repeats = event.by, event.at, event.repeats
        corrects = event.corrects and event.ends[0] == fact
        at = told.at if told else r.envelope.recorded_at
        if repeats:
            at = begin
        row: Row = {"by": show(Kind.FACT, by), "at": at, "corrects": corrects, "repeats": repeats}
        found.append((not corrects, at, r.position, row))
    found.sort(key=lambda each: each[:3])
    return found[0][3] if found else None


def supersedes(ledger: Ledger, fact: FactId) -> list[str]:
    """All that its edits ended, and all that it superseded and that was not reinstated."""
    found: list[FactId] = []
    for r in ledger.about(Ref(Kind.FACT, fact)):
        if isinstance(r.event, e.FactEdited) and r.event.fact == fact:
            found += r.event.ends
        elif isinstance(r.event, e.FactSuperseded) and r.event.by == fact and not r.event.repeats:
            found += still_ended(ledger, r, r.event)
    return [show(Kind.FACT, old) for old in dict.fromkeys(found)]


def repeated_by(ledger: Ledger, fact: FactId) -> list[str]:
    """All that say the same as this one, by events that were not lifted, in order."""
    found: list[FactId] = []
    for r in ledger.about(Ref(Kind.FACT, fact)):
        if isinstance(r.event, e.FactSuperseded) and r.event.by == fact and r.event.repeats:
            found += still_ended(ledger, r, r.event)
    return [show(Kind.FACT, each) for each in dict.fromkeys(found)]


def still_ended(ledger: Ledger, r: Recorded, event: e.FactSuperseded) -> list[FactId]:
    """Those facts that an event ended and that no reinstating took from it since."""
    return [
        old
        for old in event.ends
        if any(other.position == r.position for other in ends(ledger, old))
    ]


def extends(ledger: Ledger, fact: FactId) -> list[str]:
    """What it adds to: of each target the last link counts, the first says its place."""
    last: dict[FactId, e.Outcome] = {}
    first: list[FactId] = []
    for r in ledger.about(Ref(Kind.FACT, fact)):
        event = r.event
        if isinstance(event, e.FactsLinked) and event.source == fact:
            last[event.target] = event.outcome
            if event.outcome is e.Outcome.EXTENDS and event.target not in first:
                first.append(event.target)
    return [show(Kind.FACT, target) for target in first if last[target] is e.Outcome.EXTENDS]
