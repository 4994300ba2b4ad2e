"""What the memory learned, changed and lost between two moments.

Rows can only have changed where something happened, so the events between the moments name the
rows to compare: facts, documents, messages and the container itself (passages and jobs follow from
these). What time alone did (facts that expired or whose time was over) and what was forgotten,
restored or erased meanwhile is told too; the name of what was done stands in `fields`. So does, of
a fact that was learned and held no more by the end, how it stands then.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import Kind, Ref
from rewound.memory import requests as q
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import Point, moment_at, point, zone_of
from rewound.memory.replies import Change, Differences
from rewound.memory.scoping import Within
from rewound.memory.showing import Shower
from rewound.projections.documents import DocumentRow
from rewound.projections.effective import flipped
from rewound.projections.entries import StandingCode
from rewound.projections.facts import Ended, Unsaid
from rewound.projections.reader import ContainerView
from rewound.projections.tags import Tags

VIEWS = {
    Kind.CONTAINER: "containers",
    Kind.DOCUMENT: "documents",
    Kind.MESSAGE: "messages",
    Kind.FACT: "facts",
}
LISTED_MAX = 1_000
"""Changes of each sort that one reply lists; a note says so when there are more."""

BEGINNING_CHARS = 200
"""Characters of a document or message that a change tells."""

_ITEMS = (Kind.FACT, Kind.DOCUMENT, Kind.MESSAGE)
_OVER = frozenset(("superseded", "corrected", "repeated", "ended", "expired"))
"""How a fact stands that was learned, and held no more by the end."""
_INTERNAL = frozenset({"at", "recorded_at", "made_at", "stated_from", "stated_to", "superseded_by"})
_SHOWN_AS: dict[str, str] = {"pieces": "text", "unsaid": "ended"}


class Sides(NamedTuple):
    """The two moments of a diff, for the texts as they were at each."""

    view: ContainerView
    start: Shower
    end: Shower


class Seen(NamedTuple):
    """One change, before its text is read; `state` as `side` shows it, None for a container."""

    ref: Ref
    change: Literal["appears", "disappears", "changes"]
    fields: tuple[str, ...]
    side: Shower
    state: Any = None


@answers(q.Diff)
def differences(asked: q.Diff, asking: Asking) -> Differences:
    """`end` left out is the moment of the read (`as_of`, else now), which it cannot lie after."""
    view = asking.views.container(asking.home())
    zone = zone_of(view)
    start = point(view, zone, asked.start, asking.now_us, "start")
    end = known = point(view, zone, asked.as_of, asking.now_us, "as_of")
    if asked.end is not None:
        end = point(view, zone, asked.end, asking.now_us, "end")
        if asked.as_of is not None and end.position > known.position:
            raise InvalidInput("end lies after as_of: nothing of that was known yet", field="end")
    if start.position > end.position or start.now_us > end.now_us:
        raise InvalidInput("start lies after the end: give the earlier moment first", field="start")
    whens = moment_at(view, zone, start), moment_at(view, zone, end)
    sides = Sides(view, *(Shower(view, each, forgotten=asked.include_forgotten) for each in whens))
    seen = [*_changes(sides), *_taken(sides), *_lapsed(sides, start, end)]
    within = Within(view, asked.scope, end.position)
    if not within.everything:  # then the container itself, which is everyone's, is not told either
        seen = [each for each in seen if each.state is not None and within.row(each.state)]
    told = {word: _told(seen, word) for word in ("appears", "changes", "disappears")}
    return Differences(
        container=asking.name,
        start=whens[0].moment,
        end=whens[1].moment,
        learned=told["appears"],
        changed=told["changes"],
        gone=told["disappears"],
        notes=_notes(seen, told),
    )


def _told(seen: list[Seen], change: str) -> tuple[Change, ...]:
    """The changes of one sort with their texts, up to the most that one reply lists."""
    chosen = islice((each for each in seen if each.change == change), LISTED_MAX)
    return tuple(
        Change(
            view=VIEWS[each.ref.kind],
            id=str(each.ref),
            change=each.change,
            text=None if each.state is None else _text(each.side, each.ref, each.state),
            fields=each.fields,
        )
        for each in chosen
    )


def _notes(seen: list[Seen], told: dict[str, tuple[Change, ...]]) -> tuple[str, ...]:
    notes: list[str] = []
    counted: Counter[str] = Counter(each.change for each in seen)
    for change, name in (("appears", "learned"), ("changes", "changed"), ("disappears", "gone")):
        if counted[change] > LISTED_MAX:
            notes.append(f"{name}: the first {LISTED_MAX} of {counted[change]} are listed")
    # a text is there, if only an empty one, unless the item is hidden
    shown = [change for changes in told.values() for change in changes]
    hidden = sum(change.text is None and change.view != "containers" for change in shown)
    if hidden:
        notes.append(f"{hidden} of these are forgotten or erased: named without their text")
    return tuple(notes)


# --- rows


def _changes(sides: Sides) -> Iterator[Seen]:
    """Rows that differ: facts, then documents, messages and the container, each by id."""
    view, before, after = sides.view, sides.start.when.at, sides.end.when.at
    for ref in sorted(touched(view, before, after), key=_order):
        if ref.kind in _ITEMS:
            old, new = view.row(ref, before), view.row(ref, after)
            states = (old and old.state, new and new.state)
        elif ref == Ref(Kind.CONTAINER, view.id):
            states = (view.configured(before), view.configured(after))
        else:
            continue
        change = _change(sides, ref, *states)
        if change is not None:
            yield change


def touched(view: ContainerView, after: int, until: int) -> set[Ref]:
    """All items whose rows the events with after < position <= until may have changed."""
    found: set[Ref] = set()
    for recorded in view.log.events(view.id, after, until):
        events = [recorded]
        if isinstance(recorded.event, e.Undone):
            before = view.effectivity(recorded.position - 1)
            since = view.effectivity(recorded.position)
            events += flipped(view.log, view.id, recorded, before, since)
        for each in events:
            found.update(each.event.creates())
            found.update(each.event.refers())
    return found


def _order(ref: Ref) -> tuple[int, bytes]:
    return _ITEMS.index(ref.kind) if ref.kind in _ITEMS else len(_ITEMS), ref.id


def _change(sides: Sides, ref: Ref, before: Any, after: Any) -> Seen | None:
    side, state = (sides.end, after) if after is not None else (sides.start, before)
    shown = state if ref.kind in _ITEMS else None
    if before is None or after is None:
        if state is None:
            return None
        if before is not None:
            return Seen(ref, "disappears", (), side, shown)
        over = side.standing(ref, state).state if ref.kind is Kind.FACT else ""
        return Seen(ref, "appears", (over,) if over in _OVER else (), side, shown)
    fields = different(sides.view, before, after)
    return Seen(ref, "changes", fields, side, shown) if fields else None


def different(view: ContainerView, before: Any, after: Any) -> tuple[str, ...]:
    """Names of the fields in which two states of one row say something else."""
    names: list[str] = []
    fields: tuple[str, ...] = before.__struct_fields__
    for name in fields:
        old, new = getattr(before, name), getattr(after, name)
        if name not in _INTERNAL and old != new and _meant(view, old) != _meant(view, new):
            names.append(_SHOWN_AS.get(name, name))
    return tuple(dict.fromkeys(names))


def _meant(view: ContainerView, value: Any) -> Any:
    """What a field says: the same words may lie in two bodies."""
    match value:
        case Body():
            return view.content(value)
        case Tags():
            return view.tags(value)
        case Ended():
            return value.by, value.at, value.corrects
        case Unsaid():
            return value.at
        case (Body(), *_):
            return b"".join(view.content(piece) or b"" for piece in value)
    return value


def _text(shower: Shower, ref: Ref, state: msgspec.Struct) -> str | None:
    """What the item says, for a document its title or beginning; None for what is hidden."""
    if shower.hides(ref):
        return None
    if isinstance(state, DocumentRow):
        title = shower.view.text(state.title)
        if title is not None:
            return title
        return shower.beginning(ref, state, BEGINNING_CHARS)
    text = shower.text(ref, state)
    return text if ref.kind is Kind.FACT else text[:BEGINNING_CHARS]


# --- what happened to items without changing their rows


def _taken(sides: Sides) -> Iterator[Seen]:
    """Items forgotten, restored or erased between the moments, as it stood at the end."""
    view, start, end = sides.view, sides.start.when.at, sides.end.when.at
    effectivity = view.effectivity(end)
    taken: dict[Ref, str] = {}
    for recorded in view.log.events(view.id, start, end):
        event = recorded.event
        if not isinstance(event, e.Forgotten | e.Restored | e.ContentErased):
            continue
        if not effectivity.holds(recorded):
            continue
        match event:
            case e.Forgotten(hides=refs):
                word = "forgotten"
            case e.Restored(shows=refs):
                word = "restored"
            case e.ContentErased(items=refs):
                word = "erased"
        for ref in refs:
            if word == "restored" and taken.get(ref) == "forgotten":
                del taken[ref]  # forgotten and restored in between: nothing came of it
            elif taken.get(ref) != "erased":
                taken[ref] = word
    for ref, word in sorted(taken.items(), key=lambda each: _order(each[0])):
        row = view.row(ref, end) or view.row(ref, start)
        if row is not None and ref.kind in _ITEMS:
            change: Any = "appears" if word == "restored" else "disappears"
            yield Seen(ref, change, (word,), sides.end, row.state)


def _lapsed(sides: Sides, start: Point, end: Point) -> Iterator[Seen]:
    """Facts that stood at the start and had expired, or were over, by the end."""
    view = sides.view
    columns = view.columns()
    stood = (columns.opened <= start.position) & (columns.closed > end.position)
    # superseded from a day that had not come yet, a fact still held
    yet = (columns.standing == StandingCode.SUPERSEDED) & (columns.valid_from <= start.now_us)
    stood &= (columns.kind == Kind.FACT) & ((columns.standing == StandingCode.CURRENT) | yet)
    stood &= (columns.expires > start.now_us) & (columns.valid_to > start.now_us)
    expired = stood & (columns.expires <= end.now_us)
    over = stood & ~expired & (columns.valid_to <= end.now_us)
    found: list[tuple[bytes, str]] = []
    for mask, word in ((expired, "expired"), (over, "over")):
        found += [(columns.item[n].tobytes(), word) for n in np.flatnonzero(mask)]
    for raw, word in sorted(found):
        ref = Ref(Kind.FACT, raw)
        row = view.row(ref, end.position)
        assert row is not None, f"{ref} is in the index but has no row"
        yield Seen(ref, "disappears", (word,), sides.end, row.state)
