"""The answer to what is still to be done: sources to be read, and messages to be summed up.

The list is as of a moment, like every other; only which messages wait for a quiet moment, and until
when, is told of the present.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.instants import show_us
from rewound.memory import cursors
from rewound.memory import requests as q
from rewound.memory.answer_items import bounded, paged
from rewound.memory.answering import Asking, answers
from rewound.memory.replies import Job, JobList
from rewound.memory.scoping import Within
from rewound.memory.waiting import waiting
from rewound.projections.jobs import JobRow, JobState
from rewound.projections.masks import unembedded
from rewound.projections.reader import ContainerView
from rewound.projections.summaries import SummaryTry

_SOURCES, _SUMMARIES = b"\0", b"\1"
"""What the place of a job in the list begins with: sources come first."""


@answers(q.Jobs)
def list_jobs(asked: q.Jobs, asking: Asking) -> JobList:
    """Sources whose facts are still to be derived, by id, then messages that could not be summed
    up; the counts are of all of them."""
    view = asking.views.container(asking.home())
    limit, notes = bounded(asked.limit)
    secret = view.log.key(view.id)
    cursor = cursors.read(asked, secret)
    when = paged(view, asked, asking.now_us, cursor)
    hidden = {ref for ref, _ in view.hidden_items()}
    within = Within(view, asked.scope, when.at)
    found = [
        (ref, job) for ref, job in view.all_jobs(when.at) if ref not in hidden and within.item(ref)
    ]
    tries = [
        (ref, row.state)
        for row in view.all_unsummarised(when.at)
        if (ref := Ref(Kind.MESSAGE, row.id)) not in hidden and within.item(ref)
    ]
    present = when.moment.as_of is None
    due = waiting(view, asking.rhythm, asking.now_us) if present else {}
    states = Counter([*(job.state for _, job in found), *(tried.state for _, tried in tries)])
    listed: list[tuple[bytes, JobRow | SummaryTry]] = [
        *((_SOURCES + ref.key(), job) for ref, job in found),
        *((_SUMMARIES + ref.key(), tried) for ref, tried in tries),
    ]
    after = cursor.after if cursor else b""
    later = [each for each in listed if each[0] > after]
    page, more = later[:limit], len(later) > limit
    last = cursors.Cursor(when.at, when.now_us, page[-1][0]) if more else None
    return JobList(
        container=asking.name,
        pending=states[JobState.PENDING],
        failed=states[JobState.FAILED],
        parked=states[JobState.PARKED],
        unembedded=sum(1 for _ in unembedded(view, hidden=True)),
        unjudged=_unjudged(view, when.at, hidden, within),
        jobs=tuple(_listed(place, row, due) for place, row in page),
        waiting=sum(ref in due for ref, _ in found),
        total=len(listed),
        has_more=more,
        cursor=None if last is None else cursors.write(last, asked, secret),
        moment=when.moment,
        notes=notes,
    )


def _listed(place: bytes, row: JobRow | SummaryTry, due: Mapping[Ref, int]) -> Job:
    ref = Ref(Kind(place[1]), place[2:])
    return _job(ref, row, due.get(ref)) if isinstance(row, JobRow) else _try(ref, row)


def _unjudged(view: ContainerView, at: int, hidden: set[Ref], within: Within) -> int:
    """Facts to be compared with those before them, that are there and may be seen."""
    refs = (Ref(Kind.FACT, fact) for fact, _ in view.unjudged(at))
    return sum(ref not in hidden and within.item(ref) for ref in refs)


def _job(ref: Ref, job: JobRow, due_us: int | None) -> Job:
    return Job(
        source=str(ref),
        kind="document" if ref.kind is Kind.DOCUMENT else "message",
        state=job.state.name.lower() if due_us is None else "waiting",
        due_at=None if due_us is None else show_us(due_us),
        attempts=job.attempts,
        why=None if job.why is None else job.why.name.lower().replace("_", " "),
        retry_at=None if job.retry_at is None else show_us(job.retry_at),
    )


def _try(ref: Ref, tried: SummaryTry) -> Job:
    return Job(
        source=str(ref),
        kind="summary",
        state=tried.state.name.lower(),
        attempts=tried.attempts,
        why=tried.why.name.lower().replace("_", " "),
        retry_at=None if tried.retry_at is None else show_us(tried.retry_at),
    )
