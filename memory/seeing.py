"""What a read may see: filters as a person writes them become conditions on the search index.

Lists, searches and forgetting by filters all choose by `projections.selection`, so they agree on
what matches; the columns that it reads cost milliseconds where rows would cost seconds.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.instants import Precision, has_offset
from rewound.memory.moments import When
from rewound.memory.narrowing import KINDS, narrowing
from rewound.memory.requests import Filters, Scope
from rewound.memory.source_names import NOBODY, sources_named
from rewound.memory.targets import scope_parts
from rewound.projections.columns import Columns
from rewound.projections.reader import ContainerView
from rewound.projections.selection import Criteria, Mask
from rewound.projections.selection import select as selected
from rewound.projections.tokens import query_terms

__all__ = [
    "ALL",
    "FORGETTABLE",
    "KINDS",
    "Narrowed",
    "Seen",
    "narrowed",
    "seen",
    "select",
]

ALL = frozenset(KINDS.values())
FORGETTABLE = frozenset({Kind.FACT, Kind.MESSAGE, Kind.DOCUMENT})

_ANYONE = Scope()


class Narrowed(NamedTuple):
    """Conditions for the index; `zoned` when a time of the filters was read in the zone."""

    criteria: Criteria
    zoned: bool


def narrowed(
    view: ContainerView,
    filters: Filters,
    when: When,
    *,
    scope: Scope = _ANYONE,
    among: Iterable[Kind] = ALL,
    superseded: bool = False,
    forgotten: bool = False,
    said_by_then: bool = False,
) -> Narrowed:
    """Filters as conditions at a moment, for items of the kinds in `among`.

    With `said_by_then` and a `valid_at`, nothing that was said later: it may hold then, but a
    search for what was true is not answered by it.

    Both `scope`, the read's own, and that of the filters must hold. `superseded` and `forgotten`
    are the reads' flags `include_…`. Raises InvalidInput for times that nothing can lie between,
    WrongKind for a source that cannot be one.
    """
    what = frozenset(among)
    if filters.what:
        what &= {KINDS[name] for name in filters.what}
    since, until = _bounds(filters, when)
    scopes = (*scope_parts(scope).items(), *scope_parts(filters.scope).items())
    sources: tuple[bytes, ...] = ()
    if filters.source is not None:
        sources = sources_named(view, (filters.source,), when, forgotten=forgotten) or (NOBODY,)
    conditions = narrowing(view, filters.where, when, forgotten=forgotten)
    criteria = Criteria(
        now=when.now_us,
        at=when.at,
        valid=when.valid,
        what=what,
        kinds=frozenset(FactKind[name.upper()] for name in filters.kinds),
        tags=tuple(dict.fromkeys(filters.tags)),
        metadata=tuple(filters.metadata.items()),
        scope=tuple(dict.fromkeys(scopes)),
        sources=sources,
        since=since,
        until=until,
        where=conditions.node,
        superseded=superseded,
        forgotten=forgotten,
        naming=tuple(query_terms(when.moment.window_words or "")),
        said_before=when.valid[1] if said_by_then and when.valid and when.moment.valid_at else None,
    )
    times = (filters.since, filters.until)
    zoned = any(time is not None and not has_offset(time) for time in times)
    return Narrowed(criteria, zoned or conditions.zoned)


def _bounds(filters: Filters, when: When) -> tuple[int | None, int | None]:
    """[since, until) in µs; a day, month or year given for `until` is included whole."""
    since = until = None
    if filters.since is not None:
        since = when.zone.read(filters.since, "filters.since").at
    if filters.until is not None:
        instant = when.zone.read(filters.until, "filters.until")
        whole = instant.precision <= Precision.DAY
        until = when.zone.end(instant, filters.until) if whole else instant.at
    if since is not None and until is not None and until <= since:
        raise InvalidInput("filters.until must be later than filters.since", field="filters.until")
    return since, until


# --- choosing


class Seen(NamedTuple):
    """What of a container's index entries a read may show: a mask over `columns`."""

    columns: Columns
    mask: Mask

    @property
    def total(self) -> int:
        return int(np.count_nonzero(self.mask))

    def ids(self, after: bytes = b"", limit: int | None = None) -> list[bytes]:
        """Ids of the items seen, in order, those greater than `after`; at most `limit`."""
        halves = self.columns.item[self.mask].view(">u8").reshape(-1, 2)
        if after:
            high, low = (int.from_bytes(after[:8], "big"), int.from_bytes(after[8:], "big"))
            first, second = halves[:, 0], halves[:, 1]
            later = (first > high) | ((first == high) & (second > low))
            halves = halves[later]
        order = np.lexsort((halves[:, 1], halves[:, 0]))[:limit]
        return [half.tobytes() for half in halves[order]]


def seen(view: ContainerView, criteria: Criteria) -> Seen:
    """What the conditions leave, without what is erased: that is never shown again."""
    found = selected(view, criteria)
    columns, mask = found.columns, found.allowed
    if criteria.forgotten:
        for ref, hidden in view.hidden_items():
            if hidden.erased:
                _leave_out(view, columns, mask, ref)
    return Seen(columns, mask)


def _leave_out(view: ContainerView, columns: Columns, mask: Mask, ref: Ref) -> None:
    for row in view.versions(ref):
        mask[row.ordinal] = False
        if ref.kind is Kind.DOCUMENT:
            mask &= (columns.kind != Kind.PASSAGE) | (columns.group != row.group)


def select(
    view: ContainerView,
    filters: Filters,
    when: When,
    *,
    among: Iterable[Kind] = FORGETTABLE,
    superseded: bool = False,
    forgotten: bool = False,
) -> Iterator[Ref]:
    """Items that meet the filters at a moment, by kind and id.

    By default what can be forgotten: current facts, messages and documents.
    """
    criteria = narrowed(
        view, filters, when, among=among, superseded=superseded, forgotten=forgotten
    ).criteria
    for kind in sorted(criteria.what):
        of_kind = criteria._replace(what=frozenset({kind}))
        for raw in seen(view, of_kind).ids():
            yield Ref(kind, raw)
