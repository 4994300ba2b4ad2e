"""Facts with subject, attribute and value in a few words, and random lives of them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rewound.eventlog.errors import RewoundError
from rewound.memory import Memory
from rewound.memory import requests as q
from rewound.memory.replies import View
from tests.integration.given import HandClock
from tests.property.driver import Driver

NOW_US = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z."""


@contextmanager
def memory_at(folder: Path, **more: Any) -> Iterator[Memory]:
    with Memory(folder, clock=HandClock(NOW_US), **more) as memory:
        yield memory


def state(
    memory: Memory, subject: str, attribute: str | None, value: str | None, **more: Any
) -> str:
    """One fact; its id."""
    text = more.pop("text", f"{subject}: {attribute} {value}, {more.get('valid_from', 'now')}.")
    written = memory.remember(text, subject=subject, attribute=attribute, value=value, **more)
    fact = written.items[0].id
    assert fact is not None
    return fact


def stands(view: View) -> str:
    """`current`, or why a fact does not stand."""
    assert view.standing is not None, "every fact stands somehow"
    return view.standing.state


SUBJECTS = ("Nina", "nina", "the Orbit", "Orbit", "Ann Berg")
ATTRIBUTES = ("works at", "Works at", "lives in", None)
VALUES = ("Orbit", "an orbit", "Rome", "Ann Berg", "31", None)
TIMES = (None, None, "2024-03", "2025-01-15", "2025-11-02T10:00:00Z", "2027-01-01")


def live(driver: Driver, name: str, seed: int, steps: int = 40) -> None:
    """Random facts, and what becomes of them: new versions, forgetting, restoring, undoing."""
    chance = random.Random(seed)
    written: list[str] = []
    events: list[str] = []

    def tell(request: Any) -> None:
        driver.clock.at += 3_600_000_000
        try:
            reply = driver.call(request)
        except RewoundError:
            return  # refused: it was forgotten, undone or has dependents
        for item in getattr(reply, "items", ()):
            written.extend([item.id] if getattr(item, "id", None) else [])
            events.extend([item.event] if getattr(item, "event", None) else [])
        events.extend([reply.event] if getattr(reply, "event", None) else [])

    for step in range(steps):
        it: dict[str, Any] = {"container": name}
        what = chance.random() if written else 0.0
        if what < 0.5:
            fields: dict[str, Any] = {
                "subject": chance.choice(SUBJECTS),
                "attribute": chance.choice(ATTRIBUTES),
                "value": chance.choice(VALUES),
                "valid_from": chance.choice(TIMES),
            }
            text = f"Statement {step} of Nina and Orbit."
            tell(q.Remember(facts=(q.NewFact(text=text, **fields),), **it))
        elif what < 0.7:
            begins = chance.choice(TIMES)
            wrong = chance.random() < 0.3
            fact = chance.choice(written)
            tell(q.Update(id=fact, text=f"V{step}.", valid_from=begins, corrects=wrong, **it))
        elif what < 0.8:
            tell(q.Forget(ids=(chance.choice(written),), **it))
        elif what < 0.85:
            tell(q.Restore(ids=(chance.choice(written),), **it))
        else:
            tell(q.Undo(id=chance.choice(events), cascade=True, **it))


_OWN = {"work": q.Bucket(), "orbit": q.Bucket(query="Orbit"), "facts": q.Bucket(kinds=("fact",))}


def asked(name: str, as_of: str | None = None) -> list[q.Read]:
    """Timelines and graphs that between them say all that those facts hold."""
    it: dict[str, Any] = {"container": name, "as_of": as_of}
    reads: list[q.Read] = [q.Timeline(subject=subject, **it) for subject in SUBJECTS]
    reads += [
        q.Timeline(subject="Nina", attribute="works at", **it),
        q.Timeline(subject="Nina", limit=2, **it),
        q.Timeline(subject="Nina", valid_at="2025-02", **it),
        q.Timeline(subject="Nina", include_forgotten=True, **it),
        q.Timeline(subject="Statement", **it),
        q.Graph(entity="Nina", **it),
        q.Graph(entity="Nina", depth=3, **it),
        q.Graph(entity="Nina", depth=2, limit=3, **it),
        q.Graph(entity="Nina", valid_at="2025-02", **it),
        q.Graph(entity="Nina", include_forgotten=True, **it),
        q.Graph(entity="Rome", to="Ann Berg", **it),
        q.Graph(entity="31", to="Rome", **it),
        q.Graph(entity="Berg", **it),
        q.Profile(**it),
        q.Profile(budget=150, days=400, subject="Nina", buckets=_OWN, **it),
    ]
    return reads
