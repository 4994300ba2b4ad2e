"""Answers about items: lists, one item by its id, and an item's life."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import NAMES, Kind, Ref, parse_any, show
from rewound.memory import cursors
from rewound.memory import requests as q
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import When, moment_at, point, resolve, zone_of
from rewound.memory.replies import Page, Shown, Versions, View
from rewound.memory.scoping import Within
from rewound.memory.seeing import KINDS, narrowed, seen
from rewound.memory.showing import Shower
from rewound.memory.telling import Teller, positions_about
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row

LIMIT_MAX = 1_000
LISTED_CHARS = 2_000
"""Characters of a document's text that a list shows; `get` shows all of it."""

_ITEMS = (Kind.FACT, Kind.DOCUMENT, Kind.MESSAGE, Kind.PASSAGE)


def bounded(limit: int) -> tuple[int, tuple[str, ...]]:
    """The limit that is kept to, and a note when it is lower than the one asked for."""
    if limit < 1:
        raise InvalidInput(f"limit is {limit}, but it must be 1 or more", field="limit")
    if limit > LIMIT_MAX:
        return LIMIT_MAX, (f"limit {limit} was lowered to {LIMIT_MAX}, the most for one page",)
    return limit, ()


# --- lists


@answers(q.List)
def list_items(asked: q.List, asking: Asking) -> Page:
    """A page of items by id, oldest first; all pages of one list show one moment."""
    view = asking.views.container(asking.home())
    limit, notes = bounded(asked.limit)
    secret = view.log.key(view.id)
    cursor = cursors.read(asked, secret)
    when = paged(view, asked, asking.now_us, cursor)
    kind = KINDS[asked.what]
    criteria, zoned = narrowed(
        view,
        asked.filters,
        when,
        scope=asked.scope,
        among=(kind,),
        superseded=asked.include_superseded,
        forgotten=asked.include_forgotten,
    )
    if not criteria.what:
        notes += (f"filters.what leaves out every {asked.what}, and only those were to be listed",)
    found = seen(view, criteria)
    ids = found.ids(cursor.after if cursor else b"", limit + 1)
    more, ids = len(ids) > limit, ids[:limit]
    shower = Shower(view, when, forgotten=asked.include_forgotten, rhythm=asking.rhythm)
    items, cut = _listed(shower, [Ref(kind, raw) for raw in ids])
    if cut:
        notes += (
            f"texts over {LISTED_CHARS} characters are shown by their beginning ({cut} on this "
            "page): get a document by its id for all of it",
        )
    following = None
    if more:
        following = cursors.write(cursors.Cursor(when.at, when.now_us, ids[-1]), asked, secret)
    return Page(
        container=asking.name,
        items=items,
        total=found.total,
        limit=limit,
        has_more=more,
        cursor=following,
        moment=when.told(zoned=zoned),
        notes=notes,
    )


def paged(
    view: ContainerView,
    asked: q.List | q.Reviews | q.Jobs,
    now_us: int,
    cursor: cursors.Cursor | None,
) -> When:
    """The moment asked for, which on later pages is that of the first."""
    if cursor is None:
        return resolve(view, asked, now_us)
    zone = zone_of(view)
    known = point(view, zone, asked.as_of, cursor.now_us, "as_of")
    return moment_at(view, zone, known._replace(position=cursor.position), asked.valid_at)


def _listed(shower: Shower, refs: Iterable[Ref]) -> tuple[tuple[View, ...], int]:
    """The items, and how many of them were cut."""
    items: list[View] = []
    cut = 0
    for ref in refs:
        row = shower.view.row(ref, shower.when.at)
        assert row is not None, f"{ref} is in the index but has no row"
        items.append(shower.item(ref, row, chars_max=LISTED_CHARS))
        if ref.kind is Kind.DOCUMENT:
            cut += sum(piece.chars for piece in row.state.pieces) > LISTED_CHARS
    return tuple(items), cut


# --- one item


class Found(NamedTuple):
    """An item that a read may show."""

    ref: Ref
    row: Row[Any]


@answers(q.Get)
def get_item(asked: q.Get, asking: Asking) -> Shown:
    """The item or version of that very id, as of the moment."""
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    shower = Shower(view, when, forgotten=asked.include_forgotten, rhythm=asking.rhythm)
    ref, row = find(shower, asked.id, Within(view, asked.scope, when.at))
    return Shown(container=asking.name, item=shower.item(ref, row), moment=when.moment)


def find(shower: Shower, text: str, within: Within) -> Found:
    """The item of an id, if the read may show it. Raises NotFound, WrongKind or InvalidInput."""
    for ref in refs_of(text):
        row = shower.view.row(ref, shower.when.at)
        if row is not None and within.item(ref):
            _check_shown(shower, ref, row)
            return Found(ref, row)
    raise no_item(text)


def refs_of(text: str) -> list[Ref]:
    """What an id may name: one item, or for a UUID one of each kind."""
    kind, raw = parse_any(text)
    if kind is None:
        return [Ref(each, raw) for each in _ITEMS]
    if kind not in _ITEMS:
        hint = {Kind.EVENT: "the log tells of it", Kind.GROUP: "the log tells of its events"}
        told = f" ({hint[kind]})" if kind in hint else ""
        raise WrongKind(
            f"{show(kind, raw)} is {NAMES[kind]}{told}, but id wants a fact, a document, a "
            "message or a passage",
            field="id",
        )
    return [Ref(kind, raw)]


def no_item(text: str) -> NotFound:
    return NotFound(f"there is no item {text.strip()} at this moment", field="id", ids=(text,))


def _check_shown(shower: Shower, ref: Ref, row: Row[Any]) -> None:
    """Raises NotFound for what is hidden, a passage with its document."""
    held = (
        (ref,)
        if ref.kind is not Kind.PASSAGE
        else (
            ref,
            Ref(Kind.DOCUMENT, row.state.document),
        )
    )
    hidden = [found for each in held if (found := shower.view.hidden(each)) is not None]
    if any(found.erased for found in hidden):
        raise NotFound(f"{ref} was erased", field="id", ids=(str(ref),))
    if hidden and not shower.forgotten:
        raise NotFound(
            f"{ref} is forgotten: restore it, or ask with include_forgotten",
            field="id",
            ids=(str(ref),),
        )
    if ref.kind is Kind.PASSAGE and shower.view.row(held[-1], shower.when.at) is None:
        raise no_item(str(ref))


# --- an item's life


@answers(q.History)
def history(asked: q.History, asking: Asking) -> Versions:
    """The versions that a moment knows, root first, and all events about any of them.

    A forgotten item has no versions to show, but its events are told, without what they say: by
    them it can be brought back.
    """
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    shower = Shower(view, when, forgotten=asked.include_forgotten)
    within = Within(view, asked.scope, when.at)
    for ref in refs_of(asked.id):
        heard = any(position <= when.at for position in view.log.tagged(view.id, ref.key()))
        if heard and within.item(ref):
            break
    else:
        raise no_item(asked.id)
    refs, versions, current = _versions(shower, ref, within)
    teller = Teller(view, when, forgotten=asked.include_forgotten)
    events = (view.event(position) for position in positions_about(view, refs, when.at))
    return Versions(
        container=asking.name,
        id=str(ref),
        current=current,
        versions=tuple(versions),
        events=tuple(
            teller.tell(recorded)
            for recorded in events
            if recorded is not None and within.event(recorded)
        ),
        moment=when.moment,
    )


def _versions(shower: Shower, ref: Ref, within: Within) -> tuple[list[Ref], list[View], str | None]:
    """All ids of the item's chain, its versions that may be shown, and the current one's id."""
    view, at = shower.view, shower.when.at
    if ref.kind is Kind.FACT:
        chain = [row for row in view.chain(ref.id, at) if within.row(row.state)]
        refs = [Ref(Kind.FACT, row.id) for row in chain] or [ref]
        shown = [
            shower.item(each, row)
            for each, row in zip(refs, chain, strict=False)
            if not shower.hides(each)
        ]
        current = [show(Kind.FACT, row.id) for row in chain if row.state.ended is None]
        return refs, shown, current[-1] if current else None
    rows = [row for row in view.versions(ref) if row.opened <= at]
    if not rows or shower.hides(*_held(ref, rows[-1])):
        return [ref], [], None
    standing = rows[-1].closed > at
    # a version that only brought other tags has the same content: the last of each is shown
    last = {row.state.at: row for row in rows}
    shown = [shower.item(ref, row) for row in last.values()]
    return [ref], shown, str(ref) if standing else None


def _held(ref: Ref, row: Row[Any]) -> tuple[Ref, ...]:
    """The item and, for a passage, the document in which it is hidden."""
    if ref.kind is not Kind.PASSAGE:
        return (ref,)
    return ref, Ref(Kind.DOCUMENT, row.state.document)
