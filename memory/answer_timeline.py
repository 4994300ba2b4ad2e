"""The answer to a timeline: what held of a subject from when to when, and who says so."""

from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.instants import show_instant, show_us
from rewound.memory import requests as q
from rewound.memory.answer_items import bounded
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import resolve
from rewound.memory.replies import AttributeLine, Chronicle, Period
from rewound.memory.seeing import narrowed, seen
from rewound.memory.showing import Shower
from rewound.projections.columns import Columns
from rewound.projections.entries import folded
from rewound.projections.naming import Named, Naming, Spellings
from rewound.projections.postings import Ordinals


@answers(q.Timeline)
def timeline(asked: q.Timeline, asking: Asking) -> Chronicle:
    """The periods of each attribute, earliest first; the attributes in the order they begin, and
    last what is said of the subject without one.

    What was superseded or has ended is there as the period that it held. What held at no time is
    not: a corrected fact was wrong, a repeated one is told by the fact that it repeats, and
    `history` shows both. Nor is what has expired. With `valid_at` the periods that held then. Of
    more than `limit` the ones that begin last are told.
    """
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    limit, notes = bounded(asked.limit)
    narrow = narrowed(
        view,
        q.Filters(),
        when,
        scope=asked.scope,
        among=(Kind.FACT,),
        superseded=True,
        forgotten=asked.include_forgotten,
    )
    columns, mask = seen(view, narrow.criteria)
    mask &= (columns.valid_from < columns.valid_to) & (columns.expires > when.now_us)
    naming = Naming(view, columns, mask, when.at)
    ids = _in_order(columns, naming.about(asked.subject, asked.attribute or ""))
    facts, _ = naming.facts(ids[-limit:], limit)
    earlier = max(0, len(ids) - limit)
    if earlier:
        notes += (f"{earlier:,} earlier periods are left out: a higher limit tells more",)
    if not facts:
        notes += _unknown(asked, naming)
    spelt = Spellings()
    for fact in facts:
        spelt.add(fact.subject or "")
    shower = Shower(view, when, forgotten=asked.include_forgotten)
    return Chronicle(
        container=asking.name,
        subject=spelt.of(folded(asked.subject)) if facts else asked.subject.strip(),
        lines=_lines(shower, facts),
        has_more=earlier > 0,
        moment=when.told(),
        notes=notes,
    )


def _in_order(columns: Columns, ordinals: Ordinals) -> list[bytes]:
    """Ids of facts in the order that they begin to hold."""
    begins, ends = columns.valid_from[ordinals].tolist(), columns.valid_to[ordinals].tolist()
    ids = [raw.tobytes() for raw in columns.item[ordinals]]
    return [raw for _, _, raw in sorted(zip(begins, ends, ids, strict=True))]


def _lines(shower: Shower, facts: list[Named]) -> tuple[AttributeLine, ...]:
    """Facts, earliest first, by their attribute."""
    by_attribute: dict[str, list[Named]] = {}
    spelt = Spellings()
    for fact in facts:
        by_attribute.setdefault(folded(fact.attribute or ""), []).append(fact)
        if fact.attribute:
            spelt.add(fact.attribute)
    ordered = sorted(by_attribute, key=lambda key: not key)
    return tuple(
        AttributeLine(
            attribute=spelt.of(key) if key else None,
            periods=tuple(_period(shower, fact) for fact in by_attribute[key]),
        )
        for key in ordered
    )


def _period(shower: Shower, fact: Named) -> Period:
    ref, state = Ref(Kind.FACT, fact.id), fact.row.state
    valid_from, valid_to = shower.validity(state)
    return Period(
        id=str(ref),
        text=shower.text(ref, state),
        standing=shower.standing(ref, state),
        value=fact.value,
        valid_from=valid_from,
        valid_to=valid_to,
        sources=shower.sources(ref, state),
        said_at=None if state.said_at is None else show_instant(state.said_at),
        recorded_at=show_us(state.recorded_at),
        event=shower.event_at(state.at),
    )


def _unknown(asked: q.Timeline, naming: Naming) -> tuple[str, ...]:
    """Why there is nothing to tell, and what might have been meant."""
    subject = asked.subject.strip()
    if asked.attribute is not None and len(naming.about(subject)):
        attribute = asked.attribute.strip()
        return (f"no {attribute} of {subject} is told of: leave the attribute out to see what is",)
    notes = [f"no fact is about {subject} at this moment"]
    similar = naming.similar(subject, subjects=True)
    if similar:
        notes.append(f"facts are about {', '.join(similar)}")
    named = len(naming.ids(subject))
    if named:
        how = "fact names it but is" if named == 1 else "facts name it but are"
        notes.append(f"{named:,} {how} about something else")
    return tuple(notes)
