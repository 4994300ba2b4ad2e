"""Facts end with the text that they were drawn from, and only with it."""

from pathlib import Path

import pytest

from rewound.eventlog.instants import parse_instant
from rewound.memory import Memory
from rewound.memory import replies as r
from tests.integration.drawing import Told, working
from tests.integration.given import HandClock

FILLER = "Words without a stop " * 55
"""Long enough that each paragraph is a piece of its own."""

TEA, MILK, RICE, FISH = "Ann likes tea.", "Ben buys milk.", "Cleo cooks rice.", "Dora eats fish."


def page(*lines: str) -> str:
    """Each line begins a piece of its own."""
    return "\n\n".join(f"{line} {FILLER}" for line in lines)


def send(memory: Memory, text: str, said_at: str | None = None) -> r.Written:
    """Version after version of one document, read to the end."""
    written = memory.ingest(text, id="page", said_at=said_at)
    drain(memory)
    return written


def drain(memory: Memory) -> None:
    assert memory.workers("wait").pending == 0


def current(memory: Memory) -> list[str]:
    return sorted(item.text for item in memory.list("fact", limit=1000).items)


def ever(memory: Memory) -> dict[str, str]:
    """The state of every fact there is, by its text; none is there twice."""
    items = memory.list("fact", limit=1000, include_superseded=True).items
    found = {item.text: item.standing.state for item in items if item.standing is not None}
    assert len(found) == len(items)
    return found


def ids(memory: Memory) -> dict[str, str]:
    items = memory.list("fact", limit=1000, include_superseded=True).items
    return {item.text: item.id for item in items}


def event_of(written: r.Written) -> str:
    event = written.items[0].event
    assert event is not None
    return event


def endings(memory: Memory) -> list[r.EventView]:
    return list(memory.events(types=["facts ended"]).events)


def test_what_a_new_version_no_longer_says_has_ended(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        send(memory, page(TEA, MILK, RICE))
        known = ids(memory)
        told.seen.clear()
        second = send(memory, page(TEA, FISH, RICE))
        assert [said.text.split(" Words")[0].strip() for said in told.seen] == [FISH]
        assert ever(memory) == {TEA: "current", MILK: "ended", RICE: "current", FISH: "current"}
        assert current(memory) == sorted([TEA, FISH, RICE])
        (ending,) = endings(memory)
        assert ending.causes == (event_of(second),) and ending.items == (known[MILK],)
        standing = memory.get(known[MILK]).item.standing
        assert standing == r.Standing(state="ended", by=ending.id, at=ending.recorded_at)
        assert any("1 fact ended" in note for note in second.notes)
        then = memory.as_of(f"@{ending.position - 1}").list("fact").items
        assert MILK in [item.text for item in then]


def test_it_ends_when_the_new_version_was_said(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK), said_at="2025-01-01T00:00:00Z")
        send(memory, page(TEA), said_at="2025-03-01T00:00:00Z")
        fact = memory.get(ids(memory)[MILK]).item
        assert fact.valid_from is not None and fact.valid_from.startswith("2025-01-01T00:00:00")
        assert fact.valid_to is not None and fact.valid_to.startswith("2025-03-01T00:00:00")
        assert MILK in [i.text for i in memory.list("fact", valid_at="2025-02-01").items]
        assert MILK not in [i.text for i in memory.list("fact", valid_at="2025-04-01").items]
        assert current(memory) == [TEA]


def test_undo_brings_it_back_and_undo_of_that_ends_it_again(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        second = send(memory, page(TEA, FISH))
        undone = memory.undo(event_of(second))
        drain(memory)
        assert ever(memory) == {TEA: "current", MILK: "current"}
        assert undone.event is not None
        memory.undo(undone.event)
        drain(memory)
        assert ever(memory) == {TEA: "current", MILK: "ended", FISH: "current"}
        (ending,) = endings(memory)
        memory.undo(ending.id)
        assert ever(memory)[MILK] == "current"
        send(memory, page(TEA, RICE))
        assert ever(memory)[MILK] == "current", "a person took that ending back"


def test_a_removed_document_takes_its_facts_along(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        memory.remember(RICE)
        memory.update(ids(memory)[MILK], FISH)
        then = memory.events(limit=1000).events[-1].position
        removed = memory.remove_document("page")
        assert ever(memory) == {TEA: "ended", MILK: "superseded", FISH: "current", RICE: "current"}
        assert any("1 fact ended" in note for note in removed.notes)
        assert TEA in [item.text for item in memory.list("fact", as_of=f"@{then}").items]
        undone = memory.undo(event_of(removed))
        assert ever(memory)[TEA] == "current"
        assert undone.event is not None
        memory.undo(undone.event)
        assert ever(memory)[TEA] == "ended"


def test_sent_anew_after_its_removal_it_is_a_new_document(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA))
        memory.remove_document("page")
        assert current(memory) == []
        send(memory, page(TEA))
        assert current(memory) == [TEA]


def test_the_same_words_elsewhere_in_the_document_keep_the_fact(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        send(memory, page(TEA, MILK, f"{RICE} {TEA}"))
        (known,) = {raw for text, raw in ids(memory).items() if text == TEA}
        assert len(memory.get(known).item.sources) == 2
        send(memory, page(MILK, f"{RICE} {TEA}"))
        assert ever(memory) == {TEA: "current", MILK: "current", RICE: "current"}
        assert known not in [item for ending in endings(memory) for item in ending.items]
        send(memory, page(MILK, RICE))
        assert ever(memory) == {TEA: "ended", MILK: "current", RICE: "current"}


def test_versions_that_came_before_any_was_read_count_together(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        memory.workers("pause")
        memory.ingest(page(TEA, MILK), id="page")
        memory.ingest(page(TEA, MILK, f"{RICE} {TEA}"), id="page")
        memory.workers("resume")
        drain(memory)
        send(memory, page(MILK, f"{RICE} {TEA}"))
        assert ever(memory) == {TEA: "current", MILK: "current", RICE: "current"}


def test_each_document_keeps_its_own(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA))
        memory.ingest(page(TEA), id="other")
        drain(memory)
        memory.remove_document("page")
        assert current(memory) == [TEA]


@pytest.mark.parametrize("said", [True, False], ids=["with a time", "without"])
def test_a_line_that_moved_keeps_its_fact(tmp_path: Path, said: bool) -> None:
    clock = HandClock()
    with working(tmp_path, Told(), clock=clock) as memory:

        def version(number: int, text: str) -> r.Written:
            clock.at += 3_600_000_000
            return send(memory, text, f"2025-0{number}-01T00:00:00Z" if said else None)

        version(1, page(f"{TEA} {MILK}", RICE))
        known = ids(memory)
        version(2, page(TEA, f"{RICE} {MILK}", FISH))
        assert ever(memory) == {text: "current" for text in (TEA, MILK, RICE, FISH)}
        assert {text: ids(memory)[text] for text in known} == known
        milk = memory.get(known[MILK]).item
        assert milk.valid_to is None
        assert milk.sources[0].start is not None, "where it stands now comes first"
        third = version(3, page(TEA, f"{RICE} {MILK}", FISH, "Emil is here."))
        assert ever(memory)[MILK] == "current", "it stands on its new place"
        version(4, page(TEA, RICE, FISH))
        assert ever(memory)[MILK] == "ended"
        assert third.items[0].status == "replaced"


def test_the_old_version_sent_again_makes_it_current_again(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        known = ids(memory)
        send(memory, page(TEA, FISH))
        third = send(memory, page(TEA, MILK))
        assert ever(memory) == {TEA: "current", MILK: "current", FISH: "ended"}
        assert ids(memory)[MILK] == known[MILK]
        memory.undo(event_of(third))
        drain(memory)
        assert ever(memory) == {TEA: "current", MILK: "ended", FISH: "current"}


def test_undoing_the_version_between_does_not_bring_back_what_the_last_lacks(
    tmp_path: Path,
) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        second = send(memory, page(TEA, FISH))
        send(memory, page(TEA, RICE))
        undone = memory.undo(event_of(second))
        drain(memory)
        assert ever(memory) == {TEA: "current", MILK: "ended", RICE: "current"}
        assert undone.event is not None
        memory.undo(undone.event)
        drain(memory)
        assert ever(memory) == {TEA: "current", MILK: "ended", RICE: "current", FISH: "ended"}


def test_a_version_that_returns_does_not_end_what_a_later_one_says(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        second = send(memory, page(TEA, FISH))
        undone = memory.undo(event_of(second))
        send(memory, page(TEA, MILK, RICE))
        assert undone.event is not None
        memory.undo(undone.event)
        drain(memory)
        states = ever(memory)
        assert (states[TEA], states[MILK], states[RICE]) == ("current",) * 3


def test_a_forgotten_fact_stays_forgotten_when_its_line_moves(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(f"{TEA} {MILK}", RICE))
        memory.forget(ids(memory)[MILK])
        send(memory, page(TEA, f"{RICE} {MILK}"))
        assert current(memory) == sorted([TEA, RICE])


def test_an_edited_fact_does_not_come_back_when_its_line_moves(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(f"{TEA} {MILK}", RICE))
        memory.update(ids(memory)[MILK], FISH)
        send(memory, page(TEA, f"{RICE} {MILK}"))
        assert ever(memory) == {
            TEA: "current",
            MILK: "superseded",
            FISH: "current",
            RICE: "current",
        }


def test_what_was_to_begin_later_never_does(tmp_path: Path) -> None:
    clock = HandClock(parse_instant("2025-01-01").at)
    with working(tmp_path, Told(), clock=clock) as memory:
        send(memory, page(TEA, MILK), said_at="2030-01-01T00:00:00Z")
        assert current(memory) == sorted([TEA, MILK])
        memory.remove_document("page")
        assert current(memory) == []
        assert ever(memory) == {TEA: "ended", MILK: "ended"}


def test_forgetting_a_moved_fact_blacks_out_both_places(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        first = send(memory, page(f"{TEA} {MILK}", RICE))
        send(memory, page(TEA, f"{RICE} {MILK}"))
        memory.forget(ids(memory)[MILK])
        for when in (None, f"@{first.position}"):
            passages = memory.list("passage", limit=100, as_of=when).items
            assert passages and not [item for item in passages if "milk" in item.text]
        assert current(memory) == sorted([TEA, RICE])


def test_views_made_anew_hold_the_same(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        send(memory, page(TEA, MILK))
        send(memory, page(TEA, FISH))
        before = ever(memory)
        assert memory.rebuild().equal
        assert ever(memory) == before
        assert memory.replay(f"@{memory.events(limit=1000).events[-1].position}").agrees
