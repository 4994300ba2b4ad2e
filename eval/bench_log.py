"""Speed of the log, as ratios to bare LMDB in the same run: `python -m eval.bench_log`.

Grouped: 256 events of about 400 bytes a commit, from one `append` or from 256 (as a store's writer
makes them). One client: a commit for each event. Bare LMDB puts the bytes that the log wrote, in
the same groups, by a plain loop into an environment of the same durability:

    same rows   the same rows in the same tables: what the marks are measured by
    one table   all keys and values of an event joined into one row of one table, in append mode

Commits of all contenders alternate and the middle one of each counts. Time spent waiting for a
processor that another process holds is taken off (the machines are shared, and it would weigh on
those who compute); waiting for the disk is not.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import lmdb

from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.clock import SystemClock
from rewound.eventlog.events import MessageRecorded, Role
from rewound.eventlog.ids import ContainerId, ConversationId, MessageId, UuidV7Source
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.lmdb_writer import GATHERED
from rewound.eventlog.log import Draft
from rewound.eventlog.tables import BODIES, EVENTS, pack8

GROUP = 256
TEXT_BYTES = 200
MAP_BYTES = 1 << 30
MARK_GROUPED, MARK_SINGLE = 0.5, 0.8

Group = list[tuple[str, bytes, bytes]]
"""Rows of one commit: table, key, value."""


class Watch:
    """Takes the time of a block, less what its thread waited for a processor."""

    seconds = 0.0

    def __enter__(self) -> "Watch":
        self._waited = _waited_s()
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        ended = time.perf_counter()
        self.seconds = ended - self._begun - (_waited_s() - self._waited)


def _waited_s() -> float:
    """How long this thread was ready to run and did not (Linux; elsewhere it is not known)."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except FileNotFoundError:
        return 0.0


class Load:
    """Messages of one conversation."""

    def __init__(self) -> None:
        self.ids = UuidV7Source(SystemClock())
        self.container = ContainerId(self.ids.new())
        self._conversation = ConversationId(self.ids.new())
        self._count = 0

    def drafts(self, count: int) -> list[Draft]:
        made: list[Draft] = []
        for _ in range(count):
            bodies = BodyWriter(self.ids)
            event = MessageRecorded(
                MessageId(self.ids.new()),
                self._conversation,
                self._count,
                Role.USER,
                bodies.piece(os.urandom(TEXT_BYTES // 2).hex()),
            )
            made.append(Draft(event, bodies.sealed))
            self._count += 1
        return made


class Ours:
    """The log under test; `appends` is how many calls a group takes."""

    def __init__(self, folder: Path, load: Load) -> None:
        self._log = LmdbLog(folder, SystemClock(), load.ids, map_bytes=MAP_BYTES)
        self.load = load

    def run(self, drafts: list[Draft], appends: int) -> float:
        """Seconds that one commit took."""
        step = len(drafts) // appends
        with Watch() as watch, self._log.writing() as writer:
            for first in range(0, len(drafts), step):
                writer.append(self.load.container, drafts[first : first + step])
        return watch.seconds

    def rows(self, drafts: list[Draft]) -> Group:
        """What the log writes for a group."""
        with self._log.writing() as writer:
            writer.append(self.load.container, drafts)
            writer.flush()
            return [
                (table, key, value)
                for table, rows in writer.changes
                for key, value in rows
                if value is not None and table in GATHERED
            ]


class Bare:
    """A bare environment with the log's flags."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._env = lmdb.open(str(folder), map_size=MAP_BYTES, max_dbs=8, lib_version=0)
        self._tables = {name: self._env.open_db(name.encode()) for name in GATHERED}
        self._sequence = 0

    def same_rows(self, rows: Group) -> float:
        tables, appended = self._tables, (EVENTS, BODIES)
        with Watch() as watch, self._env.begin(write=True) as txn:
            for table, key, value in rows:
                txn.put(key, value, db=tables[table], append=table in appended)
        return watch.seconds

    def one_table(self, values: list[bytes]) -> float:
        table = self._tables[EVENTS]
        with Watch() as watch, self._env.begin(write=True) as txn:
            for value in values:
                self._sequence += 1
                txn.put(pack8(self._sequence), value, db=table, append=True)
        return watch.seconds


def one_row_each(model: Ours, events: int) -> list[bytes]:
    """All keys and values of a group, as one value for each event."""
    joined = b"".join(key + value for _, key, value in model.rows(model.load.drafts(events)))
    size = len(joined) // events
    return [joined[at * size : (at + 1) * size] for at in range(events)]


class Contender(NamedTuple):
    """Something that takes rounds; `run` gives the seconds of one."""

    name: str
    run: Callable[[], float]
    mark: float | None = None


def compare(ours: list[Contender], bare: list[Contender], rounds: int, events: int) -> bool:
    """Print each of ours against each of bare; whether the marks are met, against the first."""
    taken: dict[str, list[float]] = {each.name: [] for each in (*bare, *ours)}
    for _ in range(rounds):
        for each in (*bare, *ours):
            taken[each.name].append(each.run())
    typical = {name: statistics.median(s) / events * 1e6 for name, s in taken.items()}
    for name, micros in typical.items():
        print(f"  {name:26} {micros:8.2f} µs an event {1e6 / micros:>12,.0f} events/s")
    met = True
    for mine in ours:
        for other in bare:
            ratio = typical[other.name] / typical[mine.name]
            marked = mine.mark is not None and other is bare[0]
            good = not marked or ratio >= (mine.mark or 0)
            told = f"   mark {mine.mark}: {_told(good)}" if marked else ""
            print(f"  {mine.name} / {other.name}: {ratio:.2f}{told}")
            met = met and good
    return met


def _told(good: bool) -> str:
    return "met" if good else "MISSED"


def bench(folder: Path, rounds: int, size: int, mark: float) -> bool:
    """Rounds of one commit of `size` events each; whether the marks are met."""
    load = Load()
    model = Ours(folder / "model", load)
    one, same = Bare(folder / "one"), Bare(folder / "same")
    print(f"{size} events a commit, {len(one_row_each(model, size)[0])} bytes of rows an event")
    # What is to be written is made just before, for all alike: it is warm in the caches.
    bare = [
        Contender("bare, same rows", lambda: same.same_rows(model.rows(load.drafts(size)))),
        Contender("bare, one table", lambda: one.one_table(one_row_each(model, size))),
    ]
    ours = [
        Contender(
            f"log, {appends} append{'s' * (appends > 1)} a commit",
            partial(_round, Ours(folder / f"ours-{appends}", load), size, appends),
            mark if appends == 1 else None,
        )
        for appends in sorted({1, size})
    ]
    return compare(ours, bare, rounds, size)


def _round(log: Ours, size: int, appends: int) -> float:
    return log.run(log.load.drafts(size), appends)


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed of the log against bare LMDB")
    parser.add_argument("--rounds", type=int, default=150, help="of groups; single ones: ten times")
    parser.add_argument("--folder", help="where to write (a disk, not memory)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as made:
        grouped = bench(Path(made) / "grouped", args.rounds, GROUP, MARK_GROUPED)
        single = bench(Path(made) / "single", args.rounds * 10, 1, MARK_SINGLE)
    return 0 if grouped and single else 1


if __name__ == "__main__":
    raise SystemExit(main())
