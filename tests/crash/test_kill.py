"""Law 7 with real processes: writers killed by SIGKILL under load lose and double nothing."""

import random
import time
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.crash.inspecting import Store
from tests.crash.journal import Told, read
from tests.crash.processes import WAIT_S, Place, Process, all_ended, place

pytestmark = pytest.mark.soak

BEFORE = 10
"""Answers that each writer gets in a round before the killing begins."""
ROUNDS = 50 if SOAK == "long" else 5
SEED = 20_260_101
WRITERS = ("one", "two", "three")


@pytest.mark.timeout(1800)
def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """Each round: three writers, one of them the owner, killed one after another in any order.

    The next round's processes first send again what was left without an answer.
    """
    print(f"seed {SEED}, {ROUNDS} rounds")
    dice = random.Random(SEED)
    answers = 0
    with place(tmp_path) as here:
        for number in range(ROUNDS):
            writers = [here.writer(name, f"{SEED}-{number}") for name in WRITERS]
            with all_ended(writers):
                under_way(here, writers)
                time.sleep(dice.random())
                for writer in dice.sample(writers, len(writers)):
                    assert writer.status() is None, f"a writer ended by itself: {here.printed()}"
                    writer.kill()
                    time.sleep(dice.choice((0, 0, 0.2)))
            store = Store(here.data)
            try:
                store.whole(anew=number == ROUNDS - 1)
                answers = store.keeps(here.journals)
            finally:
                store.close()
            assert not here.printed()
        assert answers >= BEFORE * ROUNDS * len(WRITERS), f"only {answers} commands were answered"
    print(f"{answers} acknowledged commands checked")


def under_way(here: Place, writers: list[Process]) -> None:
    """Wait until every writer has got its answers."""
    journals = [here.journals / f"{name}.jsonl" for name in WRITERS]
    wanted = [len(Told(read(path)).answers) + BEFORE for path in journals]
    until = time.monotonic() + WAIT_S
    while any(
        len(Told(read(path)).answers) < count for path, count in zip(journals, wanted, strict=True)
    ):
        assert all(writer.status() is None for writer in writers), here.printed()
        assert time.monotonic() < until, f"the writers do not get on: {here.printed()}"
        time.sleep(0.05)
