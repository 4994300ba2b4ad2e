"""How an embedder is opened, written down so that it can be opened again after another was set.

What is written says where a model is and how its texts are put before it. It holds no key: a server
that wants one is given the one that the settings have for that very address now.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.llm.embedding import EmbeddingFailed, Served, Succeeding
from rewound.llm.nodes import Lane, Node, endpoints_of

if TYPE_CHECKING:
    from rewound.llm.embedding import Embedder
    from rewound.memory.meaning import Reopen
    from rewound.memory.models import EmbedPooling, Models

_log = logging.getLogger(__name__)

_Slots = int | None


class _At(msgspec.Struct, frozen=True, array_like=True):
    name: str
    url: str
    lanes: tuple[Lane, ...]
    slots: _Slots


class _Opening(msgspec.Struct, frozen=True, omit_defaults=True):
    embedder: Literal["minilm", "hashing", "onnx", "server"]
    folder: str | None = None
    pooling: Literal["mean", "cls", "lasttoken"] | None = None
    model: str | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    nodes: tuple[_At, ...] = ()


def opening_of(models: Models) -> bytes:
    """How the embedder that is set is opened; b"" without one."""
    if models.embedder == "none":
        return b""
    opening = _Opening(embedder=models.embedder)
    if models.embedder == "onnx" and models.embed_folder is not None:
        opening = msgspec.structs.replace(
            opening,
            folder=str(Path(models.embed_folder).expanduser().absolute()),
            pooling=models.embed_pooling,
            query_prefix=models.embed_query_prefix,
            document_prefix=models.embed_document_prefix,
        )
    elif models.embedder == "server":
        opening = msgspec.structs.replace(
            opening,
            model=models.embed_model,
            query_prefix=models.embed_query_prefix,
            document_prefix=models.embed_document_prefix,
            nodes=tuple(
                _At(node.name, node.urls["embed"], node.lanes, node.slots)
                for node in models.all_nodes()
                if "embed" in node.urls
            ),
        )
    return msgspec.json.encode(opening)


def reopening(models: Models) -> Reopen:
    """What opens embedders that were set before, with the keys and threads of today's settings."""

    def reopen(model: str, opening: bytes) -> Embedder | str:
        try:
            return _reopened(models, model, opening)
        except (InvalidInput, EmbeddingFailed, msgspec.MsgspecError) as error:
            _log.warning("%s cannot be opened again: %s", model, error)
            return str(error).removeprefix("REWOUND_EMBED_FOLDER: ")

    return reopen


def _reopened(models: Models, model: str, opening: bytes) -> Embedder | str:
    told = [msgspec.json.decode(opening, type=_Opening)] if opening else []
    # A store of before openings were kept; and a model in this process needs none.
    told += [_Opening(embedder="minilm"), _Opening(embedder="hashing")]
    for each in told:
        made = _models(models, each).make_embedder()
        if made is not None and made.name == model:
            return made
        if isinstance(made, Succeeding) and model in made.predecessors:
            return made.predecessor(model)
        if isinstance(made, Served):
            made.close()
    if told[0].embedder == "onnx":
        return f"{told[0].folder} holds another model now"
    return ""


def _models(models: Models, opening: _Opening) -> Models:
    """Today's settings, but for the embedder."""
    pooling: EmbedPooling | None = opening.pooling
    keys = {
        endpoint.url: node.key
        for node in models.all_nodes()
        for endpoint in endpoints_of(node)
        if "embed" in endpoint.roles and node.key is not None
    }
    nodes = tuple(
        Node(
            name=at.name, urls={"embed": at.url}, lanes=at.lanes, slots=at.slots,
            key=keys.get(at.url.rstrip("/")),
        )
        for at in opening.nodes
    )  # fmt: skip
    return models.only_embedding(
        embedder=opening.embedder,
        embed_folder=opening.folder,
        embed_pooling=pooling,
        embed_model=opening.model,
        embed_query_prefix=opening.query_prefix,
        embed_document_prefix=opening.document_prefix,
        nodes=nodes,
    )
