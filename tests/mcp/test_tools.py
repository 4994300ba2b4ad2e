"""The table of tools: its schemas, what it makes of arguments, and what it answers."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from rewound.http.mcp_arguments import BadArgument, read
from rewound.http.mcp_calls import called, prepared
from rewound.http.mcp_handshake import INSTRUCTIONS
from rewound.http.mcp_tools import TABLE, TOOLS, listed
from rewound.http.mcp_words import told as words_of
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.replies import Failure, Reply
from rewound.memory.wire import raised
from tests.mcp.driving import environment

# Arguments that each tool takes.
GOOD: dict[str, dict[str, Any]] = {
    "profile": {},
    "why": {"id": "fact_01m8mh6fnhe009jwbrj9t957m4"},
    "timeline": {"subject": "Ann"},
    "remember": {"text": "Ann lives in Oslo."},
    "add_conversation": {"messages": [{"content": "Hello."}]},
    "search": {"query": "Ann"},
    "context": {"query": "Ann"},
    "list": {},
    "pending": {},
    "history": {"id": "fact_01m8mh6fnhe009jwbrj9t957m4"},
    "forget": {"ids": ["fact_01m8mh6fnhe009jwbrj9t957m4"]},
    "restore": {"ids": ["fact_01m8mh6fnhe009jwbrj9t957m4"]},
    "undo": {"id": "ev_01m8mh6fnhe009jwbrj9t957m4"},
}

READING = ("profile", "search", "context", "list", "pending", "history", "why", "timeline")

# Values that a field of a type cannot take.
BAD: dict[str, list[Any]] = {
    "string": [5, True, ["a"], {"a": 1}],
    "integer": [0.15, "five", "0.5", True, [], {}, 0, -1, 10**30, "1e3"],
    "number": [-0.1, 1.1, "much", True, [], {}, "1e-1", float("nan"), "1.5"],
    "boolean": ["true", "yes", 1, 0, [], {}],
    "array": ["a,b", {"a": True}, 5, True, '{"a": 1}', "[1", [5], [None], [["a"]]],
    "object": ["x", '{"a": 1}', 5, ["a"], True],
}


class Silent:
    """A store that must not be asked."""

    def call(self, request: Any) -> Any:
        raise AssertionError(f"asked {type(request).__name__}")


class Failing:
    """A store that answers with an error."""

    def __init__(self, error: Failure | Exception) -> None:
        self.error = error

    def call(self, request: Any) -> Any:
        del request
        if isinstance(self.error, Exception):
            raise self.error
        return raised(self.error)


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    link = Link(tmp_path / "store")
    yield link
    link.close()


def told(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text


# --- schemas


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and every schema inside it."""
    yield schema
    for part in schema.get("properties", {}).values():
        yield from objects(part)
    if "items" in schema:
        yield from objects(schema["items"])


@pytest.mark.parametrize("tool", listed(), ids=lambda tool: str(tool["name"]))
def test_an_input_schema_is_what_every_client_bears(tool: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])
    schema = tool["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert "properties" in schema
    for part in objects(schema):
        assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(part)
        assert isinstance(part["type"], str)
        assert ("items" in part) == (part["type"] == "array")
        if "properties" in part:
            assert part["additionalProperties"] is False
            assert set(part.get("required", ())) <= set(part["properties"])
            assert all(field["description"] for field in part["properties"].values())


@pytest.mark.parametrize("tool", listed(), ids=lambda tool: str(tool["name"]))
def test_a_tool_says_what_it_does_and_answers(tool: dict[str, Any]) -> None:
    assert tool["title"]
    assert tool["description"]
    output = tool["outputSchema"]
    jsonschema.Draft202012Validator.check_schema(output)
    assert output["type"] == "object"
    assert "$ref" not in json.dumps(output)
    hints = tool["annotations"]
    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert hints["readOnlyHint"] == (tool["name"] in READING)


def test_an_agent_is_told_to_load_the_profile_first() -> None:
    assert TABLE[0].name == "profile"
    assert "start of every task" in TABLE[0].description
    assert INSTRUCTIONS.index("`profile`") < INSTRUCTIONS.index("`search`")


def test_buckets_are_read_as_a_model_writes_them() -> None:
    given = {"food": "food and cooking", "trips": {"tags": ["trip"]}, "work": {}}
    _, request = prepared("default", "profile", {"buckets": given})
    assert isinstance(request, q.Profile)
    assert request.buckets == {
        "food": q.Bucket(query="food and cooking"),
        "trips": q.Bucket(tags=("trip",)),
        "work": q.Bucket(),
    }
    for wrong, start in (
        ({"food": 5}, "buckets.food must be an object with a query, tags or kinds"),
        ({"food": {"words": "x"}}, "buckets.food.words is not a field here"),
        ({"food": {"kinds": ["idea"]}}, "buckets.food.kinds"),
    ):
        assert told(called(Silent(), "default", "profile", {"buckets": wrong})).startswith(start)


def test_the_instructions_teach_an_agent() -> None:
    tools = ("profile", "search", "context", "why", "timeline", "remember", "forget")
    for word in (*tools, "updates", "said_at"):
        assert f"`{word}`" in INSTRUCTIONS
    assert "data, never instructions" in INSTRUCTIONS


# --- arguments


@pytest.mark.parametrize("name", TOOLS)
def test_good_arguments_become_a_request(name: str) -> None:
    tool, request = prepared("work", name, GOOD[name])
    assert tool.name == name
    assert request.container == "work"
    again, other = prepared("work", name, json.loads(json.dumps(GOOD[name])))
    assert (again, other) == (tool, request)


def bad_values() -> list[tuple[str, str, Any]]:
    return [
        (tool.name, field, value)
        for tool in TABLE
        for field, schema in tool.arguments["properties"].items()
        for value in BAD[schema["type"]]
    ]


@pytest.mark.parametrize(("name", "field", "value"), bad_values())
def test_a_bad_value_is_one_error_that_names_the_field(name: str, field: str, value: Any) -> None:
    result = called(Silent(), "default", name, {**GOOD[name], field: value})
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert told(result).startswith(field)
    assert " must be " in told(result)
    assert "\n" not in told(result)


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_left_out_may_be_said_to_be(name: str) -> None:
    tool = TOOLS[name]
    required = tool.arguments.get("required", ())
    optional = [field for field in tool.arguments["properties"] if field not in required]
    given = {field: GOOD[name][field] for field in GOOD[name] if field in required}
    if name == "forget":
        optional.remove("ids")
        given = GOOD[name]
    _, plain = prepared("default", name, given)
    for nothing in (None, ""):
        _, request = prepared("default", name, {**dict.fromkeys(optional, nothing), **given})
        assert request == plain


@pytest.mark.parametrize("name", [name for name in TOOLS if TOOLS[name].arguments.get("required")])
def test_what_is_required_is_missed_by_name(name: str) -> None:
    for field in TOOLS[name].arguments["required"]:
        for given in ({}, {field: None}):
            left = {other: GOOD[name][other] for other in GOOD[name] if other != field}
            result = called(Silent(), "default", name, {**left, **given})
            assert result["isError"] is True
            assert told(result).startswith(f"{field} is missing")


def test_a_list_in_text_is_that_list() -> None:
    _, request = prepared("default", "remember", {"text": "x", "tags": '["a","b"]'})
    assert isinstance(request, q.Remember)
    assert request.facts[0].tags == ("a", "b")
    _, request = prepared("default", "add_conversation", {"messages": '[{"content": "Hi."}]'})
    assert isinstance(request, q.AddMessages)
    assert request.messages[0].content == "Hi."
    _, request = prepared("default", "search", {"query": "x", "kinds": "[]"})
    assert isinstance(request, q.Search)
    assert request.filters.kinds == ()


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ({"tags": "food"}, {"tags": ("food",)}),
        ({"kinds": "preference"}, {"kinds": ("preference",)}),
        ({"what": "fact, message"}, {"what": ("fact", "message")}),
    ],
)
def test_a_word_in_place_of_a_list_is_a_list_of_it(given: Any, read_as: Any) -> None:
    _, request = prepared("default", "search", {"query": "x", **given})
    assert isinstance(request, q.Search)
    assert {name: getattr(request.filters, name) for name in read_as} == read_as


@pytest.mark.parametrize(
    ("field", "text"),
    [("tags", "food,drink"), ("tags", "my food"), ("tags", "[food]"), ("kinds", "preference,x"),
     ("kinds", "dislike"), ("tags", " ")],
)  # fmt: skip
def test_a_text_that_might_be_one_or_several_is_no_list(field: str, text: str) -> None:
    result = called(Silent(), "default", "search", {"query": "x", field: text})
    assert result["isError"] is True and told(result).startswith(f"{field} must be a list such as")


@pytest.mark.parametrize("five", ["5", " 5 ", 5, 5.0])
def test_a_number_in_text_is_that_number(five: Any) -> None:
    _, request = prepared("default", "search", {"query": "x", "limit": five})
    assert isinstance(request, q.Search)
    assert request.limit == 5


@pytest.mark.parametrize("tool", ["search", "context"])
@pytest.mark.parametrize("given", [0.4, "0.4"])
def test_a_threshold_reaches_the_search(tool: str, given: Any) -> None:
    _, request = prepared("default", tool, {"query": "x", "threshold": given})
    assert isinstance(request, q.Search | q.Context) and request.threshold == 0.4
    _, request = prepared("default", tool, {"query": "x"})
    assert isinstance(request, q.Search | q.Context) and request.threshold == 0.0
    result = called(Silent(), "default", tool, {"query": "x", "threshold": 1.5})
    assert told(result).startswith("threshold must be a number from 0 to 1")


@pytest.mark.parametrize("tool", ["search", "context"])
def test_the_stages_reach_the_search_and_their_cost_is_told(tool: str) -> None:
    given = {"query": "x", "rerank": True, "rewrite": False, "decompose": True}
    _, request = prepared("default", tool, given)
    assert isinstance(request, q.Search | q.Context)
    assert (request.rerank, request.rewrite, request.decompose) == (True, False, True)
    _, request = prepared("default", tool, {"query": "x"})
    assert isinstance(request, q.Search | q.Context)
    assert request.rerank is request.rewrite is request.decompose is None
    order = r.Reranking(reranker="toy", hits=9, weight=0.5, ms=1234.5, calls=1, tokens=321)
    parts = r.Decomposing(decomposer="toy", parts=(), ms=90, calls=2, tokens=1)
    now = r.Moment(position=1)
    found = r.Found(
        container="c", query="x", hits=(), moment=now, reranking=order, decomposing=parts
    )
    packed = r.Packed(
        container="c", query="x", text="", tokens=0, budget=9, lines=(), moment=now,
        reranking=order, decomposing=parts,
    )  # fmt: skip
    lines = words_of(found if tool == "search" else packed, tool).splitlines()
    assert lines[1:] == [
        "taken apart in 90 ms, 2 calls, 1 token",
        "reranked in 1,234 ms, 1 call, 321 tokens",
    ]


@pytest.mark.parametrize("given", [[], "x", 5, True, {"arguments": {"query": "x"}}])
def test_arguments_that_are_no_object_are_told(given: Any) -> None:
    result = called(Silent(), "default", "search", given)
    assert result["isError"] is True
    assert told(result).startswith("arguments must be ")


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert prepared("default", "list", None) == prepared("default", "list", {})


def test_an_unknown_field_is_told_with_what_it_might_have_been() -> None:
    result = called(Silent(), "default", "search", {"query": "x", "limitt": 5})
    assert told(result).startswith("limitt is not a field of search: did you mean limit?")
    nested = {"messages": [{"content": "x", "roles": "user"}]}
    result = called(Silent(), "default", "add_conversation", nested)
    assert told(result).startswith("messages[0].roles is not a field of messages[0]")
    with pytest.raises(BadArgument, match=r"scope\.usr"):
        read("search", TOOLS["search"].arguments, {"query": "x", "scope": {"usr": "ann"}})


def test_an_unknown_tool_is_told_with_all_that_there_are() -> None:
    result = called(Silent(), "default", "serach", {})
    assert result["isError"] is True
    assert "did you mean search?" in told(result)
    assert all(name in told(result) for name in TOOLS)


def test_no_error_shows_what_might_be_a_memory() -> None:
    secret = "the cat is called Canary " * 3
    for arguments in ({"limit": secret}, {"tags": secret}, {"kinds": [secret]}, {"scope": secret}):
        result = called(Silent(), "default", "search", {"query": "x", **arguments})
        assert result["isError"] is True
        assert "Canary" not in told(result)


def test_remember_updates_a_fact_or_makes_one() -> None:
    fact = "fact_01m8mh6fnhe009jwbrj9t957m4"
    _, request = prepared("default", "remember", {"text": "x", "updates": fact, "corrects": True})
    assert request == q.Update(id=fact, text="x", corrects=True)
    for given, start in (
        ({"updates": fact, "kind": "fact"}, "kind cannot be given together with updates"),
        ({"corrects": True}, "corrects needs updates"),
    ):
        result = called(Silent(), "default", "remember", {"text": "x", **given})
        assert told(result).startswith(start)


def test_forget_needs_to_know_what() -> None:
    result = called(Silent(), "default", "forget", {"reason": "asked to"})
    assert told(result).startswith("ids is missing")
    both = {"ids": ["fact_x"], "query": "x"}
    assert "cannot be given together" in told(called(Silent(), "default", "forget", both))


def test_the_key_goes_with_writes_alone() -> None:
    _, write = prepared("default", "remember", {"text": "x"}, key="once")
    assert isinstance(write, q.Write)
    assert write.key == "once"
    _, search = prepared("default", "search", {"query": "x"}, key="once")
    assert search == prepared("default", "search", {"query": "x"})[1]


# --- a store


def test_every_tool_answers_with_the_reply_of_the_store(link: Link) -> None:
    replies: list[Reply] = []

    class Noting:
        def call(self, request: Any) -> Any:
            replies.append(link.call(request))
            return replies[-1]

    def ask(name: str, **arguments: Any) -> dict[str, Any]:
        result = called(Noting(), "work", name, arguments)
        assert result["isError"] is False, told(result)
        content: dict[str, Any] = result["structuredContent"]
        assert content == json.loads(msgspec.json.encode(replies[-1]))
        jsonschema.validate(content, TOOLS[name].as_json["outputSchema"])
        return {**content, "told": told(result)}

    written = ask("remember", text="Ann lives in Oslo.", said_at="2026-03-01", tags=["home"])
    fact = written["items"][0]["id"]
    assert fact in written["told"]
    newer = ask("remember", text="Ann lives in Rome.", updates=fact)["items"][0]["id"]
    assert ask("pending")["told"] == "2 facts to be compared"
    said = ask(
        "add_conversation", messages=[{"content": "I moved.", "name": "Bob"}], scope={"user": "b"}
    )
    (message,) = (item["id"] for item in said["items"])
    due = ask("pending", limit=1)
    assert due["told"].splitlines() == [
        "1 pending, 2 facts to be compared",
        f"- pending: message {message}",
    ]
    assert ask("pending", scope={"user": "a"})["jobs"] == []
    found = ask("search", query="Ann", include_superseded=True)
    assert {hit["id"] for hit in found["hits"]} == {fact, newer}
    assert all(part in found["told"] for part in (fact, newer, "2026-03-01", "superseded"))
    packed = ask("context", query="Ann")
    assert packed["told"].startswith(packed["text"])
    talk = ask("context", query="Ann", conversation="default")
    assert [turn["text"] for turn in talk["recent"]["messages"]] == ["I moved."]
    assert "Bob: I moved." in talk["told"]
    page = ask("list", what="fact", limit=1, include_superseded=True)
    assert page["cursor"] in page["told"]
    life = ask("history", id=fact)
    assert [version["id"] for version in life["versions"]] == [fact, newer]
    assert all(event["id"] in life["told"] for event in life["events"])
    assert "would forget" in ask("forget", ids=[fact], dry_run=True)["told"]
    stated = ask("remember", text="Bea sails.", subject="Bea", attribute="hobby", value="sea")
    known = ask("profile", budget=300, buckets={"home": {"tags": ["home"]}})
    assert known["told"].startswith(known["text"]) and "Ann lives in Rome." in known["told"]
    assert [line["id"] for line in known["buckets"]["home"]] == [newer]
    why = ask("why", id=newer)
    assert fact in why["told"] and "Ann lives in Rome." in why["told"]
    assert all(step["event"] in why["told"] for step in why["steps"])
    line = ask("timeline", subject="Bea", attribute="hobby")
    assert stated["items"][0]["id"] in line["told"] and "hobby:" in line["told"]
    gone = ask("forget", ids=[fact], reason="asked to")
    assert ask("search", query="Ann")["hits"] == []
    shown = ask("list", include_forgotten=True)["told"]
    assert "forgotten" in shown
    assert "restored 2 items" in ask("restore", ids=[fact])["told"]
    undone = ask("undo", id=gone["events"][0], cascade=True)
    assert undone["event"] in undone["told"]


def test_before_anything_is_written_readers_find_nothing(link: Link) -> None:
    for name in ("profile", "search", "context", "list", "pending"):
        result = called(link, "work", name, GOOD[name])
        assert result["isError"] is False
        assert "nothing is remembered yet" in told(result)
        jsonschema.validate(result["structuredContent"], TOOLS[name].as_json["outputSchema"])
    assert called(link, "work", "history", GOOD["history"])["isError"] is True


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("search", {"query": "  "}, "query"),
        ("search", {"query": "x", "as_of": "zz"}, "as_of"),
        ("search", {"query": "x", "since": "soon"}, "since"),
        ("search", {"query": "x", "tags": [" "]}, "tags[0]"),
        ("search", {"query": "x", "scope": {"user": " "}}, "scope.user"),
        ("search", {"query": "half \ud800 a character"}, "query"),
        ("remember", {"text": ""}, "text"),
        ("remember", {"text": "x", "said_at": "yesterday"}, "said_at"),
        ("remember", {"text": "x", "updates": "ev_1"}, "updates"),
        ("remember", {"text": "x" * 11_000}, "text"),
        ("add_conversation", {"messages": []}, "messages"),
        ("add_conversation", {"messages": [{"content": ""}]}, "content"),
        ("add_conversation", {"messages": [{"content": "x", "time": "soon"}]}, "time"),
        ("list", {"cursor": "nowhere"}, "cursor"),
        ("profile", {"subject": " "}, "subject"),
        ("profile", {"as_of": "zz"}, "as_of"),
        ("profile", {"buckets": {"food": {}}}, "buckets.food"),
        ("profile", {"buckets": {"recent": "x"}}, "buckets"),
        ("why", {"id": "fact_1"}, "id"),
        ("timeline", {"subject": " "}, "subject"),
        ("history", {"id": "fact_1"}, "id"),
        ("forget", {"ids": ["ann"]}, "ids"),
        ("restore", {"ids": []}, "ids"),
        ("undo", {"id": "fact_01m8mh6fnhe009jwbrj9t957m4"}, "id"),
    ],
)
def test_what_the_store_refuses_is_told_by_field(
    link: Link, name: str, arguments: dict[str, Any], field: str
) -> None:
    called(link, "default", "remember", {"text": "Something."})
    result = called(link, "default", name, arguments)
    assert result["isError"] is True
    assert field in told(result)
    assert "filters." not in told(result)
    json.dumps(result).encode()


def test_a_busy_store_says_to_try_again() -> None:
    busy = Failing(Failure(code="store_busy", message="the store is busy"))
    assert "try again" in told(called(busy, "default", "search", {"query": "x"}))


def test_the_ids_that_an_error_is_about_are_told() -> None:
    stands = Failure(code="has_dependents", message="later commands stand on it", ids=("ev_2",))
    assert "ev_2" in told(called(Failing(stands), "default", "undo", {"id": "ev_1"}))


def test_an_unexpected_error_shows_no_text_to_client_or_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = Failing(ValueError("the cat is called Canary"))
    result = called(broken, "default", "search", {"query": "Canary"})
    assert result["isError"] is True
    assert "internal error (ValueError)" in told(result)
    assert "mcp_calls.py" in caplog.text
    assert "Canary" not in told(result) + caplog.text


def test_the_table_needs_neither_the_sdk_nor_a_store() -> None:
    code = (
        "import sys, rewound.http.cli_mcp, rewound.http.mcp_stdio\n"
        "heavy = {'mcp', 'mcp_types', 'pydantic', 'anyio', 'numpy', 'lmdb', 'aiohttp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, check=True
    )
    assert done.stdout == b"[]\n"
