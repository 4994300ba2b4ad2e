"""What people take back while the past is gone over is shown to no model."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rewound.llm.nodes import Node
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.integration.echoing import echo
from tests.integration.noding import ScriptedNode, nodes
from tests.integration.test_dispatching import eventually

SECRET = "The CANARY sings."


@contextmanager
def store(folder: Path, server: ScriptedNode) -> Iterator[Memory]:
    node = Node(name="n", urls={"chat": server.url})
    models = Models(
        embedder="none", extractor="model", judge="model", nodes=(node,), batch_messages=1
    )
    server.good = lambda told: {"verdicts": []} if "older" in told else echo(told)
    with Memory(folder, models=models) as memory:
        memory.own()
        yield memory


def held(
    memory: Memory, server: ScriptedNode, pool: ThreadPoolExecutor, **what: Any
) -> tuple[Future[r.Rejudged], threading.Event]:
    """A going over that waits for the answer to its first call, until the event is set."""
    go_on = threading.Event()
    server.told.clear()
    server.asked.clear()
    server.within = lambda: go_on.wait(30)
    over = pool.submit(memory.rejudge, **what)
    eventually(server.asked.is_set)
    return over, go_on


@pytest.mark.parametrize("action", ["forget", "erase"])
def test_a_message_forgotten_meanwhile_is_read_by_none(tmp_path: Path, action: str) -> None:
    with nodes(1) as (server,), store(tmp_path, server) as memory, ThreadPoolExecutor() as pool:
        sent = memory.add_messages(["Box 1 holds 1 pens.", SECRET, "Box 2 holds 2 pens."]).items
        memory.workers("wait")
        over, go_on = held(memory, server, pool, extractor=True)
        (memory.forget if action == "forget" else memory.erase)(sent[1].id or "")
        go_on.set()
        assert over.result(30).sources == 2
        assert len(server.told) == 2 and not any("CANARY" in told for told in server.told)


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_is_forgotten_while_it_is_read_is_not_told(tmp_path: Path, dry_run: bool) -> None:
    def shorter(told: str) -> Any:
        made = echo(told)
        for fact in made["facts"]:
            fact["text"] = fact["quote"].split(" in ")[0]
        return made

    with nodes(1) as (server,), store(tmp_path, server) as memory, ThreadPoolExecutor() as pool:
        said = ["The CANARY sings in May.", "The dog barks in June."]
        sent = memory.add_messages(said).items
        memory.workers("wait")
        server.good = shorter
        over, go_on = held(memory, server, pool, extractor=True, dry_run=dry_run)
        memory.forget(sent[0].id or "")
        go_on.set()
        told = over.result(30)
        assert [fact.text for fact in told.learned] == ["The dog barks"]
        assert [fact.text for fact in told.ended] == ["The dog barks in June"]
        assert told.notes == (f"{sent[0].id} changed meanwhile and stays",) and told.sources == 1


def test_a_message_forgotten_while_it_waits_for_a_node_is_read_by_none(tmp_path: Path) -> None:
    with nodes(1) as (server,), store(tmp_path, server) as memory, ThreadPoolExecutor() as pool:
        (sent,) = memory.add_messages(SECRET).items
        memory.workers("wait")
        go_on = threading.Event()
        server.asked.clear()
        server.within = lambda: go_on.wait(30)
        memory.container("other").add_messages("Box 1 holds 1 pens.")
        eventually(server.asked.is_set)
        server.told.clear()
        over = pool.submit(memory.rejudge, extractor=True)
        eventually(lambda: memory.nodes().queues["background"].waiting > 0)
        memory.forget(sent.id or "")
        go_on.set()
        over.result(30)
        assert not any("CANARY" in told for told in server.told)


def test_a_fact_forgotten_meanwhile_is_compared_by_none(tmp_path: Path) -> None:
    """All else is compared as it stands then."""
    with nodes(1) as (server,), store(tmp_path, server) as memory, ThreadPoolExecutor() as pool:
        facts = [f"Nina likes {what}" for what in ("tea", "rum", "milk", "beer", "wine")]
        written = memory.remember(facts).items
        memory.workers("wait")
        go_on = threading.Event()
        server.asked.clear()
        server.within = lambda: go_on.wait(30)
        memory.container("other").add_messages("Box 1 holds 1 pens.")
        eventually(server.asked.is_set)
        server.told.clear()
        over = pool.submit(memory.rejudge)
        eventually(lambda: memory.nodes().queues["background"].waiting > 0)
        memory.forget(written[1].id or "")
        go_on.set()
        assert over.result(30).judged == 4
        assert server.told and not any("rum" in told for told in server.told)
