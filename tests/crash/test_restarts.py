"""Processes of every kind come and go on one store, and nobody notices but by the clock.

Two library processes, a loop of CLI commands and an owner that stays start, end by SIGTERM, die by
SIGKILL and start again at random: no error is shown, nothing is lost, nothing is doubled.
"""

import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import SOAK
from tests.crash.inspecting import Store
from tests.crash.journal import Answer, Fault, Journal, Told, Try, read
from tests.crash.processes import Place, Process, all_ended, place
from tests.crash.writer import CONTAINER

pytestmark = pytest.mark.soak

SECONDS = 300 if SOAK == "long" else 20
ANSWERS = 10
LATEST_S = 600.0
SEED = 20_260_202
KILLS = (signal.SIGTERM, signal.SIGKILL)


class Cli:
    """`rewound remember` and `rewound search` in turn; a command that was killed is run again."""

    def __init__(self, here: Place, stop: threading.Event) -> None:
        self.here = here
        self.journal = Journal(here.journals / "cli.jsonl")
        self.stop = stop
        self.running: Process | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self.stop.is_set():
            line = Try(number, "remember", number, f"fact wordq{number} of cli", f"cli-{number}")
            self.journal.add(line)
            written = self._until_done(line, "remember", line.text, "--key", line.key)
            if written is not None:
                item = written["items"][0]
                answer = Answer(number, item["id"], item["event"], written["position"])
                self.journal.add(answer)
                found = self._until_done(line, "search", line.text)
                if found is not None and line.text not in [hit["text"] for hit in found["hits"]]:
                    self.journal.add(Fault(number, f"{line.text!r} was not found"))
            number += 1

    def _until_done(self, line: Try, *words: str) -> Any:
        """The reply; None after an error, which goes to the journal."""
        while True:
            self.running = self.here.cli(words[0], "--container", CONTAINER, *words[1:])
            status, output = self.running.end()
            if status == 0:
                return msgspec.json.decode(output)
            if status not in (-signal.SIGKILL, -signal.SIGTERM):
                self.journal.add(Fault(line.number, f"{words[0]}: exit {status}, {output!r}"))
                return None


@pytest.mark.timeout(1800)
def test_processes_that_come_and_go(tmp_path: Path) -> None:
    print(f"seed {SEED}, {SECONDS} seconds")
    dice = random.Random(SEED)
    starts = ends = 0
    with place(tmp_path) as here:
        makers: dict[str, Callable[[], Process]] = {
            "lib-one": lambda: here.writer("lib-one", SEED),
            "lib-two": lambda: here.writer("lib-two", SEED),
            "own": lambda: here.cli("own"),
        }
        alive: dict[str, Process] = {}
        every: list[Process] = []
        cli = Cli(here, threading.Event())
        cli.thread.start()
        until = time.monotonic() + SECONDS
        try:
            while time.monotonic() < until:
                for name, make in makers.items():
                    if name not in alive and dice.random() < 0.7:
                        alive[name] = make()
                        every.append(alive[name])
                        starts += 1
                time.sleep(dice.choice((0.05, 0.5, 2.0)))
                ends += _kill_one(dice, alive, cli)
                _fallen(here, alive)
            _get_on(here, makers, alive, every)
        finally:
            cli.stop.set()
            with all_ended(every):
                cli.thread.join()
                for process in alive.values():
                    process.send(signal.SIGTERM)
                    process.end()
        answers = _check(here)
    print(f"{starts} starts, {ends} kills, {answers} acknowledged commands checked")
    assert answers > ANSWERS


def _get_on(
    here: Place,
    makers: dict[str, Callable[[], Process]],
    alive: dict[str, Process],
    every: list[Process],
) -> None:
    """Let them live until some commands were acknowledged: on a slow machine all only began."""
    until = time.monotonic() + LATEST_S
    while sum(len(Told(read(path)).answers) for path in here.journals.iterdir()) <= ANSWERS:
        assert time.monotonic() < until, f"nobody gets on: {here.printed()}"
        for name, make in makers.items():
            if name not in alive:
                alive[name] = make()
                every.append(alive[name])
        time.sleep(0.1)
        _fallen(here, alive)


def _kill_one(dice: random.Random, alive: dict[str, Process], cli: Cli) -> int:
    how = dice.choice(KILLS)
    name = dice.choice(("lib-one", "lib-two", "own", "cli"))
    if name == "cli":
        if cli.running is not None and cli.running.status() is None:
            cli.running.send(how)
            return 1
        return 0
    process = alive.pop(name, None)
    if process is None:
        return 0
    process.send(how)
    if name != "own" or how is signal.SIGKILL or dice.random() < 0.5:
        status, _ = process.end()
        assert status in (-how, 0), f"{name} ended with {status}"
    else:
        alive[f"{name} that ends"] = process
    return 1


def _fallen(here: Place, alive: dict[str, Process]) -> None:
    """Who ended without being killed was handed away from; that is the owner's right only."""
    for name, process in list(alive.items()):
        status = process.status()
        if status is not None:
            told_to = name.endswith("that ends")
            assert told_to or (name == "own" and status == 0), (
                f"{name} ended by itself with {status}: {here.printed()}"
            )
            process.end()
            del alive[name]


def _check(here: Place) -> int:
    """After all have ended: no error was shown, and the store keeps what it told."""
    printed = {
        name: text for name, text in here.printed().items() if "Traceback" in text or "rror" in text
    }
    assert not printed, printed
    store = Store(here.data)
    try:
        store.whole(anew=True)
        return store.keeps(here.journals)
    finally:
        store.close()
