"""What the calls of one question took, told to whoever asks it.

A call may be made in another thread than the question.
"""

from __future__ import annotations

from contextvars import ContextVar

from rewound.llm.chat_model import Spent

_calls: ContextVar[list[Spent] | None] = ContextVar("_calls", default=None)


def counted() -> list[Spent]:
    """A list that is told of each call that is made from now on in this context."""
    calls: list[Spent] = []
    _calls.set(calls)
    return calls


def note(spent: Spent) -> None:
    """Tell what a call took."""
    calls = _calls.get()
    if calls is not None:
        calls.append(spent)


def tokens_in(calls: list[Spent]) -> int:
    """All tokens of the calls so far; one that was given up may still be under way."""
    return sum(spent.read + spent.written for spent in list(calls))
