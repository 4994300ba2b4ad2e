"""A real server in a process of its own, and a client that checks the form of every answer.

`Served` starts `python -m rewound.http serve` on a free port and ends it; `Api` asks it in one
container. Replies are decoded into the structs of `rewound.memory.replies` and must hold nothing
else; errors must have the one form that all errors have.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar, overload
from urllib.parse import urlsplit

import httpx
import msgspec

from rewound.memory import replies as r
from tests import loaded

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0

ADDRESS = re.compile(r"https?://(?:[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>[1-9]\d*)")

Json = Any
R = TypeVar("R", bound=r.Reply)


class Served:
    """A server on a data folder. It is started at once; `port` waits for its line."""

    def __init__(
        self, folder: Path, *args: str, settings: Mapping[str, str] | None = None, port: int = 0
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.runtime = Path(tempfile.mkdtemp(prefix="rw-"))  # sockets need a short path
        self.environment = environment(self.runtime, folder) | dict(settings or {})
        words = [sys.executable, "-m", "rewound.http", "serve", "--port", str(port)]
        words += ["--data", str(self.data), *args]
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._child = loaded.Popen[bytes](
            words,
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as printed:
            for line in printed:
                with self._changed:
                    self._lines.append(line.decode(errors="backslashreplace"))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    @property
    def printed(self) -> str:
        """All that the server has printed so far, on either stream."""
        with self._changed:
            return "".join(self._lines)

    @property
    def pid(self) -> int:
        return self._child.pid

    def port(self) -> int:
        """The port, once the server said where it listens."""

        def told() -> bool:
            return self._ended or ADDRESS.search("".join(self._lines)) is not None

        with self._changed:
            in_time = self._changed.wait_for(told, WAIT_S)
        found = ADDRESS.search(self.printed)
        assert found, f"{'no address' if in_time else 'not in time'}; it said:\n{self.printed}"
        return int(found["port"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port()}"

    def client(self, **more: Any) -> httpx.Client:
        """A client that asks nobody but this server, whatever proxies the environment names."""
        return httpx.Client(base_url=self.url, timeout=WAIT_S, trust_env=False, **more)

    def connect(self) -> socket.socket:
        """A bare connection, for requests that no client library would send."""
        opened = socket.create_connection(("127.0.0.1", self.port()), timeout=WAIT_S)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def raw(self, request: bytes) -> bytes:
        """What comes back for these very bytes, until the server closes the connection."""
        with self.connect() as opened:
            opened.sendall(request)
            return everything(opened)

    def ended(self) -> int:
        """The exit status of a server that ends by itself."""
        try:
            status = self._child.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it did not end; it said:\n{self.printed}") from None
        self._reading.join(WAIT_S)
        return status

    def stop(self) -> int:
        """Ask it to end, and wait until it has; a server that does not end is a failure."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
        return self.ended()

    def kill(self) -> None:
        self._child.kill()
        self._child.wait(WAIT_S)
        self._reading.join(WAIT_S)

    def alive(self) -> bool:
        return self._child.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.alive():
            self.kill()
        shutil.rmtree(self.runtime, ignore_errors=True)


def environment(runtime: Path, home: Path) -> dict[str, str]:
    """No settings but the tests' own, no proxies, no models."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if "REWOUND" not in name and not name.lower().endswith("_proxy")
    }
    return {
        **inherited,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "no-settings"),
        "XDG_RUNTIME_DIR": str(runtime),
        "PYTHONWARNINGS": "default",
        "REWOUND_EMBEDDER": "none",
        "REWOUND_EXTRACTOR": "none",
        "REWOUND_JUDGE": "none",
    }


@contextmanager
def serving(folder: Path, *args: str, **settings: str) -> Iterator[Served]:
    """A server that listens, for one test; it must end in good order when asked to."""
    with Served(folder, *args, settings=settings) as served:
        assert served.port()
        yield served
        assert served.alive(), f"the server died; it said:\n{served.printed}"
        assert served.stop() == 0, served.printed
        assert "Traceback" not in served.printed, served.printed


def everything(opened: socket.socket) -> bytes:
    """All bytes until the other side closes."""
    parts: list[bytes] = []
    while True:
        try:
            part = opened.recv(65536)
        except ConnectionResetError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)


class Api:
    """The native API in one container."""

    def __init__(self, client: httpx.Client, container: str) -> None:
        self.client = client
        self.container = container

    def within(self, container: str) -> "Api":
        """The same server, another container."""
        return Api(self.client, container)

    # --- any request

    def send(
        self, method: str, path: str, body: Json = None, *, key: str | None = None, **more: Any
    ) -> httpx.Response:
        """One request. `more` may hold `params`, `headers` and `content` (a body as bytes)."""
        headers = dict(more.pop("headers", {}))
        if body is not None:
            more["content"] = json.dumps(body).encode()
            headers.setdefault("content-type", "application/json")
        if key is not None:
            headers["idempotency-key"] = key
        response = self.client.request(method, path, headers=headers, **more)
        check_headers(response)
        assert response.status_code < 500, (method, path, response.text[:2000])
        return response

    def refused(
        self,
        status: int,
        code: str,
        method: str,
        path: str,
        body: Json = None,
        *,
        field: str | None = None,
        **more: Any,
    ) -> Json:
        """The error that a request gets."""
        response = self.send(method, path, body, **more)
        error = error_of(response)
        assert (response.status_code, error["code"]) == (status, code), response.text[:2000]
        if field is not None:
            assert error["field"] == field, error
            assert field in error["message"], error
        return error

    # --- in the container

    @overload
    def write(
        self, method: str, path: str, body: Json = None, *, key: str | None = None
    ) -> r.Written: ...

    @overload
    def write(
        self, method: str, path: str, body: Json, want: type[R], *, key: str | None = None
    ) -> R: ...

    def write(
        self, method: str, path: str, body: Json = None, want: Any = r.Written, **more: Any
    ) -> Any:
        """A request with a body that names the container, and its reply."""
        body = {"container": self.container, **(body or {})}
        return reply_of(self.send(method, path, body, **more), want)

    def read(self, path: str, want: type[R], **params: Any) -> R:
        """A GET whose query string names the container, and its reply."""
        given = {"container": self.container, **params}
        return reply_of(self.send("GET", path, params=given), want)

    def ask(self, path: str, want: type[R], **body: Any) -> R:
        """A question with a body, and its reply."""
        return self.write("POST", path, body, want)

    def delete(self, path: str, **params: Any) -> r.Forgot:
        given = {"container": self.container, **params}
        return reply_of(self.send("DELETE", path, params=given), r.Forgot)

    # --- what most tests need

    def remember(self, text: str, *, key: str | None = None, **more: Any) -> r.Item:
        written = self.write("POST", "/v1/facts", {"text": text, **more}, key=key)
        (item,) = written.items
        assert item.status != "refused", item
        return item

    def fact(self, text: str, **more: Any) -> str:
        """A new fact's id."""
        item = self.remember(text, **more).id
        assert item is not None
        return item

    def facts(self, **params: Any) -> list[r.View]:
        """All facts, page after page; none where the container is not there yet."""
        return list(self.pages("/v1/facts", **params))

    def pages(self, path: str, **params: Any) -> Iterator[r.View]:
        more: dict[str, Any] = {}
        while True:
            page = self.read(path, r.Page, **params, **more)
            yield from page.items
            assert page.has_more == (page.cursor is not None)
            if page.cursor is None:
                return
            more = {"cursor": page.cursor}

    def events(self, **params: Any) -> list[r.EventView]:
        """All events of the container."""
        found: list[r.EventView] = []
        after = 0
        while True:
            told = self.read("/v1/events", r.Told, limit=1000, after=after, **params)
            found += told.events
            if told.next is None:
                return found
            after = told.next

    def found(self, query: str, **more: Any) -> list[str]:
        """The texts that a question finds."""
        return [hit.text for hit in self.ask("/v1/search", r.Found, query=query, **more).hits]

    def gapless(self) -> bool:
        positions = [event.position for event in self.events()]
        return positions == list(range(1, len(positions) + 1))


def check_headers(response: httpx.Response) -> None:
    """What every JSON answer carries."""
    said = f"{response.request.method} {response.request.url}: {dict(response.headers)}"
    assert response.headers.get("x-content-type-options") == "nosniff", said
    assert response.headers.get("x-request-id"), said
    kind = response.headers.get("content-type")
    assert kind == "application/json; charset=utf-8" or not response.content, said


def reply_of(response: httpx.Response, want: type[R]) -> R:
    """The reply, which holds what its struct says and nothing else."""
    assert response.is_success, (response.status_code, response.text[:2000])
    told = msgspec.json.decode(response.content, type=want)
    assert json.loads(msgspec.json.encode(told)) == json.loads(response.content)
    if isinstance(told, r.Written):
        refused = [item for item in told.items if item.status == "refused"]
        assert told.refused == len(refused), told
        for item in refused:
            assert item.code and item.message and item.id is None and item.event is None, item
    return told


def error_of(response: httpx.Response) -> Json:
    """The error that a response holds, in the one form of all errors."""
    assert response.status_code >= 400, (response.status_code, response.text[:500])
    assert response.headers["content-type"] == "application/json; charset=utf-8", response.text
    told = response.json()
    assert list(told) == ["error"], told
    error = told["error"]
    assert set(error) == {"code", "message", "field", "ids"}, error
    assert isinstance(error["code"], str) and error["code"]
    assert isinstance(error["message"], str) and error["message"]
    assert error["field"] is None or (isinstance(error["field"], str) and error["field"])
    assert isinstance(error["ids"], list)
    assert "Traceback" not in response.text and ".py" not in error["message"], response.text
    return error


def host_of(url: str) -> str:
    return urlsplit(url).netloc
