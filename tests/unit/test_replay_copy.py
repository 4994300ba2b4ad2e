"""A store made by a replay: a picture of a moment, for reading."""

from pathlib import Path

import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, ReadOnly
from rewound.memory import Memory


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Replayed to just after the first fact; what came later is not in it."""
    with Memory(tmp_path / "store") as memory:
        memory.remember("Nina works at Orbit Labs.", tags=["people"])
        moment = memory.stats().info[0].position
        memory.remember("Tomas lives in Alfama.")
        memory.container("later").remember("This container came later.")
        replayed = memory.replay(f"@{moment}", to=str(tmp_path / "copy"))
        assert replayed.agrees
        assert replayed.rows["facts"] == 1
    return tmp_path / "copy"


def test_it_answers_as_the_store_did(copy: Path) -> None:
    with Memory(copy) as memory:
        assert [item.text for item in memory.list().items] == ["Nina works at Orbit Labs."]
        assert memory.search("Nina").hits[0].tags == ("people",)
        assert not memory.search("Alfama").hits
        assert [info.name for info in memory.containers().containers] == ["default"]
        with pytest.raises(NotFound):
            memory.container("later").list()
        assert memory.verify().ok


def test_nothing_of_what_came_later_lies_in_its_files(copy: Path) -> None:
    for path in copy.rglob("*"):
        if path.is_file():
            assert b"Alfama" not in path.read_bytes(), path.name


def test_it_takes_no_writes(copy: Path) -> None:
    with Memory(copy) as memory, pytest.raises(ReadOnly, match="for reading"):
        memory.remember("One more.")


def test_what_was_forgotten_since_shows_in_no_copy(tmp_path: Path) -> None:
    with Memory(tmp_path / "store") as memory:
        secret = memory.remember("The door code is 4471-QUOKKA.").items[0].id
        assert secret is not None
        memory.forget(secret)
        memory.replay("@2", to=str(tmp_path / "copy"))
    with Memory(tmp_path / "copy") as memory:
        assert not memory.list().items
        assert not memory.search("QUOKKA").hits


def test_a_folder_that_holds_something_is_refused(copy: Path, tmp_path: Path) -> None:
    with Memory(tmp_path / "store") as memory, pytest.raises(InvalidInput) as refused:
        memory.replay("now", to=str(copy))
    assert refused.value.field == "to"
