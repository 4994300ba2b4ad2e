"""Drives MCP servers: through the SDK's own client, and line by line."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests import loaded

MODES = ("legacy", "auto", "2026-07-28")
"""With the handshake, finding out, and with the newest revision's envelopes."""

T = TypeVar("T")
Talk = Callable[[Client], Awaitable[T]]

CALLS: dict[str, dict[str, Any]] = {
    "profile": {},
    "remember": {"text": "Ann Berg lives in Oslo.", "tags": ["home"]},
    "add_conversation": {"messages": [{"content": "I moved to Rome.", "name": "Bob"}]},
    "search": {"query": "Ann"},
    "context": {"query": "where does Ann live"},
    "list": {},
    "pending": {},
    "history": {},
    "why": {},
    "timeline": {"subject": "Ann Berg"},
    "forget": {"reason": "asked to"},
    "restore": {},
    "undo": {},
}
"""A call of each tool in an order that works; `filled` adds the ids."""


def environment(**more: str) -> dict[str, str]:
    """What a server process gets: little, but this tree and its own settings."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "REWOUND_CONFIG": os.devnull, **more}


def stdio(data: Path, *args: str) -> list[str]:
    """The command line of `rewound mcp`."""
    return [sys.executable, "-m", "rewound.http", "mcp", "--data", str(data), *args]


def talked(command: list[str], talk: Talk[T], *, mode: str = "legacy", **env: str) -> T:
    """What comes of talking to a server, through the SDK's client."""
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment(**env))

    async def run() -> T:
        async with Client(stdio_client(server), mode=mode) as client:
            return await talk(client)

    return asyncio.run(run())


async def call(client: Client, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    """Call a tool. The client itself checks the structured content against the output schema."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result, types.CallToolResult)
    return result


def text_of(result: types.CallToolResult) -> str:
    assert len(result.content) == 1
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


async def call_each(client: Client) -> dict[str, types.CallToolResult]:
    """Every tool called once, in an order that works."""
    results: dict[str, types.CallToolResult] = {}
    for name, arguments in CALLS.items():
        results[name] = await call(client, name, {**arguments, **_ids(name, results)})
        assert not results[name].is_error, text_of(results[name])
    return results


def _ids(name: str, results: dict[str, types.CallToolResult]) -> dict[str, Any]:
    if name in ("history", "why", "forget", "restore"):
        fact = results["remember"].structured_content["items"][0]["id"]
        return {"id": fact} if name in ("history", "why") else {"ids": [fact]}
    if name == "undo":
        return {"id": results["add_conversation"].structured_content["items"][0]["event"]}
    return {}


class Raw:
    """A server process, spoken to line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        """The next message. Whatever is no JSON on the line fails here."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended"
        return json.loads(line.decode("utf-8"))

    def ask(self, message: dict[str, Any]) -> Any:
        self.send(message)
        return self.receive()

    def open(self) -> None:
        """The handshake."""
        assert "result" in self.ask(INITIALIZE)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def rest(self) -> list[Any]:
        """Close the input, and all that is still said until the server ends."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        lines = self.process.stdout.read().decode("utf-8").splitlines()
        self.process.wait()
        return [json.loads(line) for line in lines]


@contextmanager
def raw(command: list[str], *, errors: Path | None = None, **env: str) -> Iterator[Raw]:
    """A server process that is gone at the end. `errors` gets its standard error."""
    with _started(loaded.Popen[bytes], command, errors, env) as server:
        yield server


@contextmanager
def fresh(command: list[str], *, errors: Path | None = None, **env: str) -> Iterator[Raw]:
    """The same of a process that has yet to load all that it needs, the SDK last."""
    with _started(subprocess.Popen[bytes], command, errors, env) as server:
        yield server


@contextmanager
def _started(
    start: type["subprocess.Popen[bytes]"],
    command: list[str],
    errors: Path | None,
    env: dict[str, str],
) -> Iterator[Raw]:
    with open(errors or os.devnull, "wb") as stderr:
        process = start(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment(**env),
        )
    with process:
        try:
            yield Raw(process)
        finally:
            process.kill()


def request(number: Any, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def tool_call(number: Any, name: str, arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", {"name": name, "arguments": arguments})


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    client = {"name": "tests", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return request("init", "initialize", params)


INITIALIZE = initialize()
