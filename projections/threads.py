"""What stands beside what: entries in the order in which they were said or written.

A *unit* is a message, a passage, or a fact that was drawn from no message; a fact of a message
belongs to that message's unit. A *thread* is a conversation or a document. Everything is told by
ordinals and follows from the columns alone, so the same moment gives the same neighbours.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rewound.eventlog.ids import Kind
from rewound.projections.columns import FIRST, Columns

NONE: Final = -1

_CHAINS: Final = "chains"
_PASSAGES: Final = "passages"

Ordinals = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
T = TypeVar("T")


class Threads(NamedTuple):
    """Shape (entries,) each; ordinals, or NONE where there is nothing."""

    unit: Ordinals
    """The entry that an entry is ranked with."""
    previous: Ordinals
    """The unit before a unit."""
    next: Ordinals
    thread: Ordinals
    """A number below `threads` that all entries of one conversation or document share."""
    place: Ordinals
    """How many messages of the thread stand before a unit; 0 for all else."""
    threads: int
    """How many there are."""


def threads(columns: Columns, counted: Mask) -> Threads:
    """Of the entries that count at a moment; the rest are units of their own."""
    own = np.arange(columns.n, dtype=np.int64)
    messages = np.flatnonzero(counted & (columns.kind == Kind.MESSAGE))
    seen = np.full(columns.n, NONE, np.int64)
    seen[columns.group[messages]] = messages

    unit = own.copy()
    drawn = np.flatnonzero(counted & (columns.source != FIRST))
    source = seen[columns.source[drawn]]
    unit[drawn] = np.where(source != NONE, source, drawn)

    previous = np.full(columns.n, NONE, np.int64)
    follows = messages[columns.before[messages] != FIRST]
    previous[follows] = seen[columns.before[follows]]
    passages = _once(columns, _PASSAGES, _passages)
    passages = passages[counted[passages]]
    beside = columns.group[passages[1:]] == columns.group[passages[:-1]]
    previous[passages[1:][beside]] = passages[:-1][beside]
    next_ = np.full(columns.n, NONE, np.int64)
    has = np.flatnonzero(previous != NONE)
    next_[previous[has]] = has

    number, depth, count = _once(columns, _CHAINS, _chains)
    thread = number[columns.group[unit]]
    place = np.zeros(columns.n, np.int64)
    place[messages] = depth[columns.group[messages]]
    return Threads(unit, previous, next_, thread, place, count)


def _once(columns: Columns, name: str, work: Callable[[Columns], T]) -> T:
    """What follows from the columns whatever the moment."""
    found: T | None = columns.memo.get(name)
    if found is None:
        found = columns.memo[name] = work(columns)
    return found


def _passages(columns: Columns) -> Ordinals:
    """All passages, document by document, in the order of their ids: they were cut in that order.

    Their ordinals need not have it: a passage that comes back is numbered anew, and one document's
    passages may have another's among them.
    """
    found = np.flatnonzero(columns.kind == Kind.PASSAGE)
    high, low = columns.item[found].view(">u8").reshape(-1, 2).T
    return found[np.lexsort((low, high, columns.group[found]))]


def _chains(columns: Columns) -> tuple[Ordinals, Ordinals, int]:
    """For every group the number of its thread, how far it is from that one's first, and how many
    threads there are.

    By pointer jumping (Wyllie 1979): as many steps as the longest conversation's length has bits.
    """
    own = np.arange(columns.n, dtype=np.int64)
    up = own.copy()
    messages = columns.kind == Kind.MESSAGE
    follows = np.flatnonzero(messages & (columns.before != FIRST))
    up[columns.group[follows]] = columns.before[follows]
    depth = (up != own).astype(np.int64)
    further = up[up]
    while not np.array_equal(further, up):
        depth += depth[up]
        up, further = further, further[further]
    number = np.cumsum(up == own) - 1
    return number[up], depth, int(number[-1]) + 1 if columns.n else 0
