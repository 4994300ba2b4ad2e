"""Model servers that can be killed, hung and slowed down: scripted ones, on this machine only."""

import contextlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.integration.listening import kept_port

Good = Callable[[str], Any]


class ScriptedNode:
    """A server of llama.cpp's manners. `good` makes an answer of what the user's message says.

    Every call takes `delay_s`; while `go_on` is not set it hangs, and so do looks at its health.
    While `tells` is not set it tells nothing of itself. `within` is called in the middle of each
    call. `status` is sent instead of an answer.
    """

    def __init__(self, slots: int = 1) -> None:
        self.slots = slots
        self.good: Good = lambda told: {"facts": []}
        self.delay_s = 0.0
        self.status = 200
        self.within: Callable[[], object] = lambda: None
        self.go_on = threading.Event()
        self.go_on.set()
        self.tells = threading.Event()
        self.tells.set()
        self.told: list[str] = []
        self.inside = 0
        self.most = 0
        self.asked = threading.Event()
        self.lock = threading.Lock()
        self.sockets: set[socket.socket] = set()
        self._kept = kept_port()
        self.port: int = self._kept.getsockname()[1]
        self._server: http.server.ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.revive()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def well(self) -> bool:
        """What a look would find, without the time that it takes."""
        return self._server is not None and self.go_on.is_set()

    def revive(self) -> None:
        """Listen, where it did before."""
        handler = type("Handler", (_Handler,), {"node": self})
        server = _Server(("127.0.0.1", self.port), handler)
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True
        )
        self._thread.start()

    def kill(self) -> None:
        """Listen no more, and break off what is under way."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = None
        with self.lock:
            sockets = list(self.sockets)
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def hang(self) -> None:
        self.go_on.clear()

    def close(self) -> None:
        """Let whoever hangs go, and be there no more."""
        self.go_on.set()
        self.kill()
        self._kept.close()


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False


class _Handler(http.server.BaseHTTPRequestHandler):
    node: ScriptedNode

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed."""

    def setup(self) -> None:
        super().setup()
        with self.node.lock:
            self.node.sockets.add(self.request)

    def handle(self) -> None:
        if self.server is self.node._server:  # else it was killed before this thread got its turn
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        with self.node.lock:
            self.node.sockets.discard(self.request)

    def out(self, status: int, body: Any) -> None:
        sent = json.dumps(body).encode()
        with contextlib.suppress(OSError):  # it was killed, or nobody waits any more
            self.send_response(status)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    def do_GET(self) -> None:
        node = self.node
        if self.path in ("/health", "/slots"):
            node.go_on.wait(60)
        node.tells.wait(60)
        told: dict[str, Any] = {
            "/health": {"status": "ok"},
            "/props": {
                "total_slots": node.slots,
                "default_generation_settings": {"n_ctx": 8192},
            },
            "/slots": [{"is_processing": at < node.inside} for at in range(node.slots)],
            "/v1/models": {"data": [{"id": "toy"}]},
        }
        found = told.get(self.path)
        self.out(404 if found is None else 200, found or {"error": "no such address"})

    def do_POST(self) -> None:
        node = self.node
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with node.lock:
            node.inside += 1
            node.most = max(node.most, node.inside)
        node.asked.set()
        try:
            node.within()
            time.sleep(node.delay_s)
            node.go_on.wait(60)
            status, body = self._answer(asked)
        finally:
            with node.lock:
                node.inside -= 1
        self.out(status, body)

    def _answer(self, asked: dict[str, Any]) -> tuple[int, Any]:
        node = self.node
        if node.status != 200:
            return node.status, {"error": {"message": "no"}}
        if self.path == "/v1/embeddings":
            with node.lock:
                node.told += asked["input"]
            return 200, {
                "data": [
                    {"index": at, "embedding": [1.0, float(len(text))]}
                    for at, text in enumerate(asked["input"])
                ]
            }
        if self.path == "/v1/rerank":
            texts = asked["documents"]
            scored = [{"index": at, "relevance_score": 1.0 - at / 10} for at, _ in enumerate(texts)]
            return 200, {"results": scored}
        if self.path != "/v1/chat/completions":
            return 404, {"error": "no such address"}
        told = asked["messages"][1]["content"]
        with node.lock:
            node.told.append(told)
        message = {"role": "assistant", "content": json.dumps(node.good(told))}
        return 200, {"choices": [{"finish_reason": "stop", "message": message}]}


@contextlib.contextmanager
def nodes(count: int = 1, slots: int = 1) -> Iterator[list[ScriptedNode]]:
    """Running servers on free ports."""
    made = [ScriptedNode(slots) for _ in range(count)]
    try:
        yield made
    finally:
        for node in made:
            node.close()
