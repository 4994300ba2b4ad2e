"""Looking into a store for measuring: below the library, at entries, units and scores."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rewound.eventlog.ids import Kind, Ref
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.requests import Workers
from rewound.memory.store import Store
from rewound.projections.reader import ContainerView


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """A store of our own, without workers that would change it meanwhile."""
    with closing(Link(path, models=Models(judge="none"))) as link:
        link.call(Workers(action="pause"))
        store = link._store
        assert store is not None, "it owns the store"
        yield store


class Callers:
    """Names of units: the caller's id of the message, or of the document a passage is of."""

    def __init__(self, view: ContainerView) -> None:
        self._view = view
        self._known: dict[int, str | None] = {}

    def of(self, columns: Any, unit: int) -> str | None:
        if unit not in self._known:
            ref = Ref(Kind(int(columns.kind[unit])), columns.item[unit].tobytes())
            self._known[unit] = self._name(ref)
        return self._known[unit]

    def _name(self, ref: Ref) -> str | None:
        row = self._view.row(ref)
        if row is None:
            return None
        state = row.state
        if ref.kind is Kind.PASSAGE:
            return self._name(Ref(Kind.DOCUMENT, state.document))
        if ref.kind is Kind.FACT:
            if state.sources:
                return self._name(state.sources[0].source)
            return self._view.value(state.metadata)["unit"] if state.metadata else None
        return None if state.caller_id is None else self._view.text(state.caller_id)
