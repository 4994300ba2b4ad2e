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
from rewound.memory.evaluating import CONTAINER
from rewound.memory.models import Models
from rewound.memory.question_set import read
from rewound.projections.ordering import Candidates, candidates
from rewound.projections.relevance import Evidence
from rewound.projections.search import Hits, begin
from rewound.projections.selection import Criteria

SETS = ("locomo", "lme_pool", "beam_100k", "docs_claude", "locomo_facts")
"""The last one is the first again, every turn a fact of its own: no conversation helps."""
FOLDS = 5
OWN = "own"
"""The set in this repository, which no fit sees. Its store is filled by `rewound eval --dataset
eval/datasets/questions.jsonl --store STORES/own`."""

STRANGER = "stranger"
STRANGERS = 60
"""So many questions of each other set are asked where nothing can answer them."""
_FACTS = "locomo_facts"
_OWN_FILE = Path(__file__).parent / "datasets" / "questions.jsonl"
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
    evidence: Evidence

    @property
    def stranger(self) -> bool:
        """Whether the question was made for another set or conversation."""
        return self.question.type == STRANGER


def filled(data: Path, name: str, stores: Path) -> Path:
    """The store of a set, filled when it is not there."""
    path = stores / name
    if not path.exists():
        assert name != OWN, "`rewound eval` fills it"
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


def _questions(data: Path, name: str) -> list[Question]:
    if name != OWN:
        return questions(data, _public(name))
    return [
        Question(one.id, CONTAINER, one.kind, one.question, one.gold, abstain=not one.gold)
        for one in read(_OWN_FILE).questions
    ]


def _remember(memory: Memory, units: Sequence[Unit]) -> None:
    for unit in units:
        text = f"{unit.who}: {unit.text}" if unit.who else unit.text
        memory.container(unit.group).remember(
            text, said_at=stamp(unit.time), metadata={"unit": unit.id}
        )


def cases(data: Path, name: str, stores: Path, *, meaning: bool) -> list[Case]:
    """All questions of a set. With the models that are shipped; nothing is written."""
    asked = _questions(data, name)
    return _asked(asked, data, name, stores, meaning=meaning)


def strangers(data: Path, name: str, stores: Path, *, meaning: bool) -> list[Case]:
    """Questions that were made for other sets, or for other conversations of this one, asked of a
    set: it never heard of what they are about. Digests of their ids tell which. Those that find
    nothing at all are left out."""
    own = _public(name)
    groups = sorted({question.group for question in _questions(data, own)})
    asked = []
    for other in dict.fromkeys(map(_public, SETS)):
        drawn = sorted(questions(data, other), key=lambda one: _hashed(one.id + name))
        for one in drawn[:STRANGERS]:
            homes = [group for group in groups if other != own or group != one.group]
            if homes:
                home = homes[_hashed(one.id) % len(homes)]
                asked.append(Question(f"{other} {one.id}", home, STRANGER, one.text, abstain=True))
    found = _asked(asked, data, name, stores, meaning=meaning)
    return [case for case in found if len(case.rows)]


def _asked(
    asked: Sequence[Question], data: Path, name: str, stores: Path, *, meaning: bool
) -> list[Case]:
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
    return Case(name, fold, question, near.rows, near.reached, names, target, near.evidence)


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def ranking(case: Case, scores: Floats) -> Iterator[str]:
    """The names of the units, best first, each once."""
    order = np.argsort(-scores, kind="stable")
    names = (case.names[at] for at in order.tolist())
    return iter(dict.fromkeys(name for name in names if name))
