"""What a summarizer is: messages in, a few sentences out that say where each is from.

Sentences stand one a line; `[n]` at a line's end is the n-th of what the summary cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from rewound.eventlog.enums import Why


class Uttered(NamedTuple):
    """A message as its reader may see it: `█` for each character that was forgotten.

    `at` (UTC µs) is when it was said; `speaker` is a name or, without one, the role.
    """

    text: str
    at: int
    zone: str
    speaker: str


class Gist(NamedTuple):
    """`sources` are numbers from 1 on."""

    text: str
    sources: tuple[int, ...] = ()


class Summed(NamedTuple):
    """What came of the first `taken` messages after the summary before them.

    A sentence's source n is the n-th of what the summary before cites, and beyond these the
    messages in their order.
    """

    sentences: tuple[Gist, ...]
    taken: int


class NotSummarised(Exception):
    """A model gave no usable answer; the message says why and holds no text of a message.

    `reply` is what it answered, where it answered. `asked` is False where no model was asked at
    all: that is nothing that happened to the messages.
    """

    def __init__(
        self,
        message: str,
        why: Why = Why.MALFORMED,
        reply: str | None = None,
        *,
        asked: bool = True,
    ) -> None:
        super().__init__(message)
        self.why = why
        self.reply = reply
        self.asked = asked


class Summarizer(Protocol):
    """Sums up conversations. Safe for any number of threads.

    `name` tells the method and its version; it is kept with every summary.
    """

    @property
    def name(self) -> str: ...

    def summarise(self, before: Sequence[Gist], cited: int, messages: Sequence[Uttered]) -> Summed:
        """The summary `before`, which cites `cited` messages, and as many of the first messages as
        the model reads at once (one at least), as one summary. Raises NotSummarised."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


# --- the text of a summary

_MARKS = re.compile(r"((?:\[\d+\])+)$")
_NUMBER = re.compile(r"\[(\d+)\]")


def written(sentences: Iterable[Gist]) -> tuple[str, tuple[int, ...]]:
    """The text, and the numbers that it cites: its `[n]` is the n-th of them."""
    cites: dict[int, int] = {}
    lines: list[str] = []
    for text, sources in sentences:
        numbers = [cites.setdefault(source, len(cites) + 1) for source in sources]
        marks = "".join(f"[{number}]" for number in sorted(numbers))
        lines.append(f"{text} {marks}".rstrip())
    return "\n".join(lines), tuple(cites)


def gists_of(text: str) -> Iterator[Gist]:
    """The sentences of such a text."""
    for line in text.splitlines():
        found = _MARKS.search(line)
        numbers = _NUMBER.findall(found[1]) if found else []
        said = line[: found.start()] if found else line
        yield Gist(said.strip(), tuple(map(int, numbers)))


def plain(text: str) -> str:
    """A sentence in one line, without what would read as a source of it."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return _NUMBER.sub(r"(\1)", line)
