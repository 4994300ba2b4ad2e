"""Whoever asks something of a node, and what is said when no node was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class NotAsked(Exception):
    """No server was asked: the message says why, and holds nothing of what was to be asked."""


class NodesAway(NotAsked):
    """No server that could answer is up."""


class NodesBusy(NotAsked):
    """Too many calls wait already, or the time for waiting is over. Try after `after_s` seconds."""

    def __init__(self, message: str, after_s: int) -> None:
        super().__init__(message)
        self.after_s = after_s


class GivenUp(NotAsked):
    """Whoever asked has gone, or the dispatcher was closed."""


class Asker:
    """Whoever asks, and may go away: then its calls wait no longer."""

    def __init__(self) -> None:
        self.gone = False
        self._told: list[Callable[[], None]] = []

    def go(self) -> None:
        """From any thread."""
        self.gone = True
        for tell in list(self._told):
            tell()

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        self._told.append(tell)
        try:
            yield
        finally:
            self._told.remove(tell)


# --- what may be in vain by the time that a server is free for it

_still: ContextVar[Callable[[], bool]] = ContextVar("_still", default=lambda: True)


@contextmanager
def asking_while(still: Callable[[], bool]) -> Iterator[None]:
    """What is asked in here, in this thread, is sent only if `still` holds when a server is free
    for it: that may be long after it was read."""
    token = _still.set(still)
    try:
        yield
    finally:
        _still.reset(token)


def check_still() -> None:
    """Raises GivenUp."""
    if not _still.get()():
        raise GivenUp("what was to be asked has changed since it was read")
