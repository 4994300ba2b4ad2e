"""Vectors and scores of real llama.cpp servers: dimensions, pooling, texts beyond their size."""

import threading
from pathlib import Path

import numpy as np
import pytest

from rewound.llm.embedding import EmbeddingFailed, Vectors
from rewound.llm.embedding_server import EmbeddingServer
from rewound.llm.rerank_server import RerankServer
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.llama.conftest import PHYSICAL_BATCH
from tests.llama.serving import LlamaServer, serving

# One thread computes, and the first test may have to write the model's copy.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

DIMENSIONS = 576
LONG = "The harbour was calm and the boats lay still. " * (PHYSICAL_BATCH // 6)


def test_vectors_are_those_of_each_text_alone(embedding_server: LlamaServer) -> None:
    embedder = EmbeddingServer(embedding_server.url, "toy")
    texts = ["Nina lives in Oslo.", "", "The soup was too salty."]
    together = embedder.embed(texts)
    assert together.shape == (3, DIMENSIONS) and embedder.dimensions == DIMENSIONS
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-6)
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert (together * alone).sum(axis=1) == pytest.approx(1.0, abs=1e-3)
    assert embedder.embed_queries(texts[:1])[0] @ together[0] > 0.999


def test_a_text_beyond_its_size_is_read_in_parts(embedding_server: LlamaServer) -> None:
    """The server tells a context of thousands of tokens and refuses more than its batch."""
    embedder = EmbeddingServer(embedding_server.url, "toy")
    short, long, word = embedder.embed(["A calm harbour.", LONG, "x7q" * 60])
    part = embedder.embed([LONG[: len(LONG) // 5]])[0]
    assert long @ part > 0.8, "the parts say the same, so does their mean"
    assert np.isfinite(short).all() and np.isfinite(word).all()


def test_calls_side_by_side_give_each_its_own(embedding_server: LlamaServer) -> None:
    embedder = EmbeddingServer(embedding_server.url, "toy")
    texts = [f"Boat number {n} is painted." for n in range(4)]
    expected = embedder.embed(texts)
    found: dict[int, Vectors] = {}

    def work(n: int) -> None:
        found[n] = embedder.embed([texts[n]])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for n in range(4):
        assert (expected @ found[n][0]).argmax() == n


def test_a_store_finds_by_the_servers_vectors(
    embedding_server: LlamaServer, tmp_path: Path
) -> None:
    models = Models(
        embedder="server", extractor="none", judge="none", embed_url=embedding_server.url,
        embed_model="toy", reranker="embedder", rerank="always",
    )  # fmt: skip
    with Memory(tmp_path, models=models) as memory:
        memory.own()
        memory.remember("Nina lives in Oslo.")
        memory.remember(LONG)
        memory.workers("wait")
        found = memory.search("Who lives in Oslo?")
        assert found.unembedded == 0 and not found.notes
        assert found.hits[0].text.startswith("Nina")


def test_a_server_without_pooling_is_said_to_be_one(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--embedding", "--pooling", "none") as server:
        with pytest.raises(EmbeddingFailed, match="--pooling mean"):
            EmbeddingServer(server.url, "toy").embed(["Nina lives in Oslo."])


def test_scores_are_shares(rerank_server: LlamaServer) -> None:
    """The model was never made for it: its scores mean nothing, but they are logits."""
    reranker = RerankServer(rerank_server.url, timeout_s=60)
    texts = ["Cats are nice.", "", "The moon is far away. " * 30]
    scored = reranker.scores("cats", texts)
    assert len(scored.scores) == 3 and all(0 < score < 1 for score in scored.scores)
    assert scored.tokens > 10 and scored.calls >= 3, "the last one was scored in parts"
    assert reranker.scores("cats", texts).scores == pytest.approx(scored.scores, abs=1e-3)
