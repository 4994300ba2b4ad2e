"""What is denied of one value tells nothing of another: the job at Orbit Labs may be over, and the
one at Harbor Foods goes on."""

from collections.abc import Iterator

import pytest

from rewound.memory import Memory
from rewound.memory.models import Models

RULES = Models(embedder="none", extractor="rules", judge="rules")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("denied"), models=RULES) as memory:
        yield memory


@pytest.fixture
def memory(store: Memory, request: pytest.FixtureRequest) -> Memory:
    return store.container(request.node.name[:60])


def told(memory: Memory, *texts: str) -> dict[str, str]:
    """What stands of each statement once all were said, one a month."""
    ids = {}
    for month, text in enumerate(texts, 1):
        ids[text] = str(memory.remember(text, said_at=f"2026-{month:02}-01").items[0].id)
        memory.workers("wait")
    standing = {text: memory.get(each).item.standing for text, each in ids.items()}
    return {text: each.state for text, each in standing.items() if each is not None}


CHAINS = {
    "a job": ("Nina works at Orbit Labs.", "Nina works at Harbor Foods now.",
              "Nina no longer works at Orbit Labs."),
    "a home": ("Tomas lives in Porto.", "Tomas lives in Lisbon.",
               "Tomas no longer lives in Porto."),
    "a car": ("Paul drives a Volvo.", "Paul drives a Fiat.", "Paul doesn't drive a Volvo anymore."),
    "a job that was quit": ("Nina works at Orbit Labs.", "Nina works at Harbor Foods now.",
                            "Nina quit her job at Orbit Labs."),
}  # fmt: skip


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_a_late_denial_of_the_old_value_leaves_the_new_one(
    memory: Memory, chain: tuple[str, str, str]
) -> None:
    first, second, denial = chain
    assert told(memory, first, second, denial) == {
        first: "superseded", second: "current", denial: "current",
    }  # fmt: skip
    assert memory.reviews().total == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Nina works at Harbor Foods.", "Nina no longer works at Orbit Labs."),
        ("Nina no longer works at Orbit Labs.", "Nina works at Harbor Foods."),
        ("Nina works at Harbor Foods.", "Nina does not work at Orbit Labs."),
        ("Tomas lives in Lisbon.", "Tomas doesn't live in Porto anymore."),
        ("Nina works at Harbor Foods.", "Nina quit her job at Orbit Labs."),
    ],
)
def test_a_denial_of_another_value_ends_nothing(memory: Memory, old: str, new: str) -> None:
    assert told(memory, old, new) == {old: "current", new: "current"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Nina works at Orbit Labs.", "Nina no longer works at Orbit Labs."),
        ("Nina works at Orbit Labs.", "Nina quit her job at Orbit Labs."),
        ("Nina works at Orbit Labs.", "Nina now works at Harbor Foods, no longer at Orbit Labs."),
        ("Tomas lives in Porto.", "Tomas doesn't live in Porto anymore."),
        ("Nina works at Orbit Labs.", "Nina no longer works."),
        ("Nina no longer works at Orbit Labs.", "Nina works at Orbit Labs again."),
    ],
)
def test_a_denial_of_the_value_itself_ends_it(memory: Memory, old: str, new: str) -> None:
    assert told(memory, old, new) == {old: "superseded", new: "current"}
