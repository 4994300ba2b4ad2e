"""What an erasure destroys: items, the bodies that go with them, and where else the words stand.

Asked for a fact, all its wordings go, and with them every piece of a source that it was drawn from:
whoever erases a secret means the sentence that gave it away too. Asked for a document or message,
the facts drawn from nothing else go with it. A message whose text goes that way is gone itself; a
document loses the piece and is gone only when it has no other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import FactId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.carried import Carried, carried, owners
from rewound.memory.withholding import held_otherwise, lineage, same_words
from rewound.projections.holding import followers

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

_DERIVED = (
    e.ExtractionFinished,
    e.ExtractionFailed,
    e.FactsJudged,
    e.ProfileWritten,
    e.SummaryWritten,
    e.SummaryFailed,
)
"""Events whose bodies are prompts, replies and texts made from all the items they name."""


class Erasure(NamedTuple):
    """What goes. `holes` are the places that documents lose which otherwise stay.

    `asked` are the items named, with the versions and facts that go by themselves; `items` are all
    that are gone. `spans` are the words that the facts asked for were drawn from.
    """

    asked: tuple[Ref, ...]
    items: tuple[Ref, ...]
    wordings: frozenset[Place]
    holes: dict[Place, Ref]
    spans: tuple[e.Span, ...]


def erasure(view: ContainerView, named: Iterable[Ref]) -> Erasure:
    """The items and wordings that go with those named."""
    asked: dict[Ref, None] = {}
    named = tuple(named)
    sources = {ref for ref in named if ref.kind is not Kind.FACT}
    for ref in named:
        versions = lineage(view, FactId(ref.id)) if ref.kind is Kind.FACT else [ref]
        asked.update(dict.fromkeys(versions))
    for ref in sources:
        facts = [Ref(Kind.FACT, raw) for raw in view.facts_from(ref)]
        alone = (f for f in facts if not held_otherwise(view, f, lambda s: s.source in sources))
        asked.update({version: None for fact in alone for version in same_words(view, fact)})
    spans = tuple(span for ref in asked if ref.kind is Kind.FACT for span in _drawn_from(view, ref))
    places = {span.place for span in spans}
    items = dict(asked)
    while True:
        places |= {carry.place for ref in items for carry in _wordings(view, ref)}
        further = [ref for ref in _emptied(view, places) if ref not in items]
        if not further:
            break
        items.update(dict.fromkeys(further))
    holes = {
        place: ref
        for place in places
        for ref in _holders(view, place)
        if ref.kind is Kind.DOCUMENT and ref not in items
    }
    return Erasure(tuple(asked), tuple(items), frozenset(places), holes, spans)


def _drawn_from(view: ContainerView, fact: Ref) -> Iterator[e.Span]:
    """Spans that any event gave as the fact's source, undone ones too: they are on the disk."""
    for recorded in view.about(fact):
        event = recorded.event
        if isinstance(event, e.SeenAgain) and event.item == fact:
            yield from event.sources
        elif isinstance(event, e.FactRemembered | e.FactExtracted) and event.fact == fact.id:
            yield from event.sources


def _stating(view: ContainerView, ref: Ref) -> Iterator[Recorded]:
    """The events that say what an item says."""
    for recorded in view.about(ref):
        replaced = isinstance(recorded.event, e.DocumentReplaced)
        if ref in recorded.event.creates() or (replaced and ref.kind is Kind.DOCUMENT):
            yield recorded


def _wordings(view: ContainerView, ref: Ref) -> Iterator[Carried]:
    for recorded in _stating(view, ref):
        yield from (carry for carry in carried(recorded) if carry.wording)


def _holders(view: ContainerView, place: Place) -> tuple[Ref, ...]:
    """The items whose event brought a body."""
    recorded = view.event(place.at)
    return () if recorded is None else owners(recorded.event)


def _emptied(view: ContainerView, places: Collection[Place]) -> Iterator[Ref]:
    """Items of which nothing is left to read once these places are gone.

    A fact may have its wording in the document or message from which it was taken word for word,
    or in the version before it.
    """
    holders = dict.fromkeys(ref for place in places for ref in _holders(view, place))
    for holder in holders:
        drawn = [holder.id] if holder.kind is Kind.FACT else view.facts_from(holder)
        versions = (version for raw in drawn for version in lineage(view, FactId(raw)))
        for ref in dict.fromkeys((holder, *versions)):
            said = [carry.place for carry in _wordings(view, ref)]
            if said and all(place in places for place in said):
                yield ref


# --- what goes beside the wordings


class Belongings(NamedTuple):
    """`bodies` go with the items, unless an event whose position is not in `of` needs them."""

    bodies: dict[Place, Carried]
    of: set[int]


def belongings(view: ContainerView, gone: Erasure) -> Belongings:
    """All that came with the items or was made from them, and why they were forgotten.

    Their scope, tags and titles, what was asked of a model about them and what it replied, the
    queries and reasons by which they were forgotten.
    """
    items = set(gone.items)
    bodies: dict[Place, Carried] = {}
    of: set[int] = set()
    for ref in dict.fromkeys((*gone.items, *gone.holes.values())):
        for recorded in _with_summaries(view, ref):
            if not _goes(recorded.event, ref, items):
                continue
            of.add(recorded.position)
            derived = isinstance(recorded.event, _DERIVED)
            for carry in carried(recorded):
                if (derived or not carry.wording) and carry.place not in gone.wordings:
                    bodies[carry.place] = carry
    return Belongings(bodies, of)


def _with_summaries(view: ContainerView, ref: Ref) -> Iterator[Recorded]:
    """The events about an item, and the summaries that were made of those that tell of it."""
    for recorded in view.about(ref):
        yield recorded
        if isinstance(recorded.event, e.SummaryWritten):
            yield from followers(view, recorded.envelope.event_id)


def _goes(event: e.Event, ref: Ref, items: set[Ref]) -> bool:
    """Whether an event about an item loses what it carries."""
    if isinstance(event, _DERIVED):
        return True
    if isinstance(event, e.Forgotten):
        return ref in items and ref in (event.item, *event.hides)
    own = owners(event)
    return bool(own) and items.issuperset(own)
