"""Processes that look on: what their owner waits for, and what they do without one."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from rewound.eventlog.clock import SystemClock
from rewound.eventlog.errors import StoreBusy
from rewound.eventlog.events import HeadsSealed
from rewound.eventlog.ids import STORE, UuidV7Source
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.log import Draft
from rewound.llm import breaking
from rewound.memory import requests as q
from rewound.memory import wire
from rewound.memory.file_reads import FileReads
from rewound.memory.link import WAIT_S, Link
from rewound.memory.looking_on import LookingOn
from rewound.memory.meaning import Meaning
from rewound.memory.models import NO_MODELS, Models
from rewound.memory.onlookers import Onlookers
from rewound.memory.place import open_layout
from rewound.memory.replies import Erased, Figures, Page, Written
from rewound.memory.reranking import Reranks
from rewound.memory.responding import Responds
from rewound.memory.rewriting import Rewrites
from tests.integration.noding import nodes
from tests.integration.test_dispatching import eventually


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Link]:
    link = Link(tmp_path / "data", models=NO_MODELS)
    link.take_over()
    yield link
    link.close()


def remember(link: Link | LookingOn, text: str) -> str:
    written = link.call(q.Remember(facts=(q.NewFact(text=text),)))
    assert isinstance(written, Written)
    (item,) = written.items
    assert item.id is not None
    return item.id


def look_on(owner: Link) -> wire.Connection:
    """An onlooker that does nothing by itself."""
    return Link(owner.layout.data, models=NO_MODELS, may_own=False).look_on()


def compaction(owner: Link) -> str:
    figures = owner.call(q.Stats(store=True))
    assert isinstance(figures, Figures)
    return figures.compaction


def until_compacted(owner: Link) -> None:
    """The owner has taken notice of an answer, which comes by a thread of its own."""
    assert owner._store is not None
    onlookers = owner._store.engine.onlookers
    with onlookers._changed:
        assert onlookers._changed.wait_for(lambda: not onlookers._is_late(onlookers._number), 60)
    assert compaction(owner) == "none"


def test_an_erasure_is_done_when_every_onlooker_has_let_go(owner: Link) -> None:
    assert owner._store is not None
    owner._store.engine.onlookers.patience_s = 0.05
    first, second, third = (remember(owner, f"Secret {number}.") for number in range(3))
    onlooker = look_on(owner)
    erased = owner.call(q.Erase(ids=(first,)))
    assert isinstance(erased, Erased)
    assert erased.compaction == "pending" and "reads the store" in erased.notes[-1]
    assert compaction(owner) == "pending"
    told = onlooker.receive()
    assert isinstance(told, wire.Renew)
    onlooker.send(wire.Renewed(told.number))
    again = onlooker.receive()  # of what came to pass before it answered
    assert isinstance(again, wire.Renew) and again.number > told.number
    onlooker.send(wire.Renewed(again.number))
    until_compacted(owner)
    assert isinstance(owner.call(q.Erase(ids=(second,))), Erased)
    assert compaction(owner) == "pending"
    onlooker.close()  # or it dies
    until_compacted(owner)
    alone = owner.call(q.Erase(ids=(third,)))
    assert isinstance(alone, Erased) and alone.compaction == "done"


def test_who_does_not_let_go_keeps_only_the_erasure_waiting(owner: Link) -> None:
    first = remember(owner, "Secret.")
    onlooker = look_on(owner)
    with ThreadPoolExecutor(2) as threads:
        erasing = threads.submit(owner.call, q.Erase(ids=(first,)))
        assert isinstance(onlooker.receive(), wire.Renew)
        threads.submit(remember, owner, "Another.").result(20)
        assert not erasing.done()
        onlooker.close()
        erased = erasing.result(60)
    assert isinstance(erased, Erased) and erased.compaction == "done"


class Kept:
    """In place of a connection: keeps what was sent, and has ended when something is awaited."""

    def __init__(self) -> None:
        self.sent: list[object] = []

    def send(self, frame: object) -> None:
        self.sent.append(frame)

    def receive(self) -> None:
        raise wire.PeerGone("ended")


def test_a_welcome_comes_before_all_that_is_told() -> None:
    onlookers, connection = Onlookers(), Kept()

    def welcome() -> None:
        telling = threading.Thread(target=onlookers.tell)
        telling.start()
        telling.join(0.1)  # it may come to an end only where it tells this one too early
        connection.send("welcome")

    with pytest.raises(wire.PeerGone):
        onlookers.attend(cast("wire.Connection", connection), welcome)
    assert connection.sent[0] == "welcome"


def test_an_owner_ends_when_its_onlookers_have_closed_the_files(owner: Link) -> None:
    onlooker = look_on(owner)
    with ThreadPoolExecutor(1) as threads:
        ending = threads.submit(owner.close)
        with pytest.raises(wire.PeerGone):
            onlooker.receive()
        assert owner.layout.lock.exists() and not ending.done()
        onlooker.close()
        ending.result(60)


def test_who_looks_on_never_becomes_the_owner(tmp_path: Path) -> None:
    """And asks the owner where it cannot read: as here, where one process has the files already."""
    link = LookingOn(tmp_path / "data", models=NO_MODELS, wait_s=0.05)
    for request in (q.List(), q.Remember(facts=(q.NewFact(text="Never."),))):
        with pytest.raises(StoreBusy):
            link.call(request)
    assert not link.look_on() and not link.owns
    owner = Link(tmp_path / "data", models=NO_MODELS)
    remember(owner, "One.")
    assert owner.owns
    link._link._wait_s = WAIT_S  # now somebody answers, if slowly
    remember(link, "Two.")
    page = link.call(q.List())
    assert isinstance(page, Page) and [item.text for item in page.items] == ["One.", "Two."]
    owner.close()
    link.close()
    with pytest.raises(StoreBusy):
        link.call(q.List())


def test_views_that_do_not_follow_are_not_waited_for_without_end(tmp_path: Path) -> None:
    layout = open_layout(tmp_path / "data")
    clock = SystemClock()
    owner = Link(layout.data, models=NO_MODELS)
    remember(owner, "Folded.")
    owner.close()
    files = FileReads(
        layout, clock=clock, models=NO_MODELS, meaning=Meaning(None), reranks=Reranks(),
        rewrites=Rewrites(), responds=Responds(),
    )  # fmt: skip
    page = files.read(q.List(), 0.0)
    assert isinstance(page, Page) and len(page.items) == 1
    with pytest.raises(StoreBusy, match="not yet at 99"):
        files.read(q.List(at_least=99), 0.01)
    files.close()
    log = LmdbLog(layout.log, clock, UuidV7Source(clock))
    with log.writing() as writer:
        writer.append(STORE, [Draft(HeadsSealed(digest=bytes(32), containers=0))])
    log.close()
    files = FileReads(
        layout, clock=clock, models=NO_MODELS, meaning=Meaning(None), reranks=Reranks(),
        rewrites=Rewrites(), responds=Responds(),
    )  # fmt: skip
    with pytest.raises(StoreBusy, match="the views are behind"):
        files.read(q.List(), 0.01)
    files.close()


def test_who_looks_on_asks_a_model_again_when_its_server_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as the owner does, rather than when a pause is over."""
    monkeypatch.setattr(breaking, "PACE", breaking.Pace(probe_s=0.05))
    monkeypatch.setattr("rewound.memory.meaning._PAUSE_S", 600.0)
    with nodes(1) as (server,):
        models = Models(
            embedder="server", extractor="none", judge="none", embed_url=server.url,
            embed_model="toy",
        )  # fmt: skip
        link = LookingOn(tmp_path / "data", models=models)
        try:
            server.kill()
            assert link._meaning.of("pens") is None and link._meaning.trouble is not None
            eventually(lambda: link._nodes.figures()[0].state == "down")
            server.revive()
            eventually(lambda: link._meaning.of("pens") is not None)
            (node,) = link.nodes().nodes
            assert node.addresses[0].lanes["interactive"].ok == 1, "those of this process"
        finally:
            link.close()
        assert link._meaning.of("ink") is None, "nobody is asked any more"


def test_who_looks_on_is_told_the_owners_nodes(owner: Link) -> None:
    """Those that there are at first, with their keys, and whenever they change."""
    url = "http://127.0.0.1:9"
    owner.call(q.Nodes(action="add", name="first", chat=url, api_key="K1"))
    onlooker = look_on(owner)

    def told() -> list[tuple[str, str | None, bool]]:
        frame = onlooker.receive()
        assert isinstance(frame, wire.Renew) and frame.nodes is not None
        onlooker.send(wire.Renewed(frame.number))
        return [(each.node.name, each.node.key, each.draining) for each in frame.nodes]

    assert told() == [("first", "K1", False)]
    owner.call(q.Nodes(action="drain", name="first"))
    assert told() == [("first", "K1", True)]
    assert compaction(owner) == "none", "no file is meant"
    owner.call(q.Nodes(action="add", name="second", embed=url))
    owner.call(q.Nodes(action="remove", name="first"))
    while (now := told()) != [("second", None, False)]:
        assert len(now) == 2
    onlooker.close()
