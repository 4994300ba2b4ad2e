"""What models did before and after a search, and what that took, printed for a person."""

from rewound.http import words
from rewound.http.render_parts import Sheet, joined
from rewound.memory.replies import (
    Decomposing,
    Found,
    Packed,
    Reranked,
    Reranking,
    Rewriting,
    Traced,
)


def stages(sheet: Sheet, reply: Found | Packed | Traced) -> None:
    """One line for each stage, and one for each query that was searched for."""
    if reply.rewriting is not None:
        told = reply.rewriting
        by = words.one_line(told.rewriter)
        sheet.line(
            joined([f"sought by “{words.one_line(told.query)}”, put so by {by}", *_took(told)])
        )
    if reply.decomposing is not None:
        apart = reply.decomposing
        number = words.counted(len(apart.parts), "part") if apart.parts else "not to be taken apart"
        by = words.one_line(apart.decomposer)
        sheet.line(joined([f"{number}, says {by}", *_took(apart)]))
    for place, each in enumerate(reply.searched):
        what = f"part {place}" if place else "the question"
        found = words.counted(len(each.hits), "hit")
        sheet.line(f"  {what}: “{words.one_line(each.query)}” · {found}")
    if reply.reranking is not None:
        order = reply.reranking
        what = f"the first {order.hits} ordered anew by {words.one_line(order.reranker)}"
        sheet.line(joined([what, *_took(order)]))


def moved(reranked: Reranked) -> str:
    """Where a reranker found a hit, and what its score is mixed of."""
    return (
        f"was {reranked.before}, likely {reranked.probability:.2f}, reranked {reranked.score:.2f}"
    )


def _took(told: Reranking | Rewriting | Decomposing) -> list[str]:
    took = [f"{told.ms:,.0f} ms"]
    if told.calls:
        took.append(words.counted(told.calls, "call"))
    if told.tokens:
        took.append(words.counted(told.tokens, "token"))
    return took
