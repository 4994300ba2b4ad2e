"""The lines by which the docs start model servers: the real server knows every option in them, and
with them does as the docs say."""

import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.llama.serving import binary_that_runs, serving

DEPLOY = Path(__file__).parents[2] / "deploy"
MODELS = DEPLOY / "models.md"
ROLES = ("embed", "rerank", "chat")
OURS = {"--deep"}
"""Options of Rewound that stand beside those of the server."""


def lines() -> dict[str, list[str]]:
    """The words of each line by the role that it is for, in the order of the page."""
    found = re.findall(r"^llama-server ((?:[^\\\n]|\\\n)*)$", MODELS.read_text(), re.MULTILINE)
    return dict(zip(ROLES, (shlex.split(line.replace("\\\n", " ")) for line in found), strict=True))


def elsewhere() -> dict[str, list[str]]:
    """Further words with options: in the units, the compose file, and in the midst of the page."""
    words = {
        unit.stem: shlex.split(start[1])
        for unit in sorted(DEPLOY.glob("*.service"))
        if (start := re.search(r"^ExecStart=\S*llama-server (.*)$", unit.read_text(), re.M))
    }
    composed = (DEPLOY / "compose.yaml").read_text()
    for name, line in re.findall(
        r"^  (\w+):\n(?:    .*\n)*?    command: >-\n((?: {6}--.*\n)+)", composed, re.M
    ):
        words[f"compose {name}"] = shlex.split(line)
    for number, quoted in enumerate(re.findall(r"`(--[^`]+)`", MODELS.read_text())):
        words[f"models.md {number}"] = shlex.split(quoted)
    return words


@cache
def known() -> dict[str, bool]:
    """Option -> whether it takes a value, as the server's `--help` has it."""
    binary = binary_that_runs()
    environment = os.environ | {"LD_LIBRARY_PATH": str(binary.parent)}
    done = subprocess.run(
        [str(binary), "--help"], env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, bool] = {}
    for line in done.stdout.splitlines():
        told = re.match(r"((?:-[\w-]+, *)*(-[\w-]+))(?: (\S.*?))?(?:  .*)?$", line)
        if told is not None:
            for name in re.findall(r"-[\w-]+", told[1]):
                found[name] = told[3] is not None
    assert len(found) > 100, "it tells its options in another form"
    return found


def wrong(words: list[str]) -> list[str]:
    """What the server would not take."""
    takes = known()
    found: list[str] = []
    for place, word in enumerate(words):
        if not word.startswith("--") or word in OURS:
            continue
        followed = place + 1 < len(words) and not words[place + 1].startswith("--")
        if word not in takes:
            found.append(f"{word} is unknown")
        elif takes[word] and not followed and len(words) > 1:
            found.append(f"{word} wants a value")
        elif not takes[word] and followed:
            found.append(f"{word} takes no value")
    return found


def test_what_is_no_option_is_found() -> None:
    assert wrong(["--reranking", "--pooling", "mean", "--ctx-size", "8192"]) == []
    assert wrong(["--rerankin", "--reranking", "yes", "--pooling"]) == [
        "--rerankin is unknown", "--reranking takes no value", "--pooling wants a value",
    ]  # fmt: skip


def test_every_option_exists() -> None:
    told = lines() | elsewhere()
    shipped = {f"{how}{role}" for how in ("rewound-", "compose ") for role in ROLES}
    assert {*ROLES, *shipped} <= told.keys()
    assert {name: wrong(words) for name, words in told.items() if wrong(words)} == {}


OF_THE_PLACE = ("--model", "--alias", "--host", "--port")


def options(words: list[str]) -> dict[str, str]:
    """Each option and its value, but for those that belong to one machine."""
    told = " ".join(words).split("--")[1:]
    pairs = (f"--{each}".strip().partition(" ") for each in told)
    return {name: value for name, _, value in pairs if name not in OF_THE_PLACE}


@pytest.mark.parametrize("role", ROLES)
def test_the_units_and_the_compose_file_start_servers_as_the_page_does(role: str) -> None:
    told = elsewhere()
    assert options(told[f"rewound-{role}"]) == options(lines()[role])
    assert options(told[f"compose {role}"]) == options(lines()[role])


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("role", "slots", "context"), [("embed", 4, 2048), ("rerank", 4, 2048), ("chat", 2, 8192)]
)
def test_a_server_of_that_line_is_as_the_page_says(
    role: str, slots: int, context: int, tmp_path: Path
) -> None:
    """Its slots and what each reads; with the small model, for which the numbers mean nothing."""
    words = lines()[role]
    own = {"--model", "--host", "--port"}
    flags = [
        word
        for place, word in enumerate(words)
        if word not in own and (place == 0 or words[place - 1] not in own)
    ]
    with serving(tmp_path / "log", *flags) as server:
        props = server.get("/props")
        assert props["total_slots"] == slots
        assert props["default_generation_settings"]["n_ctx"] == context
        (model,) = server.get("/v1/models")["data"]
        assert model["id"] == words[words.index("--alias") + 1]
