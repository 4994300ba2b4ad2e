"""Trees of conditions on the command line and over MCP: the same items as the library finds."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rewound.http.cli import main
from rewound.http.mcp_calls import called
from rewound.http.mcp_schemas import of_reply
from rewound.http.mcp_tools import TOOLS
from rewound.memory.library import Memory
from rewound.memory.link import Link

RED = {"field": "tag", "op": "eq", "value": "red"}
TREE = {"and": [RED, {"not": {"field": "metadata.price", "op": "gte", "value": 100}}]}
WRONG = {"and": [RED, {"field": "price", "op": "eq", "value": 1}]}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    monkeypatch.setenv("REWOUND_DATA", str(tmp_path / "store"))
    with Memory(tmp_path / "store") as memory:
        memory.remember("A red lamp.", tags=["red"], metadata={"price": 15})
        memory.remember("A red desk.", tags=["red"], metadata={"price": 200})
        memory.remember("A blue lamp.", metadata={"price": 10})
    return tmp_path / "store"


@pytest.fixture
def link(data: Path) -> Iterator[Link]:
    opened = Link(data)
    yield opened
    opened.close()


def run(*args: str, code: int = 0) -> Any:
    result = CliRunner().invoke(main, ["--json", *args])
    assert result.exit_code == code, result.output
    return json.loads(result.stderr if code else result.stdout)


def test_the_command_line_narrows_by_a_tree(data: Path) -> None:
    where = json.dumps(TREE)
    with Memory(data) as memory:
        expected = [item.id for item in memory.list(where=TREE).items]
    assert len(expected) == 1
    assert [item["id"] for item in run("list", "--where", where)["items"]] == expected
    found = run("search", "lamp", "--where", where)
    assert [hit["id"] for hit in found["hits"]] == expected
    assert found["filters"]["where"] == TREE
    assert [line["id"] for line in run("context", "lamp", "--where", where)["lines"]] == expected
    shown = CliRunner().invoke(main, ["search", "lamp", "--where", where])
    assert f"where {where}" in " ".join(shown.stdout.split())


def test_the_command_line_forgets_by_a_tree(data: Path) -> None:
    everything = json.dumps({"not": {**RED, "value": "rde"}})
    error = run("forget", "--where", everything, "--yes", code=2)
    assert error["field"] == "filters.where" and "leaves nothing out" in error["message"]
    assert run("forget", "--where", json.dumps(TREE), "--yes")["count"] == 1
    left = {item["text"] for item in run("list")["items"]}
    assert left == {"A red desk.", "A blue lamp."}


def test_an_agent_narrows_by_a_tree(link: Link) -> None:
    for name, more in (("search", {"query": "lamp"}), ("context", {"query": "lamp"}), ("list", {})):
        result = called(link, "default", name, {**more, "where": TREE})
        assert result["isError"] is False, result
        content = result["structuredContent"]
        found = content.get("hits") or content.get("lines") or content.get("items")
        assert ["A red lamp." in part["text"] for part in found] == [True]
        assert TOOLS[name].as_json["outputSchema"] == of_reply(TOOLS[name].reply)


@pytest.mark.parametrize("name", ["search", "context", "list"])
def test_an_agent_is_told_what_would_be_right(link: Link, name: str) -> None:
    query = {} if name == "list" else {"query": "lamp"}
    result = called(link, "default", name, {**query, "where": WRONG})
    (block,) = result["content"]
    assert result["isError"] is True
    assert block["text"].startswith("where.and[1].field is 'price'")
    assert "metadata.NAME" in block["text"]
    described = TOOLS[name].arguments["properties"]["where"]
    assert described["type"] == "object" and "metadata.NAME" in described["description"]
