"""The line between the process that has the port and a reader: notes and questions, both ways.

One JSON value a line over a socket pair. A question is numbered, and its answer has that number.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from rewound.http.connect_routes import Here
from rewound.http.limits import MIB, Limits
from rewound.memory.models import Models

_LINE_BYTES_MAX = 64 * MIB
_PATIENCE_S = 5.0

T = TypeVar("T")


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader is told first. It holds the key, so it goes neither by the environment nor by
    the command line."""

    number: int
    id_prefix: str
    data: str
    models: Models
    limits: Limits
    host: str
    allowed_hosts: str | None
    api_key: str | None
    here: Here | None


class Held(msgspec.Struct, frozen=True):
    """Of the connections that a reader was given: how many it has taken in, and how many of those
    are still open."""

    taken: int
    opened: int


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """A note (no number), a question, or the answer to one (no name)."""

    what: str = ""
    number: int = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


Handler = Callable[[bytes], Awaitable[object]]
"""Takes the JSON of a note or question; what it returns is the answer to a question."""

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Said).decode


class Broken(ConnectionError):
    """The other side has ended, or does not answer."""


class Line:
    """One end. To be used on its event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @staticmethod
    async def over(sock: socket.socket) -> Line:
        return Line(*await asyncio.open_connection(sock=sock, limit=_LINE_BYTES_MAX))

    def note(self, what: str, body: object) -> None:
        self._say(Said(what, 0, msgspec.Raw(_encode(body))))

    async def ask(self, what: str, body: object, kind: type[T]) -> T:
        """The answer to a question. Raises Broken when none comes."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._say(Said(what, number, msgspec.Raw(_encode(body))))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return msgspec.json.decode(await answer, type=kind)
        except TimeoutError:
            raise Broken("it did not answer in time") from None
        finally:
            del self._asked[number]

    async def first(self, kind: type[T]) -> T:
        """The body of the first line. Raises Broken when there is none."""
        line = await self._reader.readline()
        if not line:
            raise Broken("it said nothing")
        return msgspec.json.decode(_decode(line).body, type=kind)

    async def listen(self, handlers: Mapping[str, Handler]) -> None:
        """Heed what the other side says, until it ends."""
        try:
            while line := await self._reader.readline():
                said = _decode(line)
                if said.what:
                    task = asyncio.create_task(self._handle(handlers[said.what], said))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                elif (asked := self._asked.get(said.number)) is not None and not asked.done():
                    asked.set_result(bytes(said.body))
        except ConnectionError:
            pass  # it ended in the middle of something: the same as at its end
        finally:
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(Broken("it has ended"))

    def close(self) -> None:
        self._writer.close()

    async def _handle(self, handler: Handler, said: Said) -> None:
        answer: Any = await handler(bytes(said.body))
        if said.number:
            self._say(Said("", said.number, msgspec.Raw(_encode(answer))))

    def _say(self, said: Said) -> None:
        if not self._writer.is_closing():
            self._writer.write(_encode(said) + b"\n")
