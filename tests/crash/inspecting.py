"""What must be true of a store after its processes died: everything told, once, and all agrees."""

from collections import Counter
from pathlib import Path

from rewound.eventlog import events as e
from rewound.eventlog.ids import Kind, show
from tests.crash.journal import Told, read
from tests.crash.writer import CONTAINER
from tests.oracle.compare import same
from tests.oracle.effect import Texts
from tests.property import checks
from tests.property.driver import Driver


class Store:
    """A store whose processes are all dead, opened to look at it."""

    def __init__(self, data: Path) -> None:
        self.driver = Driver(data, durable=True, guarded=False)
        self.known = CONTAINER in self.driver.names()

    def close(self) -> None:
        self.driver.close()

    def whole(self, *, anew: bool = False) -> None:
        """The log is intact, and the views hold what it says."""
        checks.chain_law(self.driver)
        if not self.known:
            return
        dump = self.driver.dump(CONTAINER)
        wanted = self.driver.oracle(CONTAINER, by_tag=True)
        same(dump, wanted, "durability: views against the log")
        if anew:
            with self.driver.beside() as other:
                same(other.dump(CONTAINER), dump, "durability: views from scratch")

    def wordings(self) -> Counter[str]:
        """How often each fact's text was stated."""
        texts = Texts(self.driver.bodies(CONTAINER))
        found: Counter[str] = Counter()
        for r in self.driver.events(CONTAINER):
            if isinstance(r.event, e.FactRemembered | e.FactEdited):
                text = texts.text(r.event.statement.text, r.position)
                found[text or ""] += 1
        return found

    def keeps(self, journals: Path) -> int:
        """All that the writers were told is there, once. Returns how many answers were checked."""
        if not self.known:
            assert not any(Told(read(path)).answers for path in journals.iterdir())
            return 0
        events = {
            show(Kind.EVENT, r.envelope.event_id): r.position for r in self.driver.events(CONTAINER)
        }
        dump, wordings = self.driver.dump(CONTAINER), self.wordings()
        doubled = [text for text, times in wordings.items() if times > 1]
        assert not doubled, f"stated more than once: {doubled[:5]}"
        checked = 0
        for path in sorted(journals.iterdir()):
            told = Told(read(path))
            assert not told.faults, f"{path.stem} was shown {told.faults[:3]}"
            pending = {line.fact for line in told.unanswered}
            for answer in told.answers.values():
                assert events.get(answer.event, answer.position + 1) <= answer.position, (
                    f"{path.stem}: the event of {answer} is not in the log"
                )
            for fact, tries in told.facts.items():
                if fact not in pending:
                    self._stands(dump, told, tries)
            checked += len(told.answers)
        return checked

    @staticmethod
    def _stands(
        dump: dict[str, dict[str, dict[str, object]]], told: Told, tries: list[int]
    ) -> None:
        """A fact is as the last answered command left it."""
        last, first = told.tries[tries[-1]], told.answers[tries[0]]
        item = told.answers[tries[-1]].id
        row = dump["facts"].get(item)
        if last.action == "undo":
            assert row is None, f"{last} was told to be undone, and is there"
        elif last.action == "forget":
            assert {item, first.id} <= set(dump["hidden"]), f"{last} was told to be hidden"
        else:
            assert row is not None, f"{last} was acknowledged and is lost"
            assert (row["text"], row["ended"]) == (last.text, None), f"{last} reads {row}"
            assert item not in dump["hidden"]
