"""README and docs tell the truth: their commands and code run, and they name all that there is."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rewound.eventlog.registry import NAMES
from tests import loaded

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = {"docs/cli.md"}
"""Whose commands another test runs already (tests/cli/test_docs_cli.py)."""

SERVER = "127.0.0.1:8900"
"""Where pages say that the server is."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language, in order."""
    return [code for name, code in _BLOCK.findall(page.read_text("utf-8")) if name == language]


def environment(folder: Path) -> dict[str, str]:
    """One in which `rewound` is on the path and nothing of the user's is used."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REWOUND_")}
    programs = folder.parent / "programs"  # beside: pages look around in their folder
    programs.mkdir(exist_ok=True)
    loaded.command(programs)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return kept | {"PATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}


def with_blocks(language: str) -> list[object]:
    names = [page.relative_to(ROOT).as_posix() for page in PAGES if blocks(page, language)]
    return [pytest.param(ROOT / name, id=name) for name in names if name not in ELSEWHERE]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server on the store that `make run` would open in this folder."""
    command = [sys.executable, "-m", "rewound.http", "serve", "--port", "0"]
    env = environment(folder) | {"REWOUND_DATA": str(folder / ".rewound")}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://(127\.0\.0\.1:\d+)", server.stdout.readline())
            assert found is not None, "the server did not say where it is"
            yield found[1]
        finally:
            server.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("page", with_blocks("sh"))
def test_commands_run(page: Path, tmp_path: Path) -> None:
    """All `sh` blocks of a page as one script, in an empty folder, beside a server if it asks."""
    script = "set -eu -o pipefail\n" + "\n".join(blocks(page, "sh"))
    with ExitStack() as running:
        if SERVER in script:
            script = script.replace(SERVER, running.enter_context(serving(tmp_path)))
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_blocks("python"))
def test_code_runs(page: Path, tmp_path: Path) -> None:
    """All `python` blocks of a page, as one program in an empty folder."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks(page, "python"))],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_every_event_type_is_documented() -> None:
    page = (ROOT / "docs" / "events.md").read_text("utf-8")
    told = set(re.findall(r"^\| `([a-z ]+)` \|", page, re.MULTILINE))
    assert told == set(NAMES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_opens_with_the_two_commands() -> None:
    start = (ROOT / "README.md").read_text("utf-8")[:600]
    assert "make run" in start and "make test" in start
