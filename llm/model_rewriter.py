"""The rewriter that asks a chat model."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable

from rewound.eventlog.enums import Why
from rewound.llm.chat_model import ChatModel, Spent
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed
from rewound.llm.rewriting import TIMEOUT_S, RewriteFailed, Rewritten, lost
from rewound.llm.spending import counted, note, tokens_in

QUERY_CHARS_MAX = 1_000
"""Of a longer question the beginning is shown."""

REWRITTEN_CHARS_MAX = 400
ANSWER_TOKENS = 400

_log = logging.getLogger(__name__)


class ModelRewriter:
    """Rewrites by a chat model, which is shown the question and nothing else. Safe for any number
    of threads."""

    def __init__(self, make: Callable[[Callable[[Spent], None]], ChatModel]) -> None:
        """`make` gives the model, which tells what each call took in the context that it was made
        in."""
        self._chat = make(note)
        self._prompt = prompt("rewrite.v1")

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._chat.close()

    def rewritten(self, query: str, timeout_s: float | None = None) -> Rewritten:
        """The model's words, at most 400 characters of them, and after them what they lost of the
        question. Raises RewriteFailed."""
        shown = query[:QUERY_CHARS_MAX]
        calls = counted()
        try:
            answer = self._chat.answer(
                self._prompt.system,
                fenced(json.dumps({"question": shown}, ensure_ascii=False)) + "\n",
                self._prompt.schema,
                ANSWER_TOKENS,
                TIMEOUT_S if timeout_s is None else timeout_s,
            )
        except ChatFailed as failed:
            raise RewriteFailed(str(failed), failed.why) from None
        words = _one_line(answer["query"])
        if not re.search(r"\w", words):
            raise RewriteFailed("the model gave no words to search by", Why.EMPTY_REPLY)
        missing = lost(shown, words)
        if missing:
            _log.info("%s: put back %d names, numbers or phrases", self.name, len(missing))
        return Rewritten(" ".join((words, *missing)), 1, tokens_in(calls))


def _one_line(text: str) -> str:
    """The text in one line without signs that nobody sees, cut between two words."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if len(line) <= REWRITTEN_CHARS_MAX:
        return line
    return line[: REWRITTEN_CHARS_MAX + 1].rpartition(" ")[0] or line[:REWRITTEN_CHARS_MAX]
