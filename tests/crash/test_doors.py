"""All doors at once on one store whose processes come and go: nobody notices but by the clock.

Two MCP servers, a loop of commands and `rewound serve` with two users start, end and are killed at
random while workers draw facts and make vectors: no error is shown, nothing is lost, nothing is
doubled.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import SOAK
from tests.crash.afterwards import all_is_kept, start_once_more
from tests.crash.doors import CliUser, User
from tests.crash.ledger import Ledger
from tests.crash.processes import WAIT_S, Place, place
from tests.crash.rest import RestUser, Server
from tests.crash.tools import McpUser

pytestmark = pytest.mark.soak

SECONDS = 300 if SOAK == "long" else 25
SEED = 20_260_303
LOOK_S = 0.02
DOORS = ("mcp-one", "mcp-two", "cli", "rest-one", "rest-two")
LATEST_S = 600.0
"""So much longer it may take until everybody has got on: on a slow machine all only begin."""
QUIET_S = 60.0
"""A process that has not answered so often by then is killed all the same."""


class Plan(NamedTuple):
    """When a process is to be killed, and how: so long after so many answers."""

    answers: int
    delay_s: float
    how: str
    overlapping: bool


class Hand:
    """Kills each kind of process by a plan of its own, so that two may die at the same moment."""

    def __init__(self, ledger: Ledger, victims: dict[str, Callable[[Plan], bool]]) -> None:
        self._ledger = ledger
        self._victims = victims
        self._dice = random.Random(SEED)
        self._plans = {name: self._plan(name) for name in victims}
        self._since = {name: (time.monotonic(), 0) for name in victims}
        self._ready: dict[str, float] = {}

    def look(self) -> None:
        """Kill whoever is due."""
        now = time.monotonic()
        for name, kill in self._victims.items():
            plan, (begun, before) = self._plans[name], self._since[name]
            answers = self._ledger.counted(f"{name} answers")
            if answers - before >= plan.answers or now - begun > QUIET_S:
                due = self._ready.setdefault(name, now + plan.delay_s)
                if now >= due and kill(plan):
                    self._ledger.count(f"{name} ended by {plan.how}")
                    self._plans[name] = self._plan(name)
                    self._since[name] = (time.monotonic(), self._ledger.counted(f"{name} answers"))
                    del self._ready[name]

    def _plan(self, name: str) -> Plan:
        hows = ["SIGKILL", "SIGTERM"] + (["eof"] if name.startswith("mcp") else [])
        at_once = self._dice.random() < 0.15
        answers = 0 if at_once else self._dice.choice((1, 1, 3, 10, 30))
        if name == "serve":
            answers = min(answers, 1)  # its one line; what its users are told is not its own
        elif name == "cli":
            answers = min(answers, 3)
        delay_s = self._dice.uniform(0, 3 if name == "serve" else 1)
        return Plan(answers, delay_s, self._dice.choice(hows), self._dice.random() < 0.5)


@pytest.mark.timeout(1800)
def test_all_doors_come_and_go(tmp_path: Path) -> None:
    print(f"seed {SEED}, {SECONDS} seconds")
    ledger = Ledger()
    begun = time.monotonic()
    with place(tmp_path) as here:
        here.environment |= {"REWOUND_EXTRACTOR": "rules", "REWOUND_EMBEDDER": "hashing"}
        here.environment["REWOUND_CONFIG"] = str(tmp_path / "none.toml")
        (tmp_path / "none.toml").touch()
        _use(here, ledger)
        used_s = time.monotonic() - begun
        printed = _printed(here)
        _figures(ledger, used_s, printed)
        assert not ledger.faults, f"{len(ledger.faults)} errors shown: {ledger.faults[:10]}"
        errors = [line for line in printed if "rror" in line or "Traceback" in line]
        assert not errors, errors[:10]
        start_once_more(here)
        print(all_is_kept(here, ledger))
        assert not (left := [line for line in _printed(here) if line not in printed]), left
    for door in DOORS:
        assert ledger.counted(f"{door} writes") >= 1, f"nobody got on at {door}"
    print(f"checked {time.monotonic() - begun:.0f} s after the begin")


def _use(here: Place, ledger: Ledger) -> None:
    """Everybody at once, until the time is over; then each in good order."""
    server = Server("serve", here, ledger, sys.executable)
    mcp = [McpUser(f"mcp-{n}", here, ledger, SEED, sys.executable) for n in ("one", "two")]
    cli = CliUser("cli", here, ledger, SEED)
    rest = [RestUser(f"rest-{n}", here, ledger, SEED, server) for n in ("one", "two")]
    users: list[User] = [*mcp, cli, *rest]
    hand = Hand(
        ledger,
        {
            "mcp-one": lambda plan: mcp[0].restart(plan.how),
            "mcp-two": lambda plan: mcp[1].restart(plan.how),
            "cli": lambda plan: cli.restart(plan.how),
            "serve": lambda plan: server.restart(plan.how, overlapping=plan.overlapping),
        },
    )
    server.start()
    for user in users:
        user.thread.start()
    try:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            hand.look()
            server.look()
            time.sleep(LOOK_S)
        until += LATEST_S  # nobody is killed any more
        while time.monotonic() < until and not _all_got_on(ledger):
            server.look()
            time.sleep(LOOK_S)
    finally:
        for user in users:
            user.stopping.set()
        until = time.monotonic() + 2 * WAIT_S
        while any(user.thread.is_alive() for user in users) and time.monotonic() < until:
            server.look()
            time.sleep(LOOK_S)
        for user in users:
            if user.thread.is_alive():
                ledger.fault(f"{user.name} hangs")
                user.kill()
        server.finish()


def _all_got_on(ledger: Ledger) -> bool:
    return all(ledger.counted(f"{door} writes") for door in DOORS)


def _printed(here: Place) -> list[str]:
    """What all processes wrote to their standard error, but for what they say of a good day."""
    lines = (
        f"{name}: {line}" for name, text in here.printed().items() for line in text.split("\n")
    )
    return [line for line in lines if line.split(": ", 1)[1] and ": INFO " not in line]


def _figures(ledger: Ledger, used_s: float, printed: list[str]) -> None:
    print(f"used for {used_s:.0f} s")
    for what, count in sorted(ledger.counts.items()):
        print(f"{count:7,} {what}")
    for what, seconds in sorted(ledger.longest_s.items()):
        print(f"{seconds:7.1f} s at most: {what}")
    for fault in ledger.faults:
        print(f"fault: {fault}")
    for line, count in Counter(printed).most_common(50):
        print(f"printed {count} times: {line}")
