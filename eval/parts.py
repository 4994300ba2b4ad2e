"""How questions in parts are merged: `python -m eval.parts`.

Two questions of the small set that have nothing in common are joined to one. It is asked as a
whole, and in its two parts, whose hits are merged in several ways. A joined question is answered as
far as something of each half's answer is among the first hits.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rewound.memory import Memory, question_set
from rewound.memory.models import Models
from rewound.memory.question_set import Question
from rewound.memory.replies import Found, Hit

SET = Path("eval/datasets/questions.jsonl")
LIMITS = (2, 4, 6, 10)
RRF_K = 60

Merge = Callable[[Sequence[Found], int], list[Hit]]


def by_probability(lists: Sequence[Found], limit: int) -> list[Hit]:
    """The best score of a hit in any list."""
    best: dict[str, Hit] = {}
    for found in lists:
        for hit in found.hits:
            if hit.id not in best or best[hit.id].score < hit.score:
                best[hit.id] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)[:limit]


def by_shares(lists: Sequence[Found], limit: int) -> list[Hit]:
    """The probability as a share of that of the list's best hit: what Rewound does."""
    hits: dict[str, Hit] = {}
    best: dict[str, float] = {}
    for found in (*lists[1:], lists[0]):
        for hit in found.hits:
            hits.setdefault(hit.id, hit)
            share = hit.score / max(each.score for each in found.hits)
            best[hit.id] = max(best.get(hit.id, 0.0), share)
    return sorted(hits.values(), key=lambda hit: -best[hit.id])[:limit]


def in_turns(lists: Sequence[Found], limit: int) -> list[Hit]:
    """The best of each part, then of the question, then the second ones."""
    hits: dict[str, Hit] = {}
    for rank in range(limit):
        for found in (*lists[1:], lists[0]):
            for hit in found.hits[rank : rank + 1]:
                hits.setdefault(hit.id, hit)
    return list(hits.values())[:limit]


def by_ranks(lists: Sequence[Found], limit: int) -> list[Hit]:
    """Reciprocal ranks, added up."""
    hits: dict[str, Hit] = {}
    scores: dict[str, float] = {}
    for found in lists:
        for rank, hit in enumerate(found.hits, 1):
            hits.setdefault(hit.id, hit)
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (RRF_K + rank)
    return sorted(hits.values(), key=lambda hit: -scores[hit.id])[:limit]


def whole_alone(lists: Sequence[Found], limit: int) -> list[Hit]:
    """The question as it is asked, without its parts."""
    return list(lists[0].hits[:limit])


WAYS: dict[str, Merge] = {
    "the question alone": whole_alone,
    "reciprocal ranks": by_ranks,
    "probability": by_probability,
    "in turns": in_turns,
    "shares of the best probability": by_shares,
}


def pairs(questions: Sequence[Question]) -> list[tuple[Question, Question]]:
    """Each answerable question with the one that lies half the set behind it."""
    known = [each for each in questions if each.gold]
    half = len(known) // 2
    return [(each, known[(at + half) % len(known)]) for at, each in enumerate(known)]


def answered(hits: Sequence[Hit], question: Question) -> bool:
    origins = {source.caller_id for hit in hits for source in hit.sources}
    return not origins.isdisjoint(question.gold)


def main() -> None:
    asked = question_set.read(SET)
    models = Models(judge="none")
    joined = pairs(asked.questions)
    halves = {(way, limit): 0 for way in WAYS for limit in LIMITS}
    both = dict(halves)
    with tempfile.TemporaryDirectory() as folder, Memory(folder, models=models) as memory:
        memory.own()
        for session in asked.sessions:
            memory.add_messages(session.messages, conversation=session.id)
        memory.ingest([document.sent() for document in asked.documents])
        memory.workers("wait", timeout_s=600)
        for first, second in joined:
            whole = f"{first.question.rstrip('?')} and {second.question}"
            lists = {
                limit: [
                    memory.search(query, limit=limit)
                    for query in (whole, first.question, second.question)
                ]
                for limit in LIMITS
            }
            for way, limit in halves:
                hits = WAYS[way](lists[limit], limit)
                told = [answered(hits, each) for each in (first, second)]
                halves[way, limit] += sum(told)
                both[way, limit] += all(told)
    print(f"{len(joined)} joined questions; share of halves answered, and of both at once")
    print("| way |" + "".join(f" @{limit} |" for limit in LIMITS))
    for way in WAYS:
        cells = (
            f" {halves[way, n] / 2 / len(joined):.3f} {both[way, n] / len(joined):.3f} |"
            for n in LIMITS
        )
        print(f"| {way} |" + "".join(cells))


if __name__ == "__main__":
    main()
