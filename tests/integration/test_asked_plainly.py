"""Plain questions of whom what is asked: what holds now of just that one comes first.

Each line of `asked_plainly.jsonl` is what one speaker says, a week apart, a question, and what
stands in the first hit.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rewound.memory import Memory
from rewound.memory.models import Models

RULES = Models(embedder="none", extractor="rules", judge="rules")


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    said: tuple[str, ...]
    ask: str
    first: str


def cases() -> list[Asked]:
    lines = Path(__file__).with_name("asked_plainly.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Asked) for line in lines]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("asked"), models=RULES) as memory:
        yield memory


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_what_holds_of_whom_is_asked_comes_first(store: Memory, case: Asked) -> None:
    memory = store.container(case.id)
    for week, text in enumerate(case.said):
        said = {"role": "user", "name": "Nina", "content": text}
        memory.add_messages([{**said, "time": f"2026-03-{2 + 7 * week:02}T10:00:00Z"}])
        memory.workers("wait")
    texts = [hit.text for hit in memory.search(case.ask, limit=5).hits]
    assert texts and case.first.lower() in texts[0].lower(), texts
