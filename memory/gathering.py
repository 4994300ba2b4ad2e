"""Messages that wait for a quiet moment in their conversation: what is not to be read yet.

Filled by what is recorded and, after opening, by what is found pending. Of one conversation those
that are due come out together, so that they can be read in one call. Not safe for threads: the
backlog, of which this is a part, is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import itemgetter

from rewound.eventlog.ids import ContainerId, Ref
from rewound.memory.rhythm import Rhythm

Talk = tuple[ContainerId, bytes]
"""A conversation of a container."""


class _Waiting:
    """Messages of one conversation that wait, with the times at which they were recorded (µs)."""

    def __init__(self, times: Mapping[Ref, int]) -> None:
        self.times = dict(times)
        self.oldest_us, self.newest_us = min(times.values()), max(times.values())

    def add(self, ref: Ref, at_us: int) -> None:
        self.times[ref] = at_us
        self.oldest_us = min(self.oldest_us, at_us)
        self.newest_us = max(self.newest_us, at_us)

    def due_us(self, rhythm: Rhythm) -> int:
        return rhythm.due_us(len(self.times), self.oldest_us, self.newest_us)


class Gathering:
    """What waits, by conversation, for the rhythm to call for it."""

    def __init__(self, rhythm: Rhythm) -> None:
        self._rhythm = rhythm
        self._talks: dict[Talk, _Waiting] = {}
        self._where: dict[tuple[ContainerId, Ref], Talk] = {}
        self._sizes: Counter[ContainerId] = Counter()
        self._next_us: int | None = None
        """Nothing is due before; None while nothing waits. It may be too early, never too late."""
        self._seen_us = 0
        """The latest time that was recorded. The clock may be behind it."""

    def __contains__(self, at: tuple[ContainerId, Ref]) -> bool:
        return at in self._where

    def size(self, container: ContainerId) -> int:
        """How many wait in a container."""
        return self._sizes[container]

    def next_us(self) -> int | None:
        """When something is due, at the earliest; None while nothing waits."""
        return self._next_us

    def is_lost(self, now_us: int) -> bool:
        """Whether something waits by a clock that does not tell for how long: all of it is due."""
        return self._next_us is not None and self._rhythm.is_lost(now_us, self._seen_us)

    def add(self, container: ContainerId, conversation: bytes, ref: Ref, at_us: int) -> None:
        """Let a message wait that was recorded at a time, if it does not yet."""
        if (container, ref) in self._where:
            return
        talk = container, conversation
        waiting = self._talks.setdefault(talk, _Waiting({ref: at_us}))
        waiting.add(ref, at_us)
        self._where[container, ref] = talk
        self._sizes[container] += 1
        self._seen_us = max(self._seen_us, at_us)
        due_us = waiting.due_us(self._rhythm)
        self._next_us = due_us if self._next_us is None else min(self._next_us, due_us)

    def take(self, now_us: int, *, awaited: bool = False) -> list[tuple[ContainerId, list[Ref]]]:
        """What is due, or all when it is awaited: oldest first, as many together as are read in
        one call."""
        awaited = awaited or self.is_lost(now_us)
        now_us = max(now_us, self._seen_us)
        if self._next_us is None or (self._next_us > now_us and not awaited):
            return []
        taken: list[tuple[int, ContainerId, list[Ref]]] = []
        for talk, waiting in list(self._talks.items()):
            ordered = sorted(waiting.times.items(), key=itemgetter(1))
            times = [at_us for _, at_us in ordered]
            count = len(times) if awaited else self._rhythm.due(times, now_us)
            for start in range(0, count, self._rhythm.messages):
                end = min(start + self._rhythm.messages, count)
                taken.append((times[start], talk[0], [ref for ref, _ in ordered[start:end]]))
            if count:
                self._let_go(talk, [ref for ref, _ in ordered[:count]], ordered[count:])
        left = (each.due_us(self._rhythm) for each in self._talks.values())
        self._next_us = min(left, default=None)
        return [(container, refs) for _, container, refs in sorted(taken, key=itemgetter(0))]

    def _let_go(self, talk: Talk, gone: list[Ref], left: list[tuple[Ref, int]]) -> None:
        container, _ = talk
        for ref in gone:
            del self._where[container, ref]
        self._sizes[container] -= len(gone)
        del self._talks[talk]
        if left:
            self._talks[talk] = _Waiting(dict(left))
