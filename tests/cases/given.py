"""What the cases stand on: a clock, a store's files, the command line, calls side by side."""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from click.testing import CliRunner, Result

from rewound.eventlog.instants import parse_instant
from rewound.http.cli import main
from rewound.memory import Memory
from rewound.memory.replies import EventView, Found, View, Written
from rewound.memory.requests import What
from tests import loaded

T = TypeVar("T")

EVERYTHING: tuple[What, ...] = ("fact", "document", "message", "passage")


class Clock:
    """Stands at a day, and moves by a microsecond each time it is asked."""

    def __init__(self, at: str = "2026-06-01T12:00:00Z") -> None:
        self.set(at)

    def set(self, at: str) -> None:
        self.at = parse_instant(at).at

    def now_us(self) -> int:
        self.at += 1
        return self.at


def id_of(written: Written, number: int = 0) -> str:
    """The id of a written item."""
    item = written.items[number].id
    assert item is not None, written.items[number]
    return item


def event_of(written: Written, number: int = 0) -> str:
    """The event that a written item can be taken back by."""
    event = written.items[number].event
    assert event is not None, written.items[number]
    return event


def texts(found: Found) -> list[str]:
    return [hit.text for hit in found.hits]


def pages(memory: Memory, what: What = "fact", limit: int = 200, **which: Any) -> Iterator[View]:
    """All items of a list, page after page."""
    cursor: str | None = None
    while True:
        page = memory.list(what, limit=limit, cursor=cursor, **which)
        yield from page.items
        assert page.has_more == (page.cursor is not None)
        if page.cursor is None:
            return
        cursor = page.cursor


def events(memory: Memory, **which: Any) -> list[EventView]:
    """All events of a container."""
    found: list[EventView] = []
    after = 0
    while True:
        told = memory.events(after=after, limit=1000, **which)
        found += told.events
        if told.next is None:
            return found
        after = told.next


def gapless(memory: Memory) -> bool:
    positions = [event.position for event in events(memory)]
    return positions == list(range(1, len(positions) + 1))


def at_once(calls: Iterable[Callable[[], T]]) -> list[T]:
    """The results of calls that all begin at the same moment, in threads of their own."""
    given = list(calls)
    start = threading.Barrier(len(given))

    def run(call: Callable[[], T]) -> T:
        start.wait(30)
        return call()

    with ThreadPoolExecutor(len(given)) as threads:
        return list(threads.map(run, given))


def holding(folder: Path, *needles: bytes) -> list[str]:
    """Files below a folder whose name or raw bytes hold any of these."""
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if any(needle in bytes(path) for needle in needles)
        or (path.is_file() and any(needle in path.read_bytes() for needle in needles))
    ]


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Every path below a folder with its size and time of change."""
    return {
        str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


class Cli:
    """The command line on one store, in this process or in one of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def run(self, *args: str, code: int = 0, **more: Any) -> Result:
        """One command; a failure is a line for a person, never a stack trace."""
        result = CliRunner().invoke(main, ["--data", str(self.data), *args], **more)
        assert result.exit_code == code, f"{args}: {result.output[:2000]}"
        said = result.stdout + result.stderr
        assert "Traceback" not in said and "internal error" not in said, said[:2000]
        return result

    def told(self, *args: str, code: int = 0, **more: Any) -> Any:
        return json.loads(self.run("--json", *args, code=code, **more).stdout)

    def process(self, *args: bytes | str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        """The same in a process, for bytes that are no text: its exit code and what it said."""
        command: list[bytes | str] = [sys.executable, "-m", "rewound.http"]
        command += ["--data", str(self.data), *args]
        done = loaded.run(command, told=stdin, timeout=60)
        assert b"Traceback" not in done.stderr and b"internal error" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr
