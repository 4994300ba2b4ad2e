"""The backlog: which sources may want facts, in what order. A guess; the views know.

It is filled by what is recorded and, where that does not say it (after opening, an undo or a
restore), by looking through a container's jobs. Whoever takes a source out of it asks the view
whether there still is a job. A snapshot may be older than what was noticed after it was taken: a
container in which something was taken back later is left for the next snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.projections.jobs import JobState

if TYPE_CHECKING:
    from rewound.projections.views import ViewReader

QUEUE_MAX = 10_000
"""Sources of one container that are remembered; the rest is looked for when these are done."""

LOOKS_MAX = 100
"""Containers looked through at once."""


class Entry(NamedTuple):
    """A source in the backlog. It counts as new, and is not dropped, once it was noticed again."""

    container: ContainerId
    ref: Ref
    serial: int


_LOOK_AGAIN = (e.Undone, e.Restored)
"""Events after which work may be there again that no event names."""


class Backlog:
    """Safe for the writer's thread, which notices, beside the one that works."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queues: dict[ContainerId, dict[Ref, int]] = {}
        self._later: dict[tuple[ContainerId, Ref], int] = {}
        self._serial = 0
        self._unseen: dict[ContainerId, int] = {}
        """Containers to be looked through, in a snapshot that holds this position."""
        self._opened = False
        self._hurried: set[tuple[ContainerId, Ref]] = set()
        self._rushes = False
        """Whether what is still to be looked through for was hurried too."""

    # --- filling

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        """Whether anything of it may want facts."""
        with self._guard:
            added = False
            for each in recorded:
                if isinstance(each.event, _LOOK_AGAIN):
                    self._unseen[each.container] = each.position
                    added = True
                elif (ref := _sent(each.event)) is not None:
                    self._later.pop((each.container, ref), None)
                    self._add(each.container, ref, each.position)
                    added = True
            return added

    def look(self, views: ViewReader) -> None:
        """Find the jobs of containers that have not been looked through, as far as the snapshot
        goes."""
        with self._guard:
            if not self._opened:
                for container in views.waiting("jobs"):
                    self._unseen.setdefault(container, 0)
                self._opened = True
            room = (key for key in self._unseen if self._size(key) <= QUEUE_MAX // 2)
            held = (key for key in room if self._unseen[key] <= views.position(key))
            chosen = list(islice(held, LOOKS_MAX))
            for container in chosen:
                del self._unseen[container]
        for container in chosen:
            found = list(islice(views.container(container).all_jobs(), QUEUE_MAX))
            with self._guard:
                for ref, job in found:
                    if job.state is JobState.PENDING:
                        self._add(container, ref)
                    elif job.state is JobState.FAILED and self._rushes:
                        self._rush(container, ref)
                    elif job.state is JobState.FAILED:
                        self._later.setdefault((container, ref), job.retry_at or 0)
                if len(found) == QUEUE_MAX:
                    self._unseen.setdefault(container, 0)
                self._rushes = self._rushes and bool(self._unseen)

    def postpone(self, entry: Entry, due_us: int) -> None:
        with self._guard:
            if self._drop(entry):
                self._later[entry.container, entry.ref] = due_us

    def hurry(self) -> None:
        """Let all that was put off come now: what it waited for may be there."""
        with self._guard:
            for container, ref in list(self._later):
                self._rush(container, ref)
                del self._later[container, ref]
            self._rushes = bool(self._unseen) or not self._opened

    def is_hurried(self, entry: Entry) -> bool:
        """Whether it comes before its time; told once."""
        with self._guard:
            if (entry.container, entry.ref) not in self._hurried:
                return False
            self._hurried.discard((entry.container, entry.ref))
            return True

    def drop(self, entry: Entry) -> None:
        with self._guard:
            self._drop(entry)

    # --- taking

    def batch(self, count: int, now_us: int) -> list[Entry]:
        """The oldest of each container in turn; they stay until they are dropped."""
        with self._guard:
            for container, ref in [at for at, due_us in self._later.items() if due_us <= now_us]:
                del self._later[container, ref]
                self._add(container, ref)
            chosen: list[Entry] = []
            waiting = {
                container: iter(list(islice(refs.items(), count)))
                for container, refs in islice(self._queues.items(), count)
            }
            while waiting and len(chosen) < count:
                for container, refs in list(waiting.items()):
                    found = next(refs, None)
                    if found is None:
                        del waiting[container]
                    elif len(chosen) < count:
                        chosen.append(Entry(container, *found))
            for container in dict.fromkeys(entry.container for entry in chosen):
                self._queues[container] = self._queues.pop(container)  # the others come first now
            return chosen

    def rest_s(self, now_us: int) -> float | None:
        """Seconds until something is to be done; None when nothing is."""
        with self._guard:
            if self._queues or self._unseen or not self._opened:
                return 0.0
            if not self._later:
                return None
            return max(0.0, (min(self._later.values()) - now_us) / 1e6)

    # --- inside

    def _add(self, container: ContainerId, ref: Ref, position: int = 0) -> None:
        if self._size(container) >= QUEUE_MAX:
            self._unseen[container] = max(position, self._unseen.get(container, 0))
        else:
            self._serial += 1
            self._queues.setdefault(container, {})[ref] = self._serial

    def _rush(self, container: ContainerId, ref: Ref) -> None:
        self._hurried.add((container, ref))
        self._add(container, ref)

    def _drop(self, entry: Entry) -> bool:
        """Whether it was there, and had not been noticed again."""
        refs = self._queues.get(entry.container, {})
        if refs.get(entry.ref) != entry.serial:
            return False
        del refs[entry.ref]
        if not refs:
            del self._queues[entry.container]
        return True

    def _size(self, container: ContainerId) -> int:
        return len(self._queues.get(container, ()))


def _sent(event: e.Event) -> Ref | None:
    """The source that an event states, if facts may be wanted from it."""
    match event:
        case e.MessageRecorded(message=raw, infer=True):
            return Ref(Kind.MESSAGE, raw)
        case e.DocumentIngested(document=raw, infer=True):
            return Ref(Kind.DOCUMENT, raw)
        case e.DocumentReplaced(document=raw, infer=True):
            return Ref(Kind.DOCUMENT, raw)
        case e.SeenAgain(item=item) if item.kind in (Kind.DOCUMENT, Kind.MESSAGE):
            return item
    return None
