"""Small containers for what stands beside what, told twice: as columns, and as plain lists.

A scene is made of acts; `Scene.columns` is what the product reads, `Scene.told` what a test knows
of each entry, without ordinals of anything else in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from rewound.eventlog.events import Role
from rewound.eventlog.ids import Kind
from rewound.projections.columns import FIRST, OPEN, Columns, Entry, entries

FACT, MESSAGE = int(Kind.FACT), int(Kind.MESSAGE)
PASSAGE, DOCUMENT = int(Kind.PASSAGE), int(Kind.DOCUMENT)

Mask = npt.NDArray[np.bool_]
Act = tuple[str, int, int]


class Told(NamedTuple):
    """One version of an item."""

    item: int
    kind: int
    thread: str
    place: int
    """Of a message or a passage in its thread, hidden ones counted."""
    source: int | None
    """The item that a fact was drawn from."""
    assistant: bool = False


@dataclass
class Scene:
    rows: list[Entry] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    """Items."""
    _group: dict[int, int] = field(default_factory=dict)
    _items: int = 0

    # --- acts

    def act(self, act: Act) -> None:
        """Whatever an act is about is chosen by its numbers among what there is."""
        what, which, more = act
        one = self._one
        match what:
            case "say":
                self.say(which % 3, assistant=more % 2 == 1)
            case "draw" if (message := one(MESSAGE, which)) is not None:
                self.draw(message)
            case "edit" if (message := one(MESSAGE, which)) is not None:
                self.again(message)
            case "restate" if (fact := one(FACT, which)) is not None:
                self.again(fact)
            case "state":
                self.state()
            case "note" if (document := one(DOCUMENT, which)) is not None:
                self.note(document)
            case "matter" if self._items:
                self.again(which % self._items, importance=1 + 20 * more)
            case "write":
                self.write(more % 4)
            case "cut" if (document := one(DOCUMENT, which)) is not None:
                self.cut(document)
            case "recut" if (passage := one(PASSAGE, which)) is not None:
                self.again(passage)
            case "hide" if self._items:
                self.hidden.add(which % self._items)

    def _one(self, kind: int, which: int) -> int | None:
        known = sorted({told.item for told in self.told if told.kind == kind})
        return known[which % len(known)] if known else None

    def say(self, conversation: int = 0, *, assistant: bool = False) -> int:
        """A message; its item."""
        thread = f"conversation {conversation}"
        said = [told.item for told in self.told if told.thread == thread and told.kind == MESSAGE]
        said = list(dict.fromkeys(said))
        before = self._group[said[-1]] if said else FIRST
        told = Told(self._items, MESSAGE, thread, len(said), None, assistant)
        role = Role.ASSISTANT if assistant else Role.USER
        return self._new(told, before=before, detail=int(role))

    def draw(self, message: int) -> int:
        source = self._last(message)
        before = self.rows[self._group[message]].before
        told = Told(self._items, FACT, source.thread, 0, message)
        return self._new(told, before=before, source=self._group[message])

    def state(self) -> int:
        return self._new(Told(self._items, FACT, f"fact {self._items}", 0, None))

    def note(self, document: int) -> int:
        """A fact that was drawn from a document."""
        told = Told(self._items, FACT, f"fact {self._items}", 0, document)
        return self._new(told, source=self._group[document])

    def write(self, passages: int = 0) -> int:
        """A document with so many passages."""
        made = self._new(Told(self._items, DOCUMENT, f"document {self._items}", 0, None))
        for _ in range(passages):
            self.cut(made)
        return made

    def cut(self, document: int) -> int:
        thread = f"document {document}"
        cut = {told.item for told in self.told if told.thread == thread and told.kind == PASSAGE}
        told = Told(self._items, PASSAGE, thread, len(cut), None)
        return self._new(told, group=self._group[document])

    def again(self, item: int, **columns: Any) -> None:
        """Another version, which ends the one before."""
        at = max(n for n, told in enumerate(self.told) if told.item == item)
        count = len(self.rows)
        self.rows[at] = self.rows[at]._replace(closed=count)
        self.rows.append(self.rows[at]._replace(opened=count, closed=OPEN, **columns))
        self.told.append(self.told[at])

    def _last(self, item: int) -> Told:
        return next(told for told in reversed(self.told) if told.item == item)

    def _new(self, told: Told, **columns: Any) -> int:
        count = len(self.rows)
        self._group[told.item] = count
        fields = {"group": count, "closed": OPEN, **columns}
        raw = told.item.to_bytes(16)
        self.rows.append(Entry(raw, opened=count, length=1, kind=told.kind, **fields))
        self.told.append(told)
        self._items += 1
        return told.item

    # --- looking

    @property
    def columns(self) -> Columns:
        return columns_of(self.rows)

    def counted(self, moment: int | None = None) -> Mask:
        """What stands at a moment: positions are those of the entries; shape (entries,)."""
        return self._standing(moment) & ~self._documents()

    def documents(self, moment: int | None = None) -> Mask:
        """The documents that stand at a moment, shape (entries,)."""
        return self._standing(moment) & self._documents()

    def _documents(self) -> Mask:
        return np.array([told.kind == DOCUMENT for told in self.told], np.bool_)

    def _standing(self, moment: int | None) -> Mask:
        at = len(self.rows) if moment is None else moment
        return np.array(
            [
                row.opened <= at < row.closed and told.item not in self.hidden
                for row, told in zip(self.rows, self.told, strict=True)
            ],
            np.bool_,
        )


def columns_of(rows: Sequence[Entry]) -> Columns:
    table = entries(rows)
    return Columns(n=len(rows), stamp=1, **{name: table[name].copy() for name in Entry._fields})


class Beside(NamedTuple):
    """What stands beside what, entry by entry; None where there is nothing."""

    unit: list[int]
    previous: list[int | None]
    next: list[int | None]
    thread: list[str]
    place: list[int]


def beside(scene: Scene, counted: Mask) -> Beside:
    """Worked out from what is told, one entry after the other."""
    told = scene.told
    seen = {told[n].item: n for n in range(len(told)) if counted[n]}
    stands: dict[tuple[str, int, int], int] = {
        (told[n].thread, told[n].kind, told[n].place): n
        for n in seen.values()
        if told[n].kind in (MESSAGE, PASSAGE)
    }
    made = Beside([], [], [], [], [])
    for n, each in enumerate(told):
        unit, thread = n, each.thread
        around: list[int | None] = [None, None]
        if counted[n] and each.source is not None:
            unit = seen.get(each.source, n)
            thread = each.thread if unit != n else f"fact {each.item}"
        if counted[n] and each.kind in (MESSAGE, PASSAGE):
            around = [_near(stands, each, step) for step in (-1, 1)]
        made.unit.append(unit)
        made.previous.append(around[0])
        made.next.append(around[1])
        made.thread.append(thread)
        made.place.append(each.place if counted[n] and each.kind == MESSAGE else 0)
    return made


def _near(stands: dict[tuple[str, int, int], int], each: Told, step: int) -> int | None:
    """A message has its neighbour beside it or none; passages of a document close up."""
    if each.kind == MESSAGE:
        return stands.get((each.thread, MESSAGE, each.place + step))
    places = sorted(
        place for thread, kind, place in stands if (thread, kind) == (each.thread, PASSAGE)
    )
    at = places.index(each.place) + step
    return stands[each.thread, PASSAGE, places[at]] if 0 <= at < len(places) else None


ACT = st.tuples(
    st.sampled_from(
        ["say", "say", "say", "draw", "draw", "edit", "restate", "state", "write", "cut", "recut",
         "hide", "note", "matter", "matter"]
    ),
    st.integers(0, 50),
    st.integers(0, 50),
)  # fmt: skip
ACTS = st.lists(ACT, max_size=10) | st.lists(ACT, min_size=15, max_size=40)


def scene_of(acts: Sequence[Act]) -> Scene:
    made = Scene()
    for act in acts:
        made.act(act)
    return made


SCENES = ACTS.map(scene_of)


def renumbered(rows: Sequence[Entry], order: Sequence[int]) -> list[Entry]:
    """The same entries in another order; `order` has the old number at each new one."""
    new = {old: at for at, old in enumerate(order)}

    def moved(group: int) -> int:
        return group if group == FIRST else new[group]

    return [
        rows[old]._replace(
            group=moved(rows[old].group),
            before=moved(rows[old].before),
            source=moved(rows[old].source),
        )
        for old in order
    ]
