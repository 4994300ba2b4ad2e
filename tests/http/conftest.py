"""One server for each module; each test has a container of its own."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from tests.http.serving import Api, Served, serving

_numbers = count(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's working folder; its data lies below."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serving(folder) as started:
        yield started


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as opened:
        yield opened


@pytest.fixture
def api(client: httpx.Client) -> Api:
    """The API in an empty container."""
    return Api(client, f"c{next(_numbers)}")
