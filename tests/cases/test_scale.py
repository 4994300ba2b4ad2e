"""R17 and R31: one large document, and lists of many equal times."""

import threading
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.replies import View
from tests.cases.given import Cli, Clock, id_of, pages, texts

LINES = 50_000
UNIQUE = {
    7: "The zebra vault opens at nine.",
    25_000: "The walrus archive lies in Turin.",
    49_993: "The ibex ledger is bound in green.",
}


def large(changed: dict[int, str]) -> str:
    facts = UNIQUE | changed
    return "".join(
        f"{facts[number]}\n"
        if number in facts
        else f"Line {number}: nothing but filler text, to make up the bulk.\n"
        for number in range(1, LINES + 1)
    )


@pytest.mark.slow
def test_r17_a_large_document_and_one_changed_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_text(large({}))
    assert file.stat().st_size > 2_500_000
    told = cli.told("ingest", str(file), "--as", "large")
    assert told["counts"]["written"] == 1
    then = told["position"]
    with Memory(cli.data) as memory:
        before = list(pages(memory, "passage", limit=1000))
        for text in UNIQUE.values():
            assert text in memory.search(text, what="passage", limit=1).hits[0].text
        # Passages cut the document up without gaps, overlaps or loss.
        (document,) = memory.list("document").items
        spans = [source for item in before for source in item.sources]
        ends = [0, *(source.end for source in spans)]
        assert [source.start for source in spans] == ends[:-1] or all(
            start is not None and end is not None and start >= end
            for start, end in zip((source.start for source in spans), ends, strict=False)
        )
        whole = memory.get(document.id).item.text
        assert whole.rstrip() == large({}).rstrip()
    new = "The zebra vault opens at ten."
    file.write_text(large({7: new}))
    told = cli.told("ingest", str(file), "--as", "large")
    assert told["counts"].get("replaced") == 1
    with Memory(cli.data) as memory:
        after = list(pages(memory, "passage", limit=1000))
        assert len(after) == len(before)
        gone = {item.id for item in before} - {item.id for item in after}
        assert len(gone) == 1, "all parts but one keep their ids"
        for number in (25_000, 49_993):
            found = memory.search(UNIQUE[number], what="passage").hits
            hits = [hit for hit in found if UNIQUE[number] in hit.text]
            assert len(hits) == 1 and hits[0].standing.state == "current"
        now = texts(memory.search("zebra vault", what="passage"))
        assert new in now[0] and sum("zebra vault" in text for text in now) == 1
        past = memory.as_of(then).search("zebra vault", what="passage")
        assert UNIQUE[7] in past.hits[0].text
        assert memory.jobs().pending <= len(after)
    file.write_text(large({7: new}))
    counts = cli.told("ingest", str(file), "--as", "large")["counts"]
    assert {name for name, count in counts.items() if count} == {"unchanged"}


LINES_READ = 3_000
SAID = {
    7: "Mara lives in Porto",
    8: "Otto lives in Ghent",  # in the part of line 7, and so read again with it
    1_500: "Jonas works for Arvo",
    2_993: "Petra lives in Oslo",
}
MOVED = "Mara lives in Lisbon"
RULES = Models(extractor="rules", embedder="none")


def readable(facts: dict[int, str]) -> str:
    filler = "nothing but filler text, to make up the bulk"
    return "".join(
        f"{facts.get(number, f'Line {number}: {filler}')}.\n" for number in range(1, LINES_READ + 1)
    )


def stated(memory: Memory, text: str) -> list[View]:
    """The facts with that wording, whatever became of them."""
    found = memory.search(text, what=["fact"], limit=20, include_superseded=True)
    names = [n for hit in found.hits if hit.text == text for n in (hit.id, *hit.also)]
    return [memory.get(name).item for name in names if name.startswith("fact_")]


@pytest.mark.parametrize("door", ["library", "command line"])
def test_r17_one_changed_line_ends_one_fact(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    monkeypatch.setenv("REWOUND_EMBEDDER", "none")
    file = tmp_path / "large.txt"

    def opened() -> Memory:
        return Memory(cli.data, models=RULES)

    def send(text: str) -> dict[str, Any]:
        """The document with that text, read to the end: what it had been, and had read anew."""
        file.write_text(text)
        if door == "command line":
            counts = cli.told("ingest", str(file), "--as", "large")["counts"]
            status = next(name for name, count in counts.items() if count)
        else:
            with opened() as memory:
                status = memory.ingest(text, id="large").items[0].status
        with opened() as memory:
            memory.own()
            assert memory.workers("wait", timeout_s=600).pending == 0
            finished = memory.events(types=["extraction finished"], limit=1000).events
            covered = [len(event.data["covered"]) for event in finished]
            ids = {number: [view.id for view in stated(memory, SAID[number])] for number in SAID}
            return {"status": status, "covered": covered, "ids": ids}

    first = send(readable(SAID))
    assert first["status"] == "written"
    assert {number: len(ids) for number, ids in first["ids"].items()} == dict.fromkeys(SAID, 1)
    with opened() as memory:
        then = memory.list("fact", limit=1).moment.position
        count = memory.list("fact", limit=1).total
    second = send(readable({**SAID, 7: MOVED}))
    assert (second["status"], second["ids"]) == ("replaced", first["ids"]), "none ended or doubled"
    assert second["covered"][len(first["covered"]) :] == [1], "one part was read again"
    with opened() as memory:
        states = {
            text: [view.standing.state for view in stated(memory, text) if view.standing]
            for text in (*SAID.values(), MOVED)
        }
        assert states == {
            SAID[7]: ["superseded"],  # over with its line, and by what the new line says
            SAID[8]: ["current"],
            SAID[1_500]: ["current"],
            SAID[2_993]: ["current"],
            MOVED: ["current"],
        }
        assert memory.list("fact", limit=1).total == count, "the neighbours of line 7 came back"
        before = memory.as_of(f"@{then}").get(first["ids"][7][0]).item.standing
        assert before is not None and before.state == "current"
    third = send(readable(SAID))
    with opened() as memory:
        assert {**third["ids"], 7: []} == {**first["ids"], 7: []}
        again = [view.standing.state for view in stated(memory, SAID[7]) if view.standing]
        assert sorted(again) == ["current", "superseded"], "a second time of the same"
        over = [view.standing.state for view in stated(memory, MOVED) if view.standing]
        assert over == ["superseded"], "by the words that are back"


@pytest.mark.parametrize(
    "change", ["first line", "last line", "inserted", "deleted", "moved", "doubled"]
)
def test_r17_unchanged_parts_keep_their_ids(memory: Memory, change: str) -> None:
    parts = [f"Paragraph {n} tells of the year {1500 + n}, at some length. " * 9 for n in range(40)]
    memory.ingest("\n\n".join(parts), id="doc")
    before = {item.text: item.id for item in memory.list("passage", limit=1000).items}
    changed = {
        "first line": ["A new beginning of the chronicle.", *parts[1:]],
        "last line": [*parts[:-1], "Another ending of the chronicle."],
        "inserted": [*parts[:20], "Something in between the years.", *parts[20:]],
        "deleted": [*parts[:20], *parts[21:]],
        "moved": [*parts[1:], parts[0]],
        "doubled": [*parts, parts[5]],
    }[change]
    memory.ingest("\n\n".join(changed), id="doc")
    after = [(item.text, item.id) for item in memory.list("passage", limit=1000).items]
    kept = [text for text, item in after if before.get(text) == item]
    assert len(kept) >= len(before) - 3, (len(kept), len(before))
    assert len({item for _, item in after}) == len(after)
    for number in (1, 10, 30):
        assert len([hit for hit in memory.search(f"year {1500 + number}").hits
                    if f"year {1500 + number}," in hit.text]) == 1  # fmt: skip


def test_r17_over_the_limit_is_told_with_the_limit(memory: Memory, cli: Cli) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.ingest("x" * (33 << 20))
    assert refused.value.field == "text" and "32 MB" in refused.value.message
    assert memory.containers().total == 0


# --- R31

FACTS = 1_203
TIME = "2026-03-01T10:00:00Z"


@pytest.fixture
def many(memory: Memory) -> Memory:
    memory.remember(
        [{"text": f"Fact number {number}.", "said_at": TIME} for number in range(FACTS)]
    )
    return memory


def test_r31_each_once_while_others_write_and_forget(many: Memory, data: Path) -> None:
    ids = [item.id for item in pages(many, limit=1_000)]
    assert len(ids) == len(set(ids)) == FACTS
    with Memory(data, "s") as second:  # another client of the same store
        page = many.list(limit=200)
        seen = [item.id for item in page.items]
        assert (page.total, page.limit, page.has_more) == (FACTS, 200, True)
        forgotten = seen[17]
        second.forget(forgotten)
        stop = threading.Event()

        def add() -> None:
            number = 0
            while not stop.wait(0.005):
                second.remember(f"A later fact, number {number}.", said_at=TIME)
                number += 1

        adding = threading.Thread(target=add)
        adding.start()
        try:
            while page.cursor is not None:
                page = many.list(limit=200, cursor=page.cursor)
                seen += [item.id for item in page.items]
        finally:
            stop.set()
            adding.join()
    assert len(seen) == len(set(seen)), "none twice"
    assert set(seen) - {forgotten} >= set(ids) - {forgotten}, "none left out"
    assert forgotten not in {item.id for item in pages(many)}


@pytest.mark.parametrize("limit", [1, 200, 401, 1_000])
def test_r31_pages_add_up(many: Memory, limit: int) -> None:
    if limit > 1:
        assert len({item.id for item in pages(many, limit=limit)}) == FACTS
    else:
        page = many.list(limit=1)
        assert page.has_more and len(page.items) == 1
    assert next(iter(many.stats().info)).counts["facts"] == FACTS
    assert many.list(limit=limit).total == FACTS


@pytest.mark.parametrize("limit", [0, -1, 100_000, 1_001, "abc", "5", 1.5, True, None, 10**30])
def test_r31_a_limit_that_is_none_is_refused(memory: Memory, limit: Any) -> None:
    memory.remember("A fact.")
    asks = (
        lambda: memory.list(limit=limit),
        lambda: memory.search("fact", limit=limit),
        lambda: memory.events(limit=limit),
        lambda: memory.jobs(limit=limit),
        lambda: memory.containers(limit=limit),
    )
    for ask in asks:
        with pytest.raises(InvalidInput) as refused:
            ask()
        assert refused.value.field == "limit"


HUGE = 10**5_000  # Python refuses to write out so many digits
POSITIONS: dict[str, str | int] = {
    "text": "@" + "9" * 5_000, "below": "@-1", "part": "@1.5", "none": "@", "Arabic": "@٣",
    "huge": HUGE, "negative": -1, "over 63 bits": 1 << 63,
}  # fmt: skip


@pytest.mark.parametrize("name", POSITIONS)
def test_r31_a_position_that_is_none_is_refused(memory: Memory, cli: Cli, name: str) -> None:
    at: Any = POSITIONS[name]
    memory.remember("A fact.")
    for ask in (lambda: memory.list(as_of=at), lambda: memory.events(since=at)):
        with pytest.raises(InvalidInput) as refused:
            ask()
        assert refused.value.field in ("as_of", "since")
    if isinstance(at, str):
        cli.run("-c", "s", "log", "--since", at, code=2)
    else:
        with pytest.raises(InvalidInput):
            memory.remember("Another fact.", said_at=float("inf") if at < 0 else at)
        with pytest.raises(InvalidInput):
            memory.list(limit=at)
        with pytest.raises(InvalidInput):
            memory.events(after=-at if at > 0 else at)


def test_r31_cursors(many: Memory) -> None:
    cursor = many.list(limit=1_000).cursor
    assert cursor is not None
    last = many.list(limit=1_000, cursor=cursor)
    assert (len(last.items), last.has_more, last.cursor) == (203, False, None)
    altered = [cursor[:-1] + ("A" if cursor[-1] != "A" else "B"), cursor[1:], cursor + "A"]
    for bad in [*altered, cursor[: len(cursor) // 2], "x", "12", "fact_", cursor.swapcase(), "é"]:
        with pytest.raises(InvalidInput) as refused:
            many.list(limit=1_000, cursor=bad)
        assert refused.value.field == "cursor", bad
    others: list[dict[str, Any]] = [
        {"what": "document"},
        {"tags": "x"},
        {"include_superseded": True},
    ]
    for other in others:
        with pytest.raises(InvalidInput):
            many.list(limit=1_000, cursor=cursor, **other)
    many.container("other").remember("Elsewhere.")
    with pytest.raises(InvalidInput):
        many.container("other").list(limit=1_000, cursor=cursor)
    # Past the end: what the cursor stood before was forgotten meanwhile.
    rest = [item.id for item in last.items]
    many.forget(rest)
    empty = many.list(limit=1_000, cursor=cursor)
    assert (empty.items, empty.has_more, empty.cursor) == ((), False, None)


def test_r31_a_rebuild_counts_all(many: Memory, data: Path) -> None:
    before = [item.id for item in pages(many)]
    assert many.rebuild().equal
    assert [item.id for item in pages(many)] == before
    many.close()
    with Memory(data, "s", clock=Clock("2026-06-02")) as again:
        assert [item.id for item in pages(again)] == before
        rows = again.replay(f"@{again.stats().events}", verify=False).rows
        assert rows["facts"] == FACTS


def test_r31_on_the_command_line(cli: Cli, many: Memory) -> None:
    told = cli.told("-c", "s", "list", "--all")
    ids = [item["id"] for item in told["items"]]
    assert len(ids) == len(set(ids)) == FACTS
    for limit in ("0", "-1", "100000", "abc", ""):
        cli.run("-c", "s", "list", "--limit", limit, code=2)
    assert id_of(many.remember("The last."))
    assert cli.told("-c", "s", "list", "--limit", "7")["total"] == FACTS + 1
