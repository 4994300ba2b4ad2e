"""Connections: how many there may be, and what one is told that does not speak HTTP.

A request that cannot even be parsed reaches no handler; it is answered here in the form of all
other errors, and nothing of it is logged: it may hold a key.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
from aiohttp import web

from rewound.http.limits import Limits
from rewound.http.problems import JSON_HEADERS, Error, ErrorDetail, Problem, telling_of

_TOO_MANY = Error(
    error=ErrorDetail(
        code="store_busy", message="too many connections are open: try again in a moment"
    )
)


UNNUMBERED = "unread"
"""The request id of what was no request."""


class TurnedAway(asyncio.Protocol):
    """A connection over the limit: told so, and closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast("asyncio.Transport", transport)
        body = msgspec.json.encode(_TOO_MANY)
        said = {**JSON_HEADERS, "retry-after": "1", "connection": "close"}
        said["x-request-id"] = UNNUMBERED
        said["content-length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        stream.write(f"HTTP/1.1 503 Service Unavailable\r\n{head}\r\n".encode() + body)
        stream.close()


class Speaker(web.RequestHandler):
    """One connection. What it cannot read it refuses in JSON, and closes."""

    __slots__ = ()

    def close(self) -> None:
        """Take nothing more. A body that has not come whole would be waited for in vain."""
        super().close()
        request = self._current_request
        if request is not None and not request.content.is_eof():
            request.content.set_exception(
                Problem("store_busy", "the server is ending: send this again in a moment")
            )

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what was no request. `message` may quote it, and is left out."""
        del message
        if request.writer.output_size > 0:
            raise ConnectionError("an answer is under way already: only closing is left")
        if status >= 500:
            told = telling_of(exc or RuntimeError(), UNNUMBERED)
            status, detail = told.status, told.detail
        else:
            detail = ErrorDetail(
                code="invalid_input",
                message="this is no HTTP/1.1 request that can be read: its first line, its headers "
                "or its chunks are malformed or too long",
            )
        response = web.Response(
            body=msgspec.json.encode(Error(error=detail)),
            status=status,
            headers={**JSON_HEADERS, "x-request-id": UNNUMBERED},
        )
        response.force_close()
        return response


class Connections:
    """Counts the connections of a server, and lets in no more than there may be."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.connections
        self._options: dict[str, Any] = {
            "keepalive_timeout": limits.idle_s,
            "auto_decompress": False,  # packed bodies are refused: a small one may unpack to a lot
            "access_log": None,
            "lingering_time": limits.linger_s,
        }
        self.server: web.Server | None = None
        """Whose connections these are; set once it runs."""

    @property
    def count(self) -> int:
        return 0 if self.server is None else len(self.server.connections)

    def admit(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection."""
        if self.server is None or self.count >= self._most:
            return TurnedAway()
        return Speaker(self.server, loop=asyncio.get_running_loop(), **self._options)
