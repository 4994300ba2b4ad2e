"""Extractors that do as they are told, and a memory that works with one.

python -m tests.integration.drawing DATA    owns a store, with an extractor that never ends
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rewound.llm.extraction import Drawn, Extractor, Said
from rewound.memory import Memory
from rewound.memory.models import Models

Extract = Callable[[Sequence[Said]], list[list[Drawn]]]


class Told:
    """Each sentence that ends with a full stop is a statement; keeps what it was given to read."""

    name = "told/1"

    def __init__(self, extract: Extract | None = None) -> None:
        self.seen: list[Said] = []
        self.calls = 0
        self._extract = extract or sentences

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        self.calls += 1
        self.seen += pieces
        return self._extract(pieces)


def sentences(pieces: Sequence[Said]) -> list[list[Drawn]]:
    return [list(_sentences(piece.text)) for piece in pieces]


def _sentences(text: str) -> Iterator[Drawn]:
    start = 0
    while (end := text.find(".", start)) >= 0:
        begin = start + len(text[start:]) - len(text[start:].lstrip())
        yield Drawn(text[begin : end + 1], begin, end + 1)
        start = end + 1


class Gate:
    """An extractor that waits in the middle of its work until it is let go on."""

    name = "gate/1"

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        self.begun.set()
        self.go_on.wait()
        return sentences(pieces)


class With(Models, frozen=True, kw_only=True):
    """Models whose extractor is given."""

    given: Any
    embedder: Any = "none"
    judge: Any = "none"

    def make_extractor(self, nodes: Any = None) -> Extractor:
        made: Extractor = self.given
        return made


@contextlib.contextmanager
def working(folder: Path, extractor: Any, **more: Any) -> Iterator[Memory]:
    """A memory that owns its store and draws facts with this extractor."""
    with Memory(folder, models=With(given=extractor), **more) as memory:
        memory.own()
        yield memory


def main() -> None:
    class Never(Told):
        def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
            print(f"reading {len(pieces)}", flush=True)
            threading.Event().wait()
            return []

    with working(Path(sys.argv[1]), Never()) as memory:
        memory.add_messages("Nina lives in Rome.")
        sys.stdin.read()


if __name__ == "__main__":
    main()
