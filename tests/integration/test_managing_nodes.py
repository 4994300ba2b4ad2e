"""Nodes as they are listed, added, drained, removed and checked, through a real store."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import Conflict, InvalidInput, NotFound
from rewound.llm import breaking, checking
from rewound.llm.nodes import Node, endpoints_of
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import NO_MODELS, Models
from tests.integration.faking import NO_SUCH, Answer, faking
from tests.integration.noding import nodes
from tests.integration.test_dispatching import eventually
from tests.integration.test_nodes_under_load import MESSAGES, box, models_at, said

KEY = "NODE-CANARY-2"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaking, "PACE", breaking.Pace(probe_s=0.05, probe_timeout_s=5.0))


def states(reply: r.NodeList) -> dict[str, str]:
    return {node.name: node.addresses[0].state for node in reply.nodes}


def test_nodes_come_and_go_while_facts_are_drawn(tmp_path: Path) -> None:
    with nodes(2) as (old, new), Memory(tmp_path, models=models_at([old])) as memory:
        memory.own()
        old.delay_s = new.delay_s = 0.01
        new.good = box
        memory.add_messages(said("a"))
        eventually(lambda: len(old.told) >= 2)
        told = memory.nodes("add", name="new", chat=new.url, slots=2, api_key=KEY)
        assert states(told).keys() == {f"n{old.port}", "new"} and KEY not in str(told)
        assert "until the process" in told.notes[0]
        told = memory.nodes("drain", name=f"n{old.port}")
        assert told.nodes[0].addresses[0].draining
        eventually(lambda: memory.nodes().nodes[0].addresses[0].lanes["background"].running == 0)
        done = len(old.told)
        memory.workers("wait")
        assert len(old.told) == done and len(new.told) + done >= MESSAGES
        assert memory.list("fact", limit=100).total == MESSAGES
        assert states(memory.nodes("remove", name=f"n{old.port}")) == {"new": "up"}


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with Memory(tmp_path, models=NO_MODELS) as memory:
        memory.own()
        with pytest.raises(InvalidInput, match="name is missing"):
            memory.nodes("add", chat="http://a")
        with pytest.raises(InvalidInput, match="has no address"):
            memory.nodes("add", name="a")
        with pytest.raises(InvalidInput, match="an address such as"):
            memory.nodes("add", name="a", chat="127.0.0.1:8080")
        with pytest.raises(NotFound, match="there are none"):
            memory.nodes("drain", name="a")
        memory.nodes("add", name="a", host="127.0.0.1")
        with pytest.raises(Conflict, match="there is a node a already"):
            memory.nodes("add", name="a", host="127.0.0.1")
        with pytest.raises(NotFound, match="the nodes are a"):
            memory.nodes("remove", name="b")


def test_a_word_in_and_a_vector_a_score_and_an_object_out(tmp_path: Path) -> None:
    with nodes(1) as (server,), Memory(tmp_path, models=NO_MODELS) as memory:
        memory.own()
        server.good = lambda told: {"fruit": True}
        url = server.url
        memory.nodes("add", name="all", chat=url, embed=url, rerank=url, decide=f"{url}/v2")
        (node,) = memory.nodes("check").nodes
        one, other = node.addresses
        assert one.checked == {"embed": "ok", "rerank": "ok", "chat": "ok"}
        assert other.checked is not None and "404" in other.checked["decide"]
        server.good = lambda told: {"fruit": "perhaps"}
        told = memory.nodes("check")
        assert any(each.startswith("node all, chat: ") for each in told.degraded)
        server.status = 500
        (one, _) = memory.nodes("check").nodes[0].addresses
        assert one.checked is not None and "status 500" in one.checked["embed"]
        server.kill()
        told = memory.nodes("check")
        assert any("cannot be reached" in each for each in told.degraded)


def test_each_is_asked_as_it_is_at_work(tmp_path: Path) -> None:
    """By the model that is set for its role, and in the manner that its server wants."""

    def answer(path: str, asked: Any) -> Answer:
        if path == "/v1/embeddings" and asked["model"] == "toy":
            return 200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
        if path == "/rerank" and "texts" in asked and "model" not in asked:
            return 200, [{"index": 0, "score": 0.9}, {"index": 1, "score": 0.1}]
        return NO_SUCH

    with faking() as server:
        server.answer = answer
        node = Node(name="n", urls={"embed": server.url, "rerank": server.url}, model="talker")
        models = Models(
            embedder="server", extractor="none", judge="none", reranker="server", embed_model="toy",
            nodes=(node,),
        )  # fmt: skip
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            told = memory.nodes("check")
            assert told.nodes[0].addresses[0].checked == {"embed": "ok", "rerank": "ok"}
            assert not told.degraded


def test_a_check_ends_where_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "TIMEOUT_S", 0.05)
    with nodes(1) as (server,):
        server.hang()
        node = Node(name="n", urls={"chat": server.url, "embed": server.url, "rerank": server.url})
        (endpoint,) = endpoints_of(node)
        for role in endpoint.roles:
            assert "did not answer" in checking.checked(endpoint, role, NO_MODELS)


def test_with_every_node_down_it_is_said_what_follows(tmp_path: Path) -> None:
    with nodes(1) as (server,):
        models = models_at([server], judge="model")
        server.kill()
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            eventually(lambda: set(states(memory.nodes()).values()) == {"down"})
            (gone, facts, verdicts) = memory.nodes().degraded
            assert gone == f"node n{server.port} (chat at {server.url}) does not answer"
            assert facts.startswith("no node draws facts now") and "follow by themselves" in facts
            assert verdicts.startswith("no node judges facts now")
            server.revive()
            eventually(lambda: not memory.nodes().degraded)


def test_a_node_that_refuses_whoever_asks_is_told_and_fails_no_text(tmp_path: Path) -> None:
    with nodes(2) as servers:
        models = models_at(servers, batch_messages=8, quiet=0)
        servers[0].status = 401
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            assert memory.nodes().degraded == ()
            for container in "abc":
                memory.container(container).add_messages(said("a"))
            assert memory.workers("wait").failed == 0
            for container in "abc":
                assert memory.container(container).list().total == MESSAGES
            (told,) = memory.nodes().degraded
            name = f"node n{servers[0].port} (chat at {servers[0].url})"
            assert told.startswith(f"{name} refuses whoever asks: ") and "REWOUND_CHAT_KEY" in told


def test_no_key_and_no_word_of_a_memory_is_in_a_log_a_figure_or_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with nodes(2) as servers, caplog.at_level("DEBUG"):
        made = tuple(
            Node(name=f"n{each.port}", urls={"chat": each.url}, key=KEY) for each in servers
        )
        given: dict[str, Any] = {"embedder": "none", "extractor": "model", "judge": "none"}
        models = Models(nodes=made, quiet=0, **given)
        servers[0].status = 401
        servers[1].hang()
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            memory.add_messages("The password of the pond is CANARY-HERON.")
            eventually(lambda: servers[0].asked.is_set())
            servers[1].kill()
            eventually(lambda: memory.workers().failed == 1)
            told = [memory.nodes("check"), memory.jobs(), memory.workers()]
            failed = memory.events(types=["extraction failed"])
            shown = b"".join(map(msgspec.json.encode, [*told, failed])).decode()
        assert KEY not in repr(models)
    for text in (caplog.text, shown):
        assert KEY not in text and "HERON" not in text and "password" not in text
