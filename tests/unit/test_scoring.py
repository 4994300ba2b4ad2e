"""The figures of a run, and what counts as a loss."""

from pathlib import Path

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory.question_set import Question
from rewound.memory.scoring import (
    Answer,
    Measured,
    Scores,
    compare,
    read_figures,
    score,
    write_figures,
)


def answer(
    *hits: str, gold: tuple[str, ...] = ("a",), older: tuple[str, ...] = (), tokens: int = 100
) -> Answer:
    """Hits are told by the letters of what they come from: `ab` is one that comes from two."""
    question = Question(id="q", kind="name", question="Who?", gold=gold, older=older)
    return Answer(question=question, hits=tuple(map(frozenset, hits)), tokens=tokens, took_ms=1.0)


def test_recall_is_the_share_of_what_answers_among_the_first_hits() -> None:
    assert score([answer("x", "a")], 2).recall == 1.0
    assert score([answer("x", "a")], 1).recall == 0.0
    assert score([answer("x", "a", "y", gold=("a", "b"))], 5).recall == 0.5
    assert score([answer("xab", gold=("a", "b"))], 5).recall == 1.0
    assert score([answer("a"), answer("x")], 5).recall == 0.5


def test_the_first_hit_that_answers_makes_the_reciprocal_rank() -> None:
    assert score([answer("x", "b", "a", gold=("a", "b"))], 5).reciprocal_rank == 0.5
    assert score([answer("x", "y", "a")], 2).reciprocal_rank == 0.0
    assert score([answer("a"), answer("x", "x", "x", "a")], 5).reciprocal_rank == 0.625


def test_the_present_answer_is_to_come_before_any_older_one() -> None:
    for hits, first in (
        (("a", "o"), 1.0),
        (("x", "a"), 1.0),
        (("o", "a"), 0.0),
        (("ao",), 0.0),
        (("x", "o"), 0.0),
        (("x",), 0.0),
        ((), 0.0),
    ):
        assert score([answer(*hits, older=("o",))], 5).newest_first == first, hits


def test_a_question_without_an_answer_is_answered_by_nothing() -> None:
    answers = [answer(gold=()), answer("x", gold=()), answer("a")]
    scores = score(answers, 5)
    assert (scores.nothing_found, scores.recall) == (0.5, 1.0)


def test_what_cannot_be_told_is_none() -> None:
    able = score([answer("a", tokens=50), answer("a", tokens=100)], 5)
    assert (able.questions, able.newest_first, able.nothing_found) == (2, None, None)
    assert able.tokens == 75.0
    unable = score([answer(gold=())], 5)
    assert (unable.recall, unable.reciprocal_rank) == (None, None)


# --- comparing


def measured(*, total: Scores | None = None, **kinds: Scores) -> Measured:
    return Measured(
        dataset="set.jsonl",
        sha256="ab",
        k=5,
        models={"embedder": "none", "extractor": "rules", "judge": "rules"},
        total=total or Scores(questions=20, recall=0.5, reciprocal_rank=0.5),
        kinds=kinds,
    )


def test_a_run_is_no_loss_against_itself() -> None:
    same = measured(name=Scores(questions=4, recall=0.5, newest_first=0.5, nothing_found=0.5))
    assert compare(same, same) == ()


@pytest.mark.parametrize("figure", ["recall", "reciprocal_rank", "newest_first", "nothing_found"])
def test_each_figure_can_be_lost(figure: str) -> None:
    whole = Scores(questions=20, recall=0.5, reciprocal_rank=0.5, newest_first=0.5)
    whole = msgspec.structs.replace(whole, nothing_found=0.5)
    before = measured(total=whole)
    for now, lost in ((0.52, False), (0.495, False), (0.48, True)):
        after = measured(total=msgspec.structs.replace(whole, **{figure: now}))
        told = [
            (loss.kind, loss.figure, loss.recorded, loss.now) for loss in compare(after, before)
        ]
        assert told == ([("all", figure, 0.5, now)] if lost else [])


def test_a_kind_may_lose_one_question() -> None:
    before = measured(name=Scores(questions=10, recall=0.8))
    assert compare(measured(name=Scores(questions=10, recall=0.7)), before) == ()
    (loss,) = compare(measured(name=Scores(questions=10, recall=0.6)), before)
    assert (loss.kind, loss.figure, loss.allowed) == ("name", "recall", 0.1)


def test_times_and_tokens_are_not_compared() -> None:
    before = measured(total=Scores(questions=20, recall=0.5, tokens=100))
    assert compare(measured(total=Scores(questions=20, recall=0.5, tokens=900)), before) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"k": 10}, "are of k 5, this run is of 10"),
        ({"sha256": "cd"}, "are of sha256 ab, this run is of cd"),
        ({"models": {"embedder": "minilm"}}, "embedder none, .* this run is of embedder minilm"),
    ],
)
def test_runs_that_were_not_alike_are_not_compared(changed: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        compare(msgspec.structs.replace(measured(), **changed), measured())


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    figures = measured(name=Scores(questions=4, recall=0.25))
    write_figures(path, figures)
    assert read_figures(path) == figures


@pytest.mark.parametrize("content", [b"", b"[]", b'{"k": 5}', b"\xff"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "figures.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"figures\.json holds no figures"):
        read_figures(path)
