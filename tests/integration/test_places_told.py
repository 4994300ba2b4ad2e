"""A place that was named a message ago stands in what is remembered of it, and in the graph."""

from pathlib import Path

from rewound.memory import Memory
from rewound.memory.models import Models

RULES = Models(embedder="none", extractor="rules", judge="rules")


def test_there_is_told_by_its_name(tmp_path: Path) -> None:
    with Memory(tmp_path, models=RULES) as memory:
        said = {"role": "user", "name": "Nina"}
        memory.add_messages(
            [
                {**said, "content": "Tom moved to Lisbon in May.", "time": "2026-06-01T10:00:00Z"},
                {"role": "assistant", "content": "How nice!", "time": "2026-06-01T10:00:10Z"},
                {**said, "content": "His mother lives there.", "time": "2026-06-01T10:00:20Z"},
            ]
        )
        memory.workers("wait")
        hits = [hit.text for hit in memory.search("Lisbon", what="fact").hits]
        assert "Tom's mother lives in Lisbon" in hits
        edges = {(edge.relation, edge.target) for edge in memory.graph("Tom's mother").edges}
        assert ("home", "Lisbon") in edges
