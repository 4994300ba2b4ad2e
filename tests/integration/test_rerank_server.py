"""The reranker that asks a rerank server, in the shapes of several, against a scripted one."""

import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.llm.rerank_server import RerankServer
from rewound.llm.reranking import RerankFailed
from tests.integration.faking import NO_SUCH, Answer, FakeServer, faking

KEY = "LLM-CANARY-456"
TEXTS = ["a secret text", "secret", ""]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        yield fake


def results(scores: list[float], name: str = "relevance_score") -> list[dict[str, Any]]:
    """Best first, as servers answer."""
    listed = [{"index": n, name: score} for n, score in enumerate(scores)]
    return sorted(listed, key=lambda each: -float(each[name]))


def ask(server: FakeServer, **more: Any) -> list[float]:
    return RerankServer(server.url, "toy", KEY, **more).scores("what?", TEXTS).scores


def test_llama_cpp_and_cohere(server: FakeServer) -> None:
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    server.answer = lambda path, asked: (200, {"results": results([0.2, 0.9, 0]), "usage": usage})
    scored = RerankServer(server.url, "toy", KEY).scores("what?", TEXTS)
    assert (scored.scores, scored.calls, scored.tokens) == ([0.2, 0.9, 0.0], 1, 7)
    ((path, asked),) = server.asked
    assert path == "/v1/rerank"
    documents = ["a secret text", "secret", "."]
    assert asked == {"query": "what?", "documents": documents, "top_n": 3, "model": "toy"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_tei(server: FakeServer) -> None:
    def answer(path: str, asked: Any) -> Answer:
        if path != "/rerank":
            return NO_SUCH
        if "texts" not in asked:
            return 422, {"error": "missing field `texts`"}
        return 200, results([0.2, 0.9, 0], "score")

    server.answer = answer
    reranker = RerankServer(server.url)
    assert reranker.scores("what?", TEXTS).scores == [0.2, 0.9, 0.0]
    assert reranker.scores("what?", TEXTS).scores == [0.2, 0.9, 0.0]
    paths = [path for path, _ in server.asked]
    assert paths == ["/v1/rerank", "/rerank", "/rerank", "/rerank"], "found out once"


def test_jina_and_voyage(server: FakeServer) -> None:
    server.answer = lambda path, asked: (200, {"data": results([0.2, 0.9, 0])})
    assert ask(server) == [0.2, 0.9, 0.0]


def test_logits_become_shares_and_stay_so(server: FakeServer) -> None:
    raw = [[0.5, 2.0, -3.0], [0.5, 0.1, 0.2]]
    server.answer = lambda path, asked: (200, {"results": results(raw[len(server.asked) - 1])})
    reranker = RerankServer(server.url)
    for scores in raw:
        expected = [1 / (1 + math.exp(-score)) for score in scores]
        assert reranker.scores("what?", TEXTS).scores == pytest.approx(expected)


def test_what_scores_are_can_be_said(server: FakeServer) -> None:
    server.answer = lambda path, asked: (200, {"results": results([0.5, 0.1, 900.0])})
    assert ask(server, scale="logit")[2] == pytest.approx(1.0)
    with pytest.raises(RerankFailed, match="REWOUND_RERANK_SCALE"):
        ask(server, scale="share")


def test_what_is_too_long_is_scored_by_its_better_half(server: FakeServer) -> None:
    def answer(path: str, asked: Any) -> Answer:
        documents = asked["documents"]
        if max(map(len, documents)) > 50:
            return 500, {"error": {"message": "input (99 tokens) is too large to process"}}
        return 200, {"results": results([0.9 if "gold" in text else 0.1 for text in documents])}

    server.answer = answer
    texts = ["short", "".join(f"x{n}" for n in range(60)) + " gold", "gold"]
    scored = RerankServer(server.url).scores("what?", texts)
    assert scored.scores == [0.1, 0.9, 0.9]
    sent = [tuple(asked["documents"]) for _, asked in server.asked]
    assert len(set(sent)) == len(sent) == scored.calls, "nothing is asked twice"


def test_many_texts_are_asked_in_batches(server: FakeServer) -> None:
    server.answer = lambda path, asked: (200, {"results": results([0.5] * asked["top_n"])})
    assert len(RerankServer(server.url).scores("q", ["text"] * 100).scores) == 100
    assert [asked["top_n"] for _, asked in server.asked] == [64, 36]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": "no"}), "REWOUND_RERANK_KEY"),
        ((404, {"error": "no"}), "REWOUND_RERANK_URL"),
        ((501, {"error": {"message": "This server does not support reranking."}}), "--reranking"),
        ((500, {"error": {"message": "boom"}}), "status 500"),
        ((503, {"error": "Loading model"}), "not ready"),
        ((200, "<html>upstream error</html>"), "no list of scores"),
        ((200, ""), "no list of scores"),
        ((200, {"results": None}), "no list of scores"),
        ((200, {"error": {"message": "out of memory"}}), "no list of scores"),
        ((200, {"results": results([0.5, 0.5])}), "2 scores for 3 texts"),
        ((200, {"results": [*results([0.5, 0.5]), {"index": 9, "score": 1}]}), "3 scores for 3"),
        ((200, {"results": [*results([0.5, 0.5]), {"index": 1, "score": 1}]}), "3 scores for 3"),
        ((200, '{"results":[{"index":0,"score":NaN}]}'), "no list of scores"),
        ((200, {"results": [{"index": 0, "score": None}]}), "no list of scores"),
    ],
)
def test_what_is_no_score_is_refused(server: FakeServer, answer: Answer, words: str) -> None:
    server.answer = lambda path, asked: answer
    with pytest.raises(RerankFailed) as caught:
        ask(server)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value) and KEY not in str(caught.value)


def test_all_calls_of_a_question_share_its_time(server: FakeServer) -> None:
    slowly = threading.Event()

    def answer(path: str, asked: Any) -> Answer:
        slowly.wait(0.06)
        return 413, {"error": "too long"}

    server.answer = answer
    with pytest.raises(RerankFailed) as caught:
        RerankServer(server.url).scores("what?", TEXTS, 0.1)
    assert caught.value.why is Why.UNREACHABLE, "not one more call, each within that time"


def test_nobody_there() -> None:
    with faking() as gone:
        url = gone.url
    with pytest.raises(RerankFailed, match="cannot be reached"):
        RerankServer(url).scores("q", TEXTS)
