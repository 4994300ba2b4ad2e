"""Law 7 where the map grows: a process that ends just before it loses nothing it acknowledged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rewound.eventlog import failpoints
from rewound.memory import Memory

_WRITER = """
import random, sys
from rewound.memory import Memory

memory, rng = Memory(sys.argv[1]), random.Random(7)
for number in range(200):
    words = " ".join(f"{rng.getrandbits(32):x}" for _ in range(20_000))
    written = memory.ingest(f"Number {number}. {words}", id=str(number), key=str(number))
    print(number, written.position, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", [failpoints.LOG.before_grow, failpoints.VIEWS.before_grow])
def test_ended_before_growing(tmp_path: Path, point: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _WRITER, str(tmp_path / "store")],
        env=os.environ | {failpoints.VARIABLE: point},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert killed.returncode == failpoints.KILLED, killed.stderr
    acknowledged = [line.split() for line in killed.stdout.splitlines()]
    assert acknowledged, "the map grew before anything was written"
    with Memory(tmp_path / "store") as memory:
        for number, position in acknowledged:
            again = memory.ingest("another text", id=number, key=f"other {number}", infer=True)
            assert again.items[0].status == "replaced", number
            assert again.position > int(position)
        total = memory.list(what="document", limit=1).total
        assert total in (len(acknowledged), len(acknowledged) + 1)
        assert memory.rebuild().equal
        assert memory.verify().ok
