"""Runs of native libraries in this process, which have to end before the process does.

A thread that is still inside of such a library while Python ends brings the process down: the
library is taken apart around it, or Python ends the thread in the midst of C++ that does not bear
it. So a process that is about to end waits for the runs under way, and begins no other.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SETTLE_S = 30.0
"""How long the end waits at most. One run takes milliseconds, on a machine with much else to do a
second; what hangs in a library for ever may not keep a process for ever."""


class Runs:
    """Which runs are under way. Safe for any number of threads."""

    def __init__(self) -> None:
        self._closers: list[Callable[[], object]] = []
        self._registered = False
        self._begin()

    def _begin(self) -> None:
        self._state = threading.Condition(threading.Lock())
        self._under_way = 0
        self._over = False

    def begin_in_child(self) -> None:
        """In a forked child: the threads that were inside are its parent's."""
        self._begin()

    def closed_by(self, closer: Callable[[], object]) -> None:
        """Call it at the end, before anything is waited for: it ends what begins runs."""
        self._closers.append(closer)

    def settle_at_exit(self) -> None:
        """To be called once a library was imported: what it does at the end itself, as taking its
        own surroundings away, was registered by then, and so comes after."""
        if not self._registered:
            self._registered = True
            atexit.register(self.settle)

    @contextmanager
    def one(self) -> Iterator[None]:
        """A run. Once the process is ending, this never returns: there is nobody left for whom it
        could, and an error would be told on the way out as if something had failed."""
        with self._state:
            while self._over:
                self._state.wait()
            self._under_way += 1
        try:
            yield
        finally:
            with self._state:
                self._under_way -= 1
                self._state.notify_all()

    def settle(self, timeout_s: float = SETTLE_S) -> bool:
        """Let no further run begin, and wait for those under way; whether all have ended."""
        for close in self._closers:
            close()
        with self._state:
            self._over = True
            return self._state.wait_for(lambda: not self._under_way, timeout_s)


RUNS = Runs()
"""Those of this process."""

os.register_at_fork(after_in_child=RUNS.begin_in_child)
