"""The bounded queue before the writer thread, which takes all that waits at once."""

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from rewound.eventlog.errors import StoreBusy

T = TypeVar("T")


class Closed(StoreBusy):
    """The engine takes nothing more: it is closed, or its store was handed over."""


class Inbox(Generic[T]):
    """Many threads put, one takes. Putting waits while it is full, for a bounded time."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._entries: deque[T] = deque()
        self._state = threading.Condition(threading.Lock())
        self._closed = False

    def put(self, entry: T, timeout_s: float) -> None:
        """Raises Closed, or StoreBusy when there is no room for that long."""
        self.put_all((entry,), timeout_s)

    def put_all(self, entries: Iterable[T], timeout_s: float) -> None:
        """The same for several, which are taken together: all of them, once there is any room."""
        until = time.monotonic() + timeout_s
        with self._state:
            while len(self._entries) >= self._size_max and not self._closed:
                if not self._state.wait(until - time.monotonic()):
                    raise StoreBusy(
                        f"{self._size_max} writes are waiting already: try again in a moment"
                    )
            if self._closed:
                raise Closed("the store is closed")
            self._entries.extend(entries)
            self._state.notify_all()

    def take(self, count_max: int, timeout_s: float | None) -> list[T] | None:
        """What waits, up to `count_max`; empty after the timeout; None once closed and empty."""
        with self._state:
            if not self._entries and not self._closed:
                self._state.wait_for(lambda: self._entries or self._closed, timeout_s)
            if not self._entries:
                return None if self._closed else []
            taken = [self._entries.popleft() for _ in range(min(count_max, len(self._entries)))]
            self._state.notify_all()
            return taken

    def close(self) -> None:
        """Let nothing more in; what is in can still be taken."""
        with self._state:
            self._closed = True
            self._state.notify_all()
