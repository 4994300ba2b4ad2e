"""The embedder that was set before is opened again, until its vectors have been replaced."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.llm.embedding import Served
from rewound.llm.embedding_server import name_of
from rewound.llm.hashing import HashingEmbedder
from rewound.llm.minilm import MiniLM
from rewound.llm.nodes import Node
from rewound.llm.onnx_embedder import OnnxEmbedder
from rewound.memory import Memory, embedding, meaning
from rewound.memory.models import Models
from rewound.memory.proving import Proof
from rewound.memory.reopening import opening_of, reopening
from tests.integration.faking import Answer, FakeServer, faking
from tests.integration.test_dispatching import eventually
from tests.unit.tiny_graphs import folder, graph

KEY = "LLM-CANARY-456"
FACTS = ["red green", "red blue", "red green blue", "red red"]
"""All are found by the word and by its meaning."""
HASHING = Models(embedder="hashing", extractor="none", judge="none")


def vectors(texts: Sequence[str], dimensions: int, turned: bool) -> Answer:
    """As hashing makes them; of another model of the same size, when `turned`."""
    made = HashingEmbedder(dimensions).embed(texts)
    made = np.roll(made, 7, axis=1) if turned else made
    data = [{"index": n, "embedding": each} for n, each in enumerate(made.tolist())]
    return 200, {"data": data}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        fake.answer = lambda path, asked: vectors(asked["input"], 64, turned=False)
        yield fake


def served(server: FakeServer, model: str = "toy", **more: Any) -> Models:
    given = {"embed_url": server.url, "embed_model": model, "embed_key": KEY, **more}
    return Models(embedder="server", extractor="none", judge="none", **given)


def filled(data: Path, models: Models) -> None:
    with Memory(data, "s", models=models) as memory:
        memory.remember(FACTS)
        assert memory.workers("wait", timeout_s=240).unembedded == 0
        assert meant(memory) == sorted(FACTS)


def meant(memory: Memory, query: str = "red") -> list[str]:
    """What is found by meaning, when nothing is said of it."""
    found = memory.search(query, limit=100)
    return sorted(hit.text for hit in found.hits if "meaning" in hit.signals)


def notes(memory: Memory) -> str:
    return " ".join(memory.search("red").notes)


def changed(memory: Memory, model: str) -> None:
    """The change is made from beginning to end."""
    assert memory.reembed().switch is not None
    assert memory.workers("wait", timeout_s=240).switch is None
    told = memory.reembed("status")
    assert (told.model, told.switch, told.unembedded, told.notes) == (model, None, 0, ())
    assert meant(memory) == sorted(FACTS) and notes(memory) == ""


# --- a model in this process


@pytest.mark.parametrize(
    ("models", "kind"),
    [(HASHING, HashingEmbedder), (Models(embedder="minilm", extractor="none"), MiniLM)],
)
def test_models_of_this_process_need_no_note(models: Models, kind: type) -> None:
    made = models.make_embedder()
    assert made is not None
    for opening in (opening_of(models), b""):
        assert isinstance(reopening(HASHING)(made.name, opening), kind)
    assert reopening(HASHING)("all-MiniLM-L6-v2/int8/0000/1", opening_of(models)) == ""


def test_with_none_nothing_is_written_down() -> None:
    assert opening_of(Models(embedder="none")) == b""


@pytest.mark.parametrize("damaged", [b"{", b'{"embedder": "oracle"}', b"[]"])
def test_what_cannot_be_read_opens_nothing(damaged: bytes) -> None:
    assert isinstance(reopening(HASHING)("new/1", damaged), str)


# --- a folder


def test_a_folder_is_opened_again_and_left(tmp_path: Path) -> None:
    path = folder(tmp_path / "tiny", config_sentence_transformers={"prompts": {"query": "red "}})
    onnx = Models(embedder="onnx", extractor="none", judge="none", embed_folder=str(path))
    filled(tmp_path / "data", onnx)
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        assert meant(memory) == sorted(FACTS)
        said = notes(memory)
        assert "onnx/1 tiny/" in said and "hashing/384/1" in said and "`rewound reembed`" in said
        changed(memory, "hashing/384/1")
    # And into it: for a model in the process no note is needed.
    with Memory(tmp_path / "data", "s", models=onnx) as memory:
        assert "hashing/384/1, which goes on" in notes(memory) and meant(memory) == sorted(FACTS)
        made = onnx.make_embedder()
        assert made is not None
        changed(memory, made.name)


def test_what_was_set_for_a_folder_is_set_again(tmp_path: Path) -> None:
    path = folder(tmp_path / "tiny", **{"1_Pooling__config": None})
    onnx = Models(
        embedder="onnx", embed_folder=str(path), embed_pooling="cls", embed_query_prefix="red ",
        embed_document_prefix="blue ",
    )  # fmt: skip
    made = onnx.make_embedder()
    assert made is not None
    again = reopening(HASHING)(made.name, opening_of(onnx))
    assert isinstance(again, OnnxEmbedder) and again.name == made.name
    assert np.array_equal(again.embed(["red"]), made.embed(["red"]))


@pytest.mark.parametrize("gone", [True, False])
def test_a_folder_that_is_gone_or_holds_another_model_leaves_words(
    tmp_path: Path, gone: bool
) -> None:
    path = folder(tmp_path / "tiny")
    onnx = Models(embedder="onnx", extractor="none", judge="none", embed_folder=str(path))
    filled(tmp_path / "data", onnx)
    if gone:
        shutil.rmtree(path)
    else:
        (path / "model.onnx").write_bytes(graph("token_embeddings"))
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        said = notes(memory)
        assert ("is no folder" if gone else "holds another model now") in said
        assert "onnx/1 tiny/" in said and "hashing/384/1" in said and "`rewound reembed`" in said
        assert meant(memory) == [] and len(memory.search("red").hits) == 4
        told = memory.reembed()
        assert told.model == "hashing/384/1" and told.switch is None
        memory.workers("wait", timeout_s=240)
        assert meant(memory) == sorted(FACTS) and notes(memory) == ""


@pytest.mark.parametrize("pause_s", [0.0, 3_600.0])
def test_a_folder_that_comes_later_is_opened_then(
    tmp_path: Path, pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a disk that is mounted after this began; it is tried again, but not with each question."""
    monkeypatch.setattr(meaning, "REOPEN_S", (pause_s, pause_s))
    path = folder(tmp_path / "tiny")
    onnx = Models(embedder="onnx", extractor="none", judge="none", embed_folder=str(path))
    filled(tmp_path / "data", onnx)
    path.rename(tmp_path / "elsewhere")
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        assert "is no folder" in notes(memory) and meant(memory) == []
        (tmp_path / "elsewhere").rename(path)
        if pause_s:
            assert "is no folder" in notes(memory) and meant(memory) == []
        else:
            assert "goes on answering" in notes(memory) and meant(memory) == sorted(FACTS)


def test_texts_that_came_while_it_was_gone_are_embedded_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "REOPEN_S", (0.0, 0.0))
    monkeypatch.setattr(embedding, "RETRY_S", 0.01)
    path = folder(tmp_path / "tiny")
    onnx = Models(embedder="onnx", extractor="none", judge="none", embed_folder=str(path))
    filled(tmp_path / "data", onnx)
    path.rename(tmp_path / "elsewhere")
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        memory.remember("red and blue")
        assert memory.jobs().unembedded == 1
        (tmp_path / "elsewhere").rename(path)
        eventually(lambda: memory.jobs().unembedded == 0)


# --- a server


def test_a_server_is_asked_on_until_its_vectors_are_replaced(
    tmp_path: Path, server: FakeServer
) -> None:
    filled(tmp_path / "data", served(server))
    server.headers.clear()
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        assert meant(memory) == sorted(FACTS) and "server/1 toy" in notes(memory)
        assert server.headers and not any("authorization" in each for each in server.headers)
        changed(memory, "hashing/384/1")
        asked = len(server.asked)
        assert meant(memory, "red please") == sorted(FACTS)
        memory.remember(["red red red"])
        memory.workers("wait", timeout_s=240)
        assert len(server.asked) == asked, "it is asked nothing more"
    for file in (tmp_path / "data").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("same", [True, False])
def test_an_old_address_has_the_key_that_is_set_for_it_now(server: FakeServer, same: bool) -> None:
    with faking() as other:
        old = served(server, embed_query_prefix="query: ", embed_document_prefix="text: ")
        now = served(server if same else other, "other", embed_key="NEW-KEY")
        name = name_of("toy", "query: ", "text: ")
        again = reopening(now)(name, opening_of(old))
        assert not isinstance(again, str) and isinstance(again, Served)
        try:
            again.embed(["red"])
        finally:
            again.close()
        ((_, asked),) = server.asked
        assert (asked["model"], asked["input"]) == ("toy", ["text: red"])
        sent = server.headers[0].get("authorization")
        assert sent == ("Bearer NEW-KEY" if same else None)
        assert other.asked == []


def test_nodes_are_written_down_without_keys(server: FakeServer) -> None:
    node = Node(
        name="gpu", urls={"embed": server.url, "chat": "http://127.0.0.1:9"}, key=KEY, slots=3,
        lanes=("background",),
    )  # fmt: skip
    front = Node(name="front", urls={"embed": server.url + "/v1"}, lanes=("interactive",))
    old = Models(embedder="server", embed_model="toy", nodes=(node, front))
    opening = opening_of(old)
    assert KEY.encode() not in opening and b"127.0.0.1:9" not in opening.replace(
        server.url.encode(), b""
    )
    again = reopening(HASHING)("server/1 toy", opening)
    assert isinstance(again, Served)
    again.close()


def test_another_model_at_the_old_address_is_found_out(tmp_path: Path, server: FakeServer) -> None:
    """Of the same dimensions: only its vectors tell."""
    filled(tmp_path / "data", served(server))
    server.answer = lambda path, asked: vectors(asked["input"], 64, turned=True)
    with Memory(tmp_path / "data", "s", models=served(server, "other")) as memory:
        said = notes(memory)
        assert "another model answers where server/1 toy did" in said and "words alone" in said
        assert "server/1 other" in said and "`rewound reembed`" in said
        assert meant(memory) == []
        memory.reembed()
        memory.workers("wait", timeout_s=240)
        told = memory.reembed("status")
        assert told.model == "server/1 other" and meant(memory) == sorted(FACTS)
        assert notes(memory) == ""


def test_it_is_looked_at_again_whether_it_is_the_same(
    tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "data", served(server))
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        assert meant(memory, "red") == sorted(FACTS)
        server.asked.clear()
        assert meant(memory, "red please") == sorted(FACTS) and len(server.asked) == 1, (
            "it is believed"
        )
        server.answer = lambda path, asked: vectors(asked["input"], 64, turned=True)
        monkeypatch.setattr(Proof, "is_old", lambda proof: True)  # a minute later
        assert meant(memory, "red now") == []
        assert "another model answers" in notes(memory)


def test_what_is_forgotten_is_not_what_a_server_is_known_by(
    tmp_path: Path, server: FakeServer
) -> None:
    filled(tmp_path / "data", served(server))
    with Memory(tmp_path / "data", "s", models=served(server)) as memory:
        last = next(hit for hit in memory.search("red", limit=9).hits if hit.text == FACTS[-1])
        memory.forget(last.id)
    server.asked.clear()
    with Memory(tmp_path / "data", "s", models=HASHING) as memory:
        assert meant(memory) == sorted(FACTS[:-1])
        sent = [text for _, asked in server.asked for text in asked["input"]]
        assert FACTS[-1] not in sent and len(sent) == 2


def test_better_vectors_of_the_same_model_are_made_by_themselves(tmp_path: Path) -> None:
    """Those of the release before are searched meanwhile."""
    before, now = MiniLM(recipe=1), MiniLM()
    assert now.predecessors == (before.name,) and before.predecessors == ()
    models = Models(embedder="minilm", extractor="none", judge="none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Models, "make_embedder", lambda self, nodes=None: before)
        filled(tmp_path, models)
    with Memory(tmp_path, "s", models=models) as memory:
        memory.workers("pause")
        told = memory.reembed("status")
        assert told.model == before.name and told.switch is not None
        assert told.switch.new == now.name
        assert meant(memory) == sorted(FACTS) and notes(memory) == ""
        memory.workers("resume")
        assert memory.workers("wait", timeout_s=240).switch is None
        assert memory.reembed("status").model == now.name
        assert meant(memory) == sorted(FACTS) and notes(memory) == ""
