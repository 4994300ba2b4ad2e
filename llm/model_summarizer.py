"""The summarizer that asks a chat model.

It is shown the summary so far and as many further messages as fit its context. A sentence may say
that it is from any of what was shown; what it says of other numbers is dropped.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from rewound.eventlog.enums import Why
from rewound.eventlog.instants import from_us
from rewound.llm.chat import tokens_of
from rewound.llm.chat_model import ChatModel
from rewound.llm.dispatched import NobodyAsked
from rewound.llm.portions import OVERLAP_CHARS, parts
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed
from rewound.llm.summarizing import Gist, NotSummarised, Summed, Uttered, plain
from rewound.llm.time_expressions import place

ANSWER_TOKENS = 1024
"""Of one summary, where the context is not smaller."""

MESSAGES_TOKENS = 3000
"""Of what is summed up at once, at most."""

ROOM_MIN = 64
FRAME_TOKENS = 160
"""What stands around the messages, and what a chat template adds."""

MESSAGE_TOKENS = 40
"""What stands around one message."""

DEPTH_MAX = 8
"""How often messages are halved that the server calls too long for its model."""

SENTENCES_MAX = 40
BLACK = "█"

_log = logging.getLogger(__name__)


class _Shown(NamedTuple):
    """A message, or a part of one, with the number that it is cited by."""

    number: int
    said: Uttered
    text: str


class ModelSummarizer:
    """Sums up by a chat model. Safe for any number of threads."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._prompt = prompt("summarise.v1")

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._chat.close()

    def summarise(self, before: Sequence[Gist], cited: int, messages: Sequence[Uttered]) -> Summed:
        """See `Summarizer`. A message that is too long by itself is read in parts."""
        try:
            room = self._room(before)
            shown = _first_that_fit(messages, cited, room)
            taken = shown[-1].number - cited
            if len(shown) == 1 and _cost(shown[0].text) > room:
                found = tuple(before)
                for text in parts(shown[0].text, room - MESSAGE_TOKENS, tokens_of):
                    self._room(found)
                    found = self._asked(found, [shown[0]._replace(text=text)], 0)
            else:
                found = self._asked(before, shown, 0)
        except ChatFailed as failed:
            asked = not isinstance(failed, NobodyAsked)
            raise NotSummarised(str(failed), failed.why, failed.reply, asked=asked) from None
        return Summed(found, taken)

    def _room(self, before: Sequence[Gist]) -> int:
        """Tokens of messages that fit the model's context beside all else. Raises ChatFailed."""
        context = self._chat.context_tokens()
        used = tokens_of(self._prompt.whole) + tokens_of(_so_far(before)) + FRAME_TOKENS
        room = context - self._answer_tokens() - used
        if room < ROOM_MIN + MESSAGE_TOKENS:
            raise ChatFailed(
                f"the model reads only {context} tokens at once, too few for the prompt, the "
                "summary so far and a message",
                Why.REFUSED,
            )
        return min(room, MESSAGES_TOKENS)

    def _answer_tokens(self) -> int:
        return min(ANSWER_TOKENS, self._chat.context_tokens() // 4)

    def _asked(
        self, before: Sequence[Gist], shown: Sequence[_Shown], depth: int
    ) -> tuple[Gist, ...]:
        """What gave no usable answer is tried once more in halves, one after the other, never as it
        was; what is too long for the model is halved until it fits. Raises ChatFailed."""
        try:
            answer = self._chat.answer(
                self._prompt.system,
                _told(before, shown),
                self._prompt.schema,
                self._answer_tokens(),
            )
            return _believed(answer["sentences"], shown[-1].number)
        except ChatFailed as failed:
            halves = _halves(shown)
            most = DEPTH_MAX if failed.too_long else 1
            if not failed.smaller_may_help or depth >= most or len(halves) < 2:
                raise
            _log.info("%s: %s; it is tried on fewer messages", self.name, failed)
        found = tuple(before)
        for half in halves:
            found = self._asked(found, half, depth + 1)
        return found


def _first_that_fit(messages: Sequence[Uttered], cited: int, room: int) -> list[_Shown]:
    """One at least."""
    shown: list[_Shown] = []
    left = room
    for number, said in enumerate(messages, cited + 1):
        left -= _cost(said.text)
        if shown and left < 0:
            break
        shown.append(_Shown(number, said, said.text))
    return shown


def _cost(text: str) -> int:
    return tokens_of(text) + MESSAGE_TOKENS


def _halves(shown: Sequence[_Shown]) -> list[Sequence[_Shown]]:
    """The same in two smaller ones; in one when it cannot be made smaller."""
    if len(shown) > 1:
        middle = len(shown) // 2
        return [shown[:middle], shown[middle:]]
    only = shown[0]
    if len(only.text) < 2 * OVERLAP_CHARS:
        return [shown]
    halves = parts(only.text, len(only.text) // 2 + OVERLAP_CHARS, len)
    return [[only._replace(text=text)] for text in halves]


# --- what is told to the model


def _told(before: Sequence[Gist], shown: Sequence[_Shown]) -> str:
    messages = [
        {
            "n": each.number,
            "who": " ".join(each.said.speaker.split())[:100],
            "when": _day(each.said),
            "text": each.text,
        }
        for each in shown
    ]
    told = {"summary": _plain_of(before), "messages": messages}
    return fenced(json.dumps(told, ensure_ascii=False)) + "\n"


def _so_far(before: Sequence[Gist]) -> str:
    return json.dumps(_plain_of(before), ensure_ascii=False)


def _plain_of(sentences: Sequence[Gist]) -> list[dict[str, Any]]:
    return [{"text": text, "sources": list(sources)} for text, sources in sentences]


def _day(said: Uttered) -> str:
    try:
        return f"{from_us(said.at).astimezone(place(said.zone)):%A, %Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return "an unknown day"


# --- what is believed of its answer


def _believed(answered: Sequence[dict[str, Any]], numbers: int) -> tuple[Gist, ...]:
    """Sentences that say something, with those of their sources that were shown.

    Raises ChatFailed when there is none.
    """
    found: dict[str, Gist] = {}
    unknown = 0
    for each in answered[:SENTENCES_MAX]:
        text = plain(each["text"].replace(BLACK, ""))
        if not any(sign.isalnum() for sign in text):
            continue
        sources = [n for n in dict.fromkeys(each["sources"]) if 1 <= n <= numbers]
        unknown += len(each["sources"]) - len(sources)
        found.setdefault(text, Gist(text, tuple(sources)))
    if unknown:
        _log.info("%d sources of sentences were not among what was shown", unknown)
    if not found:
        raise ChatFailed("the summary holds no sentence", Why.EMPTY_REPLY, smaller_may_help=True)
    return tuple(found.values())
