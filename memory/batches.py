"""From what a caller passes as one item or many to structs, with those that cannot be taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.memory import requests as q
from rewound.memory.conversions import as_time, convert
from rewound.memory.fields import kind_of
from rewound.memory.inputs import Refusal, refusal_of
from rewound.memory.reading import many

I = TypeVar("I", bound=msgspec.Struct)  # noqa: E741  an item

_TEXT: dict[type, str] = {
    q.NewFact: "text",
    q.NewDocument: "text",
    q.NewMessage: "content",
    q.NewLabel: "fact",
}
"""The field that a bare text stands for."""

_TIMES = ("said_at", "valid_from", "valid_to", "expires_at", "time")


def timed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its times as requests hold them."""
    times = {name: as_time(given[name], name) for name in _TIMES if name in given}
    return {**given, **times}


def items_of(
    kind: type[I], noun: str, sent: Any, own: Mapping[str, Any]
) -> tuple[tuple[I, ...], list[Refusal]]:
    """One item or many as structs. `own` are the keywords, which go with a single text only.

    Of many, those that are not even of the right form are refused each by itself.
    """
    given = {name: value for name, value in own.items() if value is not None}
    if isinstance(sent, str):
        return (_item(kind, {**given, _TEXT[kind]: sent}),), []
    if given:
        name = next(iter(given))
        raise InvalidInput(
            f"{name} goes with a single text: give it in each {noun} of the list", field=name
        )
    if isinstance(sent, kind | Mapping):
        return (_item(kind, sent),), []
    if isinstance(sent, bytes) or not isinstance(sent, Iterable):
        raise InvalidInput(f"{noun}s must be text or a list, not {kind_of(sent)}", field=f"{noun}s")
    items: list[I] = []
    refused: list[Refusal] = []
    for number, each in enumerate(sent):
        try:
            items.append(_item(kind, each))
        except InvalidInput as error:
            refused.append(Refusal(number, refusal_of(noun, error)))
    if refused and not items:
        why = refused[0].item.message
        raise InvalidInput(
            f"none of the {len(refused)} {noun}s can be taken; the first: {why}", field=f"{noun}s"
        )
    return tuple(items), refused


def _item(kind: type[I], sent: Any) -> I:
    if isinstance(sent, kind):
        return sent
    if isinstance(sent, str):
        sent = {_TEXT[kind]: sent}
    if not isinstance(sent, Mapping):
        raise InvalidInput(
            f"an item must be text, an object or a {kind.__name__}, not {kind_of(sent)}"
        )
    given = {name: value for name, value in sent.items() if value is not None}
    if "tags" in given:
        given["tags"] = many(given["tags"], "tags")
    return convert(kind, timed(given))
