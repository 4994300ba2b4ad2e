"""R46 and R47: long names, and parallel writers. (R43 and R44: tests/crash/test_full.py.)"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput, Stale
from rewound.memory import Memory
from tests import loaded
from tests.cases.given import Cli, at_once, events, gapless, id_of, pages

EMOJI = "\N{GRINNING FACE}"
STEM = "a" * 511


@pytest.mark.parametrize(
    "tag",
    ["t" * 600, EMOJI * 200, "t" * 1_000, EMOJI * 1_000, STEM, STEM + "b", "\N{SNOWMAN}" * 171],
)
def test_r46_long_tags_are_kept_found_and_taken_off(memory: Memory, tag: str) -> None:
    fact = id_of(memory.remember("A fact with a long tag.", tags=[tag]))
    memory.remember("Another fact.", tags=[tag[:-1]])
    assert [item.id for item in memory.list(tags=tag).items] == [fact]
    assert [hit.id for hit in memory.search("fact", tags=tag).hits] == [fact]
    memory.update(fact, remove_tags=tag)
    assert memory.list(tags=tag).total == 0
    assert memory.rebuild().equal and memory.verify().ok


def test_r46_tags_alike_in_their_first_bytes_stay_apart(memory: Memory) -> None:
    tags = [STEM + "x", STEM + "y", STEM, STEM + EMOJI, STEM + "x" * 400]
    facts = {tag: id_of(memory.remember(f"Fact {n}.", tags=[tag])) for n, tag in enumerate(tags)}
    for tag, fact in facts.items():
        assert [item.id for item in memory.list(tags=tag).items] == [fact]
    forgot = memory.forget(tags=STEM + "x")
    assert [item.id for item in forgot.items] == [facts[STEM + "x"]]
    assert memory.list().total == len(tags) - 1


LONG = "n" * 2_000
LONG_ADDRESS = f"https://example.org/{'p' * 3_980}"
TAKEN: dict[str, tuple[Callable[[Memory], Any], Callable[[Memory], int]]] = {
    "fact id": (
        lambda m: m.remember("A.", id=LONG),
        lambda m: sum(item.caller_id == LONG for item in m.list().items),
    ),
    "document id": (
        lambda m: m.ingest("A.", id=LONG, address=LONG_ADDRESS, title="t" * 4_000),
        lambda m: m.list("document", source=LONG).total,
    ),
    "emoji id": (
        lambda m: m.ingest("A.", id=EMOJI * 2_000),
        lambda m: m.list("document", source=EMOJI * 2_000).total,
    ),
    "message id": (
        lambda m: m.add_messages([{"content": "A.", "id": LONG, "name": "s" * 3_000}]),
        lambda m: m.list("message").total,
    ),
    "conversation": (
        lambda m: m.add_messages([{"content": "A."}], conversation=LONG),
        lambda m: m.list("message", source=LONG).total,
    ),
    "entity": (
        lambda m: m.remember("A.", subject="e" * 3_000, attribute="f" * 3_000, value="v" * 3_000),
        lambda m: m.list().total,
    ),
    "scope": (
        lambda m: m.remember("A.", scope={"user": "u" * 1_000}),
        lambda m: m.list(scope={"user": "u" * 1_000}).total,
    ),
    "metadata keys": (
        lambda m: m.remember("A.", metadata={"__proto__": 1, "id": 2, "space": 3, "k" * 600: 4}),
        lambda m: m.list(metadata={"__proto__": 1, "id": 2, "space": 3, "k" * 600: 4}).total,
    ),
    "metadata value": (
        lambda m: m.remember("A.", metadata={"": "v" * 60_000, "constructor": {"a.b": [1]}}),
        lambda m: m.list(metadata={"": "v" * 60_000}).total,
    ),
    "key": (lambda m: m.remember("A.", key="k" * 2_000), lambda m: m.list().total),
    "word": (
        lambda m: m.ingest(f"The {'w' * 20_000} word."),
        lambda m: len(m.search("word").hits),
    ),
    "tags": (
        lambda m: m.remember("A.", tags=[f"{STEM}{n}" for n in range(200)]),
        lambda m: m.list(tags=[f"{STEM}{n}" for n in range(200)]).total,
    ),
    "container": (
        lambda m: m.container(EMOJI * 200).remember("A."),
        lambda m: m.container(EMOJI * 200).list().total,
    ),
}


@pytest.mark.parametrize(("write", "count"), TAKEN.values(), ids=TAKEN.keys())
def test_r46_long_things_are_kept_and_found(
    memory: Memory, write: Callable[[Memory], Any], count: Callable[[Memory], int]
) -> None:
    memory.remember("First.", scope={"user": "nobody"})
    memory.forget(memory.list().items[0].id)
    first = write(memory)
    assert count(memory) == 1
    again = write(memory)
    assert id_of(again) == id_of(first) and count(memory) == 1, "sent again, it is the same"
    assert memory.rebuild().equal and memory.verify().ok
    assert count(memory) == 1


def nested(levels: int) -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(levels - 1):
        deep = {"a": deep}
    return deep


def cyclic() -> dict[str, Any]:
    around: dict[str, Any] = {}
    around["a"] = [around]
    return around


REFUSED: dict[str, tuple[str, str, Callable[[Memory], Any]]] = {
    "empty tag": ("tags[0]", "blank", lambda m: m.remember("A.", tags=[""])),
    "blank tag": ("tags[1]", "blank", lambda m: m.remember("A.", tags=["a", " \u200b"])),
    "long tag": ("tags[0]", "1,000", lambda m: m.remember("A.", tags=["t" * 1_001])),
    "many tags": ("tags", "200", lambda m: m.remember("A.", tags=[f"{n}" for n in range(5_000)])),
    "empty id": ("id", "blank", lambda m: m.remember("A.", id="")),
    "long id": ("id", "2,000", lambda m: m.ingest("A.", id="i" * 2_001)),
    "address": ("address", "8,000", lambda m: m.ingest("A.", address="a" * 8_001)),
    "entity": ("subject", "8,000", lambda m: m.remember("A.", subject="s" * 8_001)),
    "deep": ("metadata", "20", lambda m: m.remember("A.", metadata=nested(200))),
    "deeper": ("metadata", "20", lambda m: m.remember("A.", metadata=nested(100_000))),
    "2 MB": ("metadata", "65,536", lambda m: m.remember("A.", metadata={"a": "x" * 2_000_000})),
    "many keys": (
        "metadata",
        "65,536",
        lambda m: m.remember("A.", metadata={f"k{n}": n for n in range(100_000)}),
    ),
    "huge number": ("metadata", "64 bits", lambda m: m.remember("A.", metadata={"a": 1 << 70})),
    "no number": ("metadata", "JSON", lambda m: m.remember("A.", metadata={"a": float("nan")})),
    "no text for a key": (
        "metadata",
        "key",
        lambda m: m.remember("A.", metadata={1: 2}),  # type: ignore[dict-item]
    ),
    "cyclic": ("metadata", "20", lambda m: m.remember("A.", metadata=cyclic())),
    "container": ("container", "200", lambda m: m.container("c" * 201).remember("A.")),
    "scope": ("scope", "1,000", lambda m: m.remember("A.", scope={"user": "u" * 1_001})),
    "key": ("key", "2,000", lambda m: m.remember("A.", key="k" * 2_001)),
}


@pytest.mark.parametrize(("field", "words", "write"), REFUSED.values(), ids=REFUSED.keys())
def test_r46_what_is_too_long_is_refused_with_the_limit(
    memory: Memory, field: str, words: str, write: Callable[[Memory], Any]
) -> None:
    memory.remember("First.")
    before = memory.stats(store=True).events
    with pytest.raises(InvalidInput) as refused:
        write(memory)
    assert (refused.value.field or "").startswith(field)
    assert words in refused.value.message
    assert memory.stats(store=True).events == before


def test_r46_on_the_command_line(cli: Cli) -> None:
    cli.run("remember", "A fact.", "--tag", EMOJI * 200, "--id", LONG, "--meta", "__proto__=x")
    assert cli.told("list", "--tag", EMOJI * 200, "--meta", "__proto__=x")["total"] == 1
    assert cli.told("list", "--tag", EMOJI * 199)["total"] == 0
    deep = "[" * 100_000 + "]" * 100_000
    for args in (
        ("--tag", ""), ("--tag", "t" * 1_001), ("--id", "i" * 2_001), ("--meta", "=x"),
        ("--meta", f"a:={deep}"), ("--meta", "a:=NaN"), ("--meta", f"a:={'9' * 400}"),
    ):  # fmt: skip
        cli.run("remember", "Another.", *args, code=2)
    assert cli.told("list")["total"] == 1


# --- R47

ADDS, TAGS = 50, 50

WRITER = """
import sys
from rewound.memory import Memory

with Memory(sys.argv[1], "s") as memory:
    sys.stdin.readline()
    for number in range(int(sys.argv[3]), int(sys.argv[4])):
        memory.remember(f"Added by a process: {number}.")
        memory.update(sys.argv[2], add_tags=f"tag-{number}")
"""


def test_r47_parallel_writers_lose_nothing(data: Path, memory: Memory, cli: Cli) -> None:
    """Threads, two more handles, two other processes and the command line, on one record."""
    fact = id_of(memory.remember("The record."))
    others = [
        loaded.Popen[str](
            [sys.executable, "-c", WRITER, str(data), fact, first, last], stdin=PIPE, text=True
        )
        for first, last in (("30", "38"), ("38", "46"))
    ]
    with Memory(data, "s") as second:
        calls: list[Callable[[], Any]] = []
        for number in range(30):
            handle = (memory, second)[number % 2]
            add = f"Added by a thread: {number}."
            calls.append(partial(handle.remember, add))
            tag = f"tag-{number}"
            calls.append(partial(handle.update, fact, add_tags=tag))

        def start_others() -> None:
            for process in others:
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()

        at_once([*calls, start_others])
        for number in range(46, TAGS):
            cli.run("-c", "s", "remember", f"Added by a command: {number}.")
            cli.run("-c", "s", "update", fact, "--add-tag", f"tag-{number}")
        for process in others:
            process.communicate(timeout=60)
            assert process.returncode == 0
    listed = [item.text for item in pages(memory)]
    assert len(listed) == len(set(listed)) == ADDS + 1
    assert set(memory.get(fact).item.tags) == {f"tag-{number}" for number in range(TAGS)}
    assert gapless(memory)
    assert len({event.id for event in events(memory)}) == memory.stats().events
    assert memory.rebuild().equal and memory.verify().ok


def test_r47_parallel_wordings_make_one_chain(memory: Memory) -> None:
    """Every wording is kept: each ends the one before, one is current."""
    fact = id_of(memory.remember("Wording 0."))
    at_once([
        partial(memory.update, fact, f"Wording {number}.")
        for number in range(1, 31)
    ])  # fmt: skip
    versions = memory.history(fact).versions
    assert sorted(version.text for version in versions) == sorted(
        f"Wording {number}." for number in range(31)
    )
    states = [version.standing.state for version in versions if version.standing]
    assert states == ["superseded"] * 30 + ["current"]
    assert memory.list().total == 1 and len(memory.search("wording").hits) == 1
    assert gapless(memory) and memory.rebuild().equal


def test_r47_losers_are_told(memory: Memory) -> None:
    """Who insists that nothing happened since is refused, and nothing of it is written."""
    written = memory.remember("The record.")
    fact = id_of(written)

    def append(number: int) -> bool:
        try:
            memory.update(fact, f"Wording {number}.", unless_after=written.position)
        except Stale:
            return False
        return True

    won = at_once([partial(append, number) for number in range(20)])
    assert won.count(True) == 1
    assert [version.text for version in memory.history(fact).versions][1:] == [
        f"Wording {won.index(True)}."
    ]
    assert memory.stats().events == written.position + 1


def test_r47_forgetting_beside_updating(memory: Memory) -> None:
    """What was forgotten stays forgotten, whatever else was under way."""
    facts = [id_of(memory.remember(f"The record {number}.")) for number in range(10)]

    def update(fact: str, number: int) -> None:
        try:
            memory.update(fact, add_tags=f"tag-{number}")
        except Exception as error:
            assert getattr(error, "code", "") in ("not_found", "conflict", "stale"), error

    calls: list[Callable[[], Any]] = []
    for number, fact in enumerate(facts):
        calls.append(partial(memory.forget, fact))
        calls.append(partial(update, fact, number))
        calls.append(partial(memory.remember, f"New {number}."))
    at_once(calls)
    assert sorted(item.text for item in pages(memory)) == [f"New {number}." for number in range(10)]
    assert gapless(memory) and memory.rebuild().equal
