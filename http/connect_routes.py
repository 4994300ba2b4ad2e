"""What the server offers to MCP clients on other machines: a bridge to download, and its two calls.

GET  /connect              how to set up an MCP client, for people
GET  /connect/bridge.py    an MCP server of one file, that needs nothing installed
GET  /connect/tools.json   what that server tells of itself: name, instructions, tools
POST /connect/call         {container, name, arguments} -> what the tool answers
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from rewound.http import mcp_handshake as h
from rewound.http.decoding import check_no_query, check_type, not_json
from rewound.http.mcp_calls import called_async
from rewound.http.mcp_tools import listed
from rewound.http.problems import invalid
from rewound.memory.conversions import translated
from rewound.memory.replies import Reply
from rewound.memory.requests import Request

OPEN_PATHS = frozenset({"/connect", "/connect/bridge.py"})
"""These hold nothing of the store and may be answered without a key."""

BRIDGE = Path(__file__).with_name("connect") / "bridge.py"

_NOSNIFF = {"x-content-type-options": "nosniff"}
_JSON = {"content-type": "application/json; charset=utf-8", **_NOSNIFF}
_PYTHON = {
    "content-type": "text/x-python; charset=utf-8",
    "content-disposition": 'attachment; filename="bridge.py"',
    **_NOSNIFF,
}
_TEXT = {"content-type": "text/plain; charset=utf-8", **_NOSNIFF}


class Here(NamedTuple):
    """How `rewound` is called on the server's machine, and the folder of its store."""

    command: str
    data: str


ELSEWHERE = Here("/path/to/rewound/.venv/bin/rewound", "/path/to/its/data")
_LOOPBACK = ("127.0.0.1", "::1")


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a tool. Whatever its arguments are, the tool itself says what is wrong."""

    name: str
    arguments: Any = None
    container: str = "default"


_decode = msgspec.json.Decoder(ToolCall).decode


def connect_routes(
    call: Callable[[Request], Awaitable[Reply]],
    read: Callable[[web.Request], Awaitable[bytes]] = web.Request.read,
    here: Here | None = None,
) -> list[web.RouteDef]:
    """The routes, over a store that is asked with `call`. `read` reads a body within limits;
    `here` is told to whoever asks from this machine."""
    described = msgspec.json.encode(
        {"serverInfo": h.server_info(), "instructions": h.INSTRUCTIONS, "tools": listed()}
    )
    source = BRIDGE.read_bytes()

    async def how(request: web.Request) -> web.StreamResponse:
        local = here if here is not None and request.remote in _LOOPBACK else ELSEWHERE
        text = HOW.replace("{url}", f"{request.scheme}://{request.host}")
        for name, value in (("command", local.command), ("data", local.data)):
            text = text.replace(f'"{{{name}}}"', msgspec.json.encode(value).decode())
        return web.Response(body=text.encode(), headers=_TEXT)

    async def bridge(_: web.Request) -> web.StreamResponse:
        return web.Response(body=source, headers=_PYTHON)

    async def tools(_: web.Request) -> web.StreamResponse:
        return web.Response(body=described, headers=_JSON)

    async def answer(request: web.Request) -> web.StreamResponse:
        check_no_query(request.query)
        headers = request.headers
        check_type(
            headers.get("Content-Type", ""),
            headers.get("Content-Encoding", ""),
            from_page="Origin" in headers,
        )
        asked = _asked(await read(request))
        key = headers.get("Idempotency-Key")
        result = await called_async(call, asked.container, asked.name, asked.arguments, key=key)
        return web.Response(body=msgspec.json.encode(result), headers=_JSON)

    return [
        web.get("/connect", how),
        web.get("/connect/bridge.py", bridge),
        web.get("/connect/tools.json", tools),
        web.post("/connect/call", answer),
    ]


def _asked(raw: bytes) -> ToolCall:
    try:
        return _decode(raw)
    except msgspec.ValidationError as error:
        wrong = translated(error, ToolCall)
        raise invalid(wrong.message, wrong.field) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise not_json(error) from None


HOW = """\
How to give an MCP client (an agent) this memory

1. On the machine where Rewound is installed, let the client start `rewound mcp`:

{
  "mcpServers": {
    "rewound": {
      "command": "{command}",
      "args": ["mcp", "--data", "{data}", "--container", "default"]
    }
  }
}

2. On any other machine with Python 3.9 or newer nothing need be installed. Save the bridge,

    curl -o bridge.py {url}/connect/bridge.py

and let the client start it:

{
  "mcpServers": {
    "rewound": {
      "command": "python3",
      "args": ["/path/to/bridge.py"],
      "env": {
        "REWOUND_URL": "{url}",
        "REWOUND_CONTAINER": "default",
        "REWOUND_API_KEY": "the server's key, if it has one"
      }
    }
  }
}

Agents that share a container share a memory. Nothing is read across containers.
"""
