"""A chat server that tells its answers word by word, as a test says, on this machine only."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tests.integration.listening import listening

LONG_S = 60.0


class SpeakingServer:
    """`pieces` are its words, one event each. Before an event that is None it waits until `go_on`
    is set, and sets `waits`. It ends by `finish`.

    `mode`: `ok`; `whole` knows of no streams; `quits` closes the connection after its pieces;
    `html`, `error` (both 200), `broken` (an event that is no JSON), `trouble` (an event with an
    error), `away` (503), `key` (401). `refuses` is a field that it does not know.
    """

    def __init__(self) -> None:
        self.pieces: Sequence[str | None] = ()
        self.thoughts: Sequence[str] = ()
        self.whole = ""
        """What it says where no stream is asked for, if anything."""
        self.finish: str | None = "stop"
        self.mode = "ok"
        self.refuses = ""
        self.asked: list[dict[str, Any]] = []
        self.waits = threading.Event()
        self.go_on = threading.Event()
        self.left = threading.Event()
        """The client went before all was told."""
        self.url = ""

    @property
    def told(self) -> str:
        """What the last request said as the user."""
        content: str = self.asked[-1]["messages"][-1]["content"]
        return content


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    speaker: SpeakingServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""

    def out(self, status: int, body: Any) -> None:
        sent = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def do_GET(self) -> None:
        self.out(404, {"error": "no such address"})

    def do_POST(self) -> None:
        speaker = self.speaker
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        speaker.asked.append(asked)
        statuses = {"away": 503, "key": 401}
        if speaker.mode in statuses:
            return self.out(statuses[speaker.mode], {"error": {"message": "no"}})
        if speaker.refuses and speaker.refuses in asked:
            said = f"Unrecognized request argument supplied: {speaker.refuses}"
            return self.out(400, {"error": {"message": said}})
        if speaker.mode == "html":
            return self.out(200, "<html>upstream error</html>")
        if speaker.mode == "error":
            return self.out(200, {"error": {"message": "out of memory"}})
        whole = "" if asked.get("stream") else speaker.whole
        if speaker.mode == "whole" or whole:
            message = {"content": whole or "".join(each or "" for each in speaker.pieces)}
            choices = [{"finish_reason": speaker.finish, "message": message}]
            usage = {"prompt_tokens": 100, "completion_tokens": 9}
            return self.out(200, {"choices": choices, "usage": usage})
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        return self.events(anthropic=self.path.endswith("/messages"))

    def events(self, *, anthropic: bool) -> None:
        speaker = self.speaker
        for thought in speaker.thoughts:
            self.choice({"reasoning_content": thought})
        for piece in speaker.pieces:
            if piece is None:
                speaker.waits.set()
                self.wait()
            elif anthropic:
                delta = {"type": "text_delta", "text": piece}
                self.event({"type": "content_block_delta", "delta": delta})
            else:
                self.choice({"content": piece})
        if speaker.mode == "broken":
            self.wfile.write(b'data: {"choices": \n\n')
        if speaker.mode == "trouble":
            self.event({"error": {"message": "slot unavailable"}})
        if speaker.mode == "quits" or speaker.mode in ("broken", "trouble"):
            return
        usage = {"prompt_tokens": 100, "completion_tokens": 9}
        if anthropic:
            stop = {"stop": "end_turn", "length": "max_tokens"}.get(speaker.finish or "")
            self.event({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
            return
        self.choice({}, speaker.finish)
        self.event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def choice(self, delta: dict[str, Any], finish: str | None = None) -> None:
        self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def event(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def wait(self) -> None:
        """Until the test says so, or the client has gone."""
        speaker = self.speaker
        gone = threading.Thread(target=self.watch, daemon=True)
        gone.start()
        speaker.go_on.wait(LONG_S)

    def watch(self) -> None:
        speaker = self.speaker
        with contextlib.suppress(OSError):
            self.connection.settimeout(LONG_S)
            if not self.connection.recv(1):
                speaker.left.set()
                speaker.go_on.set()
                return
        speaker.left.set()


@contextlib.contextmanager
def speaking() -> Iterator[SpeakingServer]:
    """A running server on a free port."""
    speaker = SpeakingServer()
    handler = type("Handler", (_Handler,), {"speaker": speaker})
    with listening(handler) as speaker.url:
        try:
            yield speaker
        finally:
            speaker.go_on.set()
