"""Owns a store and draws facts with a model until nothing is left; killed by whoever started it.

python -m tests.crash.drawer DATA URL
"""

import sys
from pathlib import Path

from rewound.memory import Memory
from rewound.memory.models import Models


def main() -> None:
    data, url = sys.argv[1:]
    models = Models(
        embedder="none", extractor="model", judge="none", chat_url=url, quiet=0, batch_messages=8
    )
    with Memory(Path(data), models=models) as memory:
        memory.own()
        told = memory.workers("wait", timeout_s=1_000)
        print(told.pending + told.failed + told.parked)


if __name__ == "__main__":
    main()
