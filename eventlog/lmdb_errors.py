"""LMDB's and the system's errors, raised as ours."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import lmdb

from rewound.eventlog.errors import Damaged, RewoundError, StoreBusy, StoreFull

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
# EIO too: LMDB reports a short write, which is how a full disk shows itself, by that number.

_DAMAGED = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.IncompatibleError,  # the flags in a database's record are not those it was made with
)


class MapGrew(StoreBusy):
    """The group did not fit the map and was rolled back; at the next `writing` the map is larger.

    The caller runs the same group again.
    """


def translated(error: BaseException) -> BaseException:
    """The error of ours that stands for one of LMDB or the system; the same if there is none."""
    code = error.code if isinstance(error, lmdb.Error) else getattr(error, "errno", None)
    if code in _FULL or isinstance(error, lmdb.DiskError):
        return StoreFull(f"the disk has no room left, or it fails: {error}")
    if isinstance(error, _DAMAGED):
        return Damaged(f"the database file is damaged: {error}")
    if isinstance(error, lmdb.ReadersFullError):
        return StoreBusy("too many reads are open at once: try again")
    return error


@contextmanager
def translating() -> Iterator[None]:
    """Raise LMDB's and the system's errors as ours, others as they are."""
    try:
        yield
    except RewoundError:
        raise
    except (lmdb.Error, OSError) as error:
        ours = translated(error)
        if ours is error:
            raise
        raise ours from error
