"""The desk between the event loop and the store: nothing on the loop waits for the store.

Reads run in threads and come back as bytes, encoded there. A small write goes to the store's writer
without a thread; a large one, whose checking alone takes a while, in a thread. Both are bounded:
what does not fit is refused at once with 503, rather than kept waiting in growing memory.

A read that waits for a position (`at_least`) may hold its thread for long, so such reads get half
of the threads and half of the waiting room: the others always find a thread. Health has its own,
and so have questions that are to be answered, for a model may take long.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar

import msgspec

from rewound.http.limits import Limits
from rewound.http.problems import Problem
from rewound.memory import requests as q
from rewound.memory.hearing import Asker, Listener, asked_by, heard_by
from rewound.memory.replies import Reply

LARGE_BYTES = 16 * 1024
"""Bodies over this are decoded in a thread: what is decoded on the loop takes no millisecond."""

_MANY = 32
"""A command or a reply with more items than this is checked, or encoded, in a thread."""

_STORE_THREADS = 4  # for verify, rebuild, replay: reads shall not wait for those

encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode

T = TypeVar("T")


def is_patient(request: q.Request) -> bool:
    """Whether the answer may have to wait until the views have reached a position."""
    return bool(getattr(request, "at_least", None))


class Link(Protocol):
    """A store, in this process or behind a socket (`rewound.memory.link`)."""

    @property
    def owns(self) -> bool: ...

    def call(self, request: q.Request) -> Reply: ...

    def submit(self, request: q.Write) -> Future[Reply]: ...

    def close(self) -> None: ...


class Desk:
    """Takes requests on the loop's thread and has them answered elsewhere."""

    def __init__(self, link: Link, limits: Limits) -> None:
        self.link = link
        self._limits = limits
        threads = 2 * (os.cpu_count() or 1) + 4
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="rewound-http")
        self._store_threads = ThreadPoolExecutor(_STORE_THREADS, thread_name_prefix="rewound-store")
        self._answer_threads = ThreadPoolExecutor(
            limits.answers_at_once, thread_name_prefix="rewound-answer"
        )
        self._health_thread = ThreadPoolExecutor(1, thread_name_prefix="rewound-health")
        self._reads_max = threads + limits.reads_waiting
        self._turns = asyncio.Semaphore(threads // 2)
        self._bridge = Bridge(asyncio.get_running_loop())
        self._patient = 0  # of the reads
        self._answers = 0
        self.reads = 0
        self.writes = 0

    async def run(self, work: Callable[[], T], *, patient: bool = False) -> T:
        """Run something that reads, in a thread. `patient` is work that may wait for a position.

        Raises Problem when too many wait already, or when patient work does not get its turn.
        """
        if self.reads >= self._reads_max:
            raise _busy(self.reads, "reads")
        if patient and self._patient >= self._reads_max // 2:
            raise _busy(self._patient, "reads with at_least")
        self.reads += 1
        self._patient += patient
        try:
            if patient:
                return await self._in_turn(work)
            return await self._bridge.result_of(self._threads.submit(work))
        finally:
            self.reads -= 1
            self._patient -= patient

    async def _in_turn(self, work: Callable[[], T]) -> T:
        try:
            async with asyncio.timeout(self._limits.turn_s):
                await self._turns.acquire()
        except TimeoutError:
            raise _busy(self._patient, "reads with at_least") from None
        try:
            return await self._bridge.result_of(self._threads.submit(work))
        finally:
            self._turns.release()

    def look(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Begin a look at the store's health, in the thread that does nothing else."""
        return self._bridge.result_of(self._health_thread.submit(work))

    async def read(self, request: q.Request, asker: Asker | None = None) -> bytes:
        """The reply to a question, as JSON. What it asks of models is given up once `asker`
        goes."""

        def work() -> bytes:
            with nullcontext() if asker is None else asked_by(asker):
                return encode(self.link.call(request))

        return await self.run(work, patient=is_patient(request))

    async def answer(self, request: q.Inquire, asker: Asker, hear: Listener | None = None) -> Reply:
        """The answer to a question; `hear` is told of its parts, in another thread. A model's work
        on it ends once `asker` goes."""
        if self._answers >= self._limits.answers_at_once + self._limits.answers_waiting:
            raise _busy(self._answers, "questions")

        def work() -> Reply:
            if asker.gone:
                raise Problem("store_busy", "whoever asked this has gone")
            with asked_by(asker), nullcontext() if hear is None else heard_by(hear):
                return self.link.call(request)

        self._answers += 1
        try:
            return await self._bridge.result_of(self._answer_threads.submit(work))
        finally:
            self._answers -= 1

    async def store(self, request: q.Request) -> bytes:
        """The reply to a request about the whole store, which may take long."""
        work = self._store_threads.submit(lambda: encode(self.link.call(request)))
        return await self._bridge.result_of(work)

    async def write(self, request: q.Write, *, large: bool = False) -> Reply:
        """The reply to a command. It is done even if nobody waits for it any more.

        A `large` one, or one of many items, is checked in a thread; so is one that has to ask a
        model what it means.
        """
        if self.writes >= self._limits.writes_waiting:
            raise _busy(self.writes, "writes")
        self.writes += 1
        try:
            if large or _is_long(request) or _asks_a_model(request):
                work = await self.run(lambda: self.link.submit(request))
            else:
                work = self.link.submit(request)
            return await self._bridge.result_of(work)
        finally:
            self.writes -= 1

    async def ask(self, request: q.Request) -> Reply:
        """The reply to any request."""
        if isinstance(request, q.Write):
            return await self.write(request)
        return await self.run(lambda: self.link.call(request), patient=is_patient(request))

    async def encoded(self, reply: Reply) -> bytes:
        """A reply as JSON, in a thread when it is a long one."""
        return encode(reply) if not _is_long(reply) else await self.run(lambda: encode(reply))

    def close(self) -> None:
        """Finish what is under way, then let go of the store. Blocks."""
        self._threads.shutdown()
        self._answer_threads.shutdown()
        self._store_threads.shutdown()
        self._health_thread.shutdown()
        self.link.close()


class Bridge:
    """Brings results of other threads to the loop: one wake-up for all that came together.

    The writer answers a whole group of commands at once, and waking a loop costs a system call.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._arrived: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._woken = False
        self._lock = threading.Lock()

    def result_of(self, work: Future[T]) -> asyncio.Future[T]:
        """Awaitable on the loop. Cancelling it leaves the work alone."""
        waiting: asyncio.Future[T] = self._loop.create_future()
        work.add_done_callback(lambda done: self._arrive(waiting, done))
        return waiting

    def _arrive(self, waiting: asyncio.Future[Any], done: Future[Any]) -> None:
        self._arrived.append((waiting, done))
        with self._lock:
            if self._woken:
                return
            self._woken = True
        if not self._loop.is_closed():  # else the server has ended, and nobody listens
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            self._woken = False
        while self._arrived:
            waiting, done = self._arrived.popleft()
            if waiting.done():
                continue  # whoever waited has been cancelled
            error = done.exception()
            if error is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(done.result())


def _busy(count: int, what: str) -> Problem:
    return Problem("store_busy", f"{count:,} {what} are waiting already: try again in a moment")


def _asks_a_model(request: q.Write) -> bool:
    """Whether a command waits for the embedder before it is queued."""
    return isinstance(request, q.Forget) and request.similar is not None


def _is_long(asked: q.Request | Reply) -> bool:
    """Whether checking a command, or encoding a reply, may take long, told by its lists."""
    parts = (getattr(asked, name) for name in asked.__struct_fields__)
    return any(isinstance(part, tuple) and len(part) > _MANY for part in parts)
