"""The oracle: all events of one container folded into plain dicts, slowly and obviously.

Written from the semantics alone, by another hand than the views. Each row is computed on its own
by filtering all effective events; nothing is kept between calls. `oracle` is the present,
`oracle_at` a past position under today's overlay of hidden items and masked spans.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded
from tests.oracle.docs import container, document, jobs, message, passage
from tests.oracle.effect import BodyOf
from tests.oracle.facts import fact
from tests.oracle.judged import policies, reviews, unjudged, verdict
from tests.oracle.ledger import Ledger, place_name
from tests.oracle.summed import summaries, unsummarised

Row = dict[str, Any]
Dump = dict[str, Any]
Spans = list[list[int]]


def oracle(
    events: Sequence[Recorded],
    body: BodyOf,
    *,
    by_tag: bool = False,
    whole: Sequence[Recorded] | None = None,
) -> Dump:
    """The canonical dump of a container's present state."""
    ledger = Ledger(events, body, by_tag=by_tag, whole=whole)
    return {
        "containers": _rows(ledger, Kind.CONTAINER, container),
        "documents": _rows(ledger, Kind.DOCUMENT, document),
        "messages": _rows(ledger, Kind.MESSAGE, message),
        "passages": _rows(ledger, Kind.PASSAGE, passage),
        "facts": _rows(ledger, Kind.FACT, fact),
        "hidden": hidden(ledger),
        "masks": masks(ledger),
        "jobs": jobs(ledger),
        "verdicts": _rows(ledger, Kind.FACT, verdict),
        "reviews": reviews(ledger),
        "policies": policies(ledger),
        "unjudged": unjudged(ledger),
        "summaries": summaries(ledger),
        "unsummarised": unsummarised(ledger),
    }


def oracle_at(events: Sequence[Recorded], body: BodyOf, position: int) -> Dump:
    """The rows as folded at that position; what is hidden and masked is today's."""
    then = oracle([recorded for recorded in events if recorded.position <= position], body)
    today = Ledger(events, body)
    return {**then, "hidden": hidden(today), "masks": masks(today)}


def _rows(ledger: Ledger, kind: Kind, make: Callable[[Ledger, Ref], Row | None]) -> dict[str, Row]:
    found = {str(ref): make(ledger, ref) for ref in ledger.named(kind)}
    return {item: row for item, row in found.items() if row is not None}


def erased_items(events: Sequence[Recorded]) -> set[str]:
    """Items that no read shows again, `include_forgotten` or not."""
    return {
        str(ref)
        for recorded in events
        if isinstance(recorded.event, e.ContentErased)
        for ref in recorded.event.items
    }


def merged(spans: Spans) -> Spans:
    """Spans in order, those that overlap or touch joined."""
    joined: Spans = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return joined


def lifts(ledger: Ledger, forgotten: Recorded) -> Iterator[e.Restored]:
    for r in ledger.about(Ref(Kind.EVENT, forgotten.envelope.event_id)):
        if isinstance(r.event, e.Restored) and forgotten.envelope.event_id in r.event.lifts:
            yield r.event


def hidden(ledger: Ledger) -> list[str]:
    hidden = erased_items(ledger.all)
    for r in ledger.held:
        if isinstance(r.event, e.Forgotten):
            shown = {ref for restored in lifts(ledger, r) for ref in restored.shows}
            hidden |= {str(ref) for ref in r.event.hides if ref not in shown}
    return sorted(hidden)


def masks(ledger: Ledger) -> dict[str, Spans]:
    found: dict[str, Spans] = {}
    for r in ledger.held:
        if isinstance(r.event, e.Forgotten):
            lifted = {span for restored in lifts(ledger, r) for span in restored.masks}
            for span in r.event.masks:
                if span not in lifted:
                    found.setdefault(place_name(span.place), []).append([span.start, span.end])
    return {place: merged(spans) for place, spans in found.items()}
