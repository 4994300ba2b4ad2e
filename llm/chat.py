"""A client for one chat server that speaks the OpenAI-compatible API.

llama.cpp's `llama-server`, vLLM, Ollama and OpenAI were thought of. The server may run on this
machine or elsewhere: whoever names it chooses. Nothing is taken from the environment (no proxy, no
key), no redirect is followed, and the key stands in no message and no log.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from rewound.eventlog.enums import Why
from rewound.llm.replies import ChatFailed, Schema, read, says_too_long

CONTEXT_TOKENS = 4096
"""What a server's model is taken to read when it does not tell."""

CONNECT_S = 10.0
REPLY_BYTES_MAX = 1024 * 1024

_FORMS = ("json_schema", "json_object", "plain")
_AWAY = frozenset({408, 425, 429, 502, 503, 504, 529})
"""Statuses of a server that may answer later: busy, loading, or behind a proxy that lost it."""

_log = logging.getLogger(__name__)


class _Manner(NamedTuple):
    """How this server wants to be asked; found out once and kept."""

    form: str = _FORMS[0]
    limit: str = "max_tokens"
    temperature: bool = True


class _Refused(Exception):
    """A status that says the request was wrong, with what the server's error says."""

    def __init__(self, status: int, error: Any) -> None:
        super().__init__(status)
        self.status = status
        self.error = error

    @property
    def about(self) -> str | None:
        """The parameter that the server names as wrong."""
        found = self.error.get("param") if isinstance(self.error, dict) else None
        return found if isinstance(found, str) else None


def tokens_of(text: str) -> int:
    """About how many tokens a text is, rather too many: tokenizers differ from model to model."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return (plain + 2) // 3 + (len(text) - plain) * 3 // 2


class Chat:
    """One model of one server. Safe for any number of threads.

    `url` is where the API begins, as `http://127.0.0.1:8080` or `https://api.openai.com/v1`;
    without a path `/v1` is meant. Without a `model` the first one that the server lists is asked.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        key: str | None = None,
        timeout_s: float = 300.0,
        context_tokens: int | None = None,
    ) -> None:
        parts = urlsplit(url.rstrip("/"))
        self._base = url.rstrip("/") + ("" if parts.path else "/v1")
        self._root = self._base.removesuffix("/v1")
        self._where = parts.netloc
        self._model = model
        self._timeout_s = timeout_s
        self._context = context_tokens
        self._asked_context = context_tokens is not None
        self._listed: str | None = None
        self._manner = _Manner()
        self._closed = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
            # A connection a call: beside an answer it costs nothing, and none is left open.
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
            follow_redirects=False,
        )

    @property
    def model(self) -> str | None:
        """The model that was named, if one was."""
        return self._model

    def close(self) -> None:
        """Give up: what is under way ends at once with ChatFailed, and so does all that follows."""
        self._closed = True
        with self._lock:
            sockets = list(self._sockets)
            self._sockets.clear()
        for each in sockets:
            with suppress(OSError):  # Its other end was faster.
                each.shutdown(socket.SHUT_RDWR)
        self._client.close()

    # --- asking

    def answer(self, system: str, user: str, schema: Schema, max_tokens: int) -> dict[str, Any]:
        """One object of the form of `schema`, of at most `max_tokens`. Raises ChatFailed."""
        manner = self._manner
        for _ in range(len(_FORMS) + 2):
            try:
                body = self._post(manner, system, user, schema, max_tokens)
            except _Refused as refused:
                if says_too_long(refused.error):
                    raise ChatFailed(
                        f"{self._where} says that the text does not fit the model's context",
                        Why.REFUSED,
                        too_long=True,
                    ) from None
                other = _otherwise(manner, refused)
                if other is None:
                    raise ChatFailed(self._refusal(refused.status), Why.REFUSED) from None
                manner = other
                continue
            if manner != self._manner:
                _log.info("%s is asked with %s from now on", self._where, manner.form)
                self._manner = manner
            return read(body, schema)
        raise ChatFailed(f"{self._where} takes no form of the request", Why.REFUSED)

    def _post(
        self, manner: _Manner, system: str, user: str, schema: Schema, max_tokens: int
    ) -> bytes:
        if manner.form != "json_schema":
            system += f"\nAnswer with one JSON object of this schema:\n{json.dumps(schema)}\n"
        asked: dict[str, Any] = {
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            manner.limit: max_tokens,
            "stream": False,
        }
        if model := self._model or self._first_model():
            asked["model"] = model
        if manner.temperature:
            asked["temperature"] = 0
        if manner.form == "json_schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": named}
        elif manner.form == "json_object":
            asked["response_format"] = {"type": "json_object"}
        return self._request("POST", f"{self._base}/chat/completions", asked)

    def _refusal(self, status: int) -> str:
        if status in (401, 403):
            return f"{self._where} refused the key (status {status}): set REWOUND_CHAT_KEY"
        if status == 404:
            return (
                f"{self._where} knows no such address or model (status 404): check "
                "REWOUND_CHAT_URL and REWOUND_CHAT_MODEL"
            )
        return f"{self._where} refused the request (status {status})"

    # --- what the server tells of itself

    def context_tokens(self) -> int:
        """How many tokens the model reads and writes in one call; CONTEXT_TOKENS when the server
        does not tell. Raises ChatFailed when it cannot be reached."""
        if not self._asked_context:
            self._context = self._props_context() or self._listed_context()
            self._asked_context = True
        return self._context or CONTEXT_TOKENS

    def _props_context(self) -> int | None:
        props = self._told(f"{self._root}/props")  # of llama.cpp
        settings = props.get("default_generation_settings")
        return _count(settings.get("n_ctx")) if isinstance(settings, dict) else None

    def _listed_context(self) -> int | None:
        listed = self._models()
        mine = next((each for each in listed if each.get("id") == self._model), None)
        if mine is None and listed and self._model is None:
            mine = listed[0]
        if mine is None:
            return None
        meta = mine.get("meta")
        known = [mine.get(name) for name in ("max_model_len", "context_length", "context_window")]
        if isinstance(meta, dict):
            known += [meta.get("n_ctx"), meta.get("n_ctx_train")]
        return next((count for count in map(_count, known) if count), None)

    def _first_model(self) -> str:
        """The first model that is listed; empty where none is."""
        if self._listed is None:
            listed = self._models()
            found = listed[0].get("id") if listed else None
            self._listed = found if isinstance(found, str) else ""
        return self._listed

    def _models(self) -> list[dict[str, Any]]:
        data = self._told(f"{self._base}/models").get("data")
        return [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []

    def _told(self, url: str) -> dict[str, Any]:
        """What an address tells, nothing where there is no such address."""
        try:
            found = json.loads(self._request("GET", url))
        except (_Refused, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    # --- the wire

    def _request(self, method: str, url: str, asked: Any = None) -> bytes:
        """The body of a reply with status 200. Raises _Refused and ChatFailed."""
        try:
            with self._client.stream(
                method, url, json=asked, extensions={"trace": self._trace}
            ) as response:
                body = self._bounded(response)
        except httpx.TimeoutException:
            raise self._away(f"did not answer within {self._timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError, OSError) as error:
            # RuntimeError is what a client says that was closed in between.
            if isinstance(error, RuntimeError) and not self._closed:
                raise
            what = "is not asked any more" if self._closed else "cannot be reached"
            raise self._away(f"{what} ({type(error).__name__})") from None
        if response.status_code in _AWAY:
            raise self._away(f"is busy or not ready (status {response.status_code})")
        if response.status_code != 200:
            raise _Refused(response.status_code, _error_in(body))
        return body

    def _bounded(self, response: httpx.Response) -> bytes:
        """The body. Raises ChatFailed when there is more of it than any answer has, and a timeout
        when it comes in drops: the client's own is for each of them."""
        until = time.monotonic() + self._timeout_s
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            size += len(part)
            if size > REPLY_BYTES_MAX:
                raise ChatFailed("the reply does not end", Why.MALFORMED, smaller_may_help=True)
            if time.monotonic() > until:
                raise httpx.ReadTimeout("the reply came too slowly")
            parts.append(part)
        return b"".join(parts)

    def _away(self, what: str) -> ChatFailed:
        return ChatFailed(f"the chat server {self._where} {what}", Why.UNREACHABLE)

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Keep each connection's socket: shutting it down wakes a thread that waits for a reply."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        found = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets = {each for each in self._sockets if each.fileno() >= 0}
            self._sockets.add(found)
        if self._closed:
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)


def _otherwise(manner: _Manner, refused: _Refused) -> _Manner | None:
    """How to ask instead, by what the server would not take; None when that is something else."""
    if refused.status not in (400, 415, 422, 500, 501):
        return None
    if refused.about == "max_tokens" and manner.limit == "max_tokens":
        return manner._replace(limit="max_completion_tokens")
    if refused.about == "temperature" and manner.temperature:
        return manner._replace(temperature=False)
    place = _FORMS.index(manner.form) + 1
    return manner._replace(form=_FORMS[place]) if place < len(_FORMS) else None


def _error_in(body: bytes) -> Any:
    """The error that a reply tells, as OpenAI (an object) or others (a text) do."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body[:1000].decode("utf-8", "replace")
    if not isinstance(found, dict):
        return None
    return found.get("error") or found.get("detail") or found


def _count(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
