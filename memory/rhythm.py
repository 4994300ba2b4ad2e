"""The rhythm of drawing: when the messages of a conversation are read, and how many in one call.

A model that reads a message alone, the moment it comes, is asked once for each `Yes.` and keeps the
machine from whoever is still talking. So messages wait until their conversation is quiet, are
enough for one call, or have waited long enough. All of it follows from the times at which they were
recorded and the time that is passed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Rhythm(NamedTuple):
    """Times in µs. One message a call never waits: it is enough for one."""

    quiet_us: int = 0
    """Without a new message for so long, what waits in a conversation is read."""

    messages: int = 1
    """As many of one conversation are read in one call at most, and need not wait."""

    age_us: int = 0
    """The oldest that waits is read after so long, whatever is said."""

    @property
    def gathers(self) -> bool:
        return self.messages > 1

    def due_us(self, count: int, oldest_us: int, newest_us: int) -> int:
        """When the first of so many messages that wait in a conversation are read, if nothing more
        is said there; they were recorded from `oldest_us` to `newest_us`."""
        if count >= self.messages:
            return oldest_us
        return min(newest_us + self.quiet_us, oldest_us + self.age_us)

    def is_lost(self, now_us: int, seen_us: int) -> bool:
        """Whether the clock was put back by more than a quiet moment since `seen_us` was recorded.
        It does not tell then for how long anything has waited, so nothing waits."""
        return now_us < seen_us - self.quiet_us

    def due(self, times: Sequence[int], now_us: int) -> int:
        """How many of the messages that wait in a conversation are to be read now, from the oldest;
        `times` are those at which they were recorded, in order."""
        full = len(times) - len(times) % self.messages
        rest = times[full:]
        return len(times) if rest and self.due_us(len(rest), rest[0], rest[-1]) <= now_us else full


AT_ONCE = Rhythm()
"""Each message is read by itself, as soon as it is there."""
