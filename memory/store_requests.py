"""Requests about the store as a whole. They run in the caller's thread and can take long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rewound.eventlog.errors import InvalidInput, ReadOnly, StoreBusy
from rewound.eventlog.ids import Kind, Ref, show
from rewound.eventlog.instants import show_us
from rewound.eventlog.verify import head_token
from rewound.eventlog.verify import verify as verify_log
from rewound.memory import requests as q
from rewound.memory.claims import is_shown
from rewound.memory.drafting import NO_EXTRACTOR
from rewound.memory.engine import Engine
from rewound.memory.fitting import fit
from rewound.memory.managing_nodes import nodes
from rewound.memory.reembedding import reembed, switch_of
from rewound.memory.rejudging import rejudge
from rewound.memory.replaying import replay_store
from rewound.memory.replies import Accepted, Finding, Rebuilt, Reply, Sealed, Verified, Working
from rewound.memory.waiting import waiting
from rewound.projections.catalog import VERSIONS
from rewound.projections.jobs import JobState
from rewound.projections.rebuild import rebuild as rebuild_views

if TYPE_CHECKING:
    from rewound.projections.views import ViewReader

COUNTED_MAX = 10_000
"""Waiting facts that are counted one by one."""

_FINDINGS_MAX = 200


def verify(request: q.Verify, engine: Engine) -> Verified:
    """Check chains, indexes and bodies of the whole log. Seals first, unless nothing may be written
    or an expected head is to be found."""
    if engine.readonly_reason is None:
        engine.seal()
    with engine.log.reading() as log:
        report = verify_log(log, expect=request.expect)
    return Verified(
        ok=report.ok,
        events=report.events,
        bodies=report.bodies,
        erased=report.erased,
        head=report.head,
        expected=report.expected,
        findings=tuple(
            Finding(
                container=show(Kind.CONTAINER, found.container) if found.container else "",
                position=found.position,
                problem=found.problem,
            )
            for found in report.findings[:_FINDINGS_MAX]
        ),
        notes=(*report.notes, "the views are not looked at: rebuild folds them anew and compares"),
    )


def seal(request: q.Seal, engine: Engine) -> Sealed:
    sealed = engine.seal()
    with engine.log.reading() as log:
        return Sealed(head=head_token(log), containers=sealed.containers)


def accept_clock(request: q.AcceptClock, engine: Engine) -> Accepted:
    return Accepted(recorded_at=show_us(engine.accept_clock()))


def rebuild(request: q.Rebuild, engine: Engine) -> Rebuilt:
    """Raises InvalidInput for a name that is no view."""
    unknown = [name for name in request.views if name not in VERSIONS]
    if unknown:
        raise InvalidInput(
            f"there is no view of that name; the views are {', '.join(sorted(VERSIONS))}",
            field="views",
        )
    if engine.readonly_reason is not None:
        raise ReadOnly(engine.readonly_reason)
    done = rebuild_views(engine.views, request.views, cancelled=lambda: engine.closing)
    if done.equal is None:
        raise StoreBusy("the rebuild was given up because the store closes; nothing has changed")
    notes = () if done.equal else ("the new rows differ from the old ones, which are gone",)
    return Rebuilt(views=done.views, events=done.events, equal=done.equal, notes=notes)


def work(request: q.Workers, engine: Engine) -> Working:
    """Pause or resume the workers, or wait for them; how they stand after that."""
    workers = engine.workers
    notes: list[str] = []
    if workers is None or workers.off:
        notes.append("no extractor and no embedder is set: there is nothing that could work")
    elif request.action == "pause":
        workers.pause()
    elif request.action == "resume":
        workers.resume()
    elif request.action == "wait" and not workers.run_until_idle(request.timeout_s):
        why = "they are paused" if workers.paused else "there is more to do, or a step has failed"
        notes.append(f"the waiting ended before the work did: {why}")
    if engine.readonly_reason is not None:
        notes.append(f"nothing is done for now: {engine.readonly_reason}")
    if workers is not None and not workers.off and engine.extractor is None:
        notes.append(NO_EXTRACTOR)
    counts: Counter[JobState] = Counter()
    quiet = 0
    with engine.reading() as views:
        for container in views.waiting("jobs"):
            view = views.container(container)
            counts.update(job.state for _, job in view.job_briefs())
            quiet += len(waiting(view, engine.rhythm, engine.clock.now_us()))
        counts.update(_unsummarised(views))
        unjudged = 0 if engine.judge is None else _unjudged(views)
        without_vector = views.index.embeddings.waiting_count()
        switch = switch_of(views.index.embeddings.models, engine.meaning.model, engine.switch)
    return Working(
        state="off" if workers is None else workers.state,
        extractor=engine.extractor,
        embedder=engine.meaning.model or None,
        pending=counts[JobState.PENDING],
        failed=counts[JobState.FAILED],
        parked=counts[JobState.PARKED],
        unembedded=without_vector,
        judge=engine.judge,
        unjudged=unjudged,
        waiting=quiet,
        switch=switch,
        notes=tuple(notes),
    )


def _unsummarised(views: ViewReader) -> Iterator[JobState]:
    """How attempts stand at messages that could not be summed up, but for those forgotten."""
    for view in map(views.container, views.waiting("unsummarised")):
        for row in view.all_unsummarised():
            if view.hidden(Ref(Kind.MESSAGE, row.id)) is None:
                yield row.state.state


def _unjudged(views: ViewReader) -> int:
    """Facts that wait to be compared. Those that are forgotten wait too, but for their restoring:
    they are left out unless there are so many that it would take long to tell."""
    count = views.waiting_count("unjudged")
    if count > COUNTED_MAX:
        return count
    each = (views.container(container) for container in views.waiting("unjudged"))
    return sum(is_shown(view, fact) for view in each for fact, _ in view.unjudged())


STORE_REQUESTS: dict[type[q.Request], Callable[[Any, Engine], Reply]] = {
    q.Verify: verify,
    q.Seal: seal,
    q.AcceptClock: accept_clock,
    q.Rebuild: rebuild,
    q.Reembed: reembed,
    q.Fit: fit,
    q.Rejudge: rejudge,
    q.Replay: replay_store,
    q.Workers: work,
    q.Nodes: nodes,
}
"""Request -> what answers it."""
