"""Judgements and what follows from them, recorded as the product does it, for reads to be tested.

judged = judge(store, new, [(old, Outcome.UPDATES, 930)])
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rewound.eventlog import events as e
from rewound.eventlog.clock import SystemClock
from rewound.eventlog.events import Outcome
from rewound.eventlog.ids import EventId, FactId, Kind, parse, show
from rewound.eventlog.instants import Instant
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Draft
from tests.oracle.story import CountedIds
from tests.unit.given import HandClock, Store

Found = tuple[str, Outcome, int]
"""An older fact, what the pair came to, and how surely (thousandths)."""

JUDGE = "features/1"
LEANING = Outcome.UPDATES
"""What every undecided pair of these tests leans to."""


@contextmanager
def opened(data: Path, name: str = "default") -> Iterator[Store]:
    """A store on disk that no process owns, to record into as a worker would."""
    clock, ids = HandClock(SystemClock().now_us()), CountedIds(1 << 100)
    log = LmdbLog(data / "log", clock=clock, ids=ids)
    store = Store(log, data, clock, ids, name)
    try:
        yield store
    finally:
        store.engine.close()
        log.close()


def fact_id(shown: str) -> FactId:
    return FactId(parse(shown, Kind.FACT))


def event_id(shown: str) -> EventId:
    return EventId(parse(shown, Kind.EVENT))


def stating(store: Store, fact: str) -> EventId:
    """The event that states a fact."""
    return event_id(store.get(fact, include_forgotten=True).event)


def judge(store: Store, new: str, found: Sequence[Found], leaning: Outcome = LEANING) -> str:
    """The judging event of a fact, with what follows from each pair; its id. `leaning` is what the
    undecided ones lean to."""
    judged = EventId(store.ids.new())
    bodies = store.writer()
    pairs = tuple(
        e.Pair(fact_id(old), outcome, sure, leaning if outcome is Outcome.REVIEW else outcome)
        for old, outcome, sure in found
    )
    evidence = [{"cosine": 800 + number, "words": 500} for number in range(len(pairs))]
    event = e.FactsJudged(
        fact_id(new),
        pairs,
        judge=bodies.piece(JUDGE),
        evidence=bodies.value(evidence) if pairs else None,
    )
    drafts = [Draft(event, bodies.sealed, (stating(store, new),), event_id=judged)]
    for old, outcome, _ in found:
        drafts += follow(store, new, old, outcome, judged)
    return show(Kind.EVENT, store.record(drafts)[0].envelope.event_id)


def follow(store: Store, new: str, old: str, outcome: Outcome, cause: EventId) -> list[Draft]:
    """What follows from one pair."""
    with store.view() as view:
        row = view.fact(fact_id(new))
        assert row is not None
        at = Instant(row.state.valid_from)
    match outcome:
        case Outcome.UPDATES | Outcome.CORRECTS:
            corrects = outcome is Outcome.CORRECTS
            event: e.Event = e.FactSuperseded(fact_id(new), (fact_id(old),), at, corrects)
        case Outcome.DUPLICATE:
            event = e.FactSuperseded(fact_id(old), (fact_id(new),), at, repeats=True)
        case Outcome.EXTENDS:
            event = e.FactsLinked(fact_id(new), fact_id(old))
        case _:
            return []
    return [Draft(event, (), (cause,))]


def label(store: Store, judged: str, new: str, old: str, outcome: Outcome) -> str:
    """A person's word on a pair, without what follows from it; the event's id."""
    given = e.LabelGiven(event_id(judged), fact_id(new), fact_id(old), outcome)
    (recorded,) = store.record([Draft(given)])
    return show(Kind.EVENT, recorded.envelope.event_id)
