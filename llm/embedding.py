"""What an embedder is: texts in, unit vectors out, under a name that no other model shares."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rewound.llm.nodes import Lane

Vectors = npt.NDArray[np.float32]
"""Shape (texts, dimensions)."""


class EmbeddingFailed(Exception):
    """The model could not be loaded, or gave what is no vector; the message says which and why.

    It never holds a text that was to be embedded.
    """

    unfit = False
    """Whether another server of the same model may do: this one refuses whoever asks."""


class EmbeddingAway(EmbeddingFailed):
    """The model's server could not be reached, or did not answer in time."""


class EmbeddingBusy(EmbeddingFailed):
    """The model is well, but has no time now. Try after `after_s` seconds."""

    def __init__(self, message: str, after_s: int) -> None:
        super().__init__(message)
        self.after_s = after_s


class Embedder(Protocol):
    """A model that gives texts places in a space. Safe for any number of threads.

    `name` tells model, form and version, so vectors of two embedders are equal in name only when
    they may be compared. Making one loads nothing; the first `embed` does.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, in the order of the texts. Raises EmbeddingFailed."""
        ...


@runtime_checkable
class AskingEmbedder(Protocol):
    """An embedder for which a question is something else than a text that answers it."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, in the order of the texts. Raises EmbeddingFailed."""
        ...


@runtime_checkable
class Served(Protocol):
    """An embedder that waits for a server."""

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


@runtime_checkable
class Succeeding(Protocol):
    """An embedder that makes better vectors than it did in releases before this one, of which a
    store may have some: they are searched until they have been made anew."""

    @property
    def predecessors(self) -> tuple[str, ...]:
        """Names that it had."""
        ...

    def predecessor(self, name: str) -> "Embedder":
        """As it was under one of them."""
        ...


@runtime_checkable
class Timed(Protocol):
    """An embedder that gives up when its time is over."""

    def embed_within(
        self, texts: Sequence[str], timeout_s: float | None, *, asked: bool = False
    ) -> Vectors:
        """The vectors of texts, or of questions that were `asked`. Raises EmbeddingFailed, after
        `timeout_s` at the latest."""
        ...


def query_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of questions, by whatever embedder. Raises EmbeddingFailed."""
    if isinstance(embedder, AskingEmbedder):
        return embedder.embed_queries(texts)
    return embedder.embed(texts)


def embedded(
    embedder: Embedder, texts: Sequence[str], timeout_s: float | None, *, asked: bool = False
) -> Vectors:
    """The vectors of texts, or of questions that were `asked`, by whatever embedder; within
    `timeout_s` by one that keeps to times. Raises EmbeddingFailed."""
    if isinstance(embedder, Laned):
        return embedder.embed_for(texts, "interactive", timeout_s, asked=asked)
    if isinstance(embedder, Timed):
        return embedder.embed_within(texts, timeout_s, asked=asked)
    return query_vectors(embedder, texts) if asked else embedder.embed(texts)


@runtime_checkable
class Laned(Protocol):
    """An embedder that is asked by people and by what goes on behind their backs."""

    def embed_for(
        self, texts: Sequence[str], lane: Lane, timeout_s: float | None, *, asked: bool = False
    ) -> Vectors:
        """The vectors of texts, or of questions that were `asked`, for whoever waits `timeout_s` at
        most. Raises EmbeddingFailed, and EmbeddingBusy."""
        ...


def checked(vectors: npt.ArrayLike, texts: int, dimensions: int) -> Vectors:
    """The vectors scaled to length 1. Raises EmbeddingFailed for what cannot be searched by:
    a wrong number or shape, NaN, infinity, or no direction at all."""
    given = np.asarray(vectors, np.float32)
    if given.shape != (texts, dimensions):
        raise EmbeddingFailed(
            f"the model gave an array of shape {given.shape} for {texts} texts of {dimensions} "
            "dimensions"
        )
    if not np.isfinite(given).all():
        raise EmbeddingFailed("the model gave a vector that holds NaN or infinity")
    norms = np.sqrt((given.astype(np.float64) ** 2).sum(axis=1))
    if texts and not (norms > 1e-9).all():
        raise EmbeddingFailed("the model gave a vector of no length")
    scaled: Vectors = (given / norms[:, None]).astype(np.float32) if texts else given
    return scaled
