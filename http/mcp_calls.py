"""Calling a tool: from its name and arguments to the JSON of an MCP `CallToolResult`.

Nothing here knows the MCP SDK or opens a store, so that a process which only hands calls on to the
owner of a store stays small.
"""

import logging
import traceback
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import Any, Protocol

import msgspec

from rewound.http.mcp_arguments import BadArgument, read
from rewound.http.mcp_tools import TOOLS, Tool
from rewound.http.mcp_words import told
from rewound.http.problems import Problem
from rewound.http.words import safe
from rewound.memory import RewoundError
from rewound.memory import replies as r
from rewound.memory import requests as q

Result = dict[str, Any]
"""The JSON of an MCP `CallToolResult`."""

_log = logging.getLogger(__name__)


class Link(Protocol):
    """A store, in this process or behind a socket."""

    def call(self, request: Any) -> Any: ...


def called(
    link: Link, container: str, name: str, arguments: Any, *, key: str | None = None
) -> Result:
    """What a tool answers. Whatever goes wrong is told in the result; nothing is raised."""
    request: q.Request | None = None
    try:
        tool, request = prepared(container, name, arguments, key=key)
        return _result(tool, link.call(request))
    except Exception as error:
        return _failed(error, name, request)


async def called_async(
    call: Callable[[q.Request], Awaitable[r.Reply]],
    container: str,
    name: str,
    arguments: Any,
    *,
    key: str | None = None,
) -> Result:
    """The same where the store is asked without blocking."""
    request: q.Request | None = None
    try:
        tool, request = prepared(container, name, arguments, key=key)
        return _result(tool, await call(request))
    except Exception as error:
        return _failed(error, name, request)


def prepared(
    container: str, name: str, arguments: Any, *, key: str | None = None
) -> tuple[Tool, q.Request]:
    """The tool, and its request. `key` makes a write that is sent twice happen once.

    Raises BadArgument.
    """
    tool = TOOLS.get(name)
    if tool is None:
        near = get_close_matches(name, TOOLS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadArgument(f"there is no tool of that name: {hint}use {', '.join(TOOLS)}", "name")
    request = tool.request(container, read(name, tool.arguments, arguments))
    if key is not None and isinstance(request, q.Write):
        request = msgspec.structs.replace(request, key=key)
    return tool, request


def _result(tool: Tool, reply: r.Reply) -> Result:
    if not isinstance(reply, tool.reply):
        raise TypeError(f"{tool.name} was answered with {type(reply).__name__}")
    return {
        "content": [{"type": "text", "text": told(reply, tool.name)}],
        "structuredContent": msgspec.json.decode(msgspec.json.encode(reply)),
        "isError": False,
    }


def _failed(error: Exception, name: str, request: q.Request | None) -> Result:
    """The result of a call that could not be done: one line that says what would be right."""
    match error:
        case BadArgument():
            return refused(error.message)
        case RewoundError(code="not_found", field="container"):
            reply = _nothing_yet(request, f"{error.message}; nothing is remembered yet")
            return refused(error.message) if reply is None else _result(TOOLS[name], reply)
        case RewoundError() | Problem():
            return refused(_words(error, request))
    # An error's own text may quote a memory, so the log gets its type and place only.
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed: %s\n%s", name, type(error).__name__, frames)
    return refused(f"internal error ({type(error).__name__}): the log on the server has more")


def refused(message: str) -> Result:
    return {"content": [{"type": "text", "text": safe(message)}], "isError": True}


def _words(error: RewoundError | Problem, request: q.Request | None) -> str:
    """A store's error in terms of the tool's own fields."""
    message = error.message
    field = (error.field or "").removeprefix("filters.")
    if field != (error.field or ""):
        message = message.replace("filters.", "", 1)
    field = _OWN_NAMES.get((type(request), field), field)
    if field and field not in message and field not in ("id", "ids", "container"):
        message = f"{field}: {message}"
    if error.ids and not any(found in message for found in error.ids):
        message = f"{message} ({', '.join(error.ids)})"
    if error.code == "store_busy" and "try again" not in message:
        message = f"{message}: try again in a moment"
    return message


_OWN_NAMES: dict[tuple[type, str], str] = {
    (q.Update, "id"): "updates",
    (q.Remember, "id"): "caller_id",
}
"""Fields that a tool calls otherwise than the request does."""


def _nothing_yet(request: q.Request | None, note: str) -> r.Reply | None:
    """A container that nothing was written into is not there; a reader just finds nothing."""
    moment, notes = r.Moment(position=0), (note,)
    match request:
        case q.Search(container=container, query=query):
            return r.Found(
                container=container, query=query, hits=(), moment=moment, nothing_relevant=True,
                notes=notes,
            )  # fmt: skip
        case q.Context(container=container, query=query, budget=budget):
            return r.Packed(
                container=container, query=query, text="", tokens=0, budget=budget, lines=(),
                moment=moment, nothing_relevant=True, notes=notes,
            )  # fmt: skip
        case q.Profile(container=container, budget=budget):
            return r.Portrait(
                container=container, subject=None, text="", tokens=0, budget=budget, stable=(),
                recent=(), buckets={}, left_out=0, moment=moment, notes=notes,
            )  # fmt: skip
        case q.Jobs(container=container):
            return r.JobList(
                container=container, pending=0, failed=0, parked=0, jobs=(), moment=moment,
                notes=notes,
            )  # fmt: skip
        case q.List(container=container, limit=limit):
            return r.Page(
                container=container, items=(), total=0, limit=limit, has_more=False, cursor=None,
                moment=moment, notes=notes,
            )  # fmt: skip
    return None
