"""The reranker that asks a chat model for the texts that answer, best first."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.calling import lasting
from rewound.llm.chat import tokens_of
from rewound.llm.chat_model import ChatModel, Spent
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed
from rewound.llm.reranking import TIMEOUT_S, RerankFailed, Scored
from rewound.llm.spending import counted, note, tokens_in

TEXT_CHARS_MAX = 600
"""Of a longer text the beginning is shown."""

QUERY_CHARS_MAX = 1_000
FRAME_TOKENS = 160
ID_TOKENS = 8

_log = logging.getLogger(__name__)


class _Shown(NamedTuple):
    told: str
    texts: int


class ModelReranker:
    """Ranks by a chat model. Safe for any number of threads.

    A text's score is its place among those that the model names: 1 for the first, evenly down to
    the last; 0 for what it does not name.
    """

    def __init__(self, make: Callable[[Callable[[Spent], None]], ChatModel]) -> None:
        """`make` gives the model, which tells what each call took in the context that it was made
        in."""
        self._chat = make(note)
        self._prompt = prompt("rerank.v1")

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    def close(self) -> None:
        self._chat.close()

    def scores(self, query: str, texts: Sequence[str], timeout_s: float | None = None) -> Scored:
        """One score for each text; those that do not fit into one call have 0. Raises
        RerankFailed."""
        if not texts:
            return Scored([])
        calls = counted()
        left_s = lasting(TIMEOUT_S if timeout_s is None else timeout_s)
        try:
            shown = self._shown(query, texts, left_s())
            answer = self._chat.answer(
                self._prompt.system,
                shown.told,
                self._prompt.schema,
                ID_TOKENS * (shown.texts + 2),
                left_s(),
            )
        except ChatFailed as failed:
            raise RerankFailed(str(failed), failed.why) from None
        ranked = self._known(answer["ids"], shown.texts)
        scores = [0.0] * len(texts)
        for place, number in enumerate(ranked):
            scores[number - 1] = 1 - place / len(ranked)
        return Scored(scores, 1, tokens_in(calls))

    def _shown(self, query: str, texts: Sequence[str], timeout_s: float | None) -> _Shown:
        """As many of the texts as one call holds, the first ones. Raises ChatFailed."""
        asked = json.dumps({"question": query[:QUERY_CHARS_MAX]}, ensure_ascii=False)
        lines: list[str] = []
        left = self._chat.context_tokens(timeout_s) - FRAME_TOKENS - 2 * ID_TOKENS
        left -= tokens_of(self._prompt.whole) + tokens_of(asked)
        for number, text in enumerate(texts, 1):
            line = json.dumps({"id": number, "text": text[:TEXT_CHARS_MAX]}, ensure_ascii=False)
            left -= tokens_of(line) + 1 + ID_TOKENS
            if left < 0:
                break
            lines.append(line)
        if not lines:
            raise ChatFailed(
                "the model reads too little at once for the prompt and a text", Why.REFUSED
            )
        return _Shown(fenced("\n".join((asked, *lines))) + "\n", len(lines))

    def _known(self, ids: list[int], count: int) -> list[int]:
        """The ids that there are, each once, in the model's order."""
        known = list(dict.fromkeys(each for each in ids if 1 <= each <= count))
        if len(known) < len(ids):
            _log.info("%s: left out %d ids that there are not, or twice", self.name,
                      len(ids) - len(known))  # fmt: skip
        return known
