"""The standard streams of an MCP server: JSON-RPC lines, and nothing else, on the real ones.

The real streams are kept privately. Whatever else in the process reads standard input finds it
empty, and whatever prints, prints to standard error.
"""

import fcntl
import json
import os
import select
import sys
import threading
from collections.abc import Iterator
from typing import Any

LINE_BYTES_MAX = 64 * 1024 * 1024
_CHUNK_BYTES = 1 << 16
_PRIVATE_FROM = 3  # above the standard streams

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603


class Broken(Exception):
    """A line that is no message, with the JSON-RPC error to answer."""

    def __init__(self, code: int, message: str, number: Any = None) -> None:
        super().__init__(message)
        self.error = {
            "jsonrpc": "2.0",
            "id": number,
            "error": {"code": code, "message": message},
        }


class Streams:
    """The real standard input and output. Writing is safe from any thread."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._guard = threading.Lock()
        self._awake, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self.gone = False
        """Whoever read our answers does so no longer."""

    @classmethod
    def claim(cls) -> "Streams":
        """Take the process's standard streams. Raises OSError when one is closed."""
        source, target = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _PRIVATE_FROM) for fd in (0, 1))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # no standard error: what is printed goes nowhere
            os.dup2(nothing, 1)
        os.close(nothing)
        sys.stdout = sys.stderr
        return cls(source, target)

    def lines(self, *, look_s: float) -> Iterator[bytes | None]:
        """Each line, without its end; None after a wait of `look_s` and when woken.

        Ends with the input. A line over the limit comes as its first part, which is no message.
        """
        parts: list[bytes] = []
        size = 0
        while True:
            ready, _, _ = select.select([self._source, self._awake], [], [], look_s)
            if self._awake in ready:
                os.read(self._awake, _CHUNK_BYTES)
            if self._source not in ready:
                yield None
                continue
            chunk = os.read(self._source, _CHUNK_BYTES)
            if not chunk:
                break
            *ended, rest = chunk.split(b"\n")
            for end in ended:
                yield b"".join([*parts, end])
                parts, size = [], 0
            if size <= LINE_BYTES_MAX:
                parts.append(rest)
            size += len(rest)
        if any(parts):
            yield b"".join(parts)

    def wake(self) -> None:
        """Make `lines` look up. Safe in a signal handler."""
        try:
            os.write(self._waker, b"!")
        except BlockingIOError:
            pass  # so many wakes are waiting that it will

    def write(self, message: bytes) -> None:
        """Write one message as a line. Where nobody reads any more nothing happens."""
        view = memoryview(message + b"\n")
        with self._guard:
            while view and not self.gone:
                try:
                    view = view[os.write(self._target, view) :]
                except OSError:
                    self.gone = True
                    self.wake()

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message, separators=(",", ":")).encode())


def parsed(line: bytes) -> dict[str, Any] | None:
    """The message on a line; None for a blank one. Raises Broken."""
    if not line.strip():
        return None
    if len(line) > LINE_BYTES_MAX:
        raise Broken(INVALID_REQUEST, f"a message has at most {LINE_BYTES_MAX:,} bytes")
    try:
        message = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Broken(PARSE_ERROR, "a message is one line of JSON in UTF-8") from None
    if not isinstance(message, dict):
        raise Broken(INVALID_REQUEST, "a message is one JSON object; there are no batches")
    number = message.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str | None):
        raise Broken(INVALID_REQUEST, "id must be text or a whole number")
    if message.get("jsonrpc") != "2.0":
        raise Broken(INVALID_REQUEST, 'jsonrpc must be "2.0"', number)
    if "method" in message:
        if not isinstance(message["method"], str):
            raise Broken(INVALID_REQUEST, "method must be text", number)
        if not isinstance(message.get("params"), dict | None):
            raise Broken(INVALID_REQUEST, "params must be an object", number)
    return message


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
