"""What results of a Supermemory façade tell beyond a hit: asked of the store, each thing once."""

from __future__ import annotations

from typing import Protocol

from rewound.memory import RewoundError
from rewound.memory import requests as q
from rewound.memory.replies import Page, Reply, Shown, Versions, View


class Link(Protocol):
    """A store that answers questions."""

    def call(self, request: q.Request) -> Reply: ...


_PAGE = 1_000


def _start(passage: View) -> int:
    return (passage.sources[0].start or 0) if passage.sources else 0


class Lookup:
    """Looks things up in one container. With `forgotten`, what was forgotten too."""

    def __init__(self, link: Link, container: str, *, forgotten: bool) -> None:
        self._link = link
        self._container = container
        self._forgotten = forgotten
        self._items: dict[str, View | None] = {}

    def versions(self, fact: str) -> tuple[View, ...]:
        """All versions of a fact, the first one first.

        Most facts have one, and a look at that costs far less than all that happened to it.
        """
        item = self.item(fact)
        if item is not None and item.id == item.root == item.current:
            return (item,)
        reply = self._ask(
            q.History(container=self._container, id=fact, include_forgotten=self._forgotten)
        )
        return reply.versions if isinstance(reply, Versions) else ()

    def item(self, item: str) -> View | None:
        """A fact, document or message; None when it is not there any more."""
        if item not in self._items:
            reply = self._ask(
                q.Get(container=self._container, id=item, include_forgotten=self._forgotten)
            )
            self._items[item] = reply.item if isinstance(reply, Shown) else None
        return self._items[item]

    def passages(self, document: str) -> list[View]:
        """The passages of a document, in their order in it."""
        found: list[View] = []
        cursor: str | None = None
        while True:
            reply = self._ask(
                q.List(
                    container=self._container,
                    what="passage",
                    limit=_PAGE,
                    cursor=cursor,
                    filters=q.Filters(source=document),
                )
            )
            if not isinstance(reply, Page):
                return []
            found += reply.items
            cursor = reply.cursor
            if cursor is None:
                return sorted(found, key=_start)

    def extended(self, versions: tuple[View, ...], number: int) -> tuple[View, ...]:
        """The facts that one of these versions adds to, as far as they are still there."""
        ids = versions[number].extends if versions else ()
        return tuple(view for view in map(self.item, ids) if view is not None)

    def _ask(self, request: q.Request) -> Reply | None:
        """What the store says, or None when it was taken back since the search."""
        try:
            return self._link.call(request)
        except RewoundError as error:
            if error.code != "not_found":
                raise
            return None
