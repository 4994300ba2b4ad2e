"""Facts drawn at several nodes, through a real store, while nodes come to harm."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rewound.llm import breaking, looking
from rewound.llm.looking import Seen
from rewound.llm.nodes import Node, Role
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.integration.noding import ScriptedNode, nodes
from tests.integration.test_dispatching import LONG_S, eventually

BOX = re.compile(r"Box (\d+) holds (\d+) pens")
MESSAGES = 24


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is killed is found at once."""
    monkeypatch.setattr(breaking, "PACE", breaking.Pace(probe_s=0.05, probe_timeout_s=LONG_S))


def box(told: str) -> Any:
    found = BOX.search(told)
    if found is None:
        return {"facts": []}
    return {
        "facts": [
            {
                "quote": found[0], "text": f"{found[0]}.", "kind": "fact", "subject": None,
                "attribute": None, "value": None, "entities": [], "valid_from": None,
                "valid_to": None, "confidence": 0.9,
            }
        ]
    }  # fmt: skip


def said(container: str) -> list[str]:
    start = 100 if container == "a" else 500
    return [f"Box {start + n} holds {start + n} pens." for n in range(MESSAGES)]


def models_at(servers: list[ScriptedNode], **more: Any) -> Models:
    for server in servers:
        server.good = box
    made = tuple(Node(name=f"n{each.port}", urls={"chat": each.url}) for each in servers)
    plain: dict[str, Any] = {"embedder": "none", "judge": "none", "nodes": made}
    return Models(**plain | {"extractor": "model", "batch_messages": 1} | more)


def drawn(memory: Memory, container: str) -> list[str]:
    """The facts in the order in which they were recorded."""
    events = memory.container(container).events(types=["fact extracted"], limit=1000).events
    page = memory.container(container).list("fact", limit=1000)
    order = [str(event.data["fact"]) for event in events]
    texts = {item.id: item.text for item in page.items}
    return [texts[each] for each in order]


def wanted(container: str) -> list[str]:
    return [text.rstrip(".") for text in said(container)]


Harm = Callable[[ScriptedNode], object]


def slow(server: ScriptedNode) -> None:
    server.delay_s = 0.1


class Seeing:
    """A look that sees what hangs without a timeout, which one that is only slow could exceed."""

    def __init__(self, server: ScriptedNode) -> None:
        self.server = server

    def __call__(self) -> Seen:
        return Seen(self.server.well, self.server.slots)

    def close(self) -> None:
        """There is nothing to let go of."""


@pytest.mark.parametrize("harm", [ScriptedNode.kill, ScriptedNode.hang, slow])
def test_no_job_is_lost_and_no_fact_is_there_twice(
    tmp_path: Path, harm: Harm, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nodes(3) as servers, Memory(tmp_path, models=models_at(servers)) as memory:
        at = {server.url: server for server in servers}
        monkeypatch.setattr(looking, "Looker", lambda one, timeout_s: Seeing(at[one.url]))
        memory.own()
        for server in servers:
            server.delay_s = 0.01
        for container in ("a", "b"):
            memory.container(container).add_messages(said(container))
        eventually(lambda: len(servers[0].told) >= 3)
        harm(servers[0])
        assert memory.workers("wait", timeout_s=240).pending == 0
        for container in ("a", "b"):
            assert drawn(memory, container) == wanted(container), "each once, and in order"
        assert not memory.container("a").events(types=["extraction failed"]).events
        assert memory.container("a").verify().ok
        assert all(server.most == 1 for server in servers)


def test_facts_are_drawn_side_by_side(tmp_path: Path) -> None:
    """As many calls at once as the nodes have slots."""
    with nodes(3, slots=2) as servers, Memory(tmp_path, models=models_at(servers)) as memory:
        full = threading.Event()

        def within() -> None:
            """Nobody answers before all are as busy as they can be."""
            if sum(server.inside for server in servers) == 6:
                full.set()
            full.wait(LONG_S)

        for server in servers:
            server.within = within
        memory.own()
        memory.container("a").add_messages(said("a"))
        memory.workers("wait")
        assert drawn(memory, "a") == wanted("a")
        assert [server.most for server in servers] == [2, 2, 2] and full.is_set()


@pytest.mark.parametrize("role", ["embed", "decide"])
def test_what_was_drawn_is_recorded_while_another_model_takes_its_time(
    tmp_path: Path, role: Role
) -> None:
    held = threading.Event()
    with nodes(2) as (chat, other):
        made = (
            Node(name="chat", urls={"chat": chat.url}),
            Node(name="other", urls={role: other.url}),
        )
        models = models_at(
            [chat], nodes=made, embed_model="toy",
            embedder="server" if role == "embed" else "none",
            judge="model" if role == "decide" else "none",
        )  # fmt: skip
        other.within = lambda: held.wait(60)
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            tea = memory.container("a")
            tea.remember(["Box 1 holds 1 pens", "Box 1 holds 2 pens"])
            eventually(other.asked.is_set)
            tea.add_messages(said("a"))
            eventually(lambda: len(drawn(memory, "a")) == MESSAGES)
            assert other.inside == 1, "it has not answered yet"
            held.set()


def test_with_every_node_down_texts_are_kept_and_facts_follow_by_themselves(
    tmp_path: Path,
) -> None:
    with nodes(1) as servers:
        models = models_at(servers)
        servers[0].kill()
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            memory.container("a").add_messages(said("a"))
            memory.workers("wait")
            standing = memory.workers()
            assert standing.pending + standing.failed == MESSAGES and standing.parked == 0
            assert standing.failed <= 4, "nobody is asked again and again who is not there"
            assert memory.container("a").search("Box 107").hits[0].text == said("a")[7]
            servers[0].revive()
            eventually(lambda: len(drawn(memory, "a")) == MESSAGES)
            assert sorted(drawn(memory, "a")) == wanted("a")
            assert memory.workers().failed == 0


@pytest.mark.parametrize("action", ["forget", "erase"])
def test_what_is_forgotten_while_it_waits_for_a_node_is_shown_to_none(
    tmp_path: Path, action: str
) -> None:
    held = threading.Event()
    with nodes(1) as (server,), Memory(tmp_path, models=models_at([server])) as memory:
        memory.own()
        server.within = lambda: held.wait(30)
        memory.add_messages("Box 1 holds 1 pens.")
        eventually(server.asked.is_set)
        (sent,) = memory.add_messages("The CANARY sings.").items
        assert sent.id is not None
        memory.add_messages("Box 2 holds 2 pens.")
        eventually(lambda: memory.nodes().queues["background"].waiting > 0)
        memory.forget(sent.id) if action == "forget" else memory.erase(sent.id)
        held.set()
        memory.workers("wait")
        assert not any("CANARY" in told for told in server.told)
        texts = {item.text for item in memory.list("fact").items}
        assert texts == {"Box 1 holds 1 pens", "Box 2 holds 2 pens"}, "all else is read"


@pytest.mark.parametrize("gone", ["Nina lives in Oslo", "Nina lives in Rome"])
def test_a_pair_of_which_one_is_forgotten_while_it_waits_is_judged_by_none(
    tmp_path: Path, gone: str
) -> None:
    held = threading.Event()
    with nodes(1) as (server,):
        models = models_at([server], judge="model")
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            server.good = lambda told: {"verdicts": []} if "older" in told else box(told)
            (old,) = memory.remember("Nina lives in Oslo").items
            memory.workers("wait")
            server.asked.clear()
            server.within = lambda: held.wait(30)
            memory.add_messages("Box 1 holds 1 pens.")
            eventually(server.asked.is_set)
            (new,) = memory.remember("Nina lives in Rome").items
            eventually(lambda: memory.nodes().queues["background"].waiting > 0)
            forgotten = old.id if gone.endswith("Oslo") else new.id
            assert forgotten is not None
            memory.forget(forgotten)
            held.set()
            memory.workers("wait")
            assert not any(gone in told for told in server.told)
            assert memory.workers().unjudged == 0, "all else is judged"


def test_no_vector_is_asked_for_of_what_was_erased_meanwhile(tmp_path: Path) -> None:
    held = threading.Event()
    with nodes(1) as (server,):
        models = Models(
            embedder="server", extractor="none", judge="none", embed_url=server.url,
            embed_model="toy",
        )  # fmt: skip
        with Memory(tmp_path, models=models) as memory, ThreadPoolExecutor() as pool:
            memory.own()
            memory.remember("Box 1 holds 1 pens")
            memory.workers("wait")
            server.asked.clear()
            server.within = lambda: held.wait(30)
            asking = pool.submit(memory.search, "pens")
            eventually(server.asked.is_set)
            (secret, _) = memory.remember(["The CANARY sings", "Box 2 holds 2 pens"]).items
            eventually(lambda: memory.nodes().queues["background"].waiting == 1)
            assert secret.id is not None
            assert memory.erase(secret.id).compaction == "done", "no snapshot is held meanwhile"
            assert not asking.done()
            held.set()
            assert asking.result().hits
            memory.workers("wait")
            assert memory.workers().unembedded == 0
            assert not any("CANARY" in told for told in server.told)


def test_what_failed_before_a_restart_follows_after_it(tmp_path: Path) -> None:
    with nodes(1) as servers:
        models = models_at(servers)
        servers[0].status = 503
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            memory.container("a").add_messages(said("a")[:1])
            eventually(lambda: memory.workers().failed == 1)
        servers[0].status = 200
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            eventually(lambda: len(drawn(memory, "a")) == 1)


def test_meaning_and_reranking_come_from_nodes_and_come_back_with_them(tmp_path: Path) -> None:
    with nodes(2) as servers:
        urls = [server.url for server in servers]
        made = tuple(
            Node(name=f"n{at}", urls={"embed": url, "rerank": url}) for at, url in enumerate(urls)
        )
        models = models_at(
            servers, nodes=made, extractor="none", embedder="server", embed_model="toy",
            reranker="server", rerank="always",
        )  # fmt: skip
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            for text in said("a"):
                memory.remember(text)
            memory.workers("wait")
            assert memory.workers().unembedded == 0
            servers[0].kill()
            (hit, *_) = memory.search("Box 107").hits
            assert hit.reranked is not None and "meaning" in hit.signals
            servers[1].kill()
            eventually(lambda: not up(memory))
            found = memory.search("Box 108")
            assert found.hits and any("no node" in note for note in found.notes), found.notes
            servers[1].revive()
            eventually(lambda: up(memory) == ["n1"])
            (hit, *_) = memory.search("Box 109").hits
            assert hit.reranked is not None and "meaning" in hit.signals


def test_questions_have_their_meaning_while_nobody_works_behind_their_backs(
    tmp_path: Path,
) -> None:
    with nodes(2) as (asked, behind):
        made = (
            Node(name="asked", urls={"embed": asked.url}, lanes=("interactive",)),
            Node(name="behind", urls={"embed": behind.url}, lanes=("background",)),
        )
        models = models_at(
            [asked, behind], nodes=made, extractor="none", embedder="server", embed_model="toy"
        )
        with Memory(tmp_path, models=models) as memory:
            memory.own()
            memory.remember("Box 1 holds 1 pens")
            memory.workers("wait")
            behind.kill()
            eventually(lambda: up(memory) == ["asked"])
            memory.remember("Box 2 holds 2 pens")
            memory.workers("wait")
            assert memory.workers().unembedded == 1
            found = memory.search("Box 1")
            assert not found.notes and any("meaning" in hit.signals for hit in found.hits)
            assert any("no node makes vectors" in each for each in memory.nodes().degraded)
            behind.revive()
            eventually(lambda: memory.workers().unembedded == 0)


def up(memory: Memory) -> list[str]:
    return [node.name for node in memory.nodes().nodes if node.addresses[0].state != "down"]
