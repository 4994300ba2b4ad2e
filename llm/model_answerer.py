"""The answerer that asks a chat model, and checks each of its sentences before it is told.

The memories stand in the prompt as data, fenced. A sentence is told when it cites memories that
were given and is borne by them (`bearing.py`); all others are held back, with the reason.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.bearing import wanting
from rewound.llm.calling import lasting
from rewound.llm.chat import tokens_of
from rewound.llm.chat_model import SpeakingModel, Spent
from rewound.llm.citing import Marked, Sentences
from rewound.llm.prompting import fenced, prompt_text
from rewound.llm.question_answering import (
    TIMEOUT_S,
    AnsweredWith,
    AnswerFailed,
    CitedSentence,
    HeldBack,
    Query,
    Recalled,
    Saying,
)
from rewound.llm.replies import ChatFailed
from rewound.llm.spending import counted, note, tokens_in

QUERY_CHARS_MAX = 2_000
"""Of a longer question the beginning is shown."""

ANSWER_TOKENS = 600
FRAME_TOKENS = 96
"""What a chat's template and the fence take."""

_UNKNOWN = re.compile(
    r"\W*(?:i (?:do not|don't|don’t) know|(?:the answer is )?(?:not known|unknown)"
    r"|(?:the )?memories do not (?:say|tell|answer|contain|mention)\b.*)\W*",
    re.I | re.S,
)

_log = logging.getLogger(__name__)


class _Shown(NamedTuple):
    told: str
    memories: int


class ModelAnswerer:
    """Answers by a chat model. Safe for any number of threads."""

    def __init__(self, make: Callable[[Callable[[Spent], None]], SpeakingModel]) -> None:
        """`make` gives the model, which tells what each call took in the context that it was made
        in."""
        self._chat = make(note)
        self._system = prompt_text("answer.v1")

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    def close(self) -> None:
        self._chat.close()

    def answer(
        self,
        query: Query,
        recalled: Sequence[Recalled],
        say: Callable[[Saying], None],
        timeout_s: float | None = None,
    ) -> AnsweredWith:
        """As many of the memories are shown as one call holds, the first ones. Raises
        AnswerFailed."""
        calls = counted()
        left_s = lasting(TIMEOUT_S if timeout_s is None else timeout_s)
        try:
            shown = self._shown(query, recalled, left_s())
            checked = _Checked(recalled[: shown.memories], say)
            heard = Sentences(checked.take)
            try:
                self._chat.speak(self._system, shown.told, heard, ANSWER_TOKENS, left_s())
            except ChatFailed:
                if heard.break_off():
                    say(HeldBack((), "it breaks off"))
                raise
            heard.end()
        except ChatFailed as failed:
            raise AnswerFailed(str(failed), failed.why) from None
        if checked.held:
            _log.info("%s: held %d sentences back", self.name, checked.held)
        return AnsweredWith(checked.knows, shown.memories, 1, tokens_in(calls))

    def _shown(self, query: Query, recalled: Sequence[Recalled], timeout_s: float | None) -> _Shown:
        """The question and the memories that fit beside it. Raises ChatFailed."""
        asked = _json({"question": query.text[:QUERY_CHARS_MAX]})
        left = self._chat.context_tokens(timeout_s) - FRAME_TOKENS - ANSWER_TOKENS
        left -= tokens_of(self._system) + tokens_of(asked)
        lines: list[str] = []
        for memory in recalled:
            line = _line(memory)
            left -= tokens_of(line) + 1
            if left < 0:
                break
            lines.append(line)
        if not lines:
            raise ChatFailed(
                "the model reads too little at once for the prompt and a memory", Why.REFUSED
            )
        return _Shown(fenced("\n".join((asked, *lines))) + "\n", len(lines))


def _line(memory: Recalled) -> str:
    told = {
        "id": memory.number,
        "when": " to ".join(memory.dates),
        "by": memory.by,
        "over": memory.over,
        "asked": memory.asked,
        "text": memory.text,
    }
    return _json({name: value for name, value in told.items() if value})


def _json(told: dict[str, object]) -> str:
    return json.dumps(told, ensure_ascii=False)


class _Checked:
    """Tells those sentences that stand."""

    def __init__(self, given: Sequence[Recalled], say: Callable[[Saying], None]) -> None:
        self._given = {each.number: each for each in given}
        self._say = say
        self._told: set[str] = set()
        self.knows = True
        self.held = 0

    def take(self, marked: Marked) -> None:
        if marked.cites in ((0,), ()) and (not marked.text or _UNKNOWN.fullmatch(marked.text)):
            self.knows = False
            return
        why = self._why_not(marked)
        if why is not None:
            self.held += 1
            self._say(HeldBack(marked.cites, why))
            return
        self._told.add(marked.text.casefold())
        known = tuple(number for number in marked.cites if number in self._given)
        dropped = tuple(number for number in marked.cites if number not in self._given)
        self._say(CitedSentence(marked.text, known, dropped))

    def _why_not(self, marked: Marked) -> str | None:
        if not marked.text:
            return "it says nothing"
        if not marked.cites:
            return "it cites nothing"
        # A number that nobody gave bears nothing: the others have to bear the sentence alone.
        known = [self._given[number] for number in marked.cites if number in self._given]
        if not known:
            return f"it cites [{marked.cites[0]}], which was not given"
        if marked.text.casefold() in self._told:
            return "it was said before"
        return wanting(marked.text, known)
