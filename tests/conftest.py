"""What all tests share: where their files lie, the versions in the header and how hard Hypothesis
tries.

REWOUND_SOAK chooses: unset for the quick profile, `short` for minutes, `long` for an hour.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator

# Tests that want facts or vectors say so: in all others nothing happens by itself. Set before
# anything is imported, so that the processes of tests have it too.
os.environ.setdefault("REWOUND_EMBEDDER", "none")
os.environ.setdefault("REWOUND_EXTRACTOR", "none")
os.environ.setdefault("REWOUND_JUDGE", "none")
# The suite has a process for each core already: more threads of BLAS, which spin while they wait,
# would only take turns with them. To be set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Tests start hundreds of processes: a module is compiled once for all, and for pytest, whose
# rewriting of asserts is slow, even where whoever runs them keeps no bytecode otherwise.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import lmdb
import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.scratch import IN_MEMORY

sys.dont_write_bytecode = False

SOAK = os.environ.get("REWOUND_SOAK", "")
PROFILES = {"": "fast", "short": "soak-short", "long": "soak"}

# The suite makes thousands of stores, and waits for each commit of each of them. What it says of
# them holds on any file system; tests/crash has a disk.
if IN_MEMORY is not None and not SOAK:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

# No deadline: the machines are shared, and an example that is slow, or slow to draw, is no failure.
# The quick profile and the short soak draw the same examples in every run, so that what passed
# passes again; looking for new ones is the long soak's work.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", UNHURRIED, max_examples=50, derandomize=True)
settings.register_profile("soak-short", UNHURRIED, max_examples=300, derandomize=True)
settings.register_profile("soak", UNHURRIED, max_examples=5000, print_blob=True)
if SOAK not in PROFILES:
    raise ValueError(f"REWOUND_SOAK is {SOAK!r}; use short or long, or leave it unset")
settings.load_profile(PROFILES[SOAK])


def pytest_collection_finish() -> None:
    """Ten thousand tests live to the end: the collector of garbage need not look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def heeding_interrupts() -> Iterator[None]:
    """Processes started meanwhile heed SIGINT, although a run in the background ignores it.

    A shell starts what goes on in the background with SIGINT ignored, and children inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def pytest_report_header() -> str:
    """The libraries whose versions explain a difference between two machines."""
    liblmdb = ".".join(str(part) for part in lmdb.version())
    return (
        f"lmdb {lmdb.__version__} (liblmdb {liblmdb}), msgspec {msgspec.__version__}, "
        f"numpy {np.__version__}, hypothesis profile {PROFILES[SOAK]}"
    )
