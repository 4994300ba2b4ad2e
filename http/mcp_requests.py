"""From the arguments of an MCP tool, read and typed, to one request to the store."""

from collections.abc import Mapping
from typing import Any

from rewound.http.mcp_arguments import BadArgument
from rewound.http.mcp_fields import CONTEXT_BUDGET, LIST_LIMIT, SEARCH_LIMIT, TIMELINE_LIMIT
from rewound.memory import requests as q
from rewound.memory.condition_checks import read as read_where
from rewound.memory.reading import as_bucket

Arguments = Mapping[str, Any]

_FILTERS = ("kinds", "tags", "metadata", "source", "since", "until")
_STAGES = ("rerank", "rewrite", "decompose")
_HOLDS = ("said_at", "valid_from", "valid_to", "expires_at")
_ONLY_NEW = ("kind", "subject", "attribute", "value", "caller_id")
_NEW = ("forget_after", "kind", "subject", "attribute", "value", "tags", "metadata", "importance")


def remember(container: str, given: Arguments) -> q.Request:
    if "updates" in given:
        return _update(container, given)
    if given.get("corrects"):
        raise BadArgument("corrects needs updates: the id of the fact that was wrong", "corrects")
    fact = q.NewFact(**_chosen(given, "text", *_HOLDS, *_NEW), id=given.get("caller_id"))
    return q.Remember(container=container, facts=(fact,), scope=_scope(given))


def _update(container: str, given: Arguments) -> q.Request:
    for name in _ONLY_NEW:
        if name in given:
            raise BadArgument(
                f"{name} cannot be given together with updates: a fact keeps its {name}", name
            )
    if "forget_after" in given:
        raise BadArgument(
            "forget_after is for a new fact: with updates give expires_at", "forget_after"
        )
    return q.Update(
        container=container,
        id=given["updates"],
        add_tags=given.get("tags", ()),
        scope=_scope(given),
        **_chosen(given, "text", "corrects", *_HOLDS, "metadata", "importance"),
    )


def add_conversation(container: str, given: Arguments) -> q.Request:
    messages = tuple(q.NewMessage(**message) for message in given["messages"])
    chosen = _chosen(given, "conversation", "infer")
    return q.AddMessages(container=container, messages=messages, scope=_scope(given), **chosen)


def search(container: str, given: Arguments) -> q.Request:
    return q.Search(
        container=container,
        limit=given.get("limit", SEARCH_LIMIT),
        nearest=given.get("nearest", False),
        filters=_filters(given, "what"),
        **_chosen(given, "query", "threshold", "as_of", "valid_at", "include_superseded", *_STAGES),
    )


def context(container: str, given: Arguments) -> q.Request:
    return q.Context(
        container=container,
        budget=given.get("budget", CONTEXT_BUDGET),
        filters=_filters(given, "what"),
        **_chosen(
            given, "query", "conversation", "threshold", "nearest", "as_of", "valid_at", *_STAGES
        ),
    )


def profile(container: str, given: Arguments) -> q.Request:
    buckets: dict[str, q.Bucket] | None = None
    if "buckets" in given:
        buckets = {
            name: as_bucket(bucket, f"buckets.{name}") for name, bucket in given["buckets"].items()
        }
    chosen = _chosen(given, "budget", "days", "subject", "as_of", "valid_at")
    return q.Profile(container=container, buckets=buckets, scope=_scope(given), **chosen)


def why(container: str, given: Arguments) -> q.Request:
    return q.Why(container=container, **_chosen(given, "id", "as_of", "valid_at"))


def timeline(container: str, given: Arguments) -> q.Request:
    chosen = _chosen(given, "subject", "attribute", "as_of", "valid_at")
    return q.Timeline(container=container, limit=given.get("limit", TIMELINE_LIMIT), **chosen)


def list_items(container: str, given: Arguments) -> q.Request:
    names = ("what", "cursor", "as_of", "valid_at", "include_superseded", "include_forgotten")
    return q.List(
        container=container,
        limit=given.get("limit", LIST_LIMIT),
        filters=_filters(given),
        **_chosen(given, *names),
    )


def pending(container: str, given: Arguments) -> q.Request:
    return q.Jobs(
        container=container,
        limit=given.get("limit", LIST_LIMIT),
        scope=_scope(given),
        **_chosen(given, "cursor"),
    )


def history(container: str, given: Arguments) -> q.Request:
    chosen = _chosen(given, "id", "as_of", "valid_at", "include_forgotten")
    return q.History(container=container, **chosen)


def forget(container: str, given: Arguments) -> q.Request:
    by = [name for name in ("ids", "text", "query", "similar") if given.get(name, ()) != ()]
    if not by:
        raise BadArgument(
            "ids is missing: name what to forget by ids, by a text, by a query or by what is "
            "similar",
            "ids",
        )
    if len(by) > 1:
        raise BadArgument(f"{by[1]} cannot be given together with {by[0]}: give one of them", by[1])
    limit = given.get("limit", 1 if by == ["query"] else None)
    names = ("ids", "text", "query", "similar", "batch", "reason", "dry_run")
    return q.Forget(container=container, limit=limit, **_chosen(given, *names))


def restore(container: str, given: Arguments) -> q.Request:
    return q.Restore(container=container, ids=given["ids"])


def undo(container: str, given: Arguments) -> q.Request:
    return q.Undo(container=container, **_chosen(given, "id", "dry_run", "cascade"))


def _chosen(given: Arguments, *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _scope(given: Arguments) -> q.Scope:
    return q.Scope(**given.get("scope", {}))


def _filters(given: Arguments, *more: str) -> q.Filters:
    where = read_where(given["where"]) if "where" in given else None
    return q.Filters(**_chosen(given, *_FILTERS, *more), scope=_scope(given), where=where)
