"""The bodies that events carry or refer to, found by the events' own form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded

ITEMS = frozenset({Kind.FACT, Kind.DOCUMENT, Kind.MESSAGE})

_WORDINGS = frozenset({"statement.text", "pieces", "text"})
HOLDERS = (e.Statement, e.Cut)
"""Structs within events that hold bodies (a test compares with the vocabulary)."""


class Carried(NamedTuple):
    """One body of an event: the field that holds it (`statement.text`, `pieces`), and its place."""

    field: str
    place: Place
    body: Body

    @property
    def wording(self) -> bool:
        """Whether it is what the item says, rather than a title, a tag or a name beside it."""
        return self.field in _WORDINGS


def carried(recorded: Recorded) -> Iterator[Carried]:
    """All bodies that an event names, those of earlier events and the scope included."""
    position = recorded.position
    for field, body in within(recorded.event):
        yield Carried(field, body.place(position), body)
    scope = recorded.envelope.scope
    if scope is not None:
        yield Carried("scope", scope.place(position), scope)


def owners(event: e.Event) -> tuple[Ref, ...]:
    """The items whose content an event's bodies are."""
    if isinstance(event, e.Forgotten | e.TagsEdited):
        return (event.item,) if event.item.kind in ITEMS else ()
    if isinstance(event, e.PassagesCut):
        return (Ref(Kind.DOCUMENT, event.document),)
    refs = event.creates() or event.refers()
    return tuple(ref for ref in refs if ref.kind in ITEMS)


def within(struct: msgspec.Struct, above: str = "") -> Iterator[tuple[str, Body]]:
    """Field and reference of each body in an event, as the event itself holds it."""
    for name in _fields(type(struct)):
        value = getattr(struct, name)
        if value is None:
            continue
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Body):
                yield above + name, part
            else:
                yield from within(part, f"{above}{name}.")


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """Names of the fields that may hold bodies, themselves or within."""
    hints = get_type_hints(struct)
    return tuple(name for name in struct.__struct_fields__ if _holds(hints[name]))


def _holds(hint: Any) -> bool:
    return hint is Body or hint in HOLDERS or any(_holds(part) for part in get_args(hint))
