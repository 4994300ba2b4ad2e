"""The judge that asks a chat model, which gives opinions and decides nothing."""

import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from rewound.eventlog.enums import Outcome, Why
from rewound.eventlog.instants import show_us
from rewound.llm.chat import tokens_of
from rewound.llm.chat_model import ChatModel
from rewound.llm.extraction import Spread
from rewound.llm.judging import Claim, JudgeFailed, Opinion, Pair
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed

PAIRS_MAX = 10
"""Pairs in one call: of more, small models mix up the numbers."""

PAIR_ANSWER_TOKENS = 40
FRAME_TOKENS = 160
CLAIM_CHARS_MAX = 1_000
"""Of a longer claim the beginning is shown."""

Told = Opinion | ChatFailed | None
"""What came of a pair."""

_log = logging.getLogger(__name__)


class ModelJudge:
    """Gives opinions on pairs by a chat model. Safe for any number of threads."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._prompt = prompt("judge.v1")

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    def close(self) -> None:
        self._chat.close()

    def opinions(self, pairs: Sequence[Pair]) -> list[Opinion | None]:
        """One for each pair, None where the model would not say, or said what cannot be used
        although it was asked about few. Raises JudgeFailed, also when that is so of all."""
        told: list[Told] = []
        try:
            for each in self._all(self._batches(pairs)):
                told += each
        except ChatFailed as failed:
            raise JudgeFailed(str(failed)) from None
        unusable = [each for each in told if isinstance(each, ChatFailed)]
        if unusable and len(unusable) == len(told):
            raise JudgeFailed(str(unusable[0]))
        if unusable:  # one pair that a model chokes on must not keep all others waiting
            _log.warning("%s: no opinion on %d pairs: %s", self.name, len(unusable), unusable[0])
        return [None if isinstance(each, ChatFailed) else each for each in told]

    def _all(self, batches: list[list[str]]) -> Iterator[list[Told]]:
        """What is said of each batch, in their order; so many at once as there is room for."""
        at_once = self._chat.parallel if isinstance(self._chat, Spread) else 1
        if min(len(batches), at_once) < 2:
            yield from (self._ask(batch, halve=True) for batch in batches)
            return
        with ThreadPoolExecutor(at_once, thread_name_prefix="rewound-judge") as pool:
            # Each in a context of its own, so that what is asked of the asker is known there too.
            within = [copy_context() for _ in batches]
            yield from pool.map(
                lambda own, batch: own.run(self._ask, batch, halve=True), within, batches
            )

    def _batches(self, pairs: Sequence[Pair]) -> list[list[str]]:
        """The pairs as they are shown, so many together as fit. Raises ChatFailed."""
        if not pairs:
            return []
        context = self._chat.context_tokens()
        room = context - tokens_of(self._prompt.whole) - FRAME_TOKENS
        batches: list[list[str]] = []
        left = 0
        for pair in pairs:
            text = _shown(pair)
            cost = tokens_of(text) + PAIR_ANSWER_TOKENS + 4
            if cost > room:
                raise ChatFailed(
                    f"the model reads only {context} tokens at once, too few for the prompt and "
                    "two statements",
                    Why.REFUSED,
                )
            if not batches or cost > left or len(batches[-1]) >= PAIRS_MAX:
                batches.append([])
                left = room
            batches[-1].append(text)
            left -= cost
        return batches

    def _ask(self, batch: list[str], *, halve: bool) -> list[Told]:
        """What gave no usable answer is tried once more in halves; what gives none then comes as
        the failure. Raises ChatFailed where fewer pairs would not help."""
        told = "\n".join(f'{{"pair": {n}, {text}}}' for n, text in enumerate(batch, 1))
        try:
            answer = self._chat.answer(
                self._prompt.system,
                fenced(told) + "\n",
                self._prompt.schema,
                # The braces around the list, and spaces that some models put in.
                PAIR_ANSWER_TOKENS * (len(batch) + 1),
            )
        except ChatFailed as failed:
            if not failed.smaller_may_help:
                raise
            if not halve or len(batch) < 2:
                return [failed] * len(batch)
            _log.info("%s: %s; it is tried on fewer pairs", self.name, failed)
            middle = len(batch) // 2
            halves = batch[:middle], batch[middle:]
            return [each for half in halves for each in self._ask(half, halve=False)]
        return [*self._settled(answer["verdicts"], len(batch))]

    def _settled(self, verdicts: list[dict[str, Any]], count: int) -> list[Opinion | None]:
        """The opinions by number. One on a pair that there is not, one that is no probability and
        two that differ are left out."""
        given: dict[int, set[Opinion]] = {}
        unknown = unlikely = 0
        for verdict in verdicts:
            probability = verdict["probability"]
            if not 1 <= verdict["pair"] <= count:
                unknown += 1
            elif probability is None or not 0 <= probability <= 1:
                unlikely += 1
            else:
                opinion = Opinion(Outcome[verdict["outcome"].upper()], round(probability * 1000))
                given.setdefault(verdict["pair"], set()).add(opinion)
        twice = sum(len(each) > 1 for each in given.values())
        if unknown or unlikely or twice:
            _log.info(
                "%s: left out %d opinions on pairs that there are not, %d without a probability "
                "from 0 to 1, %d on which it gave several",
                self.name, unknown, unlikely, twice,
            )  # fmt: skip
        one = {number: each.pop() for number, each in given.items() if len(each) == 1}
        return [one.get(number) for number in range(1, count + 1)]


def _shown(pair: Pair) -> str:
    """The two claims as the inside of a JSON object: no text of theirs can end it."""
    return f'"older": {_claim(pair.old)}, "newer": {_claim(pair.new)}'


def _claim(claim: Claim) -> str:
    shown: dict[str, str] = {"text": claim.text[:CLAIM_CHARS_MAX]}
    if claim.said and claim.said.strip() != claim.text.strip():
        shown["words"] = claim.said[:CLAIM_CHARS_MAX]
    shown["said"] = show_us(claim.said_at)[:10]
    if claim.dated:
        shown["from"] = show_us(claim.valid_from)[:10]
    if claim.valid_to is not None:
        shown["to"] = show_us(claim.valid_to)[:10]
    return json.dumps(shown, ensure_ascii=False)
