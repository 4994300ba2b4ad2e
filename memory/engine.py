"""The engine: it owns an open store and answers every request with a reply.

Writes go through one writer thread in groups (`writer.py`). Reads run in the caller's thread on a
snapshot that holds everything acknowledged before they were asked. Store requests run in the
caller's thread too, and ask for the writer's pause (`between_groups`) where they need it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rewound.eventlog.clock import Clock
from rewound.eventlog.envelope import PERSON, WORKER, Actor
from rewound.eventlog.errors import ReadOnly, RewoundError, StoreBusy
from rewound.eventlog.events import ContentErased, HeadsSealed
from rewound.eventlog.failpoints import Crash
from rewound.eventlog.ids import ContainerId, EventId, IdSource
from rewound.eventlog.letting_go import let_go
from rewound.eventlog.log import Draft, Log, Recorded
from rewound.llm.embedding import Succeeding
from rewound.llm.facts_answerer import FactsAnswerer
from rewound.llm.token_counting import ESTIMATE, TokenCounter
from rewound.memory import answering, deciding, reads
from rewound.memory import requests as q
from rewound.memory.applying import Applied
from rewound.memory.decomposing import Decomposes
from rewound.memory.inbox import Closed
from rewound.memory.inputs import merged, sift
from rewound.memory.meaning import NOT_ASKED, Meaning
from rewound.memory.onlookers import Onlookers
from rewound.memory.replies import Reply
from rewound.memory.reranking import Reranks
from rewound.memory.responding import Responds
from rewound.memory.rewriting import Rewrites
from rewound.memory.rhythm import AT_ONCE, Rhythm
from rewound.memory.setting_values import RECENT_CHARS
from rewound.memory.writer import GroupWriter, Job, Task
from rewound.projections.catalog import WORDS

if TYPE_CHECKING:
    from rewound.llm.dispatching import Dispatcher
    from rewound.llm.embedding import Embedder
    from rewound.memory.meaning import Reopen
    from rewound.memory.models import Models
    from rewound.memory.switching import SwitchDuty
    from rewound.memory.workers import Workers
    from rewound.projections.views import ViewReader, Views

_log = logging.getLogger(__name__)

WAIT_S = 30.0
AHEAD_US_MAX = 10 * 60 * 1_000_000
"""How far the log's last time may lie ahead of the clock before writing needs a person's word."""

T = TypeVar("T")


class Engine:
    """One open store. Safe for any number of threads; `close` finishes what is under way.

    Closing seals the heads but leaves the log open for whoever opened it; the views are closed when
    the engine opened them (when it was given a path).
    """

    def __init__(
        self,
        log: Log,
        views: Views | Path,
        *,
        clock: Clock,
        ids: IdSource,
        readonly_reason: str | None = None,
        accepted_us: int = 0,
        accept: Callable[[int], None] = lambda at_us: None,
        upkeep: Callable[[], object] = lambda: None,
        embedder: Embedder | None = None,
        opening: bytes = b"",
        reopen: Reopen = lambda model, opening: "",
        wait_s: float = WAIT_S,
    ) -> None:
        """`embedder` gives texts their meaning; without one, words alone find. `opening` tells
        `reopen` how it is opened once another is set. `accepted_us` is the log's time that a person
        accepted; `accept` keeps a new one.

        `upkeep` is called by the writer's thread about once a minute. `wait_s` is how long a call
        that names no bound of its own waits for the views or for a place in the queue.
        """
        self.log, self.clock, self.ids = log, clock, ids
        self._accept = accept
        self._wait_s = wait_s
        self._opened_views = isinstance(views, Path)
        self.meaning = Meaning(embedder, reopen)
        self.opening = opening
        model = self.meaning.model
        self.views: Views = _open_views(views, log, model) if isinstance(views, Path) else views
        try:
            _bring_up(self.views, embedder, opening)
            with log.reading() as reader:
                sequence, last_us = reader.sequence(), reader.last_recorded_at()
        except BaseException:
            if self._opened_views:
                self.views.close()
            raise
        self._readonly_reason = readonly_reason
        self._clock_trouble = self._clock_reason(last_us, accepted_us)
        self._idle = threading.Condition(threading.Lock())
        self._reads, self._asked_at, self._hurried = 0, 0.0, False
        self._closing = self._refusing = self._closed = False
        self.workers: Workers | None = None
        """What works through what is pending, where there is such a thing."""
        self.switch: SwitchDuty | None = None
        """What puts vectors of another model in the place of those that are kept."""
        self.models: Models | None = None
        """What to go over the past again with."""
        self.reranks, self.rewrites, self.decomposes = Reranks(), Rewrites(), Decomposes()
        """The stages around a search, where something does them."""
        self.counter: TokenCounter = ESTIMATE
        """What counts tokens, where there is a budget of them."""
        self.responds = Responds(FactsAnswerer())
        """What answers questions."""
        self.nodes: Dispatcher | None = None
        """What makes the calls at model servers."""
        self.judge: str | None = None
        """What compares facts with those before them, where something does."""
        self.onlookers = Onlookers()
        """Other processes that read the files of this store."""
        self._writer = GroupWriter(
            log, self.views, clock=clock, ids=ids, sequence=sequence, upkeep=upkeep,
            onlookers=self.onlookers,
        )  # fmt: skip
        self.on_commit(self._forget_words)
        self._tell_of_models()

    def _tell_of_models(self) -> None:
        """Say that vectors are another model's than the one that is set."""
        with self.reading() as views:
            kept = views.index.embeddings.models
        if not self.meaning.model or kept.model == self.meaning.model:
            return
        told = self.meaning.changed(kept)
        if told is None:
            _log.info("vectors of %s take the place of those of %s", kept.coming, kept.model)
        else:
            _log.warning("the embedder was changed: %s", told)

    # --- asking

    def call(
        self, request: q.Request, actor: Actor = PERSON, timeout_s: float | None = None
    ) -> Reply:
        """The reply to any request. Raises RewoundError.

        `timeout_s` bounds the waiting for a place in the queue and for the views, and, when it is
        given, for a write as a whole.
        """
        self._check_alive()
        request, refused = sift(request)
        if isinstance(request, q.Write | q.Read):
            self._asked_at = time.monotonic()
        if isinstance(request, q.Write):
            patience_s = self._wait_s if timeout_s is None else timeout_s
            done = self._put(self._job(request, actor, patience_s), patience_s)
            reply = _wait(done, timeout_s).reply
        elif isinstance(request, q.Read):
            patience_s = self._wait_s if timeout_s is None else timeout_s
            reply = reads.answered(self, request, patience_s)
        else:
            reply = self._store_request(request)
        return merged(reply, refused)

    def submit(
        self, request: q.Write, actor: Actor = PERSON, timeout_s: float = 0.0
    ) -> Future[Reply]:
        """A write whose reply is waited for elsewhere (an event loop).

        Raises RewoundError; StoreBusy when there is no place in the queue for `timeout_s`. One that
        chooses by meaning asks the embedder first, and blocks that long.
        """
        self._check_alive()
        sifted, refused = sift(request)
        waiting: Future[Reply] = Future()
        waiting.set_running_or_notify_cancel()  # what is written is written, whoever still listens

        def tell(done: Future[Applied]) -> None:
            error = done.exception()
            if error is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(merged(done.result().reply, refused))

        self._asked_at = time.monotonic()
        job = self._job(sifted, actor, WAIT_S)
        self._put(job, timeout_s)
        job.done.add_done_callback(tell)
        return waiting

    def record(
        self,
        container: str | ContainerId,
        drafts: Sequence[Draft],
        causes: tuple[EventId, ...] = (),
        *,
        actor: Actor = WORKER,
    ) -> list[Recorded]:
        """Append what a worker found out, as one group; `causes` go to drafts that name none.

        Raises NotFound or Conflict when what it was drawn from no longer is as it was.
        """
        record = deciding.Record(container, tuple(drafts), causes)
        return _wait(self.submit_record(record, actor=actor), None).recorded

    def quiet_s(self) -> float:
        """Seconds since anybody last asked for something: background work waits for a pause."""
        return time.monotonic() - self._asked_at

    def awaited(self) -> bool:
        """Whether somebody waits for background work, who then is one of those who ask."""
        return self.workers is not None and self.workers.awaited

    def submit_record(
        self, record: deciding.Record | deciding.Judge, *, actor: Actor = WORKER
    ) -> Future[Applied]:
        """The same, to be waited for later."""
        return self.submit_records([record], actor=actor)[0]

    def submit_records(
        self, records: Sequence[deciding.Record | deciding.Judge], *, actor: Actor = WORKER
    ) -> list[Future[Applied]]:
        """The same for several, each by itself, which make one group and so one commit."""
        self._check_writable()
        jobs = [Job(record, actor) for record in records]
        self._writer.inbox.put_all(jobs, WAIT_S)
        return [job.done for job in jobs]

    def on_commit(self, listener: Callable[[Sequence[Recorded]], object]) -> None:
        """Tell a listener of all that is recorded from now on, in order.

        It is called by the writer's thread once the log has it, and must be quick; those who sent
        it are answered after that. What it raises is logged and harms nobody.
        """
        self._writer.listeners.append(listener)

    def _forget_words(self, recorded: Sequence[Recorded]) -> None:
        """An erasing leaves no word behind in this process either, nor in those that look on."""
        if any(isinstance(each.event, ContentErased) for each in recorded):
            self.meaning.forget()
            self.counter.forget()
            self.views.forget_labels()
            let_go()
            self.onlookers.tell()

    def memoise(self, made: deciding.Memoise, actor: Actor = WORKER) -> None:
        """Keep vectors that a worker had made. Raises RewoundError when nothing can be written."""
        _wait(self._put(Job(made, actor), WAIT_S), None)

    # --- reading

    @contextmanager
    def reading(self, timeout_s: float = WAIT_S) -> Iterator[ViewReader]:
        """A snapshot that holds all that is acknowledged now; its `log` is never behind it."""
        self._check_alive()
        progress = self._writer.progress
        target = progress.acknowledged
        if progress.folded < target:
            until = time.monotonic() + timeout_s
            progress.wait_past(target - 1, until, "the views are behind")
        with self.counted(), self.views.reading() as views:
            yield views

    def now_us(self, last_recorded_us: int) -> int:
        """The clock's time, or the log's last one when the clock is behind it."""
        return max(self.clock.now_us(), last_recorded_us)

    def wait_past(self, sequence: int, until: float, what: str) -> None:
        """Wait until the views have folded more than `sequence`. Raises StoreBusy."""
        self._writer.progress.wait_past(sequence, until, what)

    def _job(self, request: q.Write, actor: Actor, timeout_s: float) -> Job:
        """A command on its way to the writer, with what it means where it chooses by meaning."""
        if not isinstance(request, q.Forget) or request.similar is None:
            return Job(request, actor)
        meant = NOT_ASKED
        while True:
            with self.reading(timeout_s) as views:
                container = deciding.container_named(views.log, request.container)
                if not self.meaning.is_wanted(request, views, container, meant):
                    likeness = self.meaning.likeness(request, views, container, meant)
                    return Job(request, actor, likeness)
            # The snapshot is closed while the model works.
            meant = self.meaning.asked(request, timeout_s)

    def sizes(self) -> answering.Sizes:
        """What the store takes on disk, whether erased bytes are still to be rewritten, and whether
        vectors are being replaced."""
        from rewound.memory.reembedding import switch_of

        with self.views.reading() as views:
            switch = switch_of(views.index.embeddings.models, self.meaning.model, self.switch)
        environment = getattr(self.log, "environment", None)  # a log in memory takes no disk
        return answering.Sizes(
            log_bytes=environment.bytes_used() if environment is not None else 0,
            view_bytes=self.views.bytes_used(),
            compaction="pending" if self.log.needs_compaction() or self.onlookers.late else "none",
            switch=switch,
        )

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Closing waits for what runs inside."""
        with self._idle:
            if self._refusing:
                raise Closed("the store is closed")
            self._reads += 1
        try:
            yield
        finally:
            with self._idle:
                self._reads -= 1
                self._idle.notify_all()

    # --- store matters

    @property
    def extractor(self) -> str | None:
        """What derives facts from texts here; set by the workers that do it."""
        return self._writer.extractor

    @extractor.setter
    def extractor(self, name: str | None) -> None:
        self._writer.extractor = name

    @property
    def rhythm(self) -> Rhythm:
        """When messages are read for facts."""
        return AT_ONCE if self.models is None else self.models.rhythm()

    @property
    def recent_chars(self) -> int:
        """Characters of a conversation's last messages that are shown as they are."""
        return RECENT_CHARS if self.models is None else self.models.recent_chars

    @property
    def readonly_reason(self) -> str | None:
        """Why the store takes no writes, when it does not."""
        return self._readonly_reason or self._clock_trouble

    @property
    def closing(self) -> bool:
        """Long work should end early."""
        return self._closing or self._hurried

    def hurry(self) -> None:
        """Tell long work to end early: the store is soon to be closed."""
        self._hurried = True
        if self.workers is not None:
            self.workers.hurry()

    def between_groups(self, run: Callable[[], T]) -> T:
        """Run something in the writer's thread while no group is open."""
        task = Task(run)
        self._writer.inbox.put(task, WAIT_S)
        result: T = _wait(task.done, None)
        return result

    def seal(self) -> HeadsSealed:
        """Seal the heads of all chains; the last seal when nothing happened since."""
        self._check_writable()
        return self.between_groups(self._writer.upkeep.seal)

    def accept_clock(self) -> int:
        """Accept that the clock was set back; returns the log's last time (µs)."""
        with self.log.reading() as log:
            last_us = log.last_recorded_at()
        self._accept(last_us)
        self._clock_trouble = None
        return last_us

    def _store_request(self, request: q.Request) -> Reply:
        from rewound.memory.store_requests import STORE_REQUESTS

        answerer: Callable[[Any, Any], Reply] | None = STORE_REQUESTS.get(type(request))
        if answerer is None:
            raise RewoundError(f"{type(request).__name__} is not answered by anything yet")
        with self.counted():
            return answerer(request, self)

    # --- life

    def close(self) -> None:
        """Finish queued writes and open reads, seal the heads, stop. Idempotent."""
        with self._idle:
            if self._closing:
                self._idle.wait_for(lambda: self._closed)
                return
            self._closing = True
        self.decomposes.close()
        self.responds.close()
        self.rewrites.close()
        self.reranks.close()
        try:
            self._writer.stop()
        finally:
            with self._idle:
                self._refusing = True
                self._idle.wait_for(lambda: self._reads == 0)
            if self._opened_views:
                self.views.close()
            with self._idle:
                self._closed = True
                self._idle.notify_all()

    def _put(self, job: Job, timeout_s: float) -> Future[Applied]:
        self._check_writable()
        self._writer.inbox.put(job, timeout_s)
        return job.done

    def _check_alive(self) -> None:
        """After a simulated crash there is no process left that could answer."""
        crash = self._writer.crashed
        if isinstance(crash, Crash):
            raise crash

    def _check_writable(self) -> None:
        self._check_alive()
        if self._writer.crashed is not None and not self._closing:
            raise StoreBusy(
                "writing ended by a mistake of ours, which the log of this process tells: nothing "
                "is lost, start it again"
            )
        if self.readonly_reason is not None:
            raise ReadOnly(self.readonly_reason)

    def _clock_reason(self, last_us: int, accepted_us: int) -> str | None:
        ahead_us = last_us - self.clock.now_us()
        if ahead_us <= AHEAD_US_MAX or last_us <= accepted_us + AHEAD_US_MAX:
            return None
        return (
            f"the last event was recorded {ahead_us // 60_000_000} minutes after what the clock "
            "says now: set the clock right, or run `rewound accept-clock` to go on from the last "
            "recorded time"
        )


def _open_views(path: Path, log: Log, model: str) -> Views:
    from rewound.projections.views import Views

    return Views(path, log, model=model)


def _bring_up(views: Views, embedder: Embedder | None, opening: bytes) -> None:
    """Fold what the log has and the views have not; anew where the code of a view has changed, or
    where vectors are kept for the first time. Keep how their model is opened, and have vectors
    made that it makes better than it did."""
    from rewound.projections.rebuild import NewModel, rebuild

    model = "" if embedder is None else embedder.name
    outdated = views.outdated()
    begins = bool(model) and not views.model
    if outdated or begins:
        new = NewModel(model, opening) if begins else None
        rebuild(views, [*outdated, *([WORDS] if begins else [])], model=new)
    elif views.model == model and views.opening != opening:
        views.amend(lambda live: live.change_to(model, opening))
    if isinstance(embedder, Succeeding) and views.model in embedder.predecessors:
        views.amend(lambda live: live.begin_change(model, opening))
    views.catch_up()


def _wait(done: Future[T], timeout_s: float | None) -> T:
    try:
        return done.result(timeout_s)
    except WaitedTooLong:
        if done.done():
            raise  # a command's own error, not our patience
        raise StoreBusy(
            "the write was not answered in time and may still happen: ask again with the same "
            "idempotency key"
        ) from None
