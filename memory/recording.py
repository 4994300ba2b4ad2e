"""Deciding what a worker found out: is what it was drawn from still as the worker saw it?

A model call may take minutes. Meanwhile a person may have forgotten, erased or undone what the
worker read; then nothing of its result is recorded, and the job (if there still is one) is found
pending again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, NotFound
from rewound.eventlog.ids import ContainerId, EventId, Kind, Ref, show
from rewound.eventlog.log import Draft
from rewound.memory.deciding import Deciding, Plan, Record
from rewound.memory.unsummarised import check_summed

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

_SHOWN_FACTS = (e.FactsJudged, e.FactSuperseded, e.FactsLinked)
"""Events that a hidden new fact must not bring about."""


def decide_record(record: Record, deciding: Deciding) -> Plan:
    """The worker's events as they are, or an error that says what is no longer so."""
    home = deciding.home()
    view = deciding.views.container(home)
    drafts = [d if d.causes else d._replace(causes=record.causes) for d in record.drafts]
    fresh = {draft.event_id for draft in drafts if draft.event_id is not None}
    stated = {ref for draft in drafts for ref in draft.event.creates()}
    for cause in dict.fromkeys(cause for draft in drafts for cause in draft.causes):
        if cause not in fresh:
            _check_cause(deciding, view, home, cause)
    for draft in drafts:
        _check_draft(view, draft, stated, again=record.again)
    return Plan(drafts)


def _check_cause(
    deciding: Deciding, view: ContainerView, home: ContainerId, cause: EventId
) -> None:
    shown = show(Kind.EVENT, cause)
    found = deciding.log.find(cause)
    recorded = deciding.log.read(home, found[1]) if found and found[0] == home else None
    if recorded is None:
        raise NotFound(f"the cause {shown} is not in this container", ids=(shown,))
    if not view.effectivity().holds(recorded):
        raise Conflict(
            f"the cause {shown} was undone meanwhile: nothing was recorded", ids=(shown,)
        )


def _check_draft(view: ContainerView, draft: Draft, stated: set[Ref], *, again: bool) -> None:
    """Check what an event was drawn from, but for items that the same record states."""
    event = draft.event
    seen: tuple[Ref, ...] = ()
    if isinstance(event, e.FactExtracted):
        seen = tuple(dict.fromkeys(span.source for span in event.sources))
        for span in event.sources:
            _check_span(view, span)
    elif isinstance(event, e.SeenAgain):
        if view.hidden(event.item) is not None:
            _check_shown(view, event.item)
        for span in event.sources:
            _check_span(view, span)
    elif isinstance(event, e.ExtractionFinished | e.ExtractionFailed):
        seen = (event.source,)
        if event.source not in stated:
            _check_shown(view, event.source)
            if not again:
                _check_job(view, event)
    elif isinstance(event, e.SummaryWritten | e.SummaryFailed):
        seen = tuple(Ref(Kind.MESSAGE, raw) for raw in event.messages)
        check_summed(view, event)
    elif isinstance(event, _SHOWN_FACTS):
        seen = tuple(ref for ref in event.refers() if ref.kind is Kind.FACT)
    for ref in seen:
        if ref not in stated:
            _check_shown(view, ref)


def _check_shown(view: ContainerView, ref: Ref) -> None:
    if view.hidden(ref) is not None:
        raise Conflict(f"{ref} was forgotten meanwhile: nothing was recorded", ids=(str(ref),))
    if view.row(ref) is None:
        raise NotFound(f"{ref} is no longer there: nothing was recorded", ids=(str(ref),))


def _check_job(view: ContainerView, event: e.ExtractionFinished | e.ExtractionFailed) -> None:
    """Each text is read once: whoever comes second, a former owner's worker perhaps, is refused
    with all that it drew. The same for a failure that another attempt has come after."""
    job = view.job(event.source)
    if isinstance(event, e.ExtractionFinished):
        wanted = () if job is None else job.wanted
        if set(event.covered).issubset(wanted):
            return
        what = "has been read"
    else:
        if job is not None and job.attempts < event.attempt:
            return
        what = "has been read" if job is None else "has been tried"
    raise Conflict(
        f"{event.source} {what} or changed meanwhile: nothing was recorded",
        ids=(str(event.source),),
    )


def _check_span(view: ContainerView, span: e.Span) -> None:
    """A masked span is never extracted from again."""
    for start, end in view.mask(span.source, span.place):
        if span.start < end and start < span.end:
            raise Conflict(
                f"a part of {span.source} was forgotten meanwhile: nothing was recorded",
                ids=(str(span.source),),
            )
