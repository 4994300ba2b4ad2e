"""`ingest` and `import` over a store that keeps only what it needs to answer."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput, StoreFull
from rewound.memory import replies as r
from rewound.memory import requests as q
from tests.cli import fake
from tests.cli.fake import FakeLink, run


class Shelf(FakeLink):
    """Documents by their caller's id, messages by their content: new, changed or seen again."""

    def __init__(self, **answers: fake.Answer) -> None:
        super().__init__(**answers)
        self.documents: dict[str, q.NewDocument] = {}
        self.messages: set[str] = set()

    def call(self, request: Any) -> r.Reply:
        match request:
            case q.Ingest():
                self.requests.append(request)
                return self._written(request, [self._document(one) for one in request.documents])
            case q.AddMessages():
                self.requests.append(request)
                return self._written(request, [self._message(one) for one in request.messages])
            case q.List():
                views = tuple(
                    r.View(
                        id=f"doc_{name}",
                        kind="document",
                        text=one.text,
                        caller_id=name,
                        address=one.address,
                    )
                    for name, one in self.documents.items()
                )
                return r.Page(
                    container="default",
                    items=views,
                    total=len(views),
                    limit=100,
                    has_more=False,
                    cursor=None,
                    moment=fake.NOW,
                )
            case q.RemoveDocument():
                self.requests.append(request)
                del self.documents[request.id.removeprefix("doc_")]
                item = r.Item(status="done", kind="document", id=request.id, event="ev_r")
                return msgspec.structs.replace(fake.WRITTEN, items=(item,))
        return super().call(request)

    def _document(self, one: q.NewDocument) -> r.Item:
        name = one.id or one.text
        before = self.documents.get(name)
        self.documents[name] = one
        status: Any = "written" if before is None else "replaced"
        if before is not None and before.text == one.text:
            status = "seen again"
        return r.Item(
            status=status, kind="document", id=f"doc_{name}", caller_id=one.id, event="ev"
        )

    def _message(self, one: q.NewMessage) -> r.Item:
        if one.content.startswith("refuse"):
            return r.Item(status="refused", kind="message", field="content", message="is refused")
        status: r.Status = "seen again" if one.content in self.messages else "written"
        self.messages.add(one.content)
        return r.Item(status=status, kind="message", id="msg_1", event="ev")

    def _written(self, request: q.Write, items: list[r.Item]) -> r.Written:
        number = len(self.requests)
        pending = sum(item.status in ("written", "replaced") for item in items)
        return r.Written(
            container=request.container,
            group=f"grp_{number}",
            position=number,
            items=tuple(items),
            pending=pending,
        )


def told(link: FakeLink, *args: str, **more: Any) -> Any:
    return json.loads(run(*args, "--json", link=link, **more).stdout)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# Guide\nText.\n")
    (folder / "b.py").write_text("b = 1\n")
    (folder / "c.bin").write_bytes(b"\0\1")
    (folder / ".hidden").write_text("x")
    return folder


def test_a_folder_goes_in_and_again_only_what_changed(notes: Path) -> None:
    link = Shelf()
    first = told(link, "ingest", str(notes))
    assert first["reply"] == "Ingested"
    assert first["counts"] == {
        "written": 2,
        "replaced": 0,
        "unchanged": 0,
        "refused": 0,
        "skipped": 2,
        "removed": 0,
    }
    assert [item["caller_id"] for item in first["items"]] == ["notes/a.md", "notes/b.py"]
    assert {skip["path"]: skip["why"] for skip in first["skipped"]} == {
        "notes/.hidden": "hidden",
        "notes/c.bin": "binary (a zero byte at 0)",
    }
    assert (first["groups"], first["pending"]) == (["grp_1"], 2)
    (notes / "b.py").write_text("b = 2\n")
    again = told(link, "ingest", str(notes))
    assert (again["counts"]["replaced"], again["counts"]["unchanged"]) == (1, 1)


def test_a_document_carries_what_is_known_of_it(notes: Path) -> None:
    link = Shelf()
    options = ("--tag", "t", "--meta", "k=v", "--said-at", "2026", "--user", "u", "--no-infer")
    told(link, "ingest", str(notes / "a.md"), *options)
    (request,) = link.requests
    assert request.infer is False
    assert request.scope == q.Scope(user="u")
    assert request.documents == (
        q.NewDocument(
            text="# Guide\nText.\n",
            id="notes/a.md",
            title="Guide",
            address=str(notes / "a.md"),
            media="markdown",
            said_at="2026",
            tags=("t",),
            metadata={"k": "v"},
        ),
    )


def test_a_person_reads_an_account(notes: Path) -> None:
    link = Shelf()
    result = run("ingest", str(notes), link=link)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "written  notes/a.md  doc_notes/a.md",
        "written  notes/b.py  doc_notes/b.py",
        "skipped  notes/c.bin  binary (a zero byte at 0)",
        "2 written, 2 skipped (1 hidden) in default",
        "facts are still to be derived from 2 items: rewound jobs",
        "undo with: rewound undo grp_1",
    ]
    again = run("ingest", str(notes), link=link).stdout.splitlines()
    assert "2 unchanged, 2 skipped (1 hidden) in default" in again


def test_a_terminal_sees_a_bar_and_the_output_stays_clean(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False
    )
    result = run("ingest", str(notes), "--color", "never", link=Shelf(), env={"TERM": "xterm"})
    assert result.exit_code == 0
    assert "reading" in result.stderr
    assert "2 written" in result.stdout
    chat = notes / "chat.jsonl"
    chat.write_text(lines(*CHAT))
    result = run("import", str(chat), "--color", "never", link=Shelf(), env={"TERM": "xterm"})
    assert result.exit_code == 0
    assert "importing" in result.stderr


def test_standard_input_and_aliases(notes: Path) -> None:
    link = Shelf()
    told(link, "ingest", "-", "--as", "todo", "--media", "markdown", input="- buy milk\n")
    (document,) = link.requests[-1].documents
    assert (document.text, document.id, document.title) == ("- buy milk\n", "todo", None)
    assert (document.media, document.address) == ("markdown", None)
    told(link, "ingest", str(notes / "a.md"), "--as", "handbook")
    assert link.requests[-1].documents[0].id == "handbook"
    told(link, "ingest", str(notes), "--as", "mine")
    assert [one.id for one in link.requests[-1].documents] == ["mine/a.md", "mine/b.py"]


def test_two_files_of_one_id_never_replace_each_other(tmp_path: Path) -> None:
    for parent in ("one", "two"):
        (tmp_path / parent / "docs").mkdir(parents=True)
        (tmp_path / parent / "docs/x.md").write_text(parent)
    link = Shelf()
    both = (str(tmp_path / "one/docs"), str(tmp_path / "two/docs"))
    result = told(link, "ingest", *both)
    assert result["counts"]["written"] == 1
    assert "has the same id" in result["skipped"][0]["why"]
    (only,) = told(Shelf(), "ingest", both[0], f"{both[0]}/x.md")["items"]  # the same file twice
    assert only["caller_id"] == "docs/x.md"


def test_prune_removes_what_is_gone_and_nothing_else(notes: Path, tmp_path: Path) -> None:
    link = Shelf()
    other = tmp_path / "other/notes"
    other.mkdir(parents=True)
    (other / "z.md").write_text("z")
    told(link, "ingest", str(notes))
    told(link, "ingest", str(other))
    told(link, "ingest", "-", input="text", env=None)
    (notes / "a.md").unlink()
    (other / "z.md").unlink()
    (notes / "b.py").write_bytes(b"\0")  # still there, though no text any more
    without = told(link, "ingest", str(notes))
    assert without["removed"] == []
    result = told(link, "ingest", str(notes), "--prune")
    assert [item["caller_id"] for item in result["removed"]] == ["notes/a.md"]
    assert result["counts"]["removed"] == 1
    assert set(link.documents) == {"notes/b.py", "notes/z.md", "text"}


def test_batches_carry_keys_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(130):
        (folder / f"{number:03}.txt").write_text(str(number))
    link = Shelf()
    result = told(link, "ingest", str(folder), "--key", "k")
    assert [len(request.documents) for request in link.requests] == [64, 64, 2]
    assert [request.key for request in link.requests] == ["k", "k/1", "k/2"]
    assert result["groups"] == ["grp_1", "grp_2", "grp_3"]
    assert result["position"] == 3


def test_a_batch_refused_whole_is_sent_file_by_file(notes: Path) -> None:
    def pick(request: q.Ingest) -> r.Reply:
        if any(one.id == "notes/a.md" for one in request.documents):
            raise InvalidInput("text is blank", field="documents[0].text")
        return Shelf().call(request)

    link = FakeLink(Ingest=pick)
    result = run("ingest", str(notes), "--json", link=link)
    assert result.exit_code == 2
    items = json.loads(result.stdout)["items"]
    assert [(item["status"], item["caller_id"]) for item in items] == [
        ("refused", "notes/a.md"),
        ("written", "notes/b.py"),
    ]
    assert (items[0]["field"], items[0]["message"]) == ("text", "text is blank")


def test_what_is_wrong_with_the_whole_request_ends_it(notes: Path) -> None:
    error = InvalidInput("container is blank", field="container")
    link = FakeLink(Ingest=error)
    result = run("ingest", str(notes), link=link)
    assert (result.exit_code, result.stderr) == (2, "error: container is blank\n")
    assert len(link.requests) == 1


def test_when_a_later_batch_fails_the_earlier_ones_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(65):
        (folder / f"{number:03}.txt").write_text(str(number))
    shelf = Shelf()

    def full(request: q.Ingest) -> r.Reply:
        if len(request.documents) < 64:
            raise StoreFull("no room")
        return shelf.call(request)

    result = run("ingest", str(folder), link=FakeLink(Ingest=full))
    assert result.exit_code == 4
    assert result.stderr.splitlines() == [
        "kept before this: 64 items (undo with: rewound undo grp_1)",
        "error: no room",
    ]


def test_nothing_is_sent_when_one_path_is_wrong(notes: Path) -> None:
    link = Shelf()
    result = run("ingest", str(notes), str(notes / "missing"), link=link)
    assert result.exit_code == 2
    assert link.requests == []


CHAT = [
    {"conversation": "a", "content": "Hello", "name": "Nina", "time": "2026-03-02T10:00:00Z"},
    {"conversation": "b", "content": "Good morning"},
    {"conversation": "a", "content": "Hi", "role": "assistant"},
]


def lines(*rows: Any) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def test_a_chat_goes_in_once(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(lines(*CHAT))
    link = Shelf()
    first = told(link, "import", str(file))
    assert first["reply"] == "Imported"
    assert first["counts"] == {"lines": 3, "written": 3, "unchanged": 0, "refused": 0, "bad": 0}
    assert first["conversations"] == 2
    assert [(one.conversation, len(one.messages)) for one in link.requests] == [("a", 2), ("b", 1)]
    again = told(link, "import", "-", input=file.read_text())
    assert (again["counts"]["written"], again["counts"]["unchanged"]) == (0, 3)


def test_bad_lines_are_told_by_number_and_good_ones_kept() -> None:
    link = Shelf()
    text = lines(CHAT[0], "{cut", "", CHAT[1], {"content": "refuse me"}, {"text": "?"}, CHAT[2])
    result = run("import", "-", link=link, input=text)
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "line 2  not JSON: expected object key or '}'"
        if "expected object key" in result.stdout
        else result.stdout.splitlines()[0],
        "line 5  content: is refused",
        "line 6  text is not a field here: use content, role, name, id, conversation, time, tags, "
        "metadata or importance",
        "3 written, 3 lines left out: 3 conversations in default",
        "facts are still to be derived from 3 items: rewound jobs",
        "undo with: rewound undo grp_1",
        "undo with: rewound undo grp_2",
        "undo with: rewound undo grp_3",
    ]
    assert result.stdout.startswith("line 2  not JSON")
    bad = told(Shelf(), "import", "-", input=text)["bad"]
    assert [line["line"] for line in bad] == [2, 5, 6]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_chat_may_be_one_json_list(indent: int | None) -> None:
    link = Shelf()
    result = told(link, "import", "-", input=json.dumps([*CHAT, {"content": 5}], indent=indent))
    assert result["counts"]["written"] == 3 and result["source"] == "lines"
    assert [(line["line"], line["why"][:7]) for line in result["bad"]] == [(4, "content")]
    assert [(one.conversation, len(one.messages)) for one in link.requests] == [("a", 2), ("b", 1)]


@pytest.mark.parametrize("value", [{"notes": []}, [{"text": "x"}], [5], {"memories": 3}])
def test_json_that_is_no_export_is_explained(value: Any) -> None:
    link = Shelf()
    result = run("import", "-", input=json.dumps(value, indent=2), link=link)
    assert result.exit_code == 2 and not link.requests
    assert "neither a chat" in result.stderr and "memry" in result.stderr


def test_an_empty_file_is_no_error() -> None:
    result = run("import", "-", input="\n", link=Shelf())
    assert result.exit_code == 0
    assert result.stdout == "no messages: 0 conversations in default\n"


def test_options_reach_every_batch() -> None:
    link = Shelf()
    told(link, "import", "-", "--no-infer", "--session", "s", "--key", "k", input=lines(*CHAT))
    assert [request.key for request in link.requests] == ["k", "k/1"]
    assert all(request.infer is False for request in link.requests)
    assert all(request.scope == q.Scope(session="s") for request in link.requests)


@pytest.mark.slow
def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    import tracemalloc

    file = tmp_path / "chat.jsonl"
    with file.open("w") as out:
        for number in range(60_000):
            row = {"conversation": f"c{number // 500}", "content": f"{number} " + "word " * 150}
            out.write(json.dumps(row) + "\n")
    size = file.stat().st_size
    assert size > 45_000_000

    def count(request: q.AddMessages) -> r.Reply:
        items = tuple(r.Item(status="written", kind="message") for _ in request.messages)
        return msgspec.structs.replace(fake.WRITTEN, items=items)

    class Forgetful(FakeLink):
        def call(self, request: Any) -> r.Reply:
            self.requests.clear()
            return super().call(request)

    tracemalloc.start()
    try:
        result = told(Forgetful(AddMessages=count), "import", str(file))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result["counts"]["written"] == 60_000
    assert peak < 30_000_000
