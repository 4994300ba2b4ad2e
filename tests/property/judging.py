"""What judging brings about: verdicts of a worker, a person's labels, fits, and what follows.

Outcomes are drawn at random; what follows from them is appended as the product's writers append it:
the one valid later ends the other, a repeat lies where its fact begins, what no longer follows is
lifted, and causes are such that nothing is ended by a fact that is gone.
"""

from collections.abc import Iterator

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Sealed
from rewound.eventlog.ids import EventId, Kind, show
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Draft
from tests.property.choices import Choices, chance, one
from tests.property.desk import Desk, event_id, fact_id, ref_of, rules

DECIDED = tuple(outcome for outcome in e.Outcome if outcome is not e.Outcome.REVIEW)
OUTCOMES = (*e.Outcome, *(e.Outcome.DUPLICATE,) * 3, e.Outcome.UPDATES)
"""Repeats are few otherwise: most facts have ended, or have tags that the other has not."""
PAIRS = 3
STATING = (e.FactRemembered, e.FactExtracted, e.FactEdited)


def judge(c: Choices, desk: Desk) -> list[Draft] | None:
    """A fact that nothing judged yet, compared with some that were stated before it."""
    waiting = [fact for fact in desk.shown("facts") if fact in desk.dump["unjudged"]]
    return verdict(c, desk, one(c, waiting)) if waiting else None


def rejudge(c: Choices, desk: Desk) -> list[Draft] | None:
    """Any fact judged, maybe again; what followed from the last time does so no more."""
    shown = desk.shown("facts")
    return verdict(c, desk, one(c, shown)) if shown else None


def verdict(c: Choices, desk: Desk, new: str) -> list[Draft]:
    cause = stating(desk, new)
    place = desk.positions[cause]
    older = [
        fact
        for fact in desk.shown("facts")
        if fact != new and desk.positions[stating(desk, fact)] < place
    ]
    olds = list(dict.fromkeys(one(c, older) for _ in range(c.below(PAIRS + 1)) if older))
    pairs = [(old, one(c, OUTCOMES)) for old in olds]
    judged = EventId(desk.new_id())
    event, bodies = _judged(c, desk, new, pairs)
    drafts = [Draft(event, bodies, (cause,), event_id=judged)]
    before = desk.dump["verdicts"].get(new)
    for old, *_ in before["pairs"] if before else ():
        drafts += lifted(desk, new, old, (judged,))
    for old, outcome in pairs:
        alone = outcome is not e.Outcome.DUPLICATE or not any(
            other in (e.Outcome.UPDATES, e.Outcome.CORRECTS, e.Outcome.DUPLICATE)
            for each, other in pairs
            if each != old
        )
        if alone:
            drafts += follows(desk, new, old, outcome, judged)
    return drafts


def _judged(
    c: Choices, desk: Desk, new: str, pairs: list[tuple[str, e.Outcome]]
) -> tuple[e.FactsJudged, list[Sealed]]:
    bodies = desk.bodies()
    found: list[e.Pair] = []
    for old, outcome in pairs:
        leaning = one(c, DECIDED) if outcome is e.Outcome.REVIEW else outcome
        found.append(e.Pair(fact_id(old), outcome, c.below(1000), leaning))
    evidence = bodies.value([{f"cosineq{240 + c.below(9)}": c.below(1000)} for _ in pairs])
    policy = [event_id(row["event"]) for row in desk.dump["policies"].values()]
    event = e.FactsJudged(
        fact_id(new), tuple(found), policy[0] if policy else None, rules(bodies), evidence
    )
    return event, bodies.sealed


def label(c: Choices, desk: Desk) -> list[Draft] | None:
    """A person's word on a pair, most often one left open; what follows from it now holds."""
    judged = [r for r in desk.of_type(e.FactsJudged) if len(r.event.refers()) > 1]
    if not judged:
        return None
    waiting = {row["at"] for row in desk.dump["reviews"].values()}
    left_open = [r for r in judged if r.position in waiting]
    recorded = one(c, left_open if left_open and chance(c, 60) else judged)
    event = recorded.event
    assert isinstance(event, e.FactsJudged)
    old, outcome = one(c, event.pairs).old, one(c, DECIDED)
    told = EventId(desk.new_id())
    given = e.LabelGiven(recorded.envelope.event_id, event.fact, old, outcome)
    new, former = show(Kind.FACT, event.fact), show(Kind.FACT, old)
    changes = [
        *lifted(desk, new, former, (told,)),
        *follows(desk, new, former, outcome, told, fresh=False),
    ]
    return [Draft(given, (), (), event_id=told), *changes]


def refit(c: Choices, desk: Desk) -> list[Draft] | None:
    """A policy fitted from the labels, and pairs without one that it rules otherwise."""
    labels = tuple(r.envelope.event_id for r in desk.of_type(e.LabelGiven))
    if not labels:
        return None
    fitted = EventId(desk.new_id())
    bodies = desk.bodies()
    parameters = bodies.piece(f"weight {c.below(9)}")
    event = e.PolicyFitted(desk.driver.container(desk.name), parameters, labels)
    drafts = [Draft(event, bodies.sealed, labels, event_id=fitted)]
    unlabelled = [
        (new, old)
        for new, row in desk.dump["verdicts"].items()
        for old, *_ in row["pairs"]
        if old not in row["labels"]
    ]
    for new, old in unlabelled:
        if chance(c, 40):
            drafts += lifted(desk, new, old, (fitted,))
            drafts += follows(desk, new, old, one(c, DECIDED), fitted, fresh=False)
    return drafts


# --- what follows


def follows(
    desk: Desk, new: str, old: str, outcome: e.Outcome, cause: EventId, *, fresh: bool = True
) -> Iterator[Draft]:
    """What an outcome of a pair brings about; nothing where either is gone or forgotten.

    `fresh`: the cause is the judging itself, and goes with the new fact.
    """
    facts, shown = desk.dump["facts"], desk.shown("facts")
    if not {new, old} <= set(shown):
        return
    if outcome is e.Outcome.EXTENDS:
        causes = (cause, stating(desk, old), *(() if fresh else (stating(desk, new),)))
        yield Draft(e.FactsLinked(fact_id(new), fact_id(old)), (), causes)
        return
    by, ends, corrects = new, old, outcome is e.Outcome.CORRECTS
    at = Instant(facts[new]["valid_from"])
    if outcome is e.Outcome.UPDATES:
        if facts[old]["valid_from"] > facts[new]["valid_from"]:
            by, ends = old, new
        at = Instant(facts[by]["valid_from"])
    elif outcome is e.Outcome.DUPLICATE:
        repeated = said_by(desk, old)
        if repeated is None or repeated == new:
            return
        by, ends = repeated, new
    elif not corrects:
        return
    repeats = outcome is e.Outcome.DUPLICATE
    chain = [ends] if repeats else [f for f in before(desk, ends) if f != by and f in shown]
    event = e.FactSuperseded(
        fact_id(by), tuple(fact_id(each) for each in chain), at, corrects, repeats
    )
    yield Draft(event, (), (cause,) if fresh and by == new else (cause, stating(desk, by)))


def said_by(desk: Desk, old: str) -> str | None:
    """What a duplicate of this fact repeats: it, or what it repeats itself."""
    ended = desk.dump["facts"][old]["ended"]
    if ended is None:
        return old
    by = ended["by"] if ended["repeats"] else None
    return by if by in desk.shown("facts") else None


def before(desk: Desk, fact: str) -> list[str]:
    """The fact and all that it took the place of, nearest first, with what repeats them."""
    found: list[str] = []
    waiting = [fact]
    while waiting:
        item = waiting.pop(0)
        row = desk.dump["facts"].get(item)
        if item not in found and row is not None:
            found.append(item)
            waiting += [*row["supersedes"], *row["repeated_by"]]
    return found


def lifted(desk: Desk, new: str, old: str, causes: tuple[EventId, ...]) -> Iterator[Draft]:
    """Takes away what holds between two facts: endings either way, repeats, a link."""
    pair = {fact_id(new), fact_id(old)}
    for r in desk.of_type(e.FactSuperseded):
        event = r.event
        assert isinstance(event, e.FactSuperseded)
        if {event.by, event.ends[0]} == pair or (event.repeats and event.ends[0] == fact_id(new)):
            ending = r.envelope.event_id
            yield Draft(e.FactReinstated(event.ends, ending, event.by), (), causes)
    if old in desk.dump["facts"].get(new, {}).get("extends", ()):
        off = e.FactsLinked(fact_id(new), fact_id(old), e.Outcome.DISTINCT)
        yield Draft(off, (), causes)


def stating(desk: Desk, fact: str) -> EventId:
    """The event that first states a fact, of those that hold."""
    return desk.ledger.asserting(ref_of(fact), *STATING)[0].envelope.event_id
