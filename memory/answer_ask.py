"""What an answer is drawn from: the memories of a context, numbered, likeliest first.

The answer itself is given once the snapshot is closed (`responding.py`), for a model may take long.
"""

from rewound.eventlog.instants import parse_instant
from rewound.llm.question_answering import Query, Recalled
from rewound.memory import requests as q
from rewound.memory.answer_search import Fitted, dated, picked, said_by
from rewound.memory.answering import Asking, answers
from rewound.memory.recollecting import Recollection
from rewound.memory.replies import GivenLine, Responded
from rewound.projections.search import Match

_OVER = ("superseded", "corrected", "ended", "expired", "forgotten")
"""States of a fact that holds no more."""

_HELD_THEN = ("superseded", "ended")
"""Those of them that say nothing against a fact when it is asked what was true at a time at which
it held."""

_DAY_CHARS = len("2026-03-01")


@answers(q.Inquire)
def inquire(question: q.Inquire, asking: Asking) -> Recollection:
    got = picked(question, asking)
    likeliest = sorted(got.fitted, key=_likely)
    then = question.valid_at is not None
    given = tuple(_given(number, fitted, then) for number, fitted in enumerate(likeliest, 1))
    recalled = tuple(
        _recalled(line, fitted, got.zone) for line, fitted in zip(given, likeliest, strict=True)
    )
    blank = Responded(
        container=asking.name,
        query=question.query,
        answered=False,
        text="",
        sentences=(),
        used=(),
        given=given,
        moment=got.moment,
        unembedded=got.unembedded,
        searched=got.searched,
        notes=got.told(len(given)),
    )
    query = Query(question.query, dated=got.asked.when, several=got.asked.several)
    crowded = got.found > 0 and not given
    return Recollection(blank=blank, query=query, recalled=recalled, crowded=crowded)


def _likely(fitted: Fitted) -> float:
    match: Match = fitted.match
    return -match.score


def _given(number: int, fitted: Fitted, then: bool) -> GivenLine:
    hit = fitted.hit
    state = hit.standing.state
    over = state in _OVER and not (then and state in _HELD_THEN)
    return GivenLine(
        number=number,
        id=hit.id,
        kind=hit.kind,
        text=fitted.part,
        score=hit.score,
        date=dated(hit),
        until=hit.valid_to,
        by=said_by(hit),
        asked=hit.answers.text if hit.answers else None,
        state=state if over else None,
    )


def _recalled(line: GivenLine, fitted: Fitted, zone: str) -> Recalled:
    sources = fitted.hit.sources
    said = (sources[0].time if sources else None) or line.date
    dates = (line.date, line.until) if line.state and line.until else (line.date,)
    return Recalled(
        number=line.number,
        text=line.text,
        by=line.by or "",
        dates=tuple(each[:_DAY_CHARS] for each in dates if each),
        over=line.state or "",
        asked=line.asked or "",
        at=parse_instant(said).at if said else 0,
        zone=zone,
        likely=line.score,
        is_fact=line.kind == "fact",
    )
