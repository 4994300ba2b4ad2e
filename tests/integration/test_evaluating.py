"""Runs over the set that the repository keeps: equal each time, and no worse than recorded."""

from pathlib import Path

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.memory.evaluating import MARK, run
from rewound.memory.models import NO_MODELS, Models
from rewound.memory.question_set import QuestionSet, read
from rewound.memory.scoring import compare, read_figures
from tests.unit.test_question_set import FIGURES, SET

K = 5
QUICK = Models(embedder="hashing", extractor="rules", judge="rules")
SHIPPED = Models(embedder="minilm", extractor="rules", judge="rules")


@pytest.fixture(scope="module")
def some() -> QuestionSet:
    """The first sessions and documents of the set, and what is asked of them."""
    whole = read(SET)
    sessions, documents = whole.sessions[:5], whole.documents[:1]
    ids = {message.id for session in sessions for message in session.messages}
    ids |= {document.id for document in documents}
    asked = tuple(q for q in whole.questions if {*q.gold, *q.older} <= ids)
    return msgspec.structs.replace(whole, sessions=sessions, documents=documents, questions=asked)


def test_two_runs_give_the_same_figures(some: QuestionSet, tmp_path: Path) -> None:
    first = run(some, tmp_path / "one", k=K, models=QUICK)
    second = run(some, tmp_path / "two", k=K, models=QUICK)
    assert first.measured == second.measured
    assert first.measured.total.recall is not None and first.measured.total.recall > 0.3
    assert first.measured.total.tokens > 100
    assert set(first.measured.kinds) == set(some.kinds)
    assert 0 < first.p50_ms <= first.p95_ms


def test_a_kept_store_is_not_filled_again(some: QuestionSet, tmp_path: Path) -> None:
    first = run(some, tmp_path / "kept", k=K, models=NO_MODELS)
    with Memory(tmp_path / "kept", "eval", models=NO_MODELS) as memory:
        before = memory.stats().events
    again = run(some, tmp_path / "kept", k=K, models=NO_MODELS)
    with Memory(tmp_path / "kept", "eval", models=NO_MODELS) as memory:
        assert memory.stats().events == before
    assert again.measured == first.measured


def test_a_store_of_something_else_is_left_alone(some: QuestionSet, tmp_path: Path) -> None:
    with Memory(tmp_path / "mine", models=NO_MODELS) as memory:
        memory.remember("Nina works at Orbit Labs.")
    with pytest.raises(InvalidInput, match="a store of its own") as caught:
        run(some, tmp_path / "mine", k=K, models=NO_MODELS)
    assert caught.value.field == "store"
    assert not (tmp_path / "mine" / MARK).exists()
    run(some, tmp_path / "other", k=K, models=NO_MODELS)
    with pytest.raises(InvalidInput, match="a store of another set"):
        changed = msgspec.structs.replace(some, sha256="ab")
        run(changed, tmp_path / "other", k=K, models=NO_MODELS)


@pytest.mark.slow
@pytest.mark.soak
def test_no_figure_is_worse_than_recorded(tmp_path: Path) -> None:
    """After a gain, record anew: docs/evaluation.md tells how."""
    now = run(read(SET), tmp_path / "store", k=K, models=SHIPPED)
    losses = compare(now.measured, read_figures(FIGURES))
    assert not losses, "\n".join(map(str, losses))
