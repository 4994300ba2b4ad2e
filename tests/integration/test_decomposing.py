"""Questions in parts: what is searched, how it is merged, what it took, and when that fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.clock import SystemClock
from rewound.eventlog.errors import InvalidInput
from rewound.llm.decomposing import Decomposed
from rewound.memory import Memory, decomposing
from rewound.memory import requests as q
from rewound.memory.file_reads import FileReads
from rewound.memory.meaning import Meaning
from rewound.memory.models import Models
from rewound.memory.place import open_layout
from rewound.memory.replies import Found
from rewound.memory.reranking import Reranks
from rewound.memory.rewriting import Rewrites
from tests.integration.faking import Answer, FakeServer, faking
from tests.integration.staging import KEY, holding, saying, staged, texts

FACTS = (
    "Omar is Nina's boss at Orbit Labs.",
    "Omar studied botany in Lund.",
    "Nina moved to Oslo in May 2024.",
    "Figs were sold out on the market.",
)
ASKED = "Where did the boss of Nina study, and when did she move?"
PARTS = ["Who is the boss of Nina?", "What has {1} studied?", "When did Nina move?"]


def giving(*parts: str) -> Answer:
    return saying(json.dumps({"parts": parts}))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        fake.answer = lambda path, asked: giving(*PARTS)
        yield fake


def models_at(server: FakeServer | None, **more: Any) -> Models:
    return staged("decomposer", server, **more)


def remembering(folder: Path, server: FakeServer | None, **more: Any) -> Memory:
    return holding(folder, models_at(server, **more), FACTS)


def test_each_part_is_searched_with_the_answers_that_it_needs(
    tmp_path: Path, server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"), remembering(tmp_path, server) as memory:
        plain = memory.search(ASKED, limit=3)
        assert not server.asked and plain.decomposing is None and not plain.searched
        found = memory.search(ASKED, limit=3, decompose=True)
        again = memory.search(ASKED, limit=3, decompose=True)
    assert set(texts(found)) == set(FACTS[:3]) and found.query == ASKED and not found.notes
    told = found.decomposing
    assert told is not None and told.ms > 0 and told.parts == tuple(PARTS)
    assert (told.decomposer, told.calls, told.tokens) == ("model/1 toy", 1, 109)
    whole, boss, studied, moved = found.searched
    assert (whole.query, boss.query, moved.query) == (ASKED, PARTS[0], PARTS[2])
    assert studied.query == "What has Omar studied?"
    ids = {hit.text: hit.id for hit in found.hits}
    assert boss.hits[0] == ids[FACTS[0]] and studied.hits[0] == ids[FACTS[1]]
    assert moved.hits[0] == ids[FACTS[2]]
    parts = {hit.text: hit.part for hit in found.hits}
    assert parts[FACTS[1]] == 2, "it answers the second part best"
    assert again.hits == found.hits and again.searched == found.searched
    assert not any(fact in json.dumps(server.asked) for fact in FACTS), "nothing stored is shown"
    assert "boss" not in caplog.text and "Omar" not in caplog.text and KEY not in caplog.text


def test_each_list_is_measured_by_its_best_hit(tmp_path: Path, server: FakeServer) -> None:
    server.answer = lambda path, asked: giving("boats of Ida", "botany of Omar")
    with remembering(tmp_path, server) as memory:
        for number in range(5):
            memory.remember(f"Ida sold boat {number} of her boats.")
        found = memory.search("boats of Ida, and Omar?", limit=2, decompose=True)
        assert len(found.hits) == 2 and FACTS[1] in texts(found)
        one = memory.search("boats of Ida, and Omar?", limit=1, decompose=True)
        assert len(one.hits) == 1 and one.hits[0].part == 1


def test_a_threshold_holds_for_what_parts_find(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server) as memory:
        all_hits = memory.search(ASKED, decompose=True).hits
        middle = sorted(hit.score for hit in all_hits)[1]
        found = memory.search(ASKED, decompose=True, threshold=middle)
    assert found.hits == tuple(hit for hit in all_hits if hit.score >= middle)
    assert 0 < len(found.hits) < len(all_hits)


def test_filters_and_moments_hold_for_every_part(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, decompose="always") as memory:
        item = memory.list().items[0]
        before = memory.search(ASKED, as_of=f"@{memory.stats().info[0].position}")
        memory.forget(ids=item.id)
        later = memory.search(ASKED)
        assert FACTS[0] in texts(before) and FACTS[0] not in texts(later)
        assert not any("Omar" in each.query for each in later.searched)
        shown = memory.search(ASKED, include_forgotten=True)
        assert FACTS[0] in texts(shown)
        assert not any("Omar" in each.query for each in shown.searched), "it answers no part"
        none = memory.search(ASKED, tags="no such tag")
        assert not none.hits and [each.query for each in none.searched] == [
            ASKED,
            PARTS[0],
            "What has studied?",
            PARTS[2],
        ]
        assert none.notes[0] == "part 2 was searched without the answer of part 1"


def test_the_meaning_of_parts_is_sought_as_well(tmp_path: Path, server: FakeServer) -> None:
    server.answer = lambda path, asked: giving("botanical studies", "fig markets")
    with remembering(tmp_path, server, embedder="hashing") as memory:
        memory.workers("wait")
        found = memory.search("what of Lund and the market?", decompose=True, explain=True)
    signals = {hit.text: hit.signals for hit in found.hits}
    by = {hit.text: hit.part for hit in found.hits}
    assert by[FACTS[1]] in (1, None) and signals[FACTS[1]].get("meaning", 0.0) > 0
    assert all(hit.explanation is not None for hit in found.hits)


def test_a_question_that_is_one_is_asked_as_one(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server) as memory:
        plain = memory.search("Nina")
        for parts in ((), ("Who is Nina?",), ("Nina", "nina")):
            given = giving(*parts)
            server.answer = lambda path, asked, given=given: given  # type: ignore[misc]
            found = memory.search("Nina", decompose=True)
            assert found.hits == plain.hits and not found.searched and not found.notes
            assert found.decomposing is not None and found.decomposing.calls == 1
        posts = len(server.asked)
        assert memory.search(" ?! ", decompose=True).decomposing is None
        assert len(server.asked) == posts


@pytest.mark.parametrize(
    "answer",
    [
        (503, {"error": "Loading model"}), (200, "<html>"), giving("Omar?", " "),
        giving("Who is {1}?", "Omar?"), saying("no JSON"), saying('{"parts": ["Omar', "length"),
        (401, {"error": KEY}), saying('{"parts": 7}'),
    ],
)  # fmt: skip
def test_while_it_is_down_the_question_is_asked_as_it_is(
    tmp_path: Path, server: FakeServer, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda path, asked: answer
    with caplog.at_level("INFO"), remembering(tmp_path, server, decompose="always") as memory:
        plain = memory.search("Omar", decompose=False)
        found = memory.search("Omar")
        posts = len(server.asked)
        again = memory.search("Omar")
    assert found.hits == again.hits == plain.hits and found.hits and found.decomposing is None
    (note,) = found.notes
    assert note.startswith("asked as it is, since the decomposer failed: ")
    assert again.notes == found.notes and len(server.asked) == posts > 0, "it is left alone"
    for secret in (KEY, "Omar"):
        assert secret not in note + caplog.text


def test_without_a_decomposer_a_question_that_asks_for_one_is_told(tmp_path: Path) -> None:
    with remembering(tmp_path, None, decompose="always") as memory:
        plain = memory.search("Omar")
        found = memory.search("Omar", decompose=True)
        assert found.hits == plain.hits and not plain.notes
        assert found.notes == ("not taken apart: no decomposer is set (REWOUND_DECOMPOSER)",)


def test_rules_take_plain_questions_apart_without_a_model(tmp_path: Path) -> None:
    with remembering(tmp_path, None, decomposer="rules", decompose="always") as memory:
        found = memory.search("When did Nina move and who is her boss?")
        assert [each.query for each in found.searched[1:]] == [
            "When did Nina move?", "Who is Nina's boss?",
        ]  # fmt: skip
        told = found.decomposing
        assert told is not None and (told.decomposer, told.calls) == ("rules/1", 0)
        assert {FACTS[0], FACTS[2]} <= set(texts(found)[:2])
        assert not memory.search("Where is Lund?").searched


class Decomposer:
    """One that keeps how long it may take."""

    name = "toy/1"

    def __init__(self, error: Exception | None = None) -> None:
        self.within: list[float | None] = []
        self.error = error

    def decomposed(self, query: str, timeout_s: float | None = None) -> Decomposed:
        self.within.append(timeout_s)
        if self.error is not None:
            raise self.error
        return Decomposed(("one", "two"))

    def close(self) -> None:
        pass


SEARCH = q.Search(query="desk", decompose=True)


def nothing(search: q.Search) -> Found:
    raise AssertionError("no part needs an answer")


def test_it_takes_half_of_the_callers_time_and_five_seconds_at_most() -> None:
    toy = Decomposer()
    stage = decomposing.Decomposes(toy)
    assert stage.parted(SEARCH, 60.0, nothing).queries == ("one", "two")
    assert stage.parted(SEARCH, 2.0, nothing).queries == ("one", "two")
    assert toy.within == [5.0, 1.0]
    late = stage.parted(SEARCH, 0.0, nothing)
    assert (late.queries, late.notes) == ((), ("not taken apart: no time was left",))


def test_a_caller_without_time_does_not_silence_it_for_others() -> None:
    toy = Decomposer(ValueError("desk"))
    stage = decomposing.Decomposes(toy)
    for timeout_s in (1.0, 60.0, 60.0):
        (note,) = stage.parted(SEARCH, timeout_s, nothing).notes
        assert note.endswith("the decomposer failed: it ended with ValueError")
    assert toy.within == [0.5, 5.0], "the first failure was the caller's, the second its own"
    stage.nodes_are_back()
    stage.parted(SEARCH, 60.0, nothing)
    assert len(toy.within) == 3


def test_readers_beside_the_owner_take_apart_as_well(tmp_path: Path, server: FakeServer) -> None:
    remembering(tmp_path, None).close()
    decomposes = decomposing.Decomposes.of(models_at(server))
    files = FileReads(
        open_layout(tmp_path), clock=SystemClock(), models=models_at(server),
        meaning=Meaning(None), reranks=Reranks(), rewrites=Rewrites(), decomposes=decomposes,
    )  # fmt: skip
    try:
        found = files.read(q.Search(query=ASKED, decompose=True), 30.0)
    finally:
        decomposes.close()
        files.close()
    assert isinstance(found, Found) and len(found.searched) == 4


@pytest.mark.parametrize(
    ("env", "field"),
    [
        ({"REWOUND_DECOMPOSER": "model"}, "REWOUND_CHAT_URL"),
        ({"REWOUND_DECOMPOSER": "words"}, "REWOUND_DECOMPOSER"),
        ({"REWOUND_DECOMPOSE": "never"}, "REWOUND_DECOMPOSE"),
    ],
)
def test_settings_that_cannot_be_are_refused(env: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Models.from_environment(env)
    assert caught.value.field == field
