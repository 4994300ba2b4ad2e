"""An answer in parts, for programs: an iterator over what is told while the answer comes.

The call runs in a thread of its own. Whoever stops iterating has gone: a model that still writes is
stopped.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from queue import SimpleQueue
from typing import NamedTuple

from rewound.memory.hearing import Asker, asked_by, heard_by
from rewound.memory.replies import Reply, Responded, ToldPart


class _Failed(NamedTuple):
    error: BaseException


_Arrived = ToldPart | _Failed


def _begin(call: Callable[[], Reply], put: Callable[[_Arrived], object], asker: Asker) -> None:
    """Call in a thread, which puts what is told, and last the reply or why there is none."""

    def run() -> None:
        try:
            with asked_by(asker), heard_by(put):
                reply = call()
            assert isinstance(reply, Responded), "what a question is answered with"
            put(reply)
        except BaseException as error:  # it belongs to whoever iterates
            put(_Failed(error))

    threading.Thread(target=run, name="rewound-answer", daemon=True).start()


def parts_of(call: Callable[[], Reply]) -> Iterator[ToldPart]:
    """The parts of an answer as they come, and at last all of it. Raises what the call raises."""
    arrived: SimpleQueue[_Arrived] = SimpleQueue()
    asker = Asker()
    _begin(call, arrived.put, asker)
    try:
        while True:
            part = arrived.get()
            if isinstance(part, _Failed):
                raise part.error
            yield part
            if isinstance(part, Responded):
                return
    finally:
        asker.go()


async def parts_awaited(call: Callable[[], Reply]) -> AsyncGenerator[ToldPart, None]:
    """The same on an event loop."""
    import asyncio

    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[_Arrived] = asyncio.Queue()
    asker = Asker()

    def put(part: _Arrived) -> None:
        if not loop.is_closed():  # else nobody iterates any more
            loop.call_soon_threadsafe(arrived.put_nowait, part)

    _begin(call, put, asker)
    try:
        while True:
            part = await arrived.get()
            if isinstance(part, _Failed):
                raise part.error
            yield part
            if isinstance(part, Responded):
                return
    finally:
        asker.go()


async def awaited(call: Callable[[], Reply]) -> Responded:
    """The whole answer; cancelling this stops the model."""
    parts = parts_awaited(call)
    try:
        async for part in parts:
            if isinstance(part, Responded):
                return part
    finally:
        await parts.aclose()
    raise AssertionError("an answer without its end")
