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


class _Mine(threading.local):
    """What the thread that looks holds here."""

    reads = 0
    turn: object | None = None


class Gate:
    """Counts the open transactions of one environment. Safe for any number of threads.

    A thread that already holds a transaction is never made to wait for one who waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._readers = 0
        self._turns: deque[object] = deque()  # who writes, then who waits for it
        self._alone = False
        self._closed = False
        self._mine = _Mine()

    def holds_read(self) -> bool:
        """True when this thread has a read open here."""
        return self._mine.reads > 0

    def enter_read(self) -> None:
        """Raises StoreBusy when closed, or when the environment stays taken."""
        mine = self._mine
        with self._lock:
            if self._alone and not mine.reads and mine.turn is None:
                self._wait(lambda: not self._alone, "the store is being rewritten")
            self._check()
            self._readers += 1
        mine.reads += 1

    def leave_read(self) -> None:
        self._mine.reads -= 1
        with self._lock:
            self._readers -= 1
            if self._alone and self._readers == 0:
                self._changed.notify_all()

    def take_turn(self) -> None:
        """Wait for the right to write, first come first served; to be given back by `end_turn`.

        Raises StoreBusy when closed, RuntimeError when this thread has the turn already.
        """
        if self._mine.turn is not None:
            raise RuntimeError("this thread is writing already: one write at a time")
        me = object()
        with self._lock:
            self._turns.append(me)
            try:
                while self._turns[0] is not me:
                    self._changed.wait()
                self._check()
            except BaseException:
                self._pass_on(me)
                raise
        self._mine.turn = me

    def end_turn(self) -> None:
        me, self._mine.turn = self._mine.turn, None
        with self._lock:
            self._pass_on(me)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """`take_turn` for the length of a block."""
        self.take_turn()
        try:
            yield
        finally:
            self.end_turn()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No transaction open but the caller's own turn, which it must hold.

        New reads wait; open ones are waited for. Raises StoreBusy when one does not end.
        """
        if self._mine.reads:
            raise StoreBusy("this thread has a read open in the store that it wants to change")
        with self._lock:
            self._alone = True
            try:
                self._wait(lambda: self._readers == 0, "a read has been open for too long")
            except BaseException:
                self._alone = False
                self._changed.notify_all()
                raise
        try:
            yield
        finally:
            with self._lock:
                self._alone = False
                self._changed.notify_all()

    def close(self) -> None:
        """From now on everyone is refused. To be called alone."""
        with self._lock:
            self._closed = True

    @property
    def closed(self) -> bool:
        return self._closed

    def _pass_on(self, me: object) -> None:
        self._turns.remove(me)
        if self._turns:
            self._changed.notify_all()

    def _check(self) -> None:
        if self._closed:
            raise StoreBusy("the store is closed")

    def _wait(self, ready: Callable[[], bool], why: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while not ready():
            if not self._changed.wait(until - time.monotonic()) and not ready():
                raise StoreBusy(f"{why}: try again")
