"""Embedding models out of a folder: what it says is done, and what it lacks is named."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.llm.embedding import EmbeddingFailed
from rewound.llm.minilm import MODEL, TOKENIZER, TOKENS_MAX, MiniLM
from rewound.llm.model_folder import PIECES_MAX, PIECES_USUAL, read_folder
from rewound.llm.onnx_embedder import OnnxEmbedder
from rewound.memory.models import Models
from rewound.memory.reopening import opening_of, reopening
from tests.unit.tiny_graphs import TABLE, WORDS, folder, graph

MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
TEXTS = [
    "Nina works at Orbit Labs as an engineer.",
    "Yes.",
    "",
    "我喜欢吃苹果",
    "half a pair \udc00 in words",
    "My dog is afraid of thunderstorms and hides under the bed whenever one comes near. " * 30,
]


def expected(text: str, pooling: str = "mean", places: bool = False) -> Any:
    """The unit vector that the tiny model has for a text of its words."""
    rows = TABLE[[1, *(WORDS.index(word) for word in text.split()), 2]]
    if places:
        rows = rows + np.arange(len(rows), dtype=np.float32)[:, None]
    whole = {"mean": rows.mean(axis=0), "cls": rows[0], "lasttoken": rows[-1]}
    vector = {**whole, "max": rows.max(axis=0)}[pooling]
    return vector / np.linalg.norm(vector)


def of(embedder: OnnxEmbedder, text: str) -> Any:
    return embedder.embed([text])[0]


# --- a model as it is published


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the model that this package comes with, as they lie in a download."""
    path = tmp_path_factory.mktemp("models") / "all-MiniLM-L6-v2"
    (path / "onnx").mkdir(parents=True)
    (path / "1_Pooling").mkdir()
    (path / "onnx" / "model_quantized.onnx").symlink_to(MODEL.verified())
    shutil.copy(TOKENIZER.verified(), path / "tokenizer.json")
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    steps = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    files = {
        "modules.json": steps,
        "1_Pooling/config.json": {"word_embedding_dimension": 384, **MEAN},
        "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
        "tokenizer_config.json": {"model_max_length": 512},
        "config.json": {"model_type": "bert", "max_position_embeddings": 512},
        "config_sentence_transformers.json": {"__version__": {}, "prompts": {}},
    }
    for name, content in files.items():
        (path / name).write_text(json.dumps(content))
    return path


def test_a_download_gives_the_vectors_of_the_model_in_process(minilm: Path) -> None:
    made = OnnxEmbedder(minilm, threads=1)
    known = MiniLM(threads=1, recipe=1).embed(TEXTS)  # as the model has unknown words
    assert np.abs(made.embed(TEXTS) - known).max() < 1e-6
    assert np.abs(made.embed_queries(TEXTS) - known).max() < 1e-6
    assert (made.dimensions, made.folder.pieces_max) == (384, TOKENS_MAX)
    assert made.name == OnnxEmbedder(minilm).name
    assert made.name.startswith("onnx/1 all-MiniLM-L6-v2/")


def test_company_changes_no_bit(minilm: Path) -> None:
    made = OnnxEmbedder(minilm, threads=2)
    alone = np.vstack([made.embed([text]) for text in TEXTS])
    assert np.array_equal(made.embed(TEXTS), alone)
    assert made.embed([]).shape[0] == 0


# --- what the folder says is done


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        (MEAN, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode": "cls"}, "cls"),
    ],
)
def test_the_pooling_is_the_folders(tmp_path: Path, config: Any, pooling: str) -> None:
    made = OnnxEmbedder(folder(tmp_path / "tiny", **{"1_Pooling__config": config}))
    for text in ("red", "red blue green", "blue " * 40):
        assert of(made, text) == pytest.approx(expected(text, pooling), abs=1e-6)


def test_the_pooling_lies_where_the_steps_say(tmp_path: Path) -> None:
    steps = [{"path": "", "type": "x.Transformer"}, {"path": "pool", "type": "x.Pooling"}]
    told: dict[str, Any] = {
        "1_Pooling__config": None,
        "pool__config": {"pooling_mode_cls_token": True},
    }
    made = OnnxEmbedder(folder(tmp_path / "tiny", modules=steps, **told))
    assert of(made, "red blue") == pytest.approx(expected("red blue", "cls"))


@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids",),
        ("input_ids", "attention_mask"),
        ("attention_mask", "token_type_ids", "input_ids"),
        ("input_ids", "position_ids"),
    ],
)
def test_a_graph_gets_the_inputs_that_it_wants(tmp_path: Path, inputs: Sequence[str]) -> None:
    made = OnnxEmbedder(folder(tmp_path / "tiny", graph(inputs=inputs)))
    right = expected("green red", places="position_ids" in inputs)
    assert of(made, "green red") == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("output", ["sentence_embedding", "text_embedding", "sentence_vectors"])
def test_a_graph_that_pools_by_itself_needs_no_word_of_it(tmp_path: Path, output: str) -> None:
    made = OnnxEmbedder(folder(tmp_path / "tiny", graph(output), **{"1_Pooling__config": None}))
    assert of(made, "red blue") == pytest.approx(expected("red blue", "max"), abs=1e-6)
    assert made.dimensions == 3


@pytest.mark.parametrize("output", ["token_embeddings", "hidden"])
def test_vectors_of_pieces_go_by_several_names(tmp_path: Path, output: str) -> None:
    made = OnnxEmbedder(folder(tmp_path / "tiny", graph(output)))
    assert of(made, "red blue") == pytest.approx(expected("red blue"), abs=1e-6)


@pytest.mark.parametrize(
    ("files", "pieces"),
    [
        ({}, PIECES_USUAL),
        ({"sentence_bert_config": {"max_seq_length": 5}}, 5),
        ({"sentence_bert_config": {"max_seq_length": None}, "config": {}}, PIECES_USUAL),
        ({"tokenizer_config": {"model_max_length": 8}}, 8),
        ({"tokenizer_config": {"model_max_length": 1e30}}, PIECES_MAX),
        ({"config": {"max_position_embeddings": 32768}}, PIECES_MAX),
        ({"config": {"max_position_embeddings": 514, "model_type": "xlm-roberta"}}, 512),
        (
            {
                "tokenizer_config": {"model_max_length": 99},
                "config": {"max_position_embeddings": 9},
            },
            9,
        ),
    ],
)
def test_so_many_pieces_count(tmp_path: Path, files: Any, pieces: int) -> None:
    path = folder(tmp_path / "tiny", **files)
    assert read_folder(path).pieces_max == pieces
    made = OnnxEmbedder(path)
    if pieces < 100:
        kept = "red " * (pieces - 2)
        assert np.array_equal(of(made, kept), of(made, kept + "blue blue blue"))
        assert not np.array_equal(of(made, "red"), of(made, "red blue"))


PROMPTS = {"prompts": {"query": "red ", "passage": "green ", "other": "blue "}}


@pytest.mark.parametrize(
    ("config", "given", "query", "document"),
    [
        (PROMPTS, {}, "red ", "green "),
        (PROMPTS, {"query_prefix": "blue "}, "blue ", "green "),
        (PROMPTS, {"document_prefix": "blue "}, "red ", "blue "),
        ({**PROMPTS, "default_prompt_name": "other"}, {}, "red ", "green "),
        ({"prompts": {"a": "blue "}, "default_prompt_name": "a"}, {}, "blue ", "blue "),
        ({"prompts": {"query": "red ", "document": ""}}, {}, "red ", ""),
        ({"prompts": None}, {}, "", ""),
    ],
)
def test_prefixes_are_the_folders_unless_set(
    tmp_path: Path, config: Any, given: dict[str, Any], query: str, document: str
) -> None:
    path = folder(tmp_path / "tiny", config_sentence_transformers=config)
    made = OnnxEmbedder(path, **given)
    assert np.array_equal(made.embed_queries(["blue"])[0], of_plain(tmp_path, query + "blue"))
    assert np.array_equal(made.embed(["blue"])[0], of_plain(tmp_path, document + "blue"))


def of_plain(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "plain" / "tiny"
    return of(OnnxEmbedder(path if path.exists() else folder(path)), text)


def test_large_graphs_and_those_in_a_folder_are_found(tmp_path: Path) -> None:
    path = folder(tmp_path / "tiny")
    (path / "onnx").mkdir()
    (path / "onnx" / "model_quantized.onnx").write_bytes(graph("sentence_embedding"))
    assert read_folder(path).graph == path / "model.onnx"
    (path / "model.onnx").rename(path / "onnx" / "model.onnx")
    assert read_folder(path).graph == path / "onnx" / "model.onnx"
    (path / "onnx" / "model.onnx").unlink()
    assert read_folder(path).graph == path / "onnx" / "model_quantized.onnx"


# --- the name


def test_the_name_tells_whatever_changes_a_vector(tmp_path: Path) -> None:
    path = folder(tmp_path / "tiny", sentence_bert_config={"max_seq_length": 9})
    seen = {OnnxEmbedder(path).name}

    def new() -> str:
        name = OnnxEmbedder(path).name
        assert name not in seen and name == OnnxEmbedder(path, threads=2).name
        seen.add(name)
        return name

    assert OnnxEmbedder(path).name.startswith("onnx/1 tiny/")
    (path / "model.onnx").write_bytes(graph("token_embeddings"))
    new()
    (path / "model.onnx_data").write_bytes(b"weights of a large graph")
    new()
    (path / "tokenizer.json").write_text((path / "tokenizer.json").read_text() + "\n")
    new()
    (path / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    new()
    (path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    new()
    (path / "config_sentence_transformers.json").write_text('{"prompts": {"query": "q: "}}')
    new()
    given = (
        OnnxEmbedder(path, query_prefix="x"), OnnxEmbedder(path, document_prefix="x"),
        OnnxEmbedder(path, pooling="mean"),
    )  # fmt: skip
    assert not seen & {each.name for each in given} and len({each.name for each in given}) == 3
    assert OnnxEmbedder(path.rename(tmp_path / "moved")).name not in seen


@pytest.mark.parametrize("name", ["weights.bin", "parts/table", f"{'long' * 40}.bin"])
def test_weights_in_files_of_any_name_are_part_of_it(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path / "tiny", graph(weights=name))
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).write_bytes(TABLE.tobytes())
    before = OnnxEmbedder(path)
    assert of(before, "red") == pytest.approx(expected("red", "mean"), abs=1e-6)
    (path / name).unlink()  # what is loaded stays mapped
    (path / name).write_bytes(TABLE[::-1].tobytes())
    after = OnnxEmbedder(path)
    assert after.name != before.name and not np.array_equal(of(after, "red"), of(before, "red"))


@pytest.mark.parametrize("name", ["../weights.bin", "/weights.bin", "\0", ""])
def test_what_leads_out_of_the_folder_is_not_read(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path / "tiny", graph(weights=name))
    (tmp_path / "weights.bin").write_bytes(TABLE.tobytes())
    before = OnnxEmbedder(path).name
    (tmp_path / "weights.bin").write_bytes(b"")
    assert OnnxEmbedder(path).name == before
    with pytest.raises(EmbeddingFailed, match="could not be loaded"):
        OnnxEmbedder(path).embed(["red"])


def test_a_folder_that_changes_before_it_is_loaded_is_not_used(tmp_path: Path) -> None:
    made = OnnxEmbedder(folder(tmp_path / "tiny"))
    assert made.name
    (made.folder.graph).write_bytes(graph("token_embeddings"))
    with pytest.raises(EmbeddingFailed, match="another model than when this began"):
        made.embed(["red"])


# --- what it lacks is named


def damage(path: Path, name: str) -> Path:
    (path / name).unlink()
    return path


FLAWS: dict[str, tuple[dict[str, Any], str]] = {
    "two poolings": (
        {"1_Pooling__config": {**MEAN, "pooling_mode_max_tokens": True}},
        r"1_Pooling/config.json: exactly one of .* true, and there is .*max_tokens",
    ),
    "no pooling": ({"1_Pooling__config": {}}, "exactly one of .* there is none"),
    "an unknown pooling": (
        {"1_Pooling__config": {"pooling_mode": "max"}},
        "one of mean, cls, last",
    ),
    "pooling without its prompt": (
        {"1_Pooling__config": {**MEAN, "include_prompt": False}},
        "include_prompt false cannot be done",
    ),
    "a dense step": ({"modules": [{"path": "2", "type": "x.Dense"}]}, "modules.json: .* Dense"),
    "steps of another form": ({"modules": {"a": 1}}, "modules.json must hold a list"),
    "a step without a type": ({"modules": ["Pooling"]}, "modules.json: each entry"),
    "no JSON": ({"config": "{"}, "config.json is not JSON"),
    "a length of no number": (
        {"sentence_bert_config": {"max_seq_length": "many"}},
        "sentence_bert_config.json: max_seq_length must be a whole number",
    ),
    "no length": ({"config": {"max_position_embeddings": 0}}, "max_position_embeddings must be"),
    "prompts of numbers": (
        {"config_sentence_transformers": {"prompts": {"query": 3}}},
        "config_sentence_transformers.json: query must be a text",
    ),
    "a default that is none": (
        {"config_sentence_transformers": {"prompts": {}, "default_prompt_name": "q"}},
        "default_prompt_name names none",
    ),
}


@pytest.mark.parametrize(("files", "told"), FLAWS.values(), ids=FLAWS.keys())
def test_a_folder_that_cannot_be_followed_is_refused(tmp_path: Path, files: Any, told: str) -> None:
    path = folder(tmp_path / "tiny", **files)
    with pytest.raises(EmbeddingFailed, match=told):
        OnnxEmbedder(path)
    with pytest.raises(InvalidInput, match=told) as caught:
        Models(embedder="onnx", embed_folder=str(path))
    assert caught.value.field == "REWOUND_EMBED_FOLDER"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("model.onnx", r"holds no model: one of model.onnx, onnx/model.onnx"),
        ("tokenizer.json", "holds no tokenizer.json"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(EmbeddingFailed, match=told):
        OnnxEmbedder(damage(folder(tmp_path / "tiny"), name))


def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere is no folder"):
        Models(embedder="onnx", embed_folder=str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match="set REWOUND_EMBED_FOLDER"):
        Models(embedder="onnx")
    for path, told in (("~nobody-of-that-name/tiny", "no such home"), ("long" * 99, "too long")):
        with pytest.raises(InvalidInput, match=told) as caught:
            Models(embedder="onnx", embed_folder=path)
        assert caught.value.field == "REWOUND_EMBED_FOLDER"


def test_a_folder_in_the_users_home_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder(tmp_path / "tiny")
    models = Models(embedder="onnx", embed_folder="~/tiny")
    made, counter = models.make_embedder(), models.make_token_counter()
    assert made is not None and made.name.startswith("onnx/1 tiny/")
    counter.load()
    assert counter.line("red green") == 2


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(36, "x")])
def test_a_folder_that_may_not_be_looked_into_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """Also where it is the one that was set before, whose vectors are there."""
    path = folder(tmp_path / "tiny")
    before = Models(embedder="onnx", embed_folder=str(path))
    name, opening = before.make_embedder(), opening_of(before)
    assert name is not None

    def refused(self: Path) -> bool:
        raise error

    monkeypatch.setattr(Path, "is_dir", refused)
    with pytest.raises(InvalidInput, match="tiny cannot be read: "):
        before.make_embedder()
    told = reopening(Models(embedder="hashing"))(name.name, opening)
    assert isinstance(told, str) and "tiny cannot be read: " in told


def test_a_folder_that_names_no_pooling_asks_for_it(tmp_path: Path) -> None:
    path = folder(tmp_path / "tiny", **{"1_Pooling__config": None})
    with pytest.raises(EmbeddingFailed, match=r"1_Pooling/config\.json, or set REWOUND_EMBED_POOL"):
        OnnxEmbedder(path).embed(["red"])
    env = {
        "REWOUND_EMBEDDER": "onnx",
        "REWOUND_EMBED_FOLDER": str(path),
        "REWOUND_EMBED_POOLING": "lasttoken",
        "REWOUND_EMBED_QUERY_PREFIX": "blue ",
    }
    made = Models.from_environment(env).make_embedder()
    assert isinstance(made, OnnxEmbedder)
    assert of(made, "red") == pytest.approx(expected("red", "lasttoken"), abs=1e-6)
    assert made.folder.query_prefix == "blue "


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (b"no graph", "could not be loaded"),
        (graph(inputs=("input_ids", "past_key_values")), "wants past_key_values of tensor"),
        (graph(inputs=("attention_mask",)), "could not be loaded"),
    ],
)
def test_a_graph_that_cannot_be_run_is_told(tmp_path: Path, model: bytes, told: str) -> None:
    with pytest.raises(EmbeddingFailed, match=told):
        OnnxEmbedder(folder(tmp_path / "tiny", model)).embed(["red"])


def _no_words(tokenizer: dict[str, Any]) -> None:
    tokenizer["model"]["vocab"] = {}


def _other_words(tokenizer: dict[str, Any]) -> None:
    tokenizer["model"]["vocab"]["red"] = 99


def _no_marks(tokenizer: dict[str, Any]) -> None:
    tokenizer["post_processor"]["special_tokens"] = {}


def _bad_map(tokenizer: dict[str, Any]) -> None:
    tokenizer["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_no_words, "cannot cut a text"),
        (_other_words, "could not run"),
        (_no_marks, "cannot cut a text"),
        (_bad_map, "could not be loaded"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_told(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], told: str
) -> None:
    """Some make the package panic, which no thread may end by."""
    path = folder(tmp_path / "tiny")
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    change(tokenizer)
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(EmbeddingFailed, match=told) as failed:
        OnnxEmbedder(path).embed(["red"])
    assert "red" not in str(failed.value)


def test_a_model_whose_vectors_have_no_fixed_size_is_told(tmp_path: Path) -> None:
    """It is made by hand: of two texts the second has a vector of another size."""
    made = OnnxEmbedder(folder(tmp_path / "tiny"))
    made.embed(["red"])
    made._dimensions = 4
    with pytest.raises(EmbeddingFailed, match="of 4 dimensions and of 3: it is no embedding model"):
        made.embed(["green"])
