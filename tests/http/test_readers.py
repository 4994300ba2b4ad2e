"""`serve --workers 2`: the process that owns the store and a reader answer alike on one port.

A connection stays with the process that it was given to, and request ids tell which that is.
"""

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from rewound.http.limits import Limits, shared
from rewound.http.line import Held
from rewound.http.reader_process import Door
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.models import NO_MODELS
from tests.http.serving import WAIT_S, Api, Served, everything, serving
from tests.integration.noding import nodes

Json = Any

MODELS = {"REWOUND_EMBEDDER": "hashing", "REWOUND_EXTRACTOR": "rules", "REWOUND_JUDGE": "rules"}


def until(true: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def processes(served: Served) -> list[Json]:
    with served.client() as client:
        found: list[Json] = client.get("/health").json()["parts"]["processes"]
        return found


def reader_of(served: Served) -> int:
    """The process of the reader, once it answers."""
    until(lambda: processes(served)[1]["state"] == "ready")
    pid = processes(served)[1]["pid"]
    assert isinstance(pid, int)
    return pid


def is_reader(client: httpx.Client) -> bool:
    return "." in client.get("/").headers["x-request-id"]


def connected_to_the_reader(served: Served) -> socket.socket:
    """A bare connection: a client's would be another one as soon as it sees that this has ended."""
    while True:
        opened = served.connect()
        opened.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        with opened.makefile("rb") as answer:
            head = b"".join(iter(answer.readline, b"\r\n")).lower()
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None, head
            answer.read(int(length[1]))
        found = re.search(rb"x-request-id: (\S+)", head)
        assert found is not None, head
        if b"." in found[1]:
            return opened
        opened.close()


class Both:
    """A connection to the owner and one to the reader."""

    def __init__(self, served: Served, opened: ExitStack) -> None:
        reader_of(served)
        found: dict[bool, httpx.Client] = {}
        while len(found) < 2:
            kept = httpx.Limits(keepalive_expiry=None)  # by default 5 s, and the next is elsewhere
            client = opened.enter_context(served.client(limits=kept))
            found.setdefault(is_reader(client), client)
        self.owner, self.reader = found[False], found[True]

    def check(self) -> None:
        assert not is_reader(self.owner) and is_reader(self.reader)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), "--workers", "2", **MODELS) as started:
        yield started


@pytest.fixture
def both(served: Served) -> Iterator[Both]:
    with ExitStack() as opened:
        yield Both(served, opened)


def same(both: Both, container: str, ids: list[str], moments: list[str]) -> None:
    """Every question has the same answer from both, to the byte."""
    wholes: list[tuple[str, Json]] = [
        ("/v1/facts", {}),
        ("/v1/documents", {}),
        ("/v1/messages", {}),
        ("/v1/passages", {}),
        ("/v1/search", {"query": "Where does Nina live?"}),
        ("/v1/search", {"query": "tea garden", "include_forgotten": True}),
        ("/v1/profile", {}),
        ("/v1/graph", {"entity": "Nina"}),
        ("/v1/timeline", {"subject": "Nina"}),
    ]
    asked = [(path, query | at) for path, query in wholes for at in ({}, *moments_of(moments))]
    asked += [("/v1/events", {}), ("/v1/stats", {}), ("/v1/jobs", {}), ("/v1/reviews", {})]
    asked += [(f"/v1/facts/{one}{more}", {}) for one in ids for more in ("", "/history", "/why")]
    for path, query in asked:
        answers = [
            client.get(path, params={"container": container, **query})
            for client in (both.owner, both.reader)
        ]
        assert answers[0].status_code in (200, 404), answers[0].text
        assert answers[0].status_code == answers[1].status_code, (path, query)
        assert answers[0].content == answers[1].content, (path, query)
    for at in ({}, *moments_of(moments)):
        body = {"container": container, "query": "What does Nina drink?", **at}
        for path in ("/v1/context", "/v1/ask"):
            told = [client.post(path, json=body) for client in (both.owner, both.reader)]
            assert told[0].status_code == 200, told[0].text
            assert told[0].content == told[1].content, path
    both.check()


def moments_of(moments: list[str]) -> list[Json]:
    return [{"as_of": moment} for moment in moments]


def settle(client: httpx.Client) -> None:
    assert client.post("/v1/workers", json={"action": "wait"}).status_code == 200


def test_a_connection_that_is_lost_on_its_way_is_not_counted_for_ever() -> None:
    """As where a reader has no file descriptor left for it."""
    told: asyncio.Queue[Held] = asyncio.Queue()

    class Noted:
        def note(self, what: str, body: Held) -> None:
            told.put_nowait(body)

    async def lose_one() -> Held:
        ours, theirs = socket.socketpair()
        served = SimpleNamespace(connections=SimpleNamespace(count=0, left=None))
        door = Door(theirs, cast("Any", served), cast("Any", Noted()))
        ours.send(b"c")
        async with asyncio.timeout(WAIT_S):
            held = await told.get()
            ours.close()
            await door.closed.wait()
        return held

    assert asyncio.run(lose_one()) == Held(taken=1, opened=0)


# --- answers


def test_both_give_the_same_answers(both: Both) -> None:
    api = Api(both.owner, "alike")
    ids = [api.fact(text) for text in ("Nina lives in Porto.", "Nina drinks green tea.")]
    api.write("POST", "/v1/documents", {"text": "# Garden\n\nNina has a garden.\n\nIt has roses."})
    said = {"role": "user", "name": "Nina", "content": "I like jazz."}
    api.write("POST", "/v1/messages", {"conversation": "c", "messages": [said]})
    settle(both.owner)
    same(both, api.container, ids, [])
    before = f"@{len(api.events())}"
    moved = api.remember("Nina lives in Lisbon.")
    settle(both.owner)
    assert moved.id is not None
    same(both, api.container, [*ids, moved.id], [before])
    api.write("POST", f"/v1/events/{moved.event}/undo", {}, r.Undid)
    settle(both.owner)
    same(both, api.container, [*ids, moved.id], [before])
    api.write("POST", "/v1/forget", {"ids": [ids[1]]}, r.Forgot)
    same(both, api.container, ids, [before])
    assert both.owner.post("/v1/rebuild", json={}).status_code == 200
    same(both, api.container, ids, [before])
    api.write("POST", "/v1/erase", {"ids": [ids[0]]}, r.Erased)
    same(both, api.container, ids, [before])


@pytest.fixture
def resting(both: Both) -> Iterator[None]:
    """Nothing changes between two reads but by what is asked."""
    assert both.owner.post("/v1/workers", json={"action": "pause"}).status_code == 200
    yield
    assert both.owner.post("/v1/workers", json={"action": "resume"}).status_code == 200


@pytest.mark.usefixtures("resting")
def test_a_read_holds_what_any_worker_acknowledged(both: Both) -> None:
    for number in range(20):
        writer, other = (both.owner, both.reader) if number % 2 else (both.reader, both.owner)
        written = Api(writer, "seen").remember(f"Step {number}.")
        assert len(Api(other, "seen").facts()) == number + 1
        shown = Api(writer, "seen").read(f"/v1/facts/{written.id}", r.Shown)
        assert shown == Api(other, "seen").read(f"/v1/facts/{written.id}", r.Shown)
    both.check()


def test_a_reader_waits_for_a_position(both: Both) -> None:
    api = Api(both.owner, "ahead")
    written = api.write("POST", "/v1/facts", {"text": "One."})
    asked = f"/v1/facts?container=ahead&at_least={written.position + 2}"
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(both.reader.get, asked)
        for text in ("Two.", "Three."):
            api.remember(text)
        told = answer.result()
    assert told.status_code == 200, told.text
    assert [item["text"] for item in told.json()["items"]] == ["One.", "Two.", "Three."]


def test_erased_bytes_are_gone_from_every_file_that_the_reader_has_open(
    served: Served, both: Both
) -> None:
    secret = "zwetschgenkern"
    api = Api(both.reader, "law")
    erased, kept = api.fact(f"Omar hides a {secret}."), api.fact("Omar hides a stone.")
    assert api.found(secret, limit=1) and Api(both.owner, "law").found(secret, limit=1)
    reply = api.write("POST", "/v1/erase", {"ids": [erased]}, r.Erased)
    assert reply.compaction == "done"
    files = [path for path in served.data.rglob("*") if path.is_file()]
    assert files and not [path for path in files if secret.encode() in path.read_bytes()]
    maps = Path(f"/proc/{reader_of(served)}/maps")
    if maps.exists():
        mapped = [line for line in maps.read_text().splitlines() if "data.mdb" in line]
        assert len({line.split()[5] for line in mapped}) == 2
        assert not [line for line in mapped if "(deleted)" in line], "it has not opened them anew"
    assert [fact.id for fact in api.facts()] == [kept]
    assert api.send("GET", "/v1/stats", params={"container": "law"}).json()["compaction"] == "none"
    both.check()


# --- connections


def test_connections_are_handed_out_evenly(served: Served) -> None:
    reader_of(served)
    with ExitStack() as opened:
        asking = opened.enter_context(served.client())

        def connections() -> int:
            told = asking.get("/health").json()["parts"]["processes"]
            return sum(each["connections"] for each in told)

        until(lambda: connections() == 1)  # all that were closed before are known to be
        clients = [opened.enter_context(served.client()) for _ in range(10)]
        told = [is_reader(client) for client in clients]
        assert 4 <= sum(told) <= 6, told
        labels = clients[0].get("/metrics").text
        for worker in range(2):
            assert f'rewound_http_connections{{worker="{worker}"}}' in labels
    assert "rewound_http_workers 2" in labels


def test_each_process_may_have_its_share_of_the_connections() -> None:
    assert shared(Limits(connections=1_000), 3).connections == 334
    assert shared(Limits(), 1) == Limits()


# --- ends


def test_a_reader_that_is_killed_is_started_again(served: Served, both: Both) -> None:
    pid = reader_of(served)
    with connected_to_the_reader(served) as opened:
        os.kill(pid, signal.SIGKILL)
        assert everything(opened) == b"", "its connections end with it"
    assert both.owner.get("/v1/containers").status_code == 200
    until(lambda: processes(served)[1]["restarts"] >= 1)
    assert reader_of(served) != pid
    until(lambda: "reader 1 ended (signal 9) and is started again" in served.printed)
    with ExitStack() as opened:
        again = Both(served, opened)
        restarts = processes(served)[1]["restarts"]
        figures = again.reader.get("/metrics").text
        assert f"rewound_http_worker_restarts_total {restarts}" in figures


def test_a_node_that_is_added_works_for_readers_too(tmp_path: Path) -> None:
    settings = MODELS | {"REWOUND_REWRITER": "model", "REWOUND_NODES": "http://127.0.0.1:9"}
    with (
        nodes(1) as (server,),
        serving(tmp_path, "--workers", "2", **settings) as served,
        ExitStack() as opened,
    ):
        server.good = lambda told: {"query": "harbour"}
        reader = Both(served, opened).reader
        reader.post("/v1/messages", json={"messages": [{"content": "The port is calm."}]})
        asked = {"query": "port", "rewrite": "true"}
        assert "rewriter failed" in str(reader.get("/v1/search", params=asked).json()["notes"])
        cli = Link(served.data, models=NO_MODELS, may_own=False)
        cli.call(q.Nodes(action="add", name="late", chat=server.url))
        cli.close()

        def by_the_node() -> bool:
            reader.get("/v1/search", params=asked)
            return bool(server.told)

        until(by_the_node)
        assert is_reader(reader)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")  # a container's first process may reap nobody
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_readers_follow_the_store_to_another_owner_and_end_with_their_server(
    tmp_path: Path,
) -> None:
    with Served(tmp_path, "--workers", "2") as served, ExitStack() as opened:
        both = Both(served, opened)
        item = Api(both.reader, "moved").remember("Before.")
        link = Link(served.data, models=NO_MODELS)
        opened.callback(link.close)
        link.take_over()
        link.call(q.Remember(container="moved", facts=(q.NewFact(text="After."),)))
        for client in (both.owner, both.reader):
            assert [fact.text for fact in Api(client, "moved").facts()] == ["Before.", "After."]
        assert item.id is not None
        erased = link.call(q.Erase(container="moved", ids=(item.id,)))
        assert getattr(erased, "compaction", None) == "done"
        for client in (both.owner, both.reader):
            assert [fact.text for fact in Api(client, "moved").facts()] == ["After."]
        both.check()
        link.close()
        Api(both.owner, "moved").remember("Home again.")
        assert len(Api(both.reader, "moved").facts()) == 2
        reader, port = reader_of(served), served.port()
        served.kill()
        until(lambda: is_gone(reader))
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
        heir = Link(served.data, models=NO_MODELS)
        opened.callback(heir.close)
        heir.call(q.Remember(container="moved", facts=(q.NewFact(text="Inherited."),)))


def test_what_was_answered_while_it_stops_is_kept(tmp_path: Path) -> None:
    with Served(tmp_path, "--workers", "2") as served, ThreadPoolExecutor(8) as threads:
        reader_of(served)

        def work(number: int) -> list[str]:
            """Write and read until the server is gone; what was acknowledged."""
            done: list[str] = []
            with served.client() as client:
                while True:
                    text = f"Fact {number} {len(done)}."
                    try:
                        written = client.post("/v1/facts", json={"text": text})
                        if written.status_code == 503:
                            return done  # told that it is ending
                        assert written.status_code == 200, written.text
                        done.append(text)
                        found = client.get("/v1/facts", params={"limit": 1_000})
                        if found.status_code == 503:
                            return done
                        texts = {item["text"] for item in found.json()["items"]}
                        assert set(done) <= texts
                    except httpx.TransportError:
                        return done

        answers = [threads.submit(work, number) for number in range(8)]
        until(lambda: '"Remember",worker="1"' in metrics(served))
        os.kill(served.pid, signal.SIGTERM)
        acknowledged = {text for answer in answers for text in answer.result()}
        assert served.ended() == 0, served.printed
        assert "Traceback" not in served.printed, served.printed
    link = Link(tmp_path / "data", models=NO_MODELS)
    try:
        page = link.call(q.List(limit=1_000))
        assert acknowledged and acknowledged <= {item.text for item in getattr(page, "items", ())}
    finally:
        link.close()


def metrics(served: Served) -> str:
    with served.client() as client:
        return client.get("/metrics").text
