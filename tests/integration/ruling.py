"""Verdicts handed to the writer as the judging duty does it, with rulings that are made up.

with open_town(tmp_path) as town:
    rome = town.tell("Nina lives in Rome.", "2020-01-01")
    oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
    town.judge(oslo, (rome, "updates"))
    assert town.current() == [oslo]
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.enums import Outcome
from rewound.eventlog.ids import EventId, FactId, GroupId, Kind, Ref, parse, show
from rewound.eventlog.log import Draft, Recorded
from rewound.llm.policy import Ruling
from rewound.memory import requests as q
from rewound.memory.deciding import Judge, Ruled
from tests.unit.given import Store, open_store

SURE = 900


class Town:
    """A store and short words for what is done in it. Facts and events are shown ids."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # --- doing

    def tell(self, text: str, said_at: str | None = None, **more: Any) -> str:
        """A fact, stated by itself; its id."""
        (fact,) = self.store.remember(text, said_at=said_at, **more)
        self.store.clock.at += 1_000_000
        return fact

    def judge(
        self,
        fact: str,
        *pairs: tuple[str, str],
        again: bool = False,
        causes: tuple[str, ...] = (),
        evidence: dict[str, int] | None = None,
    ) -> str:
        """A verdict with what follows from it; the judging event."""
        return shown(self.recorded(fact, *pairs, again=again, causes=causes, evidence=evidence)[0])

    def recorded(
        self,
        fact: str,
        *pairs: tuple[str, str],
        again: bool = False,
        causes: tuple[str, ...] = (),
        evidence: dict[str, int] | None = None,
        group: str | None = None,
    ) -> list[Recorded]:
        verdict = Judge(
            self.store.container(),
            fact_id(fact),
            [ruled(old, word, evidence or {"cosine": 900}) for old, word in pairs],
            "made up",
            again=again,
            causes=tuple(EventId(parse(cause, Kind.EVENT)) for cause in causes),
            group=None if group is None else GroupId(parse(group, Kind.GROUP)),
        )
        return self.store.engine.submit_record(verdict).result().recorded

    def draw(self, document: str, words: str) -> str:
        """A fact as an extractor draws it from a document; its id."""
        ref = Ref(Kind.DOCUMENT, parse(document, Kind.DOCUMENT))
        with self.store.view() as view:
            row = view.row(ref)
            assert row is not None
            body = row.state.pieces[0]
            start = (view.text(body) or "").index(words)
            stating = next(view.about(ref)).envelope.event_id
        bodies, fact = self.store.writer(), FactId(self.store.ids.new())
        span = e.Span(ref, body.place(0), start, start + len(words))
        event = e.FactExtracted(fact, e.Statement(bodies.piece(words)), (span,), confidence=900)
        self.store.record([Draft(event, bodies.sealed, (stating,))])
        return show(Kind.FACT, fact)

    def label(self, fact: str, old: str, outcome: Any) -> str:
        """A person's word on a pair; the label's event."""
        label = q.NewLabel(fact=fact, old=old, outcome=outcome)
        reply = self.store.ask(q.Label(container=self.store.name, labels=(label,)))
        event: str = reply.labels[0].event
        return event

    def undo(self, event: str, **more: Any) -> str:
        """The undoing's own event."""
        undone: str = self.store.undo(event, **more).event
        return undone

    # --- looking

    def stating(self, fact: str) -> str:
        """The event that states a fact."""
        event: str = self.store.get(fact, include_forgotten=True).event
        return event

    def current(self, **more: Any) -> list[str]:
        """Facts that are current, in the order told."""
        return sorted(self.store.listed(**more))

    def at(self, when: str) -> list[str]:
        return sorted(self.store.listed(valid_at=when))

    def state(self, fact: str) -> str:
        found: str = self.store.get(fact).standing.state
        return found

    def events(self, kind: str) -> list[str]:
        return [event.id for event in self.store.events(types=(kind,))]


def ruled(old: str, word: str, evidence: dict[str, int]) -> Ruled:
    outcome = Outcome[word.upper()]
    leaning = Outcome.UPDATES if outcome is Outcome.REVIEW else outcome
    return Ruled(fact_id(old), Ruling(outcome, SURE, leaning), evidence)


def fact_id(fact: str) -> FactId:
    return FactId(parse(fact, Kind.FACT))


def shown(recorded: Recorded) -> str:
    return show(Kind.EVENT, recorded.envelope.event_id)


@contextmanager
def open_town(folder: Path) -> Iterator[Town]:
    with open_store(folder) as store:
        yield Town(store)
