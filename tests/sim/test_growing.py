"""Law 7 where the map grows: a process that ends just before it loses nothing it acknowledged."""

import os
import sys
from pathlib import Path

import pytest

from rewound.eventlog import failpoints
from rewound.memory import Memory
from tests import loaded

_WRITER = """
import random, sys
from functools import partial
from rewound.memory import Memory, store

for kind in ("LmdbLog", "Views"):  # a small map is soon full
    setattr(store, kind, partial(getattr(store, kind), map_bytes=4 << 20))
memory, rng = Memory(sys.argv[1]), random.Random(7)
count, times = int(sys.argv[2]), int(sys.argv[3])
for number in range(200):
    words = " ".join(f"{rng.getrandbits(32):x}" * times for _ in range(count))
    written = memory.ingest(f"Number {number}. {words}", id=str(number), key=str(number))
    print(number, written.position, flush=True)
"""


_MANY_SHORT, _FEW_LONG = ("20000", "1"), ("20", "1000")
"""Words of a document, and how often a word repeats itself: many words fill the views first, long
ones the log, of which the views keep only the beginning."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "words"),
    [
        pytest.param(failpoints.LOG.before_grow, _FEW_LONG, id=failpoints.LOG.before_grow),
        pytest.param(failpoints.VIEWS.before_grow, _MANY_SHORT, id=failpoints.VIEWS.before_grow),
    ],
)
def test_ended_before_growing(tmp_path: Path, point: str, words: tuple[str, str]) -> None:
    killed = loaded.run(
        [sys.executable, "-c", _WRITER, str(tmp_path / "store"), *words],
        env=os.environ | {failpoints.VARIABLE: point},
        text=True,
        timeout=280,
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
