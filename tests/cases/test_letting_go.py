"""What was erased stays in no memory of the process either (R22)."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import letting_go
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.given import Clock, id_of
from tests.cases.talking import Talk

MANY = 1024
"""A cache of so many entries is one of texts or words."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Memory]:
    models = Models(embedder="hashing", extractor="rules", judge="rules")
    with Memory(tmp_path / "store", models=models, clock=Clock()) as memory:
        memory.own()
        yield memory


def caches() -> dict[str, Any]:
    """The large caches of functions in what is loaded of the product."""
    return {
        f"{name}.{member}": value
        for name, module in sorted(sys.modules.items())
        if name.startswith("rewound.")
        for member, value in vars(module).items()
        if hasattr(value, "cache_parameters") and (value.cache_parameters()["maxsize"] or 0) >= MANY
    }


def test_r22_every_cache_of_texts_is_emptied(store: Memory) -> None:
    talk = Talk(store)
    talk.each("My locker PIN is 7391.", "My locker PIN is 7392 now.", "I love quokkas.")
    talk.found("locker PIN")
    filled = [name for name, cache in caches().items() if cache.cache_info().currsize]
    assert len(filled) > 5 and letting_go.held() > 5, filled
    letting_go.let_go()
    left = [name for name, cache in caches().items() if cache.cache_info().currsize]
    assert left == [] and letting_go.held() == 0


def test_r22_erasing_empties_them(store: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[str] = []
    ways = [*letting_go._ways, lambda: cleared.append("all")]
    monkeypatch.setattr(letting_go, "_ways", ways)
    fact = id_of(store.remember("My locker PIN is 7391-QUOKKA."))
    assert cleared == []
    store.forget(fact)
    assert cleared == []
    store.erase(fact)
    assert cleared == ["all"]
