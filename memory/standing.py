"""Where else the words of an erased item stand: a scan of everything that the container holds.

Erasing is rare, and what it must find may lie anywhere, in undone and replaced texts too, so every
body is looked at rather than the rows of the present.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place, read_text, read_value
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.carried import carried, owners
from rewound.memory.erasing import Belongings, Erasure

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

WORDINGS_MAX = 200
"""Wordings searched for within other texts. Of a larger erasure the rest is compared whole."""

_OF_METHODS = frozenset({"extractor", "judge", "evidence", "summarizer"})
"""Bodies that say how something was derived, in the same few words everywhere."""

_BATCH_BYTES = 1 << 20


class Standing(NamedTuple):
    """`kept` are belongings that other items need; `same` ids that hold the same words; `alike`
    ids that hold some of the same details (a tag, a name, a caller's id)."""

    kept: set[Place]
    same: tuple[str, ...]
    alike: tuple[str, ...]


def standing(view: ContainerView, gone: Erasure, belongings: Belongings) -> Standing:
    """Look through all bodies that stay."""
    search = _Search(wordings(view, gone))
    details = {
        text
        for place, carry in belongings.bodies.items()
        if carry.field not in _OF_METHODS
        for text in _strings(view.log.body(view.id, place), carry.body)
    }
    kept: set[Place] = set()
    alike: dict[int, Recorded] = {}
    for recorded in view.log.events(view.id, until=view.position):
        for carry in carried(recorded):
            if carry.place in gone.wordings:
                continue
            if carry.place in belongings.bodies:
                if recorded.position in belongings.of or _is_of_forgetting(view, carry.place):
                    continue
                kept.add(carry.place)
            elif carry.place.at != recorded.position:
                continue  # looked at where it was written
            content = view.log.body(view.id, carry.place)
            if content is None:
                continue
            search.add(recorded, content)
            if details and not carry.wording:
                if not details.isdisjoint(_strings(content, carry.body)):
                    alike[recorded.position] = recorded
    items = set(gone.items)
    same = dict.fromkeys(_holder(recorded, items) for recorded in search.found())
    other = dict.fromkeys(_holder(recorded, items) for recorded in alike.values())
    return Standing(kept, tuple(same), tuple(holder for holder in other if holder not in same))


def wordings(view: ContainerView, gone: Erasure) -> list[bytes]:
    """The words that were asked to be erased: of the items themselves, and those that facts were
    drawn from. Longest first, without blank space around."""
    asked = set(gone.asked)
    found: dict[str, None] = {}
    for ref in asked:
        for recorded in view.about(ref):
            if owners(recorded.event) == (ref,):
                texts = (_text(view, c.place) for c in carried(recorded) if c.wording)
                found.update(dict.fromkeys(texts))
    for span in gone.spans:
        found[_text(view, span.place)[span.start : span.end]] = None
    words = {text.strip().encode() for text in found} - {b""}
    return sorted(words, key=lambda word: (-len(word), word))


def _text(view: ContainerView, place: Place) -> str:
    content = view.log.body(view.id, place)
    return "" if content is None else read_text(content)


def _is_of_forgetting(view: ContainerView, place: Place) -> bool:
    """Queries and reasons go although the forgettings of one command share them."""
    recorded = view.event(place.at)
    return recorded is not None and isinstance(recorded.event, e.Forgotten)


def _holder(recorded: Recorded, gone: set[Ref]) -> str:
    """The id under which a person finds what an event carries."""
    own = [ref for ref in owners(recorded.event) if ref not in gone]
    if isinstance(recorded.event, e.ContainerConfigured | e.ContainerMoved):
        own = [Ref(Kind.CONTAINER, recorded.event.container)]
    return str(own[0] if own else Ref(Kind.EVENT, recorded.envelope.event_id))


def _strings(content: bytes | None, body: Body) -> Iterator[str]:
    """The texts in a body; a structured one has no length beside it."""
    if not content:
        return
    if body.chars:
        yield read_text(content)
    else:
        yield from _leaves(read_value(content))


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, part in value.items():
                yield str(name)
                yield from _leaves(part)
        case list():
            for part in value:
                yield from _leaves(part)


class _Search:
    """Finds wordings in many contents, a megabyte at a time."""

    def __init__(self, words: list[bytes]) -> None:
        self._within = words[:WORDINGS_MAX]
        self._whole = set(words[WORDINGS_MAX:])
        self._batch: list[tuple[Recorded, bytes]] = []
        self._bytes = 0
        self._found: dict[int, Recorded] = {}

    def add(self, holder: Recorded, content: bytes) -> None:
        if self._whole and content.strip() in self._whole:
            self._found[holder.position] = holder
        self._batch.append((holder, content))
        self._bytes += len(content)
        if self._bytes >= _BATCH_BYTES:
            self._flush()

    def found(self) -> list[Recorded]:
        """The events whose bodies hold any of the words, in order."""
        self._flush()
        return [self._found[position] for position in sorted(self._found)]

    def _flush(self) -> None:
        batch, self._batch, self._bytes = self._batch, [], 0
        joined = b"\0".join(content for _, content in batch)
        here = [word for word in self._within if word in joined]
        for holder, content in batch if here else ():
            if any(word in content for word in here):
                self._found[holder.position] = holder
