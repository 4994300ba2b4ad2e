"""What no longer holds stands below what does, where both are found."""

from pathlib import Path

import pytest

from rewound.memory import Memory
from rewound.memory.models import Models


@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_a_message_whose_fact_was_replaced_stands_below_the_new_one(
    tmp_path: Path, embedder: str
) -> None:
    models = Models(embedder=embedder, extractor="rules", judge="none")  # type: ignore[arg-type]
    with Memory(tmp_path / "store", models=models) as memory:
        memory.add_messages(
            [{"role": "user", "name": "Tom", "content": "I live in Rome."}], conversation="home"
        )
        memory.workers("wait", timeout_s=240)
        (fact,) = memory.list().items
        edited = memory.update(fact.id, "Tom lives in Oslo.")
        memory.workers("wait", timeout_s=240)
        hits = memory.search("where does Tom live", explain=True).hits
        assert [hit.standing.state for hit in hits] == ["current", "superseded"]
        assert hits[0].id == edited.items[0].id
        told = hits[1].explanation
        assert told is not None
        (outdated,) = [f for f in told.features if f.name == "all its facts are outdated"]
        assert outdated.value == 1.0 and outdated.adds < 0
        event = edited.items[0].event
        assert event is not None
        memory.undo(event)  # what holds again is found as it was
        memory.workers("wait", timeout_s=240)
        hits = memory.search("where does Tom live").hits
        assert [hit.standing.state for hit in hits] == ["current"]
