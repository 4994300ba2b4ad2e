"""Law 6 through the library: a handle of one container, and everything that belongs to another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, RewoundError
from rewound.memory.library import Memory
from rewound.memory.requests import What
from tests.oracle.story import CountedIds, HandClock
from tests.property.driver import START_US


class Two:
    """Two handles of one store; the other container's ids, and what it says of itself."""

    def __init__(self, folder: Path) -> None:
        self.a = Memory(folder, "alpha", clock=HandClock(START_US), ids=CountedIds())
        self.b = self.a.container("beta")
        self.a.remember("Ann likes teaq0")
        self.a.ingest("Ann moved to townq4", id="callerq1")
        told = self.b.remember("Bob likes secretq1", tags="tagsecretq2", id="callersecretq3")
        kept = self.b.ingest("Bob hides secretq4", id="pagesecretq5", infer=False)
        said = self.b.add_messages({"content": "Bob said secretq6"}, conversation="talksecretq7")
        self.fact, self.document = str(told.items[0].id), str(kept.items[0].id)
        self.message, self.event = str(said.items[0].id), str(told.items[0].event)
        self.group = str(told.group)

    def everything(self, handle: Memory) -> bytes:
        """All that a container says, but for how the whole store is."""
        pages = [handle.list(what, include_superseded=True) for what in KINDS]
        replies: list[Any] = [*pages, handle.events(limit=1000), handle.jobs(), handle.diff("@1")]
        replies += [handle.search(query, include_forgotten=True) for query in ("Bob", "Ann")]
        replies.append(handle.search("Bob likes", explain=True))
        replies += [handle.context("Bob likes"), handle.stats().info, handle.reviews()]
        replies += [handle.timeline("Bob"), handle.graph("Bob", depth=2)]
        return msgspec.json.encode(replies)


KINDS: tuple[What, ...] = ("fact", "document", "message", "passage")


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    opened = Two(tmp_path / "data")
    yield opened
    opened.a.close()


REFUSED: dict[str, Callable[[Memory, Two], object]] = {
    "get fact": lambda a, two: a.get(two.fact),
    "get document": lambda a, two: a.get(two.document),
    "get message": lambda a, two: a.get(two.message),
    "get at its event": lambda a, two: a.get(two.fact, as_of=two.event),
    "history": lambda a, two: a.history(two.fact),
    "why": lambda a, two: a.why(two.fact),
    "label": lambda a, two: a.label(two.fact, two.fact, "distinct"),
    "history of a document": lambda a, two: a.history(two.document),
    "search at its event": lambda a, two: a.search("Bob", as_of=two.event),
    "list at its event": lambda a, two: a.list(as_of=two.event),
    "diff from its event": lambda a, two: a.diff(two.event),
    "update": lambda a, two: a.update(two.fact, "Bob likes milk"),
    "tags": lambda a, two: a.update(two.document, add_tags="t"),
    "forget": lambda a, two: a.forget(two.fact),
    "forget a document": lambda a, two: a.forget(two.document),
    "forget by event": lambda a, two: a.forget(two.event),
    "forget for show": lambda a, two: a.forget(two.fact, dry_run=True),
    "restore": lambda a, two: a.restore(two.fact),
    "erase": lambda a, two: a.erase(two.fact),
    "erase for show": lambda a, two: a.erase(two.message, dry_run=True),
    "undo": lambda a, two: a.undo(two.event),
    "undo a group": lambda a, two: a.undo(two.group),
    "undo for show": lambda a, two: a.undo(two.event, dry_run=True),
    "remove": lambda a, two: a.remove_document(two.document),
    "remove by the caller's id": lambda a, two: a.remove_document("pagesecretq5"),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_ids_of_another_container_name_nothing(
    two: Two, ask: Callable[[Memory, Two], object]
) -> None:
    before = two.everything(two.b), two.everything(two.a)
    with pytest.raises(NotFound) as refused:
        ask(two.a, two)
    assert "secret" not in refused.value.message.replace("pagesecretq5", "")
    assert (two.everything(two.b), two.everything(two.a)) == before


def test_an_unknown_id_is_answered_like_a_strangers(two: Two) -> None:
    """Nobody learns by asking whether an id exists elsewhere."""
    unknown = "fact_" + "0" * 26
    for ask in ("get", "history", "forget", "restore", "erase"):
        told: list[str] = []
        for item in (unknown, two.fact):
            with pytest.raises(RewoundError) as refused:
                getattr(two.a, ask)(item)
            told.append(f"{refused.value.code} {refused.value.message.replace(item, 'ID')}")
        assert told[0] == told[1], ask


def test_nothing_of_another_container_is_found_or_counted(two: Two) -> None:
    assert b"secret" not in two.everything(two.a)
    for what in KINDS:
        assert two.a.list(what, source=two.document).items == ()
    assert two.a.search("secretq1 secretq4 secretq6").hits == ()
    assert two.a.list(tags="tagsecretq2").total == 0
    assert two.a.list(source="talksecretq7", what="message").total == 0
    with pytest.raises((InvalidInput, NotFound)):
        two.a.events(about=two.fact)


def test_what_one_does_leaves_the_other_as_it_was(two: Two) -> None:
    before = two.everything(two.b)
    (fact,) = [item.id for item in two.a.list().items]
    changed = two.a.update(fact, "Ann likes milkq9")
    two.a.undo(str(changed.items[0].event))
    two.a.forget(fact)
    two.a.restore(fact)
    two.a.add_messages([{"content": "Ann is here"}], conversation="talksecretq7")
    two.a.erase(fact)
    assert two.everything(two.b) == before


def test_positions_keys_ids_and_cursors_are_each_containers_own(two: Two) -> None:
    a, b = two.a, two.b
    positions = [event.position for event in a.events(limit=1000).events]
    assert positions == list(range(1, len(positions) + 1)), "gapless, whoever writes between"
    written = [handle.remember("Cid likes rice", key="same", id="mine") for handle in (a, b)]
    assert written[0].items[0].id != written[1].items[0].id
    assert [
        handle.remember("Cid likes rice", key="same", id="mine") for handle in (a, b)
    ] == written
    page = b.list(limit=1)
    assert page.cursor is not None
    with pytest.raises(InvalidInput):
        a.list(limit=1, cursor=page.cursor)


def test_a_scope_narrows_what_a_handle_sees(two: Two) -> None:
    ann = two.a.container("shared", scope={"user": "ann"})
    bob = two.a.container("shared", scope={"user": "bob"})
    for name, handle in (("Ann", ann), ("Bob", bob)):
        handle.remember(f"{name} likes tea")
    assert [item.text for item in ann.list().items] == ["Ann likes tea"]
    assert [hit.text for hit in bob.search("who likes tea").hits] == ["Bob likes tea"]
    assert "Ann" not in bob.context("who likes tea").text
    assert bob.forget(query="Ann likes tea", limit=5, dry_run=True).count <= 1
    (item,) = ann.list().items
    with pytest.raises(NotFound):
        bob.forget(item.id)
    with pytest.raises(NotFound):
        bob.undo(str(item.event))
