"""The graph that facts make: entities, and what facts say of two of them.

Nothing of it is stored: a fact is an edge between any two names in it, and facts are found by the
names in them. So the graph has the moment, the scope and the conditions of the mask that the facts
are seen through, and no state of its own to go wrong.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rewound.projections.entries import folded
from rewound.projections.naming import Named, Naming


class Link(NamedTuple):
    """What one fact says of two names (folded): `relation` holds between them in that direction,
    or without one both are merely named."""

    source: str
    target: str
    fact: Named
    relation: str | None = None


class Near(NamedTuple):
    """An entity (folded), how many steps away; `literal` when it is a value that names nothing."""

    name: str
    distance: int
    literal: bool = False


class Part(NamedTuple):
    """A part of the graph: entities nearest first, links in the order that their facts were met.

    `facts` are all that were read for it, `more` says that there was more than could be.
    """

    entities: tuple[Near, ...]
    links: tuple[Link, ...]
    facts: tuple[Named, ...]
    more: bool


class Bounds(NamedTuple):
    """At most so many entities and links in a part, and facts read for it."""

    entities: int
    links: int
    facts: int


def links_of(fact: Named, name: str) -> Iterator[Link]:
    """What a fact says of a name (folded) and every other one in it."""
    subject, value = folded(fact.subject or ""), folded(fact.value or "")
    stated = fact.attribute is not None and bool(subject and value) and subject != value
    if stated and name in (subject, value):
        yield Link(subject, value, fact, fact.attribute)
    order = {key: number for number, key in enumerate(fact.names)}
    for other in order:
        if other == name or name not in order or (stated and {name, other} == {subject, value}):
            continue
        first, second = (name, other) if order[name] < order[other] else (other, name)
        yield Link(first, second, fact)


def other_end(link: Link, name: str) -> str:
    return link.target if link.source == name else link.source


# --- what is around an entity


def neighbourhood(naming: Naming, entity: str, depth: int, bounds: Bounds) -> Part:
    """Entities up to `depth` steps from one, and the links that lead on from those nearer than
    that. Of many equally near the ones that most facts tie in are kept."""
    start = folded(entity)
    found = {start: Near(start, 0)}
    links: dict[tuple[str, str, bytes], Link] = {}
    facts: dict[bytes, Named] = {}
    frontier, more = [start], False
    for distance in range(1, depth + 1):
        met: Counter[str] = Counter()
        proper: set[str] = set()
        for left, name in zip(range(len(frontier), 0, -1), frontier, strict=True):
            share = max(1, (bounds.facts - naming.read) // left)
            these, cut = naming.facts(naming.ids(name), share)
            more |= cut
            for fact in these:
                facts.setdefault(fact.id, fact)
                proper |= fact.names.keys()
                for link in links_of(fact, name):
                    links.setdefault((link.source, link.target, fact.id), link)
                    met[other_end(link, name)] += 1
        fresh = sorted(met.keys() - found.keys(), key=lambda name: (-met[name], name))
        room = bounds.entities - len(found)
        more |= len(fresh) > room
        for name in fresh[:room]:
            found[name] = Near(name, distance, name not in proper)
        frontier = [name for name in fresh[:room] if name in proper]
    shown = [link for link in links.values() if link.source in found and link.target in found]
    more |= len(shown) > bounds.links
    return Part(tuple(found.values()), tuple(shown[: bounds.links]), tuple(facts.values()), more)


# --- how two entities hang together


class _Side:
    """What can be reached from one end: each entity with its steps, and the one before it."""

    def __init__(self, start: str) -> None:
        self.steps = {start: 0}
        self.before: dict[str, str] = {}
        self.frontier = [start]

    def grow(self, naming: Naming, ends: set[str], facts_max: int) -> bool:
        """One step further; whether facts were left out. No way leads through a literal value."""
        fresh: dict[str, str] = {}
        more = False
        for name in self.frontier:
            these, cut = naming.facts(naming.ids(name), facts_max - naming.read)
            more |= cut
            for fact in these:
                for link in links_of(fact, name):
                    other = other_end(link, name)
                    if other not in self.steps and (other in fact.names or other in ends):
                        fresh.setdefault(other, name)
        reached = max(self.steps.values()) + 1
        self.before |= fresh
        self.steps |= dict.fromkeys(fresh, reached)
        self.frontier = sorted(fresh)
        return more

    def way(self, name: str) -> list[str]:
        """From the start to an entity."""
        way = [name]
        while way[-1] in self.before:
            way.append(self.before[way[-1]])
        return way[::-1]


def shortest(naming: Naming, entity: str, to: str, facts_max: int) -> tuple[list[str], bool]:
    """The names (folded) of a shortest path, none where there is none; and whether the search had
    to stop short, so that there may be a (shorter) one after all.

    Searched from both ends, each time one whole step from the end with less to look at; so the
    first entities that both reach lie on a shortest path, and of those the first in order counts.
    """
    here, there = _Side(folded(entity)), _Side(folded(to))
    ends, more = {*here.steps, *there.steps}, False
    while True:
        shared = here.steps.keys() & there.steps.keys()
        if shared:
            middle = min(shared, key=lambda each: (here.steps[each] + there.steps[each], each))
            return [*here.way(middle), *there.way(middle)[-2::-1]], more
        if not (here.frontier and there.frontier):
            return [], more
        side = min(here, there, key=lambda each: len(each.frontier))
        more |= side.grow(naming, ends, facts_max)


def along(naming: Naming, way: Sequence[str], bounds: Bounds) -> Part:
    """A path with the links between each two neighbours on it."""
    links: list[Link] = []
    facts: dict[bytes, Named] = {}
    more = False
    share = max(1, bounds.facts // max(1, len(way) - 1))
    for one, other in pairwise(way):
        both = set(naming.ids(other))
        ids = [raw for raw in naming.ids(one) if raw in both]
        these, cut = naming.facts(ids, share)
        more |= cut
        for fact in these:
            between = [each for each in links_of(fact, one) if other_end(each, one) == other]
            links += between
            facts |= {fact.id: fact} if between else {}
    more |= len(links) > bounds.links
    proper = {name for fact in facts.values() for name in fact.names}
    entities = tuple(Near(name, n, bool(n) and name not in proper) for n, name in enumerate(way))
    return Part(entities, tuple(links[: bounds.links]), tuple(facts.values()), more)
