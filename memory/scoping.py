"""What a read within a scope may see: the items that belong to it, and the events about those.

A key or a handle may be pinned to a scope, so what lies outside of it is answered like what is not
there at all. What is erased has lost its scope with its texts: no read within one sees it.
"""

from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.requests import Scope
from rewound.memory.targets import ITEMS, event_of, scope_parts
from rewound.memory.telling import items_of
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row

SCOPED = ITEMS | {Kind.PASSAGE}
"""What has a scope, its own or its document's."""


class Within:
    """A scope in one container, as of a position. A scope without a field holds everything."""

    def __init__(self, view: ContainerView, scope: Scope, at: int) -> None:
        self._view = view
        self._wanted = scope_parts(scope)
        self._at = at
        self._known: dict[Ref, bool] = {}

    @property
    def everything(self) -> bool:
        return not self._wanted

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """What the scope asks for, as conditions on the index."""
        return tuple(self._wanted.items())

    def item(self, ref: Ref) -> bool:
        """Whether a fact, document, message or passage is in the scope, by its row of the moment,
        else the last one before it. A passage is where its document is."""
        if not self._wanted:
            return True
        known = self._known.get(ref)
        if known is None:
            known = self._known[ref] = self._item(ref)
        return known

    def row(self, state: Any) -> bool:
        """Whether the row of a fact, document or message is in the scope."""
        return not self._wanted or self._matches(self._view.value(state.scope))

    def event(self, recorded: Recorded) -> bool:
        """Whether an event may be told: its own scope says so, or, when it has none, all the items
        that it is about (for an undoing, the events that it took back)."""
        if not self._wanted:
            return True
        own = recorded.envelope.scope
        if own is not None:
            return self._matches(self._view.value(own.seen_from(recorded.position)))
        event = recorded.event
        if isinstance(event, e.Undone):
            undone = [event_of(self._view, EventId(raw)) for raw in event.events]
            return bool(undone) and all(each is not None and self.event(each) for each in undone)
        items = [ref for ref in items_of(event) if ref.kind in SCOPED]
        return bool(items) and all(self.item(ref) for ref in items)

    def _item(self, ref: Ref) -> bool:
        row = self._latest(ref)
        if row is None:
            return False
        if ref.kind is Kind.PASSAGE:
            return self.item(Ref(Kind.DOCUMENT, row.state.document))
        return self.row(row.state)

    def _latest(self, ref: Ref) -> Row[Any] | None:
        row = self._view.row(ref, self._at)
        if row is None:
            past = [row for row in self._view.versions(ref) if row.opened <= self._at]
            row = past[-1] if past else None
        return row

    def _matches(self, held: Any) -> bool:
        parts = held or {}
        return all(parts.get(name) == value for name, value in self._wanted.items())
