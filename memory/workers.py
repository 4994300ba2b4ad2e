"""The workers: threads that do, in small steps, what a store owes to what it has taken in.

A duty knows what is pending and does a bounded part of it in each step. Each has a thread of its
own, so that none waits for another's model; those that ask no model elsewhere share one, which asks
one after the other: what is done in this process keeps one core from people at most. A thread
sleeps when there is nothing to do, and ends within one step when the store is closed. What is
pending is derived from the log, so a step that never came to its end is begun anew.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from rewound.eventlog.errors import RewoundError
from rewound.eventlog.failpoints import Crash
from rewound.eventlog.log import Recorded
from rewound.memory.inbox import Closed

if TYPE_CHECKING:
    from rewound.memory.engine import Engine

LOOK_S = 0.5
"""How soon after opening it is looked what an earlier process left: a short command never does."""

SOON_S = 0.5
"""Who waits for the workers waits for a step put off for so long, to let others go first."""

END_S = 2.0
"""How long closing waits for a step that may be long, as one that asks a model elsewhere: after
that its thread is left alone, and what it finds is refused by the closed store."""

SHORT_END_S = 20.0
"""And for one that always ends soon by itself. A native library that still runs while the process
ends would bring that down; but nothing may keep a store from being closed."""

_RETRY_S = (1.0, 300.0)  # between two tries of a duty that fails: at first, and at most

_NICE = 10

_log = logging.getLogger(__name__)


class Duty(Protocol):
    """Work that follows from what is recorded."""

    @property
    def name(self) -> str: ...

    @property
    def short(self) -> bool:
        """Whether a step always ends soon by itself: then closing waits longer for it."""
        ...

    def step(self) -> float | None:
        """Do a bounded part. How many seconds until the next one: 0 when there is more to do, None
        when there is nothing until something is recorded."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A duty that may be waiting for a model elsewhere."""

    def close(self) -> None:
        """End the call that is under way, from another thread; there will be no further step."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """A duty that knows which events bring it work. Any other one is called after each commit."""

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        """Whether these may. Called by the writer's thread: be quick."""
        ...


class _Desk:
    """A duty and when it is its turn. `due` is monotonic seconds, None for not until noticed."""

    def __init__(self, duty: Duty, due: float) -> None:
        self.duty = duty
        self.due: float | None = due
        self.served = 0.0
        self.busy = False
        self.called = False
        """Whether something was noticed while it was busy."""
        self.failures = 0
        self._notice = duty.notice if isinstance(duty, Choosy) else None

    def wants(self, recorded: Sequence[Recorded]) -> bool:
        return self._notice is None or self._notice(recorded)

    def idle(self, now: float) -> bool:
        return not self.busy and (self.due is None or self.due > now)


class _Crew:
    """Duties that are done one after the other, and the thread that does them once it is begun."""

    def __init__(self, desks: Sequence[_Desk]) -> None:
        self.desks = desks
        self.thread: threading.Thread | None = None

    def join(self, until: float) -> None:
        """Wait for its end, to a time in monotonic seconds."""
        if self.thread is not None:
            self.thread.join(max(0.0, until - time.monotonic()))


class Workers:
    """The duties of one open store and the threads that do them."""

    def __init__(
        self,
        engine: Engine,
        duties: Sequence[Duty],
        *,
        together: Collection[Duty] = (),
        paused: bool = False,
        keep: Callable[[bool], None] = lambda paused: None,
    ) -> None:
        """The duties `together` share one thread: those that never wait for a model elsewhere.

        `keep` is called with what was decided about pausing, to outlast a restart.
        """
        self._engine = engine
        self._paused = paused
        self._keep = keep
        self._stopping = False
        self._crash: BaseException | None = None
        self._state = threading.Condition(threading.Lock())
        first = time.monotonic() + LOOK_S
        self._desks = [_Desk(duty, first) for duty in duties]
        shared = [desk for desk in self._desks if desk.duty in together]
        others = [[desk] for desk in self._desks if desk.duty not in together]
        self._crews = [_Crew(desks) for desks in (shared, *others) if desks]
        self._waiting = 0
        """How many wait until there is nothing to do."""
        if self._desks:
            engine.on_commit(self._notice)
            if not paused:
                with self._state:
                    self._start()

    # --- what others ask for

    @property
    def paused(self) -> bool:
        return self._paused

    @property
    def awaited(self) -> bool:
        """Somebody waits for the work: it is not to wait for a pause in what people ask."""
        return self._waiting > 0

    @property
    def off(self) -> bool:
        """There is no duty at all."""
        return not self._desks

    @property
    def state(self) -> Literal["running", "paused", "off"]:
        if self.off:
            return "off"
        return "paused" if self._paused else "running"

    def pause(self) -> None:
        """Begin no further step, not after a restart either, until `resume`."""
        self._keep(True)
        with self._state:
            self._paused = True
            self._state.notify_all()

    def resume(self) -> None:
        """Go on, with all there is."""
        self._keep(False)
        with self._state:
            self._paused = False
            self._wake(self._desks)

    def run_until_idle(
        self, timeout_s: float | None = None, only: Collection[str] | None = None
    ) -> bool:
        """Wait until there is nothing to do for now, in certain duties when they are named.

        False when that does not come: the time is over, they are paused, the store closes, or a
        step has failed. Work that is to be tried again at a later time is not waited for.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self._state:
            desks = [desk for desk in self._desks if only is None or desk.duty.name in only]
            if not self._paused:
                self._wake(desks)
            self._waiting += 1
            try:
                return self._wait_until_idle(desks, until)
            finally:
                self._waiting -= 1

    def _wait_until_idle(self, desks: Sequence[_Desk], until: float | None) -> bool:
        while True:
            if self._crash is not None:
                raise self._crash
            now = time.monotonic()
            if self._stopping or (self._paused and desks):
                return False
            if desks and not any(crew.thread for crew in self._crews):
                return False  # nothing can be written
            if all(desk.idle(now + SOON_S) for desk in desks):
                return not any(desk.failures for desk in desks)
            left = None if until is None else until - now
            if left is not None and left <= 0:
                return False
            self._state.wait(left)

    def wake(self) -> None:
        """Let every duty look for work: something may have come that no event tells of."""
        with self._state:
            self._wake(self._desks)

    def call(self, duty: Duty) -> None:
        """Let one duty go on: what it waited for is there."""
        with self._state:
            for desk in self._desks:
                if desk.duty is duty:
                    desk.called = True
                    if not desk.failures:
                        desk.due = time.monotonic()
            self._state.notify_all()

    def hurry(self) -> None:
        """Begin no further step: the store is soon to be closed. Does not wait."""
        with self._state:
            self._stopping = True
            self._state.notify_all()

    def stop(self) -> None:
        """End the threads. What they have not done is found pending by the next owner."""
        self._engine.hurry()
        self.hurry()
        for desk in self._desks:
            if isinstance(desk.duty, Closing):
                desk.duty.close()
        until = time.monotonic() + END_S
        others = [c for c in self._crews if c.thread is not threading.current_thread()]
        for crew in others:
            crew.join(until)
        for crew in others:
            if any(desk.busy and desk.duty.short for desk in crew.desks):
                crew.join(until + SHORT_END_S)

    # --- noticing

    def _notice(self, recorded: Sequence[Recorded]) -> None:
        """Called after each commit, before its senders are: so that these can wait for us then."""
        called = [desk for desk in self._desks if desk.wants(recorded)]
        if not called:
            return
        with self._state:
            now = time.monotonic()
            for desk in called:
                desk.called = True
                if not desk.failures:  # else it is tried again in its time, however much comes
                    desk.due = now
            self._start()
            self._state.notify_all()

    def _wake(self, desks: Sequence[_Desk]) -> None:
        now = time.monotonic()
        for desk in desks:
            desk.due, desk.failures, desk.called = now, 0, True
        self._start()
        self._state.notify_all()

    def _start(self) -> None:
        if self._engine.readonly_reason is not None or self._stopping:
            return
        for crew in self._crews:
            if crew.thread is None:
                crew.thread = threading.Thread(
                    target=self._run, args=(crew,), name="rewound-worker", daemon=True
                )
                crew.thread.start()

    # --- the threads

    def _run(self, crew: _Crew) -> None:
        _yield_to_others()
        try:
            while (desk := self._next(crew)) is not None:
                self._serve(desk)
        except Closed:
            self.hurry()  # the store went before we were told
        except BaseException as crash:
            # A simulated crash, or a mistake of ours: nobody may be left waiting for ever.
            with self._state:
                self._crash = self._crash or crash
                self._state.notify_all()
            if not isinstance(crash, Crash):
                _log.critical("a working thread ended: %s", _where(crash))

    def _next(self, crew: _Crew) -> _Desk | None:
        """The duty whose turn it is, the one served longest ago first; None at the end."""
        with self._state:
            while not self._stopping:
                now = time.monotonic()
                due = [desk for desk in crew.desks if not desk.idle(now)]
                if due and not self._paused:
                    desk = min(due, key=lambda desk: desk.served)
                    desk.served, desk.busy, desk.called = now, True, False
                    return desk
                times = [desk.due for desk in crew.desks if desk.due is not None]
                wait_s = min(times) - now if times and not self._paused else None
                self._state.wait(wait_s)
        return None

    def _serve(self, desk: _Desk) -> None:
        rest: float | None = None
        failed = False
        try:
            rest = desk.duty.step()
        except Closed:
            raise
        except Exception as error:
            failed = True
            rest = min(_RETRY_S[0] * 2**desk.failures, _RETRY_S[1])
            _log.warning(
                "%s failed (%s) and is tried again in %g s", desk.duty.name, _where(error), rest
            )
        with self._state:
            now = time.monotonic()
            desk.busy = False
            desk.failures = desk.failures + 1 if failed else 0
            if desk.called and not failed:
                rest = 0.0
            desk.due = None if rest is None else now + rest
            self._state.notify_all()


def _yield_to_others() -> None:
    """Let the threads that people wait for go first, where a thread has a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):  # refused: then all are equal
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _where(error: BaseException) -> str:
    """What went wrong, without a word that might come from somebody's memory."""
    kind = error.code if isinstance(error, RewoundError) else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    return f"{kind} in {frames[-1].filename}:{frames[-1].lineno}" if frames else kind
