"""What judgements have brought about so far for a fact, and which of it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.enums import Outcome
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.memory.outcomes import Ending, Link
from rewound.memory.targets import event_of

if TYPE_CHECKING:
    from rewound.projections.effective import Effectivity
    from rewound.projections.reader import ContainerView

_OF_JUDGING = (e.FactsJudged, e.LabelGiven, e.PolicyFitted)


class Lift(NamedTuple):
    """Facts that an ending is taken back for: the fields of a `FactReinstated`."""

    facts: tuple[FactId, ...]
    superseding: EventId
    by: FactId


class Followed(NamedTuple):
    """An ending by its event, with all that it ends as far as today's words go."""

    ending: Ending
    event: EventId
    facts: tuple[FactId, ...]


class Past:
    """What was brought about for a fact. `owners` are the words that hold today: its last judging
    and the labels given to its pairs.

    What an earlier word alone brought about, or took back, may go with that: it counts neither as
    standing nor as taken back.
    """

    def __init__(self, view: ContainerView, fact: FactId, owners: Collection[EventId]) -> None:
        self._view = view
        self._effectivity = view.effectivity()
        self.endings: list[Followed] = []
        self.standing: set[Ending] = set()
        self.linked: dict[FactId, bool] = {}
        """Targets that judgements linked, and whether by a word that holds today."""
        self.unlinked: set[FactId] = set()
        """Targets that such a word unlinked last."""
        self.taken_back: dict[Ending | Link, int] = {}
        """What a person undid by itself, and the undoing's position."""
        told = list(view.about(Ref(Kind.FACT, fact)))
        held = [recorded for recorded in told if self._effectivity.holds(recorded)]
        really, duly = _lifted(held), _lifted(r for r in held if _is_by(r, owners))
        for recorded in told:
            if not self._of_judging(recorded):
                continue
            undoing = self._effectivity.undoing(recorded.envelope.event_id)
            if undoing is not None and (mark := mark_of(recorded.event)) is not None:
                self.taken_back[mark] = undoing.position
            if self._effectivity.holds(recorded):
                self._count(recorded, fact, _is_by(recorded, owners), really, duly)

    def _count(
        self,
        recorded: Recorded,
        fact: FactId,
        owned: bool,
        really: Collection[tuple[EventId, FactId]],
        duly: Collection[tuple[EventId, FactId]],
    ) -> None:
        event, event_id = recorded.event, recorded.envelope.event_id
        if isinstance(event, e.FactSuperseded):
            mark = Ending(event.by, event.ends[0], event.corrects, event.repeats)
            left = tuple(raw for raw in event.ends if (event_id, raw) not in duly)
            if left:
                self.endings.append(Followed(mark, event_id, left))
            if owned and (event_id, mark.ends) not in really:
                self.standing.add(mark)
        elif isinstance(event, e.FactsLinked) and event.source == fact:
            if event.outcome is Outcome.EXTENDS:
                self.linked[event.target] = owned
                self.unlinked.discard(event.target)
            elif owned:
                self.unlinked.add(event.target)

    def _of_judging(self, recorded: Recorded) -> bool:
        causes = (event_of(self._view, cause) for cause in recorded.envelope.causes)
        return any(cause is not None and isinstance(cause.event, _OF_JUDGING) for cause in causes)


def mark_of(event: e.Event) -> Ending | Link | None:
    """What an event brought about."""
    match event:
        case e.FactSuperseded():
            return Ending(event.by, event.ends[0], event.corrects, event.repeats)
        case e.FactsLinked(outcome=Outcome.EXTENDS):
            return Link(event.source, event.target)
    return None


def _is_by(recorded: Recorded, owners: Collection[EventId]) -> bool:
    return any(cause in owners for cause in recorded.envelope.causes)


def _lifted(events: Iterable[Recorded]) -> set[tuple[EventId, FactId]]:
    return {
        (recorded.event.superseding, raw)
        for recorded in events
        if isinstance(recorded.event, e.FactReinstated)
        for raw in recorded.event.facts
    }


# --- chains that part


def parted(view: ContainerView, lifts: Iterable[Lift]) -> tuple[list[Lift], list[FactId]]:
    """What else is taken back with endings, and the facts whose own words may then ask for more.

    A later version ended all that lay before the one it took the place of. What is parted from
    that by a word lies before it no longer.
    """
    parting = _Parting(view, lifts)
    free = list(dict.fromkeys(raw for lift in parting.first for raw in lift.facts))
    for raw in free:
        for recorded in view.about(Ref(Kind.FACT, raw)):
            parting.look(recorded, frozenset(free), raw)
    return list(parting.further.values()), list(parting.others)


class _Parting:
    def __init__(self, view: ContainerView, lifts: Iterable[Lift]) -> None:
        self.first = list(lifts)
        self.further: dict[EventId, Lift] = {}
        self.others: dict[FactId, None] = {}
        self._view = view
        self._effectivity: Effectivity = view.effectivity()
        self._gone = {(lift.superseding, raw) for lift in self.first for raw in lift.facts}
        self._direct: dict[FactId, set[FactId]] = {}

    def look(self, recorded: Recorded, free: frozenset[FactId], raw: FactId) -> None:
        event, event_id = recorded.event, recorded.envelope.event_id
        if not isinstance(event, e.FactSuperseded) or not self._effectivity.holds(recorded):
            return
        if event.repeats:
            if event.by == raw:  # it may repeat the fact again, once that stands
                self.others |= dict.fromkeys(event.ends)
            return
        if event_id in self.further or raw not in event.ends[1:]:
            return
        if any(lift.superseding == event_id for lift in self.first):
            return
        lost = free.intersection(event.ends[1:]) - self._reached(event, free)
        facts = tuple(each for each in event.ends if each in lost)
        if facts:
            self.further[event_id] = Lift(facts, event_id, event.by)
            self.others[event.by] = None

    def _reached(self, event: e.FactSuperseded, free: frozenset[FactId]) -> set[FactId]:
        """What lies before the version that an ending names first, or before others it names."""
        waiting = [event.ends[0], *(raw for raw in event.ends if raw not in free)]
        found: set[FactId] = set()
        while waiting:
            raw = waiting.pop()
            if raw not in found:
                found.add(raw)
                waiting.extend(self._before(raw))
        return found

    def _before(self, fact: FactId) -> set[FactId]:
        known = self._direct.get(fact)
        if known is None:
            known = self._direct[fact] = set(self._read(fact))
        return known

    def _read(self, fact: FactId) -> Iterator[FactId]:
        """What a fact took the place of or stands for, by the words that name both."""
        held = [r for r in self._view.about(Ref(Kind.FACT, fact)) if self._effectivity.holds(r)]
        lifted = _lifted(held) | self._gone
        for recorded in held:
            event, event_id = recorded.event, recorded.envelope.event_id
            if isinstance(event, e.FactEdited) and event.fact == fact:
                yield from event.ends
            elif isinstance(event, e.FactSuperseded) and event.by == fact:
                whole = self._view.fact(event.ends[0]) is None  # what was taken back links no more
                named = event.ends if whole else event.ends[:1]
                yield from (raw for raw in named if (event_id, raw) not in lifted)
