"""The library: `Memory` for programs, `AsyncMemory` for programs with an event loop.

    from rewound.memory import Memory

    with Memory("~/notes", container="nina") as memory:
        written = memory.remember("Nina works at Orbit Labs.", said_at="2026-03-01")
        memory.search("where does Nina work").hits[0].text
        memory.undo(written.items[0].event)

A store has one owner at a time; any number of programs may use it at once, and none has to know
which of them that is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from rewound.eventlog.clock import Clock
from rewound.eventlog.ids import IdSource
from rewound.memory.conversions import As_of
from rewound.memory.handle import Memory
from rewound.memory.models import Models
from rewound.memory.reading import Inquiring, Moment, Reading, ScopeLike
from rewound.memory.replies import Responded, ToldPart
from rewound.memory.streaming import awaited, parts_awaited

__all__ = ["AsyncMemory", "AsyncMoment", "Memory", "Moment"]

THREADS = 16

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Reading)


def _threaded(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same method, awaited: it runs in one of the handle's threads.

    Cancelling the await does not cancel the work: what was sent is done, whoever still listens.
    """

    async def awaited(self: AsyncReading[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # takes a while, and most programs do without

        told: Future[T] = Future()
        told.set_running_or_notify_cancel()  # or it could be cancelled as long as no thread is free

        def run() -> None:
            try:
                told.set_result(method(self._memory, *args, **kwargs))
            except BaseException as error:  # it belongs to whoever awaits
                told.set_exception(error)

        self._threads.submit(run)
        return await asyncio.wrap_future(told)

    functools.update_wrapper(awaited, method)
    return awaited


class AsyncReading(Generic[M]):
    """The reading methods of `Reading`, awaited."""

    def __init__(self, memory: M, threads: ThreadPoolExecutor) -> None:
        self._memory = memory
        self._threads = threads

    call = _threaded(Reading.call)
    search = _threaded(Reading.search)
    explain = _threaded(Reading.explain)
    context = _threaded(Reading.context)
    recent = _threaded(Reading.recent)
    profile = _threaded(Reading.profile)
    list = _threaded(Reading.list)
    get = _threaded(Reading.get)
    history = _threaded(Reading.history)
    events = _threaded(Reading.events)
    diff = _threaded(Reading.diff)
    why = _threaded(Reading.why)
    reviews = _threaded(Reading.reviews)
    timeline = _threaded(Reading.timeline)
    graph = _threaded(Reading.graph)
    stats = _threaded(Reading.stats)
    jobs = _threaded(Reading.jobs)
    containers = _threaded(Reading.containers)

    async def ask(self, query: str, **how: Unpack[Inquiring]) -> Responded:
        """An answer from what is remembered. Cancelling the await stops the model."""
        return await awaited(lambda: self._memory.ask(query, **how))

    def ask_stream(self, query: str, **how: Unpack[Inquiring]) -> AsyncGenerator[ToldPart, None]:
        """The same, part by part as it comes. Leaving the loop stops the model, once the generator
        is closed."""
        return parts_awaited(lambda: self._memory.ask(query, **how))


class AsyncMoment(AsyncReading[Moment]):
    """The memory as it was known at one moment: made by `AsyncMemory.as_of`."""


class AsyncMemory(AsyncReading[Memory]):
    """`Memory` for an event loop: the same methods, awaited.

    async with AsyncMemory("~/notes", container="nina") as memory:
        await memory.remember("Nina works at Orbit Labs.")
        found = await memory.search("where does Nina work")
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        container: str = "default",
        *,
        scope: ScopeLike = None,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        models: Models | None = None,
    ) -> None:
        memory = Memory(data, container, scope=scope, clock=clock, ids=ids, models=models)
        super().__init__(memory, ThreadPoolExecutor(THREADS, "rewound-async"))
        self._shared = False

    remember = _threaded(Memory.remember)
    ingest = _threaded(Memory.ingest)
    add_messages = _threaded(Memory.add_messages)
    remove_document = _threaded(Memory.remove_document)
    update = _threaded(Memory.update)
    forget = _threaded(Memory.forget)
    restore = _threaded(Memory.restore)
    erase = _threaded(Memory.erase)
    undo = _threaded(Memory.undo)
    label = _threaded(Memory.label)
    fit = _threaded(Memory.fit)
    rejudge = _threaded(Memory.rejudge)
    configure = _threaded(Memory.configure)
    retry = _threaded(Memory.retry)
    workers = _threaded(Memory.workers)
    nodes = _threaded(Memory.nodes)
    verify = _threaded(Memory.verify)
    seal = _threaded(Memory.seal)
    rebuild = _threaded(Memory.rebuild)
    reembed = _threaded(Memory.reembed)
    replay = _threaded(Memory.replay)
    own = _threaded(Memory.own)

    def container(self, name: str, *, scope: ScopeLike = None) -> AsyncMemory:
        """Another container of the same store. Closing the handle leaves the store open."""
        other = object.__new__(AsyncMemory)
        AsyncReading.__init__(other, self._memory.container(name, scope=scope), self._threads)
        other._shared = True
        return other

    def as_of(self, moment: As_of) -> AsyncMoment:
        """The memory as it was known then, for reading."""
        return AsyncMoment(self._memory.as_of(moment), self._threads)

    async def close(self) -> None:
        """Finish what is under way and let go of the store."""
        if not self._shared:
            import asyncio

            await asyncio.get_running_loop().run_in_executor(self._threads, self._memory.close)
            self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
