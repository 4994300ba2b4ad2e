"""The command line on a real store: run in this process, and in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import Result

from tests import loaded

CHAT = [
    {
        "id": "m1",
        "conversation": "planning",
        "role": "user",
        "name": "Nina",
        "content": "The launch moved to May.",
        "time": "2026-03-02T10:00:00Z",
    },
    {"id": "m2", "conversation": "planning", "role": "assistant", "content": "Noted."},
    {"conversation": "garden", "name": "Omar", "content": "The tomatoes need water."},
]

Cli = Callable[..., Result]
"""Runs one command on the store of a test."""


def told(cli: Cli, *args: str, **more: Any) -> Any:
    return json.loads(cli("--json", *args, **more).stdout)


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def refused(result: Result, *words: str) -> None:
    """One line that says what is wrong, and nothing on stdout."""
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


def spawn(data: Path, *args: str) -> "subprocess.Popen[str]":
    env = {k: v for k, v in os.environ.items() if not k.startswith("REWOUND_")}
    env |= {"REWOUND_DATA": str(data), "XDG_CONFIG_HOME": "/nowhere"}
    env |= {f"REWOUND_{name}": "none" for name in ("EMBEDDER", "EXTRACTOR", "JUDGE")}
    pipe = subprocess.PIPE
    return loaded.Popen[str](
        [sys.executable, "-m", "rewound.http", *args],
        stdout=pipe,
        stderr=pipe,
        env=env,
        text=True,
    )


def first_line(running: "subprocess.Popen[str]") -> str:
    assert running.stdout is not None
    return running.stdout.readline()
