"""What a copy of the log lacks while it is being made: the rows written since its snapshot."""

import threading

import lmdb

from rewound.eventlog.environment import Environment
from rewound.eventlog.lmdb_writer import Change
from rewound.eventlog.tables import COMPACTION, META

_LITTLE_ROWS = 5_000
"""So few rows are brought over in the time that writers can be paused."""

_ROWS_MAX = 1_000_000
"""So many rows may wait to be brought over; then writers wait too, which bounds the memory."""


class Behind:
    """Collects what is written, and replays it in the copy. For any number of threads."""

    def __init__(self) -> None:
        self._state = threading.Condition(threading.Lock())
        self._changes: list[Change] = [(META, [(COMPACTION, None)])]  # the copy is what was due
        self._rows = 0
        self._done = False

    def add(self, changes: list[Change]) -> None:
        """Called in the writer's turn, so in the order of the commits."""
        with self._state:
            self._changes += changes
            self._rows += sum(len(rows) for _, rows in changes)

    def wait(self) -> None:
        """Hold a writer back while too much is waiting."""
        with self._state:
            while self._rows > _ROWS_MAX and not self._done:
                self._state.wait()

    def catch_up(self, copy: Environment) -> bool:
        """Replay in the copy what is waiting; True when it was little.

        An erase among it leaves its mark in the copy, which then is to be compacted once more.
        """
        with self._state:
            changes, self._changes = self._changes, []
            rows, self._rows = self._rows, 0
            self._state.notify_all()

        def replay(txn: "lmdb.Transaction[bytes]") -> None:
            for table, changed in changes:
                db = copy.db(table)
                for key, value in changed:
                    if value is None:
                        txn.delete(key, db=db)
                    else:
                        txn.put(key, value, db=db)

        copy.write(replay)
        return rows <= _LITTLE_ROWS

    def end(self) -> None:
        """Nothing is waited for any more."""
        with self._state:
            self._done = True
            self._state.notify_all()
