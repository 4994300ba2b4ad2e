"""A look at a model server: whether it is there, how many slots it has and how many of them work.

`/health` decides; where a server knows no such address, that it answered at all does. llama.cpp's
`llama-server` tells its slots at `/props`, and what they do at `/slots`; others tell nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from rewound.llm.nodes import Endpoint

_BYTES_MAX = 1024 * 1024


class Seen(NamedTuple):
    """What a look found; `slots` and `busy` are None where the server does not tell."""

    well: bool
    slots: int | None = None
    busy: int | None = None


Look = Callable[[], Seen]
"""Looks at one server, again and again."""


class Looker:
    """Looks at one server over HTTP; of one thread, which closes it."""

    def __init__(self, server: Endpoint, timeout_s: float) -> None:
        headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
        self._root = server.url.removesuffix("/v1")
        self._timeout_s = timeout_s
        self._client = httpx.Client(
            headers=headers,
            timeout=timeout_s,
            # Making ready for certificates takes longer than a look, and most need none.
            verify=urlsplit(server.url).scheme == "https",
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
            follow_redirects=False,
        )
        self._slots: int | None = None
        self._knows_props = False
        self._tells_slots = True

    def close(self) -> None:
        self._client.close()

    def __call__(self) -> Seen:
        try:
            status, _ = self._tell("/health")
            if status >= 500 and status != 501:
                self._knows_props = False
                return Seen(False)
            return Seen(True, self._told_slots(), self._told_busy())
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            self._knows_props = False  # it may come back as another
            return Seen(False)

    def _tell(self, path: str) -> tuple[int, Any]:
        """Status and JSON of an address, None for what is none. Raises httpx's errors."""
        until = time.monotonic() + self._timeout_s
        with self._client.stream("GET", self._root + path) as response:
            body = b""
            for part in response.iter_bytes():
                if time.monotonic() > until:  # the client's own timeout is for each part
                    raise httpx.ReadTimeout("it answers too slowly")
                body += part
                if len(body) > _BYTES_MAX:
                    return response.status_code, None
        try:
            return response.status_code, json.loads(body)
        except (ValueError, RecursionError):
            return response.status_code, None

    def _told_slots(self) -> int | None:
        if not self._knows_props:
            _, props = self._tell("/props")
            told = props.get("total_slots") if isinstance(props, dict) else None
            self._slots = told if type(told) is int and told > 0 else None
            self._knows_props, self._tells_slots = True, True
        return self._slots

    def _told_busy(self) -> int | None:
        if not self._tells_slots or self._slots is None:
            return None
        status, slots = self._tell("/slots")
        if status != 200 or not isinstance(slots, list):
            self._tells_slots = False
            return None
        return sum(bool(isinstance(slot, dict) and slot.get("is_processing")) for slot in slots)
