"""Folding slices of events into the views' rows; the one place where rows are written.

An ordinary event touches a few rows; each is folded anew from its contributors (of which there are
few) or, for an item's first event, from that alone. An undoing touches the rows of the events whose
standing it changes, and no others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import lmdb
import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.ids import ContainerId, EventId
from rewound.eventlog.log import Reader, Recorded
from rewound.projections.effective import Effectivity, flipped
from rewound.projections.index import Index
from rewound.projections.rows import NO_ENTRY, OPEN, Row, Table
from rewound.projections.view import Keys, View

_REMEMBERED_MAX = 4096
"""Events held decoded during one fold: an undo reads the same few for many rows."""


class Touched(NamedTuple):
    """One row before and after an event, None where it was or is absent."""

    view: str
    key: bytes
    before: msgspec.Struct | None
    after: msgspec.Struct | None


class Folded(NamedTuple):
    """What a fold did. `refolded` counts rows folded again because of an undoing."""

    touched: list[Touched]
    refolded: int
    dropped: list[Recorded]
    returned: list[Recorded]


class _Handler(NamedTuple):
    view: View
    keys: Keys
    birth: bool


class Folder:
    """Folds into the tables given, within one write transaction.

    `tables` maps a view's name to its table; views left out are not written (a rebuild folds some
    of them). `until` bounds what "holds" means to events at or below it, per event the event's own
    position; overlays take `today` instead, when it is given (a replay of a past day is seen
    through today's forgets).
    """

    def __init__(
        self,
        txn: lmdb.Transaction,
        tables: Mapping[str, Table[Any]],
        undos: Any,
        log: Reader,
        index: Index | None,
    ) -> None:
        self._txn = txn
        self._tables = tables
        self._undos = undos
        self.log = log
        self._index = index
        self._read: dict[tuple[bytes, int], Recorded] = {}
        self._keys: dict[tuple[str, bytes, int], frozenset[bytes]] = {}
        """Of the events met, by view: one of thousands of passages is asked for each of them."""
        self._handlers: dict[type[e.Event], list[_Handler]] = {}
        for table in tables.values():
            view = table.view
            for kind, keys in view.handles.items():
                handler = _Handler(view, keys, kind in view.births)
                self._handlers.setdefault(kind, []).append(handler)

    def fold(self, slice_: Sequence[Recorded], *, tell: bool = False, flush: bool = True) -> Folded:
        """Fold events in the order recorded. `tell` collects every row touched. Without `flush`
        the index is left to be written by whoever reads it, or at the end of the transaction."""
        told = Folded([], 0, [], [])
        refolded = 0
        for recorded in slice_:
            if isinstance(recorded.event, e.Undone):
                refolded += self._undo(recorded, told, tell)
            else:
                self._fold_one(recorded, told.touched if tell else None)
        if self._index is not None and flush:
            self._index.flush()
        self._read.clear()
        self._keys.clear()
        return told._replace(refolded=refolded)

    def _fold_one(self, recorded: Recorded, told: list[Touched] | None) -> None:
        container, event = recorded.container, recorded.event
        if isinstance(event, e.ContentErased) and self._index is not None:
            self._index.erase(container, event.items, event.places, self.log)
        effectivity: Effectivity | None = None
        for view, keys, birth in self._handlers.get(type(event), ()):
            for key in dict.fromkeys(keys(event)):
                if birth:
                    contributors: Sequence[Recorded] = (recorded,)
                else:
                    effectivity = effectivity or self._effectivity(container, recorded.position)
                    contributors = self._contributors(view, recorded, key, effectivity)
                self._settle(view, container, key, recorded.position, contributors, told)

    def _undo(self, undone: Recorded, told: Folded, tell: bool) -> int:
        container, position = undone.container, undone.position
        event = undone.event
        assert isinstance(event, e.Undone)
        before = self._effectivity(container, position - 1)
        for event_id in event.events:
            self._txn.put(container + event_id + position.to_bytes(8, "big"), b"", db=self._undos)
        after = self._effectivity(container, position)
        changed = flipped(self.log, container, undone, before, after)
        touched: dict[tuple[str, bytes], View] = {}
        for recorded in changed:
            (told.returned if after.holds(recorded) else told.dropped).append(recorded)
            for view, keys, _ in self._handlers.get(type(recorded.event), ()):
                for key in keys(recorded.event):
                    touched[view.name, key] = view
        for (_, key), view in touched.items():
            contributors = self._contributors(view, undone, key, after)
            rows = told.touched if tell else None
            self._settle(view, container, key, position, contributors, rows)
        return len(touched)

    def _effectivity(self, container: ContainerId, until: int) -> Effectivity:
        def undos_of(event_id: EventId) -> list[int]:
            return undoings(self._txn, self._undos, container, event_id)

        return Effectivity(self.log, container, undos_of, until)

    def _contributors(
        self, view: View, recorded: Recorded, key: bytes, effectivity: Effectivity
    ) -> list[Recorded]:
        """Effective events that touch the row, up to the one being folded."""
        found = []
        container = recorded.container
        for position in self.log.tagged(container, key[:17]):
            if position > recorded.position:
                break
            other = self._event(container, position)
            if key in self._keys_of(view, other) and effectivity.holds(other):
                found.append(other)
        return found

    def _keys_of(self, view: View, recorded: Recorded) -> frozenset[bytes]:
        """Keys of the rows of a view that an event touches."""
        name = (view.name, recorded.container, recorded.position)
        known = self._keys.get(name)
        if known is None:
            keys = view.handles.get(type(recorded.event))
            known = frozenset(keys(recorded.event)) if keys is not None else frozenset()
            if len(self._keys) >= _REMEMBERED_MAX:
                self._keys.clear()
            self._keys[name] = known
        return known

    def _event(self, container: ContainerId, position: int) -> Recorded:
        known = self._read.get((container, position))
        if known is None:
            known = self.log.read(container, position)
            assert known is not None, f"position {position} is tagged but not in the log"
            if len(self._read) >= _REMEMBERED_MAX:
                self._read.clear()
            self._read[container, position] = known
        return known

    def _settle(
        self,
        view: View,
        container: ContainerId,
        key: bytes,
        position: int,
        contributors: Sequence[Recorded],
        told: list[Touched] | None,
    ) -> None:
        """Close the row's present version and open the new one, if they differ."""
        state = None
        if contributors:
            state = view.fold(key, contributors, lambda at: self._event(container, at))
        table = self._tables[view.name]
        born = len(contributors) == 1 and type(contributors[0].event) in view.births
        last = None
        if not (born and contributors[0].position == position):
            last = table.last(self._txn, container, key)
        before = last.state if last is not None and last.closed == OPEN else None
        if state == before:
            return
        if told is not None:
            told.append(Touched(view.name, key, before, state))
        if view.versioned:
            self._version(table, container, key, position, last, state)
        else:
            self._overlay(table, container, key, before, state)

    def _version(
        self,
        table: Table[Any],
        container: ContainerId,
        key: bytes,
        position: int,
        last: Row[Any] | None,
        state: msgspec.Struct | None,
    ) -> None:
        index = self._index if self._index and self._index.follows(table.view.name) else None
        if last is not None and last.closed == OPEN:
            assert last.opened < position, "a row changed twice at one position"
            table.put(self._txn, container, last._replace(closed=position))
            if index is not None:
                index.close(container, last.ordinal, position)
        if state is None:
            return
        ordinal = group = NO_ENTRY
        if index is not None:
            group = NO_ENTRY if last is None else last.group
            ordinal, group = index.open(container, key, position, state, group)
        row: Row[Any] = Row(key, position, OPEN, ordinal, group, state)
        table.put(self._txn, container, row)

    def _overlay(
        self,
        table: Table[Any],
        container: ContainerId,
        key: bytes,
        before: msgspec.Struct | None,
        state: msgspec.Struct | None,
    ) -> None:
        row: Row[Any] = Row(key, 0, OPEN, NO_ENTRY, NO_ENTRY, state or before)
        if state is None:
            table.drop(self._txn, container, row)
        else:
            table.put(self._txn, container, row)
        if self._index is not None:
            self._index.overlay(table.view.name, container, key, before, state)


def undoings(
    txn: lmdb.Transaction, undos: Any, container: ContainerId, event_id: EventId
) -> list[int]:
    """Positions of the undoings that name an event, rising."""
    prefix = container + event_id
    found = []
    with txn.cursor(undos) as cursor:
        going = cursor.set_range(prefix)
        while going and bytes(cursor.key()[:32]) == prefix:
            found.append(int.from_bytes(cursor.key()[32:], "big"))
            going = cursor.next()
    return found
