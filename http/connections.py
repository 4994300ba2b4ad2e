"""Connections: how many there may be, and what one is told that does not speak HTTP.

When there are as many as there may be, the one that has waited longest for a request makes room
for a new one: whoever opens connections and says nothing locks nobody out.

A request that cannot even be parsed reaches no handler; it is answered here in the form of all
other errors, and nothing of it is logged: it may hold a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import itemgetter
from typing import Any, cast

import msgspec
from aiohttp import web

from rewound.http.limits import Limits
from rewound.http.problems import JSON_HEADERS, Error, ErrorDetail, Problem, telling_of
from rewound.memory.hearing import Asker

_TOO_MANY = Error(
    error=ErrorDetail(
        code="store_busy", message="too many connections are open: try again in a moment"
    )
)


ASKER: web.RequestKey[Asker] = web.RequestKey("asker", Asker)
"""Who stands for the client of a request where a model may be asked: it goes when the client does.
"""

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

    __slots__ = ("_among", "_first_s")

    def __init__(
        self, among: Connections, server: web.Server, *, first_s: float, **options: Any
    ) -> None:
        super().__init__(server, **options)
        self._among = among
        self._first_s = first_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, or be turned away. For the first request there is less time than between two."""
        if not self._among.make_room():
            turned_away = TurnedAway()
            transport.set_protocol(turned_away)
            turned_away.connection_made(transport)
            return
        super().connection_made(transport)
        self._among.count += 1
        if self._keepalive_handle is not None:
            self._keepalive_handle.cancel()
        close_time = self._loop.time() + self._first_s
        self._next_keepalive_close_time = close_time
        self._keepalive_handle = self._loop.call_at(close_time, self._process_keepalive)

    def connection_lost(self, exc: BaseException | None) -> None:
        request = self._current_request
        super().connection_lost(exc)
        asker = None if request is None else request.get(ASKER)
        if asker is not None:
            asker.go()  # models that work for it may stop
        self._among.count -= 1
        self._among.left()

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    @property
    def waiting_since(self) -> float | None:
        """Since when it waits for a request, by the loop's time; None while one is under way.

        An answer that has not been taken yet is under way.
        """
        if self._waiter is None or self._waiter.done():
            return None
        if self.transport is None or self.transport.get_write_buffer_size() > 0:
            return None
        allowed = self._keepalive_timeout if self._request_count else self._first_s
        return self._next_keepalive_close_time - allowed

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
            "first_s": limits.first_s,
            "keepalive_timeout": limits.idle_s,
            "auto_decompress": False,  # packed bodies are refused: a small one may unpack to a lot
            "access_log": None,
            "lingering_time": limits.linger_s,
        }
        self.server: web.Server | None = None
        """Whose connections these are; set once it runs."""
        self.count = 0
        """Those that have not ended. The server's own list has each for a while longer."""
        self.left: Callable[[], object] = lambda: None
        """Called when one has ended."""

    def admit(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection."""
        if self.server is None:
            return TurnedAway()
        return Speaker(self, self.server, loop=asyncio.get_running_loop(), **self._options)

    def make_room(self) -> bool:
        """Whether one more may come; if need be, the one goes that has waited longest.

        False when all that there may be have requests under way.
        """
        if self.server is None or self.count < self._most:
            return self.server is not None
        speakers = [each for each in self.server.connections if isinstance(each, Speaker)]
        opened = [each for each in speakers if each.is_open]
        if len(opened) < self._most:
            return True  # the others are closing
        waiting = [(since, each) for each in opened if (since := each.waiting_since) is not None]
        if not waiting:
            return False
        min(waiting, key=itemgetter(0))[1].force_close()
        return True
