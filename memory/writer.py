"""The one thread that writes: it takes all commands that wait and makes one group of them.

    take waiting commands → open both write transactions → apply each → commit the log
    → acknowledge → commit the views → tell waiting reads

Between groups the thread runs tasks that need the store to themselves (a compaction, a seal).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import msgspec

from rewound.eventlog.clock import Clock
from rewound.eventlog.envelope import Actor
from rewound.eventlog.errors import Damaged, RewoundError, StoreBusy, StoreFull
from rewound.eventlog.failpoints import Crash, failpoint
from rewound.eventlog.ids import IdSource
from rewound.eventlog.lmdb_errors import MapGrew
from rewound.eventlog.log import Log, Recorded
from rewound.memory.applying import Applied, Given, apply
from rewound.memory.deciding import Judge, Likeness, Memoise, Record
from rewound.memory.inbox import Inbox
from rewound.memory.onlookers import Onlookers
from rewound.memory.progress import Progress
from rewound.memory.replies import Erased
from rewound.memory.requests import Erase, Forget, Undo, Write, only_tells
from rewound.memory.transactions import Dirtied, LogCommitFailed, Transactions, ViewsBehind
from rewound.memory.upkeep import Upkeep

if TYPE_CHECKING:
    from rewound.projections.views import Views

GROUP_MAX = 256
WAITING_MAX = 4_096
URGENT = (Forget, Undo, Erase)
"""Commands that take something back: they work on a full disk too."""

_SPOILS = (StoreFull, StoreBusy, Damaged)
"""Errors after which the open transactions cannot be trusted, even before a first append."""

_log = logging.getLogger(__name__)


class Job:
    """A command on its way, and the future that its sender waits for.

    `likeness` is what a command means that chooses by meaning: no model is asked in this thread.
    """

    __slots__ = ("actor", "command", "done", "likeness")

    def __init__(
        self,
        command: Write | Record | Judge | Memoise,
        actor: Actor,
        likeness: Likeness | None = None,
    ) -> None:
        self.command = command
        self.actor = actor
        self.likeness = likeness
        self.done: Future[Applied] = Future()

    @property
    def dry_run(self) -> bool:
        return isinstance(self.command, Write) and only_tells(self.command)


class Task:
    """Something to be done between groups."""

    __slots__ = ("done", "run")

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run
        self.done: Future[Any] = Future()


class GroupWriter:
    """Owns the writing side of a log and its views."""

    def __init__(
        self,
        log: Log,
        views: Views,
        *,
        clock: Clock,
        ids: IdSource,
        sequence: int,
        upkeep: Callable[[], object],
        onlookers: Onlookers,
    ) -> None:
        """`upkeep` is called about once a minute, while no group is open."""
        self._log = log
        self._views = views
        self._clock = clock
        self._ids = ids
        self.inbox: Inbox[Job | Task] = Inbox(WAITING_MAX)
        self.progress = Progress(sequence)
        self.extractor: str | None = None
        """What derives facts from texts here, once there is something."""
        self.listeners: list[Callable[[Sequence[Recorded]], object]] = []
        """Told of all that was recorded once it is durable, before those who sent it are."""
        self.crashed: BaseException | None = None
        self.upkeep = Upkeep(log, views, self.progress, upkeep, onlookers)
        self._onlookers = onlookers
        self._thread = threading.Thread(target=self._run, name="rewound-writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what has been taken in, seal the heads if anything was appended, and end."""
        self.inbox.close()
        self._thread.join()

    # --- the loop

    def _run(self) -> None:
        entries: list[Job | Task] | None = []
        try:
            while (entries := self.inbox.take(GROUP_MAX, self.upkeep.rest_s())) is not None:
                if entries:
                    self._work(entries)
                else:
                    self.upkeep.tidy()
                self.upkeep.on_time()
            self.upkeep.seal_quietly()
        except BaseException as crash:
            # A simulated crash, or a mistake of ours: nobody may be left waiting for ever.
            self.crashed = crash
            self.inbox.close()
            self.progress.fail(crash)
            for entry in (*(entries or ()), *(self.inbox.take(WAITING_MAX, 0) or ())):
                if not entry.done.done():
                    entry.done.set_exception(crash)
            if not isinstance(crash, Crash):
                _log.critical("the writing thread ended", exc_info=True)

    def _work(self, entries: list[Job | Task]) -> None:
        """Groups of commands, in order, around tasks and dry runs, which each go alone."""
        group: list[Job] = []
        for entry in entries:
            if isinstance(entry, Job) and not entry.dry_run:
                group.append(entry)
                continue
            self._group(group)
            group = []
            if isinstance(entry, Job):
                self._group([entry])
            else:
                _settle(entry.done, entry.run)
        self._group(group)

    # --- groups

    def _group(self, jobs: list[Job]) -> None:
        """One group; when one command spoils it, each alone."""
        while jobs:
            try:
                return self._attempt(jobs)
            except MapGrew:
                continue  # rolled back, and there is more room now: the same group again
            except LogCommitFailed as failed:
                return _fail(jobs, failed.error)
            except Dirtied as dirtied:
                if len(jobs) == 1:
                    return _fail(jobs, dirtied.error)
            except Exception as error:  # the transactions could not be opened
                if len(jobs) == 1 or not isinstance(error, StoreFull):
                    return _fail(jobs, error)
            for job in jobs:
                self._group([job])
            return

    def _attempt(self, jobs: list[Job]) -> None:
        try:
            self._commit(jobs)
        except ViewsBehind:
            self.upkeep.must_catch_up()
            self._commit(jobs)

    def _commit(self, jobs: list[Job]) -> None:
        """Apply commands and commit. Whatever it raises, nothing of them happened."""
        urgent = all(isinstance(job.command, URGENT) for job in jobs)
        with Transactions(self._log, self._views, urgent=urgent) as both:
            applied, failed = self._apply(jobs, both)
            sequence = both.log.sequence()
            kept = any(each.recorded or each.changed for _, each in applied)
            if kept and not jobs[0].dry_run:
                failpoint("engine.before-log-commit")
                both.commit_log()
                failpoint("engine.after-log-commit")
                self._acknowledge(applied, sequence)
                failpoint("engine.before-views-commit")
                self.upkeep.commit_views(both, sequence)
        for job, refusal in failed:
            job.done.set_exception(refusal)
        self._answer_rest(applied)

    def _apply(
        self, jobs: list[Job], both: Transactions
    ) -> tuple[list[tuple[Job, Applied]], list[tuple[Job, Exception]]]:
        """What each command came to, and which were refused. Raises Dirtied."""
        applied: list[tuple[Job, Applied]] = []
        failed: list[tuple[Job, Exception]] = []
        for job in jobs:
            given = Given(self._ids, self._clock.now_us(), self.extractor, job.likeness)
            try:
                each = apply(job.command, job.actor, both.log, both.views, given)
            except _SPOILS as error:
                raise Dirtied(error) from error
            except RewoundError as error:
                failed.append((job, error))
            else:
                applied.append((job, each))
        return applied, failed

    def _acknowledge(self, applied: list[tuple[Job, Applied]], sequence: int) -> None:
        self.progress.tell(acknowledged=sequence)
        self.upkeep.unsealed = True
        self._tell([recorded for _, each in applied for recorded in each.recorded])
        for job, each in applied:
            if isinstance(job.command, Erase):
                self.upkeep.left_over = True
            # who gave vectors is answered once the views have them: no position tells of those
            if not _waits(job, each) and not isinstance(job.command, Memoise):
                job.done.set_result(each)

    def _tell(self, recorded: Sequence[Recorded]) -> None:
        for listener in self.listeners if recorded else ():
            try:
                listener(recorded)
            except Exception as error:  # what is durable is to be acknowledged, whoever stumbles
                _log.error("a listener failed with %s", type(error).__name__)

    def _answer_rest(self, applied: list[tuple[Job, Applied]]) -> None:
        """Answer what waits for a compaction (erasures share one), and what wrote nothing."""
        rest = [(job, each) for job, each in applied if not job.done.done()]
        waiting = [job for job, each in rest if _waits(job, each)]
        trouble = self.upkeep.compact() if waiting and self._log.needs_compaction() else None
        for job, each in rest:
            if job not in waiting:
                job.done.set_result(each)
        erased = [(job, each) for job, each in rest if job in waiting]
        if trouble is not None:
            note = f"the bytes are still in the files, and it is tried again: {trouble}"
            _answer_erased(erased, note)
        elif erased and self._onlookers.late:
            threading.Thread(
                target=self._answer_when_let_go, args=(erased,), name="rewound-erased", daemon=True
            ).start()
        else:
            _answer_erased(erased, None)

    def _answer_when_let_go(self, erased: list[tuple[Job, Applied]]) -> None:
        """In a thread of its own: others can write while an onlooker takes its time."""
        note: str | None = None
        try:
            self._onlookers.wait()
        except StoreBusy as busy:
            _log.warning("erased bytes may still be open elsewhere: %s", busy)
            note = f"the bytes are gone from the files here, but {busy}"
        _answer_erased(erased, note)


def _waits(job: Job, applied: Applied) -> bool:
    """An erasure whose sender wants to hear that the bytes are gone."""
    return (
        isinstance(job.command, Erase)
        and job.command.wait
        and isinstance(applied.reply, Erased)
        and applied.reply.compaction == "pending"
        and not job.dry_run
    )


def _answer_erased(erased: list[tuple[Job, Applied]], note: str | None) -> None:
    """Say that the bytes are gone, or in a note why they are not yet."""
    for job, each in erased:
        job.done.set_result(_compacted(each, note))


def _compacted(applied: Applied, note: str | None) -> Applied:
    assert isinstance(applied.reply, Erased)
    if note is None:
        reply = msgspec.structs.replace(applied.reply, compaction="done")
    else:
        reply = msgspec.structs.replace(applied.reply, notes=(*applied.reply.notes, note))
    return applied._replace(reply=reply)


def _fail(jobs: list[Job], error: BaseException) -> None:
    for job in jobs:
        if not job.done.done():
            job.done.set_exception(error)


def _settle(done: Future[Any], run: Callable[[], Any]) -> None:
    try:
        done.set_result(run())
    except Exception as error:
        done.set_exception(error)
