"""What a decomposer is: a question in, the parts out that are to be asked one by one.

A part may need what an earlier one finds: `{1}` in it stands for the answer of the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from rewound.eventlog.enums import Why
from rewound.llm.failing import ServerFailed

TIMEOUT_S = 5.0
"""A search waits for its decomposer for so long at most."""

PARTS_MAX = 4
PART_CHARS_MAX = 300


class Decomposed(NamedTuple):
    """The `parts`, each in one line; none for what is one question. What it took: `calls` of a
    model, and the `tokens` that it counts."""

    parts: tuple[str, ...]
    calls: int = 0
    tokens: int = 0


class DecomposeFailed(ServerFailed):
    """No usable parts; the message says why and holds no text of a question."""


class Decomposer(Protocol):
    """Takes questions apart. Safe for any number of threads.

    `name` tells the method, its version and the model.
    """

    @property
    def name(self) -> str: ...

    def decomposed(self, query: str, timeout_s: float | None = None) -> Decomposed:
        """The parts of a question. Raises DecomposeFailed, after `timeout_s` at the latest."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


# --- parts that need others

_ANSWER = re.compile(r"\{\s*(\d{1,3})\s*\}")
_WORD = re.compile(r"\w")


def needed(part: str) -> tuple[int, ...]:
    """The numbers of the parts, from 1, whose answers a part needs, each once."""
    return tuple(dict.fromkeys(int(number) for number in _ANSWER.findall(part)))


def filled(part: str, answers: Mapping[int, str]) -> str:
    """The part with answers where it needs them, and with nothing where there is none."""
    said = _ANSWER.sub(lambda found: answers.get(int(found[1]), ""), part)
    return " ".join(said.split())


def checked(parts: Sequence[str]) -> tuple[str, ...]:
    """Parts that can be asked, at most four of them; none where that is one question.

    Raises DecomposeFailed for a part without a word, one that is too long, and one that needs what
    does not stand before it.
    """
    told: list[str] = []
    for number, part in enumerate(parts[:PARTS_MAX], 1):
        line = " ".join("".join(sign if sign.isprintable() else " " for sign in part).split())
        if not _WORD.search(filled(line, {})):
            raise DecomposeFailed("a part has no word to search by", Why.EMPTY_REPLY)
        if len(line) > PART_CHARS_MAX:
            raise DecomposeFailed(
                f"a part is longer than {PART_CHARS_MAX} characters", Why.MALFORMED
            )
        if any(not 1 <= before < number for before in needed(line)):
            raise DecomposeFailed(
                "a part needs the answer of one that does not stand before it", Why.MALFORMED
            )
        told.append(line)
    return tuple(told) if len(told) > 1 else ()
