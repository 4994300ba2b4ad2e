"""What became of an item once all queries of a question were merged and a reranker had its say.

Each query tells what became of an item in its own search; here stands what came of that in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from rewound.eventlog.ids import Ref
from rewound.memory import requests as q
from rewound.memory.answering import Asking
from rewound.memory.explained_replies import Fate
from rewound.memory.merging import Gathered, gathered, reordered
from rewound.memory.plurals import so_many
from rewound.projections.reader import ContainerView
from rewound.projections.search import Match
from rewound.projections.selection import Criteria


class Final(NamedTuple):
    """The hits that come back in the end, and those behind them. `origin` tells by which query,
    from 0, something is among them."""

    matches: list[Match]
    origin: Mapping[Ref, int]
    found: Gathered
    limit: int
    reranked: bool

    def settled(self, ref: Ref, fate: Fate) -> Fate:
        """The fate of an item in the search of one query, as it is after all stages."""
        for place, match in enumerate(self.matches, 1):
            if ref != match.ref and ref not in match.also:
                continue
            leads = str(match.ref)
            if place <= self.limit and ref == match.ref:
                told = f"it is hit {place}, score {match.score:.2f}"
                return _changed(fate, found=True, told=told, place=place)
            if place <= self.limit:
                told = f"it says the same as {leads}, which stands for it as hit {place}"
                return _changed(fate, told=told, reason="collapsed", place=place, by=leads)
            if self.reranked and (fate.found or fate.reason == "collapsed"):
                told = (
                    f"the reranker put it at place {place}, score {match.score:.2f}; "
                    f"{self.limit} were asked for"
                )
                by = None if ref == match.ref else leads
                return _changed(fate, told=told, reason="reranked", place=place, by=by)
        if fate.found or fate.reason == "collapsed":
            more = so_many(self.limit, "hit", "hits")
            told = f"{more} of the question and its parts stand before it"
            return _changed(fate, told=told, reason="beyond_limit")
        return fate


def final(
    view: ContainerView, question: q.Search, criteria: Criteria, asking: Asking
) -> Final | None:
    """None where the search of the question alone tells all."""
    if not asking.parts and not asking.scores:
        return None
    wide = max(question.limit, len(asking.scores))
    found = gathered(view, question.query, criteria, wide, asking)
    likely = [match for match in found.hits.matches if match.score >= question.threshold]
    hits = reordered(found.hits._replace(matches=likely), asking.scores)
    origin = {ref: found.origin[match.ref] for match in likely for ref in (match.ref, *match.also)}
    return Final(hits.matches, origin, found, question.limit, bool(asking.scores))


def _changed(fate: Fate, **fields: object) -> Fate:
    """The same item with another fate."""
    plain = Fate(id=fate.id, kind=fate.kind, found=False, told="")
    return msgspec.structs.replace(plain, **fields)
