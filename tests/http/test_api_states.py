"""What a store's own state does to its answers: full, read-only, behind, owned by another."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from rewound.http.app import SERVED, application
from rewound.http.gatekeeping import doorstep
from rewound.http.limits import Limits
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.link import Link
from tests import loaded
from tests.cases.given import Clock
from tests.http.serving import Api, Served, error_of, reply_of, serving

MIB = 1 << 20

LONG_WORD = "word" * 15 + " "
"""Texts of such words fill a disk fast: there are few words in them to index."""


# --- a full disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_a_507_and_the_server_lives(disk: Path) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(b"\1" * (4 * MIB))
    with serving(disk) as served, served.client() as client:
        api = Api(client, "s")
        first = api.fact("The first fact.", tags=["first"])
        kept, refusal = filled(client)
        error = error_of(refusal)
        told = (refusal.status_code, error["code"])
        assert told in ((507, "store_full"), (503, "store_busy")), told
        assert [view.text for view in api.facts(limit=1000)] == ["The first fact.", *kept]
        assert "The first fact." in api.found("first fact")
        assert client.get("/health").status_code in (200, 503)
        gone = api.delete(f"/v1/facts/{first}")
        assert gone.count == 1, "forgetting works when the disk is full"
        ballast.unlink()
        api.fact("With room again.")
        assert [view.text for view in api.facts(limit=1000)] == [*kept, "With room again."]
        assert reply_of(api.send("POST", "/v1/verify", {}), r.Verified).ok


def filled(client: httpx.Client) -> tuple[list[str], httpx.Response]:
    """Facts of 9 KB until one is refused: the texts that were taken, and the refusal."""
    kept: list[str] = []
    for number in range(3_000):
        text = f"Filler {number}: {LONG_WORD * 150}."
        response = client.post("/v1/facts", json={"container": "s", "text": text})
        if not response.is_success:
            return kept, response
        kept.append(text)
    raise AssertionError("the disk was never full")


# --- a clock that was set back


def test_a_store_from_the_future_is_read_only_until_accepted(tmp_path: Path) -> None:
    with Memory(tmp_path / "data", "s", clock=Clock("2199-01-01T00:00:00Z")) as memory:
        memory.remember("From the future.")
    with serving(tmp_path) as served, served.client() as client:
        api = Api(client, "s")
        assert [view.text for view in api.facts()] == ["From the future."]
        body = {"container": "s", "text": "Now."}
        for _ in range(2):
            response = client.post("/v1/facts", json=body)
            error = error_of(response)
            assert (response.status_code, error["code"]) == (503, "read_only"), error
            assert "accept" in error["message"]
        health = client.get("/health")
        assert health.json()["status"] != "ok", health.text
        figures = api.read("/v1/stats", r.Figures)
        assert figures.read_only
        reply_of(api.send("POST", "/v1/accept-clock", {}), r.Accepted)
        api.fact("Now.")
        assert {view.text for view in api.facts()} == {"From the future.", "Now."}


def test_health_is_ok_again_when_the_clock_is_accepted(tmp_path: Path) -> None:
    with Memory(tmp_path / "data", "s", clock=Clock("2199-01-01T00:00:00Z")) as memory:
        memory.remember("From the future.")
    answers = answered(
        Link(tmp_path / "data"),
        Limits(fresh_s=0.0),
        ("GET", "/health", {}),
        ("POST", "/v1/accept-clock", {"json": {}}),
        ("GET", "/health", {}),
    )
    assert [status for status, _, _ in answers] == [200, 200, 200]
    assert [told.get("status") for _, _, told in answers] == ["degraded", None, "ok"]


Asked = tuple[str, str, dict[str, Any]]
Answered = tuple[int, Mapping[str, str], Any]


def answered(link: Link, limits: Limits, *requests: Asked) -> list[Answered]:
    """Status, headers and body for each request, by a server in this process whose waits are
    shorter than those of `rewound serve`. The link is closed after."""

    async def ask() -> list[Answered]:
        app = application(link, doorstep("127.0.0.1", None, None), limits, id_prefix="t")
        app.on_cleanup.append(close)
        answers: list[Answered] = []
        async with TestClient(TestServer(app)) as client:
            for method, path, more in requests:
                response = await client.request(method, path, **more)
                answers.append((response.status, response.headers, await response.json()))
        return answers

    async def close(app: web.Application) -> None:
        await asyncio.to_thread(app[SERVED].desk.close)

    return asyncio.run(ask())


# --- a position that is not there yet


def test_a_position_that_does_not_come_is_told_in_bounded_time(tmp_path: Path) -> None:
    """The bound is the link's, which a server leaves at half a minute."""
    with Memory(tmp_path / "data", "s") as memory:
        memory.remember("A fact.")
    ((status, headers, told),) = answered(
        Link(tmp_path / "data", wait_s=0.2),
        Limits(),
        ("GET", "/v1/facts", {"params": {"container": "s", "at_least": "99999999"}}),
    )
    assert (status, told["error"]["code"]) == (503, "store_busy"), told
    assert "99999999" in told["error"]["message"]
    assert int(headers["Retry-After"]) >= 1


# --- other programs at the same store


def test_a_program_that_owns_the_store_and_a_server_share_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "data", "s") as memory:
        memory.remember("Before the server.")
        with serving(tmp_path) as served, served.client() as client:
            api = Api(client, "s")
            api.fact("By the server.")
            memory.remember("By the program.")
            api.fact("By the server again.")
            texts = [view.text for view in api.facts()]
            assert texts == [item.text for item in memory.list().items]
            assert len(texts) == 4
        memory.remember("After the server.")
        assert memory.list().total == 5
        assert memory.verify().ok


def test_two_servers_on_one_store_give_the_same_answers(tmp_path: Path) -> None:
    with serving(tmp_path) as first, first.client() as one:
        settings = {"XDG_RUNTIME_DIR": str(first.runtime)}
        with Served(tmp_path, settings=settings) as second, second.client() as two:
            apis = [Api(one, "s"), Api(two, "s")]
            for number in range(20):
                apis[number % 2].fact(f"Fact {number}.")
            told = [api.send("GET", "/v1/facts", params={"container": "s"}).json() for api in apis]
            assert told[0] == told[1] and len(told[0]["items"]) == 20
            assert second.stop() == 0
        apis[0].fact("After the second.")
        assert len(apis[0].facts()) == 21


def test_the_command_line_works_beside_the_server(api: Api, served: Served) -> None:
    command = [sys.executable, "-m", "rewound.http", "--data", str(served.data), "--json"]
    command += [f"--container={api.container}"]
    for args in (["remember", "By the command line."], ["search", "command line"]):
        done = loaded.run([*command, *args], env=served.environment, timeout=60)
        assert done.returncode == 0, done.stderr
    assert [hit["text"] for hit in json.loads(done.stdout)["hits"]] == ["By the command line."]
    assert [view.text for view in api.facts()] == ["By the command line."]
