"""Drafts put in their envelopes, one at a time or many at once.

Many at once runs in C where it can: a loop in Python costs about as much as all that LMDB does.
"""

from collections.abc import Sequence
from itertools import count, repeat
from typing import NamedTuple, cast

import msgspec

from rewound.eventlog import registry
from rewound.eventlog.bodies import Body, Sealed
from rewound.eventlog.envelope import FORMAT, Actor, Envelope
from rewound.eventlog.events import Event
from rewound.eventlog.ids import ContainerId, EventId, GroupId, IdSource, Kind, several
from rewound.eventlog.log import Draft
from rewound.eventlog.tables import checked_id

_KINDS = [bytes((kind,)) for kind in range(max(Kind) + 1)]


class Columns(NamedTuple):
    """Drafts by field, one entry for each."""

    events: tuple[Event, ...]
    bodies: tuple[Sequence[Sealed], ...]
    causes: tuple[tuple[EventId, ...], ...]
    scopes: tuple[Body | None, ...]
    event_ids: tuple[EventId | None, ...]


def columns_of(drafts: Sequence[Draft]) -> Columns:
    """For one draft or more."""
    return Columns(*zip(*drafts, strict=True))


def ids_for(given: Sequence[EventId | None], ids: IdSource) -> list[EventId]:
    """The ids that were given, fresh ones where none was. Raises ValueError."""
    missing = given.count(None)
    fresh = several(ids, missing)
    if missing == len(given):
        return cast("list[EventId]", fresh)
    drawn = iter(fresh)
    return [EventId(next(drawn) if own is None else checked_id(own)) for own in given]


def stamp(
    draft: Draft,
    event_id: EventId,
    container: ContainerId,
    position: int,
    at: int,
    actor: Actor,
    group: GroupId,
) -> Envelope:
    """One draft, to be recorded at µs `at`. Raises KeyError for an event that has no name."""
    name, schema, payload = registry.encode(draft.event)
    return Envelope(
        FORMAT,
        position,
        event_id,
        at,
        container,
        draft.scope,
        actor,
        draft.causes,
        group,
        name,
        schema,
        msgspec.Raw(payload),
    )


def stamp_many(
    drafts: Columns,
    event_ids: list[EventId],
    container: ContainerId,
    position: int,
    at: int,
    actor: Actor,
    group: GroupId,
) -> list[Envelope]:
    """Drafts in a row from `position` and `at` on."""
    names, schemas, payloads = registry.encode_many(drafts.events)
    size = len(names)
    return list(
        map(
            Envelope,
            repeat(FORMAT),
            range(position, position + size),
            event_ids,
            range(at, at + size),
            repeat(container),
            drafts.scopes,
            repeat(actor),
            drafts.causes,
            repeat(group),
            names,
            schemas,
            map(msgspec.Raw, payloads),
        )
    )


def tag_positions(
    container: bytes,
    first: int,
    drafts: Columns,
    event_ids: list[EventId],
    group: bytes,
) -> dict[bytes, list[int]]:
    """Keys of the rows for `envelope.tags_of` the events, with their positions.

    Says `tags_of` again, for many events without a list for each: `verify` holds the two together.
    """
    kinds = [container + kind for kind in _KINDS]
    tags: dict[bytes, list[int]] = {}
    gather = tags.setdefault
    for position, event, causes in zip(count(first), drafts.events, drafts.causes):
        keys = [kinds[ref.kind] + ref.id for ref in event.creates() + event.refers()]
        if causes:
            keys += [kinds[Kind.EVENT] + cause for cause in causes]
        for key in keys:
            positions = gather(key, [])
            if not positions or positions[-1] != position:
                positions.append(position)
    in_group = [at for at, event_id in enumerate(event_ids, first) if event_id != group]
    if in_group:
        tags[kinds[Kind.GROUP] + group] = in_group
    return tags
