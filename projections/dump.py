"""The present state of a container in plain values: what the laws compare.

Present state is the rows open now, without system times, positions and checkpoints; bodies are
resolved to what they say, and to None once erased.
"""

from collections.abc import Callable, Iterable
from typing import Any

from rewound.eventlog.bodies import Place
from rewound.eventlog.events import SummaryWritten
from rewound.eventlog.ids import Kind, Ref, show
from rewound.eventlog.instants import MAX_US, Instant
from rewound.projections.documents import DocumentRow, PassageRow
from rewound.projections.facts import FactRow
from rewound.projections.hidden import place_of
from rewound.projections.jobs import JobRow
from rewound.projections.messages import MessageRow
from rewound.projections.reader import ContainerView
from rewound.projections.summaries import SummaryEntry, SummaryTry
from rewound.projections.verdicts import VerdictRow

Plain = dict[str, Any]


def present(view: ContainerView, at: int | None = None) -> Plain:
    """Everything a container holds at a position (None: now), seen through nothing: hidden items
    are there, and named in `hidden`."""
    shown: Plain = {
        "containers": {},
        "documents": _shown(view, Kind.DOCUMENT, at, _document),
        "messages": _shown(view, Kind.MESSAGE, at, _message),
        "passages": _shown(view, Kind.PASSAGE, at, _passage),
        "facts": _shown(view, Kind.FACT, at, _fact),
        "hidden": sorted(str(ref) for ref, _ in view.hidden_items()),
        "masks": {
            _place(place_of(key)): [list(span) for span in row.spans] for key, row in view.masked()
        },
        "jobs": {str(source): _job(row) for source, row in view.all_jobs(at)},
        "verdicts": {
            show(Kind.FACT, row.id): _verdict(view, row.state) for row in view.verdicts(at)
        },
        "reviews": {show(Kind.FACT, row.id): _ids(row.state.old) for row in view.reviews(at)},
        "unjudged": sorted(show(Kind.FACT, raw) for raw, _ in view.unjudged(at)),
        "policies": {},
        "summaries": {
            show(Kind.MESSAGE, row.id): [_summary(view, each) for each in row.state.entries]
            for row in view.all_summaries(at)
        },
        "unsummarised": {
            show(Kind.MESSAGE, row.id): _try(row.state) for row in view.all_unsummarised(at)
        },
    }
    policy = view.policy(at)
    if policy is not None:
        shown["policies"][show(Kind.CONTAINER, view.id)] = {
            "event": show(Kind.EVENT, policy.event),
            "parameters": view.text(policy.parameters),
        }
    configured = view.configured(at)
    if configured is not None:
        shown["containers"][show(Kind.CONTAINER, view.id)] = {
            "name": view.text(configured.name),
            "zone": view.text(configured.zone),
            "removed": configured.removed,
        }
    return shown


def _shown(
    view: ContainerView, kind: Kind, at: int | None, plain: Callable[[ContainerView, Any], Plain]
) -> Plain:
    return {str(Ref(kind, row.id)): plain(view, row.state) for row in view.scan(kind, at)}


def _place(place: Place) -> str:
    return f"{place.at}:{place.slot}"


def _said(instant: Instant | None) -> int | None:
    return None if instant is None else instant.at


def _common(view: ContainerView, row: DocumentRow | MessageRow | FactRow) -> Plain:
    return {
        "caller_id": view.text(row.caller_id),
        "tags": list(view.tags(row.tags)),
        "metadata": view.value(row.metadata),
        "said_at": _said(row.said_at),
        "scope": view.value(row.scope),
        "importance": row.importance,
    }


def _document(view: ContainerView, row: DocumentRow) -> Plain:
    return _common(view, row) | {
        "media": row.media.name.lower(),
        "title": view.text(row.title),
        "address": view.text(row.address),
        "infer": row.infer,
        "text": "".join(view.text(piece) or "" for piece in row.pieces),
    }


def _message(view: ContainerView, row: MessageRow) -> Plain:
    return _common(view, row) | {
        "conversation": show(Kind.CONVERSATION, row.conversation),
        "ordinal": row.ordinal,
        "role": row.role.name.lower(),
        "text": view.text(row.text),
        "conversation_name": view.text(row.conversation_name),
        "speaker": view.text(row.speaker),
        "infer": row.infer,
    }


def _passage(view: ContainerView, row: PassageRow) -> Plain:
    return {
        "document": show(Kind.DOCUMENT, row.document),
        "place": _place(row.body.place(0)),
        "start": row.start,
        "end": row.end,
    }


def _fact(view: ContainerView, row: FactRow) -> Plain:
    ended = row.ended
    return _common(view, row) | {
        "text": view.text(row.text),
        "kind": row.kind.name.lower(),
        "valid_from": row.valid_from,
        "valid_to": None if row.valid_to == MAX_US else row.valid_to,
        "subject": view.text(row.subject),
        "attribute": view.text(row.attribute),
        "value": view.text(row.value),
        "entities": view.value(row.entities),
        "sources": [
            [str(span.source), _place(span.place), span.start, span.end] for span in row.sources
        ],
        "expires_at": row.expires_at,
        "supersedes": _ids(row.supersedes),
        "repeated_by": _ids(row.repeated_by),
        "extends": _ids(row.extends),
        "ended": None
        if ended is None
        else {
            "by": show(Kind.FACT, ended.by),
            "at": ended.at,
            "corrects": ended.corrects,
            "repeats": ended.repeats,
        },
        "unsaid_at": None if row.unsaid is None else row.unsaid.at,
    }


def _ids(facts: Iterable[bytes]) -> list[str]:
    return [show(Kind.FACT, raw) for raw in facts]


def _verdict(view: ContainerView, row: VerdictRow) -> Plain:
    return {
        "event": show(Kind.EVENT, row.event),
        "pairs": [
            {
                "old": show(Kind.FACT, pair.old),
                "outcome": pair.outcome.name.lower(),
                "probability": pair.probability,
                "leaning": pair.leaning.name.lower(),
            }
            for pair in row.pairs
        ],
        "policy": None if row.policy is None else show(Kind.EVENT, row.policy),
        "judge": view.text(row.judge),
        "evidence": view.value(row.evidence),
        "labels": [
            {
                "old": show(Kind.FACT, each.old),
                "outcome": each.outcome.name.lower(),
                "event": show(Kind.EVENT, each.event),
            }
            for each in row.labels
        ],
    }


def _job(row: JobRow) -> Plain:
    return {
        "state": row.state.name.lower(),
        "attempts": row.attempts,
        "retry_at": row.retry_at,
        "why": None if row.why is None else row.why.name.lower(),
    }


def _summary(view: ContainerView, entry: SummaryEntry) -> Plain:
    recorded = view.event(entry.at)
    assert recorded is not None
    event = recorded.event
    assert isinstance(event, SummaryWritten)
    scope = recorded.envelope.scope
    return {
        "event": show(Kind.EVENT, entry.event),
        "text": view.text(entry.text),
        "messages": [show(Kind.MESSAGE, raw) for raw in event.messages],
        "after": None if event.after is None else show(Kind.EVENT, event.after),
        "masks": [
            [str(span.source), _place(span.place), span.start, span.end] for span in event.masks
        ],
        "cites": [show(Kind.MESSAGE, raw) for raw in event.cites],
        "scope": None if scope is None else view.value(scope.seen_from(entry.at)),
    }


def _try(row: SummaryTry) -> Plain:
    return {
        "state": row.state.name.lower(),
        "attempts": row.attempts,
        "retry_at": row.retry_at,
        "why": row.why.name.lower(),
    }
