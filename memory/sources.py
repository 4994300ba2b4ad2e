"""One document or message that facts are to be drawn from: what there is to read, what brought it.

What is read is what today's readers see: forgotten words are black, erased ones gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import ContainerId, EventId, FactId, Kind, Ref
from rewound.eventlog.instants import Instant, Precision, from_us
from rewound.eventlog.log import Recorded
from rewound.llm.extraction import Media, Role, Said
from rewound.memory.identity import normalised
from rewound.memory.moments import zone_of
from rewound.projections.view import restated

if TYPE_CHECKING:
    from rewound.projections.facts import FactRow
    from rewound.projections.jobs import JobRow
    from rewound.projections.messages import MessageRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row

BLACK = "█"

BEFORE_MAX = 4
"""Earlier messages of a conversation that are read for what a message refers to."""

_BEFORE_EVENTS = 64
"""Events back in which they are looked for; so a long conversation costs no more than a short."""

Key = tuple[str, e.FactKind, tuple[int, int] | None, tuple[int, int] | None]
"""Two statements of one source with the same wording, kind and times are one fact. Without a
beginning (None) it is one that holds from when it was said."""


class Piece(NamedTuple):
    """One text that is to be read. `text` is None once it is erased; `cause` is what brought it."""

    place: Place
    text: str | None
    masks: tuple[tuple[int, int], ...]
    cause: EventId

    @property
    def readable(self) -> bool:
        return self.text is not None and bool(self.text.replace(BLACK, "").strip())


class Known(NamedTuple):
    """A fact that was drawn from the source before, by the event at position `at`."""

    fact: FactId
    at: int
    there: bool
    settled: bool
    """It was forgotten, or a person took it back by itself: it is not to come again."""

    ended: bool
    """Its source no longer said so."""

    places: frozenset[Place]
    """Where it is known to stand."""

    over: bool = False
    """Another took its place: said again elsewhere, it is a new period of the same."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document or message of which `pieces` are still to be read; `whole` if those are all."""

    container: ContainerId
    ref: Ref
    pieces: tuple[Piece, ...]
    whole: bool
    attempts: int
    begun: Instant
    zone: str
    role: Role
    media: Media
    speaker: str | None
    scope: dict[str, str]
    tags: tuple[str, ...] = ()
    before: tuple[Said, ...] = ()
    """Of a message: earlier ones of its conversation, oldest first."""

    conversation: bytes | None = None

    known: dict[Key, Known] = field(default_factory=dict)

    def said(self) -> list[Said]:
        """What an extractor is to read, for each readable piece."""
        at = self.begun.at
        return [
            Said(piece.text or "", at, self.zone, self.role, self.speaker, self.media, self.before)
            for piece in self.pieces
            if piece.readable
        ]

    def chars(self) -> int:
        return sum(len(piece.text or "") for piece in self.pieces)


def read(view: ContainerView, ref: Ref, job: JobRow, chars_max: int) -> Source | None:
    """The source as far as it is to be read now, one piece at least; None when it is not there."""
    row = view.row(ref)
    if row is None:
        return None
    state = row.state
    if ref.kind is Kind.MESSAGE:
        bodies = [state.text]
        role, media, speaker = state.role.name.lower(), "text", view.text(state.speaker)
    else:
        bodies, role, speaker = state.pieces, "document", None
        media = state.media.name.lower()
    by_place = {body.place(0): body for body in bodies}
    pieces: list[Piece] = []
    left = chars_max
    for place in job.wanted:
        if pieces and left <= 0:
            break
        cause = _cause(view, ref, place)
        if cause is None or place not in by_place:
            return None
        text = view.shown(ref, by_place[place])
        pieces.append(Piece(place, text, view.mask(ref, place), cause))
        left -= len(text or "")
    said_at = state.said_at
    return Source(
        container=view.id,
        ref=ref,
        pieces=tuple(pieces),
        whole=len(pieces) == len(job.wanted),
        attempts=job.attempts,
        begun=said_at or Instant(state.recorded_at, Precision.INSTANT, 0),
        zone=zone_where_said(view, said_at),
        role=cast("Role", role),
        media=cast("Media", media),
        speaker=speaker,
        scope=view.value(state.scope) or {},
        tags=view.tags(state.tags),
        before=_before(view, row) if ref.kind is Kind.MESSAGE else (),
        conversation=row.state.conversation if ref.kind is Kind.MESSAGE else None,
        known=_known(view, ref),
    )


def _before(view: ContainerView, row: Row[MessageRow]) -> tuple[Said, ...]:
    """The messages that stand before one in its conversation and may be read along with it.

    They are of the same scope, and none is hidden or was sent to be kept only; what of them is
    forgotten is black.
    """
    found: list[Said] = []
    first = row.state.at - 1
    for position in range(first, max(0, first - _BEFORE_EVENTS), -1):
        recorded = view.event(position)
        if recorded is None or not isinstance(recorded.event, e.MessageRecorded):
            continue
        if recorded.event.conversation != row.state.conversation:
            continue
        said = _said_before(view, recorded.event.message, row)
        if said is not None:
            found.append(said)
        if len(found) == BEFORE_MAX:
            break
    return tuple(reversed(found))


def _said_before(view: ContainerView, message: bytes, row: Row[MessageRow]) -> Said | None:
    earlier, ref = view.message(message), Ref(Kind.MESSAGE, message)
    if earlier is None or not earlier.state.infer or view.hidden(ref) is not None:
        return None
    state = earlier.state
    if state.ordinal >= row.state.ordinal or view.value(state.scope) != view.value(row.state.scope):
        return None
    text = view.shown(ref, state.text)
    if not text:
        return None
    at = state.recorded_at if state.said_at is None else state.said_at.at
    role = cast("Role", state.role.name.lower())
    return Said(text, at, zone_where_said(view, state.said_at), role, view.text(state.speaker))


def zone_where_said(view: ContainerView, said_at: Instant | None) -> str:
    """Where the speaker's days begin: in the container's zone, unless the time was given with an
    offset that this zone does not have then."""
    zone = zone_of(view)
    if said_at is None or said_at.offset is None:
        return zone.name
    there = from_us(said_at.at).astimezone(zone.info).utcoffset()
    if there == timedelta(minutes=said_at.offset):
        return zone.name
    hours, minutes = divmod(abs(said_at.offset), 60)
    return f"{'-' if said_at.offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def _cause(view: ContainerView, ref: Ref, place: Place) -> EventId | None:
    """The first event that holds and brings the text: if it was sent twice and the first sending
    is undone, what is drawn anew stands on the second one."""
    effectivity = view.effectivity()
    first = view.event(place.at)
    if first is not None and effectivity.holds(first):
        return first.envelope.event_id
    for recorded in view.about(ref):
        if place in _states(view, recorded) and effectivity.holds(recorded):
            return recorded.envelope.event_id
    return None


def _states(view: ContainerView, recorded: Recorded) -> set[Place]:
    def resolve(position: int) -> Recorded:
        found = view.event(position)
        assert found is not None, f"position {position} is named but not in the log"
        return found

    stated = restated(recorded, resolve)
    match stated.event:
        case e.MessageRecorded(text=text):
            return {text.place(stated.position)}
        case e.DocumentIngested(pieces=pieces) | e.DocumentReplaced(pieces=pieces):
            return {piece.place(stated.position) for piece in pieces}
    return set()


def _known(view: ContainerView, ref: Ref) -> dict[Key, Known]:
    """Facts of the source by what they say. One that holds from when it was said is also known
    without its beginning: a line that stands in the next version, too, says nothing new."""
    found: dict[Key, Known] = {}
    effectivity = view.effectivity()
    sent = {(said.at, int(said.precision)) for said in _sent(view, ref)}
    for recorded in view.about(ref):
        event, at = recorded.event, recorded.position
        if not isinstance(event, e.FactExtracted):
            continue
        text = view.text(event.statement.text.seen_from(at))
        begun = event.statement.valid_from
        if text is None or begun is None:
            continue
        row = view.fact(event.fact)
        there = row is not None
        taken_back = effectivity.undoing(recorded.envelope.event_id) is not None
        hidden = view.hidden(Ref(Kind.FACT, event.fact)) is not None
        settled = hidden or (taken_back and not there)
        ended = row is not None and row.state.unsaid is not None
        spans = event.sources if row is None else row.state.sources
        places = frozenset(span.place for span in spans)
        replaced = row is not None and _is_replaced(view, row.state)
        known = Known(event.fact, at, there, settled, ended, places, replaced)
        kind, over = event.statement.kind, event.statement.valid_to
        found[key_of(text, kind, begun, over)] = known
        if (there or settled) and ((begun.at, int(begun.precision)) in sent or begun == over):
            found[key_of(text, kind, None, over)] = known
    return found


def _is_replaced(view: ContainerView, fact: FactRow) -> bool:
    """Whether a judge or a label found that another fact took its place; not a person's edit."""
    if fact.ended is None or fact.ended.repeats:
        return False
    found = view.log.find(fact.ended.event)
    ending = None if found is None else view.event(found[1])
    return ending is not None and isinstance(ending.event, e.FactSuperseded)


def _sent(view: ContainerView, ref: Ref) -> set[Instant]:
    """When the source was said, in each of its versions."""
    states = (row.state for row in view.versions(ref))
    return {state.said_at or Instant(state.recorded_at, Precision.INSTANT, 0) for state in states}


def key_of(text: str, kind: e.FactKind, begun: Instant | None, ended: Instant | None) -> Key:
    first = None if begun is None else (begun.at, int(begun.precision))
    last = None if ended is None else (ended.at, int(ended.precision))
    return normalised(text.strip()), kind, first, last
