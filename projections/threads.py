"""What stands beside what: entries in the order in which they were said or written.

A *unit* is a message, a passage, or a fact that was drawn from no message; a fact of a message
belongs to that message's unit. A *thread* is a conversation or a document. Everything is told by
ordinals and follows from the columns alone, so the same moment gives the same neighbours.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rewound.eventlog.events import Role
from rewound.eventlog.ids import Kind
from rewound.projections.columns import FIRST, Columns
from rewound.projections.remembered import remembered

NONE: Final = -1

_CHAINS: Final = "chains"
_PASSAGES: Final = "passages"

Ordinals = npt.NDArray[np.integer[Any]]
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
    return remembered(columns, counted, "threads", lambda: _threads(columns, counted))


def _threads(columns: Columns, counted: Mask) -> Threads:
    own = np.arange(columns.n, dtype=np.int32)
    messages = np.flatnonzero(counted & (columns.kind == Kind.MESSAGE))
    seen = np.full(columns.n, NONE, np.int32)
    seen[columns.group[messages]] = messages

    unit = own.copy()
    drawn = np.flatnonzero(counted & (columns.source != FIRST))
    source = seen[columns.source[drawn]]
    unit[drawn] = np.where(source != NONE, source, drawn)

    previous = np.full(columns.n, NONE, np.int32)
    follows = messages[columns.before[messages] != FIRST]
    previous[follows] = seen[columns.before[follows]]
    passages = _once(columns, _PASSAGES, _passages)
    passages = passages[counted[passages]]
    beside = columns.group[passages[1:]] == columns.group[passages[:-1]]
    previous[passages[1:][beside]] = passages[:-1][beside]
    next_ = np.full(columns.n, NONE, np.int32)
    has = np.flatnonzero(previous != NONE)
    next_[previous[has]] = has

    number, depth, count = _once(columns, _CHAINS, _chains)
    thread = number[columns.group[unit]]
    place = np.zeros(columns.n, np.int32)
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
    found = np.flatnonzero(columns.kind == Kind.PASSAGE).astype(np.int32)
    high, low = columns.item[found].view(">u8").reshape(-1, 2).T
    return found[np.lexsort((low, high, columns.group[found]))]


def _chains(columns: Columns) -> tuple[Ordinals, Ordinals, int]:
    """For every group the number of its thread, how far it is from that one's first, and how many
    threads there are.

    By pointer jumping (Wyllie 1979): as many steps as the longest conversation's length has bits.
    """
    own = np.arange(columns.n, dtype=np.int32)
    up = own.copy()
    messages = columns.kind == Kind.MESSAGE
    follows = np.flatnonzero(messages & (columns.before != FIRST))
    up[columns.group[follows]] = columns.before[follows]
    depth = (up != own).astype(np.int32)
    further = up[up]
    while not np.array_equal(further, up):
        depth += depth[up]
        up, further = further, further[further]
    number = np.cumsum(up == own, dtype=np.int32) - 1
    return number[up], depth, int(number[-1]) + 1 if columns.n else 0


class Spoken(NamedTuple):
    """What is said in each thread at a moment: messages, passages, and facts of their own."""

    said: Mask
    """Shape (entries,)."""
    people: Mask
    """What of it was not said by an assistant."""
    by_thread: Ordinals
    """Ordinals of what is said, thread by thread."""
    starts: Ordinals
    """Where in that each thread begins; shape (threads + 1,)."""
    lengths: npt.NDArray[np.float64]
    """Terms that people said in each thread, shape (threads,)."""
    talking: int
    """In how many threads they said any, at least 1."""
    thread_terms: float
    """Terms of such a thread, on the average."""
    unit_terms: float
    """Terms of a unit that counts, on the average."""


def spoken(columns: Columns, counted: Mask, threads: Threads) -> Spoken:
    """Of what counts at a moment."""
    return remembered(columns, counted, "spoken", lambda: _spoken(columns, counted, threads))


def spoken_with(
    columns: Columns, counted: Mask, threads: Threads, units: npt.NDArray[Any]
) -> Spoken:
    """The same, with units that may count in no statistics (a document that is asked for)."""
    plain = spoken(columns, counted, threads)
    if plain.said[units].all():
        return plain
    said = plain.said.copy()
    said[units] = True
    return _spoken_in(columns, threads, said, plain.unit_terms)


def _spoken(columns: Columns, counted: Mask, threads: Threads) -> Spoken:
    units = counted & (threads.unit == np.arange(columns.n, dtype=np.int32))
    terms = int(np.sum(columns.length * units, dtype=np.int64))
    said = units | (counted & (columns.kind != Kind.FACT))
    return _spoken_in(columns, threads, said, terms / max(int(np.count_nonzero(units)), 1))


def _spoken_in(columns: Columns, threads: Threads, said: Mask, unit_terms: float) -> Spoken:
    people = said & ~assistants(columns, slice(None))
    at = np.flatnonzero(said).astype(np.int32)
    of = threads.thread[at]
    starts = np.zeros(threads.threads + 1, np.int32)
    np.cumsum(np.bincount(of, minlength=threads.threads), out=starts[1:])
    talkers = np.flatnonzero(people)
    # Sums of whole numbers: exact, whatever their order.
    terms = columns.length[talkers].astype(np.float64)
    counts = np.bincount(threads.thread[talkers], terms, threads.threads)
    lengths: npt.NDArray[np.float64] = counts.astype(np.float64, copy=False)
    talking = max(int(np.count_nonzero(lengths)), 1)
    thread_terms = (float(lengths.sum()) / talking) or 1.0
    by_thread = at[np.argsort(of, kind="stable")]
    return Spoken(said, people, by_thread, starts, lengths, talking, thread_terms, unit_terms)


class Drawn(NamedTuple):
    """Facts that count, by the unit that they belong to (their own, if they are one)."""

    unit: Ordinals
    """Rising, shape (facts,)."""
    fact: Ordinals


def drawn(columns: Columns, counted: Mask, threads: Threads) -> Drawn:
    def work() -> Drawn:
        facts = np.flatnonzero(counted & (columns.kind == Kind.FACT)).astype(np.int32)
        of = threads.unit[facts]
        order = np.argsort(of, kind="stable")
        return Drawn(of[order], facts[order])

    return remembered(columns, counted, "drawn", work)


def assistants(columns: Columns, at: Any) -> Mask:
    """Which entries at some ordinals were said by an assistant."""
    found: Mask = (columns.kind[at] == Kind.MESSAGE) & (columns.detail[at] == Role.ASSISTANT)
    return found


def stretches(
    starts: npt.NDArray[Any], ends: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All numbers of [start, end) of every stretch, one after the other, and for each which
    stretch it is of."""
    counts = (ends - starts).astype(np.int64)
    of = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return starts[of] + within, of
