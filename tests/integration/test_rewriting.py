"""Query rewriting as a stage of search: what is found, what it took, and when the model is down."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.clock import SystemClock
from rewound.eventlog.errors import InvalidInput
from rewound.llm.rewriting import Rewritten
from rewound.memory import Memory, rewriting
from rewound.memory import requests as q
from rewound.memory.file_reads import FileReads
from rewound.memory.link import Link
from rewound.memory.meaning import Meaning
from rewound.memory.models import Models
from rewound.memory.place import open_layout
from rewound.memory.replies import Found
from rewound.memory.reranking import Reranks
from rewound.memory.responding import Responds
from tests.integration.faking import Answer, FakeServer, faking
from tests.integration.staging import KEY, holding, saying, staged, texts

FACTS = ("Nina adopted a spaniel named Biscuit.", "Omar paints boats.", "Figs were sold out.")
ASKED = "Which pet lives with her?"


def writing(query: str) -> Answer:
    return saying(json.dumps({"query": query}))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        fake.answer = lambda path, asked: writing("dog spaniel adopted pet")
        yield fake


def models_at(server: FakeServer | None, **more: Any) -> Models:
    return staged("rewriter", server, **more)


def remembering(folder: Path, server: FakeServer | None, **more: Any) -> Memory:
    return holding(folder, models_at(server, **more), FACTS)


def test_what_is_said_in_other_words_is_found_and_it_is_told(
    tmp_path: Path, server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"), remembering(tmp_path, server) as memory:
        plain = memory.search(ASKED)
        assert not plain.hits and plain.rewriting is None and not server.asked
        found = memory.search(ASKED, rewrite=True)
    assert texts(found) == [FACTS[0]] and found.query == ASKED and not found.notes
    told = found.rewriting
    assert told is not None and told.ms > 0
    assert told.query == f"{ASKED} dog spaniel adopted"
    assert (told.rewriter, told.calls, told.tokens) == ("model/1 toy", 1, 109)
    ((_, asked),) = server.asked
    assert ASKED in asked["messages"][-1]["content"]
    assert not any(fact in json.dumps(asked) for fact in FACTS), "nothing stored is shown"
    assert "pet" not in caplog.text and "spaniel" not in caplog.text and KEY not in caplog.text


def test_nothing_that_its_own_words_find_is_lost(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rewrite="always") as memory:
        server.answer = lambda path, asked: writing("unrelated")
        assert texts(memory.search("boats of Omar")) == [FACTS[1]]
        found = memory.search("boats of Omar", rewrite=False, explain=True)
        assert found.rewriting is None and len(server.asked) == 1
        server.answer = lambda path, asked: writing("figs")
        found = memory.search('"boats" of Omar', explain=True)
        assert texts(found) == [FACTS[1], FACTS[2]], "what is quoted comes first"
        assert found.ranking is not None


def test_the_meaning_sought_is_that_of_both(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, embedder="hashing") as memory:
        memory.workers("wait")
        near = [
            {hit.text: hit.signals.get("meaning", 0.0) for hit in found.hits}[FACTS[0]]
            for found in (memory.search(ASKED), memory.search(ASKED, rewrite=True))
        ]
    assert near[1] > near[0]


def test_times_are_read_from_the_question_alone(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server) as memory:
        server.answer = lambda path, asked: writing("paints in March 2019")
        found = memory.search("what does Omar do", rewrite=True)
        assert found.moment.window is None and texts(found)[0] == FACTS[1]
        assert found.rewriting is not None and "March 2019" in found.rewriting.query
        found = memory.search("what did Omar do in March 2020", rewrite=True)
        assert found.moment.window_words is not None and "2020" in found.moment.window_words


def test_a_context_and_an_explanation_seek_the_same(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rewrite="always") as memory:
        packed = memory.context(ASKED)
        traced = memory.explain(ASKED, id=memory.list().items[0].id)
        assert FACTS[0] in packed.text and packed.query == ASKED
        assert traced.fate.found and traced.fate.place == 1 and traced.query == ASKED
        for told in (packed.rewriting, traced.rewriting):
            assert told is not None and told.query == f"{ASKED} dog spaniel adopted"
            assert (told.calls, told.tokens) == (1, 109)
        posts = len(server.asked)
        plain = memory.context(ASKED, rewrite=False)
        traced = memory.explain(ASKED, id=memory.list().items[0].id, rewrite=False)
        memory.search(" ?! ")
        assert len(server.asked) == posts and not plain.text and plain.rewriting is None
        assert traced.fate.reason == "no_word" and traced.rewriting is None


def test_what_says_only_a_further_word_fits(tmp_path: Path, server: FakeServer) -> None:
    """Not what says a further word of another whom the question names."""
    with remembering(tmp_path, server, rewrite="always") as memory:
        for question in ("pet", ASKED, "Which pet lives with Nina?"):
            found = memory.search(question, nearest=False)
            assert texts(found) == [FACTS[0]] and not found.nothing_relevant
            assert found.fits is not None and found.fits > 0.2
            packed = memory.context(question)
            assert FACTS[0] in packed.text and packed.fits == found.fits
        other = memory.search("Which pet lives with Zoe?")
        assert other.fits is not None and found.fits is not None and other.fits < found.fits / 3


def test_speakers_are_those_whom_the_question_names(tmp_path: Path, server: FakeServer) -> None:
    server.answer = lambda path, asked: writing("Hobby Nina")
    with holding(tmp_path, models_at(server), ()) as memory:
        for speaker, place in (("Carla", "Porto"), ("Nina", "Riga")):
            said = {"role": "user", "name": speaker, "content": f"I paint boats in {place}."}
            memory.add_messages([said], conversation=speaker)
        by_her = "said by whom the query names"
        for question in ("what does carla paint", "What does Carla paint?"):
            found = memory.search(question, rewrite=True, explain=True)
            told = []
            for hit in found.hits:
                assert hit.explanation is not None
                told += [one.value for one in hit.explanation.features if one.name == by_her]
            assert found.rewriting is not None and sorted(told) == [0.0, 1.0]
            traced = memory.explain(question, id=found.hits[0].id, rewrite=True)
            for ranking in (found.ranking, traced.ranking):
                assert ranking is not None and ranking.understood.speakers == ("carla",)


@pytest.mark.parametrize(
    "answer",
    [
        (503, {"error": "Loading model"}), (200, "<html>"), writing(" "), saying("no JSON"),
        saying('{"query": "dog', "length"), (401, {"error": KEY}),
        (200, {"choices": [{"message": {"content": "", "refusal": "I will not: spaniel"}}]}),
    ],
)  # fmt: skip
def test_while_it_is_down_the_question_is_asked_as_it_is(
    tmp_path: Path, server: FakeServer, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda path, asked: answer
    with caplog.at_level("INFO"), remembering(tmp_path, server, rewrite="always") as memory:
        plain = memory.search("Omar", rewrite=False)
        found = memory.search("Omar")
        posts = len(server.asked)
        again = memory.search("Omar")
    assert found.hits == again.hits == plain.hits and found.hits and found.rewriting is None
    (note,) = found.notes
    assert note.startswith("asked as it is, since the rewriter failed: ")
    assert again.notes == found.notes and len(server.asked) == posts > 0, "it is left alone"
    assert "the rewriter failed: " in caplog.text
    for secret in (KEY, "Omar", "spaniel"):
        assert secret not in note + caplog.text


def test_after_a_while_it_is_asked_again(
    tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "_PAUSE_S", 0.0)
    good, server.answer = server.answer, lambda path, asked: (200, "<html>")
    with remembering(tmp_path, server, rewrite="always") as memory:
        assert memory.search(ASKED).notes
        server.answer = good
        found = memory.search(ASKED)
        assert not found.notes and texts(found) == [FACTS[0]]


class Rewriter:
    """One that keeps how long it may take."""

    name = "toy/1"

    def __init__(self, error: Exception | None = None) -> None:
        self.within: list[float | None] = []
        self.error = error

    def rewritten(self, query: str, timeout_s: float | None = None) -> Rewritten:
        self.within.append(timeout_s)
        if self.error is not None:
            raise self.error
        return Rewritten("other words")

    def close(self) -> None:
        pass


SEARCH = q.Search(query="desk", rewrite=True)


def test_it_takes_half_of_the_callers_time_and_five_seconds_at_most() -> None:
    rewriter = Rewriter()
    stage = rewriting.Rewrites(rewriter)
    assert stage.sought(SEARCH, 60.0).words == "desk other words"
    assert stage.sought(SEARCH, 2.0).words == "desk other words"
    assert rewriter.within == [5.0, 1.0]
    late = stage.sought(SEARCH, 0.0)
    assert (late.words, late.notes) == (None, ("not rewritten: no time was left",))
    assert len(rewriter.within) == 2


def test_a_caller_without_time_does_not_silence_it_for_others() -> None:
    rewriter = Rewriter(ValueError("desk"))
    stage = rewriting.Rewrites(rewriter)
    for timeout_s in (1.0, 60.0, 60.0):
        (note,) = stage.sought(SEARCH, timeout_s).notes
        assert note.endswith("the rewriter failed: it ended with ValueError")
    assert rewriter.within == [0.5, 5.0], "the first failure was the caller's, the second its own"
    stage.nodes_are_back()
    stage.sought(SEARCH, 60.0)
    assert len(rewriter.within) == 3


def test_without_a_rewriter_a_search_that_asks_for_one_is_told(tmp_path: Path) -> None:
    with remembering(tmp_path, None, rewrite="always") as memory:
        plain = memory.search("Omar")
        found = memory.search("Omar", rewrite=True)
        assert found.hits == plain.hits and not plain.notes
        assert found.notes == ("not rewritten: no rewriter is set (REWOUND_REWRITER)",)


def test_readers_beside_the_owner_rewrite_as_well(tmp_path: Path, server: FakeServer) -> None:
    remembering(tmp_path, None).close()
    rewrites = rewriting.Rewrites.of(models_at(server))
    files = FileReads(
        open_layout(tmp_path), clock=SystemClock(), models=models_at(server),
        meaning=Meaning(None), reranks=Reranks(), rewrites=rewrites,
        responds=Responds(),
    )  # fmt: skip
    try:
        found = files.read(q.Search(query=ASKED, rewrite=True), 30.0)
    finally:
        rewrites.close()
        files.close()
    assert isinstance(found, Found) and texts(found) == [FACTS[0]]
    assert found.rewriting is not None and len(server.asked) == 1


@pytest.mark.parametrize(
    ("env", "field"),
    [
        ({"REWOUND_REWRITER": "model"}, "REWOUND_CHAT_URL"),
        ({"REWOUND_REWRITER": "rules"}, "REWOUND_REWRITER"),
        ({"REWOUND_REWRITE": "never"}, "REWOUND_REWRITE"),
    ],
)
def test_settings_that_cannot_be_are_refused(env: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Models.from_environment(env)
    assert caught.value.field == field


def test_settings_by_the_environment() -> None:
    env = {
        "REWOUND_REWRITER": "model", "REWOUND_REWRITE": "always", "REWOUND_CHAT_URL": "http://x",
    }  # fmt: skip
    models = Models.from_environment(env)
    rewriter = models.make_rewriter()
    assert rewriter is not None and rewriter.name == "model/1" and models.rewrite == "always"
    rewriter.close()
    assert Models.from_environment({}).make_rewriter() is None


def test_the_flag_of_a_request_is_checked(tmp_path: Path) -> None:
    link = Link(tmp_path, models=models_at(None))
    try:
        with pytest.raises(InvalidInput) as caught:
            link.call(q.Search(query="x", rewrite="yes"))  # type: ignore[arg-type]
        assert caught.value.field == "rewrite"
    finally:
        link.close()


def test_what_a_model_adds_need_not_be_said_by_what_fits(
    tmp_path: Path, server: FakeServer
) -> None:
    server.answer = lambda path, asked: writing("adopted animal companion household hamster parrot")
    query = "Who has adopted a spaniel?"
    with remembering(tmp_path, server) as memory:
        plain = memory.search(query)
        found = memory.search(query, rewrite=True)
        traced = memory.explain(query, id=found.hits[0].id, rewrite=True)
    assert plain.fits is not None and plain.fits > 0.5
    assert found.fits is not None and found.fits > 0.5
    assert found.rewriting is not None and "hamster" in found.rewriting.query
    assert traced.fate.found
