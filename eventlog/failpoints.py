"""Named points at which a test may make the program fail: inert unless armed.

`failpoint(LOG.before_commit)` does nothing but look at one empty dict. A simulator arms a point for
its n-th hit with an exception; a harness of real processes arms it through the environment variable
REWOUND_FAILPOINTS="log.before-commit:3,views.after-commit" (n is 1 when left out), and the process
ends there with status 137, as if it had been killed.

Every name is declared once, here, so that a simulator can iterate over `NAMES`.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

VARIABLE = "REWOUND_FAILPOINTS"
KILLED = 137
"""Exit status of a process ended by a failpoint: that of one killed by signal 9."""


class Crash(BaseException):
    """The simulated end of the process: no `except Exception` may stop it on its way out.

    Whoever catches it drops the store without asking it to do anything but `close()`, which gives
    up locks and file handles as the kernel would.
    """


class Points(NamedTuple):
    """The failpoints of one LMDB environment."""

    before_commit: str
    after_commit: str
    before_grow: str
    before_copy: str
    before_scrub: str
    before_catch_up: str
    before_rename: str
    after_rename: str
    before_unlink: str


def _environment(area: str) -> Points:
    return Points(*(f"{area}.{field.replace('_', '-')}" for field in Points._fields))


NONE = Points(*("" for _ in Points._fields))
"""For an environment that nobody makes fail."""
LOG = _environment("log")
VIEWS = _environment("views")
LOG_BETWEEN_TABLES = "log.between-tables"
"""In a group's transaction, some of its rows put and some not."""

ENGINE = (
    "engine.after-making-container",
    "engine.after-append",
    "engine.after-fold",
    "engine.before-log-commit",
    "engine.after-log-commit",
    "engine.before-views-commit",
)
"""On the way of a group of commands through `memory/`."""

NAMES: tuple[str, ...] = (*LOG, *VIEWS, LOG_BETWEEN_TABLES, *ENGINE)

_Failure = Callable[[], BaseException]


class _Armed(NamedTuple):
    left: int
    """Hits until it fails; 1 fails at the next one."""
    failure: _Failure | None
    """Makes the exception to raise; None ends the process."""


_armed: dict[str, _Armed] = {}
_lock = threading.Lock()


def failpoint(name: str) -> None:
    """Fail here if this point is armed and its turn has come."""
    if _armed:
        _hit(name)


def arm(name: str, *, hit: int = 1, failure: _Failure = Crash) -> None:
    """Let the `hit`-th pass raise what `failure` makes; the point is disarmed by that."""
    _put(name, _Armed(hit, failure))


def disarm(name: str | None = None) -> None:
    """Disarm one point, or all."""
    with _lock:
        if name is None:
            _armed.clear()
        else:
            _armed.pop(name, None)


@contextmanager
def armed(name: str, *, hit: int = 1, failure: _Failure = Crash) -> Iterator[None]:
    """`arm` for the length of a block."""
    arm(name, hit=hit, failure=failure)
    try:
        yield
    finally:
        disarm(name)


def arm_to_exit(text: str) -> None:
    """Arm points to end the process, from "name[:n]" parted by commas. Raises ValueError."""
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, count = part.partition(":")
        _put(name, _Armed(int(count or 1), None))


def _put(name: str, armed: _Armed) -> None:
    if name not in NAMES:
        raise ValueError(f"no failpoint is called {name!r}; there are {', '.join(NAMES)}")
    if armed.left < 1:
        raise ValueError(f"the first hit of a failpoint is number 1, not {armed.left}")
    with _lock:
        _armed[name] = armed


def _hit(name: str) -> None:
    with _lock:
        armed = _armed.get(name)
        if armed is None:
            return
        if armed.left > 1:
            _armed[name] = armed._replace(left=armed.left - 1)
            return
        del _armed[name]
    if armed.failure is None:
        os._exit(KILLED)
    raise armed.failure()


# A killed process cannot be handed a setting, so this one variable is read where it is used.
arm_to_exit(os.environ.get(VARIABLE, ""))
