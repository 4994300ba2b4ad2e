"""Containers, documents, messages, passages, and which of them facts are still to come from."""

from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import Kind, Ref, show
from rewound.eventlog.log import Recorded
from tests.oracle.ledger import Ledger, place_name

Row = dict[str, Any]


def container(ledger: Ledger, item: Ref) -> Row | None:
    name, zone, removed, seen = None, None, False, False
    for r in ledger.about(item):
        event = r.event
        if not isinstance(event, e.ContainerConfigured | e.ContainerMoved | e.ContainerRemoved):
            continue
        if event.container != item.id:
            continue
        seen = True
        if isinstance(event, e.ContainerRemoved):
            removed = True
        elif event.name is not None:
            name = ledger.texts.text(event.name, r.position)
        if isinstance(event, e.ContainerConfigured) and event.zone is not None:
            zone = ledger.texts.text(event.zone, r.position)
    return {"name": name, "zone": zone, "removed": removed} if seen else None


def content(ledger: Ledger, item: Ref) -> Recorded | None:
    """The event that states what an existing document now holds."""
    if not ledger.asserting(item, e.DocumentIngested):
        return None
    shaping = [
        r
        for r in ledger.about(item)
        if isinstance(
            r.event, e.DocumentIngested | e.DocumentReplaced | e.DocumentRemoved | e.SeenAgain
        )
        and item in (r.event.creates() or r.event.refers())
    ]
    if isinstance(shaping[-1].event, e.DocumentRemoved):
        return None
    return ledger.stated(shaping[-1])


def document(ledger: Ledger, item: Ref) -> Row | None:
    stated = content(ledger, item)
    if stated is None:
        return None
    event, at = stated.event, stated.position
    assert isinstance(event, e.DocumentIngested | e.DocumentReplaced)
    return {
        "text": "".join(ledger.texts.text(piece, at) or "" for piece in event.pieces),
        "media": event.media.name.lower(),
        "title": ledger.texts.text(event.title, at),
        "address": ledger.texts.text(event.address, at),
        "caller_id": ledger.texts.text(event.caller_id, at),
        "tags": ledger.tags(item, e.DocumentIngested),
        "importance": ledger.importance(item, e.DocumentIngested),
        "metadata": ledger.texts.value(event.metadata, at),
        "said_at": event.said_at.at if event.said_at else None,
        "infer": event.infer,
        "scope": ledger.texts.value(stated.envelope.scope, at),
    }


def message(ledger: Ledger, item: Ref) -> Row | None:
    support = ledger.asserting(item, e.MessageRecorded)
    if not support:
        return None
    stated = ledger.stated(support[0])
    event, at = stated.event, stated.position
    assert isinstance(event, e.MessageRecorded)
    return {
        "conversation": show(Kind.CONVERSATION, event.conversation),
        "ordinal": event.ordinal,
        "role": event.role.name.lower(),
        "text": ledger.texts.text(event.text, at),
        "conversation_name": ledger.texts.text(event.conversation_name, at),
        "speaker": ledger.texts.text(event.speaker, at),
        "caller_id": ledger.texts.text(event.caller_id, at),
        "tags": ledger.tags(item, e.MessageRecorded),
        "importance": ledger.importance(item, e.MessageRecorded),
        "metadata": ledger.texts.value(event.metadata, at),
        "said_at": event.said_at.at if event.said_at else None,
        "infer": event.infer,
        "scope": ledger.texts.value(stated.envelope.scope, at),
    }


def passage(ledger: Ledger, item: Ref) -> Row | None:
    row = None
    for r in ledger.about(item):
        event = r.event
        if isinstance(event, e.PassagesCut):
            for cut in event.passages:
                if cut.passage == item.id:
                    row = {
                        "document": show(Kind.DOCUMENT, event.document),
                        "place": place_name(cut.body.place(r.position)),
                        "start": cut.start,
                        "end": cut.end,
                    }
        elif (isinstance(event, e.DocumentReplaced) and item.id in event.dropped) or (
            isinstance(event, e.DocumentRemoved) and item.id in event.passages
        ):
            row = None
    return row


def wanted(ledger: Ledger, item: Ref) -> set[Place] | None:
    """The places from which facts are to be derived; None if from none."""
    if item.kind is Kind.DOCUMENT:
        stated = content(ledger, item)
        if stated is None:
            return None
        assert isinstance(stated.event, e.DocumentIngested | e.DocumentReplaced)
        if not stated.event.infer:
            return None
        return {piece.place(stated.position) for piece in stated.event.pieces}
    support = ledger.asserting(item, e.MessageRecorded)
    if not support:
        return None
    stated = ledger.stated(support[0])
    assert isinstance(stated.event, e.MessageRecorded)
    return {stated.event.text.place(stated.position)} if stated.event.infer else None


def jobs(ledger: Ledger) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for item in (*ledger.named(Kind.DOCUMENT), *ledger.named(Kind.MESSAGE)):
        places = wanted(ledger, item)
        row = None if places is None else job(ledger, item, places)
        if row is not None:
            found[str(item)] = row
    return found


def job(ledger: Ledger, item: Ref, places: set[Place]) -> Row | None:
    """None when all is covered."""
    covered: set[Place] = set()
    failures: list[e.ExtractionFailed] = []
    for r in ledger.about(item):
        event = r.event
        if isinstance(event, e.ExtractionFinished) and event.source == item:
            covered |= set(event.covered)
            failures = []
        elif isinstance(event, e.ExtractionFailed) and event.source == item:
            failures.append(event)
        elif isinstance(event, e.SeenAgain) and not r.envelope.causes:
            continue  # sent once more, which asks for nothing
        elif item in event.creates() or (
            isinstance(event, e.DocumentReplaced) and item in event.refers()
        ):
            failures = []
    if places <= covered:
        return None
    if not failures:
        return {"state": "pending", "attempts": 0, "retry_at": None, "why": None}
    last = failures[-1]
    return {
        "state": "parked" if last.parked else "failed",
        "attempts": last.attempt,
        "retry_at": last.retry_at,
        "why": last.why.name.lower(),
    }
