"""The embedder that asks a server: llama.cpp's with `--embedding`, vLLM, Ollama, TEI, OpenAI.

What goes in is one text a vector, as it is up to what the server takes in one piece: a longer one
is cut, and the mean of its parts' vectors, each weighted by its length, stands for it. Nothing that
was refused is sent again as it was.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rewound.eventlog.enums import Why
from rewound.llm.calling import Refused, Server, bearer, lasting, says_too_long
from rewound.llm.embedding import EmbeddingAway, EmbeddingFailed, Vectors, checked
from rewound.llm.failing import ServerFailed

BATCH_TEXTS = 32
BATCH_CHARS = 16_000
"""In one call; a longer text goes alone."""

DEPTH_MAX = 12
"""How often a text is cut again: of 8,000 characters there is nothing left to cut by then."""

QUERY_S = 5.0
"""A query is waited for so long: then words answer."""

REPLY_BYTES_MAX = 64 * 1024 * 1024

NOTHING = "(no text)"
"""Sent for a text without a word: servers refuse an empty one."""

Left = Callable[[], float | None]
"""The seconds that are left of a question's time."""

_log = logging.getLogger(__name__)


def name_of(model: str, query_prefix: str = "", document_prefix: str = "") -> str:
    """What tells vectors apart: `server/1`, the model, and the prefixes where there are any."""
    prefixes = (("query", query_prefix), ("document", document_prefix))
    parts = [f" {name}={json.dumps(text)}" for name, text in prefixes if text]
    return f"server/1 {model}" + "".join(parts)


class EmbeddingServer:
    """One model of one server. Safe for any number of threads.

    `url` is where the API begins; without a path `/v1` is meant. `model` is sent, and tells vectors
    of different models apart: it is to be changed with the model. The prefixes are what the model's
    makers ask to be put before a query and before a text that is to be found.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str | None = None,
        *,
        query_prefix: str = "",
        document_prefix: str = "",
        timeout_s: float = 120.0,
    ) -> None:
        self._server = Server(
            url,
            bearer(key),
            timeout_s,
            noun="the embedding server",
            reply_bytes_max=REPLY_BYTES_MAX,
        )
        self._model = model
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._dimensions: int | None = None

    @property
    def name(self) -> str:
        return name_of(self._model, self._query_prefix, self._document_prefix)

    @property
    def dimensions(self) -> int:
        """Found out by the first vector. Raises EmbeddingFailed."""
        if self._dimensions is None:
            self.embed([NOTHING])
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are to be found. Raises EmbeddingFailed."""
        return self.embed_within(texts, None)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions, within QUERY_S. Raises EmbeddingFailed."""
        return self.embed_within(texts, None, asked=True)

    def embed_within(
        self, texts: Sequence[str], timeout_s: float | None, *, asked: bool = False
    ) -> Vectors:
        """Unit vectors of texts, or of questions that were `asked`, for which QUERY_S is the most.
        Raises EmbeddingFailed, after `timeout_s` at the latest."""
        if not asked:
            return self._embedded(texts, self._document_prefix, timeout_s)
        within_s = QUERY_S if timeout_s is None else min(timeout_s, QUERY_S)
        return self._embedded(texts, self._query_prefix, within_s)

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._server.close()

    def _embedded(self, texts: Sequence[str], prefix: str, timeout_s: float | None) -> Vectors:
        rows: list[Any] = []
        left_s = lasting(timeout_s)
        try:
            for batch in _batches(texts):
                pieces = [_Piece(text if text.strip() else NOTHING, 0) for text in batch]
                rows += self._rows(pieces, prefix, left_s)
        except ServerFailed as failed:
            kind = EmbeddingAway if failed.why is Why.UNREACHABLE else EmbeddingFailed
            raised = kind(str(failed))
            raised.unfit = failed.unfit
            raise raised from None
        if not rows:
            return np.zeros((0, self._dimensions or 0), np.float32)
        return checked(np.asarray(rows), len(texts), self._settled(len(rows[0])))

    def _settled(self, dimensions: int) -> int:
        """The dimensions of this model: those of its first vector. Raises EmbeddingFailed."""
        if self._dimensions is None:
            self._dimensions = dimensions
        elif self._dimensions != dimensions:
            raise EmbeddingFailed(
                f"the embedding server {self._server.where} gives vectors of {dimensions} "
                f"dimensions now and gave {self._dimensions} before: another model runs there; "
                "name it in REWOUND_EMBED_MODEL and start anew"
            )
        return self._dimensions

    def _rows(self, pieces: Sequence[_Piece], prefix: str, left_s: Left) -> list[Sequence[float]]:
        """A vector for each piece. Raises ServerFailed and EmbeddingFailed."""
        try:
            body = self._post([prefix + piece.text for piece in pieces], left_s)
        except Refused as refused:
            if not _takes_less(refused):
                raise self._refusal(refused) from None
            if len(pieces) > 1:
                middle = len(pieces) // 2
                halves = (pieces[:middle], pieces[middle:])
                return [row for half in halves for row in self._rows(half, prefix, left_s)]
            return [self._mean(pieces[0], prefix, left_s, refused)]
        return self._read(body, len(pieces))

    def _mean(self, piece: _Piece, prefix: str, left_s: Left, refused: Refused) -> Sequence[float]:
        """The vector of a piece that is too long for the server, by those of its parts."""
        parts = _parts(piece.text, _share(refused))
        if len(parts) < 2 or piece.depth >= DEPTH_MAX:
            what = "takes no text of this length, nor a part of it"
            raise self._server.failure(what, Why.REFUSED) from None
        deeper = [_Piece(part, piece.depth + 1) for part in parts]
        rows = np.asarray(self._rows(deeper, prefix, left_s), np.float64)
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise EmbeddingFailed("the model gave a vector that holds NaN, infinity or nothing")
        weights = np.array([[len(part)] for part in parts], np.float64)
        mean: Sequence[float] = (rows / lengths * weights).sum(axis=0).tolist()
        return mean

    def _post(self, texts: Sequence[str], left_s: Left) -> bytes:
        asked = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        return self._server.post(f"{self._server.base}/embeddings", asked, left_s())

    def _refusal(self, refused: Refused) -> ServerFailed:
        pooling = "pooling" in refused.words.lower()
        if refused.status in (401, 403):
            what = f"refused the key (status {refused.status}): set REWOUND_EMBED_KEY"
        elif refused.status == 404:
            what = (
                "knows no such address or model (status 404): check REWOUND_EMBED_URL and "
                "REWOUND_EMBED_MODEL"
            )
        elif pooling:
            what = "gives no vector of a whole text: start it with `--pooling mean` or as its "
            what += "model's makers say"
        else:
            what = f"refused the request (status {refused.status})"
        return self._server.failure(what, Why.REFUSED, unfit=refused.unfit or pooling)

    def _read(self, body: bytes, count: int) -> list[Sequence[float]]:
        """The vectors of a reply, in the order of the texts. Raises ServerFailed."""
        try:
            reply = json.loads(body)
            data = reply["data"]
            found = {_place(each, n): _numbers(each["embedding"]) for n, each in enumerate(data)}
        except (ValueError, RecursionError, KeyError, TypeError, IndexError):
            raise self._server.failure("sent no list of vectors", Why.MALFORMED) from None
        if len(data) != count or found.keys() != set(range(count)):
            what = f"sent {len(data)} vectors for {count} texts"
            raise self._server.failure(what, Why.MALFORMED)
        if len({len(row) for row in found.values()}) != 1:
            what = "sent vectors of different dimensions"
            raise self._server.failure(what, Why.MALFORMED)
        return [found[n] for n in range(count)]


class _Piece(NamedTuple):
    text: str
    depth: int


def _place(entry: Any, otherwise: int) -> int:
    place = entry.get("index", otherwise)
    if type(place) is not int:
        raise ValueError("an index that is no number")
    return place


def _numbers(vector: Any) -> Sequence[float]:
    """Raises ValueError for what is no list of numbers; a null is none."""
    if not isinstance(vector, list) or not vector:
        raise ValueError("no vector")
    if not all(type(each) in (int, float) for each in vector):
        raise ValueError("no numbers")
    return vector


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    size = 0
    for text in texts:
        full = not batches or len(batches[-1]) >= BATCH_TEXTS or size + len(text) > BATCH_CHARS
        if full:
            batches.append([])
            size = 0
        batches[-1].append(text)
        size += len(text)
    return batches


_TOO_MANY = re.compile(r"batch size|too many inputs|array (?:too long|length)|at most \d+ ", re.I)


def _takes_less(refused: Refused) -> bool:
    """Whether the server would take fewer or shorter texts."""
    if refused.status == 413 or says_too_long(refused.error):
        return True
    return refused.status in (400, 422, 500) and bool(_TOO_MANY.search(refused.words))


_TOLD = re.compile(
    r"(?P<asked>\d+)[ _]tokens\b.*?(?:batch size|context[\w ]*):?\D{0,20}(?P<most>\d+)"
)


def _share(refused: Refused) -> float:
    """How much of the text the server would take, as far as it tells; at most half."""
    told = _TOLD.search(refused.words)
    if told is None or not int(told["asked"]):
        return 0.5
    return max(min(0.9 * int(told["most"]) / int(told["asked"]), 0.5), 0.01)


def _parts(text: str, share: float) -> list[str]:
    """The text in parts of at most about such a share, cut between words where there are any."""
    most = max(int(len(text) * share), 1)
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = min(start + most, len(text))
        if end < len(text) and (space := text.rfind(" ", start + most // 2, end)) > 0:
            end = space + 1
        part = text[start:end]
        if part.strip():
            parts.append(part)
        start = end
    return parts
