"""The rerankers that need no server, and the one that asks a chat model."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.llm import calling
from rewound.llm.chat_model import Spent
from rewound.llm.embedding import Vectors
from rewound.llm.hashing import HashingEmbedder
from rewound.llm.model_reranker import ModelReranker
from rewound.llm.plain_rerankers import EmbedderReranker, WordsReranker
from rewound.llm.replies import ChatFailed, Schema
from rewound.llm.reranking import Reranker, RerankFailed

TEXTS = ["Nina lives in Oslo.", "Oslo is a city.", "The soup was salty.", ""]


class Ranking:
    """A chat model that names ids, and keeps what it was told."""

    model: str | None = "toy"

    def __init__(self, ids: Any, context: int, spent: Callable[[Spent], None]) -> None:
        self.ids, self.context, self.spent = ids, context, spent
        self.told: list[str] = []

    def answer(
        self,
        system: str,
        user: str,
        schema: Schema,
        max_tokens: int,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        self.told.append(user)
        self.spent(Spent(40, 2))
        if isinstance(self.ids, ChatFailed):
            raise self.ids
        return {"ids": self.ids}

    def context_tokens(self, timeout_s: float | None = None) -> int:
        return self.context

    def close(self) -> None:
        pass


def by_model(ids: Any, context: int = 4096) -> tuple[ModelReranker, Ranking]:
    made: list[Ranking] = []

    def make(spent: Callable[[Spent], None]) -> Ranking:
        made.append(Ranking(ids, context, spent))
        return made[0]

    return ModelReranker(make), made[0]


@pytest.mark.parametrize(
    "reranker",
    [WordsReranker(), EmbedderReranker(HashingEmbedder()), by_model([1, 2])[0]],
    ids=["words", "embedder", "model"],
)
def test_each_text_has_a_score_from_0_to_1(reranker: Reranker) -> None:
    scores = reranker.scores("Who lives in Oslo?", TEXTS).scores
    assert len(scores) == 4 and all(0 <= score <= 1 for score in scores)
    assert scores[0] > scores[1] > scores[2]
    assert reranker.scores("Who?", []).scores == []
    assert "1" in reranker.name


def test_an_embedder_in_process_is_asked_for_no_more_once_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(calling, "time", SimpleNamespace(monotonic=lambda: now[0]))
    asked: list[int] = []

    class Slow(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            asked.append(len(texts))
            now[0] += 1
            return super().embed(texts)

    reranker = EmbedderReranker(Slow())
    assert len(reranker.scores("a", ["b"] * 20, 60).scores) == 20
    assert asked == [1, 8, 8, 4]
    with pytest.raises(RerankFailed, match="no time left"):
        reranker.scores("a", ["b"] * 20, 2)
    assert asked[4:] == [1, 8]


def test_rare_words_tell_more() -> None:
    texts = ["the dog barks", "the cat and the dog", "the dog sleeps", "the dog eats"]
    scores = WordsReranker().scores("cat dogs", texts).scores
    assert scores[1] == 1.0
    assert 0 < scores[0] < 0.5, "a word that all have tells little"
    assert WordsReranker().scores("?!", texts).scores == [0.0] * 4


def test_the_model_orders_what_it_names() -> None:
    reranker, chat = by_model([3, 1])
    scored = reranker.scores("Was it salty?", TEXTS)
    assert scored.scores == [0.5, 0.0, 1.0, 0.0]
    assert (scored.calls, scored.tokens) == (1, 42)
    assert "Was it salty?" in chat.told[0] and '"id": 4' in chat.told[0]
    assert reranker.name == "model/1 toy"


@pytest.mark.parametrize(
    ("ids", "scores"),
    [
        ([9999, 2, 0, -1], [0.0, 1.0, 0.0, 0.0]),
        ([2, 2, 1, 2], [0.5, 1.0, 0.0, 0.0]),
        ([], [0.0] * 4),
    ],
)
def test_ids_that_there_are_not_are_dropped(
    ids: list[int], scores: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        assert by_model(ids)[0].scores("q", TEXTS).scores == scores
    assert ("left out" in caplog.text) == bool(ids) and "Oslo" not in caplog.text


def test_what_does_not_fit_is_not_shown() -> None:
    reranker, chat = by_model([1], context=1_200)
    texts: Sequence[str] = ["word " * 100] * 50
    scores = reranker.scores("q", texts).scores
    shown = chat.told[0].count('"id"')
    assert 1 <= shown < 50 and scores[0] == 1.0 and len(scores) == 50


def test_a_model_that_fails_or_reads_too_little_is_a_failure() -> None:
    with pytest.raises(RerankFailed, match="gone") as caught:
        by_model(ChatFailed("gone", Why.UNREACHABLE))[0].scores("q", TEXTS)
    assert caught.value.why is Why.UNREACHABLE
    with pytest.raises(RerankFailed, match="too little"):
        by_model([1], context=300)[0].scores("q", TEXTS)
