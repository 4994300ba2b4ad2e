"""What a background worker would append: facts drawn from sources, judgements and what follows.

Each job makes drafts whose causes are as the product's workers set them. They go through
`Driver.record`; `None` means: nothing to do.
"""

from collections.abc import Callable

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter, Place
from rewound.eventlog.ids import EventId, FactId, Kind, Ref, parse, parse_any
from rewound.eventlog.log import Draft, Recorded
from tests.oracle.docs import wanted
from tests.oracle.fold import Dump
from tests.oracle.ledger import Ledger
from tests.property.choices import Choices, chance, one
from tests.property.driver import Driver
from tests.property.words import sentence


class Desk:
    """One look at a container: its present rows, its events, and a way to write bodies."""

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver = driver
        self.name = name
        self.dump: Dump = driver.oracle(name, by_tag=True)
        self.ledger = Ledger(driver.events(name), driver.bodies(name), by_tag=True)

    def bodies(self) -> BodyWriter:
        return self.driver.writer()

    def new_id(self) -> bytes:
        return self.driver.ids.new()

    def of_type(self, *types: type[e.Event]) -> list[Recorded]:
        return [r for r in self.ledger.held if isinstance(r.event, types)]

    def shown(self, table: str) -> list[str]:
        return [item for item in self.dump[table] if item not in self.dump["hidden"]]

    def current(self) -> list[str]:
        return [item for item in self.shown("facts") if not self.dump["facts"][item]["ended"]]


def fact_id(shown: str) -> FactId:
    return FactId(parse(shown, Kind.FACT))


def ref_of(shown: str) -> Ref:
    kind, raw = parse_any(shown)
    assert kind is not None
    return Ref(kind, raw)


def rules(bodies: BodyWriter) -> Body:
    return bodies.piece("rules/1")


def unmasked(desk: Desk, place: Place) -> str | None:
    """The text of a place, unless it is erased or partly masked."""
    content = desk.ledger.texts.text(Body(place.slot, b"", at=place.at), place.at)
    masked = f"{place.at}:{place.slot}" in desk.dump["masks"]
    return None if masked else content


def extract(c: Choices, desk: Desk) -> list[Draft] | None:
    """Facts from the texts of one source that are still to be read, and that it is done."""
    pending = [source for source in desk.dump["jobs"] if source not in desk.dump["hidden"]]
    if not pending:
        return None
    source = ref_of(one(c, pending))
    places = sorted(wanted(desk.ledger, source) or ())
    support = desk.ledger.asserting(source, e.DocumentIngested, e.MessageRecorded)
    cause = (support[-1].envelope.event_id,)
    drafts: list[Draft] = []
    facts: list[FactId] = []
    for place in places:
        text = unmasked(desk, place)
        if text is None or chance(c, 20):
            continue
        bodies = desk.bodies()
        span = e.Span(source, place, 0, max(1, len(text) // 2))
        known = again(c, desk, source, span)
        if known is not None and known.item.id not in facts:
            drafts.append(Draft(known, (), cause))
            facts.append(FactId(known.item.id))
            continue
        fact = FactId(desk.new_id())
        statement = e.Statement(bodies.piece(sentence(c)))
        drafts.append(Draft(e.FactExtracted(fact, statement, (span,)), bodies.sealed, cause))
        facts.append(fact)
    bodies = desk.bodies()
    why = e.Why.DONE if facts else e.Why.NOTHING_STATED
    done = e.ExtractionFinished(source, rules(bodies), tuple(facts), tuple(places), why)
    return [*drafts, Draft(done, bodies.sealed, cause)]


def again(c: Choices, desk: Desk, source: Ref, span: e.Span) -> e.SeenAgain | None:
    """A fact whose text the source had lost says the same at another place."""
    ended = [
        item
        for item in desk.shown("facts")
        if desk.dump["facts"][item]["unsaid_at"] is not None
        and desk.dump["facts"][item]["sources"][:1]
        and desk.dump["facts"][item]["sources"][0][0] == str(source)
    ]
    if not ended or chance(c, 30):
        return None
    item = ref_of(one(c, ended))
    support = desk.ledger.asserting(item, e.FactRemembered, e.FactExtracted, e.FactEdited)
    return e.SeenAgain(item, desk.ledger.stated(support[-1]).position, (span,))


def fail(c: Choices, desk: Desk) -> list[Draft] | None:
    if not desk.dump["jobs"]:
        return None
    shown = one(c, list(desk.dump["jobs"]))
    source, parked = ref_of(shown), chance(c, 30)
    support = desk.ledger.asserting(source, e.DocumentIngested, e.MessageRecorded)
    bodies = desk.bodies()
    event = e.ExtractionFailed(
        source,
        rules(bodies),
        desk.dump["jobs"][shown]["attempts"] + 1,
        one(c, (e.Why.CUT_OFF, e.Why.UNREACHABLE)),
        bodies.text("detailq230"),
        None if parked else desk.driver.clock.at + 1_000_000,
        parked,
    )
    return [Draft(event, bodies.sealed, (support[-1].envelope.event_id,))]


def chain(dump: Dump, fact: str) -> list[str]:
    """The fact and all that it took the place of, nearest first."""
    found: list[str] = []
    waiting = [fact]
    while waiting:
        item = waiting.pop(0)
        if item not in found:
            found.append(item)
            waiting += dump["facts"].get(item, {}).get("supersedes", [])
    return found


def judge(c: Choices, desk: Desk) -> list[Draft] | None:
    """A fact judged against another one; what follows is appended with it."""
    open_facts = desk.current()
    if len(open_facts) < 2:
        return None
    new = one(c, open_facts)
    old = one(c, [fact for fact in open_facts if fact != new])
    support = desk.ledger.asserting(ref_of(new), e.FactRemembered, e.FactExtracted, e.FactEdited)
    judged = EventId(desk.new_id())
    outcome = one(c, (e.Outcome.UPDATES, e.Outcome.CORRECTS, e.Outcome.EXTENDS, e.Outcome.DISTINCT))
    bodies = desk.bodies()
    pair = e.Pair(fact_id(old), outcome, 900, bodies.value({"cosine": 1}))
    verdict = e.FactsJudged(fact_id(new), (pair,), None, rules(bodies))
    cause = (support[-1].envelope.event_id,)
    drafts = [Draft(verdict, bodies.sealed, cause, event_id=judged)]
    if outcome in (e.Outcome.UPDATES, e.Outcome.CORRECTS):
        ended = tuple(fact_id(item) for item in chain(desk.dump, old))
        corrects = outcome is e.Outcome.CORRECTS
        drafts.append(Draft(e.FactSuperseded(fact_id(new), ended, None, corrects), (), (judged,)))
    elif outcome is e.Outcome.EXTENDS:
        drafts.append(Draft(e.FactsLinked(fact_id(new), fact_id(old)), (), (judged,)))
    return drafts


def label(c: Choices, desk: Desk) -> list[Draft] | None:
    """A person's label on a verdict."""
    verdicts = desk.of_type(e.FactsJudged)
    if not verdicts:
        return None
    verdict = one(c, verdicts)
    assert isinstance(verdict.event, e.FactsJudged)
    given = e.LabelGiven(
        verdict.envelope.event_id,
        verdict.event.fact,
        verdict.event.pairs[0].old,
        one(c, (e.Outcome.DISTINCT, e.Outcome.UPDATES)),
    )
    return [Draft(given)]


def refit(c: Choices, desk: Desk) -> list[Draft] | None:
    """A policy fitted from labels, and an ending that it lifts."""
    labels = tuple(r.envelope.event_id for r in desk.of_type(e.LabelGiven))
    if not labels:
        return None
    fitted = EventId(desk.new_id())
    bodies = desk.bodies()
    policy = e.PolicyFitted(bodies.value({"weight": c.below(9)}) or rules(bodies), labels)
    drafts = [Draft(policy, bodies.sealed, labels, event_id=fitted)]
    endings = desk.of_type(e.FactSuperseded)
    if endings and chance(c, 80):
        ending = one(c, endings)
        assert isinstance(ending.event, e.FactSuperseded)
        lifted = e.FactReinstated(ending.event.ends, ending.envelope.event_id, ending.event.by)
        drafts.append(Draft(lifted, (), (fitted,)))
    return drafts


Job = Callable[[Choices, Desk], list[Draft] | None]
JOBS: tuple[Job, ...] = (extract, extract, extract, fail, judge, judge, refit)
