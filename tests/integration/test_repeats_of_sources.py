"""What two sources say, when one of them is forgotten, erased, restored or taken back."""

from pathlib import Path

import pytest

from rewound.memory import requests as q
from tests.integration.ruling import Town, open_town

FIRST = "Nina lives in Rome. She likes it."
WORDINGS = ("Nina lives in Rome.", "Rome is where Nina lives.")


def twice(town: Town, words: str) -> tuple[str, str, str]:
    """The first document, what it says, and the same from a second one."""
    first = town.store.ingest(FIRST)
    second = town.store.ingest(f"As far as I know: {words} Right.")
    one, two = town.draw(first, "Nina lives in Rome."), town.draw(second, words)
    town.judge(two, (one, "duplicate"))
    assert facts(town) == [one]
    return first, one, two


def facts(town: Town) -> list[str]:
    return [fact for fact in town.current() if fact.startswith("fact_")]


@pytest.mark.parametrize("words", WORDINGS)
def test_what_another_source_says_stays_when_the_first_is_forgotten(
    tmp_path: Path, words: str
) -> None:
    with open_town(tmp_path) as town:
        first, one, two = twice(town, words)
        forgot = town.store.forget(first)
        assert facts(town) == [two] and len(forgot.events) == 1
        town.store.ask(q.Restore(container=town.store.name, ids=(first,)))
        assert facts(town) == [one] and town.state(two) == "repeated"
        town.undo(town.events("restored")[0])
        assert facts(town) == [two]
        town.undo(forgot.events[0])
        assert facts(town) == [one] and town.state(two) == "repeated"


@pytest.mark.parametrize("words", WORDINGS)
def test_what_another_source_says_stays_when_the_first_is_erased(
    tmp_path: Path, words: str
) -> None:
    with open_town(tmp_path) as town:
        first, _, two = twice(town, words)
        town.store.ask(q.Erase(container=town.store.name, ids=(first,)))
        assert facts(town) == [two]


@pytest.mark.parametrize("words", WORDINGS)
def test_what_another_source_says_stays_when_the_first_is_undone(
    tmp_path: Path, words: str
) -> None:
    with open_town(tmp_path) as town:
        first, one, two = twice(town, words)
        undone = town.undo(town.stating(first))
        assert facts(town) == [two]
        town.undo(undone)
        assert facts(town) == [one]


def test_forgetting_the_fact_itself_takes_all_that_says_so(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        _, one, _ = twice(town, WORDINGS[1])
        town.store.forget(one)
        assert facts(town) == []
