#!/usr/bin/env python3
"""An MCP server of one file: hands every call of a tool on to a Rewound server over HTTP.

It needs Python 3.9 or newer and nothing else. Let an MCP client start it on its standard input and
output (`python3 bridge.py`), with these in its environment:

    REWOUND_URL         where the server is (http://127.0.0.1:8900)
    REWOUND_CONTAINER   which memory to use (default)
    REWOUND_API_KEY     the server's key, if it has one

It ends with its input and with its parent, and on SIGTERM.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

DEFAULT_URL = "http://127.0.0.1:8900"
CALL_S = 60.0  # how long a call may take
LOOK_S = 5.0  # and the question what tools there are
FRESH_S = 60.0  # the answer to it is asked for anew after so long
AGAIN_S = 3.0  # between two looks whether an absent server is back
PARENT_S = 1.0  # between two looks whether the parent lives
CALLS_AT_ONCE = 8
WAITING_MAX = 64
LINE_BYTES_MAX = 32 << 20  # a server takes no more at once either

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = (
    -32700, -32600, -32601, -32602, -32603,
)  # fmt: skip


class Unanswered(Exception):
    """The server did not answer as it should. The message is for the reader of a tool's error."""


class Wrong(Exception):
    """A message that cannot be answered but by a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Stay(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: the key is for the server that was named, and for no other."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class Server:
    """The Rewound server."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.url = (environment.get("REWOUND_URL", "").strip() or DEFAULT_URL).rstrip("/")
        self.container = environment.get("REWOUND_CONTAINER", "").strip() or "default"
        self._key = environment.get("REWOUND_API_KEY", "").strip()
        self._fault = self._settings_fault()
        parts = urllib.parse.urlsplit(self.url) if self._fault is None else None
        near = parts is not None and parts.hostname in ("127.0.0.1", "localhost", "::1")
        # a proxy of http reads along, the key too; one of https only hands on what is encrypted
        sealed = parts is not None and parts.scheme == "https" and not near
        proxies = urllib.request.ProxyHandler(None if sealed else {})
        self._opener = urllib.request.build_opener(Stay, proxies)
        self._guard = threading.Lock()
        self._told: dict[str, Any] | None = None
        self._told_at = 0.0

    def _settings_fault(self) -> str | None:
        """What is wrong with the environment. Never shows a password or key."""
        try:
            parts = urllib.parse.urlsplit(self.url)
            whole = parts.scheme in ("http", "https") and bool(parts.hostname)
            if parts.username is not None or parts.password is not None:
                return "REWOUND_URL must not hold a password: put the key into REWOUND_API_KEY"
            whole = whole and (parts.port is None or parts.port > 0)
        except ValueError:
            whole = False
        if not whole or not self.url.isascii() or any(char.isspace() for char in self.url):
            return f"REWOUND_URL must be an address such as {DEFAULT_URL}"
        if not (self._key.isascii() and self._key.isprintable()):
            return "REWOUND_API_KEY must be plain ASCII text"
        return None

    def told(self) -> dict[str, Any]:
        """Name, instructions and tools; the last ones known while the server is away."""
        with self._guard:
            if self._told is None or time.monotonic() - self._told_at > FRESH_S:
                try:
                    self._told = self._ask("GET", "/connect/tools.json", None, None, LOOK_S)
                    self._told_at = time.monotonic()
                except Unanswered:
                    if self._told is None:
                        raise
            told: dict[str, Any] = self._told
            return told

    def call(self, name: Any, arguments: Any) -> dict[str, Any]:
        """What a tool answers. Tried twice if the connection breaks: the key makes it one write."""
        body = {"container": self.container, "name": name, "arguments": arguments}
        raw = json.dumps(body).encode()
        key = f"bridge-{os.urandom(16).hex()}"
        result = self._ask("POST", "/connect/call", raw, key, CALL_S)
        if not isinstance(result.get("content"), list):
            raise Unanswered(f"{self._name()} gave an answer that is none: is it a Rewound server?")
        return result

    def _name(self) -> str:
        return f"the Rewound server at {self.url} (REWOUND_URL)"

    def _ask(
        self, method: str, path: str, body: bytes | None, key: str | None, wait_s: float
    ) -> dict[str, Any]:
        if self._fault is not None:
            raise Unanswered(self._fault)
        headers = {"Accept": "application/json", "User-Agent": "rewound-bridge"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        try:
            try:
                return self._read(request, wait_s)
            except (ConnectionError, http.client.HTTPException):
                return self._read(request, wait_s)
        except urllib.error.HTTPError as error:
            with error:
                raise Unanswered(self._refusal(error)) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unanswered(self._absence(error, wait_s)) from None

    def _read(self, request: urllib.request.Request, wait_s: float) -> dict[str, Any]:
        try:
            with self._opener.open(request, timeout=wait_s) as response:
                answer = json.loads(response.read().decode("utf-8"))
        except urllib.error.URLError as error:
            if isinstance(error.reason, ConnectionError):
                raise error.reason from None
            raise
        if not isinstance(answer, dict):
            raise ValueError("no JSON object")
        return answer

    def _absence(self, error: Exception, wait_s: float) -> str:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError) or "timed out" in str(reason):
            return f"{self._name()} did not answer within {wait_s:.0f} seconds: try again"
        if isinstance(error, ValueError) and not isinstance(error, OSError):
            return f"{self._name()} did not answer in JSON: is it a Rewound server?"
        words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return (
            f"{self._name()} cannot be reached: {words}. Start it with `rewound serve`, or correct "
            "REWOUND_URL"
        )

    def _refusal(self, error: urllib.error.HTTPError) -> str:
        said = _message(error)
        if error.code == 401 and not self._key:
            return f"{self._name()} wants a key: set REWOUND_API_KEY"
        if error.code == 401:
            return f"{self._name()} does not accept the key in REWOUND_API_KEY"
        if error.code == 413:
            return f"{self._name()} does not take so much at once. {said}"
        if error.code == 503:
            return f"{self._name()} is busy: try again in a moment. {said}"
        if error.code == 404 or 300 <= error.code < 400:
            return f"{self._name()} has no bridge (HTTP {error.code}): correct REWOUND_URL"
        return f"{self._name()} refused this (HTTP {error.code}). {said}"


def _message(error: urllib.error.HTTPError) -> str:
    """What the body of a refusal says."""
    try:
        told = json.loads(error.read(65536).decode("utf-8"))["error"]
        return str(told["message"] if isinstance(told, dict) else told)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return ""


class Output:
    """Standard output, kept for JSON-RPC alone: whatever else prints, prints to standard error."""

    def __init__(self) -> None:
        self._fd = os.dup(1)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout = sys.stderr
        self._guard = threading.Lock()
        self.gone = False

    def send(self, message: dict[str, Any]) -> None:
        view = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        with self._guard:
            while view and not self.gone:
                try:
                    view = view[os.write(self._fd, view) :]
                except OSError:
                    self.gone = True


class Bridge:
    """One client's conversation."""

    def __init__(self, server: Server, output: Output) -> None:
        self._server = server
        self._output = output
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = threading.BoundedSemaphore(WAITING_MAX)
        self._workers = ThreadPoolExecutor(CALLS_AT_ONCE)
        self._cancelled: set[Any] = set()
        self._watching = threading.Lock()
        self._over = threading.Event()

    def run(self) -> None:
        """Answer until the input ends, the parent dies or a signal comes; finish what was begun."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._lines.put(None))
        parent = os.getppid()
        threading.Thread(target=self._listen, daemon=True).start()
        while os.getppid() == parent and not self._output.gone:
            try:
                line = self._lines.get(timeout=PARENT_S)
            except queue.Empty:
                continue
            if line is None:
                break
            self._workers.submit(self._take, line)
        self._over.set()
        self._workers.shutdown(wait=True)

    def _listen(self) -> None:
        for line in lines_of(lambda: os.read(0, 1 << 16), LINE_BYTES_MAX):
            if line is None:
                said = f"a message holds at most {LINE_BYTES_MAX >> 20} MB: send less at a time"
                error = {"code": INVALID_REQUEST, "message": said}
                self._output.send({"jsonrpc": "2.0", "id": None, "error": error})
                continue
            self._room.acquire()
            self._lines.put(line)
        self._lines.put(None)

    def _take(self, line: bytes) -> None:
        try:
            self._answer(line)
        except Exception as error:  # told by its type: what it says may quote a memory
            print(f"rewound bridge: {type(error).__name__}", file=sys.stderr)
        finally:
            self._room.release()

    def _answer(self, line: bytes) -> None:
        if not line.strip():
            return
        number = None
        try:
            message = _parsed(line)
            number = message.get("id")
            if "method" not in message or number is None:
                self._heed(message)
                return
            answer = {"result": self._result(message["method"], message.get("params") or {})}
        except Wrong as wrong:
            answer = {"error": {"code": wrong.code, "message": str(wrong)}}
        if number is None or number not in self._cancelled:
            self._output.send({"jsonrpc": "2.0", "id": number, **answer})

    def _heed(self, notification: dict[str, Any]) -> None:
        if notification.get("method") == "notifications/cancelled":
            number = (notification.get("params") or {}).get("requestId")
            if isinstance(number, (int, str)):
                self._cancelled.add(number)

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        version = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
        enveloped = version is not None
        if enveloped and version != ENVELOPE_VERSION:
            raise Wrong(INVALID_PARAMS, f"this server speaks {ENVELOPE_VERSION}")
        if method == "initialize" and not enveloped:
            return self._initialized(params)
        if method == "ping":
            return {}
        if method == "tools/call":
            result = self._called(params)
        elif method == "tools/list":
            result = {"tools": self._tools()}
        elif method == "server/discover" and enveloped:
            result = {"supportedVersions": [ENVELOPE_VERSION], **self._greeting()}
            result.pop("serverInfo")
        else:
            raise Wrong(NO_METHOD, f"this server has no {method[:100]}")
        return self._in_envelope(method, result) if enveloped else result

    def _in_envelope(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        info = self._greeting()["serverInfo"] if method != "tools/call" else {"name": "rewound"}
        info = {"version": "", **info}
        kept = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
        return {
            **result, **kept, "resultType": "complete", "_meta": {META + "serverInfo": info},
        }  # fmt: skip

    def _initialized(self, params: dict[str, Any]) -> dict[str, Any]:
        version = params.get("protocolVersion")
        known = version in HANDSHAKE_VERSIONS
        return {"protocolVersion": version if known else HANDSHAKE_VERSIONS[-1], **self._greeting()}

    def _greeting(self) -> dict[str, Any]:
        """What the server tells of itself; an absent one must not keep a client from starting."""
        try:
            told = self._server.told()
            info, instructions = told["serverInfo"], told["instructions"]
        except (Unanswered, KeyError) as error:
            info = {"name": "rewound", "version": ""}
            instructions = f"The long-term memory is out of reach now: {error}. Tell the user."
        return {
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": info,
            "instructions": instructions,
        }

    def _tools(self) -> Any:
        try:
            return self._server.told()["tools"]
        except (Unanswered, KeyError) as error:
            self._workers.submit(self._watch)
            raise Wrong(INTERNAL, str(error)) from None

    def _watch(self) -> None:
        """Wait for the server to come back, then say that the tools have changed."""
        if not self._watching.acquire(blocking=False):
            return
        try:
            while not self._over.wait(AGAIN_S):
                try:
                    self._server.told()
                except Unanswered:
                    continue
                changed = "notifications/tools/list_changed"
                self._output.send({"jsonrpc": "2.0", "method": changed})
                return
        finally:
            self._watching.release()

    def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._server.call(params.get("name"), params.get("arguments"))
        except Unanswered as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def lines_of(read: Callable[[], bytes], bytes_max: int) -> Iterator[bytes | None]:
    """The lines of what is read in pieces; None for one that is longer and was not kept."""
    parts: list[bytes] = []
    size = 0
    while True:
        piece = read()
        *ended, rest = piece.split(b"\n")
        for part in ended:
            size += len(part)
            parts.append(part)
            yield b"".join(parts) if size <= bytes_max else None
            parts, size = [], 0
        size += len(rest)
        if size <= bytes_max:
            parts.append(rest)
        else:
            parts.clear()
        if not piece:
            break
    if size:
        yield b"".join(parts) if size <= bytes_max else None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise Wrong(PARSE_ERROR, "a message is one line of JSON in UTF-8") from None
    if not isinstance(message, dict):
        raise Wrong(INVALID_REQUEST, "a message is one JSON object; there are no batches")
    method, params, number = (message.get(name) for name in ("method", "params", "id"))
    if isinstance(number, bool) or not isinstance(number, (int, str, type(None))):
        raise Wrong(INVALID_REQUEST, "id must be text or a whole number")
    if not isinstance(method, (str, type(None))) or not isinstance(params, (dict, type(None))):
        raise Wrong(INVALID_REQUEST, "method must be text and params an object")
    return message


def main() -> None:
    Bridge(Server(dict(os.environ)), Output()).run()
    sys.stderr.flush()
    os._exit(0)  # the thread that listens may be blocked in a read for ever


if __name__ == "__main__":
    main()
