"""Running the server: listen, answer, and stop so that nothing under way is lost.

The port is bound before the store is asked for, so that a port in use costs nobody the store; the
store is owned before the first connection is taken.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from aiohttp import web

from rewound.http.app import OVERVIEW, SERVED, application
from rewound.http.asking import Link
from rewound.http.connect_routes import Here
from rewound.http.gatekeeping import Doorstep
from rewound.http.limits import Limits, let_go_of_the_unread
from rewound.http.readers import BACKLOG, Readers

_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger("rewound.http")


class Address(NamedTuple):
    """Where a server can be reached."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def bound(host: str, port: int, limits: Limits) -> list[socket.socket]:
    """Sockets on that address, one for each family that a name has; port 0 takes a free one.

    Raises OSError when the address is not ours or the port is taken.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            sockets.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            chosen = sockets[0].getsockname()[1] if port == 0 and len(sockets) > 1 else address[1]
            one.bind((address[0], chosen, *address[2:]))
            let_go_of_the_unread(one, limits)
    except BaseException:
        for one in sockets:
            one.close()
        raise
    return sockets


def address_of(sockets: list[socket.socket], host: str) -> Address:
    """The address to tell people: the name they gave, with the port that was taken."""
    return Address(host.strip("[]"), sockets[0].getsockname()[1])


async def serve(
    link: Link,
    sockets: list[socket.socket],
    door: Doorstep,
    limits: Limits,
    *,
    id_prefix: str,
    here: Here | None = None,
    readers: Readers | None = None,
    answering: Callable[[], None],
) -> None:
    """Answer until SIGTERM or SIGINT; then finish what is under way and close the link.

    `readers` are to answer beside this process. `answering` is called once connections are taken.
    A second signal ends the process at once.
    """
    stop = asyncio.Event()
    with _signals(stop):
        app = application(link, door, limits, id_prefix=id_prefix, here=here, team=readers)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=limits.stop_s)
        await runner.setup()
        served = app[SERVED]
        served.connections.server = runner.server
        servers: list[asyncio.Server] = []
        try:
            loop = asyncio.get_running_loop()
            if readers is not None:
                readers.start(sockets, served.connections, app[OVERVIEW])
            for one in sockets if readers is None else ():
                admit = served.connections.admit
                servers.append(await loop.create_server(admit, sock=one, backlog=BACKLOG))
            answering()
            await stop.wait()
        finally:
            for server in servers:
                server.close()
            if readers is not None:
                await readers.close_door()
            await runner.cleanup()
            if readers is not None:
                await readers.ended()
            await asyncio.to_thread(served.desk.close)


@contextmanager
def _signals(stop: asyncio.Event) -> Iterator[None]:
    """The first signal sets the event; after it they do again what they did before."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        stop.set()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    for number in _SIGNALS:
        loop.add_signal_handler(number, first)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
