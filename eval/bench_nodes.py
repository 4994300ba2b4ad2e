"""How well several model servers are kept busy, and how little people feel of it.

    python -m eval.bench_nodes [--delay-ms 1000] [--jobs 45] [--asks 100] [--probe-s 1]

The servers are scripted ones with a set delay and one slot each, in a process of their own: what is
measured is the dispatching, not a model. Ratios hold on any machine; the times beside them do not.

- Throughput of background extraction through a real store with 1, 2 and 3 nodes, from the first
  call to the end of the last one.
- What a person waits for a short call, with the background lane saturated beside idle: on nodes of
  their own, and on one shared node, where it is compared with one call of the background.
- What people feel of one node of three that is killed, hung or slowed to a tenth while they ask:
  the longest that any of them waited, in intervals between two looks at a node, and what is
  answered from the second interval on, of what the two others can.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import numpy as np
from aiohttp import web

from rewound.llm.breaking import Pace
from rewound.llm.chat import Chat
from rewound.llm.dispatched import DispatchedChat
from rewound.llm.dispatching import Dispatcher
from rewound.llm.nodes import Lane, Node
from rewound.llm.replies import ChatFailed
from rewound.memory import Memory
from rewound.memory.models import Models

BOX = re.compile(r"Box (\d+) holds (\d+) pens")
SHORT = "short"
HARMS = ("kill", "hang", "slow")
SLOWER = 10
SHORT_SHARE = 0.25
"""A person's call takes this share of the delay of a background one."""

_SCHEMA = {"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}


class Nodes(NamedTuple):
    """Running servers: their addresses, and a pipe that tells what they were asked since."""

    urls: list[str]
    control: Any

    def calls(self) -> list[tuple[float, float]]:
        """Begin and end of every call since this was last asked, in monotonic seconds."""
        self.control.send("calls")
        told: list[tuple[float, float]] = self.control.recv()
        return told

    def harm(self, how: str) -> None:
        """Let the first server come to harm; over once it has."""
        self.control.send(how)
        self.control.recv()


class _Harm:
    """What came over the first of the servers."""

    def __init__(self) -> None:
        self.runners: list[web.AppRunner] = []
        self._how = ""

    async def come(self, how: str) -> None:
        self._how = how
        if how == "kill":
            await self.runners[0].cleanup()

    async def hang(self, request: web.Request) -> None:
        if self._has(request, "hang"):
            await asyncio.Event().wait()

    def slowed(self, request: web.Request) -> int:
        return SLOWER if self._has(request, "slow") else 1

    def _has(self, request: web.Request, how: str) -> bool:
        return self._how == how and request.app is self.runners[0].app


def _serve(control: Any, count: int, delay_s: float) -> None:
    """The servers, each of which works on one call at a time."""
    calls: list[tuple[float, float]] = []

    harm = _Harm()

    async def answer(request: web.Request) -> web.Response:
        await harm.hang(request)
        asked = await request.json()
        told = asked["messages"][1]["content"]
        async with request.app[_SLOT]:
            begun = time.monotonic()
            share = SHORT_SHARE if told == SHORT else 1
            await asyncio.sleep(delay_s * share * harm.slowed(request))
            await harm.hang(request)
            calls.append((begun, time.monotonic()))
        content = json.dumps({"facts": _facts(told)})
        message = {"role": "assistant", "content": content}
        return web.json_response({"choices": [{"finish_reason": "stop", "message": message}]})

    async def props(request: web.Request) -> web.Response:
        generation = {"n_ctx": 8192}
        return web.json_response({"total_slots": 1, "default_generation_settings": generation})

    async def health(request: web.Request) -> web.Response:
        await harm.hang(request)
        return web.json_response({"status": "ok"})

    async def run() -> None:
        urls: list[str] = []
        for _ in range(count):
            app = web.Application()
            app[_SLOT] = asyncio.Semaphore(1)
            app.add_routes(
                [
                    web.post("/v1/chat/completions", answer),
                    web.get("/props", props),
                    web.get("/health", health),
                ]
            )
            runner = web.AppRunner(app, shutdown_timeout=0.01)
            await runner.setup()
            harm.runners.append(runner)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            urls.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        control.send(urls)
        while (asked := await asyncio.to_thread(control.recv)) != "end":
            if asked == "calls":
                control.send(list(calls))
                calls.clear()
            else:
                await harm.come(asked)
                control.send("done")
        for runner in harm.runners:
            await runner.cleanup()

    asyncio.run(run())


_SLOT: web.AppKey[asyncio.Semaphore] = web.AppKey("slot", asyncio.Semaphore)


def _facts(told: str) -> list[dict[str, Any]]:
    found = BOX.search(told)
    blank = dict.fromkeys(("subject", "attribute", "value", "valid_from", "valid_to"))
    if found is None:
        return []
    return [{**blank, "quote": found[0], "text": found[0], "kind": "fact", "entities": [],
             "confidence": 0.9}]  # fmt: skip


@contextmanager
def nodes(count: int, delay_s: float) -> Iterator[Nodes]:
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(theirs, count, delay_s), daemon=True)
    process.start()
    try:
        yield Nodes(ours.recv(), ours)
    finally:
        ours.send("end")
        process.join(10)


# --- throughput


def throughput(count: int, jobs: int, delay_s: float) -> float:
    """Calls a second of the background extraction of so many messages."""
    with nodes(count, delay_s) as running, tempfile.TemporaryDirectory() as folder:
        made = tuple(Node(name=f"n{at}", urls={"chat": url}) for at, url in enumerate(running.urls))
        models = Models(
            embedder="none", extractor="model", judge="none", nodes=made, batch_messages=1
        )
        with Memory(folder, models=models) as memory:
            memory.own()
            memory.nodes()  # their slots are known
            memory.add_messages([f"Box {n} holds {n} pens." for n in range(100, 100 + jobs)])
            while memory.workers("wait", timeout_s=60).pending:
                pass
            drawn = memory.list("fact", limit=1000).total
        calls = running.calls()
    if drawn != jobs or len(calls) != jobs:
        raise SystemExit(f"{drawn} facts of {len(calls)} calls, where {jobs} were to be")
    begun, ended = min(call[0] for call in calls), max(call[1] for call in calls)
    return len(calls) / (ended - begun)


# --- what people wait


def waits(lanes: Sequence[tuple[Lane, ...]], asks: int, delay_s: float, busy: bool) -> list[float]:
    """Seconds of each of a person's calls, one after the other."""
    with nodes(len(lanes), delay_s) as running:
        made = [
            Node(name=f"n{at}", urls={"chat": url}, lanes=lanes[at])
            for at, url in enumerate(running.urls)
        ]
        dispatcher = Dispatcher(made)
        with closing(dispatcher), ThreadPoolExecutor(4) as pool:
            person, background = (_chat(dispatcher, lane) for lane in ("interactive", "background"))
            _ask(person)  # connections and looks are made
            ended = threading.Event()
            for _ in range(4 if busy else 0):
                pool.submit(_keep_asking, background, ended)
            found: list[float] = []
            for _ in range(asks):
                begun = time.monotonic()
                _ask(person)
                found.append(time.monotonic() - begun)
            ended.set()
    return found


def first_wait(delay_s: float) -> float:
    """Seconds of the very first call of a person in a process whose very first call of the
    background, at the same node, has just begun."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    with nodes(1, delay_s) as running:
        process = spawning.Process(target=_ask_first, args=(theirs, running.urls[0]), daemon=True)
        process.start()
        waited: float = ours.recv()
        process.join(10)
    return waited


def _ask_first(control: Any, url: str) -> None:
    dispatcher = Dispatcher([Node(name="n", urls={"chat": url})])
    with closing(dispatcher), ThreadPoolExecutor(1) as pool:
        person, background = (_chat(dispatcher, lane) for lane in ("interactive", "background"))
        pool.submit(_ask, background, "long")
        while not dispatcher.figures()[0].lanes["background"].running:
            time.sleep(0.001)
        begun = time.monotonic()
        _ask(person)
        control.send(time.monotonic() - begun)


def _chat(dispatcher: Dispatcher, lane: Lane) -> DispatchedChat:
    return DispatchedChat(dispatcher, lane, "chat", lambda endpoint: Chat(endpoint.url, "toy"))


def _ask(chat: DispatchedChat, text: str = SHORT) -> None:
    chat.answer("Say it.", text, _SCHEMA, 100)


def _keep_asking(chat: DispatchedChat, ended: threading.Event) -> None:
    while not ended.is_set():
        _ask(chat, "long")


# --- what they feel of a node that comes to harm


class Felt(NamedTuple):
    """`longest` is in intervals between two looks; `rate` of what two nodes of three answer."""

    longest: float
    rate: float
    failed: int


def felt(how: str, delay_s: float, probe_s: float) -> Felt:
    """Of calls that come without a pause, before and after one of three nodes comes to harm."""
    pace = Pace(probe_s=probe_s, probe_timeout_s=probe_s / 2)
    with nodes(3, delay_s) as running:
        made = [Node(name=f"n{at}", urls={"chat": url}) for at, url in enumerate(running.urls)]
        dispatcher = Dispatcher(made, pace=pace)
        ended, failures = threading.Event(), list[ChatFailed]()
        spans: list[tuple[float, float]] = []

        def ask() -> None:
            while not ended.is_set():
                begun = time.monotonic()
                try:
                    _ask(person)
                except ChatFailed as failed:
                    failures.append(failed)
                spans.append((begun, time.monotonic()))

        with closing(dispatcher), ThreadPoolExecutor(3) as pool:
            person = _chat(dispatcher, "interactive")
            _ask(person)
            begun = time.monotonic()
            for _ in range(3):
                pool.submit(ask)
            time.sleep(4 * probe_s)
            running.harm(how)
            harmed = time.monotonic()
            time.sleep(6 * probe_s)
            over = time.monotonic()
            ended.set()
    before = _rate(spans, begun, harmed)
    after = _rate(spans, harmed + 2 * probe_s, over)
    longest = max(end - start for start, end in spans if end > harmed)
    return Felt(longest / probe_s, after / (before * 2 / 3), len(failures))


def _rate(spans: Sequence[tuple[float, float]], begun: float, over: float) -> float:
    return sum(begun <= end < over for _, end in spans) / (over - begun)


def p95(seconds: Sequence[float]) -> float:
    return float(np.percentile(np.array(seconds), 95))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--delay-ms", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=45)
    parser.add_argument("--asks", type=int, default=100)
    parser.add_argument("--probe-s", type=float, default=1.0)
    given = parser.parse_args()
    delay_s = given.delay_ms / 1000
    rates = {count: throughput(count, given.jobs, delay_s) for count in (1, 2, 3)}
    for count, rate in rates.items():
        print(f"{count} nodes: {rate:.2f} calls/s, {rate / rates[1]:.2f} x one (mark at 3: 2.96)")
    apart: list[tuple[Lane, ...]] = [("interactive",), ("background",)]
    idle = waits(apart, given.asks, delay_s, busy=False)
    busy = waits(apart, given.asks, delay_s, busy=True)
    print(
        f"a person's p95, nodes apart: {p95(busy) * 1000:.1f} ms beside saturated background, "
        f"{p95(idle) * 1000:.1f} ms idle: {p95(busy) / p95(idle):.2f} x (mark: 1.3)"
    )
    shared: list[tuple[Lane, ...]] = [("interactive", "background")]
    waited = waits(shared, max(20, given.asks // 4), delay_s, busy=True)
    usual, most = ((each - delay_s * SHORT_SHARE) / delay_s for each in (p95(waited), max(waited)))
    print(
        f"one shared node: a person waits for {usual:.2f} background calls (p95), {most:.2f} at "
        "most (mark: 1, and what the machine adds); "
        f"{(first_wait(delay_s) - delay_s * SHORT_SHARE) / delay_s:.2f} the very first time"
    )
    for how in HARMS:
        told = felt(how, given.probe_s / 5, given.probe_s)
        print(
            f"one of three nodes, {how}: the longest wait was {told.longest:.2f} probe intervals "
            f"(mark: 2, and a call), {told.failed} failed; from the second interval on "
            f"{told.rate:.2f} of what two nodes answer"
        )


if __name__ == "__main__":
    main()
