"""The backlog: which sources may want facts, in what order. A guess; the views know.

It is filled by what is recorded and, where that does not say it (after opening, an undo or a
restore), by looking through a container's jobs. Whoever takes a source out of it asks the view
whether there still is a job. A snapshot may be older than what was noticed after it was taken: a
container in which something was taken back later is left for the next snapshot.

Messages that wait for a quiet moment are in it, too, but are not given out before (`gathering.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.gathering import Gathering
from rewound.memory.rhythm import AT_ONCE, Rhythm
from rewound.projections.jobs import JobRow, JobState

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView
    from rewound.projections.views import ViewReader

QUEUE_MAX = 10_000
"""Sources of one container that are remembered; the rest is looked for when these are done."""

LOOKS_MAX = 100
"""Containers looked through at once."""


class Entry(NamedTuple):
    """A source in the backlog. It counts as new, and is not dropped, once it was noticed again.
    Messages of one conversation that came to be read together have the same `unit`."""

    container: ContainerId
    ref: Ref
    serial: int
    unit: int


class _Place(NamedTuple):
    serial: int
    unit: int


class _Later(NamedTuple):
    due_us: int
    unit: int | None


_LOOK_AGAIN = (e.Undone, e.Restored)
"""Events after which work may be there again that no event names."""


class Backlog:
    """Safe for the writer's thread, which notices, beside the one that works."""

    def __init__(self, rhythm: Rhythm = AT_ONCE) -> None:
        self._guard = threading.Lock()
        self._gathering = Gathering(rhythm) if rhythm.gathers else None
        self._queues: dict[ContainerId, dict[Ref, _Place]] = {}
        self._later: dict[tuple[ContainerId, Ref], _Later] = {}
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
                    added = True
                    if self._waits(each, ref):
                        continue
                    self._later.pop((each.container, ref), None)
                    self._add(each.container, ref, each.position)
            return added

    def look(self, views: ViewReader) -> None:
        """Find the jobs of containers that have not been looked through, as far as the snapshot
        goes."""
        with self._guard:
            if not self._opened:
                for container in views.waiting("jobs"):
                    self._unseen.setdefault(container, 0)
                self._opened = True
            room = filter(self._has_room, self._unseen)
            held = (key for key in room if self._unseen[key] <= views.position(key))
            chosen = list(islice(held, LOOKS_MAX))
            for container in chosen:
                del self._unseen[container]
        for container in chosen:
            view = views.container(container)
            found = [
                (ref, job, self._talk_of(view, ref, job))
                for ref, job in islice(view.all_jobs(), QUEUE_MAX)
            ]
            with self._guard:
                for ref, job, conversation in found:
                    if conversation is not None:
                        self._gather(container, conversation, ref, job.since)
                    elif job.state is JobState.PENDING:
                        self._add(container, ref)
                    elif job.state is JobState.FAILED and self._rushes:
                        self._rush(container, ref)
                    elif job.state is JobState.FAILED:
                        self._later.setdefault((container, ref), _Later(job.retry_at or 0, None))
                if len(found) == QUEUE_MAX:
                    self._unseen.setdefault(container, 0)
                self._rushes = self._rushes and bool(self._unseen)

    def postpone(self, entry: Entry, due_us: int) -> None:
        with self._guard:
            if self._drop(entry):
                self._later[entry.container, entry.ref] = _Later(due_us, entry.unit)

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

    def batch(self, count: int, now_us: int, *, awaited: bool = False) -> list[Entry]:
        """The oldest of each container in turn, `count` units; they stay until they are dropped.

        While somebody waits for them (`awaited`) messages wait for no quiet moment.
        """
        with self._guard:
            self._let_come(now_us, awaited)
            chosen: list[Entry] = []
            waiting = {
                container: _units(container, refs, count)
                for container, refs in islice(self._queues.items(), count)
            }
            left = count
            while waiting and left > 0:
                for container, units in list(waiting.items()):
                    found = next(units, None)
                    if found is None:
                        del waiting[container]
                    elif left > 0:
                        chosen += found
                        left -= 1
            for container in dict.fromkeys(entry.container for entry in chosen):
                self._queues[container] = self._queues.pop(container)  # the others come first now
            return chosen

    def rest_s(self, now_us: int) -> float | None:
        """Seconds until something is to be done; None when nothing is."""
        with self._guard:
            if self._queues or not self._opened or any(map(self._has_room, self._unseen)):
                return 0.0
            if self._gathering is not None and self._gathering.is_lost(now_us):
                return 0.0
            times = [later.due_us for later in self._later.values()]
            gathered_us = None if self._gathering is None else self._gathering.next_us()
            if gathered_us is not None:
                times.append(gathered_us)
            return max(0.0, (min(times) - now_us) / 1e6) if times else None

    # --- inside

    def _let_come(self, now_us: int, awaited: bool) -> None:
        """Queue what is due by now."""
        due = [at for at, later in self._later.items() if later.due_us <= now_us]
        for container, ref in due:
            later = self._later.pop((container, ref))
            self._add(container, ref, unit=later.unit)
        if self._gathering is not None:
            for container, refs in self._gathering.take(now_us, awaited=awaited):
                self._serial += 1
                unit = self._serial
                for ref in refs:
                    self._put(container, ref, unit)

    def _waits(self, each: Recorded, ref: Ref) -> bool:
        """Whether it waits for a quiet moment from now on, or does so already."""
        if self._gathering is None:
            return False
        event = each.event
        if isinstance(event, e.MessageRecorded) and self._size(each.container) < QUEUE_MAX:
            at_us = each.envelope.recorded_at
            self._gather(each.container, event.conversation, ref, at_us)
        return (each.container, ref) in self._gathering

    def _gather(self, container: ContainerId, conversation: bytes, ref: Ref, at_us: int) -> None:
        if ref in self._queues.get(container, ()) or (container, ref) in self._later:
            return self._add(container, ref)
        assert self._gathering is not None, "there is a conversation to be waited for"
        self._gathering.add(container, conversation, ref, at_us)

    def _talk_of(self, view: ContainerView, ref: Ref, job: JobRow) -> bytes | None:
        """The conversation whose quiet a source waits for, if it does at all."""
        if self._gathering is None or ref.kind is not Kind.MESSAGE:
            return None
        row = view.message(ref.id) if job.state is JobState.PENDING else None
        return None if row is None else row.state.conversation

    def _add(
        self, container: ContainerId, ref: Ref, position: int = 0, unit: int | None = None
    ) -> None:
        if self._size(container) >= QUEUE_MAX:
            self._unseen[container] = max(position, self._unseen.get(container, 0))
        else:
            self._put(container, ref, unit)

    def _put(self, container: ContainerId, ref: Ref, unit: int | None = None) -> None:
        self._serial += 1
        refs = self._queues.setdefault(container, {})
        if unit is None:
            unit = refs[ref].unit if ref in refs else self._serial
        refs[ref] = _Place(self._serial, unit)

    def _rush(self, container: ContainerId, ref: Ref) -> None:
        self._hurried.add((container, ref))
        self._add(container, ref)

    def _drop(self, entry: Entry) -> bool:
        """Whether it was there, and had not been noticed again."""
        refs = self._queues.get(entry.container, {})
        place = refs.get(entry.ref)
        if place is None or place.serial != entry.serial:
            return False
        del refs[entry.ref]
        if not refs:
            del self._queues[entry.container]
        return True

    def _size(self, container: ContainerId) -> int:
        gathered = 0 if self._gathering is None else self._gathering.size(container)
        return len(self._queues.get(container, ())) + gathered

    def _has_room(self, container: ContainerId) -> bool:
        return self._size(container) <= QUEUE_MAX // 2


def _units(container: ContainerId, refs: Mapping[Ref, _Place], count: int) -> Iterator[list[Entry]]:
    """The first `count` units of a queue; what belongs to one stands together in it."""
    entries = (Entry(container, ref, *place) for ref, place in refs.items())
    return iter([list(unit) for _, unit in islice(groupby(entries, lambda e: e.unit), count)])


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
