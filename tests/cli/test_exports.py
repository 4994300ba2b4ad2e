"""Exports of other memories, imported: known by what they hold, kept with times, scopes and ids."""

import json
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import pytest
from click.testing import CliRunner, Result

from rewound.http.chats import Sorter
from rewound.http.cli import main
from rewound.http.cli_errors import Refusal
from rewound.http.export_records import FACT_CHARS_MAX
from rewound.http.exports import Export, opened
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.requests import NewMessage


def imported(folder: Path, exported: Any, *args: str) -> Any:
    """The reply to `import` of what was exported, which nothing was wrong with."""
    result = attempted(folder, exported, *args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def attempted(folder: Path, exported: Any, *args: str) -> Result:
    file = folder / "export.json"
    text = exported if isinstance(exported, str) else json.dumps(exported, indent=2)
    file.write_text(text, encoding="utf-8")
    given = ["import", str(file), "--json", "--data", str(folder / "data"), *args]
    return CliRunner().invoke(main, given)


def kept(folder: Path, what: Any = "fact", **more: Any) -> dict[str, r.View]:
    with Memory(folder / "data") as memory:
        return {view.text: view for view in memory.list(what=what, **more).items}


# --- memry

MEMORY = {
    "id": "m1", "content": "Nina works at Orbit Labs.", "memory_type": "semantic",
    "user_id": "nina", "agent_id": None, "run_id": None, "importance": 0.8,
    "categories": '["work", "people"]', "entities": "[]", "metadata": '{"source": "chat"}',
    "created_at": "2026-03-01T10:00:00+00:00", "updated_at": "2026-03-01T10:00:00+00:00",
    "valid_from": "2025-05-01", "invalid_at": None, "superseded_by": None,
    "embedding": {"__memry_base64__": "AAAA"},
}  # fmt: skip


def memry(*memories: dict[str, Any]) -> dict[str, Any]:
    tables = {"episodes": [{"id": "e1", "content": "I work at Orbit."}], "memories": list(memories)}
    return {"format": "memry-backup", "version": 1, "scope": {}, "tables": tables}


def test_memories_of_memry_keep_times_scope_tags_and_importance(tmp_path: Path) -> None:
    told = imported(tmp_path, memry(MEMORY))
    assert (told["source"], told["counts"]["written"]) == ("memry", 1)
    (view,) = kept(tmp_path).values()
    assert (view.text, view.caller_id, view.fact_kind) == (MEMORY["content"], "m1", "fact")
    assert (view.tags, view.metadata) == (("people", "work"), {"source": "chat"})
    assert view.scope == {"user": "nina"} and view.importance == 0.8
    assert (view.valid_from, str(view.said_at)[:10]) == ("2025-05-01", "2026-03-01")


def test_what_memry_replaced_is_history_and_what_it_forgot_is_left_out(tmp_path: Path) -> None:
    over = {"invalid_at": "2026-02-01T00:00:00+00:00", "created_at": "2026-01-01T00:00:00+00:00"}
    old = {**MEMORY, **over, "id": "m0", "content": "Nina works at Pier 9.", "valid_from": None}
    told = imported(
        tmp_path,
        memry(
            {**old, "superseded_by": "m1"},
            {**old, "id": "m2", "content": "A secret.", "superseded_by": None},
            {**old, "id": "m4", "invalid_at": over["created_at"], "superseded_by": "m1"},
            {
                **MEMORY,
                "importance": 0.5,
                "memory_type": "procedural",
                "id": "m3",
                "content": "To start, run make.",
            },
            MEMORY,
        ),
    )
    assert told["notes"][-2:] == [
        "1 left out: forgotten there",
        "1 left out: replaced as soon as it was said",
    ]
    assert told["counts"] == {"lines": 5, "written": 3, "unchanged": 0, "refused": 0, "bad": 0}
    now, then = kept(tmp_path), kept(tmp_path, valid_at="2026-01-15")
    assert set(now) == {"Nina works at Orbit Labs.", "To start, run make."}
    assert "Nina works at Pier 9." in then and "A secret." not in then
    procedure = now["To start, run make."]
    assert (procedure.fact_kind, procedure.importance) == ("procedure", None)


def test_an_export_that_is_imported_again_adds_nothing(tmp_path: Path) -> None:
    imported(tmp_path, memry(MEMORY))
    again = imported(tmp_path, json.dumps(memry(MEMORY)))
    assert (again["counts"]["written"], again["counts"]["unchanged"]) == (0, 1)
    changed = imported(tmp_path, memry({**MEMORY, "content": "Nina works at Harbor Foods."}))
    assert changed["counts"]["written"] == 1
    assert set(kept(tmp_path)) == {"Nina works at Harbor Foods."}


def test_a_scope_of_the_command_is_that_of_all(tmp_path: Path) -> None:
    imported(tmp_path, memry(MEMORY), "--agent", "desk")
    assert [view.scope for view in kept(tmp_path).values()] == [{"agent": "desk"}]


# --- mcp-memory-service


def test_memories_of_mcp_memory_service(tmp_path: Path) -> None:
    note = {
        "content": "Postgres wants vacuum after the import.", "content_hash": "ab12",
        "tags": ["db", "ops"], "created_at": 1_772_359_200.5, "updated_at": 1_772_359_200.5,
        "memory_type": "learning", "metadata": {"host": "a"}, "store": "default",
        "export_source": "desk",
    }  # fmt: skip
    long = {**note, "content": "word " * FACT_CHARS_MAX, "content_hash": "cd34"}
    export = {"export_metadata": {"total_memories": 2}, "memories": [note, long]}
    told = imported(tmp_path, export)
    assert (told["source"], told["counts"]["written"]) == ("mcp-memory-service", 2)
    view = kept(tmp_path)[note["content"]]  # type: ignore[index]
    assert (view.tags, view.caller_id) == (("db", "ops"), "ab12")
    assert view.metadata == {"host": "a", "memory_type": "learning"}
    assert str(view.said_at).startswith("2026-03-01T10:00:00.5")
    (document,) = kept(tmp_path, "document").values()
    assert document.caller_id == "cd34" and document.text.startswith("word word")


# --- MemMachine, Supermemory, Mem0


def test_episodes_and_features_of_mem_machine(tmp_path: Path) -> None:
    episode = {
        "uid": "0b5c0f0e-0000-4000-8000-000000000001", "content": "I moved to Rome.",
        "session_key": "s1", "created_at": "2026-03-01T10:00:00+01:00", "producer_id": "Nina",
        "producer_role": "user", "metadata": {"room": "kitchen"},
    }  # fmt: skip
    feature = {
        "category": "profile", "tag": "food", "feature_name": "favorite_drink", "value": "tea",
        "metadata": {"id": "7", "citations": []},
    }  # fmt: skip
    content = {"episodic_memory": [episode, {}], "semantic_memory": [feature]}
    result = attempted(tmp_path, {"status": 0, "content": content})
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert (told["source"], told["counts"]["written"]) == ("MemMachine", 2)
    assert told["bad"] == [{"line": 2, "why": "it has no text"}] and told["conversations"] == 1
    (message,) = kept(tmp_path, "message").values()
    assert (message.text, message.speaker, message.conversation) == (
        "I moved to Rome.", "Nina", "s1"
    )  # fmt: skip
    assert message.metadata == {"room": "kitchen"}
    assert kept(tmp_path)["favorite drink: tea"].tags == ("food", "profile")


def test_lists_of_supermemory_in_pages(tmp_path: Path) -> None:
    entry = {
        "id": "a1", "memory": "Omar likes figs.", "isLatest": True, "isForgotten": False,
        "isStatic": True, "createdAt": "2026-03-01T10:00:00Z", "version": 1, "history": [],
    }  # fmt: skip
    old = {**entry, "id": "a0", "memory": "Omar likes plums.", "isLatest": False}
    gone = {**entry, "id": "a2", "memory": "A secret.", "isForgotten": True}
    pages = [{"memoryEntries": [entry], "pagination": {}}, {"memoryEntries": [old, gone]}]
    told = imported(tmp_path, "\n".join(json.dumps(page) for page in pages))
    assert told["source"] == "Supermemory"
    assert set(told["notes"]) == {"1 left out: an older version", "1 left out: forgotten there"}
    (view,) = kept(tmp_path).values()
    assert (view.text, view.tags) == ("Omar likes figs.", ("static",))
    assert str(view.said_at).startswith("2026-03-01")


def test_all_kinds_that_supermemory_lists(tmp_path: Path) -> None:
    system = {"createdAt": "2026-03-01T10:00:00Z", "updatedAt": "2026-03-02T10:00:00Z"}
    memory = {"id": "a1", "memory": "Omar likes figs.", "isLatest": True, "system": system}
    document = {"id": "d1", "title": "Figs", "content": "Figs want sun.", "system": system,
                "url": "https://f.example", "metadata": {"topic": "garden"}}  # fmt: skip
    bare = {"id": "d2", "title": "Plums", "system": system}
    told = imported(
        tmp_path,
        [
            {"documents": [document, bare], "chunks": [], "memories": [], "pagination": {}},
            {"documents": [], "chunks": [], "memories": [memory], "pagination": {}},
        ],
    )
    assert told["counts"]["written"] == 2
    assert told["notes"][-1].startswith("1 left out: a document without its text")
    (view,) = kept(tmp_path, "document").values()
    assert (view.text, view.title, view.address) == (
        "Figs want sun.", "Figs", "https://f.example"
    )  # fmt: skip
    assert view.metadata == {"topic": "garden"} and str(view.said_at).startswith("2026-03-01")
    assert "Omar likes figs." in kept(tmp_path)


def test_memories_of_mem0_keep_their_user(tmp_path: Path) -> None:
    record = {"id": "a1", "memory": "Omar likes figs.", "hash": "x", "metadata": None,
              "created_at": "2026-03-01T10:00:00-07:00", "user_id": "omar"}  # fmt: skip
    for exported in ({"results": [record]}, [record]):
        told = imported(tmp_path, exported)
        assert told["source"] == "Mem0" and told["counts"]["bad"] == 0
    (view,) = kept(tmp_path).values()
    assert view.scope == {"user": "omar"}


# --- what is wrong with a record


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"content": " "}, "it has no text"),
        ({"content": 5}, "it has no text"),
        ({"created_at": "soon"}, "said_at"),
        ({"created_at": [1]}, "created_at"),
        ({"metadata": {"a": {"b": "x" * 70_000}}}, "metadata"),
        ({"importance": 7}, "importance"),
    ],
)
def test_what_cannot_be_kept_is_told_and_the_rest_kept(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    result = attempted(tmp_path, memry({**MEMORY, "id": "bad", **change}, MEMORY))
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    (bad,) = told["bad"]
    assert bad["line"] == 1 and why in bad["why"]
    assert told["counts"]["written"] == 1 and len(kept(tmp_path)) == 1


@pytest.mark.parametrize("indent", [None, 2])
def test_an_export_that_is_cut_is_refused_in_one_line(tmp_path: Path, indent: int | None) -> None:
    result = attempted(tmp_path, json.dumps(memry(MEMORY), indent=indent)[:-3])
    assert result.exit_code == 2
    assert json.loads(result.stderr)["message"].startswith("the file is not JSON: ")


def test_for_a_person_it_says_whose_export_it_was(tmp_path: Path) -> None:
    file = tmp_path / "backup.json"
    file.write_text(json.dumps(memry(MEMORY, {"id": "x"})))
    result = CliRunner().invoke(main, ["import", str(file), "--data", str(tmp_path / "data")])
    assert "record 2  it has no text" in result.stdout
    assert "1 written, 1 record left out: an export of memry in default" in result.stdout


# --- ChatGPT and Claude


def node(name: str, parent: str | None, role: str = "user", *parts: Any, time: Any = 1.5) -> Any:
    message = {
        "id": name, "author": {"role": role, "name": None}, "create_time": time,
        "content": {"content_type": "text", "parts": list(parts)},
    }  # fmt: skip
    return {"id": name, "parent": parent, "message": message if parts or role != "user" else None}


def chatgpt(*nodes: Any, **more: Any) -> dict[str, Any]:
    mapping = {each["id"]: each for each in nodes}
    return {"title": "Figs", "conversation_id": "c1", "mapping": mapping, **more}


TOLD = (
    node("root", None),
    node("sys", "root", "system", "Be kind."),
    node("q1", "sys", "user", "Do figs want sun?", time=1_772_359_200.5),
    node("q2", "sys", "user", "Do figs want shade?"),
    node("a1", "q1", "assistant", "Yes.", {"image": 1}, "A lot.", time=None),
    node("a2", "q2", "assistant", "No."),
    node("t1", "a1", "tool", "{}"),
)


def test_a_conversation_of_chatgpt_is_its_chosen_branch(tmp_path: Path) -> None:
    told = imported(tmp_path, [chatgpt(*TOLD, current_node="t1")])
    assert (told["source"], told["counts"]["written"], told["conversations"]) == ("ChatGPT", 2, 1)
    assert told["notes"][-1].startswith("2 left out: a message that neither")
    messages = kept(tmp_path, "message")
    assert list(messages) == ["Do figs want sun?", "Yes.\nA lot."]
    first = messages["Do figs want sun?"]
    assert (first.role, first.caller_id, first.conversation) == ("user", "q1", "c1")
    assert first.metadata == {"title": "Figs"}
    assert str(first.said_at).startswith("2026-03-01T10:00:00.5")
    again = imported(tmp_path, [chatgpt(*TOLD, current_node="t1", title="Figs, again")])
    assert (again["counts"]["written"], again["counts"]["unchanged"]) == (0, 2)


def test_one_odd_conversation_takes_no_other_along(tmp_path: Path) -> None:
    odd = (
        {"title": None, "mapping": None}, chatgpt(title="../x", conversation_id="c2"), 5,
        {**chatgpt(node("x", "x", "user", "A loop.")), "conversation_id": "c3", "title": None},
        chatgpt({"id": "y", "message": {"author": None, "content": None}}, conversation_id="c4"),
        chatgpt(*TOLD),
    )  # fmt: skip
    result = attempted(tmp_path, list(odd))
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert [line["line"] for line in told["bad"]] == [1, 2]
    assert set(kept(tmp_path, "message")) == {"A loop.", "Do figs want sun?", "Yes.\nA lot."}


def test_the_zip_that_chatgpt_delivers(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with ZipFile(file, "w") as packed:
        packed.writestr("user.json", "{}")
        for number in range(2):
            one = chatgpt(node(f"q{number}", None, "user", f"Question {number}?"),
                          conversation_id=f"c{number}")  # fmt: skip
            packed.writestr(f"export/conversations-{number}.json", json.dumps([one]))
    given = ["import", str(file), "--json", "--data", str(tmp_path / "data")]
    told = json.loads(CliRunner().invoke(main, given).stdout)
    assert (told["source"], told["counts"]["written"], told["conversations"]) == ("ChatGPT", 2, 2)
    with ZipFile(file, "w") as packed:
        packed.writestr("user.json", "{}")
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2 and "holds no conversations.json" in result.stderr


def test_conversations_of_claude(tmp_path: Path) -> None:
    said = {"uuid": "m1", "sender": "human", "text": "", "created_at": "2026-03-01T10:00:00Z",
            "content": [{"type": "text", "text": "Do figs want sun?"}]}  # fmt: skip
    told = {**said, "uuid": "m2", "sender": "assistant", "text": "Yes.", "content": []}
    empty = {**said, "uuid": "m3", "content": []}
    exported = [{"uuid": "c1", "name": "Figs", "chat_messages": [said, told, empty]}]
    reply = imported(tmp_path, exported)
    assert (reply["source"], reply["counts"]["written"]) == ("Claude", 2)
    assert reply["notes"][-1] == "1 left out: a message without words"
    messages = kept(tmp_path, "message")
    assert [(text, view.role) for text, view in messages.items()] == [
        ("Do figs want sun?", "user"), ("Yes.", "assistant")
    ]  # fmt: skip


# --- files that are not as they should be


@pytest.mark.parametrize("packing", [ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
def test_a_broken_zip_is_no_export_and_no_crash(packing: int) -> None:
    one = json.dumps([chatgpt(node("q", None, "user", f"Question {n}?")) for n in range(20)])
    whole = BytesIO()
    with ZipFile(whole, "w", packing) as packed:
        packed.writestr("conversations.json", one)
    raw = whole.getvalue()
    assert isinstance(opened(BytesIO(raw)), Export)
    broken = [raw[:size] for size in range(5, len(raw), 97)]
    broken += [raw[:at] + b"\xff\xff" + raw[at + 2 :] for at in range(len(raw) - 90, len(raw) - 2)]
    broken += [raw[:at] + b"\x00\x00" + raw[at + 2 :] for at in range(30, 120)]
    for each in broken:
        try:
            found = opened(BytesIO(each))
        except Refusal:
            continue
        assert isinstance(found, Export) or found.read(4) == b"PK\x03\x04"


def test_nodes_of_chatgpt_that_are_of_a_wrong_type_are_read_as_far_as_they_go() -> None:
    odd: tuple[Any, ...] = ([], {}, ["q"], 5)
    for current in odd:
        for parent in odd:
            for parts in (5, True, "Ok?", {"a": 1}, ["Ok?"]):
                message = {"author": {"role": "user"}, "content": {"parts": parts}}
                page = {"mapping": {"q": {"parent": parent, "message": message}}}
                raw = json.dumps([{**page, "current_node": current}]).encode()
                found = opened(BytesIO(raw))
                assert isinstance(found, Export)
                (read,) = [one.reader(one.record) for one in found.found]
                if parts in ("Ok?", ["Ok?"]):
                    assert isinstance(read.new, NewMessage) and read.new.content == "Ok?"
                else:
                    assert read.left_out == "a message without words"


def test_a_record_of_a_wrong_scope_keeps_none_of_the_others_away(tmp_path: Path) -> None:
    one = {"id": "1", "memory": "A fact.", "user_id": "u" * 2_000, "created_at": ""}
    good = [{**one, "id": str(n), "user_id": f"u{n}", "memory": f"Fact {n}."} for n in range(2, 4)]
    result = attempted(tmp_path, {"results": [one, *good]})
    assert result.exit_code == 2
    told = json.loads(result.stdout)
    assert (told["counts"]["written"], [bad["line"] for bad in told["bad"]]) == (2, [1])
    assert "scope.user" in told["bad"][0]["why"]
    assert set(kept(tmp_path)) == {"Fact 2.", "Fact 3."}


@pytest.mark.parametrize("indent", [None, 2])
def test_an_export_in_utf_16_and_with_half_characters(tmp_path: Path, indent: int | None) -> None:
    said = {"uuid": "m1", "sender": "human", "text": "Zoë \\u \ud83d, \U0001f600."}
    exported = [{"uuid": "c1", "chat_messages": [said]}]
    file = tmp_path / "export.json"
    file.write_bytes(json.dumps(exported, indent=indent).encode("utf-16"))
    given = ["import", str(file), "--json", "--data", str(tmp_path / "data")]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    assert set(kept(tmp_path, "message")) == {"Zoë \\u \ufffd, \U0001f600."}


def test_lines_in_utf_16_are_read(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_bytes("".join(f'{{"content": "Line {n}."}}\n' for n in range(3)).encode("utf-16"))
    given = ["import", str(file), "--json", "--data", str(tmp_path / "data")]
    told = json.loads(CliRunner().invoke(main, given).stdout)
    assert (told["counts"]["written"], told["bad"]) == (3, [])


def test_a_page_that_lists_three_kinds_is_read_whole(tmp_path: Path) -> None:
    page = {
        "memoryEntries": [{"id": "1", "memory": "A fact."}],
        "memories": [{"id": "2", "content": "A page."}],
        "documents": [{"id": "3", "content": "Another page."}],
    }
    assert imported(tmp_path, page)["counts"]["written"] == 3


def test_a_long_conversation_without_ids_is_whole_and_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewound.http.taking_over.Sorter", partial(Sorter, messages_max=5))
    texts = [f"Text {n}." if n % 3 == 0 else "ok" for n in range(12)] + ["ok"] * 12
    said = [{"sender": "human", "text": text} for text in texts]
    part, whole = ([{"uuid": "c1", "chat_messages": some}] for some in (said[:13], said))
    for exported, written in ((part, 13), (part, 0), (whole, 11), (whole, 0)):
        counts = imported(tmp_path, exported)["counts"]
        assert (counts["written"], counts["lines"]) == (written, len(exported[0]["chat_messages"]))


def test_long_documents_go_in_several_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewound.http.taking_over.BATCH_BYTES_MAX", 100)
    pages = [{"id": str(n), "content": f"Page {n}. " + "word " * 10} for n in range(5)]
    told = imported(tmp_path, {"memories": pages})
    assert (told["counts"]["written"], len(told["groups"])) == (5, 5)
    assert len(kept(tmp_path, "document")) == 5
