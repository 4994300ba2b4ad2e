"""Rewriting an environment's file without free pages and stale bytes: copy, clean, catch up, swap.

A deleted row stays in an LMDB file until its page is used again, so this is how erased bytes leave
the disk. Failpoints stand between all steps: wherever it ends, the old file or the new one counts,
and both are whole.
"""

import shutil
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rewound.eventlog.data_file import DataFile
from rewound.eventlog.errors import Damaged
from rewound.eventlog.failpoints import Points, failpoint
from rewound.eventlog.gate import Gate
from rewound.eventlog.generations import DATA, Generations, sync_file
from rewound.eventlog.scrub import scrub

_ROUNDS = 4
"""Times, at most, that a copy is brought up to date while others write, before they are paused."""


class Copy(Protocol):
    """A copy opened as an environment."""

    @property
    def data_file(self) -> Path: ...

    def rows(self) -> dict[str, int]: ...

    def close(self) -> None: ...


C = TypeVar("C", bound=Copy)


class Rewriting(Generic[C]):
    """One rewrite. `open_copy` opens the folder of a copy as an environment."""

    def __init__(
        self,
        gate: Gate,
        files: Generations,
        data: DataFile,
        points: Points,
        open_copy: Callable[[Path], C],
    ) -> None:
        self._gate = gate
        self._files = files
        self._data = data
        self._points = points
        self._open_copy = open_copy

    def run(self, begin: Callable[[], None], catch_up: Callable[[C], bool] | None) -> None:
        """`begin` is called in the writer's turn at the moment of the snapshot.

        `catch_up` brings a copy up to date with what was written since, and says whether that was
        little; it is called several times, the last while writers wait.
        Without `catch_up` the turn is kept until the end, so that there is nothing to catch up
        with. Raises lmdb.Error, OSError, Damaged, StoreBusy.
        """
        self._files.remove_stale()
        with ExitStack() as pause:
            if catch_up is None:
                pause.enter_context(self._gate.turn())
            try:
                copy = self._copy(begin, turn_held=catch_up is None)
                try:
                    failpoint(self._points.before_catch_up)
                    if catch_up is not None:
                        self._follow(copy, catch_up, pause)
                finally:
                    copy.close()
                self._swap(copy.data_file.parent)
            except Exception:
                # A disk that is full stays so while half a copy lies on it.
                shutil.rmtree(self._files.copy_folder, ignore_errors=True)
                raise
            shutil.rmtree(self._files.copy_folder)

    def _copy(self, begin: Callable[[], None], *, turn_held: bool) -> C:
        """A clean copy of this moment, open for writing in a folder of its own."""
        folder = self._files.copy_folder
        shutil.rmtree(folder, ignore_errors=True)
        target = folder / self._data.folder.name
        target.mkdir(mode=0o700, parents=True)
        with ExitStack() as reading:
            with nullcontext() if turn_held else self._gate.turn():
                begin()
                self._gate.enter_read()
                reading.callback(self._gate.leave_read)
                snapshot = self._data.env.begin()
                reading.callback(snapshot.abort)
            failpoint(self._points.before_copy)
            rows = self._data.copy(target, snapshot)
        failpoint(self._points.before_scrub)
        scrub(target / DATA)
        sync_file(target / DATA)
        copy = self._open_copy(folder)
        if copy.rows() != rows:
            copy.close()
            raise Damaged("a compacted copy lacks rows: the file it was made from is damaged")
        return copy

    def _follow(self, copy: C, catch_up: Callable[[C], bool], pause: ExitStack) -> None:
        """Bring the copy up to date, the last bit with the writers paused until the swap."""
        for _ in range(_ROUNDS):
            if catch_up(copy):
                break
        pause.enter_context(self._gate.turn())
        catch_up(copy)

    def _swap(self, folder: Path) -> None:
        """Let the copy in `folder` take over."""
        with self._gate.alone():
            try:
                self._data.replace(folder)
            except Exception:
                if self._data.lost:
                    # The new file stands but could not be opened, or may not be durable: only a
                    # new start can tell, so nobody may write to the old one any more.
                    self._files.close()
                    self._gate.close()
                raise
