"""The answer to a graph question: what is around an entity, or how two of them hang together."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from rewound.eventlog.ids import Kind, Ref, show
from rewound.memory import requests as q
from rewound.memory.answer_items import bounded
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import resolve
from rewound.memory.replies import Edge, Network, Node
from rewound.memory.scoping import Within
from rewound.memory.seeing import narrowed, seen
from rewound.memory.showing import Shower
from rewound.projections import graph
from rewound.projections.entries import folded
from rewound.projections.naming import Named, Naming, Spellings, blacked_out, spellings

_LINKS_PER_ENTITY = 5
_FACTS_PER_ENTITY = 5
_FACTS_ON_THE_WAY = 20
"""Work is bounded by the limit: so many edges shown, facts read, and facts read for a path, for
each entity that may be shown."""
_FACTS_MAX = 2_000
_FACTS_ON_THE_WAY_MAX = 10_000


class _Asked(NamedTuple):
    """A question, and what it is answered from. `over` names what does not hold, but held."""

    question: q.Graph
    naming: Naming
    over: Naming
    shower: Shower
    within: Within


@answers(q.Graph)
def network(asked: q.Graph, asking: Asking) -> Network:
    """What is around an entity: at most `limit` entities, nearest first, those that most facts tie
    in before others, with the edges that lead on from entities less than `depth` steps away.

    With `to` only a shortest path, however long, and what holds between each two neighbours on it.
    Facts that hold now (or at `valid_at`) make the graph, upcoming ones too. The edges of a fact to
    what it extends or took the place of are shown with it, if those may be.
    """
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    limit, notes = bounded(asked.limit)
    now, ever = (
        seen(
            view,
            narrowed(
                view,
                q.Filters(),
                when,
                scope=asked.scope,
                among=(Kind.FACT,),
                superseded=superseded,
                forgotten=asked.include_forgotten,
            ).criteria,
        )
        for superseded in (False, True)
    )
    over = ever.mask & ~now.mask & (ever.columns.valid_from < ever.columns.valid_to)
    given = _Asked(
        asked,
        Naming(view, now.columns, now.mask, when.at),
        Naming(view, ever.columns, over, when.at),
        Shower(view, when, forgotten=asked.include_forgotten),
        Within(view, asked.scope, when.at),
    )
    part, way, told = _part(given, limit)
    spelt = spellings(given.naming.known())
    most = limit * _LINKS_PER_ENTITY
    edges = tuple(islice(_edges(given, part, spelt), most + 1))
    return Network(
        container=asking.name,
        entity=spelt.of(folded(asked.entity)) if part.entities else asked.entity.strip(),
        nodes=tuple(_node(near, given.naming, spelt) for near in part.entities),
        edges=edges[:most],
        path=tuple(spelt.of(name) for name in way),
        has_more=part.more or len(edges) > most,
        moment=when.told(),
        notes=notes + told,
    )


def _part(asked: _Asked, limit: int) -> tuple[graph.Part, list[str], tuple[str, ...]]:
    """The part of the graph to show, the path in it, and notes."""
    question, naming = asked.question, asked.naming
    entity, to = question.entity.strip(), question.to and question.to.strip()
    notes = [
        note
        for name in dict.fromkeys((entity, to or entity))
        for note in _missing(name, naming, asked.over)
    ]
    facts = min(limit * _FACTS_PER_ENTITY, _FACTS_MAX)
    bounds = graph.Bounds(limit, limit * _LINKS_PER_ENTITY, facts)
    if to is None:
        part = graph.neighbourhood(naming, entity, question.depth, bounds)
        if not naming.ids(entity):
            return part._replace(entities=()), [], tuple(notes)
        if part.more:
            notes.append("not all is shown: ask with a higher limit, or for fewer steps")
        if not part.links:
            notes.extend(_untied(entity, naming, asked.over))
        return part, [], tuple(notes)
    if notes:
        return graph.Part((), (), (), more=False), [], tuple(notes)
    for name in (entity, to):
        naming.facts(naming.ids(name), _FACTS_PER_ENTITY)  # they spell it, if no path leads there
    searched = min(limit * _FACTS_ON_THE_WAY, _FACTS_ON_THE_WAY_MAX)
    way, more = graph.shortest(naming, entity, to, searched)
    if more:
        notes.append(
            f"the search for a path stopped after {naming.read:,} facts, so there may be "
            + ("a shorter one" if way else "one after all")
            + ": a higher limit looks further"
        )
    elif not way:
        notes.append(f"no path leads from {entity} to {to} at this moment")
    part = graph.along(naming, way or [folded(entity)], bounds)
    return part._replace(more=part.more or more), way, tuple(notes)


def _missing(name: str, naming: Naming, over: Naming) -> Iterator[str]:
    """That no fact names an entity, or none that still holds, and what might have been meant."""
    if naming.ids(name):
        return
    if over.ids(name):
        yield f"{name} is known, but no fact that names it holds at this moment"
        yield from _ended(name, over)
        return
    yield f"no fact names {name} at this moment"
    similar = naming.similar(name, subjects=False)
    if similar:
        yield f"facts name {', '.join(similar)}"


def _untied(name: str, naming: Naming, over: Naming) -> Iterator[str]:
    """Why an entity that facts name has no edges: they name nothing else."""
    count = len(naming.ids(name))
    facts = "the fact that names" if count == 1 else f"the {count:,} facts that name"
    ties = "ties" if count == 1 else "tie"
    yield f"{facts} {name} now {ties} it to nothing else"
    yield from _ended(name, over)


def _ended(name: str, over: Naming) -> Iterator[str]:
    """How many edges an entity had that have ended, and where they are found."""
    facts, more = over.facts(over.ids(name), _FACTS_MAX)
    edges = sum(1 for fact in facts for _ in graph.links_of(fact, folded(name)))
    if edges:
        count = f"{'over ' if more else ''}{edges:,} edge{'s' if edges > 1 else ''}"
        yield (
            f"{count} of {name} {'have' if edges > 1 else 'has'} ended: ask with as_of or valid_at "
            f"for the graph of then, or for the timeline of {name}"
        )


def _node(near: graph.Near, naming: Naming, spelt: Spellings) -> Node:
    return Node(
        name=spelt.of(near.name),
        distance=near.distance,
        facts=len(naming.ids(near.name)),
        literal=near.literal,
    )


# --- edges


def _edges(asked: _Asked, part: graph.Part, spelt: Spellings) -> Iterator[Edge]:
    """Those between entities, then those between facts."""
    for link in part.links:
        yield _between(asked.shower, link, spelt)
    for fact in part.facts:
        yield from _among_facts(asked, fact)


def _between(shower: Shower, link: graph.Link, spelt: Spellings) -> Edge:
    kind = "mention" if link.relation is None else "attribute"
    source, target = spelt.of(link.source), spelt.of(link.target)
    return _edge(shower, kind, source, target, link.fact, link.relation)


def _among_facts(asked: _Asked, fact: Named) -> Iterator[Edge]:
    """From a fact to those that it extends, and those whose place it was the one to take."""
    state, own = fact.row.state, show(Kind.FACT, fact.id)
    for raw in state.extends:
        if _shows(asked, raw):
            yield _edge(asked.shower, "extends", own, show(Kind.FACT, raw), fact)
    for raw in state.supersedes:
        row = asked.shower.view.fact(raw, asked.shower.when.at)
        direct = row is not None and row.state.ended is not None and row.state.ended.by == fact.id
        if direct and _shows(asked, raw):
            yield _edge(asked.shower, "updates", own, show(Kind.FACT, raw), fact)


def _shows(asked: _Asked, raw: bytes) -> bool:
    """Whether a fact at the other end of an edge may be told of."""
    view, ref = asked.shower.view, Ref(Kind.FACT, raw)
    row = view.fact(raw, asked.shower.when.at)
    if row is None or asked.shower.hides(ref) or not asked.within.row(row.state):
        return False
    return not blacked_out(view, row.state)


def _edge(
    shower: Shower, kind: str, source: str, target: str, fact: Named, relation: str | None = None
) -> Edge:
    """An edge holds as long as the fact that makes it."""
    valid_from, valid_to = shower.validity(fact.row.state)
    ref = Ref(Kind.FACT, fact.id)
    return Edge(
        kind=kind,
        source=source,
        target=target,
        fact=str(ref),
        standing=shower.standing(ref, fact.row.state),
        relation=relation,
        valid_from=valid_from,
        valid_to=valid_to,
    )
