"""A process that puts load on a store and takes the time: `python -m eval.loading`.

It reads jobs from standard input, a line of JSON each, and answers each with a line. All clients of
a job ask one after the other without a pause (a closed loop), each over its own connection that is
kept, or in its own thread. The HTTP client is as small as can be, so that the server, with which it
shares the machine, is what is measured.
"""

import asyncio
import itertools
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

import lmdb
import msgspec

from eval.filling import facts, queries
from rewound.llm.minilm import MiniLM
from rewound.memory import Memory

KNOWN = 60
"""Queries that are asked over and over: the store remembers their vectors."""

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ROW_BYTES = 400


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to do for how long. `port` is of a server, `data` the folder of a store.

    rest      `empty` (GET /), `search` or `write` over HTTP
    library   `search` or `write` through `Memory`: in this process, or beside the store's owner
    model     the embedding of a query alone
    disk      a bare durable commit of one row
    """

    door: Literal["rest", "library", "model", "disk"]
    what: Literal["empty", "search", "write"] = "empty"
    clients: int = 1
    seconds: float = 1.0
    answers: int | None = None
    """How many end the job at once, over HTTP."""
    port: int = 0
    data: str = ""
    as_of: str | None = None
    known: bool = False


class Taken(msgspec.Struct, frozen=True):
    """The milliseconds that each answer took, and the seconds that all took together."""

    each_ms: list[float]
    seconds: float


# --- over HTTP


class Client(asyncio.Protocol):
    """One connection: asks until the time or the requests end. `done` raises for a bad answer."""

    def __init__(self, requests: Iterator[bytes], until: float, taken: list[float]) -> None:
        self._requests = requests
        self._until = until
        self._taken = taken
        self._held = b""
        self._sent = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "TCP is a stream"
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, mark, body = self._held.partition(b"\r\n\r\n")
        length = _LENGTH.search(head) if mark else None
        if length is None or len(body) < int(length[1]):
            return
        self._taken.append((time.perf_counter() - self._sent) * 1000)
        if not head.startswith(b"HTTP/1.1 2"):
            self._end(RuntimeError(f"the server said {self._held[:2000]!r}"))
            return
        self._held = b""
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionError("the server closed the connection"))

    def _ask(self) -> None:
        request = next(self._requests, None)
        self._sent = time.perf_counter()
        if request is None or self._sent >= self._until:
            self._end(None)
        else:
            self._transport.write(request)

    def _end(self, error: Exception | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)
            self._transport.close()


async def over_http(job: Job, requests: Iterator[bytes]) -> Taken:
    taken: list[float] = []
    loop = asyncio.get_running_loop()
    begun = time.perf_counter()
    bounded = itertools.islice(requests, job.answers)
    make = partial(Client, bounded, begun + job.seconds, taken)
    made = [await loop.create_connection(make, "127.0.0.1", job.port) for _ in range(job.clients)]
    await asyncio.gather(*(client.done for _, client in made))
    return Taken(taken, time.perf_counter() - begun)


def http_request(port: int, method: str, path: str, fields: dict[str, object]) -> bytes:
    body = msgspec.json.encode(fields) if fields else b""
    typed = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{typed}\r\n".encode() + body


# --- in threads


def in_threads(job: Job, ask: Callable[[], object]) -> Taken:
    """`ask` over and over, in as many threads as there are clients."""
    taken: list[float] = []
    failed: list[Exception] = []
    begun = time.perf_counter()

    def run() -> None:
        try:
            while (sent := time.perf_counter()) < begun + job.seconds and not failed:
                ask()
                taken.append((time.perf_counter() - sent) * 1000)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(job.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return Taken(taken, time.perf_counter() - begun)


class Loader:
    """Does jobs; what they share (texts, an open store, a model) is made once."""

    def __init__(self, seed: int) -> None:
        """Loaders of different seeds write different facts."""
        self._facts = _Shared(facts(seed))
        self._queries = _Shared(queries(seed))
        self._known = _Shared(queries(seed + 1, KNOWN))
        self._model = MiniLM()
        self._memory: Memory | None = None
        self._opened = ExitStack()

    def run(self, job: Job) -> Taken:
        asked = self._known if job.known else self._queries
        match job.door:
            case "rest":
                return asyncio.run(over_http(job, self._requests(job, asked)))
            case "model":
                return in_threads(job, lambda: self._model.embed([next(asked)]))
            case "disk":
                return self._commits(job)
        if self._memory is None:
            self._memory = self._opened.enter_context(Memory(job.data))
        memory = self._memory
        if job.what == "write":
            return in_threads(job, lambda: memory.remember(next(self._facts)))
        return in_threads(job, lambda: memory.search(next(asked)))

    def _requests(self, job: Job, asked: Iterator[str]) -> Iterator[bytes]:
        make = partial(http_request, job.port)
        if job.what == "empty":
            return itertools.repeat(make("GET", "/", {}))
        if job.what == "write":
            return (make("POST", "/v1/facts", {"text": text}) for text in self._facts)
        at: dict[str, object] = {} if job.as_of is None else {"as_of": job.as_of}
        return (make("POST", "/v1/search", {"query": query, **at}) for query in asked)

    def _commits(self, job: Job) -> Taken:
        numbers = itertools.count()
        with (
            tempfile.TemporaryDirectory(dir=Path(job.data).parent) as folder,
            lmdb.open(folder, map_size=1 << 30, lib_version=0) as bare,
        ):

            def commit() -> None:
                with bare.begin(write=True) as txn:
                    txn.put(next(numbers).to_bytes(8, "big"), bytes(_ROW_BYTES), append=True)

            return in_threads(job, commit)

    def close(self) -> None:
        self._opened.close()


class _Shared(Iterator[str]):
    """An iterator that threads may share."""

    def __init__(self, source: Iterator[str]) -> None:
        self._source = source
        self._guard = threading.Lock()

    def __next__(self) -> str:
        with self._guard:
            return next(self._source)


def main() -> None:
    loader = Loader(seed=int(sys.argv[1]))
    decode = msgspec.json.Decoder(Job).decode
    try:
        for line in sys.stdin:
            sys.stdout.write(msgspec.json.encode(loader.run(decode(line))).decode() + "\n")
            sys.stdout.flush()
    finally:
        loader.close()


if __name__ == "__main__":
    main()
