"""Fills a store until it is full, in a process of its own: `python -m tests.crash.filler HOW DATA`.

A full disk may end a process by SIGBUS, so the test does not do this in its own. What was found out
goes to standard output as JSON; `kill` in the end means that the process kills itself.
"""

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rewound.eventlog import lmdb_log
from rewound.eventlog.environment import Environment
from rewound.eventlog.errors import RewoundError, StoreBusy, StoreFull
from rewound.memory import replies, store
from rewound.memory.library import Memory
from rewound.projections.views import Views

CONTAINER = "alpha"
TEXT_BYTES = 8_000
MIB = 1 << 20
BALLAST = "ballast"
THREADS = 8


class Findings(msgspec.Struct):
    """What the test reads. `kept` maps the id of an acknowledged fact to its text."""

    kept: dict[str, str] = {}
    refused: int = 0
    codes: list[str] = []
    forgotten: str = ""
    undone: str = ""
    erased: str = ""
    erased_word: str = ""
    compaction: str = ""
    after: int = 0
    """Facts written once there was room again."""


def text_of(name: str, number: int) -> str:
    head = f"wordq{number} of {name} "
    return head + (f"fill{number} " * TEXT_BYTES)[: TEXT_BYTES - len(head)].strip()


def fill(memory: Memory, name: str, findings: Findings, most: int) -> bool:
    """Remember long texts until one is refused for want of room; False when none was."""
    for number in range(most):
        text = text_of(name, number)
        try:
            written = memory.remember(text, key=f"{name}-{number}")
        except (StoreFull, StoreBusy) as error:
            findings.refused += 1
            findings.codes.append(error.code)
            return True
        item = written.items[0]
        assert item.id is not None
        findings.kept[item.id] = text
    return False


def take_back(memory: Memory, findings: Findings) -> None:
    """In a full store: reads answer, and forget, undo and erase work."""
    ids = list(findings.kept)
    assert memory.search("wordq1").hits, "search finds nothing in a full store"
    assert memory.get(ids[0]).item.text == findings.kept[ids[0]]
    memory.forget(ids[0])
    findings.forgotten = ids[0]
    event = memory.get(ids[1]).item.event
    assert event is not None
    memory.undo(event)
    findings.undone = ids[1]
    erased = memory.erase(ids[2])
    findings.erased, findings.compaction = ids[2], erased.compaction
    findings.erased_word = findings.kept[ids[2]].split()[0]
    for gone in ids[:3]:
        del findings.kept[gone]


def disk(data: Path) -> Findings:
    """The data folder lies on a small disk, with a ballast that can be taken away."""
    findings = Findings()
    memory = Memory(data, CONTAINER)
    assert fill(memory, "first", findings, 5_000), "the disk did not fill up"
    take_back(memory, findings)
    fill(memory, "second", findings, 5_000)
    (data.parent / BALLAST).unlink()
    before = len(findings.kept)
    assert not fill(memory, "third", findings, 20), f"no room after making room: {findings.codes}"
    findings.after = len(findings.kept) - before
    return findings


def small_maps(most: int | None = None) -> None:
    """From here on maps begin with 1 MiB, and grow to `most` bytes at most."""
    if most is not None:
        limited: Any = functools.partial(Environment, map_bytes_max=most)
        setattr(lmdb_log, "Environment", limited)  # noqa: B010
    for name, kind in (("LmdbLog", lmdb_log.LmdbLog), ("Views", Views)):
        setattr(store, name, functools.partial(kind, map_bytes=MIB))


def growing(data: Path) -> Findings:
    """Eight threads write long texts from a map of 1 MiB on, a ninth reads."""
    small_maps()
    findings = Findings()
    with Memory(data, CONTAINER) as memory:
        memory.remember("wordq0 begins", key="begin")
        stop = threading.Event()
        failed: list[BaseException] = []
        run = functools.partial(_guarded, failed)
        reader = threading.Thread(target=run, args=(lambda: _read(memory, stop),))
        writers = [
            threading.Thread(
                target=run, args=(functools.partial(fill, memory, f"thread{n}", findings, 40),)
            )
            for n in range(THREADS)
        ]
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        reader.join()
        if failed:
            raise failed[0]
    return findings


def _guarded(failed: list[BaseException], run: Callable[[], object]) -> None:
    try:
        run()
    except BaseException as error:
        failed.append(error)


def _read(memory: Memory, stop: threading.Event) -> None:
    while not stop.is_set():
        found = memory.search("wordq0 begins", limit=3)
        assert isinstance(found, replies.Found) and found.hits


def full_map(data: Path) -> Findings:
    """A map that may not grow any further."""
    small_maps(4 * MIB)
    findings = Findings()
    memory = Memory(data, CONTAINER)
    assert fill(memory, "first", findings, 5_000), "the map did not fill up"
    take_back(memory, findings)
    fill(memory, "second", findings, 100)
    return findings


WAYS = {"disk": disk, "growing": growing, "full-map": full_map}


def main() -> None:
    how, data = sys.argv[1], Path(sys.argv[2])
    try:
        findings = WAYS[how](data)
    except RewoundError as error:
        raise SystemExit(f"{error.code}: {error.message}") from error
    sys.stdout.buffer.write(msgspec.json.encode(findings))
    sys.stdout.flush()
    if how != "growing":
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
