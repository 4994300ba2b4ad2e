"""What requests of every kind are made of: who inside a container is meant, and conditions."""

from typing import Any, Literal

import msgspec

from rewound.memory.conditions import Where


class Scope(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Who inside a container an item belongs to; a read with a scope sees only what matches it."""

    user: str | None = None
    agent: str | None = None
    run: str | None = None
    session: str | None = None


What = Literal["fact", "passage", "message", "document"]
FactKindName = Literal["fact", "preference", "episode", "procedure"]
RoleName = Literal["user", "assistant", "system", "tool"]
MediaName = Literal["text", "markdown", "code", "json"]


class Filters(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Conditions that an item must meet, all of them, before anything is ranked.

    `what` and `kinds` are any-of, `tags` all-of, `metadata` equality for each key. `source` is the
    id of a document, message or conversation, a caller's id, or a conversation's name. `since` and
    `until` bound the item's own time [since, until): for a fact when it began to hold, for the rest
    when it was said. A day given for `until` is included whole. `where` is a tree of further
    conditions.
    """

    what: tuple[What, ...] = ()
    kinds: tuple[FactKindName, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    scope: Scope = Scope()
    source: str | None = None
    since: str | None = None
    until: str | None = None
    where: Where | None = None
