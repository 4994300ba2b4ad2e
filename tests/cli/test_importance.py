"""Importance on the command line: given with what is kept, set by `update`, told by what shows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rewound.http.cli import main

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    def run(*arguments: str, **more: Any) -> Result:
        return CliRunner().invoke(main, ["--data", str(tmp_path / "store"), *arguments], **more)

    return run


def kept(result: Result) -> str:
    assert result.exit_code == 0, result.output
    item: str = json.loads(result.stdout)["items"][0]["id"]
    return item


def test_it_is_given_told_and_set(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Omar grows figs.")
    chat = tmp_path / "chat.jsonl"
    chat.write_text(json.dumps({"content": "I like rain.", "importance": 0.2}) + "\n")
    fact = kept(cli("remember", "Nina likes tea.", "--importance", "0.2", "--json"))
    kept(cli("ingest", str(tmp_path / "note.md"), "--importance", "0.2", "--json"))
    assert cli("import", str(chat)).exit_code == 0
    for what in ("fact", "document", "message"):
        page = json.loads(cli("list", "--what", what, "--json").stdout)
        assert [item["importance"] for item in page["items"]] == [0.2]
        assert "importance 0.2" in cli("list", "--what", what).output
    kept(cli("update", fact, "--importance", "0.9", "--json"))
    assert "Nina likes tea." in cli("show", fact).output
    for shown in (cli("show", fact), cli("search", "tea"), cli("history", fact), cli("why", fact)):
        assert "importance" in shown.output and "0.9" in shown.output, shown.output


@pytest.mark.parametrize("wrong", ["nan", "-0.1", "1.1", "much"])
def test_what_is_no_share_is_refused_by_name(cli: Cli, wrong: str) -> None:
    fact = kept(cli("remember", "Nina likes tea.", "--json"))
    for arguments in (("remember", "Nina likes figs."), ("update", fact)):
        refused = cli(*arguments, f"--importance={wrong}")
        assert refused.exit_code == 2 and "importance" in refused.output, refused.output
