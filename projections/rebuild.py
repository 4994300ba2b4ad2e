"""Rebuilding views beside the live ones.

The next generation's databases are filled in slices, between which the writer goes on; when they
stand where the live ones do, one transaction swaps the names. Cancelled or killed, a rebuild leaves
the live views as they were, and its databases are dropped by the next.
"""

from collections.abc import Callable, Iterable
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from rewound.eventlog.log import Reader
from rewound.projections.catalog import UNDOS, VERSIONS, WORDS, Live, together
from rewound.projections.fold import Folder
from rewound.projections.rows import Table
from rewound.projections.views import META, SLICE, Handles, Views, ViewWriter


class Rebuilding(NamedTuple):
    """`views` maps the rebuilt ones to their version; `equal`: the present rows are what they were
    (None when cancelled)."""

    views: dict[str, int]
    events: int
    equal: bool | None


def rebuild(
    views: Views,
    names: Iterable[str] = (),
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    model: str | None = None,
) -> Rebuilding:
    """Fold the named views anew (all if none is named), with those they depend on, and swap.

    `model` names another embedder for the vectors from now on. Raises KeyError for a name that is
    no view.
    """
    chosen = together(names)
    drop_strays(views)
    fresh = views.change(lambda writer, log: _begin(writer, chosen, model))
    views.ensure(fresh)
    events, equal = 0, None
    while equal is None and not cancelled():
        step = views.change(lambda writer, log: _slice(views, writer, log, fresh, chosen))
        fresh.sequence, equal = step.sequence, step.equal
        events += step.events
        if progress is not None:
            progress(events)
    drop_strays(views)
    views.forget_columns()
    return Rebuilding({name: VERSIONS[name] for name in sorted(chosen)}, events, equal)


def drop_strays(views: Views) -> None:
    """Drop databases that no live view uses: of a cancelled rebuild, or of one that was swapped."""
    with views.environment.reading() as txn:
        wanted = {META, *views.read_live(txn).databases()}
    for name in set(views.environment.names()) - wanted:
        views.environment.drop_database(name)


class _Step(NamedTuple):
    events: int
    sequence: int
    equal: bool | None


def _begin(writer: ViewWriter, chosen: frozenset[str], model: str | None) -> Live:
    """Claim the next generation; what the rebuilt views will be named, and embedded by."""
    live = writer.handles.live
    live.generation += 1
    named = {name: (VERSIONS[name], live.generation) for name in chosen}
    model = live.model if model is None else model
    return Live(0, 0, live.generation, live.names | named, model=model)


def _slice(
    views: Views, writer: ViewWriter, log: Reader, fresh: Live, chosen: frozenset[str]
) -> _Step:
    """Fold one slice; on reaching the live checkpoint swap, and say whether the rows are equal."""
    live = writer.handles.live
    made = views.handles(writer.txn, fresh, log, live.writes)
    tables = {name: table for name, table in made.tables.items() if name in chosen}
    index = made.words if WORDS in chosen else None
    read = islice(log.all_events(fresh.sequence), SLICE)
    slice_ = [(sequence, event) for sequence, event in read if sequence <= writer.sequence()]
    events = [event for _, event in slice_]
    Folder(writer.txn, tables, made.undos, log, index).fold(events)
    if UNDOS in chosen:
        for event in events:
            position = event.position.to_bytes(8, "big")
            writer.txn.put(event.container, position, db=made.positions)
    reached = slice_[-1][0] if slice_ else fresh.sequence
    if reached < writer.sequence() and slice_:
        return _Step(len(slice_), reached, None)
    equal = _equal(writer, made, tables)
    live.names = dict(fresh.names)
    live.model = fresh.model
    return _Step(len(slice_), reached, equal)


def _equal(writer: ViewWriter, made: Handles, tables: dict[str, Table[Any]]) -> bool:
    """Whether the present rows of the new tables are those of the live ones, row for row."""
    txn, live = writer.txn, writer.handles.tables
    return all(
        old == new
        for container in list(writer.log.containers())
        for name, table in tables.items()
        for old, new in zip_longest(live[name].states(txn, container), table.states(txn, container))
    )
