"""A real store, and the command line on it."""

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rewound.http.cli import main
from tests.cli.running import Cli, told


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def cli(data: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs one command on the store; each opens and closes it, as separate processes would."""
    for name in list(os.environ):
        if name.startswith("REWOUND_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    monkeypatch.setenv("REWOUND_DATA", str(data))
    monkeypatch.setenv("REWOUND_EMBEDDER", "none")
    monkeypatch.setenv("REWOUND_EXTRACTOR", "none")
    monkeypatch.setenv("REWOUND_JUDGE", "none")
    monkeypatch.setattr("rewound.http.cli_base.SETTLE_S", 60.0)  # however slow the machine

    def run(*args: str, code: int = 0, **more: Any) -> Result:
        result = CliRunner().invoke(main, [str(arg) for arg in args], **more)
        assert result.exit_code == code, result.output
        if code:
            assert "Traceback" not in result.output
            assert "internal error" not in result.stderr
        return result

    return run


@pytest.fixture
def fact(cli: Cli) -> str:
    written = told(cli, "remember", "Nina works at Harbor Foods.", "--said-at", "2026-03-01")
    return str(written["items"][0]["id"])
