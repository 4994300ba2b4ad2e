"""The recent part of a conversation: its last messages, and what stands for those before them.

Summaries stand for older messages where they hold for the reader (`projections/holding.py`), each
for those of one scope; the facts drawn from the rest stand for the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import NAMES, ConversationId, Kind, Ref, parse_any
from rewound.eventlog.spelling import composed
from rewound.memory.moments import When
from rewound.memory.requests import Filters, Scope
from rewound.memory.scoping import Within
from rewound.memory.seeing import narrowed, seen
from rewound.projections.holding import Held, Holding, Scopes, standing
from rewound.projections.rows import Row

if TYPE_CHECKING:
    from rewound.projections.facts import FactRow
    from rewound.projections.messages import MessageRow
    from rewound.projections.reader import ContainerView

    Message = Row[MessageRow]

Fits = Callable[[Sequence["Row[MessageRow]"]], int]
"""The first of the messages that are recent enough to be shown as they are."""


_ANYONE = Scope()


class Told(NamedTuple):
    """A summary that is shown, and the messages that it tells of."""

    held: Held
    rows: Sequence[Message]
    scope: dict[str, str]


class Drawn(NamedTuple):
    """A fact that stands for the older messages that it was drawn from."""

    row: Row[FactRow]
    messages: tuple[Ref, ...]


class Recounting(NamedTuple):
    """`recent` and `older` are messages in order, `untold` those of the older that no summary
    tells of. `facts` are of these, in the order of what they were drawn from."""

    conversations: tuple[ConversationId, ...]
    recent: Sequence[Message]
    older: Sequence[Message]
    summaries: Sequence[Told]
    untold: Sequence[Message]
    facts: Sequence[Drawn]

    def notes(self) -> tuple[str, ...]:
        """What is not told by a summary, in words."""
        if not self.untold:
            return ()
        count = len(self.untold)
        some = "1 older message" if count == 1 else f"{count} older messages"
        told = "the facts drawn from them stand" if self.facts else "nothing stands"
        return (f"no summary tells of {some}: {told} in its place",)


def recount(
    view: ContainerView,
    conversation: str,
    when: When,
    fits: Fits,
    *,
    scope: Scope,
    narrower: Scope = _ANYONE,
    forgotten: bool = False,
) -> Recounting:
    """What a reader within a scope may see of a conversation, by its name or id, at a moment; of
    that what is in a `narrower` one.

    Raises NotFound where nothing of it is there, WrongKind.
    """
    within = [Within(view, each, when.at) for each in (scope, narrower) if each != _ANYONE]
    talks: dict[ConversationId, list[Message]] = {}
    for talk in _named(view, conversation, when.at):
        rows = standing(view, talk, when.at, forgotten=forgotten)
        if rows := [row for row in rows if all(each.row(row.state) for each in within)]:
            talks[talk] = rows
    if not talks:
        raise NotFound(
            f"there is no conversation {conversation!r} at this moment", field="conversation"
        )
    rows = _merged(list(talks.values()))
    first = fits(rows)
    older = {row.id for row in rows[:first]}
    scopes = Scopes(view)
    summaries: list[Told] = []
    told: set[bytes] = set()
    for parts in talks.values() if older else ():
        for held_scope, group in scopes.groups(parts).items():
            count = sum(row.id in older for row in group)
            holding = Holding(view, group, when.at, unmasked=forgotten)
            held = (holding.first(count) or holding.last(count)) if count else None
            if held is not None:
                summaries.append(Told(held, group[: held.end], dict(held_scope)))
                told.update(row.id for row in group[: held.end])
    untold = [row for row in rows[:first] if row.id not in told]
    facts = _facts_of(view, untold, when, (scope, narrower), forgotten) if untold else []
    return Recounting(tuple(talks), rows[first:], rows[:first], summaries, untold, facts)


def _named(view: ContainerView, text: str, at: int) -> list[ConversationId]:
    """Conversations by their id or name: one name may be used in several scopes."""
    try:
        kind, raw = parse_any(text)
    except InvalidInput:
        wanted = composed(text)
        names = ((talk, _name_of(view, talk, at)) for talk in view.talks())
        return [talk for talk, name in names if name is not None and composed(name) == wanted]
    if kind not in (None, Kind.CONVERSATION):
        raise WrongKind(
            f"{text} is {NAMES[kind]}, but conversation wants a conversation", field="conversation"
        )
    return [ConversationId(raw)]


def _name_of(view: ContainerView, talk: ConversationId, at: int) -> str | None:
    """As the first of its messages says that is there and was not erased."""
    for raw in view.message_ids(talk):
        row = view.message(raw, at)
        name = None if row is None else view.text(row.state.conversation_name)
        if name is not None:
            return name
    return None


def time_of(row: Message) -> int:
    """When a message was said (µs), or else recorded."""
    said = row.state.said_at
    return row.state.recorded_at if said is None else said.at


def _merged(talks: Sequence[Sequence[Message]]) -> list[Message]:
    """Messages of several conversations by their times, those of each in their own order."""
    if len(talks) == 1:
        return list(talks[0])
    timed: list[list[tuple[int, int, int, Message]]] = []
    for number, rows in enumerate(talks):
        latest = 0
        stamped: list[tuple[int, int, int, Message]] = []
        for place, row in enumerate(rows):
            latest = max(latest, time_of(row))
            stamped.append((latest, number, place, row))
        timed.append(stamped)
    return [row for *_, row in heapq.merge(*timed, key=lambda each: each[:3])]


def _facts_of(
    view: ContainerView,
    untold: Sequence[Message],
    when: When,
    scopes: tuple[Scope, Scope],
    forgotten: bool,
) -> list[Drawn]:
    """The facts current at the moment that were drawn from messages, in the order of these."""
    place = {Ref(Kind.MESSAGE, row.id): number for number, row in enumerate(untold)}
    filters = Filters(what=("fact",), scope=scopes[1])
    criteria = narrowed(view, filters, when, scope=scopes[0], forgotten=forgotten).criteria
    every = seen(view, criteria)
    if every.total > len(untold):  # else it is quicker to look at each of the facts
        every = seen(view, criteria._replace(sources=tuple(row.id for row in untold)))
    found: dict[bytes, tuple[int, Drawn]] = {}
    for raw in every.ids():
        row = view.fact(raw, when.at)
        assert row is not None, "what is in the index has a row"
        refs = tuple(dict.fromkeys(s.source for s in row.state.sources if s.source in place))
        if refs:
            found[raw] = (min(place[ref] for ref in refs), Drawn(row, refs))
    ordered = sorted(found.items(), key=lambda item: (item[1][0], item[0]))
    return [drawn for _, (_, drawn) in ordered]


def cites_of(view: ContainerView, held: Held) -> tuple[e.SummaryWritten, tuple[Ref, ...]]:
    """The event that wrote a summary, and the messages that its marks stand for."""
    recorded = view.event(held.entry.at)
    assert recorded is not None and isinstance(recorded.event, e.SummaryWritten)
    return recorded.event, tuple(Ref(Kind.MESSAGE, raw) for raw in recorded.event.cites)
