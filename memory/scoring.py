"""Figures of how well questions were answered, and what was lost since others were recorded.

A question's answer is told by what its hits come from: the ids of messages and documents.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.memory.question_set import Question
from rewound.memory.replies import Part

TOLERANCE = 0.01
"""How far a figure over all questions may fall and still count as kept."""

QUALITY = ("recall", "reciprocal_rank", "newest_first", "nothing_found")
"""The figures that are compared; more is better in each."""

_ROUNDING = 1e-9


class Scores(Part, frozen=True, kw_only=True):
    """Means over some questions, each over those that it can be told of, null when there are none.

    `recall` is the share of what answers that is among the first k hits, `reciprocal_rank` 1 over
    the place of the first hit that answers (0 when none of the k does). Both are of questions that
    have an answer. `newest_first` is the share of those with older answers whose present answer
    comes before any older one, `nothing_found` the share of those without an answer that got no
    hit. `tokens` is how long the context of a question is.
    """

    questions: int
    recall: float | None = None
    reciprocal_rank: float | None = None
    newest_first: float | None = None
    nothing_found: float | None = None
    tokens: float = 0.0


class Measured(Part, frozen=True, kw_only=True):
    """What is recorded of a run: of which set, with what, and its figures in all and by kind."""

    dataset: str
    sha256: str
    k: int
    models: dict[str, str]
    total: Scores
    kinds: dict[str, Scores]


class Loss(Part, frozen=True, kw_only=True):
    """A figure that fell by more than `allowed`. `kind` is `all` for that over all questions."""

    kind: str
    figure: str
    recorded: float
    now: float | None
    allowed: float


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one question brought: for each hit the ids of what it comes from, best hit first."""

    question: Question
    hits: tuple[frozenset[str], ...]
    tokens: int
    took_ms: float


# --- figures


def score(answers: Sequence[Answer], k: int) -> Scores:
    """The means over these answers; no more than the first `k` hits of each are looked at."""
    found = [answer for answer in answers if answer.question.gold]
    ended = [answer for answer in found if answer.question.older]
    none = [answer for answer in answers if not answer.question.gold]
    return Scores(
        questions=len(answers),
        recall=_mean([_recall(answer, k) for answer in found]),
        reciprocal_rank=_mean([_reciprocal(answer, k) for answer in found]),
        newest_first=_mean([float(_newest_first(answer, k)) for answer in ended]),
        nothing_found=_mean([float(not answer.hits) for answer in none]),
        tokens=_mean([float(answer.tokens) for answer in answers]) or 0.0,
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.fmean(values), 4) if values else None


def _recall(answer: Answer, k: int) -> float:
    gold = set(answer.question.gold)
    seen = gold.intersection(*[set().union(*answer.hits[:k])])
    return len(seen) / len(gold)


def _place(ids: Sequence[str], answer: Answer, k: int) -> int | None:
    """Of the first hit that comes from any of these, counted from 1."""
    wanted = set(ids)
    places = (place for place, hit in enumerate(answer.hits[:k], 1) if wanted & hit)
    return next(places, None)


def _reciprocal(answer: Answer, k: int) -> float:
    place = _place(answer.question.gold, answer, k)
    return 1 / place if place else 0.0


def _newest_first(answer: Answer, k: int) -> bool:
    """A hit that comes from the present answer and from an older one puts neither first."""
    present = _place(answer.question.gold, answer, k)
    older = _place(answer.question.older, answer, k)
    return present is not None and (older is None or present < older)


# --- comparing


def compare(now: Measured, recorded: Measured) -> tuple[Loss, ...]:
    """The figures that fell: by more than `TOLERANCE` over all questions, and by more than one
    question's worth in a kind. Times and tokens are not compared.

    Raises InvalidInput when the two were not measured alike.
    """
    for name in ("sha256", "k", "models"):
        was, this = getattr(recorded, name), getattr(now, name)
        if was != this:
            raise InvalidInput(
                f"the recorded figures are of {name} {_shown(was)}, this run is of {_shown(this)}: "
                "measure alike, or record anew",
                field="compare",
            )
    losses = _losses("all", now.total, recorded.total, TOLERANCE)
    for kind, before in recorded.kinds.items():
        allowed = max(TOLERANCE, round(1 / before.questions, 4))
        losses += _losses(kind, now.kinds[kind], before, allowed)
    return tuple(losses)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)


def _losses(kind: str, now: Scores, recorded: Scores, allowed: float) -> list[Loss]:
    losses: list[Loss] = []
    for figure in QUALITY:
        before, after = getattr(recorded, figure), getattr(now, figure)
        if before is not None and (after is None or before - after > allowed + _ROUNDING):
            loss = Loss(kind=kind, figure=figure, recorded=before, now=after, allowed=allowed)
            losses.append(loss)
    return losses


def read_figures(path: Path) -> Measured:
    """Figures that a run recorded. Raises InvalidInput when they are none, OSError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Measured)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path.name} holds no figures that a run recorded: {error}", field="compare"
        ) from None


def write_figures(path: Path, measured: Measured) -> None:
    """Record figures, for a later run to be compared with. Raises OSError."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=2) + b"\n")
