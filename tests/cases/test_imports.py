"""R49, for chats as JSON lines: good lines go in, bad ones are told, twice is once."""

import json
from pathlib import Path
from typing import Any

import pytest

from rewound.memory import Memory
from tests.cases.given import Cli, Clock, pages

GOOD: list[dict[str, Any]] = [
    {"content": "Null name and time.", "name": None, "time": None, "conversation": None},
    {"content": "A float time.", "time": 1_700_000_000.25, "conversation": "c"},
    {"content": "A whole time.", "time": 1_700_000_000, "conversation": "c"},
    {"content": "A time with an offset.", "time": "2023-11-15T03:43:20+05:30", "conversation": "c"},
    {"content": "A path for a name.", "conversation": "../x", "id": "../y"},
    {"content": "A number for an id.", "id": 17, "conversation": 4},
    {"content": "No metadata.", "metadata": None, "tags": None},
    {"content": "Before 1970.", "time": -1.5},
]
BAD: list[tuple[str, str]] = [
    ("[1, 2]", "object"),
    ("null", "object"),
    ('"text"', "object"),
    ("{}", "content"),
    ('{"content": null}', "content"),
    ('{"content": ["parts"]}', "content"),
    ('{"content": ""}', "blank"),
    ('{"content": "x", "role": "king"}', "role"),
    ('{"content": "x", "time": "yesterday"}', "time"),
    ('{"content": "x", "time": true}', "time"),
    ('{"content": "x", "time": 1e300}', "time"),
    ('{"content": "x", "time": NaN}', "JSON"),
    ('{"content": "x", "id": ""}', "id"),
    ('{"content": "x", "id": {"a": 1}}', "id"),
    ('{"content": "x", "tags": "a"}', "tags"),
    ('{"content": "x", "metadata": [1]}', "metadata"),
    ('{"content": "x", "children": []}', "children"),
    ('{"content": "x"} {"content": "y"}', "JSON"),
    ('{"content": "cut off', "JSON"),
    ("{" * 50_000, "JSON"),
    ('{"content": "x", "metadata": ' + '{"a":' * 50_000 + "1" + "}" * 50_001, "JSON"),
]


def mixed() -> tuple[str, set[int]]:
    """Good and bad lines in turn, empty ones between, and the numbers of the bad ones."""
    lines: list[str] = ["\ufeff" + json.dumps(GOOD[0])]
    numbers = set()
    for number, (line, _) in enumerate(BAD):
        lines += [line, ""]
        numbers.add(len(lines) - 1)
        if number + 1 < len(GOOD):
            lines.append(json.dumps(GOOD[number + 1]))
    return "\r\n".join(lines), numbers


def test_r49_good_lines_go_in_and_bad_ones_are_told(cli: Cli, tmp_path: Path) -> None:
    text, numbers = mixed()
    chat = tmp_path / "chat.jsonl"
    chat.write_bytes(text.encode())
    told = cli.told("import", str(chat), code=2)
    assert told["counts"]["written"] == len(GOOD)
    assert {line["line"] for line in told["bad"]} == numbers
    for line, (_, words) in zip(told["bad"], BAD, strict=True):
        assert words.lower() in line["why"].lower(), line
        assert len(line["why"]) < 400
    for_people = cli.run("import", str(chat), code=2).output
    assert str(len(BAD)) in for_people
    with Memory(cli.data) as memory:
        listed = {item.text: item for item in pages(memory, "message")}
    assert set(listed) == {line["content"] for line in GOOD}
    assert listed["A float time."].said_at == "2023-11-14T22:13:20.250000Z"
    assert (listed["A whole time."].said_at or "").startswith("2023-11-14T22:13:20")
    assert listed["A time with an offset."].said_at == "2023-11-15T03:43:20+05:30"
    assert (listed["Before 1970."].said_at or "").startswith("1969-12-31T23:59:58.5")
    assert listed["A path for a name."].conversation == "../x"
    assert listed["Null name and time."].conversation == "default"
    assert not (tmp_path.parent / "x").exists()


@pytest.mark.parametrize("ids", [True, False])
def test_r49_the_second_time_adds_nothing(cli: Cli, tmp_path: Path, ids: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"content": f"Message {n}.", "conversation": f"c{n % 3}", "time": 1_700_000_000 + n // 5}
        | ({"id": f"m{n}"} if ids else {})
        for n in range(60)
    ]
    rows += [{"content": "Yes.", "conversation": "c0"} | ({"id": f"y{n}"} if ids else {})
             for n in range(3)]  # fmt: skip
    chat = tmp_path / "chat.jsonl"
    for grown, new in ((rows[:40], 40), (rows[:40], 0), (rows, 23), (rows, 0)):
        chat.write_text("".join(json.dumps(row) + "\n" for row in grown) + "{broken\n")
        counts = cli.told("import", str(chat), code=2)["counts"]
        assert counts["written"] == new, counts
        assert counts["written"] + counts["unchanged"] == len(grown) == counts["lines"] - 1
    assert cli.told("list", "--what", "message")["total"] == len(rows)


def test_r49_times_are_of_the_chat_and_not_of_now(memory: Memory, clock: Clock) -> None:
    clock.set("2026-06-01T00:00:00Z")
    memory.add_messages([{"content": "Back then.", "time": "2024-01-01T00:00:00Z"}], infer=False)
    for what in ("message", "fact"):
        (item,) = memory.list(what, valid_at="2024-06-01").items
        assert item.said_at == "2024-01-01T00:00:00Z"
        assert (item.recorded_at or "").startswith("2026-06-01")


def test_r49_a_file_of_nothing_good_is_no_success(cli: Cli, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    for text in ('{"content": "cut', "[\n]\n", '[{"content": 5}]', "PK\x03\x04zip"):
        chat.write_text(text)
        told = cli.told("import", str(chat), code=2)
        assert told["counts"].get("written", 0) == 0 and told["bad"]
        assert told["bad"][0]["line"] == 1
