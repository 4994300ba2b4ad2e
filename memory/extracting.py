"""The duty that draws facts from what was sent.

A step reads some sources in one snapshot, closes that, lets the extractor work, and hands all that
came of it to the writer at once, so that it makes one group of many. A model that is at several
places works on several sources side by side, from step to step; what came of them is recorded in
the order in which they were read. It may be shown messages of one conversation together. Each
source is recorded by itself, as a whole: facts and that its texts have been read, or that it failed
and when it is tried again. What changed in the meantime (forgotten, undone, read by somebody else)
makes the writer refuse it; then it is looked at anew.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, NotFound, RewoundError
from rewound.eventlog.ids import ContainerId, Ref
from rewound.eventlog.log import Draft, Recorded
from rewound.llm.askers import asking_while
from rewound.llm.extraction import (
    Drawn,
    ExtractionFailed,
    Extractor,
    Grouped,
    Paced,
    Said,
    Spread,
)
from rewound.memory import drawing, sources
from rewound.memory.applying import Applied
from rewound.memory.backlog import Backlog, Entry
from rewound.memory.deciding import Record
from rewound.memory.link import FACTS
from rewound.memory.rhythm import AT_ONCE, Rhythm
from rewound.memory.sources import Source
from rewound.memory.under_way import UnderWay
from rewound.projections.jobs import JobState

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.projections.views import ViewReader

NAME = "drawing facts"
SOURCES_MAX = 32
"""Sources read in one step, and so recorded with one or two commits. A person's command waits
behind them at most: some 20 ms."""

CHARS_MAX = 200_000
"""Characters read in one step; of a longer document the rest follows in the next."""

STEP_S = 5.0
"""A step begins no further source after so long: an extractor may be slow, and others wait."""

TRIES_MAX = 5
"""After so many a source is parked: it is tried again when a person asks for it."""

RETRY_S = (10.0, 6 * 3_600.0)
"""How long after the first failure it is tried again, and at most; four times longer each time."""

AWAY_S = 3_600.0
"""The same at most, while a model's server cannot be reached: that is no fault of the source, which
is never parked for it."""

AHEAD = 2
"""Sources given to a model for each call that it has room for: so that none of its slots waits for
us, and little is read long before it is looked at."""

_LOOK_S = 0.2
"""How soon it is looked at what is under way, should nobody tell."""

_AWAY_S = 5.0
_NOT_ASKED_S = 1.0

_REFUSED_S = (1.0, 600.0)  # the same for what the writer refuses, from the second time on

_log = logging.getLogger(__name__)

Read = tuple[Entry, Source]
"""A source as it was read, and where it stands in the backlog."""

Outcome = list[list[Drawn]] | Exception
"""What was drawn from each piece of a source, or why nothing was."""


class Extracting:
    """Draws facts for one open store. `make` gives the extractor when the first text is there."""

    name = FACTS
    short = False

    def __init__(
        self,
        engine: Engine,
        make: Callable[[], Extractor | None],
        watch: Callable[[], object] = lambda: None,
        rhythm: Rhythm = AT_ONCE,
    ) -> None:
        """`watch` begins to look after the nodes that a model is at: once there is time for it.
        Messages are read to a rhythm by an extractor that can read several together."""
        self._engine = engine
        self._watch = watch
        self._make = make
        self._extractor: Extractor | None = None
        self._rhythm = rhythm
        self._backlog = Backlog(rhythm)
        self._refused: dict[tuple[ContainerId, Ref], int] = {}
        self._under_way: UnderWay[list[Read], list[list[Draft] | None]] = UnderWay(self._done)

    @property
    def extractor(self) -> str | None:
        """The name of the extractor, once it was needed."""
        return None if self._extractor is None else self._extractor.name

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        return self._backlog.notice(recorded)

    def close(self) -> None:
        """Give up what is under way with a model elsewhere; called from any thread."""
        if isinstance(self._extractor, Paced):
            self._extractor.close()

    def nodes_are_back(self) -> None:
        """Try again at once what waits only because nobody was there; called from any thread."""
        self._backlog.hurry()

    def step(self) -> float | None:
        engine = self._engine
        self._watch()
        # Before the snapshot: what is noticed after it would not be found in it, and be dropped.
        count = SOURCES_MAX + len(self._under_way)
        batch = self._backlog.batch(count, engine.clock.now_us(), awaited=engine.awaited())
        extractor = self._ready() if batch or self._under_way else None
        if isinstance(extractor, Spread):
            return self._step_ahead(extractor, batch)
        with engine.reading() as views:
            self._backlog.look(views)
            read = self._read(views, batch, _chars_max(extractor) if batch else 0)
        if read:
            self._draw(read)
        return self._backlog.rest_s(engine.clock.now_us())

    def _step_ahead(self, spread: Spread, batch: Sequence[Entry]) -> float | None:
        """Record what came of what is under way, and begin as much as there is room for."""
        engine, extractor = self._engine, self._ready()
        self._take()
        room = spread.parallel
        count = min(AHEAD * room - self._under_way.unfinished, SOURCES_MAX - len(self._under_way))
        left = _chars_max(extractor) * AHEAD * room - self._under_way.chars
        with engine.reading() as views:
            self._backlog.look(views)
            new = [each for each in batch if (each.container, each.ref) not in self._under_way]
            read = self._read_together(views, new, left, count)
        for group in read:
            self._begin(extractor, group)
        if self._under_way:
            return _LOOK_S
        rest_s = self._backlog.rest_s(engine.clock.now_us())
        return _AWAY_S if rest_s == 0.0 and not room else rest_s

    def _begin(self, extractor: Extractor, group: list[Read]) -> None:
        def work() -> list[list[Draft] | None]:
            if self._engine.closing:
                return [None for _ in group]
            with asking_while(lambda: self._are_as_read(group)):
                return self._drafts_of_each(extractor, [source for _, source in group])

        keys = [(entry.container, entry.ref) for entry, _ in group]
        self._under_way.begin(keys, group, sum(source.chars() for _, source in group), work)

    def _are_as_read(self, group: Sequence[Read]) -> bool:
        """Whether sources are all still there with the same words: what was forgotten while it
        waited for a model is shown to none."""
        try:
            with self._engine.reading() as views:
                return all(_is_as_read(views, source) for _, source in group)
        except RewoundError:
            return False  # it cannot be known: the store closes, or its views are far behind

    def _take(self) -> None:
        sent: list[tuple[Entry, Source, Future[Applied]]] = []
        for group, outcomes in self._under_way.take():
            for (entry, source), drafts in zip(group, outcomes, strict=True):
                if self._engine.closing:
                    return  # what is left is found pending by the next owner
                if drafts is None:
                    later_us = self._engine.clock.now_us() + round(_NOT_ASKED_S * 1_000_000)
                    self._backlog.postpone(entry, later_us)
                    continue
                record = Record(source.container, tuple(drafts))
                sent.append((entry, source, self._engine.submit_record(record)))
        self._settle(sent)

    def _done(self) -> None:
        """Something under way came to its end; called from its thread."""
        if self._engine.workers is not None:
            self._engine.workers.call(self)

    # --- reading

    def _read(
        self, views: ViewReader, batch: Sequence[Entry], left: int, count: int = SOURCES_MAX
    ) -> list[tuple[Entry, Source]]:
        """What there is to read of them, as far as one step goes: `left` characters."""
        found: list[tuple[Entry, Source]] = []
        for entry in batch:
            if left <= 0 or len(found) >= count:
                break
            source = self._read_one(views, entry, left)
            if source is None:
                continue
            found.append((entry, source))
            left -= source.chars()
        return found

    def _read_together(
        self, views: ViewReader, batch: Sequence[Entry], left: int, count: int
    ) -> list[list[Read]]:
        """The same in groups, `count` at most, each of which is put before a model in one call."""
        groups: list[list[Read]] = []
        for entry in batch:
            if left <= 0 or count <= 0:
                break
            source = self._read_one(views, entry, left)
            if source is None:
                continue
            if groups and self._goes_with(groups[-1], entry, source):
                groups[-1].append((entry, source))
            elif len(groups) < count:
                groups.append([(entry, source)])
            else:
                break
            left -= source.chars()
        return groups

    def _goes_with(self, group: Sequence[Read], entry: Entry, source: Source) -> bool:
        """Whether a source may be shown along with those before it. What failed once is read by
        itself from then on: nobody knows which of a group it was that a model fell over."""
        last, said = group[-1]
        chars = source.chars() + sum(each.chars() for _, each in group)
        return (
            isinstance(self._extractor, Grouped)
            and len(group) < self._rhythm.messages
            and (last.container, last.unit) == (entry.container, entry.unit)
            and said.conversation == source.conversation is not None
            and said.scope == source.scope
            and said.attempts == source.attempts == 0
            and chars <= _chars_max(self._extractor)
        )

    def _read_one(self, views: ViewReader, entry: Entry, chars_max: int) -> Source | None:
        view = views.container(entry.container)
        job = view.job(entry.ref)
        if job is None or job.state is JobState.PARKED or view.hidden(entry.ref) is not None:
            self._backlog.drop(entry)
            return None
        later = job.state is JobState.FAILED and (job.retry_at or 0) > self._engine.clock.now_us()
        nobody_was_there = job.why is e.Why.UNREACHABLE
        if self._backlog.is_hurried(entry) and nobody_was_there:
            later = False  # somebody came back since
        if later:
            self._backlog.postpone(entry, job.retry_at or 0)
            return None
        source = sources.read(view, entry.ref, job, chars_max)
        if source is None:
            self._backlog.drop(entry)
        return source

    # --- drawing

    def _draw(self, read: Sequence[tuple[Entry, Source]]) -> None:
        """Draw from each and record it; raises what keeps the store from recording anything."""
        extractor = self._ready()
        records: list[Record] = []
        begun = time.monotonic()
        for _, source in read:
            if self._engine.closing:
                break  # what is left is found pending by the next owner
            if records and time.monotonic() - begun > STEP_S:
                break  # what is left stays in the backlog
            drafts = self._drafts(extractor, source)
            if drafts is None:
                break  # that it was given up is no failure of the source
            records.append(Record(source.container, tuple(drafts)))
        sent = self._engine.submit_records(records)
        self._settle([(*each, done) for each, done in zip(read, sent, strict=False)])

    def _settle(self, sent: Sequence[tuple[Entry, Source, Future[Applied]]]) -> None:
        """Wait for the writer; raises what keeps the store from recording anything."""
        trouble: Exception | None = None
        for entry, source, done in sent:
            error = done.exception()
            if error is None:
                self._recorded(entry, source, done.result().recorded)
            elif isinstance(error, Conflict | NotFound):
                self._refuse(entry)
            elif isinstance(error, Exception):
                trouble = trouble or error
            else:
                raise error
        if trouble is not None:
            raise trouble

    def _ready(self) -> Extractor:
        """The extractor, made when it is first needed; from then on the store tells its name."""
        if self._extractor is None:
            self._extractor = self._make()
            assert self._extractor is not None, "there is no duty without an extractor"
            self._engine.extractor = self._extractor.name
        return self._extractor

    def _drafts(self, extractor: Extractor, source: Source) -> list[Draft] | None:
        """The events that tell what came of a source; None when it was given up, or nobody was
        asked, which is no failure of the source."""
        said = source.said()
        outcome: Outcome = []
        if said:
            try:
                outcome = extractor.extract(said)
            except Exception as error:
                outcome = error
        return self._told(extractor.name, source, outcome)

    def _drafts_of_each(
        self, extractor: Extractor, group: Sequence[Source]
    ) -> list[list[Draft] | None]:
        """The same for each source of a group."""
        said = [source.said() for source in group]
        readable = [each for each in said if each]
        if len(readable) < 2 or not isinstance(extractor, Grouped):
            return [self._drafts(extractor, source) for source in group]
        outcomes = iter(_outcomes(extractor, readable))
        return [
            self._told(extractor.name, source, next(outcomes) if each else [])
            for source, each in zip(group, said, strict=True)
        ]

    def _told(self, extractor: str, source: Source, outcome: Outcome) -> list[Draft] | None:
        ids = self._engine.ids
        why, reply = e.Why.MALFORMED, None
        try:
            if isinstance(outcome, Exception):
                raise outcome
            return drawing.drafts(source, outcome, extractor, ids)
        except ExtractionFailed as failed:
            detail, why, reply = str(failed), failed.why, failed.reply
            if not failed.asked:
                return None
        except Exception as error:
            # A mistake of ours about one text must not keep all others waiting. Its message may
            # quote the text, its type cannot.
            detail = f"the extractor ended with {type(error).__name__}"
            _log.warning("%s ended with %s on %s", extractor, type(error).__name__, source.ref)
        if self._engine.closing:
            return None
        retry_at = self._retry_at(source.attempts + 1, why)
        failure = drawing.failure(
            source, extractor, ids, why=why, detail=detail, reply=reply, retry_at=retry_at
        )
        return [failure]

    def _retry_at(self, attempt: int, why: e.Why) -> int | None:
        """µs; None when it has been tried often enough."""
        away = why is e.Why.UNREACHABLE
        if attempt >= TRIES_MAX and not away:
            return None
        delay_s: float = min(RETRY_S[0] * 4 ** min(attempt - 1, 10), AWAY_S if away else RETRY_S[1])
        spread = 1 + self._engine.ids.salt()[0] / 1024  # so that what failed together parts
        return self._engine.clock.now_us() + round(delay_s * spread * 1_000_000)

    # --- what became of it

    def _recorded(self, entry: Entry, source: Source, recorded: Sequence[Recorded]) -> None:
        self._refused.pop((entry.container, entry.ref), None)
        for each in recorded:
            if isinstance(each.event, e.ExtractionFailed):
                if each.event.retry_at is not None:
                    self._backlog.postpone(entry, each.event.retry_at)
                else:
                    self._backlog.drop(entry)
                return
        if source.whole:
            self._backlog.drop(entry)

    def _refuse(self, entry: Entry) -> None:
        """Read it anew: at once the first time, then ever later."""
        key = (entry.container, entry.ref)
        times = self._refused[key] = self._refused.get(key, 0) + 1
        if times > 1:
            delay_s = min(_REFUSED_S[0] * 2 ** (times - 2), _REFUSED_S[1])
            now_us = self._engine.clock.now_us()
            self._backlog.postpone(entry, now_us + round(delay_s * 1_000_000))


def _chars_max(extractor: Extractor | None) -> int:
    return extractor.chars_max if isinstance(extractor, Paced) else CHARS_MAX


def _is_as_read(views: ViewReader, source: Source) -> bool:
    view = views.container(source.container)
    job = view.job(source.ref)
    if job is None or view.hidden(source.ref) is not None:
        return False
    now = sources.read(view, source.ref, job, source.chars())
    return now is not None and now.said() == source.said()


def _outcomes(extractor: Grouped, said: Sequence[Sequence[Said]]) -> Sequence[Outcome]:
    """What an extractor draws from each of several sources."""
    try:
        outcomes = extractor.extract_each(said)
    except Exception as error:
        return [error for _ in said]
    if len(outcomes) != len(said):
        return [ExtractionFailed(f"{len(outcomes)} answers for {len(said)} texts") for _ in said]
    return outcomes
