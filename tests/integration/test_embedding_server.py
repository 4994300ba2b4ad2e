"""The embedder that asks a server, against a scripted one, alone and behind a store."""

import logging
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.llm.embedding import EmbeddingAway, EmbeddingFailed
from rewound.llm.embedding_server import NOTHING, EmbeddingServer
from rewound.llm.hashing import HashingEmbedder
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.integration.faking import Answer, FakeServer, faking

KEY = "LLM-CANARY-456"


def vectors(texts: Sequence[str], dimensions: int = 16) -> list[dict[str, Any]]:
    made = HashingEmbedder(dimensions).embed(texts).tolist()
    return [{"index": n, "embedding": 3 * np.array(each)} for n, each in enumerate(made)]


def reply(data: Any) -> Answer:
    plain = [
        each | {"embedding": each["embedding"].tolist()}
        if isinstance(each.get("embedding"), np.ndarray) else each
        for each in data
    ]  # fmt: skip
    return 200, {"object": "list", "data": plain}


def embed_well(path: str, asked: Any) -> Answer:
    assert path == "/v1/embeddings" and "" not in asked["input"]
    return reply(vectors(asked["input"]))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        fake.answer = embed_well
        yield fake


def embedder(server: FakeServer, **more: Any) -> EmbeddingServer:
    return EmbeddingServer(server.url, "toy", KEY, **more)


def test_what_is_asked_and_what_comes_back(server: FakeServer) -> None:
    made = embedder(server)
    given = made.embed(["Nina lives in Oslo", "  ", "a cat"])
    expected = HashingEmbedder(16).embed(["Nina lives in Oslo", NOTHING, "a cat"])
    assert given == pytest.approx(expected, abs=1e-6) and given.dtype == np.float32
    assert made.dimensions == 16
    ((_, asked),) = server.asked
    texts = ["Nina lives in Oslo", NOTHING, "a cat"]
    assert asked == {"model": "toy", "input": texts, "encoding_format": "float"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert made.embed([]).shape == (0, 16)


def test_questions_and_texts_have_prefixes_of_their_own(server: FakeServer) -> None:
    made = embedder(server, query_prefix="query: ", document_prefix="title: none | text: ")
    made.embed(["a"])
    made.embed_queries(["b"])
    sent = [asked["input"] for _, asked in server.asked]
    assert sent == [["title: none | text: a"], ["query: b"]]
    assert made.name == 'server/1 toy query="query: " document="title: none | text: "'
    assert embedder(server).name == "server/1 toy"


def test_the_order_is_that_of_the_indexes(server: FakeServer) -> None:
    server.answer = lambda path, asked: reply(vectors(asked["input"])[::-1])
    texts = ["one", "two", "three"]
    assert embedder(server).embed(texts) == pytest.approx(
        HashingEmbedder(16).embed(texts), abs=1e-6
    )


def test_many_texts_are_asked_in_batches(server: FakeServer) -> None:
    texts = [f"text {n}" for n in range(70)] + ["x" * 9_000] * 3
    assert embedder(server).embed(texts).shape == (73, 16)
    sent = [asked["input"] for _, asked in server.asked]
    assert [text for batch in sent for text in batch] == texts
    assert max(map(len, sent)) == 32 and len(sent) == 5


def too_long(most: int, dimensions: int = 16) -> Any:
    """A server that takes texts of so many words, and tells it as llama.cpp does."""

    def answer(path: str, asked: Any) -> Answer:
        longest = max(len(text.split()) or 1 for text in asked["input"])
        if longest <= most:
            return reply(vectors(asked["input"], dimensions))
        what = f"input ({longest} tokens) is too large to process. increase the physical batch "
        what += f"size (current batch size: {most})"
        return 500, {"error": {"code": 500, "message": what, "type": "server_error"}}

    return answer


def test_what_is_too_long_is_split_and_never_sent_again_unchanged(server: FakeServer) -> None:
    server.answer = too_long(64)
    text = " ".join(f"word{n}" for n in range(1_000))
    given = embedder(server).embed(["short", text, "also short"])
    assert given.shape == (3, 16)
    whole = HashingEmbedder(16).embed([text])[0]
    assert given[1] @ whole > 0.7, "the parts' mean lies near the whole"
    assert given[0] == pytest.approx(HashingEmbedder(16).embed(["short"])[0], abs=1e-6)
    sent = [tuple(asked["input"]) for _, asked in server.asked]
    assert len(set(sent)) == len(sent), "nothing is asked twice"
    assert any("word999" in texts[-1] for texts in sent[3:]), "its end is read too"


def test_all_calls_of_a_question_share_its_time(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewound.llm.embedding_server.QUERY_S", 0.1)
    slowly = threading.Event()
    answer = too_long(2, 2)

    def slow(path: str, asked: Any) -> Any:
        slowly.wait(0.06)
        return answer(path, asked)

    server.answer = slow
    with pytest.raises(EmbeddingAway, match="did not answer"):
        EmbeddingServer(server.url, "toy").embed_queries(["one two three four five six"])


def test_one_word_without_an_end_is_cut_as_well(server: FakeServer) -> None:
    def answer(path: str, asked: Any) -> Answer:
        if max(map(len, asked["input"])) > 300:
            return 400, {"error": {"message": "This model's maximum context length is 75 tokens"}}
        return embed_well(path, asked)

    server.answer = answer
    assert embedder(server).embed(["y" * 8_000]).shape == (1, 16)


def test_a_server_that_takes_nothing_is_given_up(server: FakeServer) -> None:
    server.answer = lambda path, asked: (400, {"error": {"message": "the input is too long"}})
    assert "takes no text of this length" in failure(server, "some secret words " * 50)
    assert len(server.asked) < 100


def test_a_server_that_takes_few_texts_at_once_is_given_fewer(server: FakeServer) -> None:
    def answer(path: str, asked: Any) -> Answer:
        if len(asked["input"]) > 4:
            return 422, {"error": "batch size 32 > maximum allowed batch size 4"}
        return embed_well(path, asked)

    server.answer = answer
    assert embedder(server).embed([f"text {n}" for n in range(20)]).shape == (20, 16)


def failure(server: FakeServer, text: str = "a secret text") -> str:
    with pytest.raises(EmbeddingFailed) as caught:
        embedder(server).embed([text, "another secret"])
    assert "secret" not in str(caught.value) and KEY not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": "no"}), "REWOUND_EMBED_KEY"),
        ((404, {"error": "no"}), "REWOUND_EMBED_URL"),
        ((500, {"error": {"message": "boom"}}), "status 500"),
        ((503, {"error": {"message": "Loading model"}}), "not ready"),
        ((400, {"error": {"message": "Pooling type 'none' is not OAI compatible"}}), "--pooling"),
        ((200, "<html>upstream error</html>"), "no list of vectors"),
        ((200, ""), "no list of vectors"),
        ((200, {"data": None}), "no list of vectors"),
        ((200, {"error": {"message": "out of memory"}}), "no list of vectors"),
        ((200, {"data": [{"embedding": [1, 2]}]}), "1 vectors for 2 texts"),
        ((200, {"data": [{"index": 0, "embedding": [1]}] * 2}), "2 vectors for 2 texts"),
        ((200, {"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}), "different dim"),
        ((200, {"data": [{"embedding": [[1.0]]}, {"embedding": [[1.0]]}]}), "no list of"),
        ((200, {"data": [{"embedding": [None]}, {"embedding": [1.0]}]}), "no list of vectors"),
        ((200, {"data": [{"embedding": []}, {"embedding": []}]}), "no list of vectors"),
        ((200, {"data": [{"embedding": [0, 0]}, {"embedding": [1, 2]}]}), "no length"),
        ((200, '{"data":[{"embedding":[NaN,1]},{"embedding":[1,2]}]}'), "NaN or infinity"),
        ((200, '{"data":[{"embedding":[1e999,1]},{"embedding":[1,2]}]}'), "NaN or infinity"),
    ],
)
def test_what_is_no_vector_is_refused(server: FakeServer, answer: Answer, words: str) -> None:
    server.answer = lambda path, asked: answer
    assert words in failure(server)


def test_other_dimensions_than_before_are_refused(server: FakeServer) -> None:
    made = embedder(server)
    made.embed(["a"])
    server.answer = lambda path, asked: reply(vectors(asked["input"], 8))
    with pytest.raises(EmbeddingFailed, match="8 dimensions now and gave 16"):
        made.embed(["a"])


def test_nobody_there() -> None:
    with faking() as gone:
        url = gone.url
    with pytest.raises(EmbeddingFailed, match="cannot be reached"):
        EmbeddingServer(url, "toy").embed(["a"])


# --- behind a store


def remembering(folder: Path, server: FakeServer, **more: Any) -> Memory:
    models = Models(
        embedder="server", extractor="none", judge="none", embed_url=server.url,
        embed_model=more.pop("embed_model", "toy"), embed_key=KEY, **more,
    )  # fmt: skip
    memory = Memory(folder, models=models)
    memory.own()
    return memory


def test_a_store_searches_by_the_servers_vectors(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server, embed_query_prefix="query: ") as memory:
        memory.remember("Nina lives in Oslo")
        memory.workers("wait")
        found = memory.search("where Nina lives")
        assert found.unembedded == 0 and not found.notes
        assert found.hits[0].signals["meaning"] > 0
    assert server.asked[-1][1]["input"] == ["query: where Nina lives"]
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes()


def test_a_long_text_has_vectors_from_its_first_to_its_last_sentence(
    tmp_path: Path, server: FakeServer
) -> None:
    server.answer = too_long(40, 384)  # words: fewer than a passage has
    numbers = iter(range(10_000))
    one, two = (
        " ".join(f"Sentence {next(numbers)} says that all is well." for _ in range(150))
        for _ in range(2)
    )
    marks = ("ZX-ALPHA-1", "ZX-MID-2", "ZX-OMEGA-3")
    first, middle, last = (f"The code {mark} opens the door." for mark in marks)
    word = "".join(f"x{number}" for number in range(4_000))
    with remembering(tmp_path, server) as memory:
        memory.ingest(f"{first} {one}\n\n{middle}\n\n{word} {two}\n\n{last}")
        memory.workers("wait")
        for mark in marks:
            found = memory.search(f"Which door does the code {mark} open?")
            hit = next(hit for hit in found.hits if mark in hit.text)
            assert "meaning" in hit.signals, "it has a vector, made of its parts"
            assert found.unembedded == 0 and not found.notes
    sent = [tuple(asked["input"]) for _, asked in server.asked if len(asked["input"]) > 1]
    assert len(set(sent)) == len(sent), "nothing is asked twice"


def test_while_the_server_is_away_words_answer_and_nothing_is_lost(
    tmp_path: Path, server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda path, asked: (503, {"error": "Loading model"})
    with caplog.at_level(logging.INFO), remembering(tmp_path, server) as memory:
        memory.remember("Nina lives in Oslo")
        memory.workers("wait")
        found = memory.search("Nina")
        assert found.unembedded == 1 and len(found.hits) == 1
    assert "Oslo" not in caplog.text and KEY not in caplog.text
    server.answer = embed_well
    with remembering(tmp_path, server) as memory:
        memory.workers("wait")
        assert memory.search("Nina").unembedded == 0


def test_another_model_under_the_same_name_is_found_out(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server) as memory:
        memory.remember("Nina lives in Oslo")
        memory.workers("wait")
    server.answer = lambda path, asked: reply(vectors(asked["input"], 8))
    with remembering(tmp_path, server) as memory:
        memory.remember("Tom lives in Rome")
        memory.workers("wait")
        (note,) = memory.search("Nina").notes
        assert "8 dimensions" in note and "have 16" in note
        assert memory.search("Tom").hits


def test_a_model_of_another_name_is_said_to_be_one(tmp_path: Path, server: FakeServer) -> None:
    with remembering(tmp_path, server) as memory:
        memory.remember("Nina lives in Oslo")
        memory.workers("wait")
    with remembering(tmp_path, server, embed_model="other") as memory:
        (note,) = memory.search("Nina").notes
        assert "server/1 toy" in note and "server/1 other" in note
