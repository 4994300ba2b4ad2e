"""A model server of any role that answers what a test says, on this machine only."""

import contextlib
import http.server
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.integration.listening import listening

Answer = tuple[int, Any]
"""Status, and a body: JSON, or a text that is sent as it is."""

NO_SUCH: Answer = (404, {"error": "no such address"})


class FakeServer:
    """`answer` makes the reply to each POST from its path and body; `told` holds what GET tells.

    `asked` are the posts so far; `headers` the headers of each, by small letters.
    """

    def __init__(self) -> None:
        self.answer: Callable[[str, Any], Answer] = lambda path, asked: NO_SUCH
        self.told: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""

    def out(self, answer: Answer) -> None:
        status, body = answer
        sent = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def do_GET(self) -> None:
        told = self.fake.told.get(self.path)
        self.out(NO_SUCH if told is None else (200, told))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.fake.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.fake.asked.append((self.path, asked))
        self.out(self.fake.answer(self.path, asked))


@contextlib.contextmanager
def faking() -> Iterator[FakeServer]:
    """A running server on a free port."""
    fake = FakeServer()
    handler = type("Handler", (_Handler,), {"fake": fake})
    with listening(handler) as fake.url:
        yield fake
