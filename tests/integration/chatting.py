"""A chat server that does as it is told: a scripted one, on this machine only."""

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.integration.listening import listening

MODES: dict[str, Callable[[str], tuple[str | None, str, str]]] = {
    "ok": lambda good: (good, "", "stop"),
    "fence": lambda good: (f"```json\n{good}\n```", "", "stop"),
    "chatty": lambda good: (
        f"Sure, here it is:\n{good}\nShout if {{anything}} is off.", "", "stop",
    ),
    "think": lambda good: (f'<think>perhaps {{"facts":["draft"]}}?</think>\n{good}', "", "stop"),
    "comma": lambda good: (good[:-1] + ",}", "", "stop"),
    "cut": lambda good: (good[: len(good) * 2 // 3], "", "length"),
    "reason": lambda good: ("", good, "stop"),
    "budget": lambda good: ("", "hmm " * 400, "length"),
    "empty": lambda good: ("", "", "stop"),
    "null": lambda good: (None, "", "stop"),
    "other": lambda good: (json.dumps({"memories": [good]}), "", "stop"),
    "prose": lambda good: ("I found no facts {in} this text, sorry.", "", "stop"),
    "array": lambda good: (f"[{good}]", "", "stop"),
    "nan": lambda good: (good[:-1] + ', "score": NaN}', "", "stop"),
}  # fmt: skip
"""Mode -> content, reasoning and finish reason for what would be a good answer."""

Good = Callable[[str], Any]


class ChatServer:
    """`good` makes the answer from what the user's message says; `mode` spoils it.

    More modes: `html`, `slow` (until `go_on` is set), `away` (status 503), `key` (401), `broken`
    (500), `error` (200). `context` is how many characters a message may have, `refuses` a
    field that it does not know.
    """

    def __init__(self) -> None:
        self.mode = "ok"
        self.good: Good = lambda told: {"facts": []}
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.props: dict[str, Any] | None = None
        self.models: dict[str, Any] | None = None
        self.context: int | None = None
        self.usage: dict[str, Any] = {}
        self.refuses = ""
        self.error = "out of memory"
        self.forms = {"json_schema", "json_object", None}
        self.takes = {"max_tokens", "max_completion_tokens", "temperature"}
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.url = ""

    @property
    def told(self) -> list[str]:
        """What each request said as the user."""
        return [asked["messages"][1]["content"] for asked in self.asked]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    chat: ChatServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""

    def out(self, status: int, body: Any) -> None:
        sent = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def do_GET(self) -> None:
        told = {"/props": self.chat.props, "/v1/models": self.chat.models}.get(self.path)
        self.out(404 if told is None else 200, told or {"error": "no such address"})

    def do_POST(self) -> None:
        chat = self.chat
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/chat/completions":
            return self.out(404, {"error": "no such address"})
        chat.asked.append(asked)
        chat.keys.append(self.headers.get("authorization"))
        wrong = self.wrong(asked)
        if wrong is not None:
            return self.out(400, {"error": wrong})
        if chat.mode == "slow":
            chat.begun.set()
            chat.go_on.wait(60)
        statuses = {"away": 503, "key": 401, "broken": 500}
        if chat.mode in statuses:
            return self.out(statuses[chat.mode], {"error": {"message": "no"}})
        if chat.mode == "html":
            return self.out(200, "<html>upstream error</html>")
        if chat.mode == "error":
            return self.out(200, {"error": {"message": chat.error}})
        good = json.dumps(chat.good(asked["messages"][1]["content"]))
        content, reasoning, finish = MODES.get(chat.mode, MODES["ok"])(good)
        message = {"role": "assistant", "content": content, "reasoning_content": reasoning}
        choices = [{"finish_reason": finish, "message": message}]
        return self.out(200, {"choices": choices, "usage": chat.usage})

    def wrong(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        chat = self.chat
        size = sum(len(message["content"]) for message in asked["messages"])
        if chat.context is not None and size > chat.context:
            return {"type": "exceed_context_size_error", "message": "too long"}
        if chat.refuses and chat.refuses in asked:
            return {"message": f"Unrecognized request argument supplied: {chat.refuses}"}
        for name in ("max_tokens", "max_completion_tokens", "temperature"):
            if name in asked and name not in chat.takes:
                return {"param": name, "message": "unsupported"}
        if asked.get("response_format", {}).get("type") not in chat.forms:
            return {"message": "response_format is not supported"}
        return None


@contextlib.contextmanager
def chatting() -> Iterator[ChatServer]:
    """A running server on a free port."""
    chat = ChatServer()
    handler = type("Handler", (_Handler,), {"chat": chat})
    with listening(handler) as chat.url:
        try:
            yield chat
        finally:
            chat.go_on.set()
