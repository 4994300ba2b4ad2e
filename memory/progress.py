"""How far the log is acknowledged and the views are folded: where reads wait."""

import threading
import time

from rewound.eventlog.errors import StoreBusy
from rewound.eventlog.failpoints import Crash


class Progress:
    """Two store-wide sequences that only rise, and why the views do not follow when they do not."""

    def __init__(self, sequence: int) -> None:
        self.acknowledged = sequence
        self.folded = sequence
        self._trouble: BaseException | None = None
        self._changed = threading.Condition(threading.Lock())

    def tell(self, *, acknowledged: int = 0, folded: int = 0) -> None:
        with self._changed:
            self.acknowledged = max(self.acknowledged, acknowledged)
            self.folded = max(self.folded, folded)
            if folded:
                self._trouble = None
                self._changed.notify_all()

    def fail(self, trouble: BaseException) -> None:
        with self._changed:
            self._trouble = trouble
            self._changed.notify_all()

    def wait_past(self, sequence: int, until: float, what: str) -> None:
        """Wait until the views have folded more than `sequence`.

        Raises StoreBusy at `until` (monotonic), or when the views cannot follow.
        """
        with self._changed:
            while self.folded <= sequence:
                if isinstance(self._trouble, Crash):
                    raise self._trouble
                if self._trouble is not None:
                    raise StoreBusy(
                        f"{what}: the views cannot follow the log now ({self._trouble}); nothing "
                        "is lost, try again later"
                    )
                left = until - time.monotonic()
                if left <= 0:
                    raise StoreBusy(f"{what}: try again")
                self._changed.wait(left)
