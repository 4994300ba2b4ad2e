"""Health has a thread of its own: it answers while all others are held, and only once at a time."""

import asyncio
import threading
from concurrent.futures import Future

import pytest

from rewound.http.asking import Desk
from rewound.http.health import Prober, health_of
from rewound.http.limits import Limits
from rewound.http.problems import Problem
from rewound.memory import replies as r
from rewound.memory import requests as q

FIGURES = r.Figures(
    container=None, containers=0, info=(), events=0, log_bytes=0, view_bytes=0, views={}
)
WORKING = r.Working(
    state="running", extractor=None, embedder=None, pending=0, failed=0, parked=0, unembedded=0
)
NODES = r.NodeList(nodes=(), queues={})


class Store:
    """A store that keeps requests of one type until it is told to answer."""

    owns = True

    def __init__(self, held: type[q.Request]) -> None:
        self.held = held
        self.go = threading.Event()
        self.asked: list[str] = []

    def call(self, request: q.Request) -> r.Reply:
        self.asked.append(type(request).__name__)
        assert not isinstance(request, self.held) or self.go.wait(60)
        if isinstance(request, q.Nodes):
            return NODES
        return WORKING if isinstance(request, q.Workers) else FIGURES

    def submit(self, request: q.Write) -> Future[r.Reply]:
        raise AssertionError(f"nobody writes here, not even {type(request).__name__}")

    def close(self) -> None:
        self.go.set()


def test_it_is_told_while_reads_hold_every_thread() -> None:
    async def run() -> None:
        store = Store(held=q.List)
        desk = Desk(store, Limits())
        reads = [asyncio.create_task(desk.read(q.List())) for _ in range(1_000)]
        await asyncio.sleep(0)
        with pytest.raises(Problem):
            await desk.read(q.List())
        probe = await asyncio.wait_for(Prober(desk, 60.0).probe(), 60)
        assert health_of(probe, desk, told=False).status == "ok"
        store.go.set()
        await asyncio.gather(*reads, return_exceptions=True)
        await asyncio.to_thread(desk.close)

    asyncio.run(run())


def test_those_who_ask_at_once_share_a_look() -> None:
    async def run() -> None:
        store = Store(held=q.Stats)
        desk = Desk(store, Limits())
        prober = Prober(desk, 60.0)
        asking = [asyncio.create_task(prober.probe()) for _ in range(20)]
        await asyncio.sleep(0)
        asking[0].cancel()  # whoever leaves takes nothing from the others
        store.go.set()
        probes = await asyncio.gather(*asking[1:])
        assert [probe.figures for probe in probes] == [FIGURES] * 19
        assert store.asked == ["Stats", "Workers", "Nodes"]
        assert (await prober.probe()).figures == FIGURES
        await asyncio.to_thread(desk.close)

    asyncio.run(run())
