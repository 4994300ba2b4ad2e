"""Answers about what happened: the log of one container, as of a moment."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

from rewound.eventlog.errors import InvalidInput, NotFound
from rewound.eventlog.ids import EventId, Kind, Ref, parse_any
from rewound.eventlog.log import Recorded
from rewound.eventlog.registry import NAMES
from rewound.memory import requests as q
from rewound.memory.answer_items import bounded
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import position_since, resolve, zone_of
from rewound.memory.replies import Told
from rewound.memory.telling import Teller, positions_about
from rewound.projections.reader import ContainerView


@answers(q.Events)
def tell_events(asked: q.Events, asking: Asking) -> Told:
    """Events up to the moment, oldest first; with `newest` the last ones of them."""
    view = asking.views.container(asking.home())
    limit, _ = bounded(asked.limit)
    types = frozenset(type_named(name, number) for number, name in enumerate(asked.types))
    when = resolve(view, asked, asking.now_us)
    after, zoned = asked.after, False
    if asked.since is not None:
        since, zoned = position_since(view, zone_of(view), asked.since, "since")
        after = max(after, since)
    if asked.newest:
        chosen, more = _newest(view, asked.about, after, when.at, types, limit), False
    else:
        found = _chosen(view, asked.about, after, when.at, types)
        chosen = list(islice(found, limit + 1))
        chosen, more = chosen[:limit], len(chosen) > limit
    teller = Teller(view, when, forgotten=asked.include_forgotten)
    return Told(
        container=asking.name,
        events=tuple(teller.tell(recorded) for recorded in chosen),
        next=chosen[-1].position if more else None,
        moment=when.told(zoned=zoned),
    )


def type_named(name: str, number: int = 0) -> str:
    """A type of event by its name, however its words are joined. Raises InvalidInput."""
    plain = " ".join(name.lower().replace("-", " ").replace("_", " ").split())
    if plain in NAMES:
        return plain
    shown = name if len(name) <= 40 else name[:37] + "…"
    near = get_close_matches(plain, NAMES, 3, 0.5)
    right = " or ".join(near) if near else "one of " + ", ".join(NAMES)
    raise InvalidInput(f"{shown!r} is not a type of event: use {right}", field=f"types[{number}]")


def _chosen(
    view: ContainerView, about: str | None, after: int, until: int, types: frozenset[str]
) -> Iterator[Recorded]:
    if about is None:
        events: Iterable[Recorded] = view.log.events(view.id, after, until)
    else:
        positions = [p for p in _about(view, about, until) if p > after]
        events = (recorded for p in positions if (recorded := view.event(p)) is not None)
    return (r for r in events if not types or r.envelope.name in types)


def _newest(
    view: ContainerView,
    about: str | None,
    after: int,
    until: int,
    types: frozenset[str],
    limit: int,
) -> list[Recorded]:
    """The last events, oldest first; found from the end, since a log is long."""
    positions: Iterable[int] = range(until, after, -1)
    if about is not None:
        positions = [p for p in reversed(_about(view, about, until)) if p > after]
    found = (recorded for p in positions if (recorded := view.event(p)) is not None)
    chosen = islice((r for r in found if not types or r.envelope.name in types), limit)
    return list(chosen)[::-1]


def _about(view: ContainerView, text: str, until: int) -> list[int]:
    """Positions of the events about what an id names. Raises NotFound when there is none.

    An event is itself about itself, with what it caused and what undid it; a group has all its
    events.
    """
    kind, raw = parse_any(text, field="about")
    refs = [Ref(each, raw) for each in Kind] if kind is None else [Ref(kind, raw)]
    found = set(positions_about(view, refs, until))
    if kind in (None, Kind.EVENT, Kind.GROUP):
        own = _own(view, EventId(raw), until)  # a group has the id of its first event
        if own is not None and (kind is not Kind.GROUP or own.envelope.group == raw):
            found.add(own.position)
    if not found:
        raise NotFound(
            f"nothing is known of {text.strip()} at this moment", field="about", ids=(text,)
        )
    return sorted(found)


def _own(view: ContainerView, event_id: EventId, until: int) -> Recorded | None:
    place = view.log.find(event_id)
    if place is None or place[0] != view.id or place[1] > until:
        return None
    return view.event(place[1])
