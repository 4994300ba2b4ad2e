"""R28, R38 and R40: names that look alike, foreign ids, texts in errors, names that are paths."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, RewoundError
from rewound.memory import Memory
from tests.cases.given import EVERYTHING, Cli, Clock, events, id_of, pages, snapshot

# Each is another container. Neighbours of ours: look-alike letters, accents, wildcards.
LIKE_NORTH = [
    "north", "north-east", "north/x", "north:x", "North", "north ", " north", "nort", "northe",
    "n\N{CYRILLIC SMALL LETTER O}rth", "north\N{COMBINING ACUTE ACCENT}", "north*", "north%", "*",
    "nörth", "no\N{COMBINING DIAERESIS}rth",
]  # fmt: skip


def secret(number: int) -> str:
    return f"The secret is marmot-{number:02}."


@pytest.fixture(scope="module")
def memory_of_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("r28") / "store", "north", clock=Clock()) as memory:
        _fill(memory)
        yield memory


@pytest.fixture
def north(memory_of_many: Memory) -> Memory:
    """Its tests leave it as it is."""
    return memory_of_many


def _fill(memory: Memory) -> None:
    for number, name in enumerate(LIKE_NORTH):
        here = memory.container(name)
        here.remember(secret(number), tags=["all"], id="one")
        here.ingest(secret(number), id="page", title=name)
        here.add_messages([{"content": secret(number)}], conversation="chat")


def reads(memory: Memory) -> bytes:
    asked: list[Any] = [list(pages(memory, what)) for what in EVERYTHING]
    asked += [events(memory), memory.search("secret marmot", limit=1000), memory.diff("@1")]
    asked += [memory.context("secret marmot"), memory.jobs(), memory.stats()]
    return msgspec.json.encode(asked)


def test_r28_a_container_is_its_whole_name(north: Memory) -> None:
    for number, name in enumerate(LIKE_NORTH):
        told = reads(north.container(name)).decode()
        others = [other for other in range(len(LIKE_NORTH)) if f"marmot-{other:02}" in told]
        assert others == [number], name
    assert [info.name for info in north.containers().containers] == LIKE_NORTH


@pytest.mark.parametrize("name", ["nor", "north-", "norths", "NORTH", "north\t"])
def test_r28_a_prefix_is_no_container(north: Memory, name: str) -> None:
    with pytest.raises(NotFound) as refused:
        north.container(name).list()
    assert "marmot" not in refused.value.message
    with pytest.raises(NotFound):
        north.container(name).forget(tags="all")


CALLS: dict[str, Callable[[Memory, str], Any]] = {
    "get": lambda m, item: m.get(item),
    "get forgotten": lambda m, item: m.get(item, include_forgotten=True),
    "get then": lambda m, item: m.as_of("@5").get(item),
    "history": lambda m, item: m.history(item),
    "why": lambda m, item: m.why(item),
    "label": lambda m, item: m.label(item, item, "distinct"),
    "update": lambda m, item: m.update(item, add_tags=["mine"]),
    "reword": lambda m, item: m.update(item, "Mine now."),
    "forget": lambda m, item: m.forget(item),
    "forget dry": lambda m, item: m.forget(item, dry_run=True),
    "restore": lambda m, item: m.restore(item),
    "erase": lambda m, item: m.erase(item),
    "erase dry": lambda m, item: m.erase(item, dry_run=True),
    "remove": lambda m, item: m.remove_document(item),
    "undo": lambda m, item: m.undo(item),
    "undo dry": lambda m, item: m.undo(item, dry_run=True),
    "as of": lambda m, item: m.as_of(item).list(),
    "since": lambda m, item: m.events(since=item),
    "about": lambda m, item: m.events(about=item),
    "source": lambda m, item: m.search("secret", source=item),
    "list source": lambda m, item: m.list("message", source=item),
    "forget source": lambda m, item: m.forget(source=item),
}


def missing_like(item: str) -> str:
    """An id of the same kind that is nowhere: its last bits are others."""
    kind, _, bits = item.rpartition("_")
    return f"{kind}_{bits[:-6]}{'000000' if bits[-6:] != '000000' else '000001'}"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_r28_a_foreign_id_is_as_one_that_is_missing(
    north: Memory, call: Callable[[Memory, str], Any]
) -> None:
    other = north.container("north-east")
    before = [reads(north), reads(other)]
    happened = events(other)
    ids = {item for event in happened for item in event.items} | {happened[-1].id}
    ids |= {event.group for event in happened if event.group}
    assert {item.split("_")[0] for item in ids} >= {"fact", "doc", "msg", "ev", "grp"}
    for item in sorted(ids):
        said = [_said(call, north, each) for each in (item, missing_like(item))]
        foreign, missing = (text.replace(each, "ID") for text, each in zip(
            said, (item, missing_like(item)), strict=True
        ))  # fmt: skip
        assert foreign == missing, item
        assert "marmot-01" not in foreign
    assert [reads(north), reads(other)] == before


def _said(call: Callable[[Memory, str], Any], memory: Memory, item: str) -> str:
    try:
        return msgspec.json.encode(call(memory, item)).decode()
    except RewoundError as error:
        return f"{error.code} {error.field} {error.message} {error.ids}"


@pytest.mark.parametrize(
    "which",
    [
        {"container": "north-east"}, {"space": "north-east"}, {"$or": [{"tags": ["all"]}]},
        {"filters": {"container": "north-east"}}, {"scope": {"container": "north-east"}},
    ],
)  # fmt: skip
def test_r28_a_filter_never_widens(north: Memory, which: dict[str, Any]) -> None:
    for ask in (
        lambda: north.search("secret", **which),
        lambda: north.list(**which),
        lambda: north.context("secret", **which),
        lambda: north.forget(**which),
    ):
        with pytest.raises(InvalidInput):
            ask()


def test_r28_metadata_never_moves_an_item(memory: Memory) -> None:
    north, other = memory.container("north"), memory.container("north-east")
    other.remember("A secret.")
    before = reads(other)
    for metadata in (
        {"space": "north-east"},
        {"container": "north-east"},
        {"scope": {"user": "x"}},
    ):
        north.remember(f"A note with {next(iter(metadata))}.", metadata=metadata)
    assert north.search("note", metadata={"container": "north-east"}).hits
    assert north.list().total == 3
    assert reads(other) == before


def test_r28_a_scope_is_its_whole_name(memory: Memory) -> None:
    for name in ("ann", "anna", "Ann", "ann "):
        memory.remember(f"Said by {name!r}.", scope={"user": name})
    for name in ("ann", "anna", "Ann", "ann "):
        listed = memory.list(scope={"user": name})
        assert [item.text for item in listed.items] == [f"Said by {name!r}."]
    assert memory.list(scope={"user": "an"}).total == 0
    pinned = Memory(container="s", scope={"user": "ann"}, link=memory.link)
    assert pinned.list().total == 1 and len(pinned.search("said").hits) == 1


def test_r28_on_the_command_line(cli: Cli, memory: Memory) -> None:
    ids = {}
    for number, name in enumerate(LIKE_NORTH[:6]):
        ids[name] = id_of(memory.container(name).remember(secret(number)))
    for number, name in enumerate(LIKE_NORTH[:6]):
        hits = cli.told("-c", name, "search", "secret")["hits"]
        assert [hit["text"] for hit in hits] == [secret(number)]
    for command in ("show", "history", "why", "forget", "undo"):
        cli.run("-c", "north", command, ids["north-east"], code=2)


# --- R38

CANARY = "CANARY-456"

BAD: dict[str, Callable[[Memory], Any]] = {
    "too long": lambda m: m.remember(f"{CANARY} " * 2_000),
    "ends before": lambda m: m.remember(CANARY, valid_from="2026-01-02", valid_to="2026-01-01"),
    "no time": lambda m: m.remember(CANARY, said_at="yesterday"),
    "half": lambda m: m.remember(f"{CANARY} \ud83d"),
    "zero": lambda m: m.remember(f"{CANARY} \0"),
    "kind": lambda m: m.remember(CANARY, kind="rumour"),  # type: ignore[arg-type]
    "tag": lambda m: m.remember("x", tags=[CANARY * 200]),
    "metadata": lambda m: m.remember("x", metadata={"key": CANARY * 10_000}),
    "set": lambda m: m.remember("x", metadata={"key": {CANARY}}),
    "query": lambda m: m.search(CANARY * 5_000),
    "role": lambda m: m.add_messages([{"content": CANARY, "role": "king"}]),
    "unknown": lambda m: m.add_messages([{"content": CANARY, "secret": CANARY}]),
    "no text": lambda m: m.ingest({"title": CANARY}),
    "bytes": lambda m: m.ingest(CANARY.encode()),  # type: ignore[arg-type]
    "batch": lambda m: m.remember([{"text": CANARY, "said_at": "x"}, {"text": f"{CANARY}\0"}]),
    "update nothing": lambda m: m.update(m.list().items[0].id),
    "expired": lambda m: m.update(m.list().items[0].id, f"{CANARY} {'x' * 11_000}"),
    "key": lambda m: m.remember(f"Another {CANARY}.", key="first"),
    "document": lambda m: m.update(m.list("document").items[0].id, CANARY),
    "nobody": lambda m: m.forget(tags="nobody", reason=CANARY),
    "stale": lambda m: m.update(m.list().items[0].id, f"Other {CANARY}", unless_after=1),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_r38_errors_and_logs_quote_no_text(
    memory: Memory,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    bad: Callable[[Memory], Any],
) -> None:
    caplog.set_level(logging.DEBUG)
    memory.remember(f"Known: {CANARY}.", key="first")
    memory.ingest(f"Read: {CANARY}.", id=CANARY)
    fact = memory.list().items[0].id
    memory.update(fact, f"Known now: {CANARY}.")
    with pytest.raises(RewoundError) as refused:
        bad(memory)
    assert CANARY not in f"{refused.value!r} {refused.value.field}"
    memory.search(CANARY)
    memory.forget(fact)
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capfd.readouterr())


def test_r38_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    cli.run("remember", "The first.")
    chat = tmp_path / "chat.jsonl"
    chat.write_text(
        f'{{"content": "{CANARY}", "role": "king"}}\n{{"content": "{CANARY}\n'
        f'{{"content": "{CANARY}", "time": "x"}}\n{{"content": ["{CANARY}"]}}\n'
    )
    torn = tmp_path / "torn.md"
    torn.write_bytes(f"{CANARY} ".encode() + b"\xff\xfe\xfd")
    for args in (
        ("remember", CANARY, "--said-at", "x"),
        ("remember", f"{CANARY} " * 2_000),
        ("remember", CANARY, "--meta", f'a:=["{CANARY}"'),
        ("import", str(chat)),
    ):
        for form in ((), ("--json",)):
            result = cli.run(*form, *args, code=2)
            assert CANARY not in result.stdout + result.stderr, args
    assert CANARY not in cli.run("ingest", str(torn)).output


# --- R40

PATHS = [
    "../../etc", "..%2f..%2fetc", "..\\..\\x", "/etc/passwd", "a/../../b", "~root", "CON", ".",
    "..", "owner.lock", "log", "x" * 200, "a\nb", "file:///etc/passwd", "$(touch x)", "con_../..",
]  # fmt: skip


@pytest.fixture
def beside(tmp_path: Path, data: Path) -> Iterator[Callable[[], None]]:
    """Tells that nothing but the data folder changed."""
    (tmp_path / "b").write_text("b")
    (tmp_path / "etc").mkdir()

    def others() -> dict[str, tuple[int, int]]:
        return {
            path: state
            for path, state in snapshot(tmp_path).items()
            if not Path(path).is_relative_to(data) and path != str(data)
        }

    before = others()

    def check() -> None:
        assert others() == before
        inside = {path.name for path in data.iterdir()}
        assert inside <= {"log", "views", "owner.lock", "clock"}, inside

    yield check


@pytest.mark.parametrize("name", PATHS)
def test_r40_a_name_is_never_a_path(memory: Memory, beside: Callable[[], None], name: str) -> None:
    here = memory.container(name)
    here.remember("A fact.", id=name, tags=[name], metadata={name: name}, scope={"user": name})
    here.ingest("A page.", id=name, title=name, address=name)
    here.add_messages([{"content": "A word.", "id": name, "name": name}], conversation=name)
    for what in ("fact", "document", "message"):
        (item,) = here.list(what).items
        assert item.caller_id == name
    assert here.list("document", source=name).total == 1
    here.ingest("A page, newer.", id=name)
    here.remove_document(name)
    here.erase(here.list("message").items[0].id)
    beside()


@pytest.mark.parametrize("name", ["x\0y", "x" * 201, "", "\ud83d", " \t", "\N{ZERO WIDTH SPACE}"])
def test_r40_a_name_that_is_none_is_refused(
    memory: Memory, beside: Callable[[], None], name: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.container(name).remember("A fact.")
    assert refused.value.field == "container"
    if len(name) < 200:
        with pytest.raises(InvalidInput) as refused:
            memory.ingest("A page.", id=name)
        assert refused.value.field == "id"
    assert memory.containers().total == 0


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "~root", "-rf", "CON"])
def test_r40_on_the_command_line(
    cli: Cli, tmp_path: Path, beside: Callable[[], None], name: str
) -> None:
    cli.run(f"--container={name}", "remember", "A fact.", f"--id={name}")
    cli.run(f"--container={name}", "ingest", "-", f"--as={name}", input="A page.")
    listed = cli.told(f"--container={name}", "list", "--what", "document")
    assert listed["items"][0]["caller_id"] == name
    beside()


def test_r40_links_in_a_folder_lead_nowhere(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("The marmot is outside.")
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "good.md").write_text("Good.")
    (folder / "etc").symlink_to("/etc")
    (folder / "out").symlink_to(outside)
    (folder / "secret.md").symlink_to(outside / "secret.md")
    (folder / "sub" / "up").symlink_to("..")
    (folder / "sub" / "loop").symlink_to("loop")
    (folder / "hard.md").symlink_to("/proc/self/environ")
    os.mkfifo(folder / "pipe")
    for args in ((str(folder),), (f"{folder}/*",), (f"{folder}/**/*",), (f"{folder}/sub/../",)):
        told = cli.told("ingest", *args)
        assert {skip["path"].split("/")[-1] for skip in told["skipped"]} >= {
            "etc", "out", "secret.md", "hard.md", "pipe",
        }, args  # fmt: skip
    listed = cli.told("list", "--what", "document", "--all")["items"]
    assert {item["text"] for item in listed} == {"Good."}
    assert cli.told("search", "marmot")["hits"] == []


def test_r40_a_replay_is_built_in_a_new_folder_only(
    memory: Memory, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("A fact.")
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "to-full").symlink_to(full)
    (tmp_path / "to-store").symlink_to(data)
    (tmp_path / "loop").symlink_to("loop")
    before = snapshot(tmp_path)
    monkeypatch.chdir(tmp_path)
    for to in (
        full, full / ".." / "full", tmp_path / "file", tmp_path / "file" / "x", "file/../file",
        tmp_path / "to-full", tmp_path / "loop", tmp_path / "loop" / "x", "x" * 300, "a\0b", "",
        " ", ".", data, data / "log", data / "views", data / "new", data / "log" / "new" / "er",
        tmp_path / "to-store" / "new", "/proc/nowhere/x", "/dev/null", "\ud83d",
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as refused:
            memory.replay("@2", to=str(to))
        assert refused.value.field == "to", to
    with pytest.raises(InvalidInput) as refused:
        memory.replay("@99999", to=str(tmp_path / "never"))
    assert snapshot(tmp_path).keys() == before.keys()
    assert (full / "mine.txt").read_text() == "mine"
    # Whoever owns the store, a relative path is the caller's.
    assert memory.replay("@2", to="then").to == str(tmp_path / "then")
    with Memory(tmp_path / "then", "s") as then:
        assert [item.text for item in then.list().items] == ["A fact."]


def test_r40_a_replay_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    cli.run("remember", "A fact.")
    for to in ("x" * 300, str(cli.data / "new"), str(tmp_path), "/dev/null/x", ""):
        cli.run("replay", "--at", "@2", "--to", to, code=2)
