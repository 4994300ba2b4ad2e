"""R19, R20 and R22: delete and store again, delete of one container only, and nothing left over."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import AlreadyUndone, Conflict, InvalidInput, NotFound, RewoundError
from rewound.memory import Memory
from rewound.memory.replies import Written
from rewound.memory.requests import What
from tests.cases.given import (
    EVERYTHING,
    Cli,
    event_of,
    events,
    holding,
    id_of,
    pages,
    texts,
)

GYM = "Gym code 4471"

Add = Callable[[Memory], Written]
ADDS: dict[str, Add] = {
    "fact": lambda memory: memory.remember(GYM),
    "fact with own id": lambda memory: memory.remember(GYM, id="gym"),
    "document": lambda memory: memory.ingest(GYM, infer=False),
    "document with own id": lambda memory: memory.ingest(GYM, id="gym.md", infer=False),
    "message": lambda memory: memory.add_messages([{"content": GYM}], infer=False),
    "message with own id": lambda memory: memory.add_messages(
        [{"content": GYM, "id": "m1"}], infer=False
    ),
}
EACH_ADD = pytest.mark.parametrize("add", ADDS.values(), ids=ADDS.keys())


def found(memory: Memory) -> int:
    """How many hits say the code; near-duplicates count as one."""
    return len(memory.search("gym 4471").hits)


@EACH_ADD
def test_r19_delete_then_store_again(memory: Memory, add: Add) -> None:
    first = add(memory)
    memory.forget(id_of(first))
    assert found(memory) == 0
    second = add(memory)
    assert second.items[0].status == "written" and id_of(second) != id_of(first)
    assert found(memory) == 1
    forgot = memory.forget(id_of(second))
    assert found(memory) == 0
    # An undo takes back one step: the forgetting; a second one of it is refused, and does nothing.
    undone = memory.undo(forgot.events[0])
    assert found(memory) == 1
    with pytest.raises(AlreadyUndone):
        memory.undo(forgot.events[0])
    assert found(memory) == 1
    # An undo of the undo is one step too, and can itself be taken back.
    assert undone.event is not None
    again = memory.undo(undone.event)
    assert found(memory) == 0
    assert again.event is not None
    memory.undo(again.event)
    assert found(memory) == 1
    memory.forget(id_of(second))
    third, fourth = add(memory), add(memory)
    assert (third.items[0].status, id_of(fourth)) == ("written", id_of(third))
    assert fourth.items[0].status in ("seen again", "unchanged")
    assert len({id_of(each) for each in (first, second, third)}) == 3
    assert found(memory) == 1
    for life in (first, second, third):
        happened = memory.history(id_of(life), include_forgotten=True).events
        assert event_of(life) in [event.id for event in happened]
    assert memory.rebuild().equal and memory.verify().ok


@EACH_ADD
def test_r19_erase_then_store_again(memory: Memory, add: Add) -> None:
    first = add(memory)
    memory.erase(id_of(first))
    assert found(memory) == 0
    second = add(memory)
    assert second.items[0].status == "written" and id_of(second) != id_of(first)
    assert found(memory) == 1
    with pytest.raises(RewoundError):
        memory.restore(id_of(first))
    assert found(memory) == 1


@EACH_ADD
def test_r19_undo_then_store_again(memory: Memory, add: Add) -> None:
    first = add(memory)
    undone = memory.undo(event_of(first))
    assert found(memory) == 0
    second = add(memory)
    assert second.items[0].status == "written" and found(memory) == 1
    assert undone.event is not None
    memory.undo(undone.event)  # both hold now; they stand for one another
    assert found(memory) == 1
    memory.undo(event_of(second))
    assert found(memory) == 1
    assert memory.rebuild().equal


def test_r19_on_the_command_line(cli: Cli) -> None:
    def add() -> str:
        return str(cli.told("remember", GYM)["items"][0]["id"])

    first = add()
    cli.run("forget", first)
    second = add()
    assert second != first
    assert len(cli.told("search", "gym code")["hits"]) == 1
    event = cli.told("forget", second)["events"][0]
    cli.run("undo", event)
    error = cli.run("undo", event, code=3)
    assert "undone" in error.stderr
    assert add() == second
    assert len(cli.told("search", "gym code")["hits"]) == 1


# --- R20


SENT: tuple[What, ...] = ("fact", "document", "message")


def fill(memory: Memory, name: str) -> None:
    memory.remember(f"{name} likes tea.", tags=["drinks"])
    memory.ingest(f"{name} wrote this page.", id="page")
    memory.add_messages([{"content": f"{name} said so."}], conversation="chat")


def everything(memory: Memory) -> bytes:
    """All that a container answers, byte for byte."""
    listed = [list(pages(memory, what)) for what in EVERYTHING]
    info = next(iter(memory.stats().info))
    return msgspec.json.encode([listed, events(memory), info])


@pytest.fixture
def pair(memory: Memory) -> tuple[Memory, Memory]:
    one, other = memory.container("A"), memory.container("B")
    for each, name in ((one, "Ana"), (other, "Ben")):
        fill(each, name)
    return one, other


def test_r20_a_bulk_forget_empties_one_container(pair: tuple[Memory, Memory]) -> None:
    one, other = pair
    untouched = everything(other)
    shown = {item.id for what in EVERYTHING for item in pages(one, what)}
    assert len(shown) >= 4
    preview = one.forget(what=SENT, dry_run=True)
    assert {item.id for what in EVERYTHING for item in pages(one, what)} == shown
    forgot = one.forget(what=SENT)
    assert forgot.count == len(forgot.items) == preview.count
    assert {item.id for item in forgot.items} <= shown
    assert not [item for what in EVERYTHING for item in pages(one, what)]
    info = next(iter(one.stats().info))
    assert info.counts.get("facts", 0) == info.counts.get("documents", 0) == 0
    # All that was shown is counted; passages go with their documents.
    assert {item.id for item in forgot.items} == {
        item.id for what in SENT for item in pages(one, what, include_forgotten=True)
    }
    assert everything(other) == untouched


BAD: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no ids": {"ids": []},
    "no tags": {"tags": []},
    "empty filters": {"filters": {}},
    "misspelt": {"spce": "A"},
    "space": {"space": "A"},
    "a container": {"container": "A"},
    "container None": {"container": None},
    "empty metadata": {"metadata": {}},
    "empty scope": {"scope": {}},
    "scope of nobody named": {"scope": {"user": None}},
    "misspelt scope": {"scope": {"usr": "x"}},
    "blank query": {"query": "  "},
    "blank id": {"ids": [""]},
    "blank tag": {"tags": [""]},
    "blank source": {"source": ""},
    "all but nothing": {"what": [], "kinds": [], "tags": []},
    "a star": {"ids": ["*"]},
    "a tag nobody has": {"tags": ["nobody"]},
    "a user nobody is": {"scope": {"user": "nobody"}},
    "a prefix of a tag": {"tags": ["drink"]},
    "no such value": {"metadata": {"container": "A"}},
}


@pytest.mark.parametrize("conditions", BAD.values(), ids=BAD.keys())
def test_r20_nothing_named_never_means_everything(
    pair: tuple[Memory, Memory], conditions: dict[str, Any]
) -> None:
    before = [everything(each) for each in pair]
    with pytest.raises((InvalidInput, NotFound)) as refused:
        pair[0].forget(**conditions)
    assert refused.value.field
    assert [everything(each) for each in pair] == before


@pytest.mark.parametrize(
    "args",
    [
        ("forget", "--yes"),
        ("forget", "--yes", "--tag", ""),
        ("forget", "--yes", "--tag", "nobody"),
        ("forget", "--yes", "--query", " "),
        ("forget", "--yes", "--spce", "A"),
        ("forget", "--yes", ""),
        ("-c", "", "forget", "--yes", "--tag", "drinks"),
        ("-c", " ", "forget", "--yes", "--what", "fact"),
    ],
)
def test_r20_on_the_command_line(
    cli: Cli, pair: tuple[Memory, Memory], args: tuple[str, ...]
) -> None:
    before = [everything(each) for each in pair]
    if "-c" not in args:
        args = ("-c", "A", *args)
    cli.run(*args, code=2)
    assert [everything(each) for each in pair] == before


# --- R22

PIN = "My locker PIN is 7391-QUOKKA."


def answers(memory: Memory) -> dict[str, bytes]:
    """Everything that can be read without asking for what is forgotten."""
    newest = memory.events(newest=True, limit=1).events[0]
    asked: dict[str, Any] = {
        "search": memory.search("locker PIN 7391"),
        "superseded": memory.search("locker PIN 7391", include_superseded=True),
        "context": memory.context("locker PIN 7391"),
        "events": events(memory),
        "diff": memory.diff("@1"),
        "stats": memory.stats(store=True),
        "jobs": memory.jobs(),
        "reviews": memory.reviews(),
        "timeline": memory.timeline("the user"),
        "graph": memory.graph("the user", depth=3),
        "containers": memory.containers(),
        "first": memory.as_of("@3").search("locker PIN"),
        "undo": memory.undo(newest.id, dry_run=True) if newest.type == "fact remembered" else None,
    }
    for what in EVERYTHING:
        asked[f"list {what}"] = list(pages(memory, what, include_superseded=True))
        asked[f"then {what}"] = memory.as_of("@2").list(what)
    for event in events(memory):
        for item in event.items:
            for name, ask in (("history", memory.history), ("why", memory.why)):
                try:
                    asked[f"{name} {item}"] = ask(item)
                except RewoundError as error:
                    asked[f"{name} {item}"] = error.message
    return {name: msgspec.json.encode(reply) for name, reply in asked.items()}


def telling(memory: Memory, word: str) -> list[str]:
    """Answers that hold a word, but for the question repeated."""
    return [name for name, reply in answers(memory).items() if word.encode() in reply]


QUOKKAS: dict[str, Add] = {
    "fact": lambda m: m.remember(PIN, tags=["QUOKKA-tag"], metadata={"QUOKKA-key": "QUOKKA"}),
    "own id": lambda m: m.remember("My PIN.", id="QUOKKA", subject="QUOKKA", value="QUOKKA"),
    "retried": lambda m: m.remember(PIN, key="key-QUOKKA", scope={"user": "QUOKKA"}),
    "document": lambda m: m.ingest(PIN, id="QUOKKA.md", title="QUOKKA", address="/QUOKKA"),
    "one fact a document": lambda m: m.ingest(f"# PIN\n\n{PIN}", infer=False),
    "message": lambda m: m.add_messages(
        [{"content": PIN, "name": "QUOKKA", "id": "QUOKKA-1"}], conversation="QUOKKA-chat"
    ),
}
EACH_QUOKKA = pytest.mark.parametrize("add", QUOKKAS.values(), ids=QUOKKAS.keys())


@EACH_QUOKKA
def test_r22_what_is_forgotten_is_told_by_no_answer(memory: Memory, add: Add) -> None:
    memory.remember("The gym opens at six.")
    written = add(memory)
    item = id_of(written)
    assert telling(memory, "QUOKKA")
    memory.forget(item, reason="QUOKKA is nobody's business")
    for _ in range(2):  # whatever runs behind never brings it back
        memory.rebuild()
        assert telling(memory, "QUOKKA") == []
    with pytest.raises(NotFound) as refused:
        memory.get(item)
    assert "QUOKKA" not in refused.value.message
    shown = msgspec.json.encode(memory.get(item, include_forgotten=True))
    assert b"QUOKKA" in shown
    memory.restore(item)
    assert telling(memory, "QUOKKA")


@EACH_QUOKKA
def test_r22_no_file_holds_what_was_erased(data: Path, memory: Memory, add: Add) -> None:
    memory.remember("The gym opens at six.")
    written = add(memory)
    item = id_of(written)
    memory.search("7391-QUOKKA")
    memory.forget(item, reason="QUOKKA")
    listed = memory.erase(item, dry_run=True)
    assert not listed.stands_in
    erased = memory.erase(item)
    assert erased.compaction == "done"
    assert holding(data, b"QUOKKA", b"quokka", "QUOKKA".encode("utf-16-le")) == []
    assert telling(memory, "QUOKKA") == []
    for refused in (erased.event, event_of(written)):
        assert refused is not None
        with pytest.raises(RewoundError) as error:
            memory.undo(refused)
        assert "erase" in error.value.message.lower()
    assert memory.search("gym").hits and memory.verify().ok and memory.rebuild().equal
    memory.close()
    assert holding(data, b"QUOKKA", b"quokka") == []


def test_r22_every_wording_and_every_retry_goes(data: Path, memory: Memory) -> None:
    fact = id_of(memory.remember("My locker PIN is 1111.", key="one"))
    memory.update(fact, PIN, key="two", add_tags=["QUOKKA"])
    memory.update(fact, "My locker PIN is 2222.", metadata={"was": "QUOKKA"})
    memory.forget(query="locker 7391-QUOKKA", reason="QUOKKA", key="three")
    memory.erase(fact)
    assert holding(data, b"QUOKKA", b"quokka", b"2222", b"1111") == []
    # A retry of what was erased finds that it was done, and brings nothing back.
    with contextlib.suppress(Conflict):
        memory.remember("My locker PIN is 1111.", key="one")
    assert texts(memory.search("locker PIN")) == []
    assert holding(data, b"QUOKKA", b"quokka", b"1111") == []


def test_r22_on_the_command_line(cli: Cli, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "QUOKKA.md").write_text(f"# QUOKKA\n\n{PIN}\n")
    document = cli.told("ingest", str(folder), "--tag", "QUOKKA")["items"][0]["id"]
    cli.run("remember", "The gym opens at six.")
    cli.run("forget", document)
    for args in (
        ("search", "locker PIN"), ("log", "--since", "@1"), ("list", "--what", "document"),
        ("list", "--what", "passage", "--all"), ("diff", "@1"), ("stats", "--store"), ("jobs",),
        ("context", "locker PIN"), ("search", "locker PIN", "--as-of", "@2"), ("verify",),
        ("rebuild",), ("replay", "--at", "@2", "--verify"),
    ):  # fmt: skip
        for form in ((), ("--json",)):
            assert "QUOKKA" not in cli.run(*form, *args).output, args
    cli.run("erase", document, "--yes")
    assert holding(data, b"QUOKKA", b"quokka") == []
