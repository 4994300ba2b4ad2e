"""Where a transcript that is sent again overlaps the conversation that is there."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.memory.identity import MessageContent

_ANYTHING = -1


class Slot(NamedTuple):
    """A place in a conversation; without content (the message is undone or erased) it fits any."""

    ordinal: int
    content: MessageContent | None


class Aligned(NamedTuple):
    """The first `length` of what was sent are those from index `start` of the slots on."""

    start: int
    length: int


def overlap(held: Sequence[Slot], sent: Sequence[MessageContent]) -> Aligned | None:
    """The longest end of the conversation that what was sent begins with."""
    codes = _codes(held, sent)
    for start in range(max(0, len(held) - len(sent)), len(held)):
        count = len(held) - start
        if _match(codes.held[start:], codes.sent[:count]):
            return Aligned(start, count)
    return None


def contained(held: Sequence[Slot], sent: Sequence[MessageContent]) -> Aligned | None:
    """What was sent, when it is the beginning of these slots, whole."""
    if not 0 < len(sent) <= len(held):
        return None
    codes = _codes(held[: len(sent)], sent)
    return Aligned(0, len(sent)) if _match(codes.held, codes.sent) else None


class _Codes(NamedTuple):
    held: npt.NDArray[np.int64]
    sent: npt.NDArray[np.int64]


def _codes(held: Sequence[Slot], sent: Sequence[MessageContent]) -> _Codes:
    """Equal contents as equal numbers."""
    known: dict[MessageContent, int] = {}
    numbered = [known.setdefault(content, len(known)) for content in sent]
    other = len(known)  # what was not sent equals nothing that was
    slots = [_ANYTHING if slot.content is None else known.get(slot.content, other) for slot in held]
    return _Codes(np.array(slots, np.int64), np.array(numbered, np.int64))


def _match(held: npt.NDArray[np.int64], sent: npt.NDArray[np.int64]) -> bool:
    """Equal wherever there is something to compare, and that somewhere."""
    if held[0] not in (_ANYTHING, sent[0]):
        return False
    told = held != _ANYTHING
    return bool(told.any() and ((held == sent) | ~told).all())
