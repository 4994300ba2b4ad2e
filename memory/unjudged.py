"""The queue of facts that are to be judged, in the order they were stated. A guess; the views know.

It is filled by what is recorded and, where that does not say it (after opening, an undo or a
restore), by looking through what a container has unjudged. A snapshot may be older than what was
noticed after it was taken: that waits for the next one, and is never judged by what it is not in.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.ids import ContainerId, FactId, Kind
from rewound.eventlog.log import Recorded

if TYPE_CHECKING:
    from rewound.projections.views import ViewReader

LOOKED_MAX = 20_000
"""Facts taken into the queue by one look; the rest when these are done."""

RECENT = 1_000
"""The last events of the store, looked through after opening for what came back."""

_LOOK_AGAIN = (e.Undone, e.Restored)
_STATING = (e.FactRemembered, e.FactExtracted, e.FactEdited)


def _stated(event: e.Event) -> FactId | None:
    """The fact that an event states or supports, which may be there again by it."""
    if isinstance(event, _STATING):
        return event.fact
    if isinstance(event, e.SeenAgain) and event.item.kind is Kind.FACT:
        return FactId(event.item.id)
    return None


class Unjudged:
    """Safe for the writer's thread, which notices, beside the one that works."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queues: dict[ContainerId, list[tuple[int, FactId]]] = {}
        self._unseen: dict[ContainerId, int] = {}
        """Containers to be looked through, in a snapshot that holds this position."""
        self._opened = False
        self._skipped: dict[ContainerId, set[FactId]] = {}
        """What is not to be judged until something is undone or restored."""
        self._returns: dict[ContainerId, list[tuple[int, int]]] = {}
        """Undoings and restorings, by which facts may have come back among those judged: the
        position, and how many of these facts were looked at."""

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        """Whether anything of it is to be judged."""
        with self._guard:
            added = False
            for each in recorded:
                fact = _stated(each.event)
                if fact is not None:
                    queue = self._queues.setdefault(each.container, [])
                    heapq.heappush(queue, (each.position, fact))
                    added = True
                elif isinstance(each.event, _LOOK_AGAIN):
                    self._unseen[each.container] = each.position
                    self._skipped.pop(each.container, None)
                    self._returns.setdefault(each.container, []).append((each.position, 0))
                    added = True
            return added

    def look(self, views: ViewReader) -> None:
        """Find what is unjudged in containers that have not been looked through, as far as the
        snapshot goes."""
        with self._guard:
            if not self._opened:
                self._open(views)
            chosen = [
                key
                for key, position in self._unseen.items()
                if len(self._queues.get(key, ())) < LOOKED_MAX and position <= views.position(key)
            ]
            for container in chosen:
                del self._unseen[container]
        for container in chosen:
            with self._guard:
                skipped = frozenset(self._skipped.get(container, ()))
            waiting = (x for x in views.container(container).unjudged() if x[0] not in skipped)
            found = list(islice(waiting, LOOKED_MAX))
            with self._guard:
                known = set(self._queues.get(container, ()))
                fresh = {(at, fact) for fact, at in found} - known
                if fresh:
                    queue = self._queues.setdefault(container, [])
                    queue.extend(fresh)
                    heapq.heapify(queue)
                if len(found) == LOOKED_MAX:
                    self._unseen.setdefault(container, 0)

    def _open(self, views: ViewReader) -> None:
        """Containers in which something waits, and what came back lately: nobody may have looked
        at that."""
        for container in views.waiting("unjudged"):
            self._unseen.setdefault(container, 0)
        back: dict[ContainerId, list[tuple[int, int]]] = {}
        for _, recent in views.log.all_events(max(0, views.sequence() - RECENT)):
            if isinstance(recent.event, _LOOK_AGAIN):
                back.setdefault(recent.container, []).append((recent.position, 0))
        for container, found in back.items():
            later = self._returns.get(container, [])
            self._returns[container] = [*(each for each in found if each not in later), *later]
        self._opened = True

    def look_on(self, container: ContainerId, position: int, done: int) -> None:
        """More facts came back by one event than were looked at."""
        with self._guard:
            self._returns.setdefault(container, []).append((position, done))

    def returned(self, views: ViewReader) -> tuple[ContainerId, int, int] | None:
        """The next undoing or restoring in the snapshot whose facts are to be held against later
        ones, and how many of them were; it is taken out. What waits to be judged goes first."""
        with self._guard:
            ready = (
                key
                for key, events in self._returns.items()
                if key not in self._queues and events[0][0] <= views.position(key)
            )
            container = next(ready, None)
            if container is None:
                return None
            positions = self._returns[container]
            first = positions.pop(0)
            if not positions:
                del self._returns[container]
            return container, *first

    def batch(self, count: int, views: ViewReader) -> tuple[ContainerId, list[FactId]] | None:
        """The first ones in the snapshot of the container served longest ago; they stay until they
        are dropped."""
        with self._guard:
            for container, queue in self._queues.items():
                held = views.position(container)
                facts = [fact for at, fact in heapq.nsmallest(count, queue) if at <= held]
                if facts:
                    self._queues[container] = self._queues.pop(container)
                    return container, facts
        return None

    def drop(
        self, container: ContainerId, facts: Sequence[FactId], held: int, *, skip: bool = False
    ) -> None:
        """Take out what was judged, or with `skip` is not to be, as seen in a snapshot that held
        the container up to a position. What was noticed after that stays."""
        gone = set(facts)
        with self._guard:
            if skip and gone and self._unseen.get(container, 0) <= held:
                self._skipped.setdefault(container, set()).update(gone)
            queue = self._queues.get(container, [])
            left = [each for each in queue if each[1] not in gone or each[0] > held]
            if left:
                heapq.heapify(left)
                self._queues[container] = left
            else:
                self._queues.pop(container, None)

    def idle(self) -> bool:
        with self._guard:
            waiting = self._queues or self._unseen or self._returns
            return self._opened and not waiting
