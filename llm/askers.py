"""Whoever asks something of a node, and what is said when no node was asked.

Whoever asks at a door is not known to the stages in between, so it stands in the context: what is
asked in there is given up once they go.
"""

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
        self._gone = False
        self._told: list[Callable[[], None]] = []

    @property
    def gone(self) -> bool:
        return self._gone

    def go(self) -> None:
        """From any thread."""
        self._gone = True
        for tell in list(self._told):
            tell()

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """Call `tell` when it goes in here; one that has gone already does not say so again."""
        self._told.append(tell)
        try:
            yield
        finally:
            self._told.remove(tell)


class _Either(Asker):
    """Two that stand for one call: it is over when either goes."""

    def __init__(self, one: Asker, other: Asker) -> None:
        super().__init__()
        self._pair = (one, other)

    @property
    def gone(self) -> bool:
        return any(each.gone for each in self._pair)

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        one, other = self._pair
        with one.telling(tell), other.telling(tell):
            yield


def either(one: Asker, other: Asker) -> Asker:
    """Two as one, which has gone when either has."""
    return _Either(one, other)


# --- who asks in a context

_here: ContextVar[Asker | None] = ContextVar("_here", default=None)


@contextmanager
def asked_by(asker: Asker) -> Iterator[None]:
    """All that is asked of a model in here, in this context, is asked for this one."""
    token = _here.set(asker)
    try:
        yield
    finally:
        _here.reset(token)


def asker_here() -> Asker:
    """Whoever asks in this context; one that never goes when nobody said."""
    return _here.get() or Asker()


def together(asker: Asker | None) -> Asker:
    """That one and whoever asks in this context, as one."""
    here = asker_here()
    return here if asker is None else either(asker, here)


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
