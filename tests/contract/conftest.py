"""Both implementations of the log, for tests that both have to pass."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.given import Given, InMemory, OnDisk


@pytest.fixture(params=["memory", "lmdb"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Given]:
    made: Given = InMemory() if request.param == "memory" else OnDisk(tmp_path / "log")
    yield made
    made.log.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[OnDisk]:
    made = OnDisk(tmp_path / "log")
    yield made
    made.log.close()
