"""A look at a model server: whether it is there, how many slots it has and how many of them work.

`/health` decides; where a server knows no such address, that it answered at all does. llama.cpp's
`llama-server` tells its slots at `/props`, and what they do at `/slots`; others tell nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx

from rewound.llm.nodes import Endpoint

_BYTES_MAX = 1024 * 1024


class Seen(NamedTuple):
    """What a look found; `slots` and `busy` are None where the server does not tell."""

    well: bool
    slots: int | None = None
    busy: int | None = None


Look = Callable[[], Seen]


class Looker:
    """Looks at servers, each by itself; safe for any number of threads."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def at(self, server: Endpoint) -> Look:
        """What looks at one server, again and again; of one thread."""
        return _Gaze(self, server).look

    def tell(self, server: Endpoint, path: str) -> tuple[int, Any]:
        """Status and JSON of an address of a server, None for what is none. Raises httpx's
        errors."""
        headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
        url = server.url.removesuffix("/v1") + path
        with self._ready().stream("GET", url, headers=headers) as response:
            body = b""
            for part in response.iter_bytes():
                body += part
                if len(body) > _BYTES_MAX:
                    return response.status_code, None
        try:
            return response.status_code, json.loads(body)
        except (ValueError, RecursionError):
            return response.status_code, None

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _ready(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(
                    timeout=self._timeout_s,
                    limits=httpx.Limits(max_keepalive_connections=0),
                    trust_env=False,
                    follow_redirects=False,
                )
            return self._client


class _Gaze:
    def __init__(self, looker: Looker, server: Endpoint) -> None:
        self._looker = looker
        self._server = server
        self._slots: int | None = None
        self._knows_props = False
        self._tells_slots = True

    def look(self) -> Seen:
        try:
            status, _ = self._looker.tell(self._server, "/health")
            if status >= 500 and status != 501:
                self._knows_props = False
                return Seen(False)
            return Seen(True, self._told_slots(), self._told_busy())
        except (httpx.HTTPError, httpx.InvalidURL, OSError, RuntimeError):
            # RuntimeError is what a client says that was closed in between.
            self._knows_props = False  # it may come back as another
            return Seen(False)

    def _told_slots(self) -> int | None:
        if not self._knows_props:
            _, props = self._looker.tell(self._server, "/props")
            told = props.get("total_slots") if isinstance(props, dict) else None
            self._slots = told if type(told) is int and told > 0 else None
            self._knows_props, self._tells_slots = True, True
        return self._slots

    def _told_busy(self) -> int | None:
        if not self._tells_slots or self._slots is None:
            return None
        status, slots = self._looker.tell(self._server, "/slots")
        if status != 200 or not isinstance(slots, list):
            self._tells_slots = False
            return None
        return sum(bool(isinstance(slot, dict) and slot.get("is_processing")) for slot in slots)
