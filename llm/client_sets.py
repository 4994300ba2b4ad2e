"""Clients of nodes: what speaks to each endpoint, made when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from rewound.llm.askers import GivenUp
from rewound.llm.nodes import Endpoint

C = TypeVar("C")


class Clients(Generic[C]):
    """What speaks to each server, made when it is first needed. `close` breaks one's calls off."""

    def __init__(
        self, make: Callable[[Endpoint], C], close: Callable[[C], object] = lambda client: None
    ) -> None:
        self._make = make
        self._close = close
        self._closed = False
        self._made: dict[str, tuple[Endpoint, C]] = {}
        self._lock = threading.Lock()

    def of(self, server: Endpoint) -> C:
        """Raises GivenUp once all were closed."""
        with self._lock:
            if self._closed:
                raise GivenUp("nobody is asked any more")
            found = self._made.get(server.id)
            if found is None or found[0] is not server:
                found = self._made[server.id] = (server, self._make(server))
            return found[1]

    def make_ready(self, servers: Iterable[Endpoint]) -> None:
        """Make those that are missing, before any of them is waited for: a first one loads what
        speaks HTTP, which is not to be done in a server's slot. Raises GivenUp."""
        for server in servers:
            self.of(server)

    def drop(self, server: Endpoint) -> None:
        """Break off what runs there; whatever comes next gets a fresh one."""
        with self._lock:
            found = self._made.get(server.id)
            if found is None or found[0] is not server:
                return
            del self._made[server.id]
        self._close(found[1])

    def close(self) -> None:
        with self._lock:
            made, self._made, self._closed = self._made, {}, True
        for _, client in made.values():
            self._close(client)
