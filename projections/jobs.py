"""The view of work that is still to be done: sources whose facts are not derived yet.

Derived from the log like every other view, so a restart loses nothing and an undone extraction is
to be done again by itself.
"""

import enum
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.projections import view as v
from rewound.projections.documents import fold_document
from rewound.projections.messages import fold_message


class JobState(enum.IntEnum):
    PENDING = 1
    FAILED = 2
    PARKED = 3


class JobRow(msgspec.Struct, frozen=True, array_like=True):
    """Facts are to be derived from the bodies in `wanted`. `since` is µs, `retry_at` too."""

    state: JobState
    wanted: tuple[Place, ...]
    since: int
    attempts: int = 0
    why: e.Why | None = None
    retry_at: int | None = None


class JobBrief(NamedTuple):
    """What of a job is told without reading it; `since` is µs."""

    state: JobState
    since: int

    @staticmethod
    def read(told: bytes) -> "JobBrief":
        state, since = _BRIEF.unpack(told)
        return JobBrief(_STATES[state], since)


_BRIEF = Struct("<Bq")
_STATES = {int(state): state for state in JobState}


def _brief(job: JobRow) -> bytes:
    return _BRIEF.pack(job.state, job.since)


def fold_job(key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve) -> JobRow | None:
    """None when the source is gone, wants no facts, or has been read whole."""
    wanted, since = _wanted(key, contributors, resolve)
    covered: set[Place] = set()
    failed: e.ExtractionFailed | None = None
    for recorded in contributors:
        match recorded.event:
            case e.ExtractionFinished() as event:
                covered.update(event.covered)
                failed = None
            case e.ExtractionFailed() as event:
                failed = event
            case e.TagsEdited() | e.ImportanceSet():
                continue
            case e.SeenAgain() if not v.asked_for_again(recorded):
                continue
            case _:
                failed = None
    left = tuple(place for place in wanted if place not in covered)
    if not left:
        return None
    if failed is None:
        return JobRow(JobState.PENDING, left, since)
    state = JobState.PARKED if failed.parked else JobState.FAILED
    return JobRow(state, left, since, failed.attempt, failed.why, failed.retry_at)


def _wanted(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> tuple[tuple[Place, ...], int]:
    """The bodies of the present content, by the folds of the views that show it."""
    sent = [r for r in contributors if not isinstance(r.event, _DERIVED)]
    if key[0] == Kind.DOCUMENT:
        document = fold_document(key, sent, resolve)
        if document is None or not document.infer:
            return (), 0
        return tuple(piece.place(0) for piece in document.pieces), document.recorded_at
    message = fold_message(key, sent, resolve)
    if message is None or not message.infer:
        return (), 0
    return (message.text.place(0),), message.recorded_at


_DERIVED = (e.ExtractionFinished, e.ExtractionFailed)


def _document(event: e.DocumentIngested | e.DocumentReplaced | e.DocumentRemoved) -> list[bytes]:
    return [Ref(Kind.DOCUMENT, event.document).key()]


def _message(event: e.MessageRecorded) -> list[bytes]:
    return [Ref(Kind.MESSAGE, event.message).key()]


def _again(event: e.SeenAgain) -> list[bytes]:
    return [event.item.key()] if event.item.kind in (Kind.DOCUMENT, Kind.MESSAGE) else []


def _source(event: e.ExtractionFinished | e.ExtractionFailed) -> list[bytes]:
    return [event.source.key()]


JOBS = v.View(
    name="jobs",
    version=4,
    state=JobRow,
    handles={
        e.DocumentIngested: _document,
        e.DocumentReplaced: _document,
        e.DocumentRemoved: _document,
        e.MessageRecorded: _message,
        e.SeenAgain: _again,
        e.ExtractionFinished: _source,
        e.ExtractionFailed: _source,
    },
    ignores=v.CUT.union(
        v.STATED,
        v.ENDED,
        v.JUDGED,
        v.LINKED,
        v.POLICY,
        v.HIDDEN,
        v.NAMED,
        v.GRAPH,
        v.WRITTEN,
        v.KEPT,
        v.TAGGED,
    ),
    births=frozenset({e.DocumentIngested, e.MessageRecorded}),
    fold=fold_job,
    waits=True,
    brief=_brief,
)
