"""Calls to one model server over HTTP: within a time, of a bounded size, and never trusted.

The server may run on this machine or elsewhere: whoever names it chooses. Nothing is taken from the
environment (no proxy, no key), no redirect is followed, and the key stands in no message and no
log.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from rewound.eventlog.enums import Why
from rewound.llm.askers import asker_here
from rewound.llm.failing import ServerFailed

CONNECT_S = 10.0
REPLY_BYTES_MAX = 1024 * 1024
EVIDENCE_CHARS_MAX = 8_000
"""Of a reply that could not be used so much is kept."""

_AWAY = frozenset({408, 425, 429, 502, 503, 504, 529})
"""Statuses of a server that may answer later: busy, loading, or behind a proxy that lost it."""


_UNFIT = frozenset({401, 403, 404, 405, 501})
"""Statuses of a server that has no such key, address, model or ability: whatever it is asked."""


class Refused(Exception):
    """A status that says the request was wrong, with what the server's error says."""

    def __init__(self, status: int, error: Any) -> None:
        super().__init__(status)
        self.status = status
        self.error = error

    @property
    def unfit(self) -> bool:
        """Whether it says nothing of what was asked, and would come of anything else too."""
        return self.status in _UNFIT

    @property
    def about(self) -> str | None:
        """The parameter that the server names as wrong."""
        found = self.error.get("param") if isinstance(self.error, dict) else None
        return found if isinstance(found, str) else None

    @property
    def words(self) -> str:
        """All that the error says, to look for signs in; never shown, for it may quote a text."""
        if isinstance(self.error, dict):
            said = (self.error.get(name) for name in ("code", "type", "message"))
            return " ".join(each[:1000] for each in said if isinstance(each, str))
        return self.error[:1000] if isinstance(self.error, str) else ""


class Server:
    """One server at one address. Safe for any number of threads.

    `url` is where its API begins, as `http://127.0.0.1:8080` or `https://api.openai.com/v1`;
    without a path `/v1` is meant. `noun` is what messages call it, `failed` what it raises.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        timeout_s: float,
        *,
        noun: str,
        failed: type[ServerFailed] = ServerFailed,
        reply_bytes_max: int = REPLY_BYTES_MAX,
    ) -> None:
        parts = urlsplit(url.rstrip("/"))
        self.base = url.rstrip("/") + ("" if parts.path else "/v1")
        self.root = self.base.removesuffix("/v1")
        self.where = parts.netloc
        self._noun = noun
        self._failed = failed
        self._timeout_s = timeout_s
        self._reply_bytes_max = reply_bytes_max
        keys = [headers.get(name, "") for name in ("Authorization", "x-api-key")]
        self._secrets = [key.removeprefix("Bearer ") for key in keys if key]
        self._closed = False
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._client = httpx.Client(
            headers=headers,
            # Making ready for certificates takes a tenth of a second, and most need none.
            verify=parts.scheme == "https",
            # A connection a call: beside an answer it costs nothing, and none is left open.
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Give up: what is under way ends at once with a failure, and so does all that follows."""
        self._closed = True
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            call.break_off()
        self._client.close()

    def post(self, url: str, asked: Any, timeout_s: float | None = None) -> bytes:
        """The body of a reply with status 200. Raises Refused and the server's failure.

        The call ends after `timeout_s`, by default the server's own, and when whoever asks in this
        context goes; its connection is closed then, from which a server sees that nobody waits.
        """
        return self._request("POST", url, asked, timeout_s)

    def post_for_lines(
        self, url: str, asked: Any, each: Callable[[bytes], None], timeout_s: float | None = None
    ) -> bytes:
        """The same for a body that comes bit by bit: `each` is told of every line, once it is
        whole, without its end. What it raises ends the call."""
        return self._request("POST", url, asked, timeout_s, each)

    def told(self, url: str, timeout_s: float | None = None) -> Any:
        """The JSON that an address tells, None where there is no such address. Raises the server's
        failure when it cannot be reached."""
        try:
            return json.loads(self._request("GET", url, None, timeout_s))
        except (Refused, ValueError, RecursionError):
            return None

    def failure(
        self, what: str, why: Why, *, too_long: bool = False, unfit: bool = False
    ) -> ServerFailed:
        """A failure of this server, to be raised: `what` follows its name."""
        said = f"{self._noun} {self.where} {what}"
        return self._failed(said, why, too_long=too_long, unfit=unfit)

    def evidence(self, body: bytes) -> str:
        """A reply as it may be kept: readable, bounded, without the key if it tells that."""
        text = body.decode("utf-8", "replace")
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text[:EVIDENCE_CHARS_MAX]

    def _request(
        self,
        method: str,
        url: str,
        asked: Any,
        timeout_s: float | None,
        each: Callable[[bytes], None] | None = None,
    ) -> bytes:
        allowed_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        if allowed_s <= 0:
            raise self.failure("did not answer in time", Why.UNREACHABLE)
        until = time.monotonic() + allowed_s
        late = f"did not answer within {_shown(allowed_s)} s"
        with self._under_way() as call:
            try:
                with self._client.stream(
                    method,
                    url,
                    json=asked,
                    timeout=httpx.Timeout(allowed_s, connect=min(CONNECT_S, allowed_s)),
                    extensions={"trace": call.trace},
                ) as response:
                    listens = each is not None and response.status_code == 200
                    with _ending(call, until if listens else None):
                        body = self._bounded(response, until, each if listens else None)
                if call.broken:
                    raise httpx.ReadError("its connection was closed from here")
            except httpx.TimeoutException:
                raise self.failure(late, Why.UNREACHABLE) from None
            except (httpx.HTTPError, httpx.InvalidURL, RuntimeError, OSError) as error:
                # RuntimeError is what a client says that was closed in between.
                if isinstance(error, RuntimeError) and not self._closed:
                    raise
                left = self._closed or asker_here().gone
                if call.broken and not left:
                    raise self.failure(late, Why.UNREACHABLE) from None
                what = "is not asked any more" if left else "cannot be reached"
                what = f"{what} ({type(error).__name__})"
                raise self.failure(what, Why.UNREACHABLE) from None
        if response.status_code in _AWAY:
            what = f"is busy or not ready (status {response.status_code})"
            raise self.failure(what, Why.UNREACHABLE)
        if response.status_code != 200:
            raise Refused(response.status_code, error_in(body))
        return body

    def _bounded(
        self, response: httpx.Response, until: float, each: Callable[[bytes], None] | None
    ) -> bytes:
        """The body. Raises the server's failure when there is more of it than any answer has, and
        a timeout when it comes in drops: the client's own is for each of them."""
        parts: list[bytes] = []
        size = 0
        begun = b""
        for part in response.iter_bytes():
            size += len(part)
            if size > self._reply_bytes_max:
                raise self._failed("the reply does not end", Why.MALFORMED, smaller_may_help=True)
            if time.monotonic() > until:
                raise httpx.ReadTimeout("the reply came too slowly")
            parts.append(part)
            if each is not None:
                *lines, begun = (begun + part).split(b"\n")
                for line in lines:
                    each(line.removesuffix(b"\r"))
        if each is not None and begun:
            each(begun)
        return b"".join(parts)

    @contextmanager
    def _under_way(self) -> Iterator[_Call]:
        """A call, broken off when this server is closed or whoever asks in this context goes."""
        call, asker = _Call(), asker_here()
        with self._lock:
            self._calls.add(call)
        try:
            with asker.telling(call.break_off):
                if self._closed or asker.gone:
                    call.break_off()
                yield call
        finally:
            with self._lock:
                self._calls.discard(call)


class _Call:
    """One exchange, whose connection can be closed from any thread: that wakes the one that waits
    for a reply."""

    def __init__(self) -> None:
        self.broken = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """What the client tells of its doings: here of its connection."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        with self._lock:
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            broken = self.broken
        if broken:
            self.break_off()

    def break_off(self) -> None:
        with self._lock:
            self.broken = True
            sockets = list(self._sockets)
        for each in sockets:
            with suppress(OSError):  # Its other end was faster.
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def _ending(call: _Call, until: float | None) -> Iterator[None]:
    """Break a call off at a time: what comes in drops may take any time between two of them."""
    if until is None:
        yield
        return
    timer = threading.Timer(max(0.0, until - time.monotonic()), call.break_off)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def lasting(timeout_s: float | None) -> Callable[[], float | None]:
    """Tells what is left of a time that several calls share, in seconds; None where it is not
    bounded."""
    if timeout_s is None:
        return lambda: None
    until = time.monotonic() + timeout_s
    return lambda: until - time.monotonic()


# --- what servers say of errors


def error_in(body: bytes) -> Any:
    """The error that a reply tells, as OpenAI (an object) or others (a text) do."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body[:1000].decode("utf-8", "replace")
    if not isinstance(found, dict):
        return None
    return found.get("error") or found.get("detail") or found


_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|maximum context|too long|too large to process"
    r"|exceeds? the (?:available|maximum) (?:context|number of tokens)"
    r"|must have less than \d+ tokens",
    re.I,
)


def says_too_long(error: Any) -> bool:
    """Whether the `error` of a reply says that the text does not fit the model's context."""
    return bool(_TOO_LONG.search(Refused(0, error).words))


def bearer(key: str | None) -> dict[str, str]:
    """The header that most servers read a key from."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _shown(seconds: float) -> str:
    """A time as people say it: what is left of half a second is half a second."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.{1 if seconds < 1 else 2}g}"
