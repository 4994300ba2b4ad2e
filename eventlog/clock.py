"""The clock, passed in wherever time is needed."""

import time
from typing import Protocol


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since 1970 UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_us(self) -> int:
        return time.time_ns() // 1000
