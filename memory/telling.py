"""Telling events: what happened, in plain values, with the texts that the event brought.

Every field of an event is told by its type, so a new event type needs nothing here. Texts are seen
through their masks; of an event about something forgotten or erased only ids are told.
"""

import enum
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog import ids
from rewound.eventlog.bodies import Body, Place, read_text, read_value
from rewound.eventlog.ids import Kind, Ref, show
from rewound.eventlog.instants import Instant, show_instant, show_us
from rewound.eventlog.log import Recorded
from rewound.memory.moments import When
from rewound.memory.replies import EventView
from rewound.projections.holding import Told as Summed
from rewound.projections.holding import forgotten_in
from rewound.projections.importance import WHOLE
from rewound.projections.reader import ContainerView

TOLD_CHARS = 2_000
"""Characters of one text that are told; `data["cut"]` has the whole length of longer ones."""

_KINDS: dict[Any, Kind] = {
    ids.EventId: Kind.EVENT,
    ids.GroupId: Kind.GROUP,
    ids.ContainerId: Kind.CONTAINER,
    ids.DocumentId: Kind.DOCUMENT,
    ids.MessageId: Kind.MESSAGE,
    ids.PassageId: Kind.PASSAGE,
    ids.FactId: Kind.FACT,
    ids.ConversationId: Kind.CONVERSATION,
    ids.EntityId: Kind.ENTITY,
    ids.KeyId: Kind.KEY,
}
_TIMES = frozenset({"expires_at", "retry_at"})
"""Fields whose whole number is a time in µs."""

_THOUSANDTHS = frozenset({"importance"})
"""Fields that are told as a share, 0 to 1."""

_OWNERS = frozenset({Kind.DOCUMENT, Kind.MESSAGE, Kind.FACT})


class Field(NamedTuple):
    """A field of a struct: its name, and what it holds (one, or `many` of them)."""

    name: str
    core: Any
    many: bool


@cache
def fields_of(struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of an event, or of a struct within one."""
    hints = get_type_hints(struct)
    return tuple(Field(name, *_core(hints[name])) for name in struct.__struct_fields__)


def _core(hint: Any) -> tuple[Any, bool]:
    """`tuple[FactId, ...]` is (FactId, True), `Body | None` is (Body, False)."""
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    parts = [part for part in get_args(hint) if part is not type(None)]
    return (parts[0], False) if parts else (hint, False)


class Teller:
    """Tells the events of one container as of a moment."""

    def __init__(self, view: ContainerView, when: When, *, forgotten: bool = False) -> None:
        self._view = view
        self._forgotten = forgotten
        self._effectivity = view.effectivity(when.at)

    def told(self, position: int) -> EventView:
        recorded = self._view.event(position)
        assert recorded is not None, f"position {position} is folded but not in the log"
        return self.tell(recorded)

    def tell(self, recorded: Recorded) -> EventView:
        envelope, event = recorded.envelope, recorded.event
        withheld = self.withheld(event)
        told = _Told(self._view, recorded, unmasked=self._forgotten, bare=withheld is not None)
        told.struct(event)
        told.scope()
        undone_by = None
        if not self._effectivity.holds(recorded):
            undoing = self._effectivity.dropped_by(recorded)
            assert undoing is not None, "an event that does not hold was dropped by an undoing"
            undone_by = show(Kind.EVENT, undoing.envelope.event_id)
        key = envelope.actor.key
        actor = envelope.actor.kind.name.lower()
        return EventView(
            id=show(Kind.EVENT, envelope.event_id),
            position=envelope.position,
            type=envelope.name,
            recorded_at=show_us(envelope.recorded_at),
            group=show(Kind.GROUP, envelope.group),
            actor=actor if key is None else f"{actor} {show(Kind.KEY, key)}",
            causes=tuple(show(Kind.EVENT, cause) for cause in envelope.causes),
            items=tuple(str(ref) for ref in items_of(event)),
            texts=told.texts,
            data=told.data,
            undone_by=undone_by,
            withheld=withheld or ("erased" if told.missing else None),
        )

    def withheld(self, event: e.Event) -> str | None:
        """Why an event's texts are not told: what they belong to is `forgotten` or `erased`."""
        if isinstance(event, Summed):
            why = forgotten_in(self._view, event)
            return None if why == "forgotten" and self._forgotten else why
        hidden = [row for ref in owners(event) if (row := self._view.hidden(ref)) is not None]
        if any(row.erased for row in hidden):
            return "erased"
        return "forgotten" if hidden and not self._forgotten else None


def owners(event: e.Event) -> tuple[Ref, ...]:
    """The items to which an event's texts belong."""
    if isinstance(event, e.Forgotten):
        return tuple(dict.fromkeys((event.item, *event.hides)))
    created = tuple(ref for ref in event.creates() if ref.kind in _OWNERS)
    return created or tuple(ref for ref in event.refers() if ref.kind in _OWNERS)


def items_of(event: e.Event) -> tuple[Ref, ...]:
    """The items that an event brings or is about."""
    refs = dict.fromkeys((*event.creates(), *event.refers()))
    return tuple(ref for ref in refs if ref.kind not in (Kind.EVENT, Kind.GROUP))


def positions_about(view: ContainerView, refs: Iterable[Ref], until: int) -> list[int]:
    """Positions of the events about any of these, up to one, rising."""
    found = {position for ref in refs for position in view.log.tagged(view.id, ref.key())}
    return sorted(position for position in found if position <= until)


class _Told:
    """Collects the plain values and the texts of one event.

    `bare` leaves out everything but ids.
    """

    def __init__(
        self, view: ContainerView, recorded: Recorded, *, unmasked: bool, bare: bool
    ) -> None:
        self.data: dict[str, Any] = {}
        self.texts: dict[str, Any] = {}
        self.missing = False
        """A text is erased."""
        self._view = view
        self._recorded = recorded
        self._unmasked = unmasked
        self._bare = bare

    def struct(self, struct: msgspec.Struct) -> None:
        for field in fields_of(type(struct)):
            value = getattr(struct, field.name)
            if value is None or value == ():
                continue
            if field.core is e.Statement:
                self.struct(value)
            elif field.core is Body:
                self._bodies(field, value)
            elif field.core is e.Pair:
                self._pairs(value)
            else:
                self._plain(field, value)

    def scope(self) -> None:
        scope = self._recorded.envelope.scope
        if scope is not None and not self._bare:
            self._text("scope", self._read(scope))

    def _plain(self, field: Field, value: Any) -> None:
        if self._bare and field.core not in _KINDS and field.core is not Ref:
            return
        if field.many:
            self.data[field.name] = [_plain(each, field) for each in value]
        else:
            self.data[field.name] = _plain(value, field)

    def _bodies(self, field: Field, value: Any) -> None:
        if self._bare or not self._may_tell(field.name):
            return
        if not field.many:
            self._text(field.name, self._read(value, self._source(field.name)))
            return
        # the pieces of a document: its text is the pieces joined
        source = self._source(field.name)
        parts: list[str] = []
        chars = 0
        for body in value:
            if chars < TOLD_CHARS:
                parts.append(self._read(body, source) or "")
            chars += body.chars
        self.data[field.name] = len(value)
        self._text("text", "".join(parts), chars)

    def _pairs(self, pairs: tuple[e.Pair, ...]) -> None:
        """Judged pairs and what they came to; what spoke for it is a text of the event."""
        told: list[dict[str, Any]] = []
        for pair in pairs:
            plain: dict[str, Any] = {"old": show(Kind.FACT, pair.old)}
            if not self._bare:
                plain |= {"outcome": _word(pair.outcome), "probability": pair.probability}
                if pair.leaning is not pair.outcome:
                    plain["leaning"] = _word(pair.leaning)
            told.append(plain)
        self.data["pairs"] = told

    def _may_tell(self, name: str) -> bool:
        """A model's reply may quote what was blacked out in its source."""
        event = self._recorded.event
        if name != "reply" or not isinstance(event, e.ExtractionFailed) or self._unmasked:
            return True
        source = event.source.key()
        return not any(key.startswith(source) for key, _ in self._view.masked())

    def _source(self, name: str) -> Ref | None:
        """The document or message whose masks lie over the event's texts of that field."""
        match self._recorded.event:
            case e.DocumentIngested(document=raw) | e.DocumentReplaced(document=raw):
                return Ref(Kind.DOCUMENT, raw) if name == "pieces" else None
            case e.MessageRecorded(message=raw):
                return Ref(Kind.MESSAGE, raw) if name == "text" else None
            case e.FactRemembered() | e.FactExtracted() as stating if name == "text":
                place = stating.statement.text.place(self._recorded.position)
                of_place = (span.source for span in stating.sources if span.place == place)
                return next(of_place, None)
        return None

    def _read(self, body: Body, source: Ref | None = None) -> Any:
        """What a body says; None, and noted as missing, once it is erased."""
        absolute = body.seen_from(self._recorded.position)
        if source is not None:
            text = self._view.shown(source, absolute, unmasked=self._unmasked)
            self.missing = self.missing or text is None
            return text
        content = self._view.content(absolute)
        if content is None:
            self.missing = True
            return None
        # a text has its length beside it, a structured body has none and is never empty
        return read_text(content) if body.chars or not content else read_value(content)

    def _text(self, name: str, value: Any, chars: int | None = None) -> None:
        if value is None:
            return
        if isinstance(value, str) and (chars or len(value)) > TOLD_CHARS:
            self.data.setdefault("cut", {})[name] = chars or len(value)
            value = value[:TOLD_CHARS]
        self.texts[name] = value


def _plain(value: Any, field: Field) -> Any:
    """One value that is no text."""
    kind = _KINDS.get(field.core)
    if kind is not None:
        return show(kind, value)
    match value:
        case Ref():
            return str(value)
        case enum.IntEnum():
            return _word(value)
        case Instant():
            return show_instant(value)
        case Place():
            return f"{value.at}:{value.slot}"
        case e.Span():
            place = f"{value.place.at}:{value.place.slot}"
            span = {"source": str(value.source), "place": place}
            return {**span, "start": value.start, "end": value.end}
        case e.Cut():
            passage = show(Kind.PASSAGE, value.passage)
            return {"passage": passage, "start": value.start, "end": value.end}
        case bytes():
            return value.hex()
        case int() if field.name in _TIMES:
            return show_us(value)
        case int() if field.name in _THOUSANDTHS:
            return value / WHOLE
    return value


def _word(value: enum.IntEnum) -> str:
    return value.name.lower().replace("_", " ")
