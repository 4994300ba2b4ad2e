"""The duty that compares new facts with those before them.

A step reads some facts of one container in one snapshot, closes that, lets a judge model give its
opinions where one is set, and hands each verdict to the writer, which decides what follows against
the present. What was forgotten, undone or judged meanwhile is refused there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, NotFound, Stale
from rewound.eventlog.ids import ContainerId, EventId, FactId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.llm.askers import asking_while
from rewound.llm.judging import Judge, JudgeFailed, Opinion
from rewound.memory import deciding as d
from rewound.memory.applying import Applied
from rewound.memory.candidates import own_vector
from rewound.memory.claims import is_shown
from rewound.memory.link import VERDICTS
from rewound.memory.returning import came_back, judged_without, left_behind
from rewound.memory.unjudged import Unjudged
from rewound.memory.weighing import Scales, Weighed, judge_name, unchanged

if TYPE_CHECKING:
    from rewound.llm.reading import Table
    from rewound.memory.engine import Engine
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row
    from rewound.projections.views import ViewReader

FACTS_MAX = 16
"""Facts compared in one step: a tenth of a second at most."""

BUSY_FACTS = 2
QUIET_S = 0.05
PATIENCE_S = 1.0
"""While people ask, work waits for a pause of `QUIET_S`; when none comes for so long, a few facts
are compared all the same, and at once when somebody waits for it."""

VECTOR_WAIT_S = 20.0
"""How long a fact waits for its vector, which another duty makes, before words alone compare it."""

_LOOK_AGAIN_S = 0.05
_RETRY_S = (10.0, 600.0)

_log = logging.getLogger(__name__)


class _Read(NamedTuple):
    container: ContainerId
    scales: Scales
    held: int
    """The container's position in the snapshot."""
    weighed: list[Weighed]
    done: list[FactId]
    """What is not to be judged as things are."""
    cause: EventId | None = None
    """By which facts came back that these were judged without: they are judged again."""
    returned: tuple[int, int] = (0, 0)
    """Where to look once more if the judge or the writer fails: see `Unjudged.look_on`."""


class Judging:
    """Compares facts for one open store. `make` gives the judge model, None where there is none."""

    name = VERDICTS

    def __init__(self, engine: Engine, make: Callable[[], Judge | None], extra: Table = ()) -> None:
        self._engine = engine
        self._make = make
        self._extra = extra
        self._judge: Judge | None = None
        self._made = False
        self._queue = Unjudged()
        self._waiting: dict[tuple[ContainerId, FactId], float] = {}
        self._failures = 0
        self._asks_at = 0.0
        self._quiet = True
        self._waited_since: float | None = None

    def _patience_is_over(self) -> bool:
        now = time.monotonic()
        if self._waited_since is None:
            self._waited_since = now
        return now - self._waited_since >= PATIENCE_S

    @property
    def short(self) -> bool:
        """A step ends soon by itself, unless a model is asked."""
        return self._judge is None

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        return self._queue.notice(recorded)

    def step(self) -> float | None:
        engine = self._engine
        left_s = self._asks_at - time.monotonic()
        if left_s > 0:
            return left_s
        self._quiet = engine.quiet_s() >= QUIET_S
        if not (self._quiet or engine.awaited() or self._patience_is_over()):
            return QUIET_S
        self._waited_since = None
        with engine.reading() as views:
            self._queue.look(views)
            read = self._read(views) or self._read_again(views)
        if read is None:
            return None if self._queue.idle() else 0.0
        self._queue.drop(read.container, read.done, read.held, skip=True)
        if not read.weighed:
            return 0.0 if read.done or read.cause is not None else _LOOK_AGAIN_S
        still = unchanged(self._engine, read.container, read.held, read.weighed)
        try:
            self._record(read, self._opinions(read, still))
        except Exception as error:
            if read.cause is not None:
                self._queue.look_on(read.container, *read.returned)
            if not isinstance(error, JudgeFailed):
                raise
            return self._failed(error) if still() else _LOOK_AGAIN_S
        return None if self._queue.idle() else 0.0

    def nodes_are_back(self) -> None:
        """Ask the judge model again at once, rather than when it was to be tried again."""
        self._asks_at, self._failures = 0.0, 0

    def close(self) -> None:
        """End what is being asked of a judge model."""
        if self._judge is not None:
            self._judge.close()

    # --- reading

    def _read(self, views: ViewReader) -> _Read | None:
        chosen = self._queue.batch(FACTS_MAX if self._quiet else BUSY_FACTS, views)
        if chosen is None:
            return None
        container, facts = chosen
        view = views.container(container)
        scales = Scales(view, self._engine.clock.now_us(), self._extra)
        read = _Read(container, scales, view.position, [], [])
        for fact in facts:
            row = view.fact(fact)
            if row is None or not is_to_be_judged(view, fact):
                read.done.append(fact)
            elif self._waits(view, fact):
                break  # in the order stated, so that each finds those before it
            else:
                read.weighed.append(read.scales.compare(row))
        return read

    def _read_again(self, views: ViewReader) -> _Read | None:
        """Facts judged while others were not there, which an undoing or restoring brought back, or
        by others, which it took."""
        returned = self._queue.returned(views)
        if returned is None:
            return None
        container, position, done = returned
        view = views.container(container)
        scales = Scales(view, self._engine.clock.now_us(), self._extra)
        recorded = view.event(position)
        assert recorded is not None, "what is noticed is in the log"
        back, left = came_back(view, recorded), left_behind(view, recorded)
        facts = [*back, *left]
        if len(facts) > done + FACTS_MAX:
            self._queue.look_on(container, position, done + FACTS_MAX)
        unsettled = {
            row.id: row
            for place, fact in enumerate(facts[done : done + FACTS_MAX], done)
            for row in (
                judged_without(view, scales, fact) if place < len(back) else _rows(view, fact)
            )
        }
        compared = [scales.compare(row) for row in unsettled.values()]
        known = set(left)
        weighed = [
            each for each in compared if each.fact in known or not set(back).isdisjoint(each.olds)
        ]
        cause = recorded.envelope.event_id
        return _Read(container, scales, view.position, weighed, [], cause, (position, done))

    def _waits(self, view: ContainerView, fact: FactId) -> bool:
        """Whether its vector is still to come."""
        meaning = self._engine.meaning.of_vectors(view.index.embeddings.models)
        key = (view.id, fact)
        if (
            meaning is None
            or meaning.trouble_in("background") is not None
            or own_vector(view, fact) is not None
        ):
            self._waiting.pop(key, None)
            return False
        since = self._waiting.setdefault(key, time.monotonic())
        if time.monotonic() - since < VECTOR_WAIT_S:
            return True
        del self._waiting[key]
        return False

    # --- judging

    def _opinions(self, read: _Read, still: Callable[[], bool]) -> list[list[Opinion | None]]:
        judge, weighed = self._ready(), read.weighed
        if judge is None:
            return [[] for _ in weighed]
        pairs = [pair for each in weighed for pair in each.pairs]
        with asking_while(still):
            given = judge.opinions(pairs) if pairs else []
        if len(given) != len(pairs):
            raise JudgeFailed(f"{len(given)} answers for {len(pairs)} pairs")
        told = iter(given)
        self._failures = 0
        return [[next(told) for _ in each.pairs] for each in weighed]

    def _ready(self) -> Judge | None:
        if not self._made:
            self._judge, self._made = self._make(), True
        return self._judge

    def _failed(self, failed: JudgeFailed) -> float:
        self._failures += 1
        delay_s: float = min(_RETRY_S[0] * 4 ** (self._failures - 1), _RETRY_S[1])
        _log.warning("the judge failed (%s) and is asked again in %g s", failed, delay_s)
        self._asks_at = time.monotonic() + delay_s
        return delay_s

    # --- recording

    def _record(self, read: _Read, opinions: Sequence[Sequence[Opinion | None]]) -> None:
        """Hand over each verdict; raises what keeps the store from recording anything."""
        sent: list[tuple[FactId, Future[Applied]]] = []
        for weighed, given in zip(read.weighed, opinions, strict=True):
            if self._engine.closing:
                break  # what is left is found unjudged by the next owner
            verdict = d.Judge(
                read.container,
                weighed.fact,
                read.scales.rule(weighed, given),
                judge_name(self._judge),
                read.scales.policy.event,
                again=read.cause is not None,
                causes=() if read.cause is None else (read.cause,),
                held=None if read.cause is None else read.held,
            )
            sent.append((weighed.fact, self._engine.submit_record(verdict)))
        trouble: Exception | None = None
        stale = False
        done: list[FactId] = []
        for fact, applied in sent:
            error = applied.exception()
            if error is None or isinstance(error, Conflict | NotFound):
                done.append(fact)
            elif isinstance(error, Exception):
                trouble = trouble or error
            else:
                raise error
            stale = stale or isinstance(error, Stale)
        self._queue.drop(read.container, done, read.held)
        if stale:
            self._queue.look_on(read.container, *read.returned)
        if trouble is not None:
            raise trouble


def _rows(view: ContainerView, fact: FactId) -> list[Row[FactRow]]:
    row = view.fact(fact)
    return [] if row is None else [row]


def is_to_be_judged(view: ContainerView, fact: FactId) -> bool:
    """Whether it has no verdict, shows, and no person took a verdict on it back by itself."""
    if not view.is_unjudged(fact) or not is_shown(view, fact):
        return False
    effectivity = view.effectivity()
    return not any(
        isinstance(recorded.event, e.FactsJudged)
        and recorded.event.fact == fact
        and effectivity.undoing(recorded.envelope.event_id) is not None
        for recorded in view.about(Ref(Kind.FACT, fact))
    )
