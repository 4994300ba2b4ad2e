"""Checks that a model server does its work: a word in, and a vector, a score or an object out.

A port that is open proves nothing: a server may have no model, another one, or one that gives NaN.
Each is asked by the client that asks it at work, so that what is found holds there too.
"""

from __future__ import annotations

from typing import Protocol

from rewound.llm.chat_model import ChatModel
from rewound.llm.embedding import EmbeddingFailed
from rewound.llm.embedding_server import EmbeddingServer
from rewound.llm.nodes import Endpoint, Role
from rewound.llm.replies import ChatFailed
from rewound.llm.rerank_server import RerankServer
from rewound.llm.reranking import RerankFailed

OK = "ok"
WORD = "apple"
TIMEOUT_S = 30.0
"""For one call: a server may have to load its model first."""

_SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "boolean"}},
    "required": ["fruit"],
}


class Clients(Protocol):
    """What makes the clients of servers."""

    def chat_at(self, endpoint: Endpoint) -> ChatModel: ...

    def embedder_at(self, endpoint: Endpoint, timeout_s: float) -> EmbeddingServer: ...

    def reranker_at(self, endpoint: Endpoint, timeout_s: float) -> RerankServer: ...


def checked(endpoint: Endpoint, role: Role, clients: Clients) -> str:
    """OK, or what is wrong with a server in a role, in words."""
    try:
        if role == "embed":
            _embed(clients.embedder_at(endpoint, TIMEOUT_S))
        elif role == "rerank":
            _rerank(clients.reranker_at(endpoint, TIMEOUT_S))
        else:
            _chat(clients.chat_at(endpoint))
    except (ChatFailed, EmbeddingFailed, RerankFailed) as failed:
        return str(failed)
    return OK


def _embed(embedder: EmbeddingServer) -> None:
    try:
        embedder.embed([WORD])
    finally:
        embedder.close()


def _rerank(reranker: RerankServer) -> None:
    try:
        reranker.scores(WORD, [WORD, "iron"])
    finally:
        reranker.close()


def _chat(chat: ChatModel) -> None:
    try:
        chat.answer("You answer with JSON.", f"Is an {WORD} a fruit?", _SCHEMA, 64, TIMEOUT_S)
    finally:
        chat.close()
