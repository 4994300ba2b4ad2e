"""The graph of entities: what is around one, and how two of them hang together."""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import FactId, Kind, Ref, parse
from rewound.eventlog.log import Draft
from rewound.llm.extraction import Drawn, Said
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory import requests as q
from tests.integration.drawing import Told, working
from tests.integration.stating import asked, live, memory_at, state
from tests.property.checks import FORGOTTEN_BY, event_name
from tests.property.copying import copy_until
from tests.property.driver import Driver
from tests.unit.given import Store, open_store

NAME = "alpha"
IDS_APART = 10_000
"""Ids that a copy leaves out, so that its own events have none of those copied."""


def graph(memory: Memory, entity: str, **more: Any) -> r.Network:
    reply = memory.call(q.Graph(entity=entity, **more))
    assert isinstance(reply, r.Network)
    return reply


def names(network: r.Network) -> dict[str, int]:
    return {node.name: node.distance for node in network.nodes}


def ties(network: r.Network) -> list[tuple[str, str | None, str]]:
    """Edges between entities, mentions without a relation."""
    named = [edge for edge in network.edges if edge.kind in ("attribute", "mention")]
    return [(edge.source, edge.relation, edge.target) for edge in named]


def between_facts(network: r.Network) -> list[tuple[str, str, str]]:
    named = [edge for edge in network.edges if edge.kind in ("extends", "updates")]
    return [(edge.source, edge.kind, edge.target) for edge in named]


# --- what is around an entity


def test_what_is_around_an_entity(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        fact = state(memory, "Nina", "works at", "Orbit", valid_from="2025-05", valid_to="2027")
        state(memory, "Nina", "knows", "Ben")
        state(memory, "Ben", "lives in", "Rome")
        network = graph(memory, "Nina")
        assert names(network) == {"Nina": 0, "Ben": 1, "Orbit": 1}
        assert ties(network) == [("Nina", "knows", "Ben"), ("Nina", "works at", "Orbit")]
        assert {node.name: node.facts for node in network.nodes} == {
            "Nina": 2,
            "Ben": 2,
            "Orbit": 1,
        }
        edge = network.edges[1]
        assert (edge.fact, edge.standing.state) == (fact, "current")
        assert (edge.valid_from, edge.valid_to) == ("2025-05", "2027")
        assert network.path == () and not network.has_more and network.notes == ()


def test_each_step_leads_further(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        chain = ["Ann", "Ben", "Cleo", "Dora", "Ed"]
        for one, other in pairwise(chain):
            state(memory, one, "knows", other)
        for depth in (1, 2, 3):
            network = graph(memory, "Ann", depth=depth)
            assert names(network) == {name: n for n, name in enumerate(chain[: depth + 1])}
            assert len(ties(network)) == depth
        assert names(graph(memory, "Cleo")) == {"Cleo": 0, "Ben": 1, "Dora": 1}


def test_a_value_that_names_nothing_is_an_end(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        for name in ("Ann", "Ben"):
            state(memory, name, "age", "31")
        network = graph(memory, "Ann", depth=3)
        assert names(network) == {"Ann": 0, "31": 1}
        assert [node.literal for node in network.nodes] == [False, True]
        assert ties(network) == [("Ann", "age", "31")]
        assert graph(memory, "Ann", to="Ben").path == ()
        assert graph(memory, "Ann", to="31").path == ("Ann", "31")
        assert names(graph(memory, "31")) == {"31": 0, "Ann": 1, "Ben": 1}


def test_case_and_article_make_no_other_entity(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "the Orbit")
        state(memory, "Ben", "works at", "Orbit")
        state(memory, "ORBIT", "sits in", "Rome")
        state(memory, "Orbit", "has", "Labs")
        network = graph(memory, "an orbit")
        assert network.entity == "Orbit"
        assert names(network) == {"Orbit": 0, "Ben": 1, "Labs": 1, "Nina": 1, "Rome": 1}
        assert ("Orbit", "sits in", "Rome") in ties(network)
        assert network.nodes[0].facts == 4


def test_what_one_fact_names_together(tmp_path: Path) -> None:
    def draw(pieces: Sequence[Said]) -> list[list[Drawn]]:
        fields: dict[str, Any] = {"subject": "Nina", "attribute": "moved to", "value": "Rome"}
        entities = ("Nina", "Ben", "the Orbit")
        return [[Drawn(p.text, 0, len(p.text), **fields, entities=entities)] for p in pieces]

    with working(tmp_path, Told(draw)) as memory:
        memory.add_messages("I moved to Rome with Ben for the Orbit.")
        assert memory.workers("wait").pending == 0
        assert ties(graph(memory, "Nina")) == [
            ("Nina", "moved to", "Rome"), ("Nina", None, "Ben"), ("Nina", None, "the Orbit")
        ]  # fmt: skip
        assert ties(graph(memory, "Ben")) == [
            ("Nina", None, "Ben"), ("Rome", None, "Ben"), ("Ben", None, "the Orbit")
        ]  # fmt: skip
        assert len(ties(graph(memory, "Ben", depth=2))) == 6


def test_of_many_the_most_tied_are_shown(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        for count, name in enumerate(("Ann", "Ben", "Cleo", "Dora"), 1):
            for _ in range(count):
                state(memory, "Nina", f"met in {count} of {_}", name)
        network = graph(memory, "Nina", limit=3)
        assert names(network) == {"Nina": 0, "Dora": 1, "Cleo": 1}
        assert network.has_more and "higher limit" in network.notes[0]
        assert {target for _, _, target in ties(network)} == {"Dora", "Cleo"}
        assert not graph(memory, "Nina", limit=10).has_more


def test_a_hub_is_read_as_far_as_the_limit_allows(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        facts = [
            {"text": f"Nina met P{n}.", "subject": "Nina", "attribute": "met", "value": f"P{n}"}
            for n in range(60)
        ]
        memory.remember(facts)
        network = graph(memory, "Nina", limit=4)
        assert len(network.nodes) == 4 and network.nodes[0].facts == 60 and network.has_more
        newest = {f"P{n}" for n in range(40, 60)}
        assert {node.name for node in network.nodes[1:]} < newest


# --- how two hang together


def test_the_shortest_path(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        chain = ["Ann", "Ben", "Cleo", "Dora", "Ed", "Fay"]
        for one, other in pairwise(chain):
            state(memory, one, "knows", other)
        assert graph(memory, "Ann", to="fay").path == tuple(chain)
        state(memory, "Fay", "works with", "Ben")
        network = graph(memory, "Ann", to="Fay")
        assert network.path == ("Ann", "Ben", "Fay")
        assert names(network) == {"Ann": 0, "Ben": 1, "Fay": 2}
        assert ties(network) == [("Ann", "knows", "Ben"), ("Fay", "works with", "Ben")]
        assert graph(memory, "Fay", to="Ann").path == ("Fay", "Ben", "Ann")
        assert not network.has_more and network.notes == ()


def test_of_equal_paths_always_the_same(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        for middle in ("Zoe", "Moe", "Abe"):
            state(memory, middle, "knows", "Ann")
            state(memory, "Ben", "knows", middle)
        assert graph(memory, "Ann", to="Ben").path == ("Ann", "Abe", "Ben")


@pytest.mark.parametrize("seed", range(3))
def test_no_other_way_is_shorter(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    people = [f"P{n}" for n in range(16)]
    pairs = {(one, other) for one, other in (chance.sample(people, 2) for _ in range(18))}
    with memory_at(tmp_path) as memory:
        for one, other in sorted(pairs):
            state(memory, one, "knows", other)
        beside = {frozenset(pair) for pair in pairs}
        for start in people[:4]:
            steps = steps_from(start, pairs)
            for end in people[4:]:
                path = graph(memory, start, to=end).path
                assert all(frozenset(pair) in beside for pair in pairwise(path))
                assert len(path) == steps.get(end, -1) + 1
                assert not path or (path[0], path[-1]) == (start, end)


def steps_from(start: str, pairs: set[tuple[str, str]]) -> dict[str, int]:
    """How far everything is that can be reached."""
    steps = {start: 0}
    for distance in range(1, 99):
        near = [pair for pair in pairs if any(steps.get(end) == distance - 1 for end in pair)]
        for end in {end for pair in near for end in pair} - steps.keys():
            steps[end] = distance
    return steps


def test_where_no_path_leads(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Ann", "knows", "Ben")
        state(memory, "Cleo", "knows", "Dora")
        network = graph(memory, "Ann", to="Dora")
        assert network.path == () and network.edges == () and names(network) == {"Ann": 0}
        assert network.notes == ("no path leads from Ann to Dora at this moment",)
        itself = graph(memory, "Ann", to="ann")
        assert itself.path == ("Ann",) and itself.edges == ()
        nowhere = graph(memory, "Ann", to="Zed")
        assert nowhere.path == () and nowhere.notes == ("no fact names Zed at this moment",)


def test_a_search_that_stops_short_says_so(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        for hub, other in (("Ann", "A"), ("Ben", "B")):
            for n in range(30):
                state(memory, hub, "met", f"{other}{n}")
        state(memory, "A0", "knows", "B0")
        assert graph(memory, "Ann", to="Ben").path == ("Ann", "A0", "B0", "Ben")
        network = graph(memory, "Ann", to="Ben", limit=1)
        assert network.path == () and network.has_more
        assert network.notes[0].startswith("the search for a path stopped after 20 facts")


def test_an_unknown_entity_is_met_with_what_is_like_it(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina Berg", "works at", "Orbit Labs")
        hidden = state(memory, "Ben", "works at", "Orbit Foods")
        memory.forget(hidden)
        network = graph(memory, "orbit")
        assert network.nodes == () and network.edges == () and network.entity == "orbit"
        assert network.notes == ("no fact names orbit at this moment", "facts name Orbit Labs")


# --- between facts


def test_a_new_version_updates_the_old(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        first = state(memory, "Nina", "lives in", "Rome", valid_from="2023-01-01")
        second = memory.update(first, "Nina lives in Oslo.", valid_from="2024-01-01").items[0].id
        third = memory.update(first, "Nina lives in Bern.", valid_from="2025-01-01").items[0].id
        network = graph(memory, "Nina")
        assert between_facts(network) == [(third, "updates", second)]
        assert not {"Rome", "Oslo"} & names(network).keys(), "what was before is no part of now"
        then = graph(memory, "Nina", valid_at="2023-06")
        assert names(then) == {"Nina": 0, "Rome": 1}
        (edge,) = then.edges
        assert edge.standing.state == "superseded" and edge.standing.by == second
        assert edge.valid_to == "2024-01-01T00:00:00.000000Z"


def linked(store: Store) -> tuple[str, str]:
    (base,) = store.remember("Nina works at Orbit.", subject="Nina", value="Orbit")
    (more,) = store.remember("Nina's desk at Orbit is red.", subject="Nina", value="a red desk")
    link(store, more, base, e.Outcome.EXTENDS)
    return base, more


def link(store: Store, source: str, target: str, outcome: e.Outcome) -> None:
    ends = (FactId(parse(each, Kind.FACT)) for each in (source, target))
    store.record([Draft(e.FactsLinked(next(ends), next(ends), outcome))])


def test_a_fact_extends_another(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        base, more = linked(store)
        asked_for = q.Graph(container=store.name, entity="Nina")
        assert between_facts(store.ask(asked_for)) == [(more, "extends", base)]
        link(store, more, base, e.Outcome.DISTINCT)
        assert between_facts(store.ask(asked_for)) == []


def test_no_edge_leads_to_what_is_hidden(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        base, more = linked(store)
        store.forget(base)
        asked_for = q.Graph(container=store.name, entity="Nina")
        assert store.ask(asked_for).edges[0].fact == more
        assert between_facts(store.ask(asked_for)) == []
        seen = store.ask(q.Graph(container=store.name, entity="Nina", include_forgotten=True))
        assert between_facts(seen) == [(more, "extends", base)]


def test_a_fact_with_blacked_out_words_names_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        (message,) = store.say("Nina works at Orbit.")
        ref = Ref(Kind.MESSAGE, parse(message, Kind.MESSAGE))
        with store.view() as view:
            row = view.message(ref.id)
        assert row is not None
        text, bodies = row.state.text, store.writer()
        named = e.Statement(text, subject=bodies.text("Nina"), value=bodies.text("Orbit"))
        span = e.Span(ref, text.place(0), 0, text.chars)
        fact = FactId(store.ids.new())
        store.record([Draft(e.FactRemembered(fact, named, (span,)), bodies.sealed)])
        reads = [
            q.Graph(container=store.name, entity="Nina"),
            q.Timeline(container=store.name, subject="Nina"),
        ]
        assert store.ask(reads[0]).edges and store.ask(reads[1]).lines
        other = Ref(Kind.FACT, parse(store.remember("Something else.")[0], Kind.FACT))
        store.record([Draft(e.Forgotten(other, (), (span,)))])
        assert not store.ask(reads[0]).edges and not store.ask(reads[1]).lines


# --- moments, and who may see


def test_as_of_and_undo(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "Orbit")
        before = graph(memory, "Nina")
        written = memory.remember("Nina knows Ben.", subject="Nina", attribute="knows", value="Ben")
        assert names(graph(memory, "Nina")) == {"Nina": 0, "Ben": 1, "Orbit": 1}
        past = graph(memory, "Nina", as_of=f"@{before.moment.position}")
        assert (past.nodes, past.edges) == (before.nodes, before.edges)
        assert written.items[0].event is not None
        memory.undo(written.items[0].event)
        after = graph(memory, "Nina")
        assert (after.nodes, after.edges) == (before.nodes, before.edges)


def test_what_is_forgotten_is_no_part(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "Orbit")
        hidden = state(memory, "Orbit", "sits in", "Rome")
        assert graph(memory, "Nina", to="Rome").path == ("Nina", "Orbit", "Rome")
        memory.forget(hidden)
        network = graph(memory, "Nina", depth=2)
        assert names(network) == {"Nina": 0, "Orbit": 1}
        assert [node.facts for node in network.nodes] == [1, 1]
        assert graph(memory, "Nina", to="Rome").path == ()
        shown = graph(memory, "Nina", to="Rome", include_forgotten=True)
        assert shown.path == ("Nina", "Orbit", "Rome")
        assert [edge.standing.state for edge in shown.edges] == ["current", "forgotten"]
        memory.erase(hidden)
        assert graph(memory, "Nina", to="Rome", include_forgotten=True).path == ()


def test_scopes_and_containers_are_kept_apart(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "Orbit", scope={"user": "ann"})
        state(memory, "Orbit", "sits in", "Rome", scope={"user": "bob"})
        state(memory.container("other"), "Nina", "knows", "Bea")
        ann = q.Scope(user="ann")
        assert graph(memory, "Nina", to="Rome").path == ("Nina", "Orbit", "Rome")
        assert graph(memory, "Nina", to="Rome", scope=ann).path == ()
        network = graph(memory, "Nina", depth=2, scope=ann)
        assert names(network) == {"Nina": 0, "Orbit": 1} and network.nodes[1].facts == 1
        assert graph(memory, "Rome", scope=ann).nodes == ()
        assert names(graph(memory, "Nina", container="other")) == {"Nina": 0, "Bea": 1}
        assert graph(memory, "Bea").nodes == ()


@pytest.mark.parametrize("more", [{"entity": ""}, {"depth": 0}, {"depth": 99}, {"to": " "}])
def test_what_cannot_be_asked(tmp_path: Path, more: dict[str, Any]) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "lives in", "Rome")
        with pytest.raises(InvalidInput):
            memory.call(q.Graph(**{"entity": "Nina", **more}))


@pytest.mark.parametrize("seed", range(3))
def test_the_past_reads_as_a_store_that_ends_there(tmp_path: Path, seed: int) -> None:
    """Timelines too: as-of reads equal present ones of a log cut off, under today's overlay."""
    driver = Driver(tmp_path / "live", durable=False)
    live(driver, NAME, seed)
    container, events = driver.container(NAME), driver.events(NAME)
    told = 0
    for number, then in enumerate(events[3 :: max(1, len(events) // 4)]):
        copy = Driver(tmp_path / f"copy-{number}", durable=False)
        for _ in range(IDS_APART):
            copy.ids.new()
        with driver.log.reading() as reader:
            copy_until(reader, copy.log, copy.clock, container, then.position)
        copy.adopt(NAME, container)
        copy.clock.at = then.envelope.recorded_at
        for past, present in zip(asked(NAME, event_name(then)), asked(NAME), strict=True):
            found, wanted = driver.bytes_of(past), copy.bytes_of(present)
            if past.include_forgotten:  # the copy forgets by events of its own
                found, wanted = (FORGOTTEN_BY.sub(rb"\1", each) for each in (found, wanted))
            assert found == wanted, f"{past} of {seed}"
            told += found.count(b'"fact_')
        copy.close()
    driver.close()
    assert told > 100, "those lives left nothing to tell"


def test_whom_only_what_is_over_names_is_known(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "Orbit", valid_from="2024", valid_to="2025-05-01")
        state(memory, "Nina", "lives in", "Rome", valid_from="2024", valid_to="2025-01-01")
        network = graph(memory, "Nina")
        assert not network.nodes and not network.edges
        assert network.notes == (
            "Nina is known, but no fact that names it holds at this moment",
            "2 edges of Nina have ended: ask with as_of or valid_at for the graph of then, "
            "or for the timeline of Nina",
        )
        assert len(graph(memory, "Nina", valid_at="2024-06-01").edges) == 2
        assert graph(memory, "Nina", to="Rome").notes[0].startswith("Nina is known, but")


def test_whom_only_denials_name_is_known(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "home", None, text="Nina no longer lives there.")
        network = graph(memory, "Nina")
        assert [node.name for node in network.nodes] == ["Nina"] and network.edges == ()
        assert network.notes == ("the fact that names Nina now ties it to nothing else",)
        state(memory, "Nina", "works at", "Orbit", valid_from="2024", valid_to="2025-05-01")
        state(memory, "Nina", "diet", None, text="Nina does not eat meat.")
        assert graph(memory, "Nina").notes == (
            "the 2 facts that name Nina now tie it to nothing else",
            "1 edge of Nina has ended: ask with as_of or valid_at for the graph of then, "
            "or for the timeline of Nina",
        )


def test_what_was_never_said_is_not_known(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        fact = state(memory, "Nina", "works at", "Orbit")
        memory.forget(ids=[fact])
        assert graph(memory, "Nina").notes == ("no fact names Nina at this moment",)
