"""What a look at a server finds."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from rewound.llm.looking import Looker, Seen
from rewound.llm.nodes import Node, endpoints_of
from tests.integration.chatting import chatting
from tests.integration.noding import nodes


@contextlib.contextmanager
def looking(url: str, timeout_s: float = 10.0) -> Iterator[Looker]:
    (endpoint,) = endpoints_of(Node(name="n", urls={"chat": url}, key="K"))
    with contextlib.closing(Looker(endpoint, timeout_s)) as looker:
        yield looker


def test_slots_and_what_they_do_are_told() -> None:
    with nodes(1, slots=3) as (server,), looking(f"{server.url}/v1") as look:
        assert look() == Seen(True, 3, 0)
        server.inside = 2
        assert look() == Seen(True, 3, 2)
        server.inside = 0


def test_one_that_tells_nothing_is_there_all_the_same() -> None:
    with chatting() as chat, looking(chat.url) as look:
        assert look() == look() == Seen(True)


def test_nobody_is_there() -> None:
    with nodes(1) as (server,), looking(server.url) as look:
        server.kill()
        assert look() == Seen(False)
        server.slots = 5
        server.revive()
        assert look() == Seen(True, 5, 0), "what came back may be another one"


def test_what_does_not_answer_in_time_is_not_there() -> None:
    with nodes(1) as (server,), looking(server.url, 0.02) as look:
        server.hang()
        assert look() == Seen(False)


class Dripping(http.server.BaseHTTPRequestHandler):
    """Answers byte by byte, each soon after the one before, without an end."""

    gone = threading.Event()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.gone.wait(0.005):
                self.wfile.write(b" ")


def test_an_answer_without_an_end_is_none() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
    try:
        with looking(f"http://127.0.0.1:{server.server_port}", 0.5) as look:
            assert look() == Seen(False)
    finally:
        Dripping.gone.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("url", "verified"), [("https://a", True), ("HTTPS://a", True), ("http://a", False)]
)
def test_a_key_is_shown_to_no_server_whose_certificate_is_not_looked_at(
    url: str, verified: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bool] = []
    client = httpx.Client

    def making(*, verify: bool, **given: Any) -> httpx.Client:
        made.append(verify)
        return client(**given)

    monkeypatch.setattr(httpx, "Client", making)
    with looking(url):
        assert made == [verified]
