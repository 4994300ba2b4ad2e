"""The overlay of what is forgotten or erased: items that no read shows, spans blacked out.

An overlay has a present only. Reads of every moment, also of the past, are seen through it.
"""

from collections.abc import Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import EventId, Ref
from rewound.eventlog.log import Recorded
from rewound.projections import view as v


class HiddenRow(msgspec.Struct, frozen=True, array_like=True):
    """An item that is hidden, by which forgettings; `erased` ones never come back."""

    by: tuple[EventId, ...]
    erased: bool


class MaskRow(msgspec.Struct, frozen=True, array_like=True):
    """Blacked-out characters of one body: disjoint [start, end), rising."""

    spans: tuple[tuple[int, int], ...]


def place_key(source: Ref, place: Place) -> bytes:
    """The row key of a body's mask: the tag of its document or message, then its place."""
    return source.key() + place.at.to_bytes(8, "big") + place.slot.to_bytes(4, "big")


def place_of(key: bytes) -> Place:
    return Place(int.from_bytes(key[17:25], "big"), int.from_bytes(key[25:29], "big"))


def merged(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Overlapping and touching spans joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        elif end > start:
            joined.append((start, end))
    return tuple(joined)


def fold_hidden(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> HiddenRow | None:
    hiding: dict[EventId, None] = {}
    erased = False
    for recorded in contributors:
        match recorded.event:
            case e.Forgotten(hides=hides) if any(ref.key() == key for ref in hides):
                hiding[recorded.envelope.event_id] = None
            case e.Restored(shows=shows, lifts=lifts) if any(ref.key() == key for ref in shows):
                for event_id in lifts:
                    hiding.pop(event_id, None)
            case e.ContentErased(items=items) if any(ref.key() == key for ref in items):
                erased = True
    return HiddenRow(tuple(hiding), erased) if hiding or erased else None


def fold_mask(key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve) -> MaskRow | None:
    place = place_of(key)
    masking: dict[tuple[EventId, e.Span], tuple[int, int]] = {}
    for recorded in contributors:
        match recorded.event:
            case e.Forgotten(masks=masks):
                for span in masks:
                    if span.place == place:
                        masking[recorded.envelope.event_id, span] = (span.start, span.end)
            case e.Restored(lifts=lifts, masks=masks):
                for event_id in lifts:
                    for span in masks:
                        masking.pop((event_id, span), None)
    spans = merged(list(masking.values()))
    return MaskRow(spans) if spans else None


def _hides(event: e.Forgotten) -> list[bytes]:
    return [ref.key() for ref in event.hides]


def _shows(event: e.Restored) -> list[bytes]:
    return [ref.key() for ref in event.shows]


def _erases(event: e.ContentErased) -> list[bytes]:
    return [ref.key() for ref in event.items]


def _masks(event: e.Forgotten | e.Restored) -> list[bytes]:
    return list(dict.fromkeys(place_key(span.source, span.place) for span in event.masks))


_IGNORED = v.SENT.union(
    v.CUT, v.STATED, v.ENDED, v.DERIVED, v.JUDGED, v.LINKED, v.POLICY, v.NAMED, v.GRAPH, v.WRITTEN,
    v.KEPT, v.AGAIN, v.TAGGED,
)  # fmt: skip

HIDDEN = v.View(
    name="hidden",
    version=1,
    state=HiddenRow,
    handles={e.Forgotten: _hides, e.Restored: _shows, e.ContentErased: _erases},
    ignores=_IGNORED,
    births=frozenset(),
    fold=fold_hidden,
    versioned=False,
)

MASKS = v.View(
    name="masks",
    version=1,
    state=MaskRow,
    handles={e.Forgotten: _masks, e.Restored: _masks},
    ignores=_IGNORED | {e.ContentErased},
    births=frozenset(),
    fold=fold_mask,
    versioned=False,
)
