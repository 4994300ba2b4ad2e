"""The tools on the official MCP SDK's server. Importing this module takes about a second.

The SDK's low-level server is used, so that schemas, structured output and errors are ours word for
word; the SDK does the protocol.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server

from rewound.http import mcp_handshake as h
from rewound.http.mcp_calls import Result
from rewound.http.mcp_tools import listed

Call = Callable[[str, Any], Result]
"""Name and arguments of a tool -> the result of the call. It may block."""

CALLS_AT_ONCE = 16


def tool_server(call: Call) -> Server[Any]:
    """A server with our tools, each call of which runs in a thread of its own."""
    threads = anyio.CapacityLimiter(CALLS_AT_ONCE)
    tools = [types.Tool.model_validate(tool) for tool in listed()]

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        _: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> HandlerResult:
        # Not abandoned when the client cancels: a write that has begun is seen through.
        result = await anyio.to_thread.run_sync(
            call, params.name, params.arguments, limiter=threads
        )
        return {**result, "resultType": "complete"}  # left out for revisions without it

    hint = CacheHint(h.CACHE_MS, "public")
    info = h.server_info()
    server: Server[Any] = Server(
        info["name"],
        version=info["version"],
        title=info["title"],
        description=info["description"],
        instructions=h.INSTRUCTIONS,
        on_list_tools=list_tools,
        cache_hints={"tools/list": hint, "server/discover": hint},
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.middleware.append(_any_arguments)
    return server


async def _any_arguments(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Hand arguments that are no object on to the tool, whose error says what would be right.

    The SDK itself would answer them with a protocol error that names nothing.
    """
    if ctx.method == "tools/call" and ctx.params is not None:
        arguments = ctx.params.get("arguments")
        if arguments is not None and not isinstance(arguments, dict):
            params = {**ctx.params, "arguments": {"arguments": arguments}}
            return await call_next(replace(ctx, params=params))
    return await call_next(ctx)
