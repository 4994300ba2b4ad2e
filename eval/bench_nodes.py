"""How well several model servers are kept busy, and how little people feel of it.

    python -m eval.bench_nodes [--delay-ms 1000] [--jobs 45] [--asks 100]

The servers are scripted ones with a set delay and one slot each, in a process of their own: what is
measured is the dispatching, not a model. Ratios hold on any machine; the times beside them do not.

- Throughput of background extraction through a real store with 1, 2 and 3 nodes, from the first
  call to the end of the last one.
- What a person waits for a short call, with the background lane saturated beside idle: on nodes of
  their own, and on one shared node, where it is compared with one call of the background.
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

from rewound.llm.chat import Chat
from rewound.llm.dispatched import DispatchedChat
from rewound.llm.dispatching import Dispatcher
from rewound.llm.nodes import Lane, Node
from rewound.memory import Memory
from rewound.memory.models import Models

BOX = re.compile(r"Box (\d+) holds (\d+) pens")
SHORT = "short"
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


def _serve(control: Any, count: int, delay_s: float) -> None:
    """The servers, each of which works on one call at a time."""
    calls: list[tuple[float, float]] = []

    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        told = asked["messages"][1]["content"]
        async with request.app[_SLOT]:
            begun = time.monotonic()
            await asyncio.sleep(delay_s * (SHORT_SHARE if told == SHORT else 1))
            calls.append((begun, time.monotonic()))
        content = json.dumps({"facts": _facts(told)})
        message = {"role": "assistant", "content": content}
        return web.json_response({"choices": [{"finish_reason": "stop", "message": message}]})

    async def props(request: web.Request) -> web.Response:
        generation = {"n_ctx": 8192}
        return web.json_response({"total_slots": 1, "default_generation_settings": generation})

    async def health(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def run() -> None:
        urls: list[str] = []
        runners: list[web.AppRunner] = []
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
            runner = web.AppRunner(app)
            await runner.setup()
            runners.append(runner)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            urls.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        control.send(urls)
        while await asyncio.to_thread(control.recv) == "calls":
            control.send(list(calls))
            calls.clear()
        for runner in runners:
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


def _chat(dispatcher: Dispatcher, lane: Lane) -> DispatchedChat:
    return DispatchedChat(dispatcher, lane, "chat", lambda endpoint: Chat(endpoint.url, "toy"))


def _ask(chat: DispatchedChat, text: str = SHORT) -> None:
    chat.answer("Say it.", text, _SCHEMA, 100)


def _keep_asking(chat: DispatchedChat, ended: threading.Event) -> None:
    while not ended.is_set():
        _ask(chat, "long")


def p95(seconds: Sequence[float]) -> float:
    return float(np.percentile(np.array(seconds), 95))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--delay-ms", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=45)
    parser.add_argument("--asks", type=int, default=100)
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
        "most (mark: 1, and what the machine adds)"
    )


if __name__ == "__main__":
    main()
