"""A timeline tells what held of a subject, from when to when, and who says so."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import FactId, Kind, parse
from rewound.eventlog.instants import parse_instant
from rewound.eventlog.log import Draft
from rewound.llm.extraction import Drawn, Said
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory import requests as q
from tests.integration.drawing import Told, working
from tests.integration.stating import memory_at, state
from tests.unit.given import open_store

RAN: dict[str, Any] = {"subject": "Nina", "attribute": "works at"}


def told(memory: Memory, subject: str, **more: Any) -> r.Chronicle:
    reply = memory.call(q.Timeline(subject=subject, **more))
    assert isinstance(reply, r.Chronicle)
    return reply


def values(chronicle: r.Chronicle) -> dict[str | None, list[str | None]]:
    return {line.attribute: [each.value for each in line.periods] for line in chronicle.lines}


def test_periods_by_attribute_earliest_first(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "Harbor", valid_from="2025-05-01")
        state(memory, "Nina", "lives in", "Rome", valid_from="2024-02", valid_to="2025-01-01")
        state(memory, "Nina", "works at", "Orbit", valid_from="2023-01-01", valid_to="2025-05-01")
        state(memory, "Nina", None, None, text="Nina sings.", valid_from="2020")
        state(memory, "Ben", "works at", "Orbit")
        chronicle = told(memory, "Nina")
        works, lives, other = chronicle.lines
        assert values(chronicle) == {
            "works at": ["Orbit", "Harbor"], "lives in": ["Rome"], None: [None]
        }  # fmt: skip
        assert (works.attribute, lives.attribute, other.attribute) == ("works at", "lives in", None)
        orbit, harbor = works.periods
        assert (orbit.valid_from, orbit.valid_to) == ("2023-01-01", "2025-05-01")
        assert (harbor.valid_from, harbor.valid_to) == ("2025-05-01", None)
        assert orbit.standing.state == "ended" and harbor.standing.state == "current"
        assert lives.periods[0].valid_from == "2024-02"
        assert other.periods[0].text == "Nina sings."
        assert not chronicle.has_more and chronicle.notes == ()


def test_who_says_so_without_a_source_is_the_event(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        fact = state(memory, "Nina", "works at", "Orbit", said_at="2025-03-01")
        (line,) = told(memory, "Nina").lines
        (period,) = line.periods
        (event,) = memory.events(about=fact).events
        assert period.sources == () and period.event == event.id
        assert period.said_at == "2025-03-01" and period.recorded_at == event.recorded_at


def test_who_says_so_is_the_speaker(tmp_path: Path) -> None:
    def draw(pieces: Sequence[Said]) -> list[list[Drawn]]:
        return [[Drawn(p.text, 0, len(p.text), **RAN, value=p.text.split()[-1])] for p in pieces]

    with working(tmp_path, Told(draw)) as memory:
        said = {"role": "user", "content": "I work at Orbit", "name": "Nina"}
        memory.add_messages([{**said, "time": "2025-03-01T08:00:00Z"}])
        assert memory.workers("wait").pending == 0
        (period,) = told(memory, "nina").lines[0].periods
        (source,) = period.sources
        assert (period.value, source.speaker, source.role) == ("Orbit", "Nina", "user")
        assert source.time == "2025-03-01T08:00:00Z" == period.valid_from


def test_names_are_compared_without_case_and_article(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "The harbor", "Opens at", "9 am", valid_from="2023")
        state(memory, "the harbor", "opens at", "10 am", valid_from="2024")
        state(memory, "harbor", "opens  at", "11 am", valid_from="2025")
        state(memory, "harbor", "opens at", "noon", valid_from="2025-06")
        chronicle = told(memory, "a  HARBOR")
        assert values(chronicle) == {"opens at": ["9 am", "10 am", "11 am", "noon"]}
        assert chronicle.subject == "harbor"
        assert values(told(memory, "harbor", attribute="OPENS at")) == values(chronicle)


def test_an_attribute_narrows(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "works at", "Orbit")
        state(memory, "Nina", "lives in", "Rome")
        assert values(told(memory, "Nina", attribute="lives in")) == {"lives in": ["Rome"]}
        nothing = told(memory, "Nina", attribute="phone")
        assert nothing.lines == () and "no phone of Nina" in nothing.notes[0]


def test_versions_are_periods_and_what_never_held_is_none(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        first = state(memory, "Nina", "lives in", "Rome", valid_from="2023-01-01")
        memory.update(first, "Nina lives in Oslo.", valid_from="2024-01-01")
        wrong = state(memory, "Nina", "lives in", "Bern", valid_from="2025-01-01")
        memory.update(wrong, "Nina lives in Basel.", corrects=True)
        state(memory, "Nina", "lives in", "Paris", expires_at="2025-12-31")
        (line,) = told(memory, "Nina").lines
        assert [period.text for period in line.periods] == [
            "Nina: lives in Rome, 2023-01-01.", "Nina lives in Oslo.", "Nina lives in Basel."
        ]  # fmt: skip
        rome, oslo, _ = line.periods
        assert rome.standing.state == "superseded" and rome.standing.by == oslo.id
        assert (rome.valid_from, rome.valid_to) == ("2023-01-01", "2024-01-01T00:00:00.000000Z")


def test_a_repeated_fact_is_told_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fields: dict[str, Any] = {"subject": "Nina", "attribute": "lives in", "value": "Rome"}
        (one,) = store.remember("Nina lives in Rome.", **fields, valid_from="2024-01-01")
        (two,) = store.remember("Nina's home is Rome.", **fields, valid_from="2025-01-01")
        asked = q.Timeline(container=store.name, subject="Nina")
        assert len(store.ask(asked).lines[0].periods) == 2
        old, new = (FactId(parse(each, Kind.FACT)) for each in (one, two))
        at = parse_instant("2025-01-01")
        store.record([Draft(e.FactSuperseded(old, (new,), at, repeats=True))])
        (line,) = store.ask(asked).lines
        assert [period.id for period in line.periods] == [one]


def test_valid_at_and_as_of(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        first = state(memory, "Nina", "lives in", "Rome", valid_from="2023-01-01")
        before = memory.events(limit=1000).events[-1].position
        memory.update(first, "Nina lives in Oslo.", valid_from="2024-01-01")
        state(memory, "Nina", "works at", "Orbit", valid_from="2025-01-01")
        then = told(memory, "Nina", valid_at="2023-06")
        assert [period.id for line in then.lines for period in line.periods] == [first]
        assert then.moment.valid_at == "2023-06"
        assert told(memory, "Nina", valid_at="2022").lines == ()
        (line,) = told(memory, "Nina", as_of=f"@{before}").lines
        assert [(each.id, each.standing.state) for each in line.periods] == [(first, "current")]


def test_of_many_the_latest_are_told(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        for year in range(2010, 2020):
            state(memory, "Nina", "lives in", f"Town {year}", valid_from=str(year))
        chronicle = told(memory, "Nina", limit=3)
        assert values(chronicle) == {"lives in": ["Town 2017", "Town 2018", "Town 2019"]}
        assert chronicle.has_more and chronicle.notes[0].startswith("7 earlier periods")
        assert not told(memory, "Nina", limit=10).has_more


def test_what_is_forgotten_is_not_told(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "lives in", "Rome")
        hidden = state(memory, "Nina", "works at", "Orbit")
        memory.forget(hidden)
        assert values(told(memory, "Nina")) == {"lives in": ["Rome"]}
        shown = told(memory, "Nina", include_forgotten=True)
        assert values(shown) == {"works at": ["Orbit"], "lives in": ["Rome"]}
        memory.erase(hidden)
        assert values(told(memory, "Nina", include_forgotten=True)) == {"lives in": ["Rome"]}


def test_undo_takes_a_period_back(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        first = state(memory, "Nina", "lives in", "Rome", valid_from="2023-01-01")
        before = told(memory, "Nina").lines
        edit = memory.update(first, "Nina lives in Oslo.", valid_from="2024-01-01")
        assert len(told(memory, "Nina").lines[0].periods) == 2
        assert edit.items[0].event is not None
        memory.undo(edit.items[0].event)
        assert told(memory, "Nina").lines == before


def test_scopes_and_containers_are_kept_apart(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "lives in", "Rome", scope={"user": "ann"})
        state(memory, "Nina", "lives in", "Oslo", scope={"user": "bob"})
        other = memory.container("other")
        state(other, "Nina", "lives in", "Bern")
        state(other, "Bea", "lives in", "Bern")
        assert values(told(memory, "Nina", scope=q.Scope(user="ann"))) == {"lives in": ["Rome"]}
        assert told(memory, "Nina", scope=q.Scope(user="cleo")).lines == ()
        assert values(told(memory, "Nina")) == {"lives in": ["Rome", "Oslo"]}
        assert values(told(memory, "Nina", container="other")) == {"lives in": ["Bern"]}
        assert told(memory, "Bea").lines == ()


def test_an_unknown_subject_is_met_with_what_is_like_it(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina Berg", "lives in", "Rome")
        hidden = state(memory, "Nina Holm", "lives in", "Oslo")
        state(memory, "Nina Dahl", "lives in", "Bern", scope={"user": "ann"})
        memory.forget(hidden)
        chronicle = told(memory, "Nina")
        assert chronicle.lines == () and chronicle.subject == "Nina"
        assert chronicle.notes == (
            "no fact is about Nina at this moment", "facts are about Nina Berg, Nina Dahl"
        )  # fmt: skip
        of_ann = told(memory, "Nina", scope=q.Scope(user="ann"))
        assert of_ann.notes[1] == "facts are about Nina Dahl"
        assert told(memory, "Rome").notes[-1] == "1 fact names it but is about something else"
        assert told(memory, "Zed").notes == ("no fact is about Zed at this moment",)


@pytest.mark.parametrize("more", [{"subject": " "}, {"subject": "Nina", "limit": 0}])
def test_what_cannot_be_asked(tmp_path: Path, more: dict[str, Any]) -> None:
    with memory_at(tmp_path) as memory:
        state(memory, "Nina", "lives in", "Rome")
        with pytest.raises(InvalidInput):
            memory.call(q.Timeline(**more))
