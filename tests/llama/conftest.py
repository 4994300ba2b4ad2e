"""Real servers, each started when the first test asks for it and shared by all of this process."""

from collections.abc import Iterator

import pytest

from tests.llama.serving import LlamaServer, serving


@pytest.fixture(scope="session")
def chat_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with serving(tmp_path_factory.mktemp("chat") / "log") as server:
        yield server


PHYSICAL_BATCH = 64
"""Tokens of one text that these servers take: far less than their context."""

_SMALL = ("--batch-size", str(PHYSICAL_BATCH), "--ubatch-size", str(PHYSICAL_BATCH))


@pytest.fixture(scope="session")
def embedding_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    # One slot: a model that reads only forwards gives wrong means of texts in one batch.
    flags = ("--embedding", "--pooling", "mean", "--parallel", "1")
    with serving(tmp_path_factory.mktemp("embed") / "log", *flags, *_SMALL) as server:
        yield server


@pytest.fixture(scope="session")
def rerank_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    with serving(tmp_path_factory.mktemp("rerank") / "log", "--reranking", *_SMALL) as server:
        yield server
