"""Requests about the store as a whole. They run in the caller's thread and can take long."""

from collections.abc import Callable
from typing import Any

from rewound.eventlog.errors import InvalidInput, ReadOnly, StoreBusy
from rewound.eventlog.ids import Kind, show
from rewound.eventlog.instants import show_us
from rewound.eventlog.verify import head_token
from rewound.eventlog.verify import verify as verify_log
from rewound.memory import requests as q
from rewound.memory.engine import Engine
from rewound.memory.replaying import replay_store
from rewound.memory.replies import Accepted, Finding, Rebuilt, Reply, Sealed, Verified
from rewound.projections.catalog import VERSIONS
from rewound.projections.rebuild import rebuild as rebuild_views

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


STORE_REQUESTS: dict[type[q.Request], Callable[[Any, Engine], Reply]] = {
    q.Verify: verify,
    q.Seal: seal,
    q.AcceptClock: accept_clock,
    q.Rebuild: rebuild,
    q.Replay: replay_store,
}
"""Request -> what answers it."""
