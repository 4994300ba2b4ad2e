"""Trying again by hand what failed or was parked: sources, and messages to be summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, NotFound, RewoundError, WrongKind
from rewound.eventlog.ids import NAMES, EventId, Kind, Ref
from rewound.memory import requests as q
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.drafting import Drafting, item
from rewound.memory.fields import BATCH_MAX
from rewound.memory.plurals import so_many
from rewound.memory.replies import Item
from rewound.memory.targets import check_scope, in_scope, named
from rewound.projections.jobs import JobState

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

_OVER = (JobState.FAILED, JobState.PARKED)


@decides(q.Retry)
def retry(command: q.Retry, deciding: Deciding) -> Plan:
    """Let the named sources be read again, or all that failed when none is named.

    Of several ids those that are wrong are refused. Raises NotFound, WrongKind, Conflict, Stale.
    """
    drafting = Drafting(command, deciding)
    if not command.ids:
        return drafting.plan([_again(drafting, ref) for ref in _failed(command, drafting)])
    items: list[Item] = []
    errors: list[RewoundError] = []
    for number, text in enumerate(command.ids):
        try:
            items.append(_named(command, drafting, text, f"ids[{number}]"))
        except (NotFound, WrongKind, Conflict) as error:
            errors.append(error)
            items.append(
                Item(
                    status="refused",
                    kind="source",
                    code=error.code,
                    field=error.field,
                    message=error.message,
                )
            )
    if len(errors) == len(command.ids):
        raise errors[0]
    return drafting.plan(items)


def _failed(command: q.Retry, drafting: Drafting) -> list[Ref]:
    view = drafting.view
    jobs = [ref for ref, job in view.jobs() if job.state in _OVER]
    tries = (Ref(Kind.MESSAGE, row.id) for row in view.all_unsummarised())
    jobs += (ref for ref in tries if view.hidden(ref) is None)
    found = [ref for ref in dict.fromkeys(jobs) if in_scope(view, ref, command.scope)]
    if not found:
        raise NotFound("nothing has failed here: there is nothing to try again")
    if len(found) > BATCH_MAX:
        rest = so_many(len(found) - BATCH_MAX, "more has failed", "more have failed")
        drafting.note(f"{rest}: ask once more for those")
    return found[:BATCH_MAX]


def _named(command: q.Retry, drafting: Drafting, text: str, field: str) -> Item:
    view = drafting.view
    ref = named(view, text, field=field)
    if ref.kind not in (Kind.DOCUMENT, Kind.MESSAGE):
        raise WrongKind(
            f"{ref} is {NAMES[ref.kind]}, but {field} wants a document or a message", field=field
        )
    check_scope(view, ref, command.scope, field=field)
    hidden = view.hidden(ref) is not None
    job = None if hidden else view.job(ref)
    tried = not hidden and ref.kind is Kind.MESSAGE and view.unsummarised(ref.id) is not None
    if not tried and (job is None or job.state not in _OVER):
        what = "is pending already" if job is not None else "has nothing left to be read"
        raise Conflict(f"{ref} {what}: only what failed is tried again", field=field)
    return _again(drafting, ref)


def _again(drafting: Drafting, ref: Ref) -> Item:
    """The source is seen again, as it stands: after that a failure no longer counts.

    Being seen again is support, and a retry is none: so it is caused by the event that brought the
    source, and goes when that is undone.
    """
    drafting.touch(ref)
    row = drafting.view.row(ref)
    assert row is not None, "a job has a source"
    event = e.SeenAgain(ref, row.state.at)
    causes = (_support(drafting.view, ref),)
    return item("done", ref, drafting.add(event, drafting.bodies(), causes=causes))


def _support(view: ContainerView, ref: Ref) -> EventId:
    effectivity = view.effectivity()
    for recorded in view.about(ref):
        if ref in recorded.event.creates() and effectivity.holds(recorded):
            return recorded.envelope.event_id
    raise AssertionError("what is there is supported by an event that holds")
