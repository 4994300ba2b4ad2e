"""Nodes as a person describes them: in a line of the environment, or field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewound.eventlog.errors import InvalidInput
from rewound.llm.nodes import LANES, ROLES, Node, Role, at_host, nodes_of
from rewound.memory.model_servers import key_of


def nodes_from(
    nodes: str | Sequence[Mapping[str, Any]] | None, background: str | None
) -> tuple[Node, ...]:
    """The nodes of the settings `nodes` and `bg_nodes`. Raises InvalidInput."""
    if nodes is None or isinstance(nodes, str):
        return nodes_of(nodes, background)
    if background and background.strip():
        raise InvalidInput(
            "bg_nodes stands beside [[nodes]] tables: give these their lanes instead",
            field="bg_nodes",
        )
    return tuple(map(node_from, nodes))


def node_from(table: Mapping[str, Any]) -> Node:
    """A node by its fields: `name`, `host` (a machine with a server for each role at its usual
    port), `embed`, `rerank`, `chat` and `decide` (addresses), `lanes`, `slots`, `model`, `key` and
    `key_file`; those that are missing or None are not set. Raises InvalidInput."""
    host: str | None = table.get("host")
    urls: dict[Role, str] = {} if host is None else at_host(host, "host")
    for role in ROLES:
        url: str | None = table.get(role)
        if url is not None:
            urls[role] = url
    return Node(
        name=table.get("name") or host or "",
        urls=urls,
        lanes=tuple(table.get("lanes") or LANES),
        slots=table.get("slots"),
        key=key_of(table.get("key"), table.get("key_file"), setting="key_file of a node"),
        model=table.get("model"),
    )
