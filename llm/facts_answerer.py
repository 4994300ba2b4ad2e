"""The answerer without a model: the memories that fit best are the sentences of the answer.

It puts nothing into other words and concludes nothing. What was said by somebody is told as their
words, what holds no more as that, and with its date where the question asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewound.llm.question_answering import AnsweredWith, CitedSentence, Query, Recalled, Saying

SENTENCES = 3
SENTENCES_OF_SEVERAL = 8
"""Where a list, a count or a comparison is asked for."""

SHARE = 0.5
SHARE_OF_SEVERAL = 0.2
"""What is less likely than this share of the likeliest is left out."""

_ENDS = (".", "!", "?", "…", "。", "！", "？")
_CLOSING = "\"'”’»」』)]*_"


class FactsAnswerer:
    """Safe for any number of threads."""

    name = "facts/1"

    def answer(
        self,
        query: Query,
        recalled: Sequence[Recalled],
        say: Callable[[Saying], None],
        timeout_s: float | None = None,
    ) -> AnsweredWith:
        """One sentence a memory, likeliest first."""
        del timeout_s  # it takes none
        share = SHARE_OF_SEVERAL if query.several else SHARE
        most = SENTENCES_OF_SEVERAL if query.several else SENTENCES
        best = max((each.likely for each in recalled), default=0.0)
        least = max(query.least, share * best)
        for each in [each for each in recalled if each.likely >= least][:most]:
            say(CitedSentence(told(each, dated=query.dated), (each.number,)))
        return AnsweredWith(shown=len(recalled))

    def close(self) -> None:
        """Nothing is ever under way."""


def told(memory: Recalled, *, dated: bool) -> str:
    """A memory as a sentence."""
    text = memory.text
    if not text.rstrip(_CLOSING).endswith(_ENDS):
        text += "."
    if memory.asked:
        text = f"Asked “{memory.asked}”: “{text}”"
    elif not memory.is_fact:
        text = f"“{text}”"
    if memory.by and not memory.is_fact:
        text = f"{memory.by}: {text}"
    if memory.over:
        text = f"No longer so ({memory.over}): {text}"
    if dated and memory.dates:
        text = f"{' to '.join(memory.dates)}: {text}"
    return text
