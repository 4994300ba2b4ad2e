"""Texts made of canaries: words that stand for one text each, so that a leak names its source.

A canary is `likeq7`: letters, a q, a number. Texts come from a small stock, so that the same text
is sent again often.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.events import (
    ContentErased,
    Forgotten,
    PassagesCut,
    SummaryFailed,
    SummaryWritten,
    TagsEdited,
)
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded
from tests.oracle.summed import may_be_shown
from tests.property.choices import Choices

CANARY = re.compile(rb"[a-z]+q[0-9]+")
SUMMED = (SummaryWritten, SummaryFailed)
ITEMS = (Kind.DOCUMENT, Kind.MESSAGE, Kind.FACT)
TEXTS = 14
NAMES = ("Ann", "Bob")


def wording(number: int) -> str:
    """The text number `number` of the stock, with its own canary."""
    shape = ("{0} likes teaq{1}", "{0} moved to townq{1}.", "The codeq{1} of {0} is red")
    return shape[number % 3].format(NAMES[number // 3 % 2], number)


def sentence(c: Choices) -> str:
    return wording(c.below(TEXTS))


def article(c: Choices) -> str:
    """A document's text: one to three paragraphs of the stock."""
    return "\n\n".join(sentence(c) for _ in range(1 + c.below(3)))


def canaries(content: bytes) -> set[str]:
    return {found.decode() for found in CANARY.findall(content)}


def bodies_in(recorded: Recorded) -> list[Body]:
    """References to all bodies that an event speaks of, of others too."""
    found: list[Body] = []

    def walk(value: Any) -> None:
        if isinstance(value, Body):
            found.append(value)
        elif isinstance(value, msgspec.Struct):
            for name in value.__struct_fields__:
                walk(getattr(value, name))
        elif isinstance(value, tuple):
            for part in value:
                walk(part)

    walk(recorded.event)
    walk(recorded.envelope.scope)
    return found


def own_bodies(recorded: Recorded) -> list[Body]:
    """References to the bodies that this event itself brought, by slot."""
    own = {ref.slot: ref for ref in bodies_in(recorded) if ref.at in (0, recorded.position)}
    return [own[slot] for slot in sorted(own)]


def owners(recorded: Recorded) -> set[str]:
    """The items whose content an event's bodies are."""
    event = recorded.event
    if isinstance(event, Forgotten | TagsEdited):
        return {str(event.item)}
    if isinstance(event, ContentErased):
        return set()
    if isinstance(event, PassagesCut):
        return {str(Ref(Kind.DOCUMENT, event.document))}
    refs: tuple[Ref, ...] = event.creates() or event.refers()
    return {str(ref) for ref in refs if ref.kind in ITEMS}


def withheld(
    events: Sequence[Recorded],
    body: Callable[[Place], bytes | None],
    hidden: set[str],
    masks: dict[str, list[list[int]]],
) -> set[str]:
    """Canaries that no read may show: all they stand in is hidden or masked.

    A fact may read a body of its document: it shows the words when the document does not.
    """
    told: set[str] = set()
    kept: set[str] = set()
    overlay = {"hidden": hidden, "masks": masks}
    for recorded in events:
        items = owners(recorded)
        gone = bool(items) and items <= hidden
        if isinstance(recorded.event, SUMMED):
            gone = not may_be_shown(events, recorded, overlay)
        for ref in bodies_in(recorded):
            place = ref.place(recorded.position)
            content = body(place) or b""
            told |= canaries(content)
            if not gone:
                spans = masks.get(f"{place.at}:{place.slot}", []) if ref.chars else []
                kept |= canaries(blacked(content, spans))
    return told - kept


def blacked(content: bytes, spans: list[list[int]]) -> bytes:
    """A text with the masked characters taken out."""
    if not spans:
        return content
    chars = list(content.decode())
    for start, end in spans:
        chars[start:end] = "\0" * (end - start)
    return "".join(chars).encode()
