"""What a view is: a name, a version, the events it folds, and a pure fold for one row.

A row is the fold of its own contributors and of nothing else, so that an undo can fold just the
rows it touches anew. Contributors are found through the log's tags: an event may only touch a row
whose key it is tagged with (a test checks every event type).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import Kind
from rewound.eventlog.log import Recorded

State = msgspec.Struct
"""A row's content; array-like, without text: texts stay in the bodies it refers to."""

Resolve = Callable[[int], Recorded]
"""An earlier event of the same container, by position: immutable, so a fold may look at it."""

Fold = Callable[[bytes, Sequence[Recorded], Resolve], State | None]
Keys = Callable[[Any], Iterable[bytes]]

Types = frozenset[type[e.Event]]

SENT: Types = frozenset(
    {e.DocumentIngested, e.DocumentReplaced, e.DocumentRemoved, e.MessageRecorded}
)
CUT: Types = frozenset({e.PassagesCut})
STATED: Types = frozenset({e.FactRemembered, e.FactExtracted, e.FactEdited})
ENDED: Types = frozenset({e.FactSuperseded, e.FactReinstated, e.FactsEnded})
DERIVED: Types = frozenset({e.ExtractionFinished, e.ExtractionFailed})
JUDGED: Types = frozenset({e.FactsJudged, e.LabelGiven})
LINKED: Types = frozenset({e.FactsLinked})
POLICY: Types = frozenset({e.PolicyFitted})
HIDDEN: Types = frozenset({e.Forgotten, e.Restored, e.ContentErased})
NAMED: Types = frozenset({e.ContainerConfigured, e.ContainerMoved, e.ContainerRemoved})
GRAPH: Types = frozenset({e.RelationAsserted, e.EntityMerged, e.EntitySplit, e.EntityRenamed})
WRITTEN: Types = frozenset({e.ProfileWritten, e.SummaryWritten, e.SummaryFailed})
KEPT: Types = frozenset({e.ImportBegun, e.ImportFinished, e.HeadsSealed})
AGAIN: Types = frozenset({e.SeenAgain})
TAGGED: Types = frozenset({e.TagsEdited, e.ImportanceSet})
UNDONE: Types = frozenset({e.Undone})
"""Undone is handled by the fold itself, for every view."""


def types(*kinds: type[e.Event]) -> Types:
    return frozenset(kinds)


FAMILIES = (
    SENT, CUT, STATED, ENDED, DERIVED, JUDGED, LINKED, POLICY, HIDDEN, NAMED, GRAPH, WRITTEN, KEPT,
    AGAIN, TAGGED, UNDONE,
)  # fmt: skip
"""Every event type is in exactly one family (a test compares with the vocabulary)."""


class View(NamedTuple):
    """`handles` gives, for each event type, the row keys that an event of it touches.

    A key is a tag of the event (a kind byte and an id), for an overlay of bodies followed by the
    body's place. `births` are types that bring an item with a fresh id: its row cannot have had a
    contributor before, so none is looked for. Types in neither `handles` nor `ignores` are a
    mistake that a test finds.
    """

    name: str
    version: int
    state: type[State]
    handles: dict[type[e.Event], Keys]
    ignores: Types
    births: Types
    fold: Fold
    versioned: bool = True
    """False for an overlay, which has a present only: it applies to reads of every moment."""

    waits: bool = False
    """Whether a row means that something is still to be done: of ever more rows few are present,
    and these are asked for in all containers, so they are listed apart."""

    brief: Callable[[Any], bytes] = lambda state: b""
    """What of such a row stands in that list, so that counting need not read the rows."""

    @property
    def database(self) -> str:
        return f"{self.name}.v{self.version}"


def item_of(kind: Kind) -> Keys:
    """Keys of an event that has an `item`, for the view of items of one kind."""

    def keys(event: e.SeenAgain | e.TagsEdited | e.ImportanceSet) -> list[bytes]:
        return [event.item.key()] if event.item.kind is kind else []

    return keys


def restated(recorded: Recorded, resolve: Resolve) -> Recorded:
    """The event that a "seen again" states anew, or the event itself."""
    while isinstance(recorded.event, e.SeenAgain):
        recorded = resolve(recorded.event.at)
    return recorded


def asked_for_again(recorded: Recorded) -> bool:
    """Whether a source that is seen again is so because somebody wants what failed tried again.

    That one is caused by the event that brought the source. What is merely sent once more, as part
    of a longer transcript perhaps, has no cause: it changes nothing about a failure.
    """
    return isinstance(recorded.event, e.SeenAgain) and bool(recorded.envelope.causes)


def absolute(body: Body | None, position: int) -> Body | None:
    """The reference as anything outside its own event must hold it."""
    return None if body is None else body.seen_from(position)
