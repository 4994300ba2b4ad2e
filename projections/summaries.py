"""The views of summaries: what was written of a conversation, and what could not be.

A summary tells of the messages that it names and of all that the one before it (`after`) tells. It
stands in the row of the last message it names, beside others that end there: which of them holds
for a reader is found out at read (`holding.py`), since that hangs on other rows.
"""

from collections.abc import Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import EventId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.projections import view as v
from rewound.projections.jobs import JobState


class SummaryEntry(msgspec.Struct, frozen=True, array_like=True):
    """One summary: the event that wrote it, that event's position, and its text."""

    event: EventId
    at: int
    text: Body


class SummariesRow(msgspec.Struct, frozen=True, array_like=True):
    """All summaries that end with one message, oldest first."""

    entries: tuple[SummaryEntry, ...]


class SummaryTry(msgspec.Struct, frozen=True, array_like=True):
    """Messages from one on could not be summed up, as the event at position `at` tells.

    `state` is FAILED or PARKED; `retry_at` is µs.
    """

    state: JobState
    at: int
    attempts: int
    why: e.Why
    retry_at: int | None


def fold_summaries(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> SummariesRow | None:
    entries = tuple(
        SummaryEntry(r.envelope.event_id, r.position, r.event.text.seen_from(r.position))
        for r in contributors
        if isinstance(r.event, e.SummaryWritten)
    )
    return SummariesRow(entries) if entries else None


def fold_try(key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve) -> SummaryTry | None:
    """None once a summary tells of the message, or it was asked for again."""
    told = (r for r in reversed(contributors) if not _is_merely_resent(r))
    last = next(told, None)
    failed = None if last is None else last.event
    if last is None or not isinstance(failed, e.SummaryFailed):
        return None
    state = JobState.PARKED if failed.parked else JobState.FAILED
    return SummaryTry(state, last.position, failed.attempt, failed.why, failed.retry_at)


def _is_merely_resent(recorded: Recorded) -> bool:
    return isinstance(recorded.event, e.SeenAgain) and not v.asked_for_again(recorded)


def _last(event: e.SummaryWritten) -> list[bytes]:
    return [Ref(Kind.MESSAGE, raw).key() for raw in event.messages[-1:]]


def _all(event: e.SummaryWritten) -> list[bytes]:
    return [Ref(Kind.MESSAGE, raw).key() for raw in event.messages]


def _first(event: e.SummaryFailed) -> list[bytes]:
    return [Ref(Kind.MESSAGE, raw).key() for raw in event.messages[:1]]


_OTHERS = v.SENT.union(
    v.CUT, v.STATED, v.ENDED, v.DERIVED, v.JUDGED, v.LINKED, v.POLICY, v.HIDDEN, v.NAMED, v.GRAPH,
    v.KEPT, v.TAGGED, v.types(e.ProfileWritten),
)  # fmt: skip

SUMMARIES = v.View(
    name="summaries",
    version=1,
    state=SummariesRow,
    handles={e.SummaryWritten: _last},
    ignores=_OTHERS.union(v.AGAIN, v.types(e.SummaryFailed)),
    births=frozenset(),
    fold=fold_summaries,
)

UNSUMMARISED = v.View(
    name="unsummarised",
    version=2,
    state=SummaryTry,
    handles={
        e.SummaryWritten: _all,
        e.SummaryFailed: _first,
        e.SeenAgain: v.item_of(Kind.MESSAGE),
    },
    ignores=_OTHERS,
    births=frozenset(),
    fold=fold_try,
    waits=True,
)
