"""A folder that holds an embedding model, as people download them: an ONNX graph, its tokenizer,
and the settings files of `transformers` and `sentence-transformers` that tell how it is used.

    model.onnx, onnx/model.onnx, model_quantized.onnx or onnx/model_quantized.onnx
    tokenizer.json                       how a text becomes pieces
    modules.json                         which steps follow (pooling, normalising)
    1_Pooling/config.json                how the vectors of pieces become one
    sentence_bert_config.json, tokenizer_config.json, config.json     how many pieces count
    config_sentence_transformers.json    what is put before a question and before a text

Only the graph and the tokenizer must be there. What cannot be done as the folder says is refused,
naming file and field: a vector that was made in another way is another model's.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rewound.llm.embedding import EmbeddingFailed

Pooling = Literal["mean", "cls", "lasttoken"]

GRAPHS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
"""Where the graph is looked for; the first that is there counts."""

PIECES_MAX = 2048
"""Pieces of a text that count, whatever a model would take: with their square grow time and memory,
and entries of the index are paragraphs."""

PIECES_USUAL = 512
"""Where no file tells how many a model takes."""

RECIPE = 1
"""Counts up with anything here or in `onnx_embedder` that changes a vector."""

_CONFIG_BYTES_MAX = 1 << 20
_LOCATION = b"\x0a\x08location\x12"
_TRANSFORMER, _POOLING, _NORMALIZE = "Transformer", "Pooling", "Normalize"
_FLAGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
}
_OFFSET_TYPES = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Kinds of models that count positions from 2 on: two fewer pieces than positions."""


class ModelFolder(NamedTuple):
    """What a folder says. `pooling` is None where only the graph can tell that none is needed."""

    path: Path
    graph: Path
    tokenizer: Path
    pooling: Pooling | None
    pieces_max: int
    query_prefix: str
    document_prefix: str

    def name(self) -> str:
        """The name that its vectors are kept under: the folder's, and a hash of the graph, the
        tokenizer and all that shapes a vector. Reads the files. Raises EmbeddingFailed."""
        digest = hashlib.sha256(f"recipe {RECIPE}".encode())
        try:
            for file in (self.graph, *_beside(self.graph), self.tokenizer):
                with file.open("rb") as opened:
                    digest.update(hashlib.file_digest(opened, "sha256").digest())
        except OSError as error:
            reason = error.strerror or type(error).__name__
            where = error.filename or self.graph
            raise EmbeddingFailed(f"{where} cannot be read: {reason}") from None
        shapes = (self.pooling, self.pieces_max, self.query_prefix, self.document_prefix)
        digest.update(json.dumps(shapes).encode())
        return f"onnx/{RECIPE} {self.path.name}/{digest.hexdigest()[:12]}"


def read_folder(
    path: Path,
    *,
    pooling: Pooling | None = None,
    query_prefix: str = "",
    document_prefix: str = "",
) -> ModelFolder:
    """What the folder says; what is given here counts before that. Loads no model.

    Raises EmbeddingFailed naming the file, and the field in it, that is missing or cannot be.
    """
    try:
        path = path.expanduser().absolute()
    except RuntimeError:
        raise EmbeddingFailed(f"{path} is no folder: there is no such home") from None
    try:
        return _read(path, pooling, query_prefix, document_prefix)
    except OSError as error:  # a folder above it that may not be entered, a name that is too long
        reason = error.strerror or type(error).__name__
        raise EmbeddingFailed(f"{error.filename or path} cannot be read: {reason}") from None


def _read(
    path: Path, pooling: Pooling | None, query_prefix: str, document_prefix: str
) -> ModelFolder:
    if not path.is_dir():
        raise EmbeddingFailed(f"{path} is no folder")
    graph = next((path / name for name in GRAPHS if (path / name).is_file()), None)
    if graph is None:
        raise EmbeddingFailed(f"{path} holds no model: one of {', '.join(GRAPHS)} is needed")
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbeddingFailed(f"{path} holds no tokenizer.json, the form that `tokenizers` reads")
    steps = _steps(path)
    prompts = _Prompts.read(path / "config_sentence_transformers.json")
    return ModelFolder(
        path,
        graph,
        tokenizer,
        pooling or _pooling(path / steps.get(_POOLING, "1_Pooling") / "config.json"),
        _pieces_max(path, path / steps.get(_TRANSFORMER, "")),
        query_prefix or prompts.query,
        document_prefix or prompts.document,
    )


def _beside(graph: Path) -> list[Path]:
    """Files that hold a large graph's weights: of the usual names, and those that it names.
    Raises OSError."""
    folder = graph.parent
    usual = (*folder.glob(f"{graph.name}_data*"), *folder.glob("*.onnx.data"))
    named = (folder / os.fsdecode(name) for name in _locations(graph))
    return sorted({file for file in (*usual, *named) if file.is_file()})


def _locations(graph: Path) -> Iterator[bytes]:
    """Names that a graph gives to files of weights. They are looked for as they are written down
    (key and value of an entry of `external_data`), which takes no reader of the format; one that is
    met by chance names no file. ONNX Runtime itself refuses what leads out of the folder."""
    if not graph.stat().st_size:
        return
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as written:
        at = written.find(_LOCATION)
        while at >= 0:
            at += len(_LOCATION)
            size, at = (written[at : at + 1] or b"\0")[0], at + 1
            if size > 127:  # a longer name: its size takes two bytes
                size, at = size - 128 + ((written[at : at + 1] or b"\0")[0] << 7), at + 1
            name = written[at : at + size]
            if b"\0" not in name and not name.startswith(b"/") and b".." not in name:
                yield name
            at = written.find(_LOCATION, at)


def _steps(path: Path) -> dict[str, str]:
    """The steps that `modules.json` names, by kind, with their folders."""
    file = path / "modules.json"
    modules = _json(file, list) or []
    steps: dict[str, str] = {}
    for module in modules:
        if not (isinstance(module, dict) and isinstance(module.get("type"), str)):
            raise EmbeddingFailed(f"{file}: each entry must be an object with a `type`")
        kind = module["type"].rsplit(".", 1)[-1]
        if kind not in (_TRANSFORMER, _POOLING, _NORMALIZE):
            raise EmbeddingFailed(
                f"{file}: a step of type {kind} cannot be run; those of {_TRANSFORMER}, {_POOLING} "
                f"and {_NORMALIZE} can"
            )
        steps[kind] = _text(module, "path", file)
    return steps


def _pooling(file: Path) -> Pooling | None:
    config = _json(file, dict)
    if config is None:
        return None
    if config.get("include_prompt") is False:
        raise EmbeddingFailed(f"{file}: include_prompt false cannot be done; true can")
    chosen = [
        field
        for field, value in config.items()
        if field.startswith("pooling_mode_") and value is True
    ]
    mode = config.get("pooling_mode")
    known = [*_FLAGS.values()]
    if mode is not None:
        if mode not in known:
            raise EmbeddingFailed(f"{file}: pooling_mode must be one of {', '.join(known)}")
        pooling: Pooling = mode
        return pooling
    if len(chosen) != 1 or chosen[0] not in _FLAGS:
        said = ", ".join(chosen) or "none"
        raise EmbeddingFailed(
            f"{file}: exactly one of {', '.join(_FLAGS)} must be true, and there is {said}"
        )
    return _FLAGS[chosen[0]]


def _pieces_max(path: Path, transformer: Path) -> int:
    """How many pieces of a text count: as was chosen for the model, else what it can take."""
    for folder in dict.fromkeys((transformer, path)):
        for name in ("sentence_bert_config.json", "sentence_transformers_config.json"):
            found = _count(folder / name, "max_seq_length")
            if found is not None:
                return min(found, PIECES_MAX)
    told = _count(path / "tokenizer_config.json", "model_max_length")
    positions = _count(path / "config.json", "max_position_embeddings")
    if positions is not None:
        kind = (_json(path / "config.json", dict) or {}).get("model_type")
        positions -= 2 if kind in _OFFSET_TYPES else 0
    known = [each for each in (told, positions) if each is not None]
    return min(*known, PIECES_MAX) if known else PIECES_USUAL


def _count(file: Path, field: str) -> int | None:
    value = (_json(file, dict) or {}).get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 3:
        raise EmbeddingFailed(f"{file}: {field} must be a whole number, 3 or more")
    return int(min(value, PIECES_MAX + 2))  # "no bound" is written as 1e30


class _Prompts(NamedTuple):
    query: str
    document: str

    @staticmethod
    def read(file: Path) -> "_Prompts":
        config = _json(file, dict) or {}
        prompts = config.get("prompts") or {}
        if not isinstance(prompts, dict):
            raise EmbeddingFailed(f"{file}: prompts must be an object of texts")
        usual = config.get("default_prompt_name")
        if usual is not None and usual not in prompts:
            raise EmbeddingFailed(f"{file}: default_prompt_name names none of the prompts")
        default = _text(prompts, usual, file) if usual is not None else ""

        def first(*names: str) -> Iterator[str]:
            for name in names:
                if name in prompts:
                    yield _text(prompts, name, file)
            yield default

        return _Prompts(next(first("query")), next(first("document", "passage")))


def _text(values: Mapping[str, Any], field: str, file: Path) -> str:
    value = values.get(field, "")
    if not isinstance(value, str):
        raise EmbeddingFailed(f"{file}: {field} must be a text")
    return value


def _json(file: Path, kind: type) -> Any:
    """What a file holds; None if it is not there. Raises EmbeddingFailed."""
    try:
        if not file.is_file():
            return None
        if file.stat().st_size > _CONFIG_BYTES_MAX:
            raise EmbeddingFailed(f"{file} is too large for a settings file")
        value = json.loads(file.read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise EmbeddingFailed(f"{file} cannot be read: {reason}") from None
    except (ValueError, RecursionError):
        raise EmbeddingFailed(f"{file} is not JSON") from None
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object"
        raise EmbeddingFailed(f"{file} must hold {wanted}")
    return value
