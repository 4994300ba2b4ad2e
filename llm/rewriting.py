"""What a rewriter is: a question in, the words that a stored statement would answer it with out.

What a question names must not get lost on the way: its names, its numbers and what stands in
quotes. `lost` tells what did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from rewound.llm.failing import ServerFailed

TIMEOUT_S = 5.0
"""A search waits for its rewriter for so long at most."""


class Rewritten(NamedTuple):
    """`query` in one line; what it took: `calls` of a model, and the `tokens` that it counts."""

    query: str
    calls: int = 0
    tokens: int = 0


class RewriteFailed(ServerFailed):
    """No usable query; the message says why and holds no text of a question."""


class Rewriter(Protocol):
    """Puts questions into other words. Safe for any number of threads.

    `name` tells the method, its version and the model.
    """

    @property
    def name(self) -> str: ...

    def rewritten(self, query: str, timeout_s: float | None = None) -> Rewritten:
        """The query in the words of a statement. Raises RewriteFailed, after `timeout_s` at the
        latest."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


# --- what must be kept

_QUOTED = re.compile(
    r'(?<!\w)"([^"\s](?:[^"]*[^"\s])?)"(?!\w)'
    "|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」"
)
_NUMBER = re.compile(r"[^\W_]*\d(?:[\w.,:/-]*\w)?")
_WORD = re.compile(r"[^\W\d_]+")
_NO_NAMES = frozenset(
    "a about after all also am an and any are as at be before but by can could did do does during "
    "find for from give had has have he how i if in into is it list may me might must my name now "
    "of on or our please remember shall she should show since so tell than that the their then "
    "there these they this those to until was we were what when where which while who whom whose "
    "why will with would yes no you your s d ll m re ve t".split()
)
"""Words that are no names where a sentence begins with them."""


def lost(question: str, rewritten: str) -> list[str]:
    """Names, numbers and phrases in quotes of a question that its other words do not hold, in that
    order; phrases with quotes around them.

    A name is any word with a capital that is no common first word of a question: one too many
    does no harm.
    """
    held = _plain(rewritten)
    words = frozenset(_WORD.findall(held))
    missing = [name for name in _names(question) if name.casefold() not in words]
    missing += [
        number
        for number in _NUMBER.findall(question)
        if not re.search(rf"(?<!\w){re.escape(number.casefold())}(?!\w)", held)
    ]
    phrases = ("".join(groups).strip() for groups in _QUOTED.findall(question))
    missing += [f'"{phrase}"' for phrase in phrases if _plain(phrase) not in held]
    return list(dict.fromkeys(missing))


def _names(question: str) -> Iterator[str]:
    for word in _WORD.findall(question):
        if word[0].isupper() and word.casefold() not in _NO_NAMES:
            yield word


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
