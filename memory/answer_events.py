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
from rewound.memory.scoping import SCOPED, Within
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
    within = Within(view, asked.scope, when.at)
    about = None if asked.about is None else _about(view, asked.about, when.at, within)
    if asked.newest:
        found = _wanted(_backwards(view, about, after, when.at), types, within)
        chosen, more = list(islice(found, limit))[::-1], False
    else:
        found = _wanted(_forwards(view, about, after, when.at), types, within)
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


def _wanted(found: Iterable[Recorded], types: frozenset[str], within: Within) -> Iterator[Recorded]:
    return (r for r in found if (not types or r.envelope.name in types) and within.event(r))


def _forwards(
    view: ContainerView, about: list[int] | None, after: int, until: int
) -> Iterable[Recorded]:
    if about is None:
        return view.log.events(view.id, after, until)
    return _read(view, (position for position in about if position > after))


def _backwards(
    view: ContainerView, about: list[int] | None, after: int, until: int
) -> Iterable[Recorded]:
    """The last events first; found from the end, since a log is long."""
    if about is None:
        return _read(view, range(until, after, -1))
    return _read(view, (position for position in reversed(about) if position > after))


def _read(view: ContainerView, positions: Iterable[int]) -> Iterator[Recorded]:
    return (recorded for p in positions if (recorded := view.event(p)) is not None)


def _about(view: ContainerView, text: str, until: int, within: Within) -> list[int]:
    """Positions of the events about what an id names. Raises NotFound when there is none.

    An event is itself about itself, with what it caused and what undid it; a group has all its
    events.
    """
    kind, raw = parse_any(text, field="about")
    refs = [Ref(each, raw) for each in Kind] if kind is None else [Ref(kind, raw)]
    refs = [ref for ref in refs if ref.kind not in SCOPED or within.item(ref)]
    found = set(positions_about(view, refs, until))
    if kind in (None, Kind.EVENT, Kind.GROUP):
        own = _own(view, EventId(raw), until)  # a group has the id of its first event
        if own is not None and (kind is not Kind.GROUP or own.envelope.group == raw):
            found.add(own.position)
    if not within.everything:
        found = {r.position for r in _read(view, sorted(found)) if within.event(r)}
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
