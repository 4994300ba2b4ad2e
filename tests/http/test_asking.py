"""The desk and the link's `submit`: bounded, never in the loop's way, and deaf to cancelling."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.http.asking import Bridge, Desk
from rewound.http.limits import Limits
from rewound.http.metrics import BUCKETS_S, Counted, Metrics, text_of
from rewound.http.problems import Problem
from rewound.memory import RewoundError
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.replies import LaneCalls, LaneQueue, NodeAddress, NodeList, NodeShown

WRITTEN = r.Written(container="default", group=None, position=1, items=())


class Slow:
    """A store that answers when it is told to."""

    owns = True

    def __init__(self) -> None:
        self.go = threading.Event()
        self.submitted: list[Future[r.Reply]] = []

    def call(self, request: q.Request) -> r.Reply:
        assert self.go.wait(60)
        return WRITTEN

    def submit(self, request: q.Write) -> Future[r.Reply]:
        future: Future[r.Reply] = Future()
        future.set_running_or_notify_cancel()
        self.submitted.append(future)
        return future

    def close(self) -> None:
        self.go.set()


def remember(text: str = "Nina works.", key: str | None = None) -> q.Remember:
    return q.Remember(facts=(q.NewFact(text=text),), key=key)


def test_reads_over_the_bound_are_refused_at_once() -> None:
    async def run() -> None:
        link = Slow()
        desk = Desk(link, Limits(reads_waiting=0))
        waiting: list[asyncio.Task[bytes]] = []
        with pytest.raises(Problem, match="try again") as caught:
            for _ in range(1_000):
                waiting.append(asyncio.create_task(desk.read(q.Stats())))
                await asyncio.sleep(0)
                if waiting[-1].done():
                    await waiting.pop()
        assert caught.value.code == "store_busy"
        assert 4 < len(waiting) == desk.reads
        link.go.set()
        assert all(b"Written" in body for body in await asyncio.gather(*waiting))
        assert desk.reads == 0
        await asyncio.to_thread(desk.close)

    asyncio.run(run())


class Behind(Slow):
    """A store that answers at once, but for reads of a position that it has not reached."""

    def call(self, request: q.Request) -> r.Reply:
        return super().call(request) if getattr(request, "at_least", None) else WRITTEN


AHEAD = q.List(at_least=1_000_000)


async def _begun(desk: Desk, count: int) -> list[asyncio.Task[bytes]]:
    """That many reads that wait for a position."""
    waiting = [asyncio.create_task(desk.read(AHEAD)) for _ in range(count)]
    await asyncio.sleep(0)
    assert desk.reads == count
    return waiting


def test_reads_that_wait_for_a_position_leave_threads_to_the_others() -> None:
    async def run() -> None:
        link = Behind()
        desk = Desk(link, Limits())
        waiting = await _begun(desk, 100)
        for read in (desk.read(q.List()), desk.read(q.List(at_least=0)), desk.ask(q.Stats())):
            await asyncio.wait_for(read, 60)
        assert not any(task.done() for task in waiting)
        link.go.set()
        assert all(b"Written" in body for body in await asyncio.gather(*waiting))
        assert desk.reads == 0
        await asyncio.wait_for(desk.read(AHEAD), 60)  # every turn was given back
        await asyncio.to_thread(desk.close)

    asyncio.run(run())


@pytest.mark.parametrize(
    "limits", [Limits(reads_waiting=0), Limits(turn_s=0.0)], ids=["room", "turn"]
)
def test_too_many_reads_that_wait_for_a_position_are_refused(limits: Limits) -> None:
    """When there is no room, or no thread in time."""

    async def run() -> None:
        link = Behind()
        desk = Desk(link, limits)
        waiting: list[asyncio.Task[bytes]] = []
        with pytest.raises(Problem, match="with at_least") as caught:
            for _ in range(1_000):
                waiting.append(asyncio.create_task(desk.read(AHEAD)))
                done, pending = await asyncio.wait(waiting, timeout=0.02)
                waiting = list(pending)
                for task in done:
                    await task
        assert caught.value.code == "store_busy"
        assert len(waiting) == desk.reads >= 2
        await asyncio.wait_for(desk.read(q.List()), 60)
        link.go.set()
        await asyncio.gather(*waiting)
        await asyncio.to_thread(desk.close)

    asyncio.run(run())


def test_writes_over_the_bound_are_refused_at_once() -> None:
    async def run() -> None:
        link = Slow()
        desk = Desk(link, Limits(writes_waiting=2))
        waiting = [asyncio.create_task(desk.write(remember())) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="2 writes"):
            await desk.write(remember())
        for future in link.submitted:
            future.set_result(WRITTEN)
        assert await asyncio.gather(*waiting) == [WRITTEN, WRITTEN]
        assert await asyncio.wait_for(_written(desk, link), 60) == WRITTEN
        await asyncio.to_thread(desk.close)

    async def _written(desk: Desk, link: Slow) -> r.Reply:
        task = asyncio.create_task(desk.write(remember()))
        await asyncio.sleep(0)
        link.submitted[-1].set_result(WRITTEN)
        return await task

    asyncio.run(run())


def test_cancelling_the_wait_leaves_the_write_alone() -> None:
    async def run() -> None:
        link = Slow()
        desk = Desk(link, Limits())
        task = asyncio.create_task(desk.write(remember()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (future,) = link.submitted
        assert not future.cancelled() and desk.writes == 0
        future.set_result(WRITTEN)  # and nobody minds
        await asyncio.to_thread(desk.close)

    asyncio.run(run())


def test_what_comes_together_wakes_the_loop_once() -> None:
    class Counting:
        """An event loop that counts how often other threads wake it."""

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self.loop = loop
            self.woken = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self.loop, name)

        def call_soon_threadsafe(self, call: Any) -> None:
            self.woken += 1
            self.loop.call_soon_threadsafe(call)

    async def run() -> None:
        counting = Counting(asyncio.get_running_loop())
        bridge = Bridge(counting)  # type: ignore[arg-type]
        futures: list[Future[int]] = [Future() for _ in range(50)]
        waiting = [bridge.result_of(future) for future in futures]
        for number, future in enumerate(futures[:-1]):
            future.set_result(number)
        futures[-1].set_exception(ValueError("last"))
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert results[:-1] == list(range(49))
        assert isinstance(results[-1], ValueError)
        assert counting.woken == 1

    asyncio.run(run())


# --- the link


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REWOUND_EMBEDDER", "none")
    monkeypatch.setenv("REWOUND_EXTRACTOR", "none")
    return tmp_path / "store"


@pytest.fixture
def links(data: Path) -> Iterator[tuple[Link, Link]]:
    """The owner of a store, and another link to it."""
    owner, other = Link(data), Link(data)
    owner.take_over()
    yield owner, other
    other.close()
    owner.close()


def test_submit_answers_like_call_with_and_without_the_store(links: tuple[Link, Link]) -> None:
    owner, other = links
    for number, link in enumerate((owner, other)):
        reply = link.submit(remember(f"Fact {number}.", key=f"k{number}")).result(60)
        again = link.call(remember(f"Fact {number}.", key=f"k{number}"))
        assert isinstance(reply, r.Written) and reply == again
    assert owner.owns and not other.owns


def test_submit_says_what_is_wrong(links: tuple[Link, Link]) -> None:
    owner, other = links
    with pytest.raises(RewoundError, match="blank"):
        owner.submit(remember(" "))
    with pytest.raises(RewoundError, match="blank"):
        other.submit(remember(" ")).result(60)


def test_submit_goes_on_after_the_store_was_handed_over(links: tuple[Link, Link]) -> None:
    owner, other = links
    other.take_over()
    assert other.owns and not owner.owns
    reply = owner.submit(remember("After.")).result(60)
    assert isinstance(reply, r.Written) and reply.items[0].status == "written"


def test_a_closed_link_takes_nothing_more(data: Path) -> None:
    link = Link(data)
    link.take_over()
    link.close()
    with pytest.raises(RewoundError, match="closed"):
        link.submit(remember())


# --- figures


def _nodes(ok: int, away: int) -> NodeList:
    calls = LaneCalls(running=0, ok=ok, failed=0, away=0, given_up=0, seconds=1.5)
    address = NodeAddress(
        roles=("chat",), url="http://10.0.0.2:8082", state="up", draining=False, slots=2, busy=None,
        lanes={"interactive": calls}, checked=None,
    )  # fmt: skip
    return NodeList(
        nodes=(NodeShown(name="gpu", lanes=("interactive",), addresses=(address,)),),
        queues={"interactive": LaneQueue(waiting=0, busy=0, away=away)},
    )


def test_calls_at_nodes_are_told_of_each_process() -> None:
    none = Metrics().counted(reads=0, writes=0, connections=0)
    reader = msgspec.structs.replace(none, nodes=_nodes(ok=7, away=2))
    passed = msgspec.json.decode(msgspec.json.encode(reader), type=Counted)
    node = 'node="gpu",role="chat"'
    told = f'rewound_node_calls_total{{{node},lane="interactive"'
    text = text_of(None, {0: none, 1: passed, 2: none}, nodes=_nodes(ok=3, away=1))
    assert f'{told},worker="0",result="ok"}} 3' in text
    assert f'{told},worker="1",result="ok"}} 7' in text
    assert 'worker="2",result=' not in text, "what it has not told"
    assert 'rewound_lane_refused_total{lane="interactive",worker="1",why="away"} 2' in text
    assert text.count(f"rewound_node_up{{{node}}} 1") == 1, "up is told once"
    alone = text_of(None, {None: none}, nodes=_nodes(ok=3, away=1))
    assert f'{told},result="ok"}} 3' in alone and "worker=" not in alone


def test_figures_add_up_and_hold_routes_not_ids() -> None:
    metrics = Metrics()
    for seconds in (0.0, 0.003, 99.0):
        metrics.count("GET", "/v1/facts/{id}", 200, seconds)
    metrics.count("GET", "/v1/facts/{id}", 404, 0.2)
    metrics.wrote("Remember")
    text = text_of(None, {None: metrics.counted(reads=1, writes=2, connections=3)})
    label = 'method="GET",route="/v1/facts/{id}"'
    assert f'rewound_http_requests_total{{{label},status="200"}} 3' in text
    assert f'rewound_http_requests_total{{{label},status="404"}} 1' in text
    assert f'rewound_http_request_seconds_bucket{{{label},le="0.001"}} 1' in text
    assert f'rewound_http_request_seconds_bucket{{{label},le="10"}} 3' in text
    assert f'rewound_http_request_seconds_bucket{{{label},le="+Inf"}} 4' in text
    assert f"rewound_http_request_seconds_count{{{label}}} 4" in text
    assert text.count("_bucket{") == len(BUCKETS_S) + 1
    assert 'rewound_writes_total{command="Remember"} 1' in text
    assert "rewound_up 0" in text and "rewound_store_bytes" not in text
