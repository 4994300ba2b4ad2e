"""New facts held against those before them: what ends, what repeats, and taking it all back."""

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from rewound.memory import Memory, judging
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.models import Models

JUDGED = Models(embedder="none", extractor="rules", judge="rules")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        yield memory


def told(memory: Memory, text: str, said_at: str | None = None) -> r.Item:
    """Remember a fact and let it be judged."""
    item = memory.remember(text, said_at=said_at).items[0]
    settled(memory)
    return item


def settled(memory: Memory) -> None:
    working = memory.workers("wait")
    assert working.unjudged == 0, working


def current(memory: Memory) -> list[str]:
    return [item.text for item in memory.list().items]


def standing(memory: Memory, item: r.Item) -> str:
    shown = memory.get(str(item.id)).item.standing
    assert shown is not None
    return shown.state


def events(memory: Memory, kind: str) -> list[r.EventView]:
    return list(memory.events(types=(kind,)).events)


def test_who_waits_for_the_work_waits_for_no_pause(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "QUIET_S", 3_600.0)
    monkeypatch.setattr(judging, "PATIENCE_S", 3_600.0)
    told(memory, "Nina lives in Rome.", "2024-01-01")
    told(memory, "Nina lives in Oslo now.", "2025-01-01")
    assert current(memory) == ["Nina lives in Oslo now."]


# --- endings


def test_a_changed_value_ends_the_old_one(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.", "2024-01-01")
    new = told(memory, "Nina lives in Oslo now.", "2025-01-01")
    assert current(memory) == ["Nina lives in Oslo now."]
    shown = memory.get(str(old.id)).item
    assert shown.standing is not None and shown.standing.state == "superseded"
    assert shown.standing.by == new.id and shown.current == new.id
    assert memory.list(valid_at="2024-06-01").items[0].id == old.id


def test_an_ending_names_its_cause_and_goes_with_it(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.", "2024-01-01")
    new = told(memory, "Nina lives in Oslo now.", "2025-01-01")
    (ending,) = events(memory, "fact superseded")
    (judged,) = [e for e in events(memory, "facts judged") if e.id in ending.causes]
    assert new.event in judged.causes
    memory.undo(str(new.event))
    assert standing(memory, old) == "current"


def test_an_undone_verdict_is_not_found_again(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.", "2024-01-01")
    told(memory, "Nina lives in Oslo now.", "2025-01-01")
    verdict = events(memory, "facts judged")[-1]
    undone = memory.undo(verdict.id)
    memory.workers("wait")
    assert standing(memory, old) == "current"
    assert len(current(memory)) == 2
    memory.undo(str(undone.event))
    memory.workers("wait")
    assert current(memory) == ["Nina lives in Oslo now."]


def test_an_undone_ending_is_not_brought_about_again(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.", "2024-01-01")
    told(memory, "Nina lives in Oslo now.", "2025-01-01")
    (ending,) = events(memory, "fact superseded")
    memory.undo(ending.id)
    memory.rejudge()
    assert standing(memory, old) == "current"


def test_history_told_late_finds_its_place(memory: Memory) -> None:
    orbit = told(memory, "Nina works at Orbit Labs.", "2025-06-01")
    harbor = told(memory, "Nina works at Harbor Foods.", "2023-01-10")
    assert current(memory) == ["Nina works at Orbit Labs."]
    assert standing(memory, harbor) == "superseded"
    shown = memory.get(str(harbor.id)).item
    assert shown.valid_to is not None and shown.valid_to.startswith("2025-06-01")
    assert [i.id for i in memory.list(valid_at="2023-05-01").items] == [harbor.id]
    assert not memory.list(valid_at="2022-01-01").items
    assert [i.id for i in memory.list(valid_at="2026-01-01").items] == [orbit.id]


def test_history_told_late_lies_between(memory: Memory) -> None:
    told(memory, "Nina lives in Rome.", "2020-01-01")
    told(memory, "Nina lives in Oslo.", "2024-01-01")
    middle = told(memory, "Nina lives in Bonn.", "2022-01-01")
    assert current(memory) == ["Nina lives in Oslo."]
    found = [memory.list(valid_at=f"{year}-06-01").items[0].text for year in (2020, 2022, 2024)]
    assert found == ["Nina lives in Rome.", "Nina lives in Bonn.", "Nina lives in Oslo."]
    memory.undo(str(middle.event))
    assert memory.list(valid_at="2022-06-01").items[0].text == "Nina lives in Rome."


def test_the_same_value_in_two_periods(memory: Memory) -> None:
    first = told(memory, "Nina lives in Rome.", "2020-01-01")
    told(memory, "Nina lives in Oslo.", "2022-01-01")
    again = told(memory, "Nina lives in Rome again.", "2024-01-01")
    assert current(memory) == ["Nina lives in Rome again."]
    assert standing(memory, first) == "superseded" and again.id != first.id
    assert memory.list(valid_at="2021-01-01").items[0].id == first.id
    assert memory.list(valid_at="2023-01-01").items[0].text == "Nina lives in Oslo."


# --- chains

CHAIN = [
    ("Nina lives in Rome.", "2020-01-01"),
    ("Nina lives in Oslo now.", "2021-01-01"),
    ("Nina moved to Paris.", "2022-01-01"),
    ("Nina lives in Bonn now.", "2023-01-01"),
    ("Nina moved to Turin.", "2024-01-01"),
]


def test_undoing_the_middle_of_a_chain_in_any_order(memory: Memory) -> None:
    items = [told(memory, text, at) for text, at in CHAIN]
    assert current(memory) == [CHAIN[-1][0]]
    for order in permutations((1, 2, 3, 4), 3):
        undone: list[str] = []
        for place in order:
            undone.append(str(memory.undo(str(items[place].event)).event))
            gone = set(order[: len(undone)])
            last = max(place for place in range(len(CHAIN)) if place not in gone)
            assert current(memory) == [CHAIN[last][0]], (order, gone)
        for event in undone:  # the first undo first: neighbours come back in another order
            memory.undo(event)
            assert len(current(memory)) == 1
        assert current(memory) == [CHAIN[-1][0]]


# --- repeats


def test_what_says_the_same_is_support_and_not_shown_twice(memory: Memory) -> None:
    first = told(memory, "Nina works at Orbit Labs.", "2024-01-01")
    again = told(memory, "Nina works for Orbit Labs.", "2024-03-01")
    assert current(memory) == ["Nina works at Orbit Labs."]
    assert standing(memory, again) == "repeated"
    chain = memory.history(str(first.id))
    assert [version.id for version in chain.versions] == [first.id, again.id]
    assert chain.versions[0].root == first.id and chain.current == first.id
    memory.undo(str(first.event))
    assert current(memory) == ["Nina works for Orbit Labs."]


def test_what_repeats_ends_with_what_it_repeats(memory: Memory) -> None:
    told(memory, "Nina works at Orbit Labs.", "2024-01-01")
    told(memory, "Nina works for Orbit Labs.", "2024-03-01")
    change = told(memory, "Nina works at Harbor Foods now.", "2025-01-01")
    assert current(memory) == ["Nina works at Harbor Foods now."]
    memory.undo(str(change.event))
    assert current(memory) == ["Nina works at Orbit Labs."]


def test_forgetting_takes_what_repeats_along(memory: Memory) -> None:
    first = told(memory, "Nina works at Orbit Labs.", "2024-01-01")
    told(memory, "Nina works for Orbit Labs.", "2024-03-01")
    forgot = memory.forget(str(first.id))
    assert forgot.count == 2 and current(memory) == []
    memory.restore(str(first.id))
    assert current(memory) == ["Nina works at Orbit Labs."]


def test_a_repeat_with_tags_of_its_own_stays_to_be_found_by_them(memory: Memory) -> None:
    told(memory, "Nina works at Orbit Labs.", "2024-01-01")
    memory.remember("Nina works for Orbit Labs.", said_at="2024-03-01", tags=("crm",))
    settled(memory)
    assert len(current(memory)) == 2


# --- labels


def pair_of(memory: Memory, outcome: str) -> tuple[str, str]:
    for told_ in events(memory, "facts judged"):
        for pair in told_.data.get("pairs", ()):
            if pair["outcome"] == outcome:
                return str(told_.data["fact"]), str(pair["old"])
    raise AssertionError(f"no pair was found {outcome}")


def test_a_rejected_ending_is_reinstated_until_the_label_is_undone(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.", "2024-01-01")
    told(memory, "Nina lives in Oslo now.", "2025-01-01")
    fact, older = pair_of(memory, "updates")
    labelled = memory.label(fact, older, confirm=False)
    assert [label.outcome for label in labelled.labels] == ["distinct"]
    assert standing(memory, old) == "current"
    assert [change.id for change in labelled.changes if change.id == old.id]
    memory.undo(labelled.labels[0].event)
    assert standing(memory, old) == "superseded"


def test_a_label_outlives_a_rejudging(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.", "2024-01-01")
    told(memory, "Nina lives in Oslo now.", "2025-01-01")
    fact, older = pair_of(memory, "updates")
    memory.label(fact, older, outcome="distinct")
    memory.rejudge()
    assert standing(memory, old) == "current"


def test_a_label_can_end_what_was_found_distinct(memory: Memory) -> None:
    old = told(memory, "Nina likes the blue kettle.", "2024-01-01")
    new = told(memory, "Nina likes the red kettle.", "2025-01-01")
    assert len(current(memory)) == 2
    memory.label(str(new.id), str(old.id), outcome="updates")
    assert current(memory) == ["Nina likes the red kettle."]
    assert standing(memory, old) == "superseded"


def test_a_label_for_a_pair_that_was_not_judged(memory: Memory) -> None:
    old = told(memory, "Nina lives in Rome.")
    with pytest.raises(Exception, match="was not compared with"):
        memory.label(str(old.id), str(old.id), outcome="distinct")


# --- containers and scopes


def test_nobody_ends_what_somebody_else_said(memory: Memory) -> None:
    memory.remember("I live in Rome.", scope=q.Scope(user="ada"))
    settled(memory)
    memory.remember("I live in Oslo now.", scope=q.Scope(user="ben"))
    settled(memory)
    assert len(current(memory)) == 2


def test_verdicts_survive_a_restart_and_a_rebuild(tmp_path: Path) -> None:
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        told(memory, "Nina lives in Rome.", "2024-01-01")
        told(memory, "Nina lives in Oslo now.", "2025-01-01")
    with Memory(tmp_path / "data", models=JUDGED) as memory:
        assert memory.rebuild().equal
        settled(memory)
        assert current(memory) == ["Nina lives in Oslo now."]
        assert len(events(memory, "facts judged")) == 2
