"""The embedder that runs a model out of a folder, in this process, by ONNX Runtime.

Texts are run one by one. Weights of eight bits are often made so that numbers inside are scaled by
what else is in a batch; alone, a text has the same vector whatever it came with, and nothing is
padded. (Measured with MiniLM on two busy cores: 144 short texts a second alone, 216 in batches, and
no difference for texts of 200 words.)
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rewound.llm.embedding import EmbeddingFailed, Vectors, checked
from rewound.llm.model_folder import ModelFolder, Pooling, read_folder
from rewound.llm.native_runs import RUNS
from rewound.llm.onnx_running import (
    TRIM_TOKENS,
    Loaded,
    Port,
    Session,
    cores_here,
    give_back_memory,
    open_session,
    open_tokenizer,
    panics_told,
    readable,
)

CHARACTERS_PER_PIECE = 32
"""Characters that are cut into pieces at all, for each piece that counts; prose has 4 to 5."""

WHOLE = ("sentence_embedding", "text_embedding")
"""Outputs that are a vector of the whole text, where the folder's own pooling is in the graph."""

HIDDEN = ("last_hidden_state", "token_embeddings")
"""Outputs that are a vector for each piece."""

_TYPES: dict[str, type[np.signedinteger[Any]]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_PLAIN = "a plain sentence"


class OnnxEmbedder:
    """A model out of a folder. Safe for any number of threads; runs side by side.

    Making one reads the settings files; the first `name` reads all files, the first `embed` loads
    them. `threads` is how many cores one run may use; 0 is all that this process may run on.
    """

    def __init__(
        self,
        path: Path,
        threads: int = 0,
        *,
        pooling: Pooling | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        """What is given here counts before what the folder says. Raises EmbeddingFailed."""
        if threads < 0:
            raise ValueError(f"threads is {threads}; it is 0 (all cores) or more")
        self.folder = read_folder(
            path, pooling=pooling, query_prefix=query_prefix, document_prefix=document_prefix
        )
        self._name: str | None = None
        self._dimensions: int | None = None
        self._graph: _Graph | None = None
        self._loading = threading.Lock()
        self._cores = threads or cores_here()
        # Two at the least: a query need not wait for a batch.
        self._turns = threading.Semaphore(max(2, self._cores))

    @property
    def name(self) -> str:
        """Raises EmbeddingFailed for files that cannot be read."""
        if self._name is None:
            self._name = self.folder.name()
        return self._name

    def check(self) -> None:
        """Read all files, as the first `name` does. Raises EmbeddingFailed."""
        self._name = self.folder.name()

    @property
    def dimensions(self) -> int:
        """Found out by the first vector. Raises EmbeddingFailed."""
        if self._dimensions is None:
            self.embed([_PLAIN])
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are to be found. Raises EmbeddingFailed."""
        return self._embedded(texts, self.folder.document_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions. Raises EmbeddingFailed."""
        return self._embedded(texts, self.folder.query_prefix)

    def _embedded(self, texts: Sequence[str], prefix: str) -> Vectors:
        if not texts:
            return np.zeros((0, self._dimensions or 0), np.float32)
        graph = self._ready()
        pieces, rows = 0, []
        for text in texts:
            ids = graph.pieces(prefix + text)
            pieces += len(ids)
            with self._turns:
                rows.append(graph.vector(ids))
        if pieces >= TRIM_TOKENS:
            give_back_memory()
        self._dimensions = self._dimensions or len(rows[0])
        for row in rows:
            if len(row) != self._dimensions:
                raise EmbeddingFailed(
                    f"{self.folder.graph} gives vectors of {self._dimensions} dimensions and of "
                    f"{len(row)}: it is no embedding model"
                )
        return checked(np.stack(rows), len(texts), self._dimensions)

    def _ready(self) -> "_Graph":
        if self._graph is None:
            with self._loading:
                if self._graph is None:
                    self._graph = self._load()
        return self._graph

    def _load(self) -> "_Graph":
        folder = self.folder
        if folder.name() != self.name:
            raise EmbeddingFailed(f"{folder.path} holds another model than when this began")
        try:
            session = open_session(folder.graph, self._cores)
            tokenizer = open_tokenizer(folder.tokenizer, folder.pieces_max)
        except ImportError as error:
            raise EmbeddingFailed(
                f"the embedding model needs the packages onnxruntime and tokenizers: {error}"
            ) from error
        except Exception as error:  # both packages raise what derives from Exception alone
            raise EmbeddingFailed(f"{folder.path} could not be loaded: {error}") from error
        give_back_memory()
        return _Graph(folder, Loaded(session, tokenizer))


class _Graph:
    """A loaded model, with what it takes and what is taken of it."""

    def __init__(self, folder: ModelFolder, loaded: Loaded) -> None:
        self._folder = folder
        self._session: Session = loaded.session
        self._tokenizer = loaded.tokenizer
        self._inputs = {port.name: _type(folder, port) for port in loaded.session.get_inputs()}
        if "input_ids" not in self._inputs:
            raise EmbeddingFailed(f"{folder.graph} takes no input_ids: it is no model of texts")
        self._output, self._pooling = _output(folder, loaded.session.get_outputs())

    def pieces(self, text: str) -> list[int]:
        """The numbers of a text's pieces; of a text without any, those of a full stop."""
        shown = readable(text, CHARACTERS_PER_PIECE * self._folder.pieces_max)
        try:
            with panics_told():
                ids: list[int] = (
                    self._tokenizer.encode(shown).ids or self._tokenizer.encode(".").ids
                )
        except Exception:  # it has no types of its own; some quote the text
            raise EmbeddingFailed(f"{self._folder.tokenizer} cannot cut a text") from None
        if not ids:
            raise EmbeddingFailed(f"{self._folder.tokenizer} makes no pieces of a text")
        return ids

    def vector(self, ids: Sequence[int]) -> npt.NDArray[np.float32]:
        """Shape (dimensions,). Raises EmbeddingFailed."""
        count = len(ids)
        values: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": [1] * count,
            "token_type_ids": [0] * count,
            "position_ids": range(count),
        }
        feed = {name: np.array([values[name]], kind) for name, kind in self._inputs.items()}
        try:
            with RUNS.one():
                made = np.asarray(self._session.run([self._output], feed)[0], np.float32)
        except Exception as error:  # its errors are of types of their own, below Exception only
            raise EmbeddingFailed(
                f"the embedding model could not run: {type(error).__name__}"
            ) from error
        wanted = 2 if self._pooling is None else 3
        if made.ndim != wanted or (wanted == 3 and made.shape[1] != count):
            raise EmbeddingFailed(
                f"{self._folder.graph} gives {self._output} of shape {made.shape} for a text of "
                f"{count} pieces"
            )
        vector: npt.NDArray[np.float32] = made[0]
        match self._pooling:
            case "mean":
                vector = made[0].sum(axis=0) / np.float32(count)
            case "cls":
                vector = made[0, 0]
            case "lasttoken":
                vector = made[0, -1]
            case None:
                pass  # the graph has pooled
        return vector


def _type(folder: ModelFolder, port: Port) -> type[np.signedinteger[Any]]:
    if port.name not in _INPUTS or port.type not in _TYPES:
        raise EmbeddingFailed(
            f"{folder.graph} wants {port.name} of {port.type}; what can be given are "
            f"{', '.join(_INPUTS)} of whole numbers"
        )
    return _TYPES[port.type]


def _output(folder: ModelFolder, ports: Sequence[Port]) -> tuple[str, Pooling | None]:
    """The output to take, and what makes one vector of it."""
    names = [port.name for port in ports]
    for name in WHOLE:
        if name in names:
            return name, None
    hidden = next((name for name in HIDDEN if name in names), None)
    if hidden is None and len(ports) == 1:
        if len(ports[0].shape) == 2:
            return names[0], None
        hidden = names[0]
    if hidden is None:
        raise EmbeddingFailed(
            f"{folder.graph} gives {', '.join(names)}; one of {', '.join((*WHOLE, *HIDDEN))} is "
            "needed"
        )
    if folder.pooling is None:
        raise EmbeddingFailed(
            f"{folder.path} does not say how the vectors of pieces become one: it needs "
            "1_Pooling/config.json, or set REWOUND_EMBED_POOLING to mean, cls or lasttoken"
        )
    return hidden, folder.pooling
