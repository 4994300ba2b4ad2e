"""Law 7 under load: crashes at every named point, and what was acknowledged is there once."""

from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.sim.simulator import Simulator


def run(folder: Path, seed: int, commands: int, crash_every: int) -> None:
    simulator = Simulator(folder, seed, crash_every=crash_every)
    try:
        simulator.run(commands)
    except BaseException as error:
        error.add_note(f"seed {seed}, command {simulator.commands} of {commands}")
        raise
    finally:
        simulator.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_short_run_with_crashes(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 120, crash_every=6)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [11, 12, 13] if SOAK == "long" else [11])
def test_a_long_run_with_crashes(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 10_000 if SOAK == "long" else 500, crash_every=15)
