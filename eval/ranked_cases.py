"""Questions of public sets as the ranker sees them: candidates with their features, and the gold.

Stores are filled once (`eval.retrieval` does it) and kept in a folder: embedding takes minutes.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eval.corpora import Question, Unit, corpus, questions, stamp
from eval.opening import Callers, opened
from eval.retrieval import fill, settle
from rewound.memory import Memory, deciding
from rewound.memory.models import Models
from rewound.projections.ordering import Candidates, candidates
from rewound.projections.search import Hits, begin
from rewound.projections.selection import Criteria

SETS = ("locomo", "lme_pool", "beam_100k", "docs_claude", "locomo_facts")
"""The last one is the first again, every turn a fact of its own: no conversation helps."""
FOLDS = 5
_FACTS = "locomo_facts"
_WHOLE_GROUPS = frozenset({"locomo", "locomo_facts", "beam_100k"})
"""Sets whose folds are conversations; the others have one container, and folds of questions."""

Floats = npt.NDArray[np.float64]


class Case(NamedTuple):
    """One question and the candidates for it, with meaning or by words alone."""

    set: str
    fold: int
    question: Question
    rows: Floats
    """Features, shape (units, features)."""
    reached: float
    names: tuple[str | None, ...]
    """The corpus id that each unit is of."""
    target: Floats
    """1 for the units that answer, shape (units,)."""


def filled(data: Path, name: str, stores: Path) -> Path:
    """The store of a set, filled when it is not there."""
    path = stores / name
    if not path.exists():
        with Memory(path, models=Models(judge="none")) as memory:
            if name == _FACTS:
                _remember(memory, corpus(data, _public(name)))
            else:
                fill(memory, corpus(data, name), documents=name == "docs_claude")
            settle(memory)
    return path


def _public(name: str) -> str:
    """The name of the data set."""
    return name.removesuffix("_facts")


def _remember(memory: Memory, units: Sequence[Unit]) -> None:
    for unit in units:
        text = f"{unit.who}: {unit.text}" if unit.who else unit.text
        memory.container(unit.group).remember(
            text, said_at=stamp(unit.time), metadata={"unit": unit.id}
        )


def cases(data: Path, name: str, stores: Path, *, meaning: bool) -> list[Case]:
    """All questions of a set. With the models that are shipped; nothing is written."""
    asked = list(questions(data, _public(name)))
    groups = sorted({question.group for question in asked})
    found = []
    with opened(filled(data, name, stores)) as store:
        engine = store.engine
        for number, group in enumerate(groups):
            mine = [question for question in asked if question.group == group]
            vectors = {q.id: engine.meaning.of(q.text) if meaning else None for q in mine}
            with engine.reading() as views:
                home = deciding.container_named(views.log, group)
                assert home is not None, f"{group} is not in the store of {name}"
                view = views.container(home)
                criteria = Criteria(now=engine.clock.now_us())
                callers = Callers(view)
                for question in mine:
                    begun = begin(view, question.text, criteria, vectors[question.id])
                    if isinstance(begun, Hits):
                        continue
                    near = candidates(begun.selected, begun.scores, begun.query, begun.reach)
                    names = tuple(callers.of(begun.selected.columns, unit) for unit in near.units)
                    fold = number if name in _WHOLE_GROUPS else _hashed(question.id)
                    found.append(_case(name, fold % FOLDS, question, near, names))
    return found


def _case(
    name: str, fold: int, question: Question, near: Candidates, names: tuple[str | None, ...]
) -> Case:
    gold = set(question.gold)
    target = np.array([float(unit in gold) for unit in names])
    return Case(name, fold, question, near.rows, near.reached, names, target)


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def ranking(case: Case, scores: Floats) -> Iterator[str]:
    """The names of the units, best first, each once."""
    order = np.argsort(-scores, kind="stable")
    names = (case.names[at] for at in order.tolist())
    return iter(dict.fromkeys(name for name in names if name))
