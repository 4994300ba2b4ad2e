"""A run over a set of questions with known answers: a store is filled, and each question asked.

A hit is taken for the messages and documents that it comes from. The store is filled with its
workers paused, and by a clock that stands still, so that two runs do the same work in the same
order: all figures but the times of two runs are equal.
"""

import statistics
import time
from pathlib import Path

from rewound.eventlog.clock import Clock, SystemClock
from rewound.eventlog.errors import InvalidInput, StoreBusy
from rewound.memory.handle import Memory
from rewound.memory.models import Models
from rewound.memory.plurals import so_many
from rewound.memory.question_set import Question, QuestionSet
from rewound.memory.replies import Found, Reply, Working
from rewound.memory.scoring import Answer, Loss, Measured, score

CONTAINER = "eval"
"""Where the set is put in, in a store of its own."""

MARK = "questions.sha256"
"""A file beside the store that says which set it was filled with."""

_WAIT_S = 600


class Evaluated(Reply, frozen=True, kw_only=True):
    """How well a set of questions was answered, and what was lost since the figures of
    `compared_with`. Times are of one search each, in milliseconds."""

    measured: Measured
    p50_ms: float
    p95_ms: float
    compared_with: str | None = None
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()


class _Still:
    """A clock that stands still."""

    def __init__(self, at_us: int) -> None:
        self._at_us = at_us

    def now_us(self) -> int:
        return self._at_us


def run(asked: QuestionSet, data: Path, *, k: int, models: Models) -> Evaluated:
    """Fill the store in `data` with the set, ask every question, and tell the figures.

    A store that was filled with it before has it already: then nothing is put in again. Raises
    InvalidInput for a store of anything else, StoreBusy when the workers do not get through.
    """
    _claim(data, asked)
    clock: Clock = SystemClock() if asked.now_us is None else _Still(asked.now_us)
    with Memory(data, CONTAINER, clock=clock, models=models) as memory:
        memory.own()
        _fill(memory, asked)
        notes = _settle(memory)
        memory.search("anything")  # loads the model: no question is to wait for that
        answers = [_ask(memory, question, k) for question in asked.questions]
    took = sorted(answer.took_ms for answer in answers)
    kinds = {
        kind: score([answer for answer in answers if answer.question.kind == kind], k)
        for kind in asked.kinds
    }
    measured = Measured(
        dataset=asked.name,
        sha256=asked.sha256,
        k=k,
        models={
            "embedder": models.embedder,
            "extractor": models.extractor,
            "judge": models.judge,
        },
        total=score(answers, k),
        kinds=kinds,
    )
    p95 = took[min(len(took) - 1, len(took) * 95 // 100)]
    return Evaluated(measured=measured, p50_ms=statistics.median(took), p95_ms=p95, notes=notes)


def _claim(data: Path, asked: QuestionSet) -> None:
    """Mark the folder as this set's. Raises InvalidInput when there is another store in it."""
    mark = data / MARK
    told = mark.read_text(encoding="ascii", errors="replace").strip() if mark.is_file() else None
    if told is None and not (data / "log").exists():
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.write_text(f"{asked.sha256}\n", encoding="ascii")
    elif told != asked.sha256:
        of = "a store of its own" if told is None else "a store of another set"
        raise InvalidInput(f"{data} holds {of}: name a folder that is not there yet", field="store")


def _fill(memory: Memory, asked: QuestionSet) -> None:
    """Send all of the set. What was sent under the same key before changes nothing."""
    memory.workers("pause")
    for session in asked.sessions:
        key = f"{asked.sha256} session {session.id}"
        memory.add_messages(session.messages, conversation=session.id, key=key)
    for document in asked.documents:
        memory.ingest([document.sent()], key=f"{asked.sha256} document {document.id}")
    memory.workers("resume")


def _settle(memory: Memory) -> tuple[str, ...]:
    """Wait until the workers are through; notes of what they could not do."""
    standing = memory.workers("wait", timeout_s=_WAIT_S)
    left = _left(standing)
    while left:
        standing = memory.workers("wait", timeout_s=_WAIT_S)
        before, left = left, _left(standing)
        if left == before:
            told = " and ".join(f"{count} {what}" for what, count in left.items())
            raise StoreBusy(f"the workers do not get through: {told}; `rewound jobs` tells why")
    failed = standing.failed + standing.parked
    return (f"no facts could be drawn from {so_many(failed, 'text')}",) if failed else ()


def _left(standing: Working) -> dict[str, int]:
    """What still waits for a model that there is."""
    counts = {
        "texts wait for facts": (standing.extractor, standing.pending),
        "texts wait for vectors": (standing.embedder, standing.unembedded),
        "facts wait for a verdict": (standing.judge, standing.unjudged),
    }
    return {what: count for what, (model, count) in counts.items() if model and count}


def _ask(memory: Memory, question: Question, k: int) -> Answer:
    begun = time.perf_counter()
    found = memory.search(question.question, limit=k)
    took_ms = (time.perf_counter() - begun) * 1000
    packed = memory.context(question.question)
    return Answer(
        question=question,
        hits=() if told_nothing(found) else tuple(map(frozenset, _origins(found))),
        tokens=packed.tokens,
        took_ms=took_ms,
    )


def told_nothing(found: Found) -> bool:
    """Whether the reply says that nothing fits."""
    return found.nothing_relevant


def _origins(found: Found) -> list[set[str]]:
    """For each hit the callers' ids of the messages and documents that it comes from."""
    return [
        {source.caller_id for source in hit.sources if source.caller_id is not None}
        for hit in found.hits
    ]
