"""A chat server's reply that comes word by word, as server-sent events: what is said, without the
model's thoughts.

Lines that are no events are what a server sends that knows of no streams: a whole reply. Nothing is
trusted, as in `replies.py`; no message here quotes a reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from rewound.eventlog.enums import Why
from rewound.llm.calling import says_too_long
from rewound.llm.chat_model import NOTHING_SPENT, Spent, spent_of
from rewound.llm.replies import THOUGHTS, THOUGHTS_END, Answer, ChatFailed

CUT_OFF = "length"
REFUSED = "refused"


class Hearer(Protocol):
    """Who a model's words are told to."""

    def hear(self, words: str) -> None: ...

    def were_thoughts(self) -> None:
        """All that was heard so far the model only thought."""
        ...


class Piece(NamedTuple):
    """What one event says. `finish` is why the reply ends, `CUT_OFF` at the limit of tokens."""

    words: str = ""
    thoughts: str = ""
    finish: str = ""
    spent: Spent = NOTHING_SPENT


class Reply:
    """One reply, of which `line` is told as it comes in. `piece_in` reads an event's object,
    `whole_in` a reply that did not come as events. Both methods raise ChatFailed."""

    def __init__(
        self,
        hearer: Hearer,
        piece_in: Callable[[Mapping[str, Any]], Piece],
        whole_in: Callable[[bytes], Answer],
    ) -> None:
        self._words = _Words(hearer)
        self._piece_in = piece_in
        self._whole_in = whole_in
        self._events = False
        self._ended = ""
        self.thought = False
        self.spent = NOTHING_SPENT

    def line(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if not colon or name not in (b"data", b"error") or not _is_event(value):
            return
        self._events = True
        if value.strip() == b"[DONE]":
            self._ended = self._ended or "stop"
            return
        event = _object(value)
        if name == b"error" or event.get("error"):
            raise ChatFailed(
                "the reply holds an error in place of an answer",
                Why.REFUSED,
                too_long=says_too_long(event.get("error", event)),
            )
        piece = self._piece_in(event)
        self.spent = Spent(*map(max, self.spent, piece.spent))
        self._ended = piece.finish or self._ended
        self.thought = self.thought or bool(piece.thoughts.strip())
        if piece.words:
            self._words.take(piece.words)

    def end(self, body: bytes) -> None:
        """The reply is over, and this was all of it."""
        if not self._events:
            answer = self._whole_in(body)
            self._words.take(answer.content)
            self.thought = answer.thought
            self._ended = CUT_OFF if answer.cut_off else "stop"
        self._words.end()
        self.thought = self.thought or self._words.thought
        if self._ended == REFUSED:
            raise ChatFailed("the model refused to answer", Why.REFUSED)
        if self._ended == CUT_OFF:
            raise ChatFailed("the answer was cut off at the limit of tokens", Why.CUT_OFF)
        if not self._ended:
            raise ChatFailed("the answer breaks off", Why.CUT_OFF)
        if not self._words.any:
            raise ChatFailed("the answer is empty", Why.EMPTY_REPLY)


def _is_event(value: bytes) -> bool:
    return value.lstrip()[:1] in (b"{", b"[")


def _object(value: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        raise ChatFailed("a part of the reply is not JSON", Why.MALFORMED) from None
    if not isinstance(found, dict):
        raise ChatFailed("a part of the reply is JSON, but not an object", Why.MALFORMED)
    return found


# --- thoughts among the words

_MAY_BEGIN = re.compile(r"\s*(?:<[a-z]{0,9})?", re.I)
_HALF = re.compile(r"[\ud800-\udfff]")
_FIRST_HALF = re.compile(r"[\ud800-\udbff]$")
_MAY_END = re.compile(r"<(?:/[a-z]{0,9})?$", re.I)


class _Words:
    """Hands words on as they come, but those that stand in marks of thinking. Of a sign that comes
    in two halves both are waited for; a half alone is no text."""

    def __init__(self, hearer: Hearer) -> None:
        self._hearer = hearer
        self._held = ""
        self._begun = False
        self._half = ""
        self.thought = False
        self.any = False

    def take(self, words: str) -> None:
        self._held += words
        if not self._begun and not self._begins():
            return
        self._begun = True
        ends = list(THOUGHTS_END.finditer(self._held))
        if ends:  # Their beginning stood in the prompt.
            self._held = self._held[ends[-1].end() :]
            self.thought, self.any = True, False
            self._hearer.were_thoughts()
        kept = _MAY_END.search(self._held)
        said = self._held[: kept.start()] if kept else self._held
        self._held = self._held[len(said) :]
        self._say(said)

    def end(self) -> None:
        """What was held back, in case it was the beginning of a mark, was none."""
        if self._begun or not THOUGHTS.match(self._held):
            self._say(self._held)
        self._held = ""
        if self._half:
            self._hearer.hear(_whole(self._half))

    def _begins(self) -> bool:
        """Whether the thoughts are over, if there are any."""
        while found := THOUGHTS.match(self._held):
            self.thought = True
            end = re.compile(rf"</{found[1]}>", re.I).search(self._held, found.end())
            if end is None:
                return False
            self._held = self._held[end.end() :]
        return _MAY_BEGIN.fullmatch(self._held) is None

    def _say(self, words: str) -> None:
        words = self._half + words
        half = _FIRST_HALF.search(words)
        self._half = words[half.start() :] if half else ""
        words = _whole(words.removesuffix(self._half))
        if words:
            self.any = self.any or not words.isspace()
            self._hearer.hear(words)


def _whole(words: str) -> str:
    """Text that can be written: halves beside each other as one sign, others as unreadable."""
    if not _HALF.search(words):
        return words
    return words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# --- what the events of an API say


def openai_piece(event: Mapping[str, Any]) -> Piece:
    """Of the OpenAI-compatible API. The last event may hold no choice and tell what was spent."""
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    choice = choice if isinstance(choice, dict) else {}
    delta = choice.get("delta")
    delta = delta if isinstance(delta, dict) else {}
    finish = choice.get("finish_reason")
    refused = finish == "content_filter" or _text(delta.get("refusal")).strip()
    return Piece(
        _text(delta.get("content")),
        _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")),
        REFUSED if refused else _text(finish),
        spent_of(event),
    )


def anthropic_piece(event: Mapping[str, Any]) -> Piece:
    """Of Anthropic's messages API."""
    message, delta = event.get("message"), event.get("delta")
    delta = delta if isinstance(delta, dict) else {}
    stop = _text(delta.get("stop_reason"))
    ends = {"max_tokens": CUT_OFF, "refusal": REFUSED}
    return Piece(
        _text(delta.get("text")),
        _text(delta.get("thinking")),
        ends.get(stop, stop),
        spent_of(message if isinstance(message, dict) else event),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
