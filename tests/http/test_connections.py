"""Connections at their limit: whoever waits makes room, whoever is being answered does not."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from aiohttp import web

from rewound.http.app import SERVED, Served, application
from rewound.http.connections import Speaker
from rewound.http.gatekeeping import doorstep
from rewound.http.limits import Limits
from rewound.http.metrics import text_of

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEAD = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"


class NoStore:
    """Nothing here comes so far as to ask the store."""

    owns = True

    def call(self, request: object) -> object:
        raise AssertionError(f"nobody should ask for {type(request).__name__}")

    submit = call

    def close(self) -> None:
        """There is nothing to let go of."""


class Wire(NamedTuple):
    """One connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def status(self, sent: bytes = b"") -> int:
        """The status of the next answer, whose body is read away."""
        self.writer.write(sent)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split()[0])
        await self.reader.readexactly(length)
        return int(head.split()[1])

    async def closed(self) -> bool:
        """Wait until the server has closed it, having said nothing more."""
        return await self.reader.read() == b""


class Running(NamedTuple):
    """A server on the test's own loop."""

    served: Served
    port: int
    opened: list[Wire]

    async def connect(self, *, taken: bool = True) -> Wire:
        """A new connection; one that will be `taken` is, when this returns."""
        server = self.served.connections.server
        assert server is not None
        before = set(server.connections)
        wire = Wire(*await asyncio.open_connection("127.0.0.1", self.port))
        self.opened.append(wire)
        await until(lambda: not taken or bool(set(server.connections) - before))
        return wire

    def under_way(self) -> int:
        server = self.served.connections.server
        assert server is not None
        found = [each for each in server.connections if isinstance(each, Speaker)]
        return sum(each.waiting_since is None for each in found)


async def until(true: Callable[[], bool]) -> None:
    """Let the loop run until something is so."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.001)


@asynccontextmanager
async def running(limits: Limits) -> AsyncIterator[Running]:
    door = doorstep("127.0.0.1", None, None)
    app = application(NoStore(), door, limits, id_prefix="0")  # type: ignore[arg-type]
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    served = app[SERVED]
    served.connections.server = runner.server
    listening = await asyncio.get_running_loop().create_server(
        served.connections.admit, "127.0.0.1", 0
    )
    server = Running(served, listening.sockets[0].getsockname()[1], [])
    try:
        async with asyncio.timeout(60):
            yield server
    finally:
        for wire in server.opened:
            wire.writer.close()
        listening.close()
        await runner.cleanup()
        await asyncio.to_thread(served.desk.close)


def test_the_one_that_has_waited_longest_makes_room() -> None:
    async def run() -> None:
        async with running(Limits(connections=3)) as server:
            heard, silent, half = [await server.connect() for _ in range(3)]
            half.writer.write(GET[:-2])
            assert await heard.status(GET) == 200  # so that it waits since now
            await until(lambda: server.under_way() == 0)
            newcomer = await server.connect()
            assert await newcomer.status(GET) == 200
            assert await silent.closed()
            another = await server.connect()
            assert await another.status(GET) == 200
            assert await half.closed()
            assert await heard.status(GET) == 200

    asyncio.run(run())


def test_nobody_is_cut_off_who_is_being_answered() -> None:
    async def run() -> None:
        async with running(Limits(connections=2)) as server:
            busy = [await server.connect() for _ in range(2)]
            for wire in busy:
                wire.writer.write(HEAD)
            await until(lambda: server.under_way() == 2)
            refused = await server.connect(taken=False)
            assert await refused.status() == 503
            assert await refused.closed()
            assert await busy[0].status(b"{}") == 400  # and then waits
            await until(lambda: server.under_way() == 1)
            assert await (await server.connect()).status(GET) == 200
            assert await busy[0].closed()
            assert await busy[1].status(b"{}") == 400

    asyncio.run(run())


def test_a_first_request_must_come_soon_but_may_take_longer() -> None:
    async def run() -> None:
        loop, clock, passed = asyncio.get_running_loop(), time.monotonic, 0.0
        loop.time = lambda: clock() + passed  # type: ignore[method-assign]
        async with running(Limits(first_s=20)) as server:
            busy, silent, half = [await server.connect() for _ in range(3)]
            busy.writer.write(HEAD)
            half.writer.write(GET[:-2])
            await until(lambda: server.under_way() == 1)
            passed = 21.0
            assert await silent.closed()
            assert await half.closed()
            assert await busy.status(b"{}") == 400
            assert await busy.status(GET) == 200

    asyncio.run(run())


def test_a_body_that_is_cut_off_is_the_client_s_fault(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def run() -> str:
        async with running(Limits()) as server:
            wire = await server.connect()
            wire.writer.write(HEAD + b"{")
            await until(lambda: server.under_way() == 1)
            wire.writer.write_eof()
            await wire.reader.read()
            await until(lambda: server.served.connections.count == 0)
            return text_of(None, {None: server.served.counted()})

    assert 'route="/v1/search",status="400"} 1' in asyncio.run(run())
    here = threading.get_ident()  # what other tests left running may tell of itself
    assert [each.getMessage() for each in caplog.records if each.thread == here] == []
