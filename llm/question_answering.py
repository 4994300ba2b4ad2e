"""What an answerer is: a question and numbered memories in, sentences that cite them out.

Whatever an answerer says is told at once, sentence by sentence, so that whoever asked need not wait
for the end of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from rewound.llm.failing import ServerFailed

TIMEOUT_S = 60.0
"""A question waits for its answerer for so long at most, unless it says otherwise."""


class Query(NamedTuple):
    """A question, and what was read from its words: whether it is for a date (`dated`), for more
    than one thing (`several`). What is less likely than `least` is no answer by itself."""

    text: str
    dated: bool = False
    several: bool = False
    least: float = 0.0


class Recalled(NamedTuple):
    """One memory that a question is answered from, as it is cited: by its number, from 1.

    `text` is in one line. `by` is who said it or where it stands, empty where that is unknown or
    in the text. `dates` are when it holds, or when it was said: days or months as RFC 3339 writes
    them. `over` says that it holds no more, and how so. `asked` is the question that a short text
    answers. `at` (UTC µs) and `zone` are those of its saying, for times in its words. `likely` is
    how likely it answers, 0 to 1.
    """

    number: int
    text: str
    by: str = ""
    dates: tuple[str, ...] = ()
    over: str = ""
    asked: str = ""
    at: int = 0
    zone: str = "UTC"
    likely: float = 1.0
    is_fact: bool = True


class CitedSentence(NamedTuple):
    """A sentence of an answer, without marks in it, and the numbers of what it cites; `dropped` are
    numbers that it named beside these, and that no memory has."""

    text: str
    cites: tuple[int, ...]
    dropped: tuple[int, ...] = ()


class HeldBack(NamedTuple):
    """A sentence that is not told, since `why`; what it cites."""

    cites: tuple[int, ...]
    why: str


Saying = CitedSentence | HeldBack


class AnsweredWith(NamedTuple):
    """What an answer took: `calls` of a model, the `tokens` that it counts. `shown` is how many of
    the memories the answerer looked at, the first ones. One that `knows` nothing said so."""

    knows: bool = True
    shown: int = 0
    calls: int = 0
    tokens: int = 0


class AnswerFailed(ServerFailed):
    """The answer did not come, or not to its end; the message says why and holds no text of a
    memory. What was said until then was said."""


class QuestionAnswerer(Protocol):
    """Answers questions from memories. Safe for any number of threads.

    `name` tells the method, its version and the model.
    """

    @property
    def name(self) -> str: ...

    def answer(
        self,
        query: Query,
        recalled: Sequence[Recalled],
        say: Callable[[Saying], None],
        timeout_s: float | None = None,
    ) -> AnsweredWith:
        """Says the answer from the memories, likeliest first. Raises AnswerFailed, after
        `timeout_s` at the latest."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...
