"""Reader processes: more of them answer on one port, which this process alone has.

This process accepts, and gives each connection to the process that has the fewest: a socket shared
for listening would let one of them take nearly all, and one each (SO_REUSEPORT) would lose what
waits there when its process ends, and let a second server onto the port. What crosses is a file
descriptor a connection; requests go straight to the process that has it.

A reader that ends is started again, after a pause that grows while they do not last.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from rewound.http.config import Settings
from rewound.http.connect_routes import Here
from rewound.http.connections import Connections
from rewound.http.limits import Limits
from rewound.http.line import Begin, Broken, Handler, Held, Line
from rewound.http.metrics import Counted
from rewound.http.overview import Overview
from rewound.memory.models import Models

BACKLOG = 512
_PAUSE_S = (0.1, 30.0)  # before a reader is started again: at first, and at most
_LASTED_S = 60.0  # after so long the pause is short again
_FULL_S = 1.0  # so long nothing is accepted once there is no file descriptor left
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_END_S = 5.0  # how much longer a reader may take to end than the requests that it answers

_log = logging.getLogger("rewound.http")


class _Reader:
    """One reader, as long as it lives."""

    def __init__(
        self, number: int, process: asyncio.subprocess.Process, line: Line, door: socket.socket
    ) -> None:
        self.number = number
        self.process = process
        self.line = line
        self.ready = False
        self._door = door
        self._given = 0
        self._held = Held(0, 0)

    @property
    def connections(self) -> int:
        """Its open ones, and those on their way to it."""
        return self._held.opened + self._given - self._held.taken

    def give(self, connection: socket.socket) -> bool:
        """Whether it is on its way; if so, it is no longer ours."""
        try:
            socket.send_fds(self._door, [b"c"], [connection.fileno()])
        except OSError:  # it is ending, or takes nothing in
            return False
        self._given += 1
        connection.close()
        return True

    def holds(self, held: Held) -> None:
        self._held = held

    def close(self) -> None:
        """No connection will come any more, so it ends after what is under way. Idempotent."""
        self.ready = False
        self._door.close()

    def dismiss(self) -> None:
        """The same, at once when it is not ready."""
        was_ready = self.ready
        self.close()
        if not was_ready and self.process.returncode is None:
            self.process.kill()  # it has nothing yet, and would only finish starting


class Readers:
    """The readers of one server. To be used on its event loop.

    `begin` is what each is told but for its number and the beginning of its request ids.
    """

    def __init__(self, begin: Begin, count: int) -> None:
        self._begin = begin
        self._stopping = asyncio.Event()
        self._readers: dict[int, _Reader] = {}
        self._restarts = dict.fromkeys(range(1, count + 1), 0)
        self._keeping: list[asyncio.Task[None]] = []
        self._entering: set[asyncio.Task[None]] = set()
        self._listening: list[socket.socket] = []

    def start(
        self, sockets: list[socket.socket], connections: Connections, overview: Overview
    ) -> None:
        """Accept on the sockets, and start the readers. Until they are ready all is ours."""
        self._loop = asyncio.get_running_loop()
        self._connections = connections
        self._handlers = _answers(overview)
        for one in sockets:
            one.setblocking(False)
            one.listen(BACKLOG)
            self._listening.append(one)
            self._loop.add_reader(one.fileno(), self._accept, one)
        self._keeping = [self._loop.create_task(self._keep(number)) for number in self._restarts]

    async def close_door(self) -> None:
        """Accept nothing more: what was accepted is taken in, and the readers begin to end."""
        for one in self._listening:
            self._loop.remove_reader(one.fileno())
            one.close()
        self._listening = []
        self._stopping.set()
        for reader in self._readers.values():
            reader.dismiss()
        await asyncio.gather(*self._entering)

    async def ended(self) -> None:
        """Wait until the readers have ended; one that takes too long is ended by force."""
        if self._keeping:
            stop_s = self._begin.limits.stop_s + _END_S
            await asyncio.wait(self._keeping, timeout=stop_s)
            for reader in self._readers.values():
                _log.warning("reader %d did not end in time, and is killed", reader.number)
                reader.process.kill()
            await asyncio.gather(*self._keeping)

    # --- for people

    @property
    def restarts(self) -> int:
        """How often a reader was started again."""
        return sum(self._restarts.values())

    def seen(self) -> list[dict[str, Any]]:
        """Each process: its number (0 is this one), process id, state, connections, and how often
        it was started again."""
        mine: dict[str, Any] = {
            "worker": 0, "pid": os.getpid(), "state": "ready",
            "connections": self._connections.count, "restarts": 0,
        }  # fmt: skip
        found = [mine]
        for number, restarts in self._restarts.items():
            reader = self._readers.get(number)
            found.append({
                "worker": number,
                "pid": None if reader is None else reader.process.pid,
                "state": "ready" if reader is not None and reader.ready else "starting",
                "connections": 0 if reader is None else reader.connections,
                "restarts": restarts,
            })  # fmt: skip
        return found

    async def counted(self) -> Mapping[int | None, Counted]:
        """What the readers that answer have counted, by their number."""

        async def ask(number: int, reader: _Reader) -> None:
            with suppress(Broken):  # it has no figures, then
                found[number] = await reader.line.ask("counted", None, Counted)

        found: dict[int | None, Counted] = {}
        ready = [(n, reader) for n, reader in sorted(self._readers.items()) if reader.ready]
        await asyncio.gather(*(ask(number, reader) for number, reader in ready))
        return found

    # --- connections

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(BACKLOG):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                _log.warning("no connection can be taken for now: %s", error.strerror)
                self._loop.remove_reader(listening.fileno())
                self._loop.call_later(_FULL_S, self._accept_again, listening)
                return
            connection.setblocking(False)
            self._hand_out(connection)

    def _accept_again(self, listening: socket.socket) -> None:
        if listening in self._listening:
            self._loop.add_reader(listening.fileno(), self._accept, listening)

    def _hand_out(self, connection: socket.socket) -> None:
        """To the process that has the fewest; rather to a reader, since this one writes too."""
        ready = [reader for reader in self._readers.values() if reader.ready]
        mine = self._connections.count + len(self._entering)
        for reader in sorted(ready, key=lambda each: each.connections):
            if reader.connections <= mine and reader.give(connection):
                return
        task = self._loop.create_task(self._enter(connection))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _enter(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._connections.admit, connection)
        except OSError as error:
            _log.debug("a connection had ended: %s", error)
            connection.close()

    # --- life

    async def _keep(self, number: int) -> None:
        """Have a reader with that number, until all are to stop."""
        pause_s = _PAUSE_S[0]
        while not self._stopping.is_set():
            begun = time.monotonic()
            how = await self._live(number)
            if self._stopping.is_set():
                return
            if time.monotonic() - begun > _LASTED_S:
                pause_s = _PAUSE_S[0]
            _log.warning("reader %d ended (%s) and is started again in %g s", number, how, pause_s)
            self._restarts[number] += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)
            pause_s = min(pause_s * 2, _PAUSE_S[1])

    async def _live(self, number: int) -> str:
        """The life of one reader; how it ended."""
        try:
            reader = await self._started(number)
        except OSError as error:
            return f"it could not be started: {error.strerror}"
        self._readers[number] = reader
        if self._stopping.is_set():
            reader.dismiss()

        async def ready(body: bytes) -> None:
            reader.ready = not self._stopping.is_set()
            _log.info("reader %d answers, in process %d", number, reader.process.pid)

        async def held(body: bytes) -> None:
            reader.holds(msgspec.json.decode(body, type=Held))

        try:
            await reader.line.listen({**self._handlers, "ready": ready, "held": held})
        finally:
            del self._readers[number]
            reader.close()
            reader.line.close()
            status = await self._ended(reader.process)
        return f"status {status}" if status >= 0 else f"signal {-status}"

    async def _started(self, number: int) -> _Reader:
        door, its_door = socket.socketpair()
        line_end, its_line = socket.socketpair()
        try:
            passed = (its_door.fileno(), its_line.fileno())
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "rewound.http.reader_process", *map(str, passed),
                pass_fds=passed, stdin=asyncio.subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is for us; a reader ends after what is under way there
            )  # fmt: skip
        except BaseException:
            door.close()
            line_end.close()
            raise
        finally:
            its_door.close()
            its_line.close()
        door.setblocking(False)
        line = await Line.over(line_end)
        prefix = f"{self._begin.id_prefix}.{number}.{self._restarts[number]}"
        line.note("begin", msgspec.structs.replace(self._begin, number=number, id_prefix=prefix))
        return _Reader(number, process, line, door)

    async def _ended(self, process: asyncio.subprocess.Process) -> int:
        """The exit status of a reader that has closed its line, or is to end."""
        try:
            return await asyncio.wait_for(process.wait(), _END_S)
        except TimeoutError:
            process.kill()
            return await process.wait()


def readers_for(
    settings: Settings, models: Models, limits: Limits, *, id_prefix: str, here: Here
) -> Readers | None:
    """The readers that a server is to have by its settings."""
    if settings.workers == 1:
        return None
    begin = Begin(
        number=0, id_prefix=id_prefix, data=settings.data, models=models, limits=limits,
        host=settings.host, allowed_hosts=settings.allowed_hosts, api_key=settings.api_key,
        here=here,
    )  # fmt: skip
    return Readers(begin, settings.workers - 1)


def _answers(overview: Overview) -> dict[str, Handler]:
    """What readers ask this process for those who asked them."""

    async def health(body: bytes) -> object:
        return await overview.health(told=msgspec.json.decode(body, type=bool))

    async def metrics(body: bytes) -> object:
        return await overview.metrics()

    return {"health": health, "metrics": metrics}
