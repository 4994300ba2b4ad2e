"""What a background worker would append: facts drawn from sources, and failures to draw them.

What a judge and a fit append is in `judging.py`; `JOBS` are all of it. Each job makes drafts whose
causes are as the product's workers set them. They go through `Driver.record`; `None` means: nothing
to do.
"""

from collections.abc import Callable

from rewound.eventlog import events as e
from rewound.eventlog.ids import FactId, Ref
from rewound.eventlog.log import Draft
from tests.oracle.docs import wanted
from tests.property.choices import Choices, chance, one
from tests.property.desk import Desk as Desk
from tests.property.desk import ref_of, rules, unmasked
from tests.property.judging import judge, refit, rejudge
from tests.property.summing import summarise
from tests.property.words import sentence


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


Job = Callable[[Choices, Desk], list[Draft] | None]
JOBS: tuple[Job, ...] = (
    *(extract, extract, extract, fail, summarise, summarise),
    *(judge, judge, judge, judge, rejudge, refit, refit),
)
