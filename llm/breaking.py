"""Whether a server is fit to be asked: what its calls and its probes came to, as a small machine.

    new ── an answer ──▶ up ── two failures in a row ──▶ down ── a probe ──▶ trying ──▶ up
                                                          ▲                     │
                                                          └───── a failure ─────┘

A server that is `trying` is asked one thing at a time. Each answer lets it be asked one more, until
it has as many as it has slots: a machine that has just come back is not buried. One that looks well
but fails what it is asked is left alone for ever longer.

Nothing here reads a clock: seconds of any steady clock come in with each call.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["new", "up", "down", "trying"]


class Pace(NamedTuple):
    """How soon things are found out."""

    probe_s: float = 5.0
    """Between two probes of one server."""
    probe_timeout_s: float = 2.5
    """Half of the time between two: so two that fail fit into two intervals."""
    failures: int = 2
    """So many in a row, of calls or of probes, mean that a server is down."""
    holds_max: int = 4
    """One that fails what it is asked is left alone for `probe_s`, doubled so often at most."""


PACE = Pace()


class Breaker:
    """The state of one server."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._failed_calls = 0
        self._failed_probes = 0
        self._failed_trials = 0
        self._held_until = float("-inf")
        self._allowed: int | None = None
        self.state: State = "new"

    @property
    def answers(self) -> bool:
        """Whether it may be asked at all."""
        return self.state != "down"

    def limit(self, slots: int) -> int:
        """How many calls it may have at once."""
        if self.state == "down":
            return 0
        return slots if self._allowed is None else min(self._allowed, slots)

    def succeeded(self, slots: int) -> None:
        """A call was answered, well or ill: somebody is there."""
        self._failed_calls = self._failed_probes = 0
        if self.state == "down":
            return  # an answer to what was asked before it went
        self.state, self._failed_trials = "up", 0
        if self._allowed is not None:
            self._allowed += 1
            if self._allowed >= slots:
                self._allowed = None

    def failed(self, now: float) -> None:
        """A call came to nothing: nobody was there, or no answer came in time."""
        self._failed_calls += 1
        if self.state == "trying":
            self._failed_trials += 1
            wait_s = self._pace.probe_s * 2 ** min(self._failed_trials - 1, self._pace.holds_max)
            self._held_until = now + wait_s
            self._open()
        elif self._failed_calls >= self._pace.failures:
            self._open()

    def probed(self, well: bool, now: float) -> None:
        """It was looked at."""
        if not well:
            self._failed_probes += 1
            if self._failed_probes >= self._pace.failures:
                self._open()
            return
        self._failed_probes = 0
        if self.state == "new":
            self.state = "up"
        elif self.state == "down" and now >= self._held_until:
            self.state, self._allowed, self._failed_calls = "trying", 1, 0

    @property
    def suspect(self) -> bool:
        """Whether to look again at once: the last look found nobody."""
        return self.state != "down" and self._failed_probes > 0

    def _open(self) -> None:
        self.state, self._allowed = "down", None
