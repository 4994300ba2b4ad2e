"""Telling how a fact came to be as it is: its events in a few words each, and how to undo them.

The steps are what happened to any version of the fact, what that was caused by (the message it was
drawn from, the label that ended it), and the undoings that took any of it back. A comparison with a
later fact is a step only where something followed from it.
"""

import shlex
from collections.abc import Iterable

from rewound.eventlog import events as e
from rewound.eventlog.ids import FactId, Kind, Ref, show
from rewound.eventlog.instants import show_instant
from rewound.eventlog.log import Recorded
from rewound.memory.moments import When
from rewound.memory.replies import EventView, Step
from rewound.memory.scoping import Within
from rewound.memory.showing_verdicts import word
from rewound.memory.targets import event_of, listed
from rewound.memory.telling import Teller, positions_about
from rewound.projections.importance import WHOLE
from rewound.projections.reader import ContainerView

QUOTED_CHARS = 120
"""Characters of a text that a step quotes."""

DEFAULT = "default"

_LASTING = (e.ContentErased, e.HeadsSealed)
"""What cannot be undone."""

_NOTHING_FOLLOWS = (e.Outcome.DISTINCT, e.Outcome.REVIEW)

_UNTOLD = (e.ExtractionFinished, e.ExtractionFailed, e.PassagesCut, e.ProfileWritten)
"""About the work on a source, or made of many facts: no step in the life of one."""


class Steps:
    """Tells the steps of facts of one container as of a moment. `name` is the container's."""

    def __init__(
        self, view: ContainerView, when: When, within: Within, name: str, *, forgotten: bool
    ) -> None:
        self._view = view
        self._when = when
        self._within = within
        self._teller = Teller(view, when, forgotten=forgotten)
        self._effectivity = view.effectivity(when.at)
        self._again = "" if name == DEFAULT else f" -c {shlex.quote(name)}"

    def of(self, members: Iterable[FactId]) -> tuple[Step, ...]:
        """The steps of a fact whose versions are `members`, oldest first."""
        versions = frozenset(members)
        refs = [Ref(Kind.FACT, raw) for raw in versions]
        found: dict[int, Recorded] = {}
        for position in positions_about(self._view, refs, self._when.at):
            recorded = self._view.event(position)
            if recorded is not None and _matters(recorded.event, versions):
                self._take(recorded, found)
        shown = (found[position] for position in sorted(found))
        return tuple(self._step(recorded) for recorded in shown if self._within.event(recorded))

    def _take(self, recorded: Recorded, found: dict[int, Recorded]) -> None:
        """An event with all that it was caused by, and what took any of it back."""
        waiting = [recorded]
        while waiting:
            each = waiting.pop()
            if each.position in found:
                continue
            found[each.position] = each
            if not isinstance(each.event, e.PolicyFitted):  # its labels are of other facts
                causes = (event_of(self._view, cause) for cause in each.envelope.causes)
                waiting += [cause for cause in causes if cause is not None]
            if not self._effectivity.holds(each):
                undoing = self._effectivity.dropped_by(each)
                waiting += [] if undoing is None else [undoing]

    def _step(self, recorded: Recorded) -> Step:
        told = self._teller.tell(recorded)
        lasting = isinstance(recorded.event, _LASTING) or self._is_lifted(recorded)
        command = f"rewound undo {told.id}{self._again}"
        return Step(
            event=told.id,
            position=told.position,
            type=told.type,
            recorded_at=told.recorded_at,
            what=_what(recorded.event, told),
            undo=None if lasting or told.undone_by is not None else command,
            undone_by=told.undone_by,
        )

    def _is_lifted(self, recorded: Recorded) -> bool:
        """Whether a forgetting hides nothing any more: what it hid was restored."""
        event = recorded.event
        if not isinstance(event, e.Forgotten):
            return False
        hidden = (self._view.hidden(ref) for ref in event.hides)
        return not any(row and recorded.envelope.event_id in row.by for row in hidden)


def versions_of(view: ContainerView, fact: FactId, at: int) -> list[FactId]:
    """All versions of a fact's chain as of a position, and those that were undone by then."""
    found: dict[FactId, None] = dict.fromkeys([fact])
    waiting = [fact]
    while waiting:
        raw = waiting.pop()
        others = [FactId(row.id) for row in view.chain(raw, at)]
        for recorded in view.about(Ref(Kind.FACT, raw)):
            event = recorded.event
            if recorded.position > at:
                break
            if isinstance(event, e.FactEdited) and raw in (event.fact, *event.ends[:1]):
                others += [event.fact, *event.ends[:1]]
        new = [other for other in dict.fromkeys(others) if other not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _matters(event: e.Event, versions: frozenset[FactId]) -> bool:
    match event:
        case e.FactsJudged(fact=fact) if fact not in versions:
            found = (pair.outcome for pair in event.pairs if pair.old in versions)
            return any(outcome not in _NOTHING_FOLLOWS for outcome in found)
    return not isinstance(event, _UNTOLD)


# --- in words


def _what(event: e.Event, told: EventView) -> str:
    """What happened, in one line."""
    if told.withheld:
        return f"{told.type} ({told.withheld})"
    return _sent(event, told) or _judged(event) or _changed(event, told) or told.type


def _sent(event: e.Event, told: EventView) -> str | None:
    said = _quoted(told.texts.get("text"))
    match event:
        case e.MessageRecorded():
            return f"{told.texts.get('speaker') or _role(event.role)} said {said}"
        case e.DocumentIngested() | e.DocumentReplaced():
            name = told.texts.get("title") or told.texts.get("caller_id")
            verb = "sent" if isinstance(event, e.DocumentIngested) else "sent anew"
            return f"the document {_quoted(name) if name else said} was {verb}"
        case e.DocumentRemoved():
            return "the document is no longer at its source"
        case e.FactRemembered():
            return f"stated: {said} ({_fact(event.fact)})"
        case e.FactExtracted():
            return f"drawn: {said} ({_fact(event.fact)} from {event.sources[0].source})"
        case e.FactEdited():
            verb = "corrected" if event.corrects else "put in other words"
            return f"{verb}: {said} ({_fact(event.fact)} for {_fact(event.ends[0])})"
        case e.SeenAgain():
            return f"{event.item} was sent again"
        case e.FactsEnded():
            return f"what {_facts(event.facts)} was drawn from no longer says so"
    return None


def _judged(event: e.Event) -> str | None:
    match event:
        case e.FactsJudged():
            found = [
                f"{word(pair.outcome)} {_fact(pair.old)}"
                for pair in event.pairs
                if pair.outcome is not e.Outcome.DISTINCT
            ]
            number = len(event.pairs)
            if number == 0:
                return f"{_fact(event.fact)} had nothing before it to be compared with"
            others = f"{number} fact{'' if number == 1 else 's'} before it"
            return f"{_fact(event.fact)} was compared with {others}: {listed(found) or 'distinct'}"
        case e.FactSuperseded(repeats=True):
            return f"{_fact(event.ends[0])} says the same as {_fact(event.by)}"
        case e.FactSuperseded(corrects=True):
            return f"{_fact(event.ends[0])} was wrong: {_fact(event.by)} stands in its place"
        case e.FactSuperseded():
            when = f" at {show_instant(event.at)}" if event.at is not None else ""
            return f"{_facts(event.ends)} ended{when}, when {_fact(event.by)} took its place"
        case e.FactReinstated():
            return f"{_fact(event.by)} no longer stands in the place of {_facts(event.facts)}"
        case e.FactsLinked():
            adds = event.outcome is e.Outcome.EXTENDS
            verb = "adds to" if adds else "no longer adds to"
            return f"{_fact(event.source)} {verb} {_fact(event.target)}"
        case e.LabelGiven():
            found_so = f"{word(event.outcome)} {_fact(event.old)}"
            return f"a person said of {_fact(event.fact)}: {found_so}"
        case e.PolicyFitted():
            number = len(event.labels)
            return f"the policy was fitted to {number} label{'' if number == 1 else 's'}"
    return None


def _changed(event: e.Event, told: EventView) -> str | None:
    match event:
        case e.Forgotten():
            reason = told.texts.get("reason")
            return f"{event.item} was forgotten" + (f": {_cut(str(reason))}" if reason else "")
        case e.Restored():
            return f"{event.item} was shown again"
        case e.Undone():
            return f"{event.target} was taken back"
        case e.TagsEdited():
            new, gone = (told.texts.get(name) or [] for name in ("added", "removed"))
            parts = [f"{sign}{tag}" for sign, tags in (("+", new), ("-", gone)) for tag in tags]
            return _cut(f"tags {' '.join(parts)}")
        case e.ImportanceSet():
            return f"importance {event.importance / WHOLE:g}"
    return None


def _fact(raw: FactId) -> str:
    return show(Kind.FACT, raw)


def _facts(facts: tuple[FactId, ...]) -> str:
    return listed([_fact(raw) for raw in facts], 2)


def _role(role: e.Role) -> str:
    return role.name.lower()


def _quoted(text: object) -> str:
    return f"“{_cut(str(text or ''))}”"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED_CHARS else line[: QUOTED_CHARS - 2] + " …"
