"""Narrowing: a tree of conditions as a person writes it becomes that of the index.

Names of sources are looked up and times are read in the container's zone, so that the tree that
comes out holds nothing but terms, ids and numbers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind
from rewound.eventlog.instants import MAX_US, Precision, has_offset
from rewound.memory.conditions import METADATA, TIMES, Where
from rewound.memory.moments import When
from rewound.memory.requests import What
from rewound.memory.source_names import NOBODY, conversations_named, sources_named
from rewound.projections.condition_tree import (
    All,
    Clock,
    During,
    From,
    Metadata,
    Node,
    Not,
    OfKind,
    OfSort,
    Some,
    Text,
)
from rewound.projections.entries import Has
from rewound.projections.reader import ContainerView

KINDS: dict[What, Kind] = {
    "fact": Kind.FACT,
    "passage": Kind.PASSAGE,
    "message": Kind.MESSAGE,
    "document": Kind.DOCUMENT,
}


class Narrowing(NamedTuple):
    """The tree for the index; `zoned` when a time in it was read in the container's zone."""

    node: Node | None
    zoned: bool = False


def narrowing(
    view: ContainerView,
    where: Where | None,
    when: When,
    *,
    forgotten: bool = False,
    place: str = "filters.where",
) -> Narrowing:
    """A tree that was checked, for a moment. `forgotten` is as in a read.

    Raises InvalidInput for times that no calendar has, WrongKind for a source that cannot be one.
    """
    if where is None:
        return Narrowing(None)
    reading = _Reading(view, when, forgotten)
    return Narrowing(reading.node(where, place), reading.zoned)


class _Reading:
    def __init__(self, view: ContainerView, when: When, forgotten: bool) -> None:
        self._view = view
        self._when = when
        self._forgotten = forgotten
        self.zoned = False

    def node(self, where: Where, place: str) -> Node:
        if where.not_ is not None:
            return Not(self.node(where.not_, f"{place}.not"))
        for name, parts, join in (("and", where.and_, All), ("or", where.or_, Some)):
            if parts is not None:
                places = (f"{place}.{name}[{number}]" for number in range(len(parts)))
                return join(tuple(map(self.node, parts, places)))
        leaf = self._leaf(where, _values(where), f"{place}.value")
        negated = where.op == "neq" or (where.op == "exists" and where.value is False)
        return Not(leaf) if negated else leaf

    def _leaf(self, where: Where, values: Sequence[Any], place: str) -> Node:
        """One condition; neq is that of eq, and exists with false that of true."""
        field = where.field
        assert field is not None and where.op is not None, "the tree was checked"
        op = {"neq": "eq", "in": "eq"}.get(where.op, where.op)
        if field.startswith(METADATA):
            path = field.removeprefix(METADATA)
            return Metadata(path, op, tuple(map(_plain, values)), where.ignore_case)
        if field in TIMES:
            return self._during(Clock(field), op, values, place)
        match field:
            case "kind":
                kinds = values if op == "eq" else FactKind.__members__
                return OfKind(frozenset(FactKind[name.upper()] for name in kinds))
            case "what":
                return OfSort(frozenset(KINDS[name] for name in values))
            case "source" if op == "exists":
                return From(None)
            case "source" | "conversation":
                named = sources_named if field == "source" else conversations_named
                found = named(
                    self._view, values, self._when, forgotten=self._forgotten, field=place
                )
                return From(found or (NOBODY,))
        op = "eq" if op == "array_contains" else op
        return Text(Has(field), op, tuple(values), where.ignore_case)

    def _during(self, clock: Clock, op: str, values: Sequence[str], place: str) -> During:
        if op == "exists":
            return During(clock)
        (text,) = values
        self.zoned = self.zoned or not has_offset(text)
        zone = self._when.zone
        instant = zone.read(text, place)
        # A day, month or year is the whole of it.
        whole = instant.precision <= Precision.DAY
        start, end = instant.at, zone.end(instant, text) if whole else instant.at + 1
        end = min(end, MAX_US)
        match op:
            case "gt":
                return During(clock, start=end)
            case "gte":
                return During(clock, start=start)
            case "lt":
                return During(clock, end=start)
            case "lte":
                return During(clock, end=end)
        return During(clock, start, end)


def _values(where: Where) -> Sequence[Any]:
    if where.op == "exists" or where.value is msgspec.UNSET:
        return ()
    values: Sequence[Any] = where.value if where.op == "in" else (where.value,)
    return values


def _plain(value: Any) -> Any:
    """As metadata comes back: lists, and no tuples."""
    return list(value) if isinstance(value, tuple) else value
