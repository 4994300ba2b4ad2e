"""What bounds a client: the size of bodies, the time they may take, and how many connections.

All of it can be reached only by a client that is very slow, very large or very many.
"""

from __future__ import annotations

import asyncio
import socket
from typing import NamedTuple

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rewound.http.decoding import check_no_query, check_type
from rewound.http.problems import Problem, invalid

MIB = 1024 * 1024


class Limits(NamedTuple):
    """Bounds of one server, and what it lets nobody do. Times in seconds."""

    body_bytes: int = 32 * MIB
    body_s: float = 60.0
    """A body must have come within this, and `body_bytes_per_s` more for large ones."""
    body_bytes_per_s: int = 100_000
    first_s: float = 10.0
    """A new connection must have sent the whole head of its first request within this."""
    idle_s: float = 75.0
    """Between two requests of a connection."""
    unread_s: float = 60.0
    """A client that takes nothing of an answer for this long is let go."""
    linger_s: float = 5.0
    """After a refusal the rest of a body is read away for so long, lest the refusal be lost."""
    stop_s: float = 30.0
    """How long stopping waits for what is under way."""
    connections: int = 1_000
    reads_waiting: int = 256
    turn_s: float = 10.0
    """A read with `at_least` waits so long for a thread when many of them hold one already."""
    writes_waiting: int = 4_096
    answers_at_once: int = 16
    """Questions being answered, each of which may hold a thread for as long as a model takes."""
    answers_waiting: int = 64
    fresh_s: float = 5.0
    """Figures of the whole store are asked for at most this often: they read every container."""
    node_changes: bool = False
    """Whether requests may name other model servers, which texts are sent to then."""


def shared(limits: Limits, workers: int) -> Limits:
    """The bounds of each of so many processes, among which connections are handed out evenly."""
    return limits._replace(connections=-(-limits.connections // workers))


async def json_body(request: web.Request, limits: Limits) -> bytes:
    """The body of a request that takes its fields there, and nowhere else. Raises Problem."""
    if request.query_string:
        check_no_query(request.query)
    headers = request.headers
    check_type(
        headers.get("Content-Type", ""),
        headers.get("Content-Encoding", ""),
        from_page="Origin" in headers,
    )
    return await read_body(request, limits)


async def expected(request: web.Request, limits: Limits) -> None:
    """Ask for a body that the client holds back until it is wanted (`Expect: 100-continue`).

    One that is too large is not asked for: the refusal follows at once. Any other expectation is
    none of ours.
    """
    wanted = request.headers.get("Expect", "").strip().lower() == "100-continue"
    if wanted and (request.content_length or 0) <= limits.body_bytes:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # nothing of the answer itself is out yet


async def read_body(request: web.Request, limits: Limits) -> bytes:
    """The whole body. Raises Problem when it is too large, too slow or cut off."""
    content = request.content
    length = request.content_length
    if length is not None and length > limits.body_bytes:
        raise too_large(limits, length)
    try:
        if content.is_eof():  # it came with the headers, as small ones do
            return _within(content.read_nowait(), limits)
        seconds = limits.body_s + (length or 0) / limits.body_bytes_per_s
        async with asyncio.timeout(seconds):
            return await _in_parts(request, limits)
    except TimeoutError:
        raise Problem(
            "timeout",
            f"the body had not come whole after {limits.body_s:g} seconds: send it faster, or in "
            "smaller parts",
        ) from None
    except (web.RequestPayloadError, HttpProcessingError, ConnectionError):
        raise invalid("the body is cut off or its chunks are broken: send it anew") from None


async def _in_parts(request: web.Request, limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await request.content.readany():
        size += len(part)
        if size > limits.body_bytes:
            raise too_large(limits, None)
        parts.append(part)
    return b"".join(parts)


def _within(body: bytes, limits: Limits) -> bytes:
    if len(body) > limits.body_bytes:
        raise too_large(limits, len(body))
    return body


def too_large(limits: Limits, size: int | None) -> Problem:
    held = f"holds {size:,} bytes" if size is not None else "is larger"
    return Problem(
        "too_large",
        f"the body {held}, at most {limits.body_bytes} bytes are taken: send less at a time, or "
        "raise the setting max_body_mb (REWOUND_MAX_BODY_MB)",
    )


def let_go_of_the_unread(listening: socket.socket, limits: Limits) -> None:
    """Connections that this socket takes end when the other side takes nothing for too long.

    The kernel watches over it, where it can (Linux).
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listening.setsockopt(socket.IPPROTO_TCP, option, int(limits.unread_s * 1000))
