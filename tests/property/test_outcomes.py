"""What a verdict or a person says of two facts holds of them, and nothing else ends a fact.

Facts are told and judged at random, labels are given and verdicts renewed; nothing is undone or
forgotten in between. Then each fact stands as the last word on its pairs says.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from rewound.eventlog import events as e
from rewound.llm.policy import Ruling
from rewound.memory import requests
from rewound.memory.deciding import Judge, Ruled
from tests.oracle.fold import Dump
from tests.property.choices import Choices, Seeded, chance, one
from tests.property.desk import fact_id
from tests.property.driver import Driver
from tests.property.ruling import NAMES
from tests.scratch import IN_MEMORY

NAME = "alpha"
FACTS = 4
SAID = ("2020-01-01T00:00:00Z", "2023-01-01T00:00:00Z")
ENDINGS = ("updates", "corrects")


class Town:
    """A store with some facts, by number, and short words for what is done to them."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.facts: list[str] = []
        self.done: list[str] = []

    def tell(self, said_at: str | None = None) -> int:
        fact = requests.NewFact(text=f"Ann knows person{len(self.facts)}", said_at=said_at)
        reply = self.driver.call(requests.Remember(container=NAME, facts=(fact,)))
        self.facts.append(reply.items[0].id)
        return len(self.facts) - 1

    def judge(self, new: int, *pairs: tuple[int, str], again: bool = False) -> None:
        self.done.append(f"judge {new} {pairs}")
        found: list[Ruled] = []
        for old, word in pairs:
            outcome = e.Outcome[word.upper()]
            leaning = e.Outcome.UPDATES if outcome is e.Outcome.REVIEW else outcome
            found.append(Ruled(fact_id(self.facts[old]), Ruling(outcome, 900, leaning), {"x": 1}))
        home = self.driver.container(NAME)
        self.driver.judge(Judge(home, fact_id(self.facts[new]), found, "rules/1", again=again))

    def label(self, new: int, old: int, outcome: requests.OutcomeName) -> None:
        self.done.append(f"label {new} {old} {outcome}")
        label = requests.NewLabel(fact=self.facts[new], old=self.facts[old], outcome=outcome)
        self.driver.call(requests.Label(container=NAME, labels=(label,)))

    def ended(self) -> dict[int, tuple[int, str]]:
        """Facts that have ended: by which, and how."""
        found: dict[int, tuple[int, str]] = {}
        for number, fact in enumerate(self.facts):
            ended = self.driver.oracle(NAME)["facts"][fact]["ended"]
            if ended:
                how = "corrects" if ended["corrects"] else "updates"
                how = "duplicate" if ended["repeats"] else how
                found[number] = self.facts.index(ended["by"]), how
        return found


@contextmanager
def town(facts: int = 0) -> Iterator[Town]:
    folder = Path(tempfile.mkdtemp(dir=IN_MEMORY))
    driver = Driver(folder / "store", durable=False)
    try:
        made = Town(driver)
        for _ in range(facts):
            made.tell()
        yield made
    finally:
        driver.close()
        shutil.rmtree(folder)


def invent(c: Choices, made: Town, words: tuple[str, ...]) -> None:
    """Facts, each judged as it comes; then second thoughts."""
    pairs: dict[int, list[int]] = {}
    for new in range(FACTS):
        made.tell(one(c, SAID) if chance(c, 25) else None)
        olds = [old for old in range(new) if chance(c, 60)]
        made.judge(new, *((old, one(c, words)) for old in olds))
        pairs[new] = olds
    judged = [(new, old) for new, olds in pairs.items() for old in olds]
    for _ in range(c.below(4) if judged else 0):
        new, old = one(c, judged)
        if chance(c, 60):
            made.label(new, old, one(c, [name for name in NAMES if name in words]))
        else:
            made.judge(new, *((each, one(c, words)) for each in pairs[new]), again=True)


def words_of(dump: Dump) -> dict[tuple[str, str], str]:
    """The last word on each judged pair."""
    return {
        (new, old): row["labels"][old][0] if old in row["labels"] else outcome
        for new, row in dump["verdicts"].items()
        for old, outcome, *_ in row["pairs"]
    }


@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=25)
def test_links_and_endings_are_as_was_said(seed: int) -> None:
    with town() as made:
        invent(Seeded(seed), made, ("updates", "corrects", "extends", "distinct", "review"))
        note(f"{made.facts}: {made.done}")
        dump = made.driver.oracle(NAME)
        facts, said = dump["facts"], words_of(dump)
        for fact, row in facts.items():
            wanted = {old for (new, old), word in said.items() if (new, word) == (fact, "extends")}
            assert set(row["extends"]) == wanted, f"{fact} extends {row['extends']}"
        for (new, old), word in said.items():
            if word in ENDINGS:
                backfilled = word == "updates" and (
                    facts[new]["valid_from"] < facts[old]["valid_from"]
                )
                gone = new if backfilled else old
                assert facts[gone]["ended"], f"{gone} stands, although {new} {word} {old}"


@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=25)
def test_a_fact_that_no_word_ends_stands(seed: int) -> None:
    with town() as made:
        invent(Seeded(seed), made, ("updates", "corrects", "extends", "distinct", "review"))
        note(f"{made.facts}: {made.done}")
        dump = made.driver.oracle(NAME)
        touched = {
            fact for pair, word in words_of(dump).items() for fact in pair if word in ENDINGS
        }
        ended = {fact for fact, row in dump["facts"].items() if row["ended"]}
        assert ended <= touched, f"{sorted(ended - touched)} ended, and no pair says so"


# --- by hand


def test_a_word_against_the_middle_of_a_chain_parts_it() -> None:
    """2 took the place of 1 and of what lay before it; now 0 does not lie before it."""
    with town(3) as made:
        made.judge(1, (0, "updates"))
        made.judge(2, (1, "updates"))
        assert made.ended() == {0: (1, "updates"), 1: (2, "updates")}
        made.label(1, 0, "distinct")
        assert made.ended() == {1: (2, "updates")}


def test_a_word_against_one_of_two_endings_leaves_the_other() -> None:
    with town(3) as made:
        made.judge(1, (0, "updates"))
        made.judge(2, (0, "updates"), (1, "updates"))
        made.label(2, 1, "distinct")
        assert made.ended()[0] in ((1, "updates"), (2, "updates"))
        assert 1 not in made.ended() and 2 not in made.ended()
        made.label(1, 0, "distinct")
        assert made.ended() == {0: (2, "updates")}


@pytest.mark.parametrize("first", ["updates", "corrects", "extends", "distinct", "review"])
@pytest.mark.parametrize("then", NAMES)
def test_a_label_makes_its_outcome_hold(first: str, then: requests.OutcomeName) -> None:
    with town(2) as made:
        made.judge(1, (0, first))
        made.label(1, 0, then)
        gone = {"updates": {0: (1, "updates")}, "corrects": {0: (1, "corrects")}}
        assert made.ended() == {**gone, "duplicate": {1: (0, "duplicate")}}.get(then, {})
        assert made.driver.oracle(NAME)["facts"][made.facts[1]]["extends"] == (
            [made.facts[0]] if then == "extends" else []
        )


def test_what_is_told_late_finds_its_place() -> None:
    with town(1) as made:
        made.tell(SAID[0])
        made.judge(1, (0, "updates"))
        assert made.ended() == {1: (0, "updates")}
        made.label(1, 0, "corrects")
        assert made.ended() == {0: (1, "corrects")}


def test_a_repeat_of_a_repeat_repeats_the_first() -> None:
    with town(3) as made:
        made.judge(1, (0, "duplicate"))
        made.judge(2, (1, "duplicate"))
        assert made.ended() == {1: (0, "duplicate"), 2: (0, "duplicate")}
        made.label(1, 0, "distinct")
        assert 1 not in made.ended()
