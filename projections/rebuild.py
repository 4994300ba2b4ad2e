"""Rebuilding views beside the live ones.

The next generation's databases are filled in slices, between which the writer goes on; when they
stand where the live ones do, one transaction swaps the names. Cancelled or killed, a rebuild leaves
the live views as they were, and its databases are dropped by the next. There is one at a time.
"""

from collections.abc import Callable, Iterable
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from rewound.eventlog.log import Reader
from rewound.projections.catalog import UNDOS, VERSIONS, WORDS, Live, together
from rewound.projections.fold import Folder
from rewound.projections.rows import Table
from rewound.projections.views import SLICE, Handles, Views, ViewWriter


class NewModel(NamedTuple):
    """The embedder whose vectors the rebuilt words are to hold, and how it is opened. `is_ready`
    looks at the open write and at what is to take its place, before the swap; where it says no,
    nothing is swapped."""

    name: str
    opening: bytes = b""
    is_ready: Callable[[ViewWriter, Handles], bool] = lambda writer, made: True


_LOOK_S = 0.1  # how often one that waits for another looks whether it is still wanted


class Rebuilding(NamedTuple):
    """`views` maps the rebuilt ones to their version; `equal`: the present rows are what they were
    (None when nothing was swapped: cancelled, or not ready)."""

    views: dict[str, int]
    events: int
    equal: bool | None


def rebuild(
    views: Views,
    names: Iterable[str] = (),
    progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    model: NewModel | None = None,
) -> Rebuilding:
    """Fold the named views anew (all if none is named), with those they depend on, and swap.

    `model` is another embedder for the vectors from now on. Raises KeyError for a name that is no
    view.
    """
    chosen = together(names)
    plan = {name: VERSIONS[name] for name in sorted(chosen)}
    while not views.rebuilding.acquire(timeout=_LOOK_S):
        if cancelled():
            return Rebuilding(plan, 0, None)
    try:
        views.drop_strays()
        fresh = views.change(lambda writer, log: _begin(writer, chosen, model))
        views.fresh = fresh
        views.ensure(fresh)
        step = _Step(0, 0, None)
        events = 0
        while step.equal is None and not step.ended and not cancelled():
            step = views.change(
                lambda writer, log: _slice(views, writer, log, _Plan(fresh, chosen, model))
            )
            fresh.sequence = step.sequence
            events += step.events
            if progress is not None:
                progress(events)
        views.fresh = None
        views.drop_strays()
        views.forget_columns()
    finally:
        views.fresh = None
        views.rebuilding.release()
    return Rebuilding(plan, events, step.equal)


class _Step(NamedTuple):
    events: int
    sequence: int
    equal: bool | None
    ended: bool = False


class _Plan(NamedTuple):
    fresh: Live
    chosen: frozenset[str]
    model: NewModel | None


def _begin(writer: ViewWriter, chosen: frozenset[str], model: NewModel | None) -> Live:
    """Claim the next generation; what the rebuilt views will be named, and embedded by."""
    live = writer.handles.live
    live.generation += 1
    named = {name: (VERSIONS[name], live.generation) for name in chosen}
    name = live.model if model is None else model.name
    return Live(0, 0, live.generation, live.names | named, model=name)


def _slice(views: Views, writer: ViewWriter, log: Reader, plan: _Plan) -> _Step:
    """Fold one slice; on reaching the live checkpoint swap, and say whether the rows are equal."""
    live = writer.handles.live
    fresh, chosen = plan.fresh, plan.chosen
    if log.sequence() < writer.sequence():  # taken while another wrote, who may have erased
        return _Step(0, fresh.sequence, None)
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
    if plan.model is not None and not plan.model.is_ready(writer, made):
        return _Step(len(slice_), reached, None, ended=True)
    equal = _equal(writer, made, tables)
    live.names = dict(fresh.names)
    if plan.model is not None:
        live.change_to(plan.model.name, plan.model.opening)
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
