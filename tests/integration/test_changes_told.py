"""Values that change: what was so before ends and stays in history, what is told last holds.

Each line of `changes_told.jsonl` is what one speaker says, a week apart: `now` stands in what holds
then, `was` in what is over. With `stays` the first is no former value and holds as well. `known`
marks what is still wrong and says how.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.replies import View
from tests.integration.stating import stands

RULES = Models(embedder="none", extractor="rules", judge="rules")
SPEAKER = "Nina"
KNOWN = 7
"""How many may be marked as known: fewer as they are mended, never more."""


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    kind: str
    said: tuple[str, ...]
    now: str
    was: str | None = None
    stays: str | None = None
    known: str | None = None


def cases() -> list[Told]:
    lines = Path(__file__).with_name("changes_told.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Told) for line in lines]


CASES = cases()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("changes"), models=RULES) as memory:
        yield memory


def told(store: Memory, case: Told) -> tuple[list[View], list[View]]:
    """The facts of the first message and all facts, as they stand when all was said."""
    memory = store.container(case.id)
    first: list[str] = []
    for week, text in enumerate(case.said):
        said = {"role": "user", "name": SPEAKER, "content": text}
        memory.add_messages([{**said, "time": f"2026-03-{2 + 7 * week:02}T10:00:00Z"}])
        memory.workers("wait")
        first = first or [view.id for view in facts(memory)]
    views = facts(memory)
    return [view for view in views if view.id in first], views


def facts(memory: Memory) -> list[View]:
    return list(memory.list(what="fact", limit=100, include_superseded=True).items)


def fault(store: Memory, case: Told) -> str | None:
    """What is wrong; None when all is as it should be."""
    first, views = told(store, case)
    current = [view.text for view in views if stands(view) == "current"]
    if not first:
        return "nothing is drawn of what was said first"
    if case.now and not any(case.now in text for text in current):
        return f"{case.now!r} does not hold: {current}"
    former = case.was or case.stays or ""
    held = [view for view in first if former in view.text]
    if not held:
        return f"{former!r} stands in nothing that was drawn first: {[view.text for view in first]}"
    if case.stays:
        over = [view.text for view in held if stands(view) != "current"]
        return f"over, though it holds: {over}" if over else None
    left = [view.text for view in held if stands(view) == "current"]
    return f"holds as before: {left}" if left else None


@pytest.mark.parametrize("case", [case for case in CASES if case.known is None], ids=lambda c: c.id)
def test_the_former_value_ends_and_the_new_one_holds(store: Memory, case: Told) -> None:
    assert fault(store, case) is None


def test_what_is_known_to_be_wrong_is_just_that(store: Memory) -> None:
    """Whoever mends one of them takes its mark away, so that it stays mended."""
    known = [case for case in CASES if case.known is not None]
    mended = [case.id for case in known if fault(store, case) is None]
    assert mended == [], "these are right now: take `known` out of changes_told.jsonl"
    assert len(known) <= KNOWN and len(CASES) >= 211


def test_history_keeps_the_former_value(store: Memory) -> None:
    case = next(case for case in CASES if case.id == "employer-2")
    told(store, case)
    memory = store.container(case.id)
    periods = [each for line in memory.timeline(SPEAKER, "employer").lines for each in line.periods]
    assert [(each.value, each.standing.state) for each in periods] == [
        ("Northwind", "superseded"),
        ("Contoso", "current"),
    ]
    assert [view.text for view in memory.list(what="fact", valid_at="2026-03-03").items] == [
        "Nina works for Northwind"
    ]
