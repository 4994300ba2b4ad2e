"""What goes with an item when it is forgotten: what else is hidden, which spans are blacked out.

Items that were undone or removed can be forgotten like others: reads of the past still show them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import FactId, Kind, Ref
from rewound.memory.targets import latest

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

Gone = Callable[[e.Span], bool]
"""Whether a source of a fact shows no longer."""


class Withheld(NamedTuple):
    """What one forgetting is to hold."""

    item: Ref
    hides: tuple[Ref, ...]
    masks: tuple[e.Span, ...]


def withheld(view: ContainerView, item: Ref, hidden: Collection[Ref]) -> Withheld:
    """What forgetting an item hides; `hidden` is what the same command hides besides.

    A fact goes with its whole chain and blacks out what it was drawn from. A document, message or
    passage goes with the facts that nothing else supports.
    """
    if item.kind is Kind.FACT:
        chain = lineage(view, FactId(item.id))
        hides = dict.fromkeys((item, *chain))
        return Withheld(item, tuple(hides), sources(view, chain))

    def gone(span: e.Span) -> bool:
        return _covers(view, item, span) or span.source in hidden or _is_hidden(view, span.source)

    source, masks = item, tuple[e.Span, ...]()
    if item.kind is Kind.PASSAGE:
        row = latest(view, item)
        assert row is not None, "a passage that is known has a row"
        source = Ref(Kind.DOCUMENT, row.state.document)
        place = row.state.body.place(0)
        masks = (e.Span(source, place, row.state.start, row.state.end),)
    facts = (Ref(Kind.FACT, raw) for raw in view.facts_from(source))
    alone = [fact for fact in facts if not held_otherwise(view, fact, gone)]
    with_them = (version for fact in alone for version in same_words(view, fact))
    return Withheld(item, tuple(dict.fromkeys((item, *alone, *with_them))), masks)


def lineage(view: ContainerView, fact: FactId) -> list[Ref]:
    """All versions of a fact's chain, oldest first, those that were undone too.

    An undone version comes back when its undo is undone; then it must still be forgotten. What
    was superseded belongs to the chain only as long as the superseding holds.
    """
    return _related(view, fact, judged=True)


def _related(view: ContainerView, fact: FactId, *, judged: bool) -> list[Ref]:
    """Versions of a fact that edits made, and with `judged` those of judgements too."""
    found: set[FactId] = set()
    waiting = [fact]
    while waiting:
        raw = waiting.pop()
        if raw in found:
            continue
        found.add(raw)
        row = view.fact(raw) if judged else None
        if row is not None:
            waiting.extend((*row.state.supersedes, *row.state.repeated_by))
            waiting.extend(row.state.superseded_by)
        for recorded in view.about(Ref(Kind.FACT, raw)):
            event = recorded.event
            if isinstance(event, e.FactEdited) and event.ends:
                if event.fact == raw:
                    waiting.append(event.ends[0])
                elif event.ends[0] == raw:
                    waiting.append(event.fact)
    return [Ref(Kind.FACT, raw) for raw in sorted(found)]


def same_words(view: ContainerView, fact: Ref) -> list[Ref]:
    """The fact, and the versions of it that say the very same: a person edited their times, tags
    or metadata, but the words are still those that the fact was drawn with. What was judged to
    repeat it was said by itself."""
    related = _related(view, FactId(fact.id), judged=False)
    words = {ref: _wordings(view, ref) for ref in related}
    return [ref for ref, said in words.items() if ref == fact or not said.isdisjoint(words[fact])]


def _wordings(view: ContainerView, fact: Ref) -> set[bytes]:
    stated = (
        (recorded.position, recorded.event.statement.text)
        for recorded in view.about(fact)
        if isinstance(recorded.event, e.FactRemembered | e.FactExtracted | e.FactEdited)
        and recorded.event.fact == fact.id
    )
    contents = (view.log.body(view.id, text.place(position)) for position, text in stated)
    return {content.strip() for content in contents if content is not None}


def sources(view: ContainerView, facts: Collection[Ref]) -> tuple[e.Span, ...]:
    """The spans that facts were drawn from."""
    rows = (latest(view, fact) for fact in facts)
    return tuple(
        dict.fromkeys(span for row in rows if row is not None for span in row.state.sources)
    )


def held_otherwise(view: ContainerView, fact: Ref, gone: Gone) -> bool:
    """Whether a fact is supported by anything but sources that are gone.

    A person's own wording (an edit, or a statement without a source) is such a support.
    """
    effectivity = view.effectivity()
    exists = view.row(fact) is not None
    for recorded in view.about(fact):
        event = recorded.event
        if fact not in event.creates() or (exists and not effectivity.holds(recorded)):
            continue
        match event:
            case e.FactRemembered() | e.FactExtracted():
                if not event.sources or not all(gone(span) for span in event.sources):
                    return True
            case e.FactEdited():
                return True
            case e.SeenAgain() if not recorded.envelope.causes:
                return True
            case e.SeenAgain() if not all(gone(span) for span in event.sources):
                return True
    return False


def _covers(view: ContainerView, item: Ref, span: e.Span) -> bool:
    """Whether a span lies within the document, message or passage."""
    if item.kind is not Kind.PASSAGE:
        return span.source == item
    row = latest(view, item)
    if row is None or span.place != row.state.body.place(0):
        return False
    return bool(row.state.start <= span.start and span.end <= row.state.end)


def _is_hidden(view: ContainerView, ref: Ref) -> bool:
    return view.hidden(ref) is not None
