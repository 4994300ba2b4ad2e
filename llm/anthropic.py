"""A client of Anthropic's messages API. An object of a given form is asked for as the input of a
tool that the model must use."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from rewound.eventlog.enums import Why
from rewound.llm.calling import Refused, Server, lasting, says_too_long
from rewound.llm.chat_model import Spent, spent_in
from rewound.llm.chat_streams import Hearer, Reply, anthropic_piece
from rewound.llm.replies import Answer, ChatFailed, Schema, envelope, object_in
from rewound.llm.server_facts import count_of, probe_s

VERSION = "2023-06-01"
CONTEXT_TOKENS = 200_000
TOOL = "answer"

_log = logging.getLogger(__name__)


class Anthropic:
    """One model behind the messages API. Safe for any number of threads.

    `url` is where the API begins, as `https://api.anthropic.com`; without a path `/v1` is meant.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        timeout_s: float = 300.0,
        spent: Callable[[Spent], None] | None = None,
    ) -> None:
        headers = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
        self._server = Server(url, headers, timeout_s, noun="the chat server", failed=ChatFailed)
        self._model = model
        self._spent = spent
        self._temperature = True
        self._context: int | None = None

    @property
    def model(self) -> str | None:
        return self._model

    def close(self) -> None:
        """Give up: what is under way ends at once with ChatFailed, and so does all that follows."""
        self._server.close()

    def context_tokens(self, timeout_s: float | None = None) -> int:
        """How many tokens the model reads in one call, as the server tells, else CONTEXT_TOKENS.
        Raises ChatFailed when it cannot be reached within `timeout_s`."""
        if self._context is None:
            url = f"{self._server.base}/models/{self._model}"
            told = self._server.told(url, probe_s(timeout_s))
            most = told.get("max_input_tokens") if isinstance(told, dict) else None
            self._context = count_of(most) or CONTEXT_TOKENS
        return self._context

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """One object of the form of `schema`, of at most `max_tokens`. Raises ChatFailed, after
        `timeout_s` at the latest."""
        tool = {"name": TOOL, "description": "Give the answer.", "input_schema": schema}
        asked = self._asked(system, user, max_tokens)
        asked |= {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        body = self._post(asked, self._server.post, timeout_s)
        if self._spent is not None:
            self._spent(spent_in(body))
        try:
            return object_in(_answer_in(body), schema)
        except ChatFailed as failed:
            failed.reply = self._server.evidence(body)
            raise

    def speak(
        self,
        system: str,
        user: str,
        hearer: Hearer,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> None:
        """Tell the hearer at most `max_tokens` of words as they come. Raises ChatFailed, after
        `timeout_s` at the latest."""
        reply = Reply(hearer, anthropic_piece, _answer_in)

        def post(url: str, asked: Any, within_s: float | None) -> bytes:
            return self._server.post_for_lines(url, asked, reply.line, within_s)

        asked = self._asked(system, user, max_tokens) | {"stream": True}
        body = self._post(asked, post, timeout_s)
        try:
            reply.end(body)
        except ChatFailed as failed:
            failed.reply = self._server.evidence(body)
            raise
        finally:
            if self._spent is not None:
                self._spent(max(reply.spent, spent_in(body)))

    def _asked(self, system: str, user: str, max_tokens: int) -> dict[str, Any]:
        return {
            "model": self._model,
            "max_tokens": max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": user}],
        }

    def _post(
        self,
        asked: dict[str, Any],
        post: Callable[[str, Any, float | None], bytes],
        timeout_s: float | None,
    ) -> bytes:
        """The reply, asked for again without a temperature where the model takes none. Raises
        ChatFailed."""
        left_s = lasting(timeout_s)
        url = f"{self._server.base}/messages"
        if self._temperature:
            try:
                return post(url, asked | {"temperature": 0}, left_s())
            except Refused as refused:
                if "temperature" not in refused.words:
                    raise self._refusal(refused) from None
                self._temperature = False
        try:
            return post(url, asked, left_s())
        except Refused as refused:
            raise self._refusal(refused) from None

    def _refusal(self, refused: Refused) -> ChatFailed:
        where, status = self._server.where, refused.status
        if status in (401, 403):
            return ChatFailed(
                f"{where} refused the key (status {status}): set REWOUND_CHAT_KEY",
                Why.REFUSED,
                unfit=True,
            )
        if status == 404:
            return ChatFailed(
                f"{where} knows no such address or model (status 404): check REWOUND_CHAT_URL and "
                "REWOUND_CHAT_MODEL",
                Why.REFUSED,
                unfit=True,
            )
        too_long = status == 413 or says_too_long(refused.error)
        what = (
            "says that the text does not fit the model's context"
            if too_long
            else (f"refused the request (status {status})")
        )
        return ChatFailed(f"{where} {what}", Why.REFUSED, too_long=too_long)


def _answer_in(body: bytes) -> Answer:
    """The tool's input in a reply, else what it says in words. Raises ChatFailed."""
    reply = envelope(body)
    stop = reply.get("stop_reason")
    if stop == "refusal":
        raise ChatFailed("the model refused to answer", Why.REFUSED)
    content = reply.get("content")
    if not isinstance(content, list):
        raise ChatFailed("the reply has no list of contents", Why.MALFORMED)
    parts = [part for part in content if isinstance(part, dict)]
    used = [part.get("input") for part in parts if part.get("type") == "tool_use"]
    if used:
        return Answer(json.dumps(used[0]), "", stop == "max_tokens")
    said = [part.get("text") for part in parts if part.get("type") == "text"]
    text = "".join(each for each in said if isinstance(each, str))
    return Answer(text, "", stop == "max_tokens")
