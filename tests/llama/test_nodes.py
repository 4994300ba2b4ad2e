"""A node of real servers: their slots are read, and a word put into each role comes out as it
should."""

from pathlib import Path

import pytest

from rewound.llm.nodes import Node
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.llama.serving import LlamaServer

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]


def test_a_word_goes_in_and_a_vector_a_score_and_an_object_come_out(
    chat_server: LlamaServer,
    embedding_server: LlamaServer,
    rerank_server: LlamaServer,
    tmp_path: Path,
) -> None:
    node = Node(
        name="llama",
        urls={
            "chat": chat_server.url,
            "embed": embedding_server.url,
            "rerank": rerank_server.url,
        },
    )
    models = Models(
        embedder="server", embed_model="toy", extractor="none", judge="none", nodes=(node,)
    )
    with Memory(tmp_path, models=models) as memory:
        memory.own()
        checked = memory.nodes("check")
        assert checked.degraded == ()
        (shown,) = checked.nodes
        assert [address.state for address in shown.addresses] == ["up", "up", "up"]
        came = [address.checked for address in shown.addresses]
        assert came == [{"embed": "ok"}, {"rerank": "ok"}, {"chat": "ok"}]
        told = {address.roles[0]: address for address in shown.addresses}
        assert told["embed"].slots == 1 and told["chat"].slots >= 1
        assert all(address.busy is not None for address in shown.addresses)
