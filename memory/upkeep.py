"""What the writer's thread does between groups: views that catch up, seals, compaction.

Nothing here may overlap with a group: an erasure that came between the compaction of the views and
that of the log would leave its words in the views' file, with nothing to tell so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rewound.eventlog.envelope import SYSTEM
from rewound.eventlog.errors import StoreBusy
from rewound.eventlog.events import HeadsSealed
from rewound.eventlog.ids import STORE
from rewound.eventlog.lmdb_errors import MapGrew
from rewound.eventlog.log import Draft, Log
from rewound.memory.onlookers import Onlookers
from rewound.memory.progress import Progress
from rewound.memory.sealing import heads_sealed, last_seal
from rewound.memory.transactions import Transactions, ViewsBehind

if TYPE_CHECKING:
    from rewound.projections.views import Views

EVERY_S = 60.0
"""How often readers that died are looked for."""

SEAL_S = 3_600.0
"""How often the heads are sealed while something is being appended."""

_IDLE_S = 0.2  # how soon what was left over is taken up when nobody writes
_RETRY_S = (5.0, 600.0)  # how soon it is tried again when that failed: at first, and at most

_log = logging.getLogger(__name__)


class Upkeep:
    """Used by the writer's thread only. `left_over` says that something may be still to do."""

    def __init__(
        self,
        log: Log,
        views: Views,
        progress: Progress,
        every: Callable[[], object],
        onlookers: Onlookers,
    ) -> None:
        self._log = log
        self._views = views
        self._progress = progress
        self._every = every
        self._onlookers = onlookers
        self.left_over = True  # by an earlier process, perhaps
        self.unsealed = False
        now = time.monotonic()
        self._every_at = now + EVERY_S
        self._seal_at = now + SEAL_S
        self._tidy_at = now
        self._retry_s = _RETRY_S[0]

    # --- when

    def rest_s(self) -> float:
        """How long to wait for somebody who writes before there is something else to do."""
        now = time.monotonic()
        tidy_s = max(_IDLE_S, self._tidy_at - now) if self.left_over else EVERY_S
        return max(0.0, min(tidy_s, self._every_at - now))

    def tidy(self) -> None:
        """Do what was left over, as nobody writes; later again when it fails."""
        now = time.monotonic()
        if not self.left_over or now < self._tidy_at:
            return
        done = self._progress.folded >= self._progress.acknowledged or self.catch_up()
        if done and self._log.needs_compaction():
            done = self.compact() is None
        self.left_over = not done
        self._tidy_at = now if done else now + self._retry_s
        self._retry_s = _RETRY_S[0] if done else min(self._retry_s * 2, _RETRY_S[1])

    def on_time(self) -> None:
        """What is due by the clock on the wall, however busy the writer is."""
        now = time.monotonic()
        if now >= self._every_at:
            self._every_at = now + EVERY_S
            try:
                self._every()
            except Exception:
                _log.exception("the upkeep failed, and is tried again in a minute")
        if now >= self._seal_at:
            self._seal_at = now + SEAL_S
            self.seal_quietly()

    # --- what

    def catch_up(self) -> bool:
        """Fold what the log has and the views have not; False when that fails for now."""
        try:
            self._views.catch_up()
            with self._views.reading() as views:
                folded = views.sequence()
        except Exception as error:
            _log.exception("the views cannot follow the log")
            self._progress.fail(error)
            self.left_over = True
            return False
        self._progress.tell(folded=folded)
        return True

    def must_catch_up(self) -> None:
        """Before something is folded on top. Raises StoreBusy when it fails for now."""
        if not self.catch_up():
            raise StoreBusy(
                "the views cannot follow the log now, and without them nothing can be decided: "
                "nothing was written, try again later"
            )

    def compact(self) -> Exception | None:
        """Drop erased bytes from the files, and tell those who look on to drop them; what went
        wrong, if something did.

        The views first: the log is what remembers, across a crash, that it is still to be done.
        (Onlookers need no such mark: none outlives its connection to this process. They are not
        waited for here: one that is stuck would keep all who write waiting.)
        """
        try:
            self._views.compact()
            self._log.compact()
        except Exception as error:
            _log.warning("erased bytes are still in the files: %s", error)
            self.left_over = True
            return error
        self._onlookers.tell()
        return None

    def seal(self) -> HeadsSealed:
        """Hash all heads together, as an event, unless nothing happened since the last time."""
        with self._log.reading() as log:
            sealed = last_seal(log)
        while sealed is None:
            try:
                sealed = self._seal_once()
            except MapGrew:
                continue
            except ViewsBehind:
                self.must_catch_up()
        self.unsealed = False
        return sealed

    def seal_quietly(self) -> None:
        """Seal if anything was appended here; without a seal the log is whole, too."""
        if self.unsealed:
            try:
                self.seal()
            except Exception as error:  # a full disk
                _log.warning("the heads could not be sealed: %s", error)

    def _seal_once(self) -> HeadsSealed:
        with Transactions(self._log, self._views, urgent=True) as both:
            sealed = heads_sealed(both.log)
            recorded = both.log.append(STORE, [Draft(sealed)], actor=SYSTEM)
            both.views.fold(recorded, both.log)
            sequence = both.log.sequence()
            both.commit_log()
            self._progress.tell(acknowledged=sequence)
            self.commit_views(both, sequence)
        return sealed

    def commit_views(self, both: Transactions, sequence: int) -> None:
        """Commit the views of a group whose log is durable; if that fails they catch up."""
        try:
            both.commit_views()
        except Exception as error:
            # Acknowledged already, so this is no failure of the commands.
            _log.warning("the views' commit failed (%s): they catch up from the log", error)
            self.catch_up()
        else:
            self._progress.tell(folded=sequence)
