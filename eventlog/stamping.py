"""Drafts put in their envelopes, one at a time or many at once.

Many at once runs in C where it can: a loop in Python costs about as much as all that LMDB does.
"""

from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import msgspec

from rewound.eventlog import registry
from rewound.eventlog.bodies import Body, Sealed
from rewound.eventlog.envelope import FORMAT, Actor, Envelope
from rewound.eventlog.events import Event
from rewound.eventlog.ids import ContainerId, EventId, GroupId, IdSource, several
from rewound.eventlog.log import Draft
from rewound.eventlog.tables import checked_id


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
        return list(map(EventId, fresh))
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
    count = len(names)
    return list(
        map(
            Envelope,
            repeat(FORMAT),
            range(position, position + count),
            event_ids,
            range(at, at + count),
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
