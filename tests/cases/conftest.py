"""Fixtures of the cases: an empty store, with a clock that tests may set."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.memory import Memory
from tests.cases.given import Cli, Clock

KEPT = ("REWOUND_EMBEDDER", "REWOUND_EXTRACTOR", "REWOUND_JUDGE")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("REWOUND_") and name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(data: Path, clock: Clock) -> Iterator[Memory]:
    with Memory(data, "s", clock=clock) as opened:
        yield opened


@pytest.fixture
def cli(data: Path) -> Cli:
    return Cli(data)
