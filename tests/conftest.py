"""What all tests share: the versions in the header and how hard Hypothesis tries.

REWOUND_SOAK chooses: unset for the quick profile, `short` for minutes, `long` for an hour.
"""

import os

# Tests that want facts or vectors say so: in all others nothing happens by itself. Set before
# anything is imported, so that the processes of tests have it too.
os.environ.setdefault("REWOUND_EMBEDDER", "none")
os.environ.setdefault("REWOUND_EXTRACTOR", "none")
os.environ.setdefault("REWOUND_JUDGE", "none")

import lmdb
import msgspec
import numpy as np
from hypothesis import settings

SOAK = os.environ.get("REWOUND_SOAK", "")
PROFILES = {"": "fast", "short": "soak-short", "long": "soak"}

# No deadline: the machines are shared, and a slow example is no failure.
# The quick profile draws the same examples in every run; looking for new ones is the soak's work.
settings.register_profile("fast", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("soak-short", max_examples=300, deadline=None, print_blob=True)
settings.register_profile("soak", max_examples=5000, deadline=None, print_blob=True)
if SOAK not in PROFILES:
    raise ValueError(f"REWOUND_SOAK is {SOAK!r}; use short or long, or leave it unset")
settings.load_profile(PROFILES[SOAK])


def pytest_report_header() -> str:
    """The libraries whose versions explain a difference between two machines."""
    liblmdb = ".".join(str(part) for part in lmdb.version())
    return (
        f"lmdb {lmdb.__version__} (liblmdb {liblmdb}), msgspec {msgspec.__version__}, "
        f"numpy {np.__version__}, hypothesis profile {PROFILES[SOAK]}"
    )
