"""What comes back, by an undo or a restore, among facts that were judged while it was away."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.memory import Memory, unjudged
from rewound.memory.judging import Judging
from rewound.memory.models import Models
from rewound.memory.unjudged import Unjudged
from rewound.projections.views import ViewReader

JUDGED = Models(embedder="none", extractor="none", judge="rules")
ROME, OSLO, BONN = "Nina lives in Rome.", "Nina lives in Oslo now.", "Nina lives in Bonn now."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        yield memory


def told(memory: Memory, text: str, said_at: str) -> tuple[str, str]:
    """A fact that has been judged, and its event."""
    item = memory.remember(text, said_at=said_at).items[0]
    settled(memory)
    return str(item.id), str(item.event)


def settled(memory: Memory) -> None:
    working = memory.workers("wait")
    assert working.unjudged == 0, working


def current(memory: Memory) -> list[str]:
    settled(memory)
    return [item.text for item in memory.list().items]


def test_what_is_restored_is_ended_by_what_came_meanwhile(memory: Memory) -> None:
    rome, _ = told(memory, ROME, "2020-01-01")
    memory.forget(rome)
    told(memory, OSLO, "2022-01-01")
    assert current(memory) == [OSLO]
    memory.restore(rome)
    assert current(memory) == [OSLO]
    assert memory.list(valid_at="2021-01-01").items[0].text == ROME


def test_undoing_the_restoring_takes_that_back(memory: Memory) -> None:
    rome, _ = told(memory, ROME, "2020-01-01")
    forgot = memory.forget(rome)
    told(memory, OSLO, "2022-01-01")
    undone = memory.undo(forgot.events[0])
    assert current(memory) == [OSLO]
    memory.undo(str(undone.event))
    assert current(memory) == [OSLO]
    assert not memory.list(valid_at="2021-01-01").items


def test_what_an_undone_undo_brings_back_is_ended_by_what_came_meanwhile(memory: Memory) -> None:
    _, event = told(memory, ROME, "2020-01-01")
    undone = memory.undo(event)
    told(memory, OSLO, "2022-01-01")
    told(memory, BONN, "2024-01-01")
    memory.undo(str(undone.event))
    assert current(memory) == [BONN]


def test_a_value_that_is_undone_where_it_was_said_first_is_judged_by_the_second(
    memory: Memory,
) -> None:
    told(memory, ROME, "2020-01-01")
    _, event = told(memory, OSLO, "2022-01-01")
    told(memory, OSLO, "2022-01-01")
    memory.undo(event)
    assert current(memory) == [OSLO]


def test_what_came_back_just_before_a_restart_is_looked_at_after_it(tmp_path: Path) -> None:
    off = Models(embedder="none", extractor="none", judge="none")
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        rome, _ = told(memory, ROME, "2020-01-01")
        memory.forget(rome)
        told(memory, OSLO, "2022-01-01")
    with Memory(tmp_path / "data", models=off) as memory:
        memory.restore(rome)
        assert len(memory.list().items) == 2
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        assert current(memory) == [OSLO]
        verdicts = len(memory.events(types=("facts judged",)).events)
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        settled(memory)
        assert len(memory.events(types=("facts judged",)).events) == verdicts


def test_many_that_are_not_to_be_judged_do_not_keep_the_others_waiting(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unjudged, "LOOKED_MAX", 3)
    memory.workers("pause")
    hidden = [memory.remember(f"Ann read book {n}.").items[0] for n in range(7)]
    for item in hidden:
        memory.forget(str(item.id))
    memory.remember(ROME, said_at="2020-01-01")
    undone = memory.remember(OSLO, said_at="2022-01-01").items[0]
    back = memory.undo(str(undone.event))
    memory.undo(str(back.event))
    memory.workers("resume")
    assert current(memory) == [OSLO]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen once while a step holds its snapshot and has not looked at it."""
    whole = Unjudged.look

    def look(queue: Unjudged, views: ViewReader) -> None:
        monkeypatch.setattr(Unjudged, "look", whole)
        act()
        whole(queue, views)

    monkeypatch.setattr(Unjudged, "look", look)


def test_what_comes_while_a_step_holds_an_older_snapshot_is_judged_by_the_next(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(memory, ROME, "2020-01-01")
    meanwhile(monkeypatch, lambda: memory.remember(OSLO, said_at="2022-01-01"))
    assert current(memory) == [OSLO]


def test_what_comes_back_while_a_step_holds_an_older_snapshot_is_looked_at_by_the_next(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    rome, _ = told(memory, ROME, "2020-01-01")
    memory.forget(rome)
    told(memory, OSLO, "2022-01-01")
    meanwhile(monkeypatch, lambda: memory.restore(rome))
    assert current(memory) == [OSLO]


def test_what_is_taken_back_while_a_step_holds_an_older_snapshot_is_judged_after_all(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step finds the fact forgotten and leaves it out, but not for good."""
    told(memory, ROME, "2020-01-01")
    memory.workers("pause")
    oslo = memory.remember(OSLO, said_at="2022-01-01").items[0]
    memory.forget(str(oslo.id))
    meanwhile(monkeypatch, lambda: memory.restore(str(oslo.id)))
    memory.workers("resume")
    assert current(memory) == [OSLO]


PARIS, TURIN = "Nina moved to Paris.", "Nina moved to Turin."


def test_what_a_verdict_knew_nothing_of_stays_ended_by_one_before_it(memory: Memory) -> None:
    """A verdict given while a fact was away says nothing of it, also when it has come back."""
    told(memory, ROME, "2020-01-01")
    _, oslo = told(memory, OSLO, "2021-01-01")
    _, paris = told(memory, PARIS, "2022-01-01")
    bonn, stated = told(memory, BONN, "2023-01-01")
    told(memory, TURIN, "2024-01-01")
    memory.workers("pause")
    memory.undo(oslo)
    undone = memory.undo(stated)
    memory.workers("resume")
    assert current(memory) == [TURIN]
    memory.undo(str(undone.event))
    assert current(memory) == [TURIN]
    memory.undo(paris)
    assert current(memory) == [TURIN]
    assert bonn not in reinstated(memory)


def test_what_comes_back_while_others_are_judged_again_is_not_overlooked(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(memory, ROME, "2020-01-01")
    _, oslo = told(memory, OSLO, "2021-01-01")
    bonn, stated = told(memory, BONN, "2022-01-01")
    _, paris = told(memory, PARIS, "2023-01-01")
    told(memory, TURIN, "2024-01-01")
    memory.workers("pause")
    memory.undo(oslo)
    undone = memory.undo(stated)
    memory.workers("resume")
    assert current(memory) == [TURIN]
    opinions = Judging._opinions

    def meanwhile(judging: Judging, *given: Any) -> Any:
        monkeypatch.setattr(Judging, "_opinions", opinions)
        memory.undo(str(undone.event))
        return opinions(judging, *given)

    monkeypatch.setattr(Judging, "_opinions", meanwhile)
    memory.undo(paris)
    assert current(memory) == [TURIN]
    assert Judging._opinions is opinions, "something was judged again"
    assert bonn not in reinstated(memory), "not even for a moment"


def reinstated(memory: Memory) -> set[str]:
    """Facts that were taken to stand again, if only for a while."""
    events = memory.events(types=["fact reinstated"], limit=1000).events
    return {fact for event in events for fact in event.data["facts"]}
