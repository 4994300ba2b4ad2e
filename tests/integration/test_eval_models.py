"""`python -m eval.models`, with a scripted chat server: what is counted, and what a failure is."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eval import extraction, judging
from eval.models import main, price_of, some
from rewound.eventlog.enums import Outcome
from tests.integration.chatting import chatting

LIMIT = 6


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["--limit", str(LIMIT), *args])


def figures(result: Result) -> dict[str, list[str]]:
    """Row -> its cells, of a run with one table."""
    assert result.exit_code == 0, result.output
    rows = [line.strip("| ").split(" | ") for line in result.output.splitlines() if line]
    return {name: cells for name, *cells in rows}


def answer(told: str) -> Any:
    """Of texts nothing, of pairs that each is distinct."""
    pairs = [json.loads(line) for line in told.splitlines() if line.startswith('{"pair"')]
    if not pairs:
        return {"facts": []}
    return {
        "verdicts": [
            {"pair": each["pair"], "outcome": "distinct", "probability": 0.9} for each in pairs
        ]
    }


def test_an_extractor_beside_the_rules() -> None:
    with chatting() as server:
        server.good, server.usage = answer, {"prompt_tokens": 1000, "completion_tokens": 100}
        told = figures(run("--task", "extractors", "--chat", f"{server.url}=toy",
                           "--price", "toy=2/10"))  # fmt: skip
        count = len(server.asked)
    wanted = some(extraction.cases(), LIMIT, lambda case: case.id)
    expected = sum(len(case.expect) for case in wanted)
    assert len(wanted) == LIMIT <= count
    assert told[f"extractors: {LIMIT} messages"] == ["rules", "toy"]
    found = told["expected facts found"]
    assert found[1] == f"0.000 (0 of {expected})" and not found[0].startswith("0.000")
    assert told["tokens read / written"] == ["0 / 0", f"{1000 * count} / {100 * count}"]
    assert told["cost"] == ["0", f"{0.003 * count:.4f}"]
    assert told["cost of a thousand"] == ["0", f"{3.0 * count / LIMIT:.2f}"]


def test_a_judge_beside_the_rules() -> None:
    with chatting() as server:
        server.good = answer
        told = figures(run("--task", "judges", "--chat", server.url))
    examples = some(judging.cases(judging.SETS["held"]), LIMIT, lambda one: one.group)
    right = sum(Outcome.DISTINCT in one.allowed for one in examples)
    count = len(examples)
    assert told["its own opinion right"] == ["—", f"{right / count:.3f} ({right} of {count})"]
    assert told["failed"] == ["0", "0"] and told["cost"] == ["0", "—"]
    assert told["macro F1 of what it leans to"][0] != told["macro F1 of what it leans to"][1]


def test_what_a_model_fails_at_is_counted() -> None:
    with chatting() as server:
        server.good, server.mode = answer, "budget"
        told = figures(run("--task", "judges", "--chat", server.url))
    (_, unusable) = told["pairs without an opinion"]
    assert unusable.split(" of ")[0] == unusable.split(" of ")[1]
    assert told["failed"][1].endswith("cut off") and told["its own opinion right"] == ["—", "—"]


def test_a_configured_server_is_measured_and_one_that_is_not_there_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with chatting() as server:
        server.good = answer
        monkeypatch.setenv("REWOUND_NODES", f"chat={server.url}")
        monkeypatch.setenv("REWOUND_CHAT_KEY", "K1")
        told = figures(run("--task", "extractors"))
        label = server.url.removeprefix("http://")
        assert told[f"extractors: {LIMIT} messages"] == ["rules", label]
        assert set(server.keys) == {None}, "the key of another server"
    monkeypatch.delenv("REWOUND_NODES")
    gone = run("--chat", "http://127.0.0.1:9")
    assert gone.exit_code == 1 and "127.0.0.1:9" in gone.output and "reached" in gone.output


@pytest.mark.parametrize("told", ["toy", "toy=1", "toy=a/b", "=1/2", "toy=-1/2"])
def test_a_price_that_is_none_is_refused(told: str) -> None:
    result = run("--price", told)
    assert result.exit_code == 2 and "READ/WRITTEN" in result.output


def test_a_price_of_nobody_is_refused() -> None:
    assert price_of("a=b=0.15/0.6") == ("a=b", (0.15, 0.6))
    assert "no model is called toy: there are none" in run("--price", "toy=1/2").output
