"""The reranker that asks a rerank server: llama.cpp's with `--reranking`, vLLM, TEI, Jina, Cohere.

They differ in the address, in what they call the texts, and in what a score is: most give a share
from 0 to 1, some a logit, any number. How this server wants to be asked is found out once and kept.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.calling import Refused, Server, bearer, lasting, says_too_long
from rewound.llm.chat_model import spent_in
from rewound.llm.reranking import TIMEOUT_S, RerankFailed, Scored

TEXTS_MAX = 64
"""Texts in one call."""

QUERY_CHARS_MAX = 2_000
TEXT_CHARS_MAX = 8_000
DEPTH_MAX = 6

Scale = Literal["auto", "share", "logit"]
"""What a score is. `auto`: a share, until this server gives one outside of 0 to 1."""

Left = Callable[[], float | None]
"""The seconds that are left of a question's time."""

_log = logging.getLogger(__name__)


class _Manner(NamedTuple):
    """Where a server wants to be asked, and what it calls the texts."""

    path: str
    texts: str


class RerankServer:
    """One model of one server. Safe for any number of threads.

    `url` is where the API begins; without a path `/v1` is meant, and `/rerank` beside it tried too.
    """

    def __init__(
        self,
        url: str,
        model: str | None = None,
        key: str | None = None,
        *,
        scale: Scale = "auto",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._server = Server(
            url, bearer(key), timeout_s, noun="the rerank server", failed=RerankFailed
        )
        self._model = model
        self._logits = scale == "logit"
        self._auto = scale == "auto"
        base, root = self._server.base, self._server.root
        manners = (
            _Manner(f"{base}/rerank", "documents"),
            _Manner(f"{root}/rerank", "documents"),
            _Manner(f"{root}/rerank", "texts"),
        )
        self._manners = tuple(dict.fromkeys(manners))
        self._manner: _Manner | None = None

    @property
    def name(self) -> str:
        """`server/1`, and the model if it was named."""
        return f"server/1 {self._model or ''}".rstrip()

    def scores(self, query: str, texts: Sequence[str], timeout_s: float | None = None) -> Scored:
        """One score for each text. Raises RerankFailed, after `timeout_s` at the latest.

        What is too long for the server is scored in halves, and by the better one.
        """
        left_s = lasting(timeout_s)
        query = query[:QUERY_CHARS_MAX] or "."
        shown = [text[:TEXT_CHARS_MAX] if text.strip() else "." for text in texts]
        scored: list[Scored] = []
        for start in range(0, len(shown), TEXTS_MAX):
            scored.append(self._scored(query, shown[start : start + TEXTS_MAX], left_s, 0))
        raw = [score for each in scored for score in each.scores]
        if self._auto and any(not 0 <= score <= 1 for score in raw):
            self._logits = True
        elif not self._logits and any(not 0 <= score <= 1 for score in raw):
            what = "gives scores outside of 0 to 1: set REWOUND_RERANK_SCALE to logit"
            raise self._server.failure(what, Why.MALFORMED)
        return Scored(
            [_share(score) for score in raw] if self._logits else raw,
            sum(each.calls for each in scored),
            sum(each.tokens for each in scored),
        )

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        self._server.close()

    def _scored(self, query: str, texts: Sequence[str], left_s: Left, depth: int) -> Scored:
        """The scores as the server gives them."""
        try:
            body = self._post(query, texts, left_s)
        except Refused as refused:
            if refused.status != 413 and not says_too_long(refused.error):
                raise self._refusal(refused) from None
            if depth >= DEPTH_MAX:
                what = "takes no text of this length, nor a part of it"
                raise self._server.failure(what, Why.REFUSED, too_long=True) from None
            if len(texts) > 1:
                parts = [texts[: len(texts) // 2], texts[len(texts) // 2 :]]
                one, other = (self._scored(query, part, left_s, depth) for part in parts)
                scores = one.scores + other.scores
            else:
                middle = max(len(texts[0]) // 2, 1)
                halves = [texts[0][:middle], texts[0][middle:] or "."]
                one = self._scored(query, halves[:1], left_s, depth + 1)
                other = self._scored(query, halves[1:], left_s, depth + 1)
                scores = [max(one.scores + other.scores)]
            return Scored(scores, 1 + one.calls + other.calls, one.tokens + other.tokens)
        return Scored(self._read(body, len(texts)), 1, spent_in(body).read)

    def _post(self, query: str, texts: Sequence[str], left_s: Left) -> bytes:
        """Raises Refused by the manner that is known to work, or by the last one."""
        manners = self._manners if self._manner is None else (self._manner,)
        for manner in manners:
            asked: dict[str, Any] = {"query": query, manner.texts: list(texts)}
            if manner.texts == "documents":
                asked["top_n"] = len(texts)
            if self._model is not None:
                asked["model"] = self._model
            try:
                body = self._server.post(manner.path, asked, left_s())
            except Refused as refused:
                unknown = refused.status in (400, 404, 405, 422)
                if unknown and manner is not manners[-1] and not says_too_long(refused.error):
                    continue
                raise
            if self._manner is None:
                _log.info("%s is asked for `%s`", self._server.where, manner.texts)
                self._manner = manner
            return body
        raise AssertionError("the last manner returns or raises")

    def _refusal(self, refused: Refused) -> RerankFailed:
        status, unfit = refused.status, refused.unfit or "reranking" in refused.words
        if status in (401, 403):
            what = f"refused the key (status {status}): set REWOUND_RERANK_KEY"
        elif status == 404:
            what = "has no such address or model (status 404): check REWOUND_RERANK_URL and "
            what += "REWOUND_RERANK_MODEL"
        elif unfit:
            what = "does not rerank: start it with `--reranking` and a model made for that"
        else:
            what = f"refused the request (status {status})"
        said = f"the rerank server {self._server.where} {what}"
        return RerankFailed(said, Why.REFUSED, unfit=unfit)

    def _read(self, body: bytes, count: int) -> list[float]:
        """Each text's score. Raises RerankFailed unless there is exactly one for each."""
        try:
            reply = json.loads(body)
            found = [(each["index"], _score(each)) for each in _results(reply)]
        except (ValueError, RecursionError, KeyError, TypeError):
            raise self._server.failure("sent no list of scores", Why.MALFORMED) from None
        if sorted(index for index, _ in found) != list(range(count)):
            what = f"sent {len(found)} scores for {count} texts, or some of no text"
            raise self._server.failure(what, Why.MALFORMED)
        return [score for _, score in sorted(found)]


def _results(reply: Any) -> list[Mapping[str, Any]]:
    found = reply if isinstance(reply, list) else reply.get("results", reply.get("data"))
    if not isinstance(found, list):
        raise TypeError("no list")
    if not all(isinstance(each, dict) and type(each.get("index")) is int for each in found):
        raise TypeError("no index")
    return found


def _score(result: Mapping[str, Any]) -> float:
    score = result.get("relevance_score", result.get("score"))
    if type(score) not in (int, float) or not math.isfinite(score):
        raise ValueError("no score")
    return float(score)


def _share(logit: float) -> float:
    return 1 / (1 + math.exp(-max(min(logit, 60.0), -60.0)))
