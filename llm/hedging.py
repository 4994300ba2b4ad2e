"""A second try beside a slow first one: whichever answers first is taken."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

_LOOK_S = 0.02
"""How often it is looked whether the second may begin, at most."""


def hedged(
    first: Callable[[], T], second: Callable[[], T], after_s: float, may: Callable[[], bool]
) -> T:
    """What `first` gives, or `second`, which is begun after so many seconds without an answer, as
    soon as it `may` be.

    Each runs in a thread of its own, in the context of the caller; the one that comes later is left
    to whoever called. When both fail, raises what came first.
    """
    done: queue.SimpleQueue[tuple[bool, T | BaseException]] = queue.SimpleQueue()

    def run(call: Callable[[], T]) -> None:
        try:
            done.put((True, call()))
        except BaseException as error:  # it belongs to whoever waits
            done.put((False, error))

    def begin(call: Callable[[], T]) -> None:
        within = copy_context()
        threading.Thread(
            target=within.run, args=(run, call), name="rewound-hedge", daemon=True
        ).start()

    begin(first)
    running = 1
    failed: BaseException | None = None
    wait_s = after_s
    while running == 1:
        try:
            well, result = done.get(timeout=wait_s)
            break
        except queue.Empty:
            wait_s = max(after_s, _LOOK_S)
            if may():
                begin(second)
                running += 1
    else:
        well, result = done.get()
    while True:
        running -= 1
        if well:
            return result  # type: ignore[return-value]
        assert isinstance(result, BaseException), "what is not well is an error"
        failed = failed or result
        if not running:
            raise failed
        well, result = done.get()
