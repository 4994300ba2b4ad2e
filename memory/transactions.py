"""The two write transactions of a group: opened together, and the log's committed first.

An error goes to both, so that each can roll back and say in its own words what went wrong: a full
map is told as `MapGrew`, and then the same group is to be run again.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from rewound.eventlog.errors import RewoundError
from rewound.eventlog.lmdb_errors import MapGrew

if TYPE_CHECKING:
    from rewound.eventlog.log import Log, Writer
    from rewound.projections.views import Views, ViewWriter

Context = AbstractContextManager[Any]


class Dirtied(Exception):
    """A command failed after something had been appended for it: the group has to be given up."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class LogCommitFailed(Exception):
    """The log could not be made durable: nothing of the group happened."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class ViewsBehind(Exception):
    """The views have not folded all of the log: they must, before anything is folded on top."""


class _Rollback(RewoundError):
    """Ends transactions of which nothing is to be kept."""


class Transactions:
    """Open writes of a log and its views. Entering raises ViewsBehind.

    A `with` block keeps what was committed in it by `commit_log` and then `commit_views`; whatever
    is still open at its end is rolled back. An error leaves it as the one who met it tells it.
    """

    def __init__(self, log: Log, views: Views, *, urgent: bool) -> None:
        self._log = log
        self._views = views
        self._urgent = urgent
        self._logging: Context | None = None
        self._folding: Context | None = None
        self.log: Writer
        self.views: ViewWriter

    def __enter__(self) -> Self:
        logging = self._log.writing(urgent=self._urgent)
        self.log = logging.__enter__()
        self._logging = logging
        folding = self._views.writing(self.log)
        try:
            self.views = folding.__enter__()
        except BaseException as error:
            self._fail(error)
        self._folding = folding
        if self.views.sequence() < self.log.sequence():
            self._fail(ViewsBehind())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._roll_back(_Rollback("nothing to keep"))
            return
        inner = error.error if isinstance(error, Dirtied) else error
        told = self._roll_back(inner)
        if told is inner:
            return  # as it came
        if inner is not error and not isinstance(told, MapGrew):
            told = Dirtied(told)
        raise told from inner

    def commit_log(self) -> None:
        """Make the log durable. Raises MapGrew, LogCommitFailed; then nothing is left open."""
        assert self._logging is not None
        self.views.index.flush()  # while the log's write is open, whose bodies it reads
        logging, self._logging = self._logging, None
        raised = _leave(logging, None)
        if raised is None:
            return
        told = self._roll_back(raised)
        if isinstance(told, MapGrew) or not isinstance(told, Exception):
            raise told
        raise LogCommitFailed(told) from raised

    def commit_views(self) -> None:
        """Raises what the commit raised: the log is durable, so the views have to catch up."""
        assert self._logging is None
        assert self._folding is not None
        folding, self._folding = self._folding, None
        raised = _leave(folding, None)
        if raised is not None:
            raise raised

    def _fail(self, error: BaseException) -> NoReturn:
        told = self._roll_back(error)
        if told is error:
            raise error
        raise told from error

    def _roll_back(self, error: BaseException) -> BaseException:
        """Roll back whatever is open. Returns the error as whoever met it tells it."""
        told = [error]
        for context in (self._folding, self._logging):
            if context is not None:
                told.append(_leave(context, error) or error)
        self._folding = self._logging = None
        for kind in (MapGrew, RewoundError):
            for each in told:
                if isinstance(each, kind):
                    return each
        return told[-1]


def _leave(context: Context, error: BaseException | None) -> BaseException | None:
    """Leave a context with or without an error; returns what came out of it."""
    try:
        if error is None:
            context.__exit__(None, None, None)
        else:
            context.__exit__(type(error), error, error.__traceback__)
    except BaseException as raised:
        return raised
    return error
