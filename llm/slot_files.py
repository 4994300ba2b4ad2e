"""The slots of servers, shared among all processes of one user on one machine: locks on files.

Each process dispatches its own calls. A call holds the lock on one of the files of its server, of
which there are as many as the server has slots; so all processes together begin no more than it
works on at once. A call of a person that waits holds a shared lock on a further file, by which the
others see that nothing of the background is to begin there. The kernel takes the locks of a process
back when it dies. Where files cannot be locked each process counts for itself, and the log says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

_log = logging.getLogger(__name__)


class SlotFiles:
    """The locks in one folder, which is made when the first is taken (`SharedSlots`). To be used
    under one lock, as a scheduler is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wanted: dict[str, int] = {}
        self._told = False

    def take(self, url: str, slots: int) -> Callable[[], None] | None:
        try:
            for number in range(slots):
                fd = self._locked(f"{_name(url)}.{number}")
                if fd is not None:
                    return partial(_release, fd)
        except OSError as error:
            self._tell(error)
            return _nothing
        return None

    def want(self, urls: Collection[str]) -> None:
        for url in [each for each in self._wanted if each not in urls]:
            _release(self._wanted.pop(url))
        for url in urls:
            if url not in self._wanted:
                try:
                    self._wanted[url] = self._shared(f"{_name(url)}.wanted")
                except OSError as error:
                    self._tell(error)
                    return

    def is_wanted(self, url: str) -> bool:
        try:
            fd = self._locked(f"{_name(url)}.wanted")
        except OSError as error:
            self._tell(error)
            return False
        if fd is None:
            return True
        _release(fd)
        return False

    def close(self) -> None:
        self.want(())

    def _tell(self, error: OSError) -> None:
        if not self._told:
            _log.warning("slots are not shared with other processes: %s", error.strerror)
        self._told = True

    def _opened(self, name: str) -> int:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _shared(self, name: str) -> int:
        """The file, locked beside others who lock it so. Whoever looks whether it is has it for
        himself no longer than that takes."""
        fd = self._opened(name)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
        except OSError:
            os.close(fd)
            raise
        return fd

    def _locked(self, name: str) -> int | None:
        """The file, locked for us alone; None while others have it locked."""
        fd = self._opened(name)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError:
            os.close(fd)
            raise
        return fd


def _nothing() -> None:
    """There is nothing to give back."""


def _name(url: str) -> str:
    return hashlib.sha256(url.rstrip("/").removesuffix("/v1").encode()).hexdigest()[:20]


def _release(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_UN)  # a forked child may have it open too
    os.close(fd)
