"""A client for one chat server that speaks the OpenAI-compatible API.

llama.cpp's `llama-server`, vLLM, Ollama and OpenAI were thought of. How a server wants to be asked
(which form of a schema, which names of parameters, how thinking is turned off) is found out once
and kept.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.calling import Refused, Server, bearer, lasting, says_too_long
from rewound.llm.chat_model import Spent, spent_in
from rewound.llm.chat_streams import Hearer, Reply, openai_piece
from rewound.llm.replies import ChatFailed, Schema, answer_in, object_in
from rewound.llm.server_facts import Facts, busy_slots, facts_of, is_ready

CONTEXT_TOKENS = 4096
"""What a server's model is taken to read when it does not tell."""

THINKING_TOKENS = 4096
"""Room for thoughts beside an answer, for a model that thinks although it was asked not to."""

_FORMS = ("json_schema", "json_object", "plain")

Thinking = Literal["template", "effort", ""]
"""How a model is asked not to think: by a word to its template (llama.cpp, vLLM), by its effort
(Ollama), or not at all, for other servers refuse words that they do not know."""

_THINKING: dict[str, Thinking] = {"llama.cpp": "template", "vllm": "template", "ollama": "effort"}

_log = logging.getLogger(__name__)


class _Manner(NamedTuple):
    """How this server wants to be asked; found out once and kept."""

    form: str = _FORMS[0]
    limit: str = "max_tokens"
    temperature: bool = True
    thinking: Thinking = ""
    room: int = 0
    """Tokens that are allowed for thoughts."""
    usage: bool = True
    """Whether a stream is asked to tell what it took."""


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
        spent: Callable[[Spent], None] | None = None,
    ) -> None:
        """`timeout_s` is for each call. `spent` is told of each what it took."""
        self._server = Server(
            url, bearer(key), timeout_s, noun="the chat server", failed=ChatFailed
        )
        self._model = model
        self._context = context_tokens
        self._facts: Facts | None = None
        self._manner: _Manner | None = None
        self._spent = spent

    @property
    def model(self) -> str | None:
        """The model that was named, if one was."""
        return self._model

    def close(self) -> None:
        """Give up: what is under way ends at once with ChatFailed, and so does all that follows."""
        self._server.close()

    # --- asking

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """One object of the form of `schema`, of at most `max_tokens`. Raises ChatFailed.

        `timeout_s` bounds all tries together; the server sees its end and stops working on it.
        """
        left_s = lasting(timeout_s)
        where = self._server.where
        manner = self._manner or self._first_manner(left_s())
        for _ in range(len(_FORMS) + 4):
            try:
                body = self._post(manner, system, user, schema, max_tokens, left_s)
            except Refused as refused:
                manner = self._other_manner(manner, refused)
                continue
            if manner != self._manner:
                _log.info("%s is asked with %s from now on", where, manner.form)
                self._manner = manner
            return self._read(body, schema, manner)
        raise ChatFailed(f"{where} takes no form of the request", Why.REFUSED)

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
        left_s = lasting(timeout_s)
        manner = self._manner or self._first_manner(left_s())
        for _ in range(len(_FORMS) + 4):
            asked = self._asked(manner, system, user, max_tokens, left_s) | {"stream": True}
            if manner.usage:
                asked["stream_options"] = {"include_usage": True}
            reply = Reply(hearer, openai_piece, answer_in)
            url = f"{self._server.base}/chat/completions"
            try:
                body = self._server.post_for_lines(url, asked, reply.line, left_s())
            except Refused as refused:
                last = manner._replace(form=_FORMS[-1])  # no form is asked for
                manner = self._other_manner(last, refused)._replace(form=manner.form)
                continue
            except ChatFailed:
                self._facts = None  # what comes back may be another one
                raise
            self._heard(reply, body, manner)
            return
        raise ChatFailed(f"{self._server.where} takes no form of the request", Why.REFUSED)

    def _heard(self, reply: Reply, body: bytes, manner: _Manner) -> None:
        self._manner = manner
        try:
            reply.end(body)
        except ChatFailed as failed:
            failed.reply = self._server.evidence(body)
            if failed.why is Why.CUT_OFF and reply.thought:
                self._give_room(manner)
            raise
        finally:
            if self._spent is not None:
                self._spent(max(reply.spent, spent_in(body)))

    def _give_room(self, manner: _Manner) -> None:
        if not manner.room:
            _log.info("%s thinks: its answers get room for that", self._server.where)
            self._manner = manner._replace(room=THINKING_TOKENS)

    def _other_manner(self, manner: _Manner, refused: Refused) -> _Manner:
        """How to ask after a refusal. Raises ChatFailed when there is no other way."""
        if says_too_long(refused.error):
            self._facts = None  # it reads less than it told, or was started anew
            what = "says that the text does not fit the model's context"
            raise self._server.failure(what, Why.REFUSED, too_long=True) from None
        other = _otherwise(manner, refused)
        if other is None:
            said = self._refusal(refused.status)
            raise ChatFailed(said, Why.REFUSED, unfit=refused.unfit) from None
        return other

    def _read(self, body: bytes, schema: Schema, manner: _Manner) -> dict[str, Any]:
        if self._spent is not None:
            self._spent(spent_in(body))
        try:
            answer = answer_in(body)
            if answer.cut_off and answer.thought:
                self._give_room(manner)
            return object_in(answer, schema)
        except ChatFailed as failed:
            failed.reply = self._server.evidence(body)
            raise

    def _first_manner(self, timeout_s: float | None) -> _Manner:
        facts = self._known(timeout_s)
        thinking = _THINKING.get(facts.kind, "")
        if facts.kind == "llama.cpp" and not facts.thinks:
            thinking = ""
        return _Manner(thinking=thinking)

    def _post(
        self,
        manner: _Manner,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        left_s: Callable[[], float | None],
    ) -> bytes:
        if manner.form != "json_schema":
            system += f"\nAnswer with one JSON object of this schema:\n{json.dumps(schema)}\n"
        asked = self._asked(manner, system, user, max_tokens, left_s)
        if manner.form == "json_schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": named}
        elif manner.form == "json_object":
            asked["response_format"] = {"type": "json_object"}
        try:
            return self._server.post(f"{self._server.base}/chat/completions", asked, left_s())
        except ChatFailed:
            self._facts = None  # what comes back may be another one
            raise

    def _asked(
        self,
        manner: _Manner,
        system: str,
        user: str,
        max_tokens: int,
        left_s: Callable[[], float | None],
    ) -> dict[str, Any]:
        room = min(manner.room, self.context_tokens(left_s()) // 2) if manner.room else 0
        asked: dict[str, Any] = {
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            manner.limit: max_tokens + room,
            "stream": False,
        }
        if model := self._model or self._known(left_s()).listed:
            asked["model"] = model
        if manner.temperature:
            asked["temperature"] = 0
        if manner.thinking == "template":
            asked["chat_template_kwargs"] = {"enable_thinking": False}
        elif manner.thinking == "effort":
            asked["reasoning_effort"] = "none"
        return asked

    def _refusal(self, status: int) -> str:
        where = self._server.where
        if status in (401, 403):
            return f"{where} refused the key (status {status}): set REWOUND_CHAT_KEY"
        if status == 404:
            return (
                f"{where} knows no such address or model (status 404): check "
                "REWOUND_CHAT_URL and REWOUND_CHAT_MODEL"
            )
        return f"{where} refused the request (status {status})"

    # --- what the server tells of itself

    def context_tokens(self, timeout_s: float | None = None) -> int:
        """How many tokens the model reads and writes in one call; CONTEXT_TOKENS when the server
        does not tell. Raises ChatFailed when it cannot be reached within `timeout_s`."""
        return self._context or self._known(timeout_s).context_tokens or CONTEXT_TOKENS

    def slots(self) -> int | None:
        """How many calls it works on at once; None when it does not tell. Raises ChatFailed."""
        return self._known().slots

    def busy_slots(self) -> int | None:
        """How many of them work now. Raises ChatFailed."""
        return busy_slots(self._server)

    def is_ready(self) -> bool:
        """Whether it can be reached and has its model loaded."""
        return is_ready(self._server)

    def _known(self, timeout_s: float | None = None) -> Facts:
        facts = self._facts
        if facts is None:
            facts = self._facts = facts_of(self._server, self._model, timeout_s)
        return facts


_THINKING_WORDS = re.compile(r"chat_template_kwargs|enable_thinking|reasoning_effort|thinking")


def _otherwise(manner: _Manner, refused: Refused) -> _Manner | None:
    """How to ask instead, by what the server would not take; None when that is something else."""
    if refused.status not in (400, 415, 422, 500, 501):
        return None
    about = refused.about
    if about == "max_tokens" and manner.limit == "max_tokens":
        return manner._replace(limit="max_completion_tokens")
    if about == "temperature" and manner.temperature:
        return manner._replace(temperature=False)
    if manner.usage and "stream_options" in f"{about} {refused.words}":
        return manner._replace(usage=False)
    if manner.thinking and _THINKING_WORDS.search(f"{about} {refused.words}"):
        return manner._replace(thinking="")
    place = _FORMS.index(manner.form) + 1
    return manner._replace(form=_FORMS[place]) if place < len(_FORMS) else None
