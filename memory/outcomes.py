"""What should follow from a verdict: which facts end, repeat or extend which, by today's rows.

Of two facts about one matter the one valid later ends the other, whichever arrived first: history
that is told late finds its place and never becomes current. What a person said of a pair goes
before what was found of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.enums import Outcome
from rewound.eventlog.ids import EventId, FactId
from rewound.eventlog.instants import MAX_US, Instant, Precision, end_of
from rewound.memory.claims import is_shown, said_at

if TYPE_CHECKING:
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row
    from rewound.projections.verdicts import VerdictRow

ENDINGS = frozenset({Outcome.UPDATES, Outcome.CORRECTS})


class Ending(NamedTuple):
    """One fact ends (or repeats) in favour of another."""

    by: FactId
    ends: FactId
    corrects: bool = False
    repeats: bool = False


class Link(NamedTuple):
    """One fact extends another."""

    source: FactId
    target: FactId


class _Said(NamedTuple):
    """What holds of a pair, and the event that says so: a label, or else the judging."""

    outcome: Outcome
    owner: EventId
    rank: int
    """Later labels before earlier ones, and these before what was only found."""


class Due:
    """What follows from a verdict. `standing` are endings that it has brought about before."""

    def __init__(
        self,
        view: ContainerView,
        row: Row[FactRow],
        verdict: VerdictRow,
        standing: Collection[Ending] = (),
    ) -> None:
        self._view = view
        self._row = row
        self._fact = FactId(row.id)
        self._standing = standing
        self._own: dict[FactId, list[FactId]] = {}
        """What a repeated fact stands for -> the pairs' own older facts."""
        self._said: dict[FactId, _Said] = {}
        labels = {label.old: (rank, label) for rank, label in enumerate(verdict.labels, 1)}
        for pair in verdict.pairs:
            target = stands_for(view, pair.old)
            if target is None or target == self._fact:
                continue
            self._own.setdefault(target, []).append(pair.old)
            said = _Said(pair.outcome, verdict.event, 0)
            if pair.old in labels:
                rank, label = labels[pair.old]
                said = _Said(label.outcome, label.event, rank)
            if self._goes_before(said, self._said.get(target)):
                self._said[target] = said

    @staticmethod
    def _goes_before(said: _Said, other: _Said | None) -> bool:
        if other is None or said.rank != other.rank:
            return other is None or said.rank > other.rank
        return said.outcome in ENDINGS and other.outcome not in ENDINGS

    def around(self) -> set[FactId]:
        """The older facts of pairs that show, and what they stand for."""
        return {*self._own, *(old for own in self._own.values() for old in own)}

    def owner(self, due: Ending | Link) -> EventId | None:
        """The event that asks for an ending or a link; None where another fact's word does."""
        named = (due.by, due.ends) if isinstance(due, Ending) else (due.target,)
        for each in named:
            for target, own in self._own.items():
                if each == target or each in own:
                    return self._said[target].owner
        return None

    def says_same(self, fact: FactId) -> bool:
        """Whether the new fact was found, or is said, to say the same as an older one."""
        said = (self._said[target] for target, own in self._own.items() if fact in (target, *own))
        return any(each.outcome is Outcome.DUPLICATE for each in said)

    def endings(self) -> list[Ending]:
        """All that ends or repeats, each ending by the new fact naming its nearest."""
        ended = list(self._ended())
        return [*ended, *self._repeated(ended)]

    def links(self) -> list[Link]:
        return [
            Link(self._fact, target)
            for target, said in self._said.items()
            if said.outcome is Outcome.EXTENDS
        ]

    def _ended(self) -> Iterator[Ending]:
        """Endings by the new fact, nearest first and each chain once; then of the new fact.

        What lies before a fact that the new one ends cannot end the new one: none would be left.
        """
        ending = [
            (other, said.outcome is Outcome.CORRECTS)
            for target, said in self._said.items()
            if said.outcome in ENDINGS and (other := self._view.fact(target)) is not None
        ]
        ending.sort(key=lambda each: (each[0].state.valid_from, each[0].id), reverse=True)
        named: set[FactId] = set()
        later: list[FactId] = []
        for other, corrects in ending:
            old = FactId(other.id)
            if not corrects and is_earlier(self._view, self._row.state, other.state):
                later.append(old)
            elif corrects or old not in named:
                yield Ending(self._fact, old, corrects)
                named |= {old, *before(self._view, old)}
        for old in later:
            if old not in named:
                yield Ending(old, self._fact)
                # what says the same ends it too, once the first is taken back
                yield from (
                    Ending(FactId(row.id), self._fact)
                    for raw in self._own[old]
                    if raw != old
                    and (row := self._view.fact(raw)) is not None
                    and is_earlier(self._view, self._row.state, row.state)
                )

    def _repeated(self, ended: list[Ending]) -> Iterator[Ending]:
        """The fact says again what holds then: the one that holds longer stands for both.

        It repeats everything that says so, so that it is support still when one of them goes. What
        had ended before it was said again is another period.
        """
        mine = self._row.state
        kept: list[Ending] = []
        gone: list[Ending] = []
        for target, said in self._said.items():
            if said.outcome is not Outcome.DUPLICATE:
                continue
            for raw in dict.fromkeys((target, *self._own[target])):
                row = self._view.fact(raw)
                if row is None:
                    continue
                mine_first = mine.valid_from < row.state.valid_from
                one, two = (mine, row.state) if mine_first else (row.state, mine)
                by, ends = (self._fact, raw) if mine_first else (raw, self._fact)
                found = Ending(by, ends, repeats=True)
                until = self._until(ended) if mine_first else self._held_until(target)
                holds = two.valid_from < until and _is_endless(one) and _is_endless(two)
                if (holds or found in self._standing) and _loses_nothing(self._view, one, two):
                    (gone if mine_first else kept).append(found)
        yield from kept or gone

    def _until(self, ended: list[Ending]) -> int:
        """Until when (µs) the fact holds by what is to end it."""
        rows = [self._view.fact(each.by) for each in ended if each.ends == self._fact]
        return min((row.state.valid_from for row in rows if row is not None), default=MAX_US)

    def _held_until(self, target: FactId) -> int:
        """Until when (µs) an older fact holds, but for a repeating in favour of the new one."""
        row = self._view.fact(target)
        if row is None:
            return 0
        ended = row.state.ended
        again = ended is not None and ended.repeats and ended.by == self._fact
        return MAX_US if again else row.state.valid_to


def _is_endless(fact: FactRow) -> bool:
    """Whether no end of it was told by itself."""
    return fact.stated_to is None and fact.expires_at is None and fact.unsaid is None


def begins(view: ContainerView, later: FactRow, earlier: FactRow) -> Instant:
    """From when the later one holds; a day that the earlier one begins in counts from when the
    later one was said."""
    begun = later.stated_from or Instant(later.valid_from)
    if begun.at >= earlier.valid_from:
        return begun
    return Instant(max(said_at(view, later), earlier.valid_from))


def is_earlier(view: ContainerView, one: FactRow, other: FactRow) -> bool:
    """Whether a newly told fact began to hold before another.

    Within the day or month that one of them names, what was told later is later; so it is where
    both tell of a time still to come: an appointment that is moved to an earlier day.
    """
    if one.valid_from >= other.valid_from:
        return False
    told = said_at(view, one), said_at(view, other)
    if one.valid_from > told[0] and other.valid_from > told[1]:
        return told[0] < told[1]
    begun = one.stated_from
    if begun is None or begun.precision >= Precision.MINUTE:
        return True
    return end_of(begun) <= other.valid_from


def _loses_nothing(view: ContainerView, kept: FactRow, gone: FactRow) -> bool:
    """Whether what stands for both is found by all that the other would be found by, and is held
    as important."""
    tags = set(view.tags(gone.tags)) <= set(view.tags(kept.tags))
    metadata = view.value(gone.metadata) or {}
    same = metadata == (view.value(kept.metadata) or {})
    lifted = (gone.importance or 0) <= (kept.importance or 0)
    return tags and lifted and (not metadata or same) and gone.caller_id is None


def stands_for(view: ContainerView, fact: FactId) -> FactId | None:
    """What a fact repeats, as far as that shows, or itself; None when it is hidden or gone."""
    seen: set[FactId] = set()
    found: FactId | None = None
    while fact not in seen:
        row = view.fact(fact)
        if row is None or not is_shown(view, fact):
            break
        seen.add(fact)
        found = fact
        ended = row.state.ended
        if ended is None or not ended.repeats:
            break
        fact = ended.by
    return found


def before(view: ContainerView, fact: FactId) -> list[FactId]:
    """Everything in a fact's chain that lies before it, what repeats any of that included;
    nearest first."""
    found: dict[FactId, None] = {}
    waiting = deque([fact])
    while waiting:
        row = view.fact(waiting.popleft())
        if row is None:
            continue
        repeats = (raw for raw in row.state.repeated_by if view.fact(raw) is not None)
        for each in (*repeats, *row.state.supersedes):
            if each not in found and each != fact:
                found[each] = None
                waiting.append(each)
    return list(found)
