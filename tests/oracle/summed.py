"""Summaries of conversations, and attempts to write one that came to nothing."""

from collections.abc import Sequence
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import Kind, MessageId, Ref, show
from rewound.eventlog.log import Recorded
from tests.oracle.effect import effective_ids
from tests.oracle.ledger import Ledger, place_name

Row = dict[str, Any]


def summaries(ledger: Ledger) -> dict[str, list[Row]]:
    """By the last message that each tells of, in the order written."""
    found: dict[str, list[Row]] = {}
    for r in ledger.held:
        if isinstance(r.event, e.SummaryWritten) and r.event.messages:
            found.setdefault(message(r.event.messages[-1]), []).append(summary(ledger, r))
    return found


def summary(ledger: Ledger, r: Recorded) -> Row:
    event = r.event
    assert isinstance(event, e.SummaryWritten)
    return {
        "event": show(Kind.EVENT, r.envelope.event_id),
        "text": ledger.texts.text(event.text, r.position),
        "messages": [message(raw) for raw in event.messages],
        "after": None if event.after is None else show(Kind.EVENT, event.after),
        "masks": [
            [str(span.source), place_name(span.place), span.start, span.end] for span in event.masks
        ],
        "cites": [message(raw) for raw in event.cites],
        "scope": ledger.texts.value(r.envelope.scope, r.position),
    }


def unsummarised(ledger: Ledger) -> dict[str, Row]:
    """By the first message of what could not be summed up; asked for again, it is as if never
    tried. Being sent again, with no cause, changes nothing."""
    found: dict[str, Row] = {}
    for r in ledger.held:
        match r.event:
            case e.SummaryFailed(messages=(first, *_)) as event:
                found[message(first)] = {
                    "state": "parked" if event.parked else "failed",
                    "attempts": event.attempt,
                    "retry_at": event.retry_at,
                    "why": event.why.name.lower(),
                }
            case e.SummaryWritten():
                for raw in r.event.messages:
                    found.pop(message(raw), None)
            case e.SeenAgain(item=item) if r.envelope.causes:
                found.pop(str(item), None)
    return found


def message(raw: MessageId) -> str:
    return show(Kind.MESSAGE, raw)


Event = e.SummaryWritten | e.SummaryFailed


def links(events: Sequence[Recorded], event: Event) -> list[Event]:
    """The event, and those that wrote the summaries which it goes on from."""
    by_id = {r.envelope.event_id: r.event for r in events}
    found = [event]
    while found[-1].after is not None:
        before = by_id[found[-1].after]
        assert isinstance(before, e.SummaryWritten)
        found.append(before)
    return found


def told_of(events: Sequence[Recorded], event: Event) -> set[str]:
    """Every message that has gone into it, also through the summaries before it."""
    return {message(raw) for link in links(events, event) for raw in link.messages}


def spoken_against(events: Sequence[Recorded]) -> set[str]:
    """Every message that a summary told of which was undone, or which goes on from one that was."""
    holding = effective_ids(events)
    named = {
        raw
        for r in events
        if isinstance(r.event, e.Undone) and r.envelope.event_id in holding
        for raw in r.event.events
    }
    found: set[str] = set()
    for r in events:
        if isinstance(r.event, e.SummaryWritten):
            chain = {r.envelope.event_id, *(link.after for link in links(events, r.event))}
            if chain & named:
                found |= told_of(events, r.event)
    return found


def may_be_shown(events: Sequence[Recorded], recorded: Recorded, dump: dict[str, Any]) -> bool:
    """Whether nothing that has gone into it is hidden or blacked out today. `dump` has hidden items
    and masks."""
    assert isinstance(recorded.event, Event)
    if told_of(events, recorded.event) & set(dump["hidden"]):
        return False
    for link in links(events, recorded.event):
        then = {(place_name(s.place), n) for s in link.masks for n in range(s.start, s.end)}
        now = {(place, n) for place, a, b in masks_of(events, dump, link) for n in range(a, b)}
        if not now <= then:
            return False
    return True


def masks_of(
    events: Sequence[Recorded], dump: dict[str, Any], event: Event
) -> list[tuple[str, int, int]]:
    """The blacked-out parts of the messages that it adds, as they are in a dump."""
    wanted = {Ref(Kind.MESSAGE, raw) for raw in event.messages}
    places = [
        place_name(r.event.text.place(r.position))
        for r in events
        if isinstance(r.event, e.MessageRecorded) and r.event.creates()[0] in wanted
    ]
    return sorted(
        (place, start, end) for place in places for start, end in dump["masks"].get(place, [])
    )


# --- what holds


def groups(dump: dict[str, Any]) -> list[tuple[str, dict[str, str], list[str]]]:
    """Conversation, scope and messages that may be shown, in their order, of each scope."""
    found: dict[tuple[str, str], tuple[str, dict[str, str], list[tuple[int, str]]]] = {}
    for item, row in dump["messages"].items():
        if item not in dump["hidden"]:
            scope = row["scope"] or {}
            key = (row["conversation"], repr(sorted(scope.items())))
            group = found.setdefault(key, (row["conversation"], scope, []))
            group[2].append((row["ordinal"], item))
    return [(home, scope, [item for _, item in sorted(ids)]) for home, scope, ids in found.values()]


def exact(
    events: Sequence[Recorded], dump: dict[str, Any], ids: list[str]
) -> list[tuple[str, int]]:
    """The summaries that tell of just the first of these messages, as they read now, and of how
    many: by looking at each that the dump holds."""
    by_name = {show(Kind.EVENT, r.envelope.event_id): r.event for r in events}
    found: list[tuple[str, int]] = []
    for rows in dump["summaries"].values():
        for row in rows:
            event = by_name[row["event"]]
            assert isinstance(event, e.SummaryWritten)
            chain = in_order(row, dump)
            as_it_reads = all(
                masks_of(events, dump, link)
                == sorted((place_name(s.place), s.start, s.end) for s in link.masks)
                for link in links(events, event)
            )
            if ids[: len(chain)] == chain and as_it_reads and row["text"] is not None:
                found.append((row["event"], len(chain)))
    return sorted(found)


def in_order(row: Row, dump: dict[str, Any]) -> list[str]:
    """All messages that a summary tells of, the first ones first."""
    every = {row["event"]: row for rows in dump["summaries"].values() for row in rows}
    before = every.get(row["after"])
    return [*(in_order(before, dump) if before is not None else ()), *row["messages"]]
