"""The views about judging as plain values, asked one fact at a time: what the oracle has to equal.

The dump of the product says the same by walking through its tables; both must find the same rows.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rewound.eventlog.bodies import Body, Place, read_value
from rewound.eventlog.ids import FactId, Kind, Ref, show
from rewound.eventlog.log import Recorded
from rewound.projections import dump
from rewound.projections.catalog import VIEWS
from rewound.projections.reader import ContainerView, Snapshot
from tests.oracle.compare import canonical, same
from tests.oracle.fold import Dump

BodyOf = Callable[[Place], bytes | None]
PAIR = ("old", "outcome", "probability", "leaning")
OVERLAY = ("hidden", "masks")
"""Tables that show today's state at every position."""


def facts_in(events: Iterable[Recorded]) -> list[FactId]:
    """Every fact that any event names."""
    refs = (ref for r in events for ref in (*r.event.creates(), *r.event.refers()))
    return [FactId(raw) for raw in dict.fromkeys(ref.id for ref in refs if ref.kind is Kind.FACT)]


def dumped(
    view: ContainerView, events: Iterable[Recorded], body: BodyOf, at: int | None = None
) -> Dump:
    """All rows of a container open now, or at a position."""
    events = list(events)
    rows = dump.present(view, at)
    ruled = Ruled(view, events, body)
    made: dict[str, Any] = {
        "verdicts": ruled.verdicts(at),
        "reviews": ruled.reviews(at),
        "policies": ruled.policies(at),
        "unjudged": {show(Kind.FACT, fact): position for fact, position in view.unjudged(at)},
    }
    walked = msgspec.to_builtins({table: rows[table] for table in made})
    same(told(made), walked, "replay: rows by asking against the dump")
    return canonical({**rows, **made})


def listed(snapshot: Snapshot) -> None:
    """What is listed apart as waiting are the present rows of these views, of all containers."""
    for view in VIEWS:
        if not view.waits:
            continue
        table, txn = snapshot.tables[view.name], snapshot.txn
        present = {home: list(table.scan(txn, home)) for home in snapshot.positions()}
        found = {home: list(table.waiting(txn, home)) for home in present}
        assert found == present, f"replay: rows of {view.name} that are listed as waiting"
        briefs = {home: list(table.briefs(txn, home)) for home in present}
        wanted = {h: [(row.key, view.brief(row.state)) for row in present[h]] for h in present}
        assert briefs == wanted, f"replay: what is told of {view.name} that wait"
        homes = [home for home, rows in present.items() if rows]
        assert list(snapshot.waiting(view.name)) == homes, f"replay: where {view.name} wait"
        count = sum(map(len, present.values()))
        assert snapshot.waiting_count(view.name) == count, f"replay: how many {view.name} wait"


def told(made: dict[str, Any]) -> dict[str, Any]:
    """The rows in the words of the dump, which leaves positions out."""
    verdicts = {
        fact: {
            "event": row["event"],
            "pairs": [dict(zip(PAIR, pair, strict=True)) for pair in row["pairs"]],
            "policy": row["policy"],
            "judge": None if row["judge"] is None else row["judge"].decode(),
            "evidence": row["evidence"],
            "labels": [
                {"old": old, "outcome": outcome, "event": event}
                for old, (outcome, event) in row["labels"].items()
            ],
        }
        for fact, row in made["verdicts"].items()
    }
    policies = {
        container: {**row, "parameters": row["parameters"].decode()}
        for container, row in made["policies"].items()
    }
    reviews = {fact: row["old"] for fact, row in made["reviews"].items()}
    return {
        "verdicts": verdicts,
        "reviews": reviews,
        "policies": policies,
        "unjudged": sorted(made["unjudged"]),
    }


class Ruled:
    """Reads the rows of one container; bodies are read from where their events lie."""

    def __init__(self, view: ContainerView, events: list[Recorded], body: BodyOf) -> None:
        self._view = view
        self._facts = facts_in(events)
        self._at = {r.envelope.event_id: r.position for r in events}
        self._body = body

    def verdicts(self, at: int | None) -> Dump:
        found: Dump = {}
        for fact in self._facts:
            row = self._view.verdict(fact, at)
            if row is not None:
                found[show(Kind.FACT, fact)] = self._verdict(row.state)
        return found

    def _verdict(self, row: Any) -> Dump:
        evidence = self._raw(row.evidence, row.at)
        return {
            "at": row.at,
            "event": show(Kind.EVENT, row.event),
            "policy": None if row.policy is None else show(Kind.EVENT, row.policy),
            "pairs": [
                [
                    show(Kind.FACT, pair.old),
                    pair.outcome.name.lower(),
                    pair.probability,
                    pair.leaning.name.lower(),
                ]
                for pair in row.pairs
            ],
            "judge": self._raw(row.judge, row.at),
            "evidence": None if evidence is None else read_value(evidence),
            "labels": {
                show(Kind.FACT, each.old): [
                    each.outcome.name.lower(),
                    show(Kind.EVENT, each.event),
                ]
                for each in row.labels
            },
        }

    def reviews(self, at: int | None) -> Dump:
        found: Dump = {}
        for fact in self._facts:
            row = self._view.review(fact, at)
            if row is not None:
                old = [show(Kind.FACT, raw) for raw in row.state.old]
                found[show(Kind.FACT, fact)] = {"at": row.state.at, "old": old}
        return found

    def policies(self, at: int | None) -> Dump:
        row = self._view.policy(at)
        if row is None:
            return {}
        parameters = self._raw(row.parameters, self._at[row.event])
        told = {"event": show(Kind.EVENT, row.event), "parameters": parameters}
        return {str(Ref(Kind.CONTAINER, self._view.id)): told}

    def _raw(self, body: Body | None, position: int) -> bytes | None:
        return None if body is None else self._body(body.place(position))
