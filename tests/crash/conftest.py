"""Crashes are tried on a disk, with its real commits, wherever the other tests have their files."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Kept when the test fails: what a crash left is worth a look."""
    failed = request.session.testsfailed
    folder = Path(tempfile.mkdtemp(prefix="rewound-crash-"))
    yield folder
    if request.session.testsfailed == failed:
        shutil.rmtree(folder, ignore_errors=True)
