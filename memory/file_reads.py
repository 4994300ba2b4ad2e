"""A store's files, read by a process that does not own them: questions answered on snapshots.

Nothing here writes, nor takes a lock that the writer waits for. The log is committed before a
command is acknowledged, so a snapshot of it tells what a read has to hold; the views may follow a
moment later, and are waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rewound.eventlog.clock import Clock
from rewound.eventlog.errors import RewoundError, StoreBusy
from rewound.eventlog.ids import UuidV7Source
from rewound.eventlog.letting_go import let_go
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.llm.facts_answerer import FactsAnswerer
from rewound.memory import requests as q
from rewound.memory.answering import Sizes
from rewound.memory.decomposing import Decomposes
from rewound.memory.meaning import Meaning
from rewound.memory.models import Models
from rewound.memory.place import Layout
from rewound.memory.reads import answered
from rewound.memory.replies import Reply
from rewound.memory.reranking import Reranks
from rewound.memory.responding import Responds
from rewound.memory.rewriting import Rewrites
from rewound.projections.views import Views

if TYPE_CHECKING:
    from rewound.projections.views import ViewReader

ASKED_OF_THE_OWNER = (q.Stats,)
"""Reads of what only the owner knows: why it takes no writes, what it still has to rewrite."""

_PAUSE_S = (0.0005, 0.02)  # between two looks at the views: at first, and at most


class FileReads:
    """The log and the views of a store, opened for reading. Safe for any number of threads.

    To be opened only by who looks on (`onlookers.py`), and closed before it stops doing so.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        clock: Clock,
        models: Models,
        meaning: Meaning,
        reranks: Reranks,
        rewrites: Rewrites,
        decomposes: Decomposes | None = None,
        responds: Responds | None = None,
    ) -> None:
        """Raises NotFound where there is no store, StoreBusy."""
        self.meaning = meaning
        self.reranks = reranks
        self.rewrites = rewrites
        self.rhythm = models.rhythm()
        self.decomposes = decomposes or Decomposes()
        self.counter = models.make_token_counter()
        self.responds = responds or Responds(FactsAnswerer())
        self.recent_chars = models.recent_chars
        self.readonly_reason: str | None = None  # only `Stats` tells it
        self._clock = clock
        with ExitStack() as opened:
            log = self._log = LmdbLog(layout.log, clock, UuidV7Source(clock), readonly=True)
            opened.callback(log.close)
            self._views = Views(layout.views, log, readonly=True, ranker=models.make_ranker())
            opened.callback(self._views.close)
            self._opened = opened.pop_all()

    def read(self, request: q.Read, timeout_s: float) -> Reply:
        """The reply to a question. Raises RewoundError."""
        assert not isinstance(request, ASKED_OF_THE_OWNER), "that is for the owner to answer"
        return answered(self, request, timeout_s)

    @contextmanager
    def reading(self, timeout_s: float) -> Iterator[ViewReader]:
        """A snapshot that holds all that is acknowledged now; its `log` is never behind it."""
        wanted: int | None = None
        for _ in _looks(time.monotonic() + timeout_s, "the views are behind"):
            with self._views.reading() as views:
                if wanted is None:
                    wanted = views.log.sequence()
                if views.sequence() >= wanted:
                    yield views
                    return

    def wait_past(self, sequence: int, until: float, what: str) -> None:
        """Wait until the views have folded more than `sequence`. Raises StoreBusy at `until`."""
        for _ in _looks(until, what):
            with self._views.reading() as views:
                if views.sequence() > sequence:
                    return

    def now_us(self, last_recorded_us: int) -> int:
        """The clock's time, or the log's last one when the clock is behind it."""
        return max(self._clock.now_us(), last_recorded_us)

    def sizes(self) -> Sizes:
        raise RewoundError("what the store takes is told by its owner")

    def renew(self) -> None:
        """Let go of files that were replaced, then of all that was read of them before."""
        self._log.environment.follow()
        self._views.follow()
        self._views.forget_labels()
        self.meaning.forget()
        self.counter.forget()
        let_go()

    def close(self) -> None:
        """Wait for reads that are under way, then close the files."""
        self._opened.close()


def _looks(until: float, what: str) -> Iterator[None]:
    """Once now, and again after a pause that grows. Raises StoreBusy at `until`."""
    pause_s = _PAUSE_S[0]
    while True:
        yield
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise StoreBusy(f"{what}: try again")
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 2, _PAUSE_S[1])
