"""Stages around a search in contexts and explanations: the same as in the search itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.memory import Memory
from tests.integration.faking import FakeServer
from tests.integration.test_decomposing import ASKED, FACTS, remembering
from tests.integration.test_decomposing import server as server

NOTES = tuple(f"Omar wrote note {number} about tea and boats." for number in range(6))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Hits are ordered anew by how many words of the question they hold."""
    with remembering(tmp_path, None, reranker="words", rerank_weight=1.0) as made:
        for note in NOTES:
            made.remember(note)
        yield made


def test_a_context_is_made_of_the_reranked_hits(memory: Memory) -> None:
    query = "boats tea Omar botany"
    found = memory.search(query, rerank=True, limit=20)
    packed = memory.context(query, rerank=True)
    plain = memory.context(query)
    assert packed.reranking is not None and packed.reranking.calls == 0
    assert packed.reranking.hits == len(found.hits) and plain.reranking is None
    kept = [line.id for line in packed.lines]
    assert kept == [hit.id for hit in found.hits if hit.id in kept], "in the reranker's order"
    assert not packed.notes and sum(line.tokens for line in packed.lines) == packed.tokens


def test_an_explanation_tells_where_a_reranker_moved_it(memory: Memory) -> None:
    query = "Omar botany boats"
    for limit in (2, 5):
        found = memory.search(query, rerank=True, limit=limit)
        wide = memory.search(query, rerank=True, limit=20)
        plain = memory.search(query, rerank=False, limit=limit)
        for place, hit in enumerate(wide.hits, 1):
            traced = memory.explain(query, id=hit.id, limit=limit, rerank=True)
            assert traced.reranked == hit.reranked and traced.reranking is not None
            assert traced.fate.found == (hit.id in [each.id for each in found.hits])
            if traced.fate.found:
                assert traced.fate.place == place
            elif hit.id in [each.id for each in plain.hits]:
                assert traced.fate.reason == "reranked" and traced.fate.place == place
                assert f"place {place}" in traced.fate.told
            else:
                assert traced.fate.reason == "beyond_limit"
    assert memory.explain(query, id=wide.hits[0].id, rerank=False).reranking is None


def test_what_was_forgotten_is_shown_to_no_reranker(memory: Memory) -> None:
    packed = memory.context("Omar", rerank=True, include_forgotten=True)
    assert packed.reranking is None
    assert packed.notes == ("not reranked: what was forgotten is shown to no model",)


def test_a_context_and_an_explanation_search_for_the_parts(
    tmp_path: Path, server: FakeServer
) -> None:
    with remembering(tmp_path, server, decompose="always") as memory:
        found = memory.search(ASKED, limit=3)
        packed = memory.context(ASKED)
        assert packed.decomposing is not None and packed.decomposing.tokens == 109
        assert [each.query for each in packed.searched] == [each.query for each in found.searched]
        assert all(fact in packed.text for fact in FACTS[:3])
        for place, hit in enumerate(found.hits, 1):
            traced = memory.explain(ASKED, id=hit.id, limit=3)
            assert traced.fate.found and traced.fate.place == place
            assert traced.of_query == found.searched[hit.part or 0].query
            assert traced.searched == found.searched and traced.explanation is not None
        figs = next(item.id for item in memory.list().items if item.text == FACTS[3])
        assert not memory.explain(ASKED, id=figs, limit=3).fate.found
        posts = len(server.asked)
        assert memory.context(ASKED, decompose=False).decomposing is None
        assert len(server.asked) == posts


def test_parts_are_reranked_by_the_whole_question(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, decompose="always", reranker="words") as memory:
        found = memory.search(ASKED, rerank=True, limit=3)
        assert found.reranking is not None and found.decomposing is not None
        assert {hit.reranked.before for hit in found.hits if hit.reranked} <= set(range(1, 5))
        packed = memory.context(ASKED, rerank=True)
        assert packed.reranking is not None and len(packed.searched) == 4
        for hit in found.hits:
            traced = memory.explain(ASKED, id=hit.id, limit=3, rerank=True)
            assert traced.fate.found and traced.reranked == hit.reranked
