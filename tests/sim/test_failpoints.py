"""Law 7 at every named failpoint: a command cut off there, sent again under its key, is done once.

The store that crashed must end up with the rows of one that did not.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog import failpoints
from rewound.memory import requests
from tests.oracle.compare import same
from tests.property import checks
from tests.property.driver import Driver

NAME = "alpha"
NEVER = {failpoints.LOG.before_grow, failpoints.VIEWS.before_grow}
"""Passed only by a full map: `tests/crash/test_full.py` makes maps grow."""


def begin(driver: Driver) -> list[str]:
    """A store with two facts; their ids."""
    facts = tuple(requests.NewFact(text=f"Ann likes teaq{n}", tags=("tagq1",)) for n in range(2))
    reply = driver.call(requests.Remember(container=NAME, facts=facts, key="begin"))
    return [item.id for item in reply.items]


def commands(ids: list[str]) -> dict[str, requests.Write]:
    message = requests.NewMessage(content="Bob moved to townq4")
    document = requests.NewDocument(text="Ann likes teaq0\n\nBob likes teaq3")
    return {
        "remember in a new container": requests.Remember(
            container="beta", facts=(requests.NewFact(text="Bob likes teaq3"),), key="k"
        ),
        "ingest": requests.Ingest(container=NAME, documents=(document,), key="k"),
        "messages": requests.AddMessages(container=NAME, messages=(message,), infer=False, key="k"),
        "update": requests.Update(container=NAME, id=ids[0], text="Ann likes milkq5", key="k"),
        "forget": requests.Forget(container=NAME, ids=(ids[0],), key="k"),
        "erase": requests.Erase(container=NAME, ids=(ids[0],), key="k"),
    }


COMMANDS = tuple(commands(["", ""]))


@pytest.fixture(autouse=True)
def inert() -> Iterator[None]:
    yield
    failpoints.disarm()


def crashed(folder: Path, point: str, command: str) -> bool:
    """Whether the command passed the point; then it was cut off there, and all is as without."""
    driver = Driver(folder / "store-0", durable=True, guarded=False)
    try:
        request = commands(begin(driver))[command]
        head = 0 if request.container != NAME else driver.head(NAME).position
        failpoints.arm(point)
        try:
            driver.call(request)
        except failpoints.Crash:
            failpoints.disarm()
            driver.crash(folder / "store-1")
        else:
            failpoints.disarm()
            return False
        reply = driver.call(request)
        assert encoded(driver.call(request)) == encoded(reply), "the same key, another answer"
        appended = driver.events(request.container)[head:]
        assert len({r.envelope.group for r in appended}) == 1, "done once"
        assert reply.position == len(appended) + head
        for name in driver.names():
            same(driver.dump(name), driver.oracle(name), f"durability: {name} after {point}")
        checks.chain_law(driver)
        return True
    finally:
        driver.close()


def encoded(reply: Any) -> bytes:
    plain = msgspec.to_builtins(reply)
    plain.pop("compaction", None)  # it may be done by the time of the second answer
    return msgspec.json.encode(plain)


@pytest.mark.parametrize("point", failpoints.NAMES)
def test_a_command_cut_off_is_done_once(point: str, tmp_path: Path) -> None:
    passed = [
        command
        for number, command in enumerate(COMMANDS)
        if crashed(tmp_path / str(number), point, command)
    ]
    assert passed or point in NEVER, f"no command passes {point}"
