"""What comes back, by an undo or a restore, among facts that were judged while it was away."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewound.memory import Memory, unjudged
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
