"""Why an item is not among what a search may find: gone, no longer so, or filtered out.

Conditions are tried one by one, each on the masks that the search itself uses, so what is told here
is what kept the item away.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rewound.eventlog.ids import Kind, Ref, show
from rewound.memory import requests as q
from rewound.memory.conditions import Where
from rewound.memory.explained_replies import Reason
from rewound.memory.moments import When
from rewound.memory.narrowing import narrowing
from rewound.memory.reply_parts import Standing
from rewound.memory.showing import WHAT, Shower
from rewound.memory.targets import scope_parts
from rewound.projections.explaining import EVERYTHING
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row
from rewound.projections.selection import Criteria, Mask, select

_STATES: dict[str, Reason] = {
    "superseded": "superseded",
    "corrected": "corrected",
    "repeated": "repeated",
    "expired": "expired",
}


class Kept(NamedTuple):
    """What keeps an item away, as a reply tells it."""

    reason: Reason
    told: str
    by: str | None = None
    condition: str | None = None


class Missing:
    """Looks for what keeps items away from one search. `criteria` are what the search goes by."""

    def __init__(
        self, view: ContainerView, asked: q.Search, when: When, criteria: Criteria
    ) -> None:
        self._view = view
        self._asked = asked
        self._when = when
        self._criteria = criteria
        self._shower = Shower(view, when, forgotten=asked.include_forgotten)
        self._masks: dict[str, Mask] = {}

    # --- gone

    def gone(self, ref: Ref) -> Kept | None:
        """Why an item that the container knew once has no place at the moment; None if it has."""
        row = self._view.row(ref, self._when.at)
        held = [ref]
        if ref.kind is Kind.PASSAGE:
            versions = self._view.versions(ref)
            held += [Ref(Kind.DOCUMENT, each.state.document) for each in versions[-1:]]
        for each in held:
            hidden = self._view.hidden(each)
            what = "it" if each == ref else "its document"
            if hidden is not None and hidden.erased:
                return Kept("erased", f"{what} was erased")
            if hidden is not None and not self._asked.include_forgotten:
                by = show(Kind.EVENT, hidden.by[-1]) if hidden.by else None
                hint = "restore it, or ask with include_forgotten"
                return Kept("forgotten", f"{what} is forgotten: {hint}", by)
        if row is not None:
            stands = all(self._view.row(each, self._when.at) for each in held)
            return None if stands else self._removed(ref)
        return self._not_there(ref)

    def _not_there(self, ref: Ref) -> Kept:
        """Not yet there, taken back, or dropped at its source."""
        brought = [each for each in self._view.about(ref) if ref in each.event.creates()]
        by_then = [each for each in brought if each.position <= self._when.at]
        if not by_then:
            came = (
                f"it came with the event at @{brought[0].position}" if brought else "it came later"
            )
            return Kept("not_yet", f"it was not yet recorded at this moment: {came}")
        effectivity = self._view.effectivity(self._when.at)
        if not any(effectivity.holds(each) for each in by_then):
            undoing = effectivity.dropped_by(by_then[-1])
            by = None if undoing is None else show(Kind.EVENT, undoing.envelope.event_id)
            return Kept("undone", f"the event that brought it was undone by {by}", by)
        return self._removed(ref)

    def _removed(self, ref: Ref) -> Kept:
        told = {
            Kind.PASSAGE: "its document was removed, or no longer has this text",
            Kind.DOCUMENT: "it was removed: it no longer exists at its source",
        }
        return Kept("removed", told.get(ref.kind, "nothing says so any more at this moment"))

    # --- kept out

    def kept_out(self, ref: Ref, row: Row[Any]) -> Kept | None:
        """The first condition that an item which is there does not meet; None if it meets all."""
        if self._mask("all", self._criteria)[row.ordinal]:
            return None
        for name, criteria, kept in self._steps(ref):
            if not self._mask(name, criteria)[row.ordinal]:
                return kept or self._standing(ref, row)
        raise AssertionError(f"{ref} meets each condition, but not all of them")

    def _mask(self, name: str, criteria: Criteria) -> Mask:
        known = self._masks.get(name)
        if known is None:
            known = self._masks[name] = select(self._view, criteria).allowed
        return known

    def _steps(self, ref: Ref) -> Iterator[tuple[str, Criteria, Kept | None]]:
        """Conditions by name, and what to say where one is not met; None: how the fact stands."""
        all_, filters = self._criteria, self._asked.filters
        plain = Criteria(
            now=all_.now, at=all_.at, what=EVERYTHING, superseded=True, forgotten=all_.forgotten
        )
        yield "at all", plain, Kept("removed", "it does not stand at this moment")
        then = plain._replace(valid=all_.valid, naming=all_.naming)
        if all_.valid is not None:
            told = f"it does not hold {self._asked_about()}"
            yield "valid", then, Kept("not_valid", told)
        if not all_.superseded:
            yield "standing", then._replace(superseded=False), None
        if all_.said_before is not None:
            told = f"it was said later than what is asked about ({self._asked_about()})"
            later = plain._replace(said_before=all_.said_before)
            yield "said before", later, Kept("said_later", told)
        yield "what", plain._replace(what=all_.what), self._unmet("filters.what", _of_sort(ref))
        if all_.kinds:
            yield "kinds", plain._replace(kinds=all_.kinds), self._unmet("filters.kinds")
        if all_.since is not None:
            yield "since", plain._replace(since=all_.since), self._unmet("filters.since")
        if all_.until is not None:
            yield "until", plain._replace(until=all_.until), self._unmet("filters.until")
        for tag in all_.tags:
            told = f"it has not the tag {tag!r}"
            yield f"tag {tag}", plain._replace(tags=(tag,)), self._unmet("filters.tags", told)
        for pair in all_.metadata:
            place = f"filters.metadata.{pair[0]}"
            yield place, plain._replace(metadata=(pair,)), self._unmet(place)
        for part in scope_parts(filters.scope).items():
            place = f"filters.scope.{part[0]}"
            yield place, plain._replace(scope=(part,)), self._unmet(place)
        if all_.sources:
            told = f"it is not from {filters.source}"
            yield (
                "source",
                plain._replace(sources=all_.sources),
                self._unmet("filters.source", told),
            )
        for place, where in _parts(filters.where, "filters.where"):
            node = narrowing(
                self._view, where, self._when, forgotten=all_.forgotten, place=place
            ).node
            yield place, plain._replace(where=node), self._unmet(place)

    def _unmet(self, condition: str, told: str = "") -> Kept:
        return Kept("filtered", told or f"it does not meet {condition}", None, condition)

    def _asked_about(self) -> str:
        moment = self._when.moment
        if moment.valid_at is not None:
            return f"at {moment.valid_at}"
        return f"in the time that the question names: {moment.window_words}"

    # --- no longer so

    def _standing(self, ref: Ref, row: Row[Any]) -> Kept:
        standing = self._shower.standing(ref, row.state)
        reason = _STATES.get(standing.state, "ended")
        return Kept(reason, _no_longer(reason, standing), standing.by)


def _no_longer(reason: Reason, standing: Standing) -> str:
    at = f" at {standing.at}" if standing.at else ""
    match reason:
        case "superseded":
            return f"it was superseded by {standing.by}{at}"
        case "corrected":
            return f"it was wrong all along, says {standing.by}"
        case "repeated":
            return f"{standing.by} says the same and stands for both"
        case "expired":
            return f"it expired{at}"
    return f"it no longer holds: it ended{at}"


def _of_sort(ref: Ref) -> str:
    if ref.kind is Kind.DOCUMENT:
        return "a title is found only where filters.what asks for documents"
    return f"filters.what does not ask for what is a {WHAT[ref.kind]}"


def _parts(where: Where | None, place: str) -> Iterator[tuple[str, Where]]:
    """A tree of conditions, those that are joined by `and` one by one."""
    if where is None:
        return
    if where.and_ is None:
        yield place, where
        return
    for number, part in enumerate(where.and_):
        yield from _parts(part, f"{place}.and[{number}]")
