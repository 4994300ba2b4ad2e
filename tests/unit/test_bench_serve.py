"""The benchmarks of the doors run through, on a store so small that their figures mean nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WAIT_S = 110

pytestmark = [pytest.mark.slow, pytest.mark.soak]


ONCE = """
from eval import bench_serve
bench_serve.STARTS = bench_serve.SLICES = 1  # what is repeated is repeated for its figures alone
bench_serve.main()
"""


def printed(*words: str) -> str:
    """What a program in Python says that has these words, with no complaint."""
    words = (sys.executable, *words)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_door_is_measured_against_its_baseline() -> None:
    small = ("--facts", "200", "--large", "0", "--clients", "1,2", "--seconds", "0.2")
    told = printed("-c", ONCE, *small)
    for door in ("library", "socket", "REST"):
        for what in ("search", "write"):
            for count in ("1 client ", "2 clients"):
                assert re.search(rf"^{door} {what} +{count} .* /s .* x\d", told, re.M), told
    assert re.search(r"^2 workers +1 client .* rate x\d", told, re.M), told
    for line in ("REST as_of", "start", "rewound mcp", "memory"):
        assert re.search(rf"^{line} .*\d", told, re.M), told
    assert "nan" not in told


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cProfile takes one thread alone there")
@pytest.mark.parametrize("what", ["search", "write"])
def test_a_profile_tells_the_time_of_our_folders(what: str) -> None:
    told = printed("-m", "eval.profile", "--what", what, "--facts", "200", "--calls", "20")
    assert f"{what} over REST, 200 facts, 20 calls" in told
    for group in ("http", "memory", "projections", "eventlog", "lmdb", "msgspec"):
        assert re.search(rf"^{group} .*\d\.\d", told, re.M), told
