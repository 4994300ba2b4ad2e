"""What the ids of a command name, and how an item is told in the reply.

An id that belongs to another container is answered like one that is not there at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter, Sealed
from rewound.eventlog.errors import NotFound, WrongKind
from rewound.eventlog.ids import NAMES, EventId, IdSource, Kind, Ref, parse_any
from rewound.eventlog.log import Recorded
from rewound.eventlog.registry import name_of
from rewound.memory import requests as q
from rewound.memory.replies import Hidden

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row

ITEMS = frozenset({Kind.FACT, Kind.DOCUMENT, Kind.MESSAGE})
"""What a person forgets, restores and erases."""

_TOLD_CHARS_MAX = 1_000


def named(view: ContainerView, text: str, *, field: str) -> Ref:
    """The item, event or group that an id names; it exists, or did once.

    Raises InvalidInput for what is no id, WrongKind for ids of containers and the like, NotFound.
    """
    kind, raw = parse_any(text, field=field)
    if kind is None:
        return _without_kind(view, raw, text, field)
    ref = Ref(kind, raw)
    if kind in (Kind.EVENT, Kind.GROUP):
        events_of(view, ref, field=field)
    elif kind is Kind.PASSAGE or kind in ITEMS:
        if not known(view, ref):
            raise _absent(str(ref), field)
    else:
        raise WrongKind(
            f"{ref} is {NAMES[kind]}, but {field} wants facts, documents, messages or events",
            field=field,
            ids=(str(ref),),
        )
    return ref


def known(view: ContainerView, ref: Ref) -> bool:
    """Whether any event of the container brought the item, be it undone since."""
    return any(ref in recorded.event.creates() for recorded in view.about(ref))


def events_of(view: ContainerView, ref: Ref, *, field: str) -> list[Recorded]:
    """The event, or all events of the group, in order. Raises NotFound."""
    first = event_of(view, EventId(ref.id))
    if first is None or (ref.kind is Kind.GROUP and bytes(first.envelope.group) != ref.id):
        raise _absent(str(ref), field)
    if ref.kind is Kind.EVENT:
        return [first]
    tagged = (view.event(position) for position in view.log.tagged(view.id, ref.key()))
    inside = (r for r in tagged if r is not None and r.envelope.group == ref.id)
    return [first, *inside]  # an undoing that names the group is not of it


def event_of(view: ContainerView, event_id: EventId) -> Recorded | None:
    """The event of that id, if it is one of this container."""
    found = view.log.find(event_id)
    return view.event(found[1]) if found is not None and found[0] == view.id else None


def brought(recorded: Recorded) -> list[Ref]:
    """The items that an event brought in or supported anew."""
    return [ref for ref in recorded.event.creates() if ref.kind in ITEMS]


def about(event: e.Event) -> list[Ref]:
    """The items that an event is about: those it brings and those it refers to."""
    refs = dict.fromkeys((*event.creates(), *event.refers()))
    return [ref for ref in refs if ref.kind in ITEMS]


def check_scope(view: ContainerView, ref: Ref, scope: q.Scope, *, field: str) -> None:
    """A command with a scope acts only on what matches it. Raises NotFound, as for no such id."""
    if not in_scope(view, ref, scope):
        raise _absent(str(ref), field)


def in_scope(view: ContainerView, ref: Ref, scope: q.Scope) -> bool:
    wanted = scope_parts(scope)
    if not wanted:
        return True
    row = latest(view, ref)
    if row is not None and ref.kind is Kind.PASSAGE:
        row = latest(view, Ref(Kind.DOCUMENT, row.state.document))
    held = {} if row is None else view.value(row.state.scope) or {}
    return all(held.get(name) == value for name, value in wanted.items())


def scope_parts(scope: q.Scope) -> dict[str, str]:
    """The scope's fields that are set, as bodies hold them."""
    parts = {name: getattr(scope, name) for name in scope.__struct_fields__}
    return {name: value for name, value in parts.items() if value is not None}


def scope_body(ids: IdSource, scope: q.Scope) -> tuple[Body | None, list[Sealed]]:
    """The scope of a command's own event: the reference, and the body it refers to."""
    bodies = BodyWriter(ids)
    return bodies.value(scope_parts(scope)), bodies.sealed


def document_of(view: ContainerView, passage: Ref) -> Ref:
    """The document that a known passage is, or was, of."""
    row = latest(view, passage)
    assert row is not None, "a passage that is known has a row"
    return Ref(Kind.DOCUMENT, row.state.document)


def latest(view: ContainerView, ref: Ref) -> Row[Any] | None:
    """The present row, or the last one there was of an item that was removed or undone."""
    row = view.row(ref)
    if row is None:
        versions = view.versions(ref)
        row = versions[-1] if versions else None
    return row


def told(view: ContainerView, ref: Ref, *, unmasked: bool = False) -> Hidden:
    """The item with its text as it reads now; a long one is cut."""
    text = text_of(view, ref, unmasked=unmasked)
    if text is not None and len(text) > _TOLD_CHARS_MAX:
        text = text[: _TOLD_CHARS_MAX - 2] + " …"
    return Hidden(id=str(ref), kind=ref.kind.name.lower(), text=text)


def text_of(view: ContainerView, ref: Ref, *, unmasked: bool = False) -> str | None:
    """What an item says as it reads now, whole; None when nothing of it is left."""
    row = latest(view, ref)
    if row is None:
        return None
    state = row.state
    match ref.kind:
        case Kind.FACT:
            return view.wording(state, unmasked=unmasked)
        case Kind.MESSAGE:
            return view.shown(ref, state.text, unmasked=unmasked)
        case Kind.PASSAGE:
            source = Ref(Kind.DOCUMENT, state.document)
            text = view.shown(source, state.body, unmasked=unmasked)
            return None if text is None else text[state.start : state.end]
    pieces = [view.shown(ref, piece, unmasked=unmasked) for piece in state.pieces]
    held = [piece for piece in pieces if piece is not None]
    return "".join(held) if held else None


def listed(ids: Iterable[str], most: int = 5) -> str:
    """A few ids for a message; errors carry all of them in `ids`."""
    shown = list(ids)
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def event_named(recorded: Recorded) -> str:
    """For messages: `ev_… (document ingested)`."""
    return f"{Ref(Kind.EVENT, recorded.envelope.event_id)} ({name_of(recorded.event)})"


def _without_kind(view: ContainerView, raw: bytes, text: str, field: str) -> Ref:
    """A UUID does not say its kind: whatever it names here."""
    for kind in (Kind.FACT, Kind.DOCUMENT, Kind.MESSAGE, Kind.PASSAGE):
        if known(view, Ref(kind, raw)):
            return Ref(kind, raw)
    if event_of(view, EventId(raw)) is not None:
        return Ref(Kind.EVENT, raw)
    raise _absent(text, field)


def _absent(shown: str, field: str) -> NotFound:
    return NotFound(f"{shown} is not in this container", field=field, ids=(shown,))
