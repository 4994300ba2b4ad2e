"""The duty that sums up what of a conversation no longer fits among its recent messages.

A step looks at some conversations in one snapshot, and gives what is due to the model, for several
conversations side by side. Each call takes the summary so far and the next messages, and what came
of it is recorded by itself: so that nothing is lost with a process but what was under way. What
changed in the meantime (forgotten, undone, summed up by somebody else) makes the writer refuse it;
then the conversation is looked at anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.errors import Conflict, NotFound, RewoundError
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Draft, Recorded
from rewound.llm.askers import asking_while
from rewound.llm.extraction import Spread
from rewound.llm.summarizing import NotSummarised, Summarizer
from rewound.memory.conversations_due import ConversationsDue, Talk
from rewound.memory.deciding import Record
from rewound.memory.under_way import UnderWay
from rewound.memory.unsummarised import Unsummarised, is_as_read, look

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.projections.views import ViewReader

NAME = "summing up"
TALKS_MAX = 50
"""Conversations looked at in one step."""

PARALLEL_MAX = 16
TRIES_MAX = 5
"""After so many failures the messages are parked: they are tried again when a person asks."""

RETRY_S = (10.0, 6 * 3_600.0)
"""How long after the first failure it is tried again, and at most; four times longer each time."""

AWAY_S = 3_600.0
"""The same at most, while a model's server cannot be reached: nothing is parked for that."""

_LOOK_S = 0.2
_NOT_ASKED_S = 1.0
_AWAY_LOOK_S = 5.0

_log = logging.getLogger(__name__)


class _Begun(NamedTuple):
    talk: Talk
    due: Unsummarised


class Summarizing:
    """Sums up for one open store. `make` gives the summarizer when there is something to sum up."""

    name = NAME
    short = False

    def __init__(
        self,
        engine: Engine,
        make: Callable[[], Summarizer],
        recent_chars: int,
        watch: Callable[[], object] = lambda: None,
    ) -> None:
        """`watch` begins to look after the nodes that a model is at: once there is time for it."""
        self._engine = engine
        self._make = make
        self._recent_chars = recent_chars
        self._watch = watch
        self._summarizer: Summarizer | None = None
        self._queue = ConversationsDue()
        self._back_us = -1
        """When a server was last found to be back."""
        self._under_way: UnderWay[_Begun, list[Draft] | None] = UnderWay(self._done)

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        return self._queue.notice(recorded)

    def close(self) -> None:
        """Give up what is under way with a model elsewhere; called from any thread."""
        if self._summarizer is not None:
            self._summarizer.close()

    def nodes_are_back(self) -> None:
        """Try again at once what waits only because nobody was there; called from any thread."""
        self._back_us = self._engine.clock.now_us()
        self._queue.hurry()

    def step(self) -> float | None:
        """Record what came of what is under way, and begin as much as there is room for."""
        engine = self._engine
        self._watch()
        self._take()
        now_us = engine.clock.now_us()
        room = self._room()
        with engine.reading() as views:
            self._queue.look(views)
            if room > 0:
                self._begin(views, room, now_us)
        if self._under_way:
            return _LOOK_S
        rest_s = self._queue.rest_s(engine.clock.now_us())
        return _AWAY_LOOK_S if rest_s == 0.0 and not room else rest_s

    def _room(self) -> int:
        """How many conversations more may be worked on side by side; a first one shows whether
        anybody is there."""
        summarizer = self._summarizer
        slots = summarizer.parallel if isinstance(summarizer, Spread) else 1
        return min(slots, PARALLEL_MAX) - len(self._under_way)

    # --- reading

    def _begin(self, views: ViewReader, room: int, now_us: int) -> None:
        chosen = self._queue.batch(TALKS_MAX, views, now_us)
        done = 0
        try:
            for talk in chosen:
                if room <= 0:
                    break
                room -= self._begin_one(views, talk, now_us)
                done += 1
        finally:
            # Nothing is lost by an error: that conversation comes again, behind the others.
            for talk in (*chosen[done + 1 :], *chosen[done : done + 1]):
                self._queue.again(talk)

    def _begin_one(self, views: ViewReader, talk: Talk, now_us: int) -> bool:
        """Whether it is worked on from now on."""
        if (talk.container, _ref(talk)) in self._under_way:
            self._queue.again(talk, now_us + round(_NOT_ASKED_S * 1e6))
            return False
        found = look(views.container(talk.container), talk.id, self._recent_chars)
        ready = [due for due in found.due if self._is_ready(talk, due, now_us)]
        if ready:
            self._start(talk, ready[0])
        elif not found.due:
            self._queue.rests(talk, found.room)
        return bool(ready)

    def _is_ready(self, talk: Talk, due: Unsummarised, now_us: int) -> bool:
        """Whether it is to be tried now; if it is later, the conversation is looked at then."""
        if due.parked:
            return False
        if due.retry_at is None or due.retry_at <= now_us:
            return True
        if due.why is e.Why.UNREACHABLE and (due.tried_us or 0) <= self._back_us:
            return True  # somebody came back since
        self._queue.again(talk, due.retry_at)
        return False

    # --- asking

    def _start(self, talk: Talk, due: Unsummarised) -> None:
        summarizer = self._ready()

        def work() -> list[Draft] | None:
            if self._engine.closing:
                return None
            with asking_while(lambda: self._is_as_read(due)):
                return self._drafts(summarizer, due)

        chars = sum(len(each.text) for each in due.said)
        self._under_way.begin([(talk.container, _ref(talk))], _Begun(talk, due), chars, work)

    def _ready(self) -> Summarizer:
        if self._summarizer is None:
            self._summarizer = self._make()
        return self._summarizer

    def _is_as_read(self, due: Unsummarised) -> bool:
        """Whether it is still to be summed up in these words: what was forgotten while it waited
        for a model is shown to none."""
        try:
            with self._engine.reading() as views:
                return is_as_read(views.container(due.container), due)
        except RewoundError:
            return False  # it cannot be known: the store closes, or its views are far behind

    def _drafts(self, summarizer: Summarizer, due: Unsummarised) -> list[Draft] | None:
        """The events that tell what came of it; None when it was given up, or nobody was asked,
        which is no failure of the messages."""
        ids = self._engine.ids
        try:
            summed = summarizer.summarise(due.before, len(due.cites), due.said)
            return due.drafts(summed, summarizer.name, ids)
        except NotSummarised as error:
            failed = error
            if not failed.asked:
                return None
        except Exception as error:
            # A mistake of ours about one conversation must not keep all others waiting. Its message
            # may quote a text, its type cannot.
            failed = NotSummarised(f"the summarizer ended with {type(error).__name__}")
            _log.warning("%s ended with %s", summarizer.name, type(error).__name__)
        if self._engine.closing:
            return None
        retry_at = self._retry_at(due.attempts + 1, failed.why)
        return due.failure(failed, summarizer.name, ids, retry_at)

    def _retry_at(self, attempt: int, why: e.Why) -> int | None:
        """µs; None when it has been tried often enough."""
        away = why is e.Why.UNREACHABLE
        if attempt >= TRIES_MAX and not away:
            return None
        delay_s: float = min(RETRY_S[0] * 4 ** min(attempt - 1, 10), AWAY_S if away else RETRY_S[1])
        spread = 1 + self._engine.ids.salt()[0] / 1024  # so that what failed together parts
        return self._engine.clock.now_us() + round(delay_s * spread * 1_000_000)

    # --- what became of it

    def _done(self) -> None:
        """Something under way came to its end; called from its thread."""
        if self._engine.workers is not None:
            self._engine.workers.call(self)

    def _take(self) -> None:
        """Record what is done; raises what keeps the store from recording anything."""
        taken = self._under_way.take()
        later_us = self._engine.clock.now_us() + round(_NOT_ASKED_S * 1_000_000)
        for (talk, _), drafts in taken:  # there may be more of it, or it has changed
            self._queue.again(talk, later_us if drafts is None else 0)
        for (_, due), drafts in taken:
            if drafts is None:
                continue
            if self._engine.closing:
                return  # what is left is found to be done by the next owner
            error = self._engine.submit_record(Record(due.container, tuple(drafts))).exception()
            if error is not None and not isinstance(error, Conflict | NotFound):
                raise error


def _ref(talk: Talk) -> Ref:
    return Ref(Kind.CONVERSATION, talk.id)
