"""R02 and R22 as a profile shows them: what was reversed, and what was forgotten."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.llm.rules import RulesExtractor
from rewound.memory import Memory
from tests.integration.drawing import With


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path, models=With(given=RulesExtractor(), judge="features")) as opened:
        opened.own()
        yield opened


def told(memory: Memory) -> str:
    assert memory.workers("wait").pending == 0
    portrait = memory.profile()
    lists = (portrait.stable, portrait.recent, *portrait.buckets.values())
    return "\n".join([portrait.text, *(line.text for lines in lists for line in lines)])


def test_r02_a_reversed_preference_is_told_once(memory: Memory) -> None:
    memory.ingest("I love olives.")
    assert "loves olives" in told(memory)
    memory.ingest("I can't stand olives any more.")
    assert "loves olives" not in told(memory)
    lines = [line for line in memory.profile().text.splitlines() if "olives" in line]
    assert len(lines) == 1 and "can't stand" in lines[0]


def test_r22_a_profile_never_states_what_is_forgotten(memory: Memory) -> None:
    written = memory.ingest("My locker PIN is 7391-QUOKKA.")
    assert "QUOKKA" in told(memory)
    document = written.items[0].id
    assert document is not None
    then = memory.events(limit=1, newest=True).events[0].position
    memory.forget(document)
    for _ in range(2):  # the workers bring nothing back
        assert "QUOKKA" not in told(memory)
    assert "QUOKKA" not in memory.profile(as_of=then).text
    memory.restore(document)
    assert "QUOKKA" in told(memory)
