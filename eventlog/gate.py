"""Who may use an environment when: many readers, one writer, and whoever needs it alone.

Growing the map, swapping the file and closing are only safe while no transaction of this process is
open (LMDB would unmap memory that a reader looks at). So every transaction passes this gate.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rewound.eventlog.errors import StoreBusy

PATIENCE_S = 30.0
"""How long a caller waits for reads to end before it gives up: reads are meant to be short."""


class Gate:
    """Counts the open transactions of one environment. Safe for any number of threads.

    A thread that already holds a transaction is never made to wait for one who waits for it.
    """

    def __init__(self) -> None:
        self._state = threading.Condition(threading.Lock())
        self._readers = 0
        self._turns: deque[object] = deque()
        self._alone = False
        self._closed = False
        self._mine = threading.local()

    def holds_read(self) -> bool:
        """True when this thread has a read open here."""
        return bool(getattr(self._mine, "reads", 0))

    def enter_read(self) -> None:
        """Raises StoreBusy when closed, or when the environment stays taken."""
        inside = getattr(self._mine, "reads", 0) or getattr(self._mine, "turn", False)
        with self._state:
            if self._alone and not inside:
                self._wait(lambda: not self._alone, "the store is being rewritten")
            self._check()
            self._readers += 1
        self._mine.reads = getattr(self._mine, "reads", 0) + 1

    def leave_read(self) -> None:
        self._mine.reads -= 1
        with self._state:
            self._readers -= 1
            if self._alone and self._readers == 0:
                self._state.notify_all()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The right to write, first come first served. Not for a thread that has it already."""
        if getattr(self._mine, "turn", False):
            raise RuntimeError("this thread is writing already: one write at a time")
        me = object()
        with self._state:
            self._turns.append(me)
            try:
                while self._turns[0] is not me:
                    self._state.wait()
                self._check()
            except BaseException:
                self._pass_on(me)
                raise
        self._mine.turn = True
        try:
            yield
        finally:
            self._mine.turn = False
            with self._state:
                self._pass_on(me)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No transaction open but the caller's own turn, which it must hold.

        New reads wait; open ones are waited for. Raises StoreBusy when one does not end.
        """
        if self.holds_read():
            raise StoreBusy("this thread has a read open in the store that it wants to change")
        with self._state:
            self._alone = True
            try:
                self._wait(lambda: self._readers == 0, "a read has been open for too long")
            except BaseException:
                self._alone = False
                self._state.notify_all()
                raise
        try:
            yield
        finally:
            with self._state:
                self._alone = False
                self._state.notify_all()

    def close(self) -> None:
        """From now on everyone is refused. To be called alone."""
        with self._state:
            self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed

    def _pass_on(self, me: object) -> None:
        self._turns.remove(me)
        self._state.notify_all()

    def _check(self) -> None:
        if self._closed:
            raise StoreBusy("the store is closed")

    def _wait(self, ready: Callable[[], bool], why: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while not ready():
            if not self._state.wait(until - time.monotonic()) and not ready():
                raise StoreBusy(f"{why}: try again")
