"""Settling what stands with the last verdict on a fact: the difference is appended.

For a judged pair there is what should follow (`outcomes.py`) and what has followed so far
(`followed.py`). So a first judgement, a person's label, another policy and a better judge are all
carried out by the same rule. What a person undid by itself is not brought about again, unless a
later label asks for it.

What stands by an earlier word alone would go with that word. So a later one that asks for the same
brings it about once more, and each can be undone by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.enums import Outcome
from rewound.eventlog.ids import EventId, FactId, GroupId, Kind, Ref
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Draft, Recorded
from rewound.memory.candidates import is_before
from rewound.memory.claims import is_shown
from rewound.memory.deciding import Deciding, Plan
from rewound.memory.followed import Lift, Past, parted
from rewound.memory.outcomes import Due, Ending, Link, before, begins, is_earlier

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

NEAREST_ENDED: Final = 24
ENDED_MAX: Final = 32
"""Facts that one ending names besides the first."""

Follow = Callable[[list[Recorded], Deciding], Plan | None]


def follow(
    facts: tuple[FactId, ...],
    cause: EventId,
    then: Follow | None = None,
    settled: frozenset[FactId] = frozenset(),
) -> Follow:
    """An aftermath that settles facts, one after the other, caused by `cause`.

    First is taken back what does not follow any more, then brought about what follows now: other
    facts lie before a version in between. What else is parted by that is settled after it.
    """

    def lifting(recorded: list[Recorded], after: Deciding) -> Plan | None:
        if not facts:
            return None if then is None else then(recorded, after)
        view = after.views.container(after.home())
        settling = Settling(view, facts[0], cause)
        lifts, others = settling.lifts()
        again = settling.said_later()
        done = settled | {facts[0]}
        rest = tuple(raw for raw in dict.fromkeys((*facts[1:], *others)) if raw not in done)

        def bringing(recorded: list[Recorded], after: Deciding) -> Plan | None:
            view = after.views.container(after.home())
            drafts = Settling(view, facts[0], cause).brings(again)
            more = follow(rest, cause, then, done)
            return Plan(drafts, aftermath=more, tell=True) if drafts else more(recorded, after)

        drafts = [Draft(e.FactReinstated(*lift), causes=(cause,)) for lift in lifts]
        return Plan(drafts, aftermath=bringing, tell=True) if drafts else bringing(recorded, after)

    return lifting


def stand_alone(recorded: list[Recorded], after: Deciding) -> Plan | None:
    """What repeats a fact that was forgotten or erased just now, but was not itself, is still said:
    it stands for itself then."""
    view = after.views.container(after.home())
    drafts: list[Draft] = []
    for each in recorded:
        event = each.event
        if isinstance(event, e.Forgotten | e.ContentErased):
            items = event.hides if isinstance(event, e.Forgotten) else event.items
            for lift in _repeats(view, items):
                if all(is_shown(view, fact) for fact in lift.facts):
                    reinstated = e.FactReinstated(*lift)
                    drafts.append(Draft(reinstated, causes=(each.envelope.event_id,)))
    return Plan(drafts) if drafts else None


def repeat_again(recorded: list[Recorded], after: Deciding) -> Plan | None:
    """What repeats a fact that shows again stands with it, as before it was forgotten."""
    view = after.views.container(after.home())
    further: Follow | None = None
    for each in recorded:
        if isinstance(each.event, e.Restored):
            repeats = [raw for lift in _repeats(view, each.event.shows) for raw in lift.facts]
            shown = tuple(raw for raw in dict.fromkeys(repeats) if is_shown(view, raw))
            if shown:
                further = follow(shown, each.envelope.event_id, further)
    return None if further is None else further(recorded, after)


def _repeats(view: ContainerView, items: Iterable[Ref]) -> Iterator[Lift]:
    """Endings that hold, by which something repeats one of the items."""
    effectivity = view.effectivity()
    for item in items:
        for recorded in view.about(item) if item.kind is Kind.FACT else ():
            event = recorded.event
            if isinstance(event, e.FactSuperseded) and event.repeats and event.by == item.id:
                if effectivity.holds(recorded):
                    yield Lift(event.ends, recorded.envelope.event_id, event.by)


class _Again(NamedTuple):
    """A fact that is said again. `repeats` is whether it stands for another as yet."""

    begins: int
    fact: FactId
    repeats: bool
    lifts: list[Lift]


class Settling:
    """One fact's verdict against what stands in an open view, on behalf of the event `cause`."""

    def __init__(self, view: ContainerView, fact: FactId, cause: EventId) -> None:
        self._view = view
        self._fact = fact
        self._cause = cause
        self._due: Due | None = None
        verdict, row = view.verdict(fact), view.fact(fact)
        if verdict is None or row is None or not is_shown(view, fact):
            return
        self._row = row
        self._labels = {label.event for label in verdict.state.labels}
        self._owners = {cause, verdict.state.event, *self._labels}
        self._past = Past(view, fact, self._owners)
        self._due = Due(view, row, verdict.state, self._past.standing)
        self._around = self._due.around()

    # --- taking back

    def lifts(self) -> tuple[list[Lift], list[FactId]]:
        """What stands and is not due any more; and other facts that are to be settled then."""
        if self._due is None:
            return [], []
        due = set(self._due.endings())
        lifts = [
            Lift(each.facts, each.event, each.ending.by)
            for each in self._past.endings
            if each.ending not in due and self._is_own(each.ending)
        ]
        lifts += self._orphaned(due)
        further, others = parted(self._view, lifts)
        lifts += [lift for each in self._said_later() for lift in each.lifts]
        return [*lifts, *further], others

    def _orphaned(self, due: Iterable[Ending]) -> Iterator[Lift]:
        """What the new fact ended only because it lay before another, which is gone: that is not
        ended any more unless today's word asks for it."""
        view = self._view
        ended = {
            raw
            for each in due
            if each.by == self._fact and not each.repeats
            for raw in (each.ends, *before(view, each.ends))
        }
        for each in self._past.endings:
            if each.ending.by == self._fact and view.fact(each.ending.ends) is None:
                facts = (raw for raw in each.facts if raw not in ended)
                left = tuple(raw for raw in facts if view.fact(raw) and is_shown(view, raw))
                if left:
                    yield Lift(left, each.event, self._fact)

    def said_later(self) -> list[Ending]:
        """Endings in favour of what repeats a fact that the new one ends, but was said later."""
        found: list[Ending] = []
        first: FactId | None = None
        for each in self._said_later():
            if first is None:
                first = each.fact
                found.append(Ending(first, self._fact))
            elif each.repeats:
                found.append(Ending(first, each.fact, repeats=True))
        return found

    def _said_later(self) -> list[_Again]:
        """What repeats something that ends by the new fact, but was said again after that began: it
        stands for itself. Earliest first."""
        found: dict[FactId, _Again] = {}
        due = self._due
        for ending in () if due is None else due.endings():
            if ending.by != self._fact or ending.corrects or ending.repeats:
                continue
            chain = {ending.ends: None} | dict.fromkeys(before(self._view, ending.ends))
            for fact in (chain | dict.fromkeys(self._around)).keys() - found.keys():
                row = self._view.fact(fact)
                if row is None or not is_earlier(self._view, self._row.state, row.state):
                    continue
                if due is None or due.says_same(fact):
                    continue
                past = Past(self._view, fact, self._owners).endings
                repeats = [
                    each for each in past if each.ending.repeats and each.ending.ends == fact
                ]
                lifts = [
                    Lift((fact,), each.event, each.ending.by)
                    for each in repeats
                    if each.ending.by in chain
                ]
                if lifts and is_shown(self._view, fact):
                    ended = row.state.ended
                    still = ended is not None and ended.repeats
                    found[fact] = _Again(row.state.valid_from, fact, still, lifts)
        return sorted(found.values(), key=lambda each: (each.begins, each.fact))

    def _is_own(self, ending: Ending) -> bool:
        """Whether it lies between the fact and one that it was compared with, and both show."""
        other = ending.ends if ending.by == self._fact else ending.by
        row = self._view.fact(other)
        if row is None or not is_shown(self._view, other):
            return False
        mine = self._fact in (ending.by, ending.ends)
        return mine and (other in self._around or is_before(row, self._row))

    # --- bringing about

    def brings(self, again: Iterable[Ending]) -> list[Draft]:
        """What is due and does not stand; `again` are endings due besides."""
        if self._due is None:
            return []
        drafts: list[Draft] = []
        for ending in dict.fromkeys((*self._due.endings(), *again)):
            if ending not in self._past.standing and self._may(ending):
                drafts.append(self._superseding(ending))
        return drafts + self._links()

    def _links(self) -> list[Draft]:
        assert self._due is not None
        drafts: list[Draft] = []
        linked, past = frozenset(self._row.state.extends), self._past
        due = {link.target: link for link in self._due.links()}
        for target in sorted(past.linked.keys() & self._around):
            if target not in due and target not in past.unlinked:
                event = e.FactsLinked(self._fact, target, Outcome.DISTINCT)
                drafts.append(Draft(event, causes=(self._cause,)))
        for target, link in due.items():
            stands = target in linked and past.linked.get(target, False)
            if not stands and self._may(link):
                event = e.FactsLinked(self._fact, target)
                drafts.append(Draft(event, causes=self._causes(link, target)))
        return drafts

    def _may(self, due: Ending | Link) -> bool:
        """Not when a person took it back by itself, and no label has asked for it since."""
        assert self._due is not None
        undone = self._past.taken_back.get(due)
        owner = self._due.owner(due)
        if undone is None:
            return True
        if owner is None or owner not in self._labels:
            return False
        place = self._view.log.find(owner)
        return place is not None and place[1] > undone

    def _superseding(self, ending: Ending) -> Draft:
        view = self._view
        ends: tuple[FactId, ...] = (ending.ends,)
        later, earlier = view.fact(ending.by), view.fact(ending.ends)
        assert later is not None and earlier is not None, "both were looked at just now"
        if ending.repeats:
            at = earlier.state.stated_from or Instant(earlier.state.valid_from)
        else:
            ends += tuple(each for each in _beyond(view, ending.ends) if each != ending.by)
            at = begins(view, later.state, earlier.state)
        event = e.FactSuperseded(ending.by, ends, at, ending.corrects, ending.repeats)
        return Draft(event, causes=self._causes(ending, ending.by))

    def _causes(self, due: Ending | Link, other: FactId) -> tuple[EventId, ...]:
        """The word that settles, and the label that asks for it. Also the event that states the
        other fact, so that what follows from that drops out with it."""
        assert self._due is not None
        owner = self._due.owner(due)
        label = owner if owner in self._labels else None
        stating = None if other == self._fact else stated_by(self._view, other)
        found = (self._cause, label, stating)
        return tuple(dict.fromkeys(each for each in found if each is not None))


def _beyond(view: ContainerView, fact: FactId) -> list[FactId]:
    """What lies before a fact and ends with it, so that it stays ended when that is undone.

    Of a long chain not all: the work would grow with its cube. The nearest, and beyond these the
    last one before each group of commands, since such a group is undone as one.
    """
    chain = before(view, fact)
    found = chain[:NEAREST_ENDED]
    group = _group(view, found[-1]) if len(chain) > NEAREST_ENDED else None
    for each in chain[NEAREST_ENDED:]:
        last, group = group, _group(view, each)
        if group != last:
            found.append(each)
        if len(found) == ENDED_MAX:
            break
    return found


def _group(view: ContainerView, fact: FactId) -> GroupId | None:
    row = view.fact(fact)
    stating = None if row is None else view.event(row.state.at)
    return None if stating is None else stating.envelope.group


def stated_by(view: ContainerView, fact: FactId) -> EventId | None:
    """The first event that holds and states a fact, or supports it anew."""
    effectivity = view.effectivity()
    ref = Ref(Kind.FACT, fact)
    for recorded in view.about(ref):
        if ref in recorded.event.creates() and effectivity.holds(recorded):
            return recorded.envelope.event_id
    return None
