"""Haystacks are the same in every run, hold the evidence, and are counted rightly."""

from pathlib import Path

import pytest

from eval.corpora import Question, Unit
from eval.haystacks import Tally, ask, asked, haystack, prepared, rank, session_of, tag_of
from rewound.memory import Memory
from rewound.memory.models import Models

POOL = [f"s{number}" for number in range(100)]


def question(name: str, *gold: str, text: str = "Who?") -> Question:
    return Question(id=name, group="pool", type="multi", text=text, gold=gold)


def test_a_haystack_holds_the_evidence_among_others() -> None:
    one = haystack(question("a", "s3#1", "s3#2", "s8#0"), POOL, 48)
    assert len(one) == 48 and {"s3", "s8"} <= one <= set(POOL)
    assert one == haystack(question("a", "s3#1", "s3#2", "s8#0"), reversed(POOL), 48)
    assert one != haystack(question("b", "s3#1", "s3#2", "s8#0"), POOL, 48)


def test_a_pool_may_be_smaller_than_a_haystack() -> None:
    assert haystack(question("a", "s1#0"), POOL[:5], 48) == set(POOL[:5])


def test_shares_and_hits_are_told_for_each_cut() -> None:
    tally = Tally()
    tally.add(["a", "b"], ["x", "a", "x", "x", "x", "b"])
    tally.add(["a"], ["x", "a"])
    assert tally.means() == [0.75, 1.0, 1.0, 1.0]
    assert len(tally) == 2


def test_only_the_haystack_is_searched(tmp_path: Path) -> None:
    """Also for what a fact says that was said elsewhere too."""
    units = [
        Unit(id=f"s{number}#0", group="pool", session=f"s{number}", who="user", text=text)
        for number, text in enumerate(
            ["I live in Rome.", "I live in Rome.", "My sister lives in Rome.", "I like Rome."]
        )
    ]
    one, other = question("a", "s1#0", text="Rome"), question("b", "s2#0", text="Rome")
    piles = {tag_of(one): frozenset({"s1", "s3"}), tag_of(other): frozenset({"s2"})}
    models = Models(embedder="none", extractor="rules", judge="rules")
    with Memory(tmp_path / "store", models=models) as memory:
        assert prepared(memory, units, piles) > 3
        assert prepared(memory, units, piles) == 0, "all is marked already"
        home = memory.container("pool")
        assert set(ask(home, one, piles[tag_of(one)])) == {"s1#0", "s3#0"}
        assert ask(home, other, piles[tag_of(other)]) == ["s2#0"]


def test_names_are_taken_apart_and_ranked_alike() -> None:
    assert session_of("answer_4be1b6b4_2#10") == "answer_4be1b6b4_2"
    assert rank("a", "b") == rank("a", "b") != rank("ab")


def test_a_sample_is_the_same_each_time() -> None:
    data = Path(__file__).resolve().parents[3] / "shared/data"
    if not (data / "lme_pool").is_dir():
        pytest.skip("the public data sets are not here (../shared/data)")
    some = asked(data, 5)
    assert [one.id for one in some] == [one.id for one in asked(data, None)[:5]]
    assert all(one.gold for one in some)
