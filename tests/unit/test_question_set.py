"""Reading a set of questions, and the frozen one that the repository keeps."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.instants import parse_instant
from rewound.memory.question_set import QuestionSet, read
from rewound.memory.scoring import read_figures

DATASETS = Path(__file__).resolve().parents[2] / "eval/datasets"
SET = DATASETS / "questions.jsonl"
FIGURES = DATASETS / "questions.figures.json"

SESSION = {"type": "session", "id": "s", "messages": [{"id": "m1", "content": "It is in Rome."}]}
DOCUMENT = {"type": "document", "id": "d1", "text": "# Rota", "said_at": "2025-02-10"}
QUESTION = {"type": "question", "id": "q", "kind": "place", "question": "Where?", "gold": ["m1"]}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "set.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_file_is_read_in_its_order(tmp_path: Path) -> None:
    other = {**QUESTION, "id": "q2", "kind": "date", "gold": ["d1", "m1"]}
    found = read(written(tmp_path, QUESTION, SESSION, other, DOCUMENT))
    assert [session.id for session in found.sessions] == ["s"]
    assert [document.sent().text for document in found.documents] == ["# Rota"]
    assert [question.gold for question in found.questions] == [("m1",), ("d1", "m1")]
    assert found.kinds == ("place", "date")


def test_it_is_asked_a_day_after_the_last_thing_said(tmp_path: Path) -> None:
    early = {"id": "m1", "content": "Hello.", "time": "2024-01-01T10:00:00Z"}
    found = read(written(tmp_path, {**SESSION, "messages": [early]}, DOCUMENT, QUESTION))
    assert found.now_us == parse_instant("2025-02-11").at
    assert read(written(tmp_path, SESSION, QUESTION)).now_us is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([SESSION], "asks nothing"),
        ([SESSION, {**QUESTION, "answer": "Rome"}], "line 2 of set.jsonl: .*`answer`"),
        ([SESSION, {**QUESTION, "gold": "m1"}], "line 2 of set.jsonl: .*gold"),
        ([{**SESSION, "type": "talk"}], "line 1 of set.jsonl: .*talk"),
        ([SESSION, {**QUESTION, "gold": ["m9"]}], "question 'q' .* names 'm9'"),
        ([SESSION, {**QUESTION, "older": ["m9"]}], "question 'q' .* names 'm9'"),
        ([SESSION, {**QUESTION, "gold": [], "older": ["m1"]}], "no present one"),
        ([SESSION, QUESTION, QUESTION], "more than one question with the id 'q'"),
        ([SESSION, SESSION, QUESTION], "more than one session with the id 's'"),
        ([SESSION, {**DOCUMENT, "id": "m1"}, QUESTION], "message or document with the id 'm1'"),
        ([{**SESSION, "messages": [{"content": "Hi."}]}, QUESTION], "message 1 .* has no id"),
        ([SESSION, {**DOCUMENT, "said_at": "last May"}, QUESTION], "'last May' is not a time"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, lines: list[Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        read(written(tmp_path, *lines))
    assert caught.value.field == "dataset"


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(json.dumps(SESSION).encode() + b'\n{"type": "\xff"}\n')
    with pytest.raises(InvalidInput, match=r"line 2 of set\.jsonl"):
        read(path)


# --- the set of the repository


@pytest.fixture(scope="module")
def kept() -> QuestionSet:
    return read(SET)


def test_the_set_is_the_frozen_one(kept: QuestionSet) -> None:
    """A changed set is a new set, and wants a new name."""
    assert kept.sha256 == "ef4961b0491d442fe866df024ded1d38f4ea8e736b307d7e4007bbf93167974a"
    assert read_figures(FIGURES).sha256 == kept.sha256


def test_the_set_is_large_and_varied(kept: QuestionSet) -> None:
    counts = Counter(question.kind for question in kept.questions)
    assert set(counts) == {
        "update", "date", "name", "list", "preference", "multi-hop", "assistant-said",
        "document", "nothing-fits",
    }  # fmt: skip
    assert sum(counts.values()) >= 72 and counts["nothing-fits"] >= 12
    assert all(8 <= len(session.messages) <= 20 for session in kept.sessions)
    speakers = {message.name for session in kept.sessions for message in session.messages}
    assert len(speakers - {None}) >= 8


def test_only_what_fits_nothing_has_no_answer(kept: QuestionSet) -> None:
    for question in kept.questions:
        assert bool(question.gold) == (question.kind != "nothing-fits"), question.id
        assert bool(question.older) == (question.kind == "update"), question.id


def test_answers_to_updates_stand_newest_first(kept: QuestionSet) -> None:
    said = {m.id: m.time or "" for session in kept.sessions for m in session.messages}
    for question in kept.questions:
        times = [said[one] for one in (*question.gold, *question.older) if question.older]
        assert times == sorted(times, reverse=True), question.id
