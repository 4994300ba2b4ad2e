"""A reader: a process that answers on the port of another, started by that one (`readers.py`).

It is given connections, never the port: so none is lost when it dies, and it holds nothing when the
one that has the port does. It reads the store's files itself and passes all else to the owner of
the store. It ends when no more connections can come, after what is under way.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from contextlib import suppress

import msgspec
from aiohttp import web

from rewound.http.app import SERVED, Served, application
from rewound.http.gatekeeping import doorstep
from rewound.http.health import Health
from rewound.http.line import Begin, Broken, Held, Line
from rewound.http.logs import log_to_stderr
from rewound.http.problems import Problem
from rewound.memory.looking_on import LookingOn

SWITCH_S = 0.0005
"""How long a thread may go on while others wait to, as in the process that has the port."""

_ORPHAN_S = 2.0
"""How long what is under way may still take once the process that has the port is gone."""

_AT_ONCE = 64  # connections taken in before others get their turn

_log = logging.getLogger("rewound.http")


class Relayed:
    """The overview in a reader: that of the process that has the port."""

    def __init__(self, line: Line) -> None:
        self._line = line

    async def health(self, *, told: bool) -> Health:
        try:
            return await self._line.ask("health", told, Health)
        except Broken:
            return Health(status="failing")

    async def metrics(self) -> str:
        try:
            return await self._line.ask("metrics", None, str)
        except Broken as error:
            raise Problem("store_busy", f"the figures are not to be had: {error}") from None


class Door:
    """Where connections come in: taken in on the event loop, until no more can come."""

    def __init__(self, sock: socket.socket, served: Served, line: Line) -> None:
        self.closed = asyncio.Event()
        self._sock = sock
        self._served = served
        self._line = line
        self._loop = asyncio.get_running_loop()
        self._taken = 0
        self._told: Held | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        served.connections.left = lambda: self._loop.call_soon(self._tell)
        sock.setblocking(False)
        self._loop.add_reader(sock.fileno(), self._look)

    def _look(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                data, fds, _, _ = socket.recv_fds(self._sock, 1, 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data, fds = b"", []
            if not data:
                self._loop.remove_reader(self._sock.fileno())
                self._sock.close()
                self.closed.set()
                return
            for fd in fds:
                task = self._loop.create_task(self._take(socket.socket(fileno=fd)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            if not fds:  # we have no file descriptor left, and it was closed on its way
                self._taken += 1
                self._tell()

    async def _take(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._served.connections.admit, sock)
        except OSError as error:
            _log.debug("a connection had ended: %s", error)
            sock.close()
        self._taken += 1
        self._tell()

    def _tell(self) -> None:
        held = Held(self._taken, self._served.connections.count)
        if held != self._told:
            self._told = held
            self._line.note("held", held)

    async def settle(self) -> None:
        """Wait until all that came in is taken in."""
        await asyncio.gather(*self._tasks)


def main() -> None:
    """`python -m rewound.http.reader_process DOOR LINE`: two sockets that were inherited."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who sends them to all of us ends the one we serve
    door, line = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:3])
    with suppress(Broken):  # whoever started us is gone already
        asyncio.run(_run(door, line))


async def _run(door_end: socket.socket, line_end: socket.socket) -> None:
    line = await Line.over(line_end)
    begin = await line.first(Begin)
    log_to_stderr(f"%(levelname)s reader {begin.number}: %(message)s", level=logging.INFO)
    sys.setswitchinterval(SWITCH_S)
    link = LookingOn(begin.data, models=begin.models)
    await asyncio.to_thread(link.look_on)
    app = application(
        link,
        doorstep(begin.host, begin.allowed_hosts, begin.api_key),
        begin.limits,
        id_prefix=begin.id_prefix,
        here=begin.here,
        overview=Relayed(line),
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=begin.limits.stop_s)
    await runner.setup()
    served = app[SERVED]
    served.connections.server = runner.server
    door = Door(door_end, served, line)
    listening = asyncio.create_task(_until_orphaned(line, served, link))
    line.note("ready", os.getpid())
    try:
        await door.closed.wait()
        await door.settle()
    finally:
        await runner.cleanup()
        await asyncio.to_thread(served.desk.close)
        listening.cancel()
        line.close()


async def _until_orphaned(line: Line, served: Served, link: LookingOn) -> None:
    async def counted(body: bytes) -> object:
        return msgspec.structs.replace(served.counted(), nodes=link.nodes())

    await line.listen({"counted": counted})
    asyncio.get_running_loop().call_later(_ORPHAN_S, os._exit, 1)


if __name__ == "__main__":
    main()
