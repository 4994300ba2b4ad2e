"""A writer that is made to be killed: `python -m tests.crash.writer DATA JOURNAL SEED [SECONDS]`.

It remembers, updates, forgets and undoes facts of its own, one command at a time, and asks for what
it just wrote. Everything goes into its journal; it ends by itself only when its seconds are over.
"""

import random
import sys
import time
from pathlib import Path

from rewound.eventlog.errors import RewoundError
from rewound.memory.library import Memory
from tests.crash.journal import Answer, Fault, Journal, Try

CONTAINER = "alpha"


class Writer:
    """One process's share of a writer's life."""

    def __init__(self, memory: Memory, journal: Journal, seed: str) -> None:
        self.memory = memory
        self.journal = journal
        self.name = journal.path.stem
        self.told = journal.told
        self.random = random.Random(f"{seed}-{self.name}-{len(self.told.tries)}")
        self.shown: list[int] = []

    def shows(self, fact: int) -> bool:
        """Whether a fact of our own is there to be changed."""
        last = self.told.tries[self.told.facts[fact][-1]]
        return last.action in ("remember", "update")

    def begin(self) -> None:
        """Send again what the last process got no answer to."""
        for line in self.told.unanswered:
            self.send(line)
        self.shown = [fact for fact in self.told.facts if self.shows(fact)]

    def step(self) -> None:
        line = self.next_try(len(self.told.tries))
        self.journal.add(line)
        self.send(line)
        if self.random.random() < 0.3 and line.action in ("remember", "update"):
            self.look(line)

    def next_try(self, number: int) -> Try:
        text = f"fact wordq{number} of {self.name}"
        key = f"{self.name}-{number}"
        roll = self.random.random()
        if self.shown and roll < 0.35:
            at = self.random.randrange(len(self.shown))
            fact = self.shown[at]
            if roll < 0.15:
                return Try(number, "update", fact, text, key)
            self.shown[at] = self.shown[-1]
            self.shown.pop()
            fresh = len(self.told.facts[fact]) == 1
            return Try(number, "undo" if fresh and roll < 0.25 else "forget", fact, "", key)
        self.shown.append(number)
        return Try(number, "remember", number, text, key)

    def send(self, line: Try) -> None:
        try:
            self.journal.add(self.answer(line))
        except RewoundError as error:
            self.journal.add(Fault(line.number, f"{line.action}: {error.code}: {error.message}"))
            raise SystemExit(3) from error

    def answer(self, line: Try) -> Answer:
        memory, made = self.memory, self.told.answers.get(line.fact)
        if line.action == "remember":
            written = memory.remember(line.text, key=line.key)
            item = written.items[0]
            assert item.id is not None and item.event is not None
            return Answer(line.number, item.id, item.event, written.position)
        assert made is not None
        match line.action:
            case "update":
                written = memory.update(made.id, text=line.text, key=line.key)
                item = written.items[0]
                assert item.id is not None and item.event is not None
                return Answer(line.number, item.id, item.event, written.position)
            case "forget":
                forgot = memory.forget(made.id, key=line.key)
                return Answer(line.number, made.id, forgot.events[0], forgot.position)
            case "undo":
                undid = memory.undo(made.event, key=line.key)
                assert undid.event is not None
                return Answer(line.number, made.id, undid.event, undid.position)

    def look(self, line: Try) -> None:
        """What was acknowledged is found at once."""
        try:
            hits = self.memory.search(line.text, limit=5).hits
        except RewoundError as error:
            self.journal.add(Fault(line.number, f"search: {error.code}: {error.message}"))
            return
        if line.text not in [hit.text for hit in hits]:
            self.journal.add(Fault(line.number, f"{line.text!r} was not found just after writing"))


def main() -> None:
    data, journal, seed, *seconds = sys.argv[1:]
    until = time.monotonic() + float(seconds[0]) if seconds else float("inf")
    with Memory(data, CONTAINER) as memory:
        writer = Writer(memory, Journal(Path(journal)), seed)
        writer.begin()
        while time.monotonic() < until:
            writer.step()


if __name__ == "__main__":
    main()
