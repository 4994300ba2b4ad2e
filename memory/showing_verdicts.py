"""Showing judgements: what was found when a fact was compared with those before it.

A pair with a fact that is forgotten is left out, and counted, unless forgotten things are asked
for; one with a fact outside of the read's scope is left out as if it were not there.
"""

from collections.abc import Iterable
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, FactId, Kind, Ref, show
from rewound.eventlog.instants import show_us
from rewound.memory.replies import PairView, VerdictView
from rewound.memory.scoping import Within
from rewound.memory.showing import Shower
from rewound.projections.rows import Row
from rewound.projections.verdicts import VerdictRow


class VerdictShower:
    """Makes views of one container's judgements at the moment of a read.

    `left_out` counts the pairs that are not shown since one of their facts is forgotten.
    """

    def __init__(self, shower: Shower, within: Within) -> None:
        self.left_out = 0
        self._shower = shower
        self._view = shower.view
        self._within = within

    def of(self, fact: FactId) -> VerdictView | None:
        """The last judging of a fact as of the moment."""
        row = self._view.verdict(fact, self._shower.when.at)
        return None if row is None else self._verdict(fact, row, range(len(row.state.pairs)))

    def against(self, old: FactId) -> list[VerdictView]:
        """What was found of later facts when they were compared with this one, oldest first; of
        each only the pair with this one."""
        at = self._shower.when.at
        later: dict[FactId, None] = {}
        for recorded in self._view.about(Ref(Kind.FACT, old)):
            if recorded.position > at:
                break
            if isinstance(recorded.event, e.FactsJudged) and recorded.event.fact != old:
                later[recorded.event.fact] = None
        found: list[tuple[int, VerdictView]] = []
        for fact in later:
            row = self._view.verdict(fact, at)
            if row is None:
                continue
            with_it = [n for n, pair in enumerate(row.state.pairs) if pair.old == old]
            if not with_it or not self._within.item(Ref(Kind.FACT, fact)):
                continue
            if self._shower.hides(Ref(Kind.FACT, fact)):
                self.left_out += 1
                continue
            found.append((row.state.at, self._verdict(fact, row, with_it)))
        return [shown for _, shown in sorted(found, key=lambda each: each[0])]

    def text(self, fact: bytes) -> str | None:
        """What a fact says at the moment; None when it is not there, or not to be shown."""
        ref = Ref(Kind.FACT, fact)
        row = self._view.row(ref, self._shower.when.at)
        if row is None or self._shower.hides(ref):
            return None
        return self._shower.text(ref, row.state)

    def _verdict(self, fact: FactId, row: Row[VerdictRow], chosen: Iterable[int]) -> VerdictView:
        state = row.state
        recorded = self._view.event(state.at)
        assert recorded is not None, "a verdict's row names the position of its event"
        measured = evidence_of(self._view.value(state.evidence), len(state.pairs))
        pairs: list[PairView] = []
        for number in chosen:
            ref = Ref(Kind.FACT, state.pairs[number].old)
            if not self._within.item(ref):
                continue
            if self._shower.hides(ref):
                self.left_out += 1
                continue
            pairs.append(self._pair(state, state.pairs[number], measured[number]))
        return VerdictView(
            event=show(Kind.EVENT, state.event),
            fact=show(Kind.FACT, fact),
            recorded_at=show_us(recorded.envelope.recorded_at),
            pairs=tuple(pairs),
            fact_text=self.text(fact),
            judge=self._view.text(state.judge),
            policy=None if state.policy is None else show(Kind.EVENT, state.policy),
        )

    def _pair(self, verdict: VerdictRow, pair: e.Pair, measured: dict[str, float]) -> PairView:
        label = next((each for each in verdict.labels if each.old == pair.old), None)
        return PairView(
            old=show(Kind.FACT, pair.old),
            outcome=word(pair.outcome),
            probability=pair.probability / 1000,
            old_text=self.text(pair.old),
            leaning=None if pair.leaning is pair.outcome else word(pair.leaning),
            label=None if label is None else word(label.outcome),
            label_event=None if label is None else show(Kind.EVENT, EventId(label.event)),
            evidence=measured,
        )


def evidence_of(held: Any, pairs: int) -> list[dict[str, float]]:
    """What spoke for each pair, 0 to 1 by name; nothing for any once it is erased."""
    maps = held if isinstance(held, list) else []
    found = [{name: part / 1000 for name, part in each.items()} for each in maps[:pairs]]
    return found + [{} for _ in range(pairs - len(found))]


def word(outcome: e.Outcome) -> str:
    """An outcome as replies name it."""
    return outcome.name.lower()
