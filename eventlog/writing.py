"""The context of one write to an environment: take the turn, begin, commit or roll back.

A plain object rather than a generator, since it is entered for each commit.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

import lmdb

from rewound.eventlog.errors import RewoundError
from rewound.eventlog.failpoints import Points, failpoint
from rewound.eventlog.gate import Gate
from rewound.eventlog.lmdb_errors import translated


class Begin(Protocol):
    def __call__(self, *, urgent: bool) -> "lmdb.Transaction[bytes]": ...


class NotFitting(Protocol):
    def __call__(self, *, urgent: bool) -> RewoundError: ...


class Writing:
    """Gives the transaction. `not_fitting` makes the error for a group larger than the map."""

    def __init__(
        self,
        gate: Gate,
        points: Points,
        urgent: bool,
        begin: Begin,
        not_fitting: NotFitting,
        committed: Callable[[], None] | None,
    ) -> None:
        self._gate = gate
        self._points = points
        self._urgent = urgent
        self._begin = begin
        self._not_fitting = not_fitting
        self._committed = committed

    def __enter__(self) -> "lmdb.Transaction[bytes]":
        self._gate.take_turn()
        try:
            self._txn = self._begin(urgent=self._urgent)
        except BaseException as error:
            self._gate.end_turn()
            ours = translated(error)
            if ours is error:
                raise
            raise ours from error
        return self._txn

    def __exit__(
        self,
        _: type[BaseException] | None,
        error: BaseException | None,
        __: TracebackType | None,
    ) -> None:
        try:
            failed = self._commit() if error is None else error
            if failed is not None:
                self._txn.abort()
                ours = self._told(failed)
                if ours is not failed:
                    raise ours from failed
                if error is None:
                    raise failed
                return  # the block's own error goes on its way
            failpoint(self._points.after_commit)
            if self._committed is not None:
                self._committed()
        finally:
            self._gate.end_turn()

    def _commit(self) -> BaseException | None:
        """What the commit raised, if it did."""
        try:
            failpoint(self._points.before_commit)
            self._txn.commit()
        except BaseException as failed:
            return failed
        return None

    def _told(self, error: BaseException) -> BaseException:
        if isinstance(error, lmdb.MapFullError):
            return self._not_fitting(urgent=self._urgent)
        return translated(error)
