"""The decomposer that asks a chat model."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

from rewound.llm.chat_model import ChatModel, Spent
from rewound.llm.decomposing import PARTS_MAX, TIMEOUT_S, Decomposed, DecomposeFailed, checked
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed
from rewound.llm.spending import counted, note, tokens_in

QUERY_CHARS_MAX = 1_000
"""Of a longer question the beginning is shown."""

ANSWER_TOKENS = 500

_log = logging.getLogger(__name__)


class ModelDecomposer:
    """Takes apart by a chat model, which is shown the question and nothing else. Safe for any
    number of threads."""

    def __init__(self, make: Callable[[Callable[[Spent], None]], ChatModel]) -> None:
        """`make` gives the model, which tells what each call took in the context that it was made
        in."""
        self._chat = make(note)
        self._prompt = prompt("decompose.v1")

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._chat.close()

    def decomposed(self, query: str, timeout_s: float | None = None) -> Decomposed:
        """The model's parts, the first four of them. Raises DecomposeFailed."""
        calls = counted()
        try:
            answer = self._chat.answer(
                self._prompt.system,
                fenced(json.dumps({"question": query[:QUERY_CHARS_MAX]}, ensure_ascii=False))
                + "\n",
                self._prompt.schema,
                ANSWER_TOKENS,
                TIMEOUT_S if timeout_s is None else timeout_s,
            )
        except ChatFailed as failed:
            raise DecomposeFailed(str(failed), failed.why) from None
        parts: list[str] = answer["parts"]
        if len(parts) > PARTS_MAX:
            _log.info("%s: left out %d parts too many", self.name, len(parts) - PARTS_MAX)
        return Decomposed(checked(parts), 1, tokens_in(calls))
