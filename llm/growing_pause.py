"""How long what failed is left alone: ever longer, until it is there."""

from __future__ import annotations

_DOUBLINGS_MAX = 30


class GrowingPause:
    """The pause after each failure of one thing, twice the one before it, from `first_s` to
    `most_s` seconds. `now` is seconds of any steady clock."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._times = 0
        self._until = float("-inf")

    def failed(self, now: float) -> None:
        """It failed once more: the next pause begins."""
        pause_s = self._first_s * 2.0 ** min(self._times, _DOUBLINGS_MAX)
        self._times += 1
        self._until = now + min(pause_s, self._most_s)

    def is_over(self, now: float) -> bool:
        """Whether it may be tried again."""
        return now >= self._until
