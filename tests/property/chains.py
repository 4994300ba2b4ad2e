"""Which version of a fact stands: chains, endings that nothing holds up, pairs left open.

A chain is what versions and repeats connect; nothing is ended by a fact that is not there.
"""

from typing import Any

from rewound.eventlog.ids import Kind, parse, show
from rewound.memory import requests
from tests.oracle.compare import same
from tests.oracle.fold import Dump, erased_items
from tests.oracle.reads import standing
from tests.property.driver import Driver

Facts = dict[str, Any]
OVER = frozenset(("superseded", "corrected", "ended", "expired"))


def connected(facts: Facts, fact: str) -> set[str]:
    """The chain of a fact: all that supersede, repeat or end each other, however far away."""
    links: dict[str, set[str]] = {}
    for item, row in facts.items():
        ended = [row["ended"]["by"]] if row["ended"] else []
        for other in {*row["supersedes"], *row["repeated_by"], *ended} & set(facts):
            links.setdefault(item, set()).add(other)
            links.setdefault(other, set()).add(item)
    found, waiting = {fact}, [fact]
    while waiting:
        fresh = links.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def reached(facts: Facts, fact: str) -> set[str]:
    """What can be come to from a fact by what its own row and theirs name."""
    found, waiting = {fact}, [fact]
    while waiting:
        row = facts[waiting.pop()]
        ended = [row["ended"]["by"]] if row["ended"] else []
        fresh = {*row["supersedes"], *row["repeated_by"], *ended} & set(facts) - found
        found |= fresh
        waiting += fresh
    return found


def chain_law(driver: Driver, name: str, at: int | None = None) -> None:
    """A chain holds what its rows lead to; a repeat comes after what it repeats."""
    dump = driver.oracle(name) if at is None else driver.oracle_at(name, at)
    facts: Facts = dump["facts"]
    with driver.engine.reading() as views:
        view = views.container(driver.container(name))
        for fact in facts:
            raw = parse(fact, Kind.FACT)
            chain = [show(Kind.FACT, row.id) for row in view.chain(raw, at)]
            assert len(chain) == len(set(chain)), f"chains: {chain} names one twice"
            missing, more = reached(facts, fact) - set(chain), set(chain) - connected(facts, fact)
            assert not missing and not more, f"chains: of {fact} {missing} missing, {more} too many"
            _in_order(facts, chain)
            still = [each for each in chain if facts[each]["ended"] is None]
            current = view.current(raw, at)
            found = None if current is None else show(Kind.FACT, current.id)
            assert found == (still[-1] if still else None), f"chains: {found} is current of {chain}"


def _in_order(facts: Facts, chain: list[str]) -> None:
    for place, fact in enumerate(chain):
        ended = facts[fact]["ended"]
        if ended and ended["repeats"] and ended["by"] in chain and not _in_circle(facts, fact):
            after = chain.index(ended["by"]) < place
            assert after, f"chains: {fact} stands before {ended['by']}, which it repeats"


def _in_circle(facts: Facts, fact: str) -> bool:
    """Whether following what a fact repeats leads back to it."""
    seen: list[str] = []
    while fact in facts and fact not in seen:
        seen.append(fact)
        ended = facts[fact]["ended"]
        if not ended or not ended["repeats"]:
            return False
        fact = ended["by"]
    return fact in seen


def held_up_law(driver: Driver, name: str) -> None:
    """What ends a fact, and what a fact adds to, is there: also after undoing it."""
    facts: Facts = driver.dump(name)["facts"]
    for fact, row in facts.items():
        by = row["ended"]["by"] if row["ended"] else None
        assert by is None or by in facts, f"chains: {fact} is ended by {by}, which is gone"
        gone = [each for each in row["extends"] if each not in facts]
        assert not gone, f"chains: {fact} extends {gone}, which are gone"


def standing_law(driver: Driver, name: str) -> None:
    """Each fact is told to stand as it does."""
    dump: Dump = driver.oracle(name)
    hidden = set(dump["hidden"]) | erased_items(driver.events(name))
    now = driver.now_us()
    page = driver.call(requests.List(container=name, include_superseded=True, limit=1000))
    found = {item.id: item.standing.state for item in page.items}
    wanted = {fact: standing(row, now) for fact, row in dump["facts"].items() if fact not in hidden}
    upcoming = {fact for fact, state in found.items() if state == "upcoming"}
    same({f: "current" if f in upcoming else found[f] for f in found}, wanted, "chains: standing")


def reviews_law(driver: Driver, name: str, at: int | None = None) -> None:
    """The pairs that wait for a person are told, but for those with a fact that is hidden or
    over."""
    dump = driver.oracle(name) if at is None else driver.oracle_at(name, at)
    as_of = None if at is None else f"@{at}"
    shown = set(dump["facts"]) - set(dump["hidden"]) - erased_items(driver.events(name))
    now = driver.now_us()
    over = {fact for fact, row in dump["facts"].items() if standing(row, now) in OVER}
    reply = driver.call(requests.Reviews(container=name, limit=1000, as_of=as_of))
    found = {(each.fact, each.old): each.judged for each in reply.reviews}
    wanted = {
        (new, old): dump["verdicts"][new]["event"]
        for new, row in dump["reviews"].items()
        for old in row["old"]
        if {new, old} <= shown - over
    }
    assert found == wanted, f"honesty: reviews {as_of}: {found}, want {wanted}"
    assert reply.total == len(wanted) and not reply.has_more
