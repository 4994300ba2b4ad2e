"""Reranking as a stage of search: the new order, what it took, and what happens when it is down."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory, reranking
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.models import Models
from tests.integration.faking import Answer, FakeServer, faking

FACTS = [f"Nina's desk number {n} is made of wood" for n in range(8)]
KEY = "LLM-CANARY-456"


def scoring(score: Callable[[str], float]) -> Callable[[str, Any], Answer]:
    """A rerank server that scores each text so."""

    def answer(path: str, asked: Any) -> Answer:
        results = [
            {"index": n, "relevance_score": score(text)}
            for n, text in enumerate(asked["documents"])
        ]
        return 200, {"results": results, "usage": {"total_tokens": 11}}

    return answer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        fake.answer = scoring(lambda text: 1.0 if "number 5" in text else 0.0)
        yield fake


def remembering(folder: Path, server: FakeServer | None, **more: Any) -> Memory:
    named: dict[str, Any] = {"embedder": "none", "extractor": "none", "judge": "none"}
    if server is not None:
        named |= {"reranker": "server", "rerank_url": server.url, "rerank_key": KEY}
    models = Models(**(named | more))
    memory = Memory(folder, models=models)
    memory.own()
    for fact in FACTS:
        memory.remember(fact)
    return memory


def texts(found: r.Found) -> list[str]:
    return [hit.text for hit in found.hits]


def test_the_first_hits_are_ordered_anew_and_it_is_told(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rerank_depth=6) as memory:
        plain = memory.search("Nina's desk number", limit=6)
        assert not server.asked and plain.reranking is None
        server.answer = scoring(lambda text: 1.0 if text == plain.hits[4].text else 0.2)
        found = memory.search("Nina's desk number", limit=6, rerank=True)
    first = found.hits[0]
    assert first.text == plain.hits[4].text and first.reranked is not None
    assert first.reranked == r.Reranked(before=5, probability=plain.hits[4].score, score=1.0)
    for hit in found.hits:
        told = hit.reranked
        assert told is not None
        assert hit.score == pytest.approx(0.5 * told.probability + 0.5 * told.score)
        assert plain.hits[told.before - 1].text == hit.text
    assert [hit.score for hit in found.hits] == sorted((h.score for h in found.hits), reverse=True)
    assert sorted(texts(found)) == sorted(texts(plain)) and not found.notes
    cost = found.reranking
    assert cost is not None and cost.ms > 0
    assert (cost.reranker, cost.hits, cost.calls, cost.tokens) == ("server/1", 6, 1, 11)


def test_what_lies_beyond_the_limit_can_come_up(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rerank="always") as memory:
        last = memory.search("Nina's desk number", limit=8, rerank=False).hits[-1]
        assert last.reranked is None and not server.asked
        server.answer = scoring(lambda text: 1.0 if text == last.text else 0.0)
        found = memory.search("Nina's desk number", limit=2)
        assert len(found.hits) == 2 and found.hits[0].text == last.text
        ((_, asked),) = server.asked
        assert len(asked["documents"]) == 8


def test_what_lies_beyond_the_depth_stays_behind(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rerank_depth=3, rerank="always") as memory:
        plain = texts(memory.search("Nina's desk number", rerank=False))
        found = memory.search("Nina's desk number")
        assert texts(found)[3:] == plain[3:]
        assert [hit.reranked is None for hit in found.hits] == [False] * 3 + [True] * 5


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_weight_decides_who_is_heard(tmp_path: Path, server: FakeServer, weight: float) -> None:
    with remembering(tmp_path, server, rerank_weight=weight, rerank="always") as memory:
        plain = texts(memory.search("Nina's desk number", rerank=False))
        found = memory.search("Nina's desk number")
        if weight:
            assert "number 5" in found.hits[0].text
            assert [hit.score for hit in found.hits] == [1.0] + [0.0] * 7
        else:
            assert texts(found) == plain


@pytest.mark.parametrize(
    "answer",
    [
        (503, {"error": "Loading model"}), (200, "<html>"), (200, {"results": []}),
        (401, {"error": KEY}),
    ],
)  # fmt: skip
def test_while_it_is_down_the_hits_stay_as_they_were(
    tmp_path: Path, server: FakeServer, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda path, asked: answer
    with caplog.at_level("INFO"), remembering(tmp_path, server, rerank="always") as memory:
        plain = memory.search("Nina's desk number", limit=3, rerank=False)
        found = memory.search("Nina's desk number", limit=3)
        again = memory.search("Nina's desk number", limit=3)
    assert found.hits == again.hits == plain.hits
    (note,) = found.notes
    assert note.startswith("in the order of the ranking alone, since the reranker failed: ")
    assert again.notes == found.notes and len(server.asked) == 1, "it is left alone for a while"
    assert found.reranking is None
    assert KEY not in note + caplog.text and "desk" not in note + caplog.text


def test_after_a_while_it_is_asked_again(
    tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "_PAUSE_S", 0.0)
    good, server.answer = server.answer, lambda path, asked: (503, {})
    with remembering(tmp_path, server, rerank="always") as memory:
        assert memory.search("Nina's desk number").notes
        server.answer = good
        found = memory.search("Nina's desk number")
        assert not found.notes and "number 5" in found.hits[0].text


def test_a_caller_without_time_gets_the_hits_as_they_are(
    tmp_path: Path, server: FakeServer
) -> None:
    with remembering(tmp_path, server, rerank="always") as memory:
        plain = memory.search("Nina's desk number", rerank=False)
    stage = reranking.Reranks(Models(reranker="words").make_reranker(None), always=True)
    found = stage.reordered(q.Search(container="default", query="desk"), plain, timeout_s=0.0)
    assert found.hits == plain.hits
    assert found.notes == ("not reranked: no time was left",)


def test_without_a_reranker_a_search_that_asks_for_one_is_told(tmp_path: Path) -> None:
    with remembering(tmp_path, None) as memory:
        plain = memory.search("Nina's desk number")
        found = memory.search("Nina's desk number", rerank=True)
        assert found.hits == plain.hits and not plain.notes
        assert found.notes == ("not reranked: no reranker is set (REWOUND_RERANKER)",)


def test_what_was_forgotten_is_shown_to_no_model(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rerank="always") as memory:
        (item,) = memory.remember("Nina's desk number 99 is a secret").items
        memory.forget(item.id or "")
        memory.search("Nina's desk number")
        sent = str(server.asked)
        assert "number 5" in sent and "secret" not in sent
        found = memory.search("Nina's desk number", include_forgotten=True)
        assert any("secret" in hit.text for hit in found.hits)
        assert found.notes == ("not reranked: what was forgotten is shown to no model",)
        assert str(server.asked) == sent


def test_filters_and_thresholds_come_first(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, rerank="always") as memory:
        memory.remember("Nina's desk number 5 is also blue", tags=["blue"])
        found = memory.search("Nina's desk number", tags="blue")
        assert len(found.hits) == 1 and not server.asked, "one hit has no order"
        assert not memory.search("Nina's desk number", threshold=1.0).hits


@pytest.mark.parametrize("name", ["words", "embedder"])
def test_rerankers_without_a_server(tmp_path: Path, name: str) -> None:
    embedder = "hashing" if name == "embedder" else "none"
    with remembering(
        tmp_path, None, reranker=name, embedder=embedder, rerank_weight=1.0, rerank="always"
    ) as memory:
        found = memory.search("desk number 5")
        assert "number 5" in found.hits[0].text
        assert found.reranking is not None and found.reranking.reranker.startswith(f"{name}/1")


@pytest.mark.parametrize("hedge_ms", [0, 60_000])
def test_the_chat_model_as_a_reranker(tmp_path: Path, server: FakeServer, hedge_ms: int) -> None:
    def answer(path: str, asked: Any) -> Answer:
        content = '<think>{"ids": [9]}</think>{"ids": [3, 9999, 1]}'
        usage = {"prompt_tokens": 100, "completion_tokens": 5}
        choices = [{"finish_reason": "stop", "message": {"content": content}}]
        return 200, {"choices": choices, "usage": usage}

    server.answer = answer
    with remembering(
        tmp_path, None, reranker="model", chat_url=server.url, chat_model="toy", rerank_weight=1.0,
        hedge_ms=hedge_ms,
    ) as memory:  # fmt: skip
        plain = texts(memory.search("Nina's desk number"))
        found = memory.search("Nina's desk number", rerank=True)
        assert texts(found)[:2] == [plain[2], plain[0]]
        cost = found.reranking
        assert cost is not None and (cost.calls, cost.tokens) == (1, 105)
        assert cost.reranker == "model/1 toy"


@pytest.mark.parametrize(
    ("env", "field"),
    [
        ({"REWOUND_RERANKER": "server"}, "REWOUND_RERANK_URL"),
        ({"REWOUND_RERANKER": "model"}, "REWOUND_CHAT_URL"),
        ({"REWOUND_RERANKER": "gpt"}, "REWOUND_RERANKER"),
        ({"REWOUND_RERANKER": "embedder", "REWOUND_EMBEDDER": "none"}, "REWOUND_RERANKER"),
        ({"REWOUND_RERANK": "never"}, "REWOUND_RERANK"),
        ({"REWOUND_RERANK_DEPTH": "0"}, "REWOUND_RERANK_DEPTH"),
        ({"REWOUND_RERANK_DEPTH": "many"}, "REWOUND_RERANK_DEPTH"),
        ({"REWOUND_RERANK_WEIGHT": "1.5"}, "REWOUND_RERANK_WEIGHT"),
        ({"REWOUND_RERANK_WEIGHT": "nan"}, "REWOUND_RERANK_WEIGHT"),
        ({"REWOUND_RERANK_URL": "nas"}, "REWOUND_RERANK_URL"),
        ({"REWOUND_RERANK_KEY": f"{KEY}ü"}, "REWOUND_RERANK_KEY"),
        ({"REWOUND_EMBEDDER": "server"}, "REWOUND_EMBED_URL"),
        (
            {"REWOUND_EMBEDDER": "server", "REWOUND_EMBED_URL": "http://x"},
            "REWOUND_EMBED_MODEL",
        ),
        ({"REWOUND_EMBED_KEY_FILE": "/nowhere/key"}, "REWOUND_EMBED_KEY_FILE"),
        ({"REWOUND_CHAT_API": "anthropic", "REWOUND_CHAT_URL": "http://x"}, "REWOUND_CHAT_MODEL"),
    ],
)
def test_settings_that_cannot_be_are_refused(env: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Models.from_environment(env)
    assert caught.value.field == field and KEY not in caught.value.message


def test_settings_by_the_environment() -> None:
    env = {
        "REWOUND_EMBEDDER": "server", "REWOUND_EMBED_URL": "http://x", "REWOUND_EMBED_MODEL": "m",
        "REWOUND_EMBED_KEY": KEY, "REWOUND_EMBED_QUERY_PREFIX": "query: ",
        "REWOUND_RERANKER": "server", "REWOUND_RERANK": "always", "REWOUND_RERANK_URL": "http://y",
        "REWOUND_RERANK_DEPTH": "7", "REWOUND_RERANK_WEIGHT": "0.25",
        "REWOUND_CHAT_API": "anthropic", "REWOUND_CHAT_URL": "http://z",
        "REWOUND_CHAT_MODEL": "claude",
    }  # fmt: skip
    models = Models.from_environment(env)
    embedder = models.make_embedder()
    assert embedder is not None and embedder.name == 'server/1 m query="query: "'
    reranker = models.make_reranker(embedder)
    assert reranker is not None and reranker.name == "server/1"
    assert (models.rerank_depth, models.rerank_weight) == (7, 0.25)
    assert KEY not in repr(models)
