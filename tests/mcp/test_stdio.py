"""`rewound mcp` as a process: what it says, when, and how it ends."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage

from rewound.http.mcp_handshake import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HANDSHAKE_VERSIONS,
    VERSION_KEY,
    Early,
)
from rewound.http.mcp_server import tool_server
from rewound.http.mcp_tools import TOOLS
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.replies import Page, Written
from tests.mcp.driving import (
    INITIALIZE,
    MODES,
    Raw,
    call,
    call_each,
    environment,
    fresh,
    initialize,
    raw,
    request,
    stdio,
    talked,
    text_of,
    tool_call,
)

ENVELOPE = {"_meta": {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}}
NAMED = {"_meta": {**ENVELOPE["_meta"], CLIENT_KEY: {"name": "tests", "version": "1"}}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def owner(data: Path) -> Iterator[Link]:
    """This process owns the store, and has something in it."""
    link = Link(data)
    link.call(q.Remember(facts=(q.NewFact(text="The owner is here."),)))
    yield link
    link.close()


def remembered(data: Path, container: str = "default") -> list[str]:
    """The facts in a store, in the order they were written."""
    link = Link(data)
    try:
        page = link.call(q.List(container=container))
    finally:
        link.close()
    assert isinstance(page, Page)
    return [item.text for item in page.items]


# --- what is answered before the SDK is there


async def _sdk_says(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the SDK's own server answers to each request."""
    server = tool_server(lambda name, arguments: {"content": [], "isError": True})
    to_server, server_reads = create_context_streams[SessionMessage | Exception](0)
    server_writes, from_server = create_context_streams[SessionMessage](0)
    options = server.create_initialization_options()
    serving = asyncio.create_task(server.run(server_reads, server_writes, options))
    answers = []
    for message in messages:
        typed = types.jsonrpc_message_adapter.validate_python(message)
        await to_server.send(SessionMessage(typed))
        if "id" in message:
            answer = (await from_server.receive()).message
            answers.append(json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True)))
    await to_server.aclose()
    await serving
    await from_server.aclose()
    return answers


@pytest.mark.parametrize("version", [*HANDSHAKE_VERSIONS, "2026-07-28", "1999-01-01"])
def test_early_answers_after_a_handshake_are_those_of_the_sdk(version: str) -> None:
    asked = [
        request(0, "ping"),
        initialize(version),
        INITIALIZED,
        request("a", "tools/list"),
        request(2, "tools/list", {"_meta": {"progressToken": 7}}),
        request(3, "ping", {}),
    ]
    _same(asked, answered=5)


@pytest.mark.parametrize("envelope", [ENVELOPE, NAMED])
def test_early_answers_in_envelopes_are_those_of_the_sdk(envelope: dict[str, Any]) -> None:
    asked = [request(1, "server/discover", envelope), request(2, "tools/list", envelope)]
    _same(asked, answered=2)


def _same(asked: list[dict[str, Any]], *, answered: int) -> None:
    early = Early()
    results = [early.result(message) for message in asked if "id" in message]
    said = asyncio.run(_sdk_says(asked))
    assert [answer["result"] for answer in said] == results
    assert len(results) == answered


@pytest.mark.parametrize(
    "asked",
    [
        [request(1, "tools/list")],
        [request(1, "server/discover")],
        [request(1, "initialize", {})],
        [request(1, "initialize", {**INITIALIZE["params"], "clientInfo": "me"})],
        [request(1, "initialize", {**INITIALIZE["params"], "capabilities": {"roots": 5}})],
        [INITIALIZE, INITIALIZE],
        [INITIALIZE, request(1, "tools/list", {"cursor": "x"})],
        [INITIALIZE, request(1, "tools/list", ENVELOPE)],
        [INITIALIZE, request(1, "tools/call", {"name": "list"})],
        [request(1, "ping", ENVELOPE)],
        [request(1, "tools/list", {"_meta": {VERSION_KEY: "2026-07-28"}})],
        [request(1, "tools/list", {"_meta": {**ENVELOPE["_meta"], VERSION_KEY: "2099-01-01"}})],
        [request(1, "server/discover", ENVELOPE), INITIALIZE],
        [request(1, "server/discover", ENVELOPE), request(2, "tools/list")],
    ],
)
def test_what_is_odd_is_left_to_the_sdk(asked: list[dict[str, Any]]) -> None:
    early = Early()
    *before, last = [early.result(message) for message in asked]
    assert all(result is not None for result in before)
    assert last is None


# --- a whole conversation


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_the_sdks_client_lists_and_calls_every_tool_and_hears_of_bad_arguments(
    data: Path, mode: str
) -> None:
    async def talk(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == list(TOOLS)
        results = await call_each(client)
        assert set(results) == set(TOOLS)
        assert "Ann Berg lives in Oslo." in text_of(results["search"])
        await argue(client)

    talked(stdio(data, "-c", "work"), talk, mode=mode)
    assert remembered(data, "work") == ["Ann Berg lives in Oslo.", "Zoe lives in Rome."]


async def argue(client: Client) -> None:
    """Bad arguments are tool errors; lenient ones are read as they were meant."""
    for name, arguments, start in (
        ("search", {"query": "x", "limit": 0.15}, "limit must be"),
        ("search", {"query": "x", "tags": "a,b"}, "tags must be"),
        ("search", {}, "query is missing"),
        ("remember", {"text": "x", "tags": {"a": True}}, "tags must be"),
        ("nothing", {}, "there is no tool"),
    ):
        result = await call(client, name, arguments)
        assert result.is_error
        assert text_of(result).startswith(start)
    lenient = {"text": "Zoe lives in Rome.", "tags": '["a","b"]', "kind": None, "said_at": ""}
    assert not (await call(client, "remember", lenient)).is_error
    found = await call(client, "search", {"query": "Zoe", "limit": "5", "as_of": ""})
    assert found.structured_content["hits"][0]["tags"] == ["a", "b"]


@pytest.mark.slow
def test_the_sdk_hears_of_the_handshake_that_it_was_too_late_for(data: Path) -> None:
    """Here nothing but its replay opens the session for the SDK."""
    with fresh(stdio(data)) as server:
        assert server.ask(initialize("2025-06-18"))["result"]["protocolVersion"] == "2025-06-18"
        assert server.ask(tool_call(1, "list", {}))["result"]["isError"] is False


@pytest.mark.slow
def test_arguments_that_are_no_object_are_a_tool_error(data: Path) -> None:
    with raw(stdio(data)) as server:
        server.open()
        no_objects: list[Any] = [[], "x", 5, '{"query": "x"}']
        for arguments in no_objects:
            answer = server.ask(tool_call(1, "search", arguments))
            assert answer["result"]["isError"] is True, arguments
            assert "arguments must be an object" in answer["result"]["content"][0]["text"]


@pytest.mark.slow
def test_stdout_holds_nothing_but_messages_in_any_locale(data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    odd = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONUTF8": "0"}
    text = "Zoë ate 🎉 日本 at Ann's."
    with raw(stdio(data, "--verbose"), errors=log, **odd) as server:
        server.open()
        tools = server.ask(request(1, "tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in tools] == list(TOOLS)
        assert server.ask(tool_call(2, "remember", {"text": text}))["result"]["isError"] is False
        found = server.ask(tool_call(3, "search", {"query": "Zoë"}))["result"]
        assert found["structuredContent"]["hits"][0]["text"] == text
        assert server.rest() == []
        assert server.process.returncode == 0
    assert "Ann" not in log.read_text("utf-8")


PRINTING = """
import os, sys
from rewound.http import cli, mcp_stdio
def noisy(*args):
    print("noise on sys.stdout", flush=True)
    sys.__stdout__.write("noise on the first stdout"); sys.__stdout__.flush()
    os.write(1, b"noise on descriptor 1")
    os.system("echo noise of a child")
    assert sys.stdin.read() == ""
    return real(*args)
real, mcp_stdio.called = mcp_stdio.called, noisy
cli.main(["mcp", "--data", sys.argv[1]])
"""


@pytest.mark.slow
def test_a_print_anywhere_does_not_reach_the_client(data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with fresh([sys.executable, "-c", PRINTING, str(data)], errors=log) as server:
        server.open()
        assert server.ask(tool_call(1, "list", {}))["result"]["isError"] is False
        assert server.rest() == []
    assert log.read_text().count("noise") == 4


BROKEN: list[tuple[bytes, int, Any]] = [
    (b"no JSON", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[" * 100_000, -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700, None),
    (b"[]", -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"1.0","id":2,"method":"ping"}', -32600, 2),
    (b'{"jsonrpc":"2.0","id":3,"method":4}', -32600, 3),
    (b'{"jsonrpc":"2.0","id":"5","method":"ping","params":[]}', -32600, "5"),
]


@pytest.mark.slow
def test_what_is_no_message_gets_an_error_and_harms_nothing(data: Path) -> None:
    with fresh(stdio(data)) as server:
        for line, code, number in BROKEN:
            server.send(line)
            answer = server.receive()
            assert (answer["error"]["code"], answer["id"]) == (code, number)
        server.send(b"", b"  ")
        server.open()
        half = server.ask(tool_call(1, "search", {"query": "half \ud800 a character"}))
        assert "query holds half a character" in half["result"]["content"][0]["text"]
        for line, code, number in BROKEN:
            server.send(line)
            answer = server.receive()
            assert (answer["error"]["code"], answer["id"]) == (code, number)
        assert server.ask(request("\ud800", "ping"))["error"]["code"] == -32603
        assert server.ask(request(9, "nothing/known"))["error"]["code"] == -32601
        assert server.ask(request(10, "ping"))["result"] == {}
        assert server.rest() == []


@pytest.mark.slow
def test_a_cancelled_call_is_not_answered_and_not_waited_for(data: Path) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    with raw(stdio(data)) as server:
        server.open()
        server.send(
            tool_call(1, "remember", {"text": "Written all the same, or not at all."}),
            {**cancelled, "params": {"requestId": 1}},
        )
        answers = [server.ask(request(2, "ping"))]
        answers += server.rest()
        assert {answer["id"] for answer in answers} <= {1, 2}
        assert server.process.returncode == 0


# --- the store


DRIVEN = """
import sys
from rewound.http import cli
try:
    cli.main(["mcp", "--data", sys.argv[1]])
finally:
    print(sorted({"lmdb", "numpy"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.slow
def test_beside_an_owner_no_store_is_loaded(owner: Link, data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with fresh([sys.executable, "-c", DRIVEN, str(data)], errors=log) as server:
        server.open()
        text = {"text": "The client was here."}
        assert server.ask(tool_call(1, "remember", text))["result"]["isError"] is False
        found = server.ask(tool_call(2, "list", {}))["result"]["structuredContent"]
        texts = [item["text"] for item in found["items"]]
        assert texts == ["The owner is here.", "The client was here."]
        assert server.rest() == []
    assert owner.owns
    assert log.read_text() == "[]\n"


@pytest.mark.slow
def test_two_servers_share_one_store(data: Path) -> None:
    with raw(stdio(data)) as one, raw(stdio(data)) as two:
        for server in (one, two):
            server.open()
        for number in range(10):  # both at once: neither waits for the other's answer
            for name, server in (("one", one), ("two", two)):
                server.send(tool_call(number, "remember", {"text": f"{name} said {number}."}))
            for server in (one, two):
                assert server.receive()["result"]["isError"] is False
        for server in (one, two):
            answer = server.ask(tool_call("all", "list", {"limit": 100}))
            texts = {item["text"] for item in answer["result"]["structuredContent"]["items"]}
            assert texts == {f"{name} said {n}." for name in ("one", "two") for n in range(10)}
        assert one.rest() == []
        late = two.ask(tool_call("late", "remember", {"text": "two is still here."}))
        assert late["result"]["isError"] is False


@pytest.mark.slow
def test_a_call_whose_owner_dies_happens_once(data: Path) -> None:
    own = [sys.executable, "-m", "rewound.http", "own", "--data", str(data), "--json"]
    with raw(own) as owner, raw(stdio(data)) as server:
        owner.receive()  # it owns the store now
        server.open()
        assert server.ask(tool_call(0, "remember", {"text": "Fact 0."}))["result"]
        server.send(*(tool_call(n, "remember", {"text": f"Fact {n}."}) for n in range(1, 20)))
        owner.process.kill()
        answers = [server.receive() for _ in range(1, 20)]
        assert [answer for answer in answers if answer["result"]["isError"]] == []
        assert server.rest() == []
    assert sorted(remembered(data)) == sorted(f"Fact {n}." for n in range(20))


@pytest.mark.slow
def test_a_new_container_gets_the_zone_of_the_settings(data: Path) -> None:
    with raw(stdio(data), REWOUND_ZONE="Europe/Berlin") as server:
        server.open()
        said = {"text": "Noon.", "said_at": "2026-03-01T12:00:00"}
        answer = server.ask(tool_call(1, "remember", said))["result"]
        assert "Europe/Berlin" in answer["content"][0]["text"]


# --- the end


@pytest.mark.slow
def test_it_answers_all_it_was_asked_before_its_input_ended(data: Path) -> None:
    with fresh(stdio(data)) as server:
        server.send(INITIALIZE, INITIALIZED, request(1, "tools/list"))
        server.send(*(tool_call(f"w{n}", "remember", {"text": f"Fact {n}."}) for n in range(20)))
        answers = {answer["id"]: answer["result"] for answer in server.rest()}
        assert set(answers) == {"init", 1, *(f"w{n}" for n in range(20))}
        assert not any(answers[f"w{n}"]["isError"] for n in range(20))
        assert server.process.returncode == 0
    assert len(remembered(data)) == 20


def test_it_ends_with_its_input_while_the_sdk_is_loading(data: Path) -> None:
    with fresh(stdio(data)) as server:
        server.send(INITIALIZE, INITIALIZED)
        assert [answer["id"] for answer in server.rest()] == ["init"]
        assert server.process.returncode == 0


def test_an_input_that_is_empty_ends_it(data: Path) -> None:
    with raw(stdio(data)) as server:
        assert server.rest() == []
        assert server.process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("heeding_interrupts")
def test_a_signal_ends_it_after_the_calls_it_has_taken(data: Path, number: int) -> None:
    with raw(stdio(data)) as server:
        server.open()
        assert server.ask(tool_call(0, "remember", {"text": "Fact 0."}))["result"]
        server.process.send_signal(number)
        assert _last(server) == []
        assert server.process.returncode == 0
    assert remembered(data) == ["Fact 0."]


LATE = """
import os, sys, time
from rewound.http import cli, mcp_stdio
def late(process):
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    serve(process)
serve, mcp_stdio.Process._serve = mcp_stdio.Process._serve, late
cli.main(["mcp", "--data", sys.argv[1]])
"""


def late(data: Path, loads: Path) -> list[str]:
    """A server that does not load the SDK before there is that file."""
    return [sys.executable, "-c", LATE, str(data), str(loads)]


@pytest.mark.slow
def test_a_signal_while_the_sdk_is_loading_loses_no_call(data: Path, tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    with fresh(late(data, loads)) as server:
        server.send(INITIALIZE, INITIALIZED, tool_call(1, "remember", {"text": "Fact 1."}))
        assert server.ask(request(2, "ping"))["id"] == "init"
        assert server.receive()["id"] == 2  # so the call before it has been taken
        server.process.send_signal(signal.SIGTERM)
        loads.touch()
        (answer,) = _last(server)
        assert answer["id"] == 1
        assert answer["result"]["isError"] is False
        assert server.process.returncode == 0
    assert remembered(data) == ["Fact 1."]


def _last(server: Raw) -> list[Any]:
    """What is said until the server ends by itself, with its input still open."""
    assert server.process.stdout is not None
    lines = server.process.stdout.read().splitlines()
    server.process.wait()
    return [json.loads(line) for line in lines]


PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:])
sys.stderr.write("started\\n"); sys.stderr.flush()
child.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [False, True])
def test_it_ends_with_its_parent(data: Path, loaded: bool, tmp_path: Path) -> None:
    """The input stays open, in our hands: only the parent dies."""
    loads = tmp_path / "loads"
    child = stdio(data) if loaded else late(data, loads)
    with fresh([sys.executable, "-c", PARENT, *child]) as server:
        server.open()
        if loaded:
            assert server.ask(tool_call(0, "list", {}))["result"]["isError"] is False
        server.send(tool_call(1, "remember", {"text": "Fact 1."}), request(2, "ping"))
        said = [server.receive()]
        if not loaded:
            assert said[0]["id"] == 2
        server.process.kill()
        loads.touch()
        said += _last(server)  # ends when the grandchild, which holds the output too, has ended
        assert {answer["id"] for answer in said} == {1, 2}
    assert remembered(data) == ["Fact 1."]


@pytest.mark.slow
def test_it_ends_when_nobody_reads_its_answers(data: Path) -> None:
    with raw(stdio(data)) as server:
        server.open()
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.send(tool_call(1, "remember", {"text": "Fact 1."}))
        server.process.wait()
        assert server.process.returncode == 0
    assert remembered(data) == ["Fact 1."]


@pytest.mark.slow
def test_the_store_is_free_when_it_has_ended(data: Path) -> None:
    with raw(stdio(data)) as server:
        server.open()
        assert server.ask(tool_call(1, "remember", {"text": "Fact 1."}))["result"]
        server.rest()
        link = Link(data)
        try:
            reply = link.call(q.Remember(facts=(q.NewFact(text="Fact 2."),)))
            assert isinstance(reply, Written)
            assert link.owns
        finally:
            link.close()


def test_a_setting_that_is_wrong_is_told_before_anything_else(data: Path) -> None:
    done = subprocess.run(
        stdio(data),
        env=environment(REWOUND_COLOR="mauve"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"color" in done.stderr
    assert os.linesep.encode() not in done.stderr.strip()
