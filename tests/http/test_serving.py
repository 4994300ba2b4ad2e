"""The server as a process: it starts, answers, says where, and ends without losing anything."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from rewound.http.connections import TurnedAway
from rewound.http.limits import Limits
from rewound.http.serving import Address, address_of, bound
from rewound.memory.link import Link
from rewound.memory.replies import Page
from rewound.memory.requests import List
from tests import loaded
from tests.http.serving import WAIT_S, Served, environment, serving


def refused(folder: Path, *args: str, **settings: str) -> str:
    """What `serve` says when it does not start."""
    with Served(folder, *args, settings=settings) as served:
        assert served.ended() == 2, served.printed
        return served.printed


def kept(data: Path) -> list[str]:
    """The facts that a store holds."""
    link = Link(data)
    try:
        page = link.call(List(limit=1000))
        assert isinstance(page, Page)
        return [item.text for item in page.items]
    finally:
        link.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("heeding_interrupts")
def test_it_says_where_answers_and_ends_when_told(tmp_path: Path, number: signal.Signals) -> None:
    with Served(tmp_path) as served, served.client() as client:
        assert f"http://127.0.0.1:{served.port()}" in served.printed
        assert client.get("/health").json()["status"] == "ok"
        written = client.post("/v1/facts", content=b'{"text": "Nina works."}')
        assert written.status_code == 200
        os.kill(served.pid, number)
        assert served.ended() == 0, served.printed
        with pytest.raises(httpx.ConnectError):
            client.get("/health")
    assert kept(tmp_path / "data") == ["Nina works."]


def test_what_is_under_way_is_finished_before_it_ends(tmp_path: Path) -> None:
    """Every write that was answered is there, and none that was refused."""
    refused: set[str] = set()
    with Served(tmp_path) as served, ThreadPoolExecutor(8) as threads:
        served.port()

        def write(number: int) -> str | None:
            text = f"Fact number {number}."
            try:
                with served.client() as client:
                    response = client.post("/v1/facts", json={"text": text})
            except httpx.TransportError:
                return None  # it had stopped listening
            if response.status_code == 503:
                assert "the server is ending" in response.text
                refused.add(text)  # its body had not come whole
                return None
            assert response.status_code == 200, response.text
            return text

        answers = [threads.submit(write, number) for number in range(64)]
        for answer in answers[:5]:
            answer.result()
        os.kill(served.pid, signal.SIGTERM)
        answered = {text for answer in answers if (text := answer.result()) is not None}
        assert served.ended() == 0, served.printed
        assert "Traceback" not in served.printed
    there = set(kept(tmp_path / "data"))
    assert 5 <= len(answered) and answered <= there and not refused & there


@pytest.mark.parametrize("key", ["", "  "])
def test_it_refuses_to_listen_to_all_the_world_without_a_key(tmp_path: Path, key: str) -> None:
    said = refused(tmp_path, "--host", "0.0.0.0", REWOUND_API_KEY=key)
    assert "REWOUND_API_KEY" in said and "REWOUND_ALLOW_OPEN" in said
    assert not (tmp_path / "data" / "log").exists()


@pytest.mark.parametrize(
    "settings", [{"REWOUND_ALLOW_OPEN": "1"}, {"REWOUND_API_KEY": "a-long-key"}]
)
def test_it_does_with_one_or_when_told_to(tmp_path: Path, settings: dict[str, str]) -> None:
    key = {"authorization": f"Bearer {settings.get('REWOUND_API_KEY', '-')}"}
    with serving(tmp_path, "--host", "0.0.0.0", **settings) as served, served.client() as client:
        assert client.get("/v1/containers", headers=key).status_code == 200
        strange = client.get("/v1/containers")
        assert strange.status_code == (200 if "REWOUND_ALLOW_OPEN" in settings else 401)
        assert "a-long-key" not in served.printed


def test_a_port_in_use_costs_nobody_the_store(tmp_path: Path) -> None:
    """It is told before the owner is asked to hand over."""
    with serving(tmp_path) as served, served.client() as client:
        told = loaded.run(
            [sys.executable, "-m", "rewound.http", "serve", "--port", str(served.port()),
             "--data", str(served.data)],
            env=environment(served.runtime, tmp_path), text=True, timeout=60,
        )  # fmt: skip
        assert told.returncode == 2 and "cannot listen" in told.stderr
        assert str(served.port()) in told.stderr
        assert client.get("/health").json()["parts"]["store"]["owned"] is True


def test_a_second_server_takes_the_store_and_the_first_goes_on_through_it(tmp_path: Path) -> None:
    with serving(tmp_path) as first, first.client() as client:
        assert client.post("/v1/facts", json={"text": "Before."}).status_code == 200
        told = loaded.Popen[bytes](
            [sys.executable, "-m", "rewound.http", "serve", "--port", "0", "--json",
             "--data", str(first.data)],
            env=environment(first.runtime, tmp_path), stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert told.stdout is not None
            serving_line = json.loads(told.stdout.readline())
            assert serving_line["reply"] == "Serving" and serving_line["owns"] is True
            assert client.get("/health").json()["parts"]["store"]["owned"] is False
            assert client.post("/v1/facts", json={"text": "After."}).status_code == 200
            address = serving_line["address"]
            with httpx.Client(base_url=address, trust_env=False, timeout=WAIT_S) as other:
                found = other.get("/v1/facts").json()["items"]
            assert [item["text"] for item in found] == ["Before.", "After."]
        finally:
            told.terminate()
            told.communicate(timeout=60)
        assert told.returncode == 0
        assert client.post("/v1/facts", json={"text": "Alone."}).status_code == 200


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"REWOUND_ALLOWED_HOSTS": "https://x/"}, "allowed_hosts"),
        ({"REWOUND_PORT": "70000"}, "port of"),
        ({"REWOUND_MAX_BODY_MB": "0"}, "max_body_mb"),
        ({"REWOUND_ALLOW_OPEN": "maybe"}, "allow_open"),
    ],
)
def test_a_setting_that_cannot_be_is_told(
    tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    port = [] if "REWOUND_PORT" in settings else ["--port", "0"]
    done = loaded.run(
        [sys.executable, "-m", "rewound.http", "serve", *port, "--data", str(tmp_path / "data")],
        env=environment(tmp_path, tmp_path) | settings, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr


def test_an_address_that_is_not_ours_is_told(tmp_path: Path) -> None:
    said = refused(tmp_path, "--host", "192.0.2.1", REWOUND_API_KEY="k")
    assert "cannot listen on 192.0.2.1" in said


# --- pieces


def test_free_ports_are_the_same_for_all_families_of_a_name() -> None:
    sockets = bound("localhost", 0, Limits())
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        address = address_of(sockets, "localhost")
        assert str(address) == f"http://localhost:{address.port}" and address.port > 0
    finally:
        for one in sockets:
            one.close()
    assert str(Address("::1", 80)) == "http://[::1]:80"


def test_one_connection_too_many_is_told_so(tmp_path: Path) -> None:
    class Wire:
        def __init__(self) -> None:
            self.sent = b""
            self.closed = False

        def write(self, data: bytes) -> None:
            self.sent += data

        def close(self) -> None:
            self.closed = True

    wire = Wire()
    TurnedAway().connection_made(wire)  # type: ignore[arg-type]
    head, _, body = wire.sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1" in head
    assert f"content-length: {len(body)}".encode() in head
    assert json.loads(body)["error"]["code"] == "store_busy"
    assert wire.closed
