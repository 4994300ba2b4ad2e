"""The view of facts: each row is one version, with its interval in world time.

Which version of a chain is current, and where a chain begins, is not stored: a row knows only what
it supersedes and what ended it.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.instants import MAX_US, Instant
from rewound.eventlog.log import Recorded
from rewound.projections import importance
from rewound.projections import tags as tagging
from rewound.projections import view as v
from rewound.projections.tags import Tags


class Ended(msgspec.Struct, frozen=True, array_like=True):
    """What took a fact's place, from when (µs), and whether the fact had been wrong all along.

    With `repeats` nothing took its place: it says the same as `by`, and stands for no version of
    its own.
    """

    by: FactId
    at: int
    corrects: bool
    event: EventId
    repeats: bool = False


class Unsaid(msgspec.Struct, frozen=True, array_like=True):
    """From when (µs) nothing that a fact was drawn from says so any more, and the ending event."""

    at: int
    event: EventId


class FactRow(msgspec.Struct, frozen=True, array_like=True):
    """One version. `valid_from` and `valid_to` (µs, MAX_US when open) take the ending in."""

    at: int
    recorded_at: int
    text: Body
    kind: e.FactKind
    valid_from: int
    valid_to: int
    stated_from: Instant | None
    stated_to: Instant | None
    subject: Body | None
    attribute: Body | None
    value: Body | None
    entities: Body | None
    sources: tuple[e.Span, ...]
    caller_id: Body | None
    tags: Tags
    metadata: Body | None
    said_at: Instant | None
    expires_at: int | None
    scope: Body | None
    supersedes: tuple[FactId, ...]
    ended: Ended | None
    unsaid: Unsaid | None = None
    repeated_by: tuple[FactId, ...] = ()
    extends: tuple[FactId, ...] = ()
    superseded_by: tuple[FactId, ...] = ()
    """Everything that took its place or stands for it, in the order recorded; `ended` is the one
    of these endings that counts."""
    importance: int | None = None
    """Its own, in thousandths."""


Asserting = e.FactRemembered | e.FactExtracted | e.FactEdited
_ASSERTING = (e.FactRemembered, e.FactExtracted, e.FactEdited)
_DRAWN = (e.FactRemembered, e.FactExtracted)


def fold_fact(key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve) -> FactRow | None:
    """The wording last stated, with every support's sources and the earliest ending that holds."""
    fact = FactId(key[1:])
    if len(contributors) == 1 and _states(contributors[0].event, fact):
        return _row(contributors[0], (contributors[0],), contributors, fact)
    stated = [
        v.restated(recorded, resolve)
        for recorded in contributors
        if isinstance(recorded.event, e.SeenAgain) or _states(recorded.event, fact)
    ]
    if not stated:
        return None
    return _row(stated[-1], stated, contributors, fact)


def _row(
    last: Recorded, stated: Sequence[Recorded], contributors: Sequence[Recorded], fact: FactId
) -> FactRow:
    event, at = last.event, last.position
    first = stated[0].event
    assert isinstance(event, _ASSERTING) and isinstance(first, _ASSERTING)
    told = None if isinstance(event, e.FactExtracted) else event
    said_at = None if told is None else told.said_at
    recorded_at, statement = last.envelope.recorded_at, event.statement
    begun = statement.valid_from or said_at
    valid_from = begun.at if begun else recorded_at
    # Most facts have one event in their life: nothing can have ended them.
    alone = len(contributors) == 1
    endings = [] if alone else _endings(fact, contributors)
    ended = min(endings)[-1] if endings else None
    unsaid = None if alone else _unsaid(fact, contributors)
    return FactRow(
        at=at,
        recorded_at=recorded_at,
        text=statement.text.seen_from(at),
        kind=statement.kind,
        valid_from=valid_from,
        valid_to=_end(valid_from, statement.valid_to, ended, unsaid),
        stated_from=begun,
        stated_to=statement.valid_to,
        subject=v.absolute(statement.subject, at),
        attribute=v.absolute(statement.attribute, at),
        value=v.absolute(statement.value, at),
        entities=v.absolute(statement.entities, at),
        sources=_sources(fact, stated, contributors),
        caller_id=v.absolute(None if told is None else told.caller_id, at),
        tags=tagging.gathered(first.tags, stated[0].position, contributors),
        metadata=v.absolute(None if told is None else told.metadata, at),
        said_at=said_at,
        expires_at=None if told is None else told.expires_at,
        scope=v.absolute(last.envelope.scope, at),
        supersedes=_superseded(fact, contributors),
        ended=ended,
        unsaid=unsaid,
        repeated_by=() if alone else _repeated(fact, contributors),
        extends=() if alone else _extended(fact, contributors),
        superseded_by=tuple(dict.fromkeys(each.by for *_, each in endings)),
        importance=importance.gathered(_importance(first), contributors),
    )


def _importance(stated: Asserting) -> int | None:
    return None if isinstance(stated, e.FactExtracted) else stated.importance


def _states(event: e.Event, fact: FactId) -> bool:
    return isinstance(event, _ASSERTING) and event.fact == fact


def _end(
    valid_from: int, stated: Instant | None, ended: Ended | None, unsaid: Unsaid | None
) -> int:
    """µs. A corrected fact was never true, a repeated one is not true by itself; an ended one is
    true until then, or never."""
    limit = stated.at if stated else MAX_US
    if ended is not None and (ended.corrects or ended.repeats):
        return valid_from
    for ending in (ended, unsaid):
        if ending is not None:
            limit = min(limit, max(valid_from, ending.at))
    return limit


def _sources(
    fact: FactId, stated: Iterable[Recorded], contributors: Iterable[Recorded]
) -> tuple[e.Span, ...]:
    """All it was ever drawn from, so that forgetting it finds every place of its words; first
    where it was found since it last ended."""
    found: list[e.Span] = []
    before: list[e.Span] = []
    for recorded in contributors:
        event = recorded.event
        if isinstance(event, e.SeenAgain) or (isinstance(event, _DRAWN) and event.fact == fact):
            found += event.sources
        elif isinstance(event, e.FactsEnded):
            before[:0], found = found, []
    restated = (span for r in stated if isinstance(r.event, _DRAWN) for span in r.event.sources)
    return tuple(dict.fromkeys((*found, *before, *restated)))


def _lifted(contributors: Iterable[Recorded], fact: FactId | None) -> set[EventId]:
    """Endings that were taken back: of this fact, or (None) of any."""
    return {
        recorded.event.superseding
        for recorded in contributors
        if isinstance(recorded.event, e.FactReinstated)
        and (fact is None or fact in recorded.event.facts)
    }


def _endings(fact: FactId, contributors: Sequence[Recorded]) -> list[tuple[bool, int, int, Ended]]:
    """All endings; the least of them counts: that it was wrong, else the one that lies earliest in
    world time.

    Edits name the whole chain, so a version that was to end in 2099 ends in 2010 after all when its
    successor is replaced from then on. Only the version corrected itself was wrong.
    """
    lifted = _lifted(contributors, fact)
    found: list[tuple[bool, int, int, Ended]] = []
    for recorded in contributors:
        event, envelope = recorded.event, recorded.envelope
        if envelope.event_id in lifted:
            continue
        if isinstance(event, e.FactEdited) and fact in event.ends:
            begun, by, repeats = event.statement.valid_from or event.said_at, event.fact, False
        elif isinstance(event, e.FactSuperseded) and fact in event.ends:
            begun, by, repeats = event.at, event.by, event.repeats
        else:
            continue
        at = begun.at if begun else envelope.recorded_at
        corrects = event.corrects and event.ends[0] == fact
        ended = Ended(by, at, corrects, envelope.event_id, repeats)
        found.append((not corrects, at, recorded.position, ended))
    return found


def _unsaid(fact: FactId, contributors: Sequence[Recorded]) -> Unsaid | None:
    """The earliest ending in world time of those since the fact was last stated."""
    found: list[Unsaid] = []
    for recorded in contributors:
        event, envelope = recorded.event, recorded.envelope
        if isinstance(event, e.SeenAgain) or _states(event, fact):
            found.clear()
        elif isinstance(event, e.FactsEnded) and fact in event.facts:
            at = event.at.at if event.at else envelope.recorded_at
            found.append(Unsaid(at, envelope.event_id))
    return min(found, key=lambda each: each.at) if found else None


def _superseded(fact: FactId, contributors: Sequence[Recorded]) -> tuple[FactId, ...]:
    """Whose place the fact took, the direct predecessor first, by everything that still holds.

    The whole chain rather than the one before, so that a chain whose middle is undone stays one.
    """
    found: dict[FactId, None] = {}
    for recorded in contributors:
        event = recorded.event
        if isinstance(event, e.FactEdited) and event.fact == fact:
            found |= dict.fromkeys(event.ends)
        elif isinstance(event, e.FactSuperseded) and event.by == fact and not event.repeats:
            found |= dict.fromkeys(_still_ended(recorded, event, contributors))
    return tuple(found)


def _repeated(fact: FactId, contributors: Sequence[Recorded]) -> tuple[FactId, ...]:
    """What says the same as the fact, by everything that still holds."""
    found: dict[FactId, None] = {}
    for recorded in contributors:
        event = recorded.event
        if isinstance(event, e.FactSuperseded) and event.by == fact and event.repeats:
            found |= dict.fromkeys(_still_ended(recorded, event, contributors))
    return tuple(found)


def _still_ended(
    recorded: Recorded, event: e.FactSuperseded, contributors: Sequence[Recorded]
) -> list[FactId]:
    """What an ending ended, less what has been reinstated since."""
    back = {
        raw
        for r in contributors
        if isinstance(r.event, e.FactReinstated)
        and r.event.superseding == recorded.envelope.event_id
        for raw in r.event.facts
    }
    return [raw for raw in event.ends if raw not in back]


def _extended(fact: FactId, contributors: Sequence[Recorded]) -> tuple[FactId, ...]:
    """What the fact adds to, by the last word on each."""
    found: dict[FactId, None] = {}
    for recorded in contributors:
        event = recorded.event
        if isinstance(event, e.FactsLinked) and event.source == fact:
            if event.outcome is e.Outcome.EXTENDS:
                found.setdefault(event.target)
            else:
                found.pop(event.target, None)
    return tuple(found)


def _stated(event: e.FactRemembered | e.FactExtracted) -> list[bytes]:
    return [Ref(Kind.FACT, event.fact).key()]


def _edited(event: e.FactEdited) -> list[bytes]:
    return [Ref(Kind.FACT, raw).key() for raw in (event.fact, *event.ends)]


def _superseding(event: e.FactSuperseded) -> list[bytes]:
    return [Ref(Kind.FACT, raw).key() for raw in (event.by, *event.ends)]


def _reinstated(event: e.FactReinstated) -> list[bytes]:
    return [Ref(Kind.FACT, raw).key() for raw in (event.by, *event.facts)]


def _linked(event: e.FactsLinked) -> list[bytes]:
    return [Ref(Kind.FACT, event.source).key()]


def _withdrawn(event: e.FactsEnded) -> list[bytes]:
    return [Ref(Kind.FACT, raw).key() for raw in event.facts]


FACTS = v.View(
    name="facts",
    version=4,
    state=FactRow,
    handles={
        e.FactRemembered: _stated,
        e.FactExtracted: _stated,
        e.FactEdited: _edited,
        e.FactSuperseded: _superseding,
        e.FactReinstated: _reinstated,
        e.FactsEnded: _withdrawn,
        e.FactsLinked: _linked,
        e.SeenAgain: v.item_of(Kind.FACT),
        e.TagsEdited: v.item_of(Kind.FACT),
        e.ImportanceSet: v.item_of(Kind.FACT),
    },
    ignores=v.SENT.union(
        v.CUT, v.DERIVED, v.JUDGED, v.POLICY, v.HIDDEN, v.NAMED, v.GRAPH, v.WRITTEN, v.KEPT
    ),
    births=frozenset({e.FactRemembered, e.FactExtracted}),
    fold=fold_fact,
)
