"""The bridge of one file, and the routes of the server that it speaks to."""

import ast
import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import msgspec
import pytest
from aiohttp import web
from mcp.client.client import Client

from rewound.http.connect import bridge
from rewound.http.connect_routes import BRIDGE, connect_routes
from rewound.http.mcp_handshake import INSTRUCTIONS
from rewound.http.mcp_tools import TOOLS, listed
from rewound.http.problems import Error, Problem, telling_of
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.replies import Page, Reply
from tests.integration.listening import kept_port
from tests.mcp.driving import (
    INITIALIZE,
    MODES,
    Raw,
    call_each,
    initialize,
    raw,
    request,
    talked,
    text_of,
    tool_call,
)

COMMAND = [sys.executable, "-I", str(BRIDGE)]
KEY = "SRV-CANARY-123"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Served:
    """A tiny server with the routes, on a thread of its own, until it is stopped."""

    def __init__(
        self, routes: list[web.RouteDef], key: str = "", port: int = 0, bytes_max: int = 1 << 20
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._key = key
        self.keys: list[str | None] = []
        app = web.Application(middlewares=[self._guard()], client_max_size=bytes_max)
        app.add_routes(routes)
        self._runner = web.AppRunner(app)
        self._done(self._start(port))

    def _guard(self) -> Any:
        @web.middleware
        async def guard(asked: web.Request, handler: Handler) -> web.StreamResponse:
            self.keys.append(asked.headers.get("Idempotency-Key"))
            try:
                if self._key and asked.headers.get("Authorization") != f"Bearer {self._key}":
                    raise Problem("unauthorized", "the key is not right")
                return await handler(asked)
            except web.HTTPRequestEntityTooLarge:
                told = telling_of(Problem("too_large", "at most 1,000 bytes"), "r")
            except Problem as problem:
                told = telling_of(problem, "r")
            return web.json_response(
                body=msgspec.json.encode(Error(error=told.detail)), status=told.status
            )

        return guard

    async def _start(self, port: int) -> None:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()

    @property
    def port(self) -> int:
        found: int = self._runner.addresses[0][1]
        return found

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._done(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _done(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextmanager
def served(routes: list[web.RouteDef], **settings: Any) -> Iterator[Served]:
    server = Served(routes, **settings)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    link = Link(tmp_path / "store")
    yield link
    link.close()


@pytest.fixture
def routes(link: Link) -> list[web.RouteDef]:
    async def ask(asked: q.Request) -> Reply:
        return await asyncio.to_thread(link.call, asked)

    return connect_routes(ask)


@pytest.fixture
def server(routes: list[web.RouteDef]) -> Iterator[Served]:
    with served(routes) as found:
        yield found


def facts(link: Link, container: str = "default") -> list[str]:
    page = link.call(q.List(container=container))
    assert isinstance(page, Page)
    return [item.text for item in page.items]


# --- the file


def test_it_is_python_3_9_and_the_standard_library_alone() -> None:
    tree = ast.parse(BRIDGE.read_text("utf-8"), feature_version=(3, 9))
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            modules.add(node.module.partition(".")[0])
        assert type(node).__name__ not in ("Match", "TryStar")
    assert modules <= set(sys.stdlib_module_names)


# --- through the SDK's client


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_the_sdks_client_lists_and_calls_every_tool(server: Served, link: Link, mode: str) -> None:
    async def talk(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(TOOLS)
        told = None if mode == MODES[-1] else INSTRUCTIONS  # which asks for nothing at first
        assert client.instructions == told
        results = await call_each(client)
        assert "Ann Berg lives in Oslo." in text_of(results["search"])

    talked(COMMAND, talk, mode=mode, REWOUND_URL=server.url, REWOUND_CONTAINER="work")
    assert facts(link, "work") == ["Ann Berg lives in Oslo."]


@pytest.mark.slow
def test_bad_arguments_are_tool_errors(server: Served) -> None:
    with raw(COMMAND, REWOUND_URL=server.url) as client:
        client.open()
        for number, (arguments, start) in enumerate(
            [
                ({"query": "x", "limit": 0.15}, "limit must be"),
                ({"query": "x", "tags": "a,b"}, "tags must be"),
                ({}, "query is missing"),
                ([], "arguments must be"),
                ("x", "arguments must be"),
            ]
        ):
            result = client.ask(tool_call(number, "search", arguments))["result"]
            assert result["isError"] is True
            assert result["content"][0]["text"].startswith(start)
        half = client.ask(tool_call("half", "search", {"query": "half \ud800 a character"}))
        assert half["result"]["isError"] is True


# --- settings and servers that are not right


def said(client: Raw, name: str = "search") -> str:
    """The text of the error that a call ends in."""
    result = client.ask(tool_call("said", name, {"query": "x"}))["result"]
    assert result["isError"] is True
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.slow
def test_an_absent_server_is_told_and_found_again(routes: list[web.RouteDef]) -> None:
    kept = kept_port()
    port = kept.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with kept, raw(COMMAND, REWOUND_URL=url) as client:
        greeting = client.ask(INITIALIZE)["result"]
        assert f"{url} (REWOUND_URL) cannot be reached" in greeting["instructions"]
        assert greeting["capabilities"]["tools"]["listChanged"] is True
        assert "rewound serve" in said(client)
        assert url in client.ask(request(1, "tools/list"))["error"]["message"]
        with served(routes, port=port):
            assert client.receive()["method"] == "notifications/tools/list_changed"
            assert client.ask(request(2, "tools/list"))["result"]["tools"] == listed()
        assert client.ask(request(3, "tools/list"))["result"]["tools"] == listed()
        assert client.rest() == []


@pytest.mark.slow
def test_a_key_is_sent_and_never_shown(routes: list[web.RouteDef], tmp_path: Path) -> None:
    log = tmp_path / "log"
    shown: list[str] = []
    with served(routes, key=KEY) as server:
        with raw(COMMAND, errors=log, REWOUND_URL=server.url, REWOUND_API_KEY=KEY) as client:
            client.open()
            answer = client.ask(tool_call(1, "remember", {"text": "Ann lives in Oslo."}))
            assert answer["result"]["isError"] is False
            shown.append(json.dumps([answer, *client.rest()]))
        with raw(COMMAND, errors=log, REWOUND_URL=server.url) as client:
            client.open()
            assert "set REWOUND_API_KEY" in said(client)
        wrong = f"{KEY}-wrong"
        with raw(COMMAND, errors=log, REWOUND_URL=server.url, REWOUND_API_KEY=wrong) as client:
            client.open()
            shown.append(said(client))
            assert "does not accept the key in REWOUND_API_KEY" in shown[-1]
        address = server.url.replace("//", f"//me:{KEY}@")
        with raw(COMMAND, errors=log, REWOUND_URL=address) as client:
            shown.append(json.dumps(client.ask(INITIALIZE)))
            shown.append(said(client))
            assert "REWOUND_URL must not hold a password" in shown[-1]
    assert KEY not in "".join(shown) + log.read_text()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"REWOUND_URL": "127.0.0.1:8900"}, "REWOUND_URL must be an address"),
        ({"REWOUND_URL": "file:///etc/passwd"}, "REWOUND_URL must be an address"),
        ({"REWOUND_URL": "http://"}, "REWOUND_URL must be an address"),
        ({"REWOUND_URL": "http://host:99999"}, "REWOUND_URL must be an address"),
        ({"REWOUND_URL": "http://a b"}, "REWOUND_URL must be an address"),
        ({"REWOUND_API_KEY": "schlüssel"}, "REWOUND_API_KEY must be plain ASCII"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, str], words: str) -> None:
    with pytest.raises(bridge.Unanswered, match=words):
        bridge.Server(settings).call("search", {})


def test_blank_settings_count_as_none() -> None:
    server = bridge.Server({"REWOUND_URL": " ", "REWOUND_CONTAINER": "", "REWOUND_API_KEY": " "})
    assert (server.url, server.container) == (bridge.DEFAULT_URL, "default")


def refused_by(*handlers: tuple[str, Handler], **settings: Any) -> str:
    """What a call is told by a server with these handlers."""
    routes = [web.route("*", path, handler) for path, handler in handlers]
    with served(routes, **settings) as server:
        with pytest.raises(bridge.Unanswered) as caught:
            bridge.Server({"REWOUND_URL": server.url}).call("search", {"query": "x" * 2_000})
        assert server.url in str(caught.value)
        return str(caught.value)


async def _page(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>")


async def _json(_: web.Request) -> web.StreamResponse:
    return web.json_response({"hello": 1})


async def _busy(_: web.Request) -> web.StreamResponse:
    raise Problem("store_busy", "the store is busy")


async def _broken(_: web.Request) -> web.StreamResponse:
    return web.json_response({"error": {"message": "its log has more"}}, status=500)


async def _elsewhere(_: web.Request) -> web.StreamResponse:
    raise web.HTTPFound("http://127.0.0.1:9/steal")


async def _cut(asked: web.Request) -> web.StreamResponse:
    assert asked.transport is not None
    asked.transport.close()
    return web.Response()


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (_page, "did not answer in JSON"),
        (_json, "is it a Rewound server"),
        (_busy, "try again in a moment. the store is busy"),
        (_broken, "(HTTP 500). its log has more"),
        (_elsewhere, "has no bridge (HTTP 302)"),
        (_cut, "cannot be reached"),
    ],
)
def test_an_odd_answer_is_told(handler: Handler, words: str) -> None:
    assert words in refused_by(("/connect/call", handler))


def test_a_server_without_a_bridge_is_told() -> None:
    assert "has no bridge (HTTP 404): correct REWOUND_URL" in refused_by(("/other", _json))


def test_a_body_that_is_too_large_is_told(routes: list[web.RouteDef]) -> None:
    with served(routes, bytes_max=1_000) as server:
        with pytest.raises(bridge.Unanswered, match=r"so much at once. at most 1,000 bytes"):
            bridge.Server({"REWOUND_URL": server.url}).call("search", {"query": "x" * 2_000})


def test_a_slow_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.to_thread(over.wait)
        return web.Response()

    monkeypatch.setattr(bridge, "CALL_S", 0.05)
    with served([web.post("/connect/call", never)]) as server:
        try:
            with pytest.raises(bridge.Unanswered, match="did not answer within"):
                bridge.Server({"REWOUND_URL": server.url}).call("search", {})
        finally:
            over.set()


def test_a_broken_connection_is_tried_again_under_the_same_key(
    routes: list[web.RouteDef], link: Link
) -> None:
    """The first answer is lost after the write has happened: the second try finds it done."""
    (answer,) = [cast(Handler, route.handler) for route in routes if route.method == "POST"]
    lost: list[str | None] = []

    async def losing(asked: web.Request) -> web.StreamResponse:
        response = await answer(asked)
        lost.append(asked.headers.get("Idempotency-Key"))
        if len(lost) == 1:
            assert asked.transport is not None
            asked.transport.close()
        return response

    with served([web.post("/connect/call", losing)]) as server:
        result = bridge.Server({"REWOUND_URL": server.url}).call("remember", {"text": "Once."})
    assert result["isError"] is False
    assert len(lost) == 2
    assert lost[0] == lost[1] is not None
    assert facts(link) == ["Once."]
    assert result["structuredContent"]["items"][0]["status"] == "written"


# --- proxies


class Proxy:
    """Takes connections as a proxy would, keeps what it is told, and hangs up."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.heard: list[bytes] = []
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            client, _ = self._listening.accept()
            with client:
                said = client.recv(65_536)
                if said == b"over":
                    return
                self.heard.append(said)

    def close(self) -> None:
        host, port = self._listening.getsockname()
        with socket.create_connection((host, port)) as last:
            last.sendall(b"over")
        self._thread.join()
        self._listening.close()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The proxy that the environment names for all addresses."""
    opened = Proxy()
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, opened.url)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield opened
    opened.close()


def test_no_proxy_hears_what_is_not_encrypted(proxy: Proxy) -> None:
    """127.0.0.2 is not among the names of this machine that the bridge knows."""
    settings = {"REWOUND_URL": "http://127.0.0.2:1", "REWOUND_API_KEY": KEY}
    with pytest.raises(bridge.Unanswered, match="cannot be reached"):
        bridge.Server(settings).call("search", {})
    assert proxy.heard == []


def test_a_proxy_may_hand_on_what_is_encrypted(proxy: Proxy) -> None:
    settings = {"REWOUND_URL": "https://memory.invalid", "REWOUND_API_KEY": KEY}
    with pytest.raises(bridge.Unanswered, match="cannot be reached"):
        bridge.Server(settings).call("search", {})
    assert proxy.heard
    for heard in proxy.heard:
        assert heard.startswith(b"CONNECT memory.invalid:443 ")
        assert KEY.encode() not in heard


# --- its process


def test_lines_are_cut_from_pieces_and_long_ones_left_out() -> None:
    def lines(*pieces: bytes) -> list[bytes | None]:
        coming = iter([*pieces, b""])
        return list(bridge.lines_of(lambda: next(coming), 4))

    assert lines() == lines(b"") == []
    assert lines(b"a\n\nb", b"c\nd") == [b"a", b"", b"bc", b"d"]
    assert lines(b"abcd\n", b"ab", b"cd\n") == [b"abcd", b"abcd"]
    assert lines(b"abcde\nf\n") == [None, b"f"]
    assert lines(b"abc", b"de", b"f", b"g\nh", b"\n", b"12345") == [None, b"h", None]


def test_a_line_that_is_too_long_gets_one_error_and_the_next_is_read(server: Served) -> None:
    with raw(COMMAND, REWOUND_URL=server.url) as client:
        long = request(1, "ping", {"long": "x" * bridge.LINE_BYTES_MAX})
        client.send(long, request(2, "ping"))
        refused = client.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert "at most 32 MB" in refused["error"]["message"]
        assert client.receive() == {"jsonrpc": "2.0", "id": 2, "result": {}}
        assert client.rest() == []


@pytest.mark.slow
def test_stdout_holds_nothing_but_messages_in_any_locale(server: Served, tmp_path: Path) -> None:
    log = tmp_path / "log"
    odd = {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONUTF8": "0"}
    text = "Zoë ate 🎉 日本."
    command = [sys.executable, str(BRIDGE)]
    with raw(command, errors=log, REWOUND_URL=server.url, **odd) as client:
        client.open()
        assert client.ask(tool_call(1, "remember", {"text": text}))["result"]["isError"] is False
        found = client.ask(tool_call(2, "search", {"query": "Zoë"}))["result"]
        assert found["structuredContent"]["hits"][0]["text"] == text
        assert client.rest() == []
        assert client.process.returncode == 0
    assert log.read_bytes() == b""


@pytest.mark.slow
def test_what_is_no_message_gets_an_error_and_harms_nothing(server: Served) -> None:
    with raw(COMMAND, REWOUND_URL=server.url) as client:
        for line, code in (
            (b"no JSON", -32700),
            (b"\xff", -32700),
            (b"[" * 100_000, -32700),
            (b"[]", -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"nothing/known"}', -32601),
        ):
            client.send(line)
            assert client.receive()["error"]["code"] == code
        assert client.ask(initialize("1999-01-01"))["result"]["protocolVersion"] == "2025-11-25"
        assert client.ask(request("p", "ping"))["result"] == {}
        assert client.rest() == []


@pytest.mark.slow
def test_it_answers_all_it_was_asked_before_its_input_ended(server: Served, link: Link) -> None:
    with raw(COMMAND, REWOUND_URL=server.url) as client:
        client.send(INITIALIZE)
        client.send(*(tool_call(n, "remember", {"text": f"Fact {n}."}) for n in range(20)))
        answers = {answer["id"]: answer["result"] for answer in client.rest()}
        assert set(answers) == {"init", *range(20)}
        assert client.process.returncode == 0
    assert len(facts(link)) == 20


@pytest.mark.slow
def test_a_signal_ends_it(server: Served) -> None:
    with raw(COMMAND, REWOUND_URL=server.url) as client:
        client.open()
        client.process.terminate()
        assert client.process.stdout is not None
        assert client.process.stdout.read() == b""
        client.process.wait()
        assert client.process.returncode == 0


PARENT = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


@pytest.mark.slow
def test_it_ends_with_its_parent(server: Served) -> None:
    with raw([sys.executable, "-c", PARENT, *COMMAND], REWOUND_URL=server.url) as client:
        client.open()
        client.process.kill()
        assert client.process.stdout is not None
        assert client.process.stdout.read() == b""  # ends when the grandchild has ended


# --- the server's side


def got(url: str, body: Any = None, **headers: str) -> tuple[int, str, bytes]:
    """Status, content type and body of an answer."""
    raw_body = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    try:
        with urlopen(HttpRequest(url, raw_body, headers)) as answer:
            return answer.status, answer.headers["content-type"], answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.headers["content-type"], error.read()


def test_the_server_hands_out_the_bridge_and_says_how(server: Served) -> None:
    status, kind, source = got(f"{server.url}/connect/bridge.py")
    assert (status, source) == (200, BRIDGE.read_bytes())
    assert kind.startswith("text/x-python")
    status, kind, how = got(f"{server.url}/connect")
    assert status == 200
    assert kind.startswith("text/plain")
    assert f"{server.url}/connect/bridge.py".encode() in how
    snippets = [part.partition("\n\n")[0] for part in how.decode().split("\n\n") if part[0] == "{"]
    first, second = (json.loads(part)["mcpServers"]["rewound"] for part in snippets)
    assert first["command"].endswith("rewound") and first["args"][:2] == ["mcp", "--data"]
    assert second["env"]["REWOUND_URL"] == server.url


def test_the_server_tells_its_tools(server: Served) -> None:
    status, _, body = got(f"{server.url}/connect/tools.json")
    told = json.loads(body)
    assert status == 200
    assert told["tools"] == listed()
    assert told["instructions"] == INSTRUCTIONS
    assert told["serverInfo"]["name"] == "rewound"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", None),
        (b"no JSON", None),
        (b"\xff", None),
        ([], None),
        ({}, "name"),
        ({"name": 5}, "name"),
        ({"name": "list", "container": 5}, "container"),
        ({"name": "list", "argument": {}}, "argument"),
    ],
)
def test_a_call_that_cannot_be_read_is_a_400(server: Served, body: Any, field: str | None) -> None:
    status, _, answer = got(f"{server.url}/connect/call", body)
    assert status == 400
    error = json.loads(answer)["error"]
    assert error["code"] == "invalid_input"
    assert error["field"] == field


def test_a_page_of_another_site_cannot_call(server: Served) -> None:
    body = {"name": "remember", "arguments": {"text": "x"}}
    headers = {"Content-Type": "text/plain", "Origin": "https://evil.example"}
    assert got(f"{server.url}/connect/call", body, **headers)[0] == 403


def test_a_call_under_the_same_key_happens_once(server: Served, link: Link) -> None:
    body = {"name": "remember", "arguments": {"text": "Once."}}
    answers = [got(f"{server.url}/connect/call", body, **{"Idempotency-Key": "k"}) for _ in "12"]
    assert answers[0] == answers[1]
    assert answers[0][0] == 200
    assert facts(link) == ["Once."]


def test_it_runs_where_nothing_is_installed(server: Served, tmp_path: Path) -> None:
    """With neither site-packages nor this folder in sight."""
    copy = tmp_path / "bridge.py"
    copy.write_bytes(got(f"{server.url}/connect/bridge.py")[2])
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(copy)],
        input=json.dumps(request(1, "tools/list")).encode(),
        env={"REWOUND_URL": server.url},
        capture_output=True,
        check=True,
    )
    assert len(json.loads(done.stdout)["result"]["tools"]) == len(TOOLS)
    assert done.stderr == b""
