"""What a question finds, and each of its parts, as one list of hits.

A hit's score is how likely it answers its query. By that alone a part with many likely hits would
leave none of another among the first; so each list is measured by its own best hit, and the lists
are merged by the shares of it. What nothing likely answers is left out by a threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from rewound.eventlog.ids import Ref
from rewound.memory.answering import Asking
from rewound.memory.explained_replies import Explanation
from rewound.memory.replies import Hit
from rewound.memory.reranked_replies import Searched
from rewound.memory.scoping import Within
from rewound.memory.showing_explanations import of_hit
from rewound.projections.explaining import Explaining
from rewound.projections.reader import ContainerView
from rewound.projections.search import Hits, Match, Ran, hits_of, run
from rewound.projections.selection import Criteria

FOUND_TOLD = 10
"""Ids that are told of each query."""


class Gathered(NamedTuple):
    """The hits of all queries together. `runs` are their searches, the question's own first;
    `origin` tells by which of them, from 0, a hit has its score."""

    hits: Hits
    queries: tuple[str, ...]
    runs: tuple[Ran | Hits, ...]
    origin: Mapping[Ref, int]

    @property
    def searched(self) -> tuple[Searched, ...]:
        """What each query found; nothing where there was one only."""
        if len(self.queries) == 1:
            return ()
        return tuple(
            Searched(
                query=query,
                hits=tuple(str(match.ref) for match in hits_of(ran).matches[:FOUND_TOLD]),
            )
            for query, ran in zip(self.queries, self.runs, strict=True)
        )

    def parted(self, match: Match, hit: Hit) -> Hit:
        """The hit with the part that it answers best."""
        part = self.origin[match.ref]
        return msgspec.structs.replace(hit, part=part) if part else hit


def gathered(
    view: ContainerView, question: str, criteria: Criteria, limit: int, asking: Asking
) -> Gathered:
    """Search for a question, in the words that are set for it, and for its parts."""
    queries = (question if asking.words is None else asking.words, *asking.parts)
    meanings = (asking.meaning, *(asking.meanings.get(part) for part in asking.parts))
    asked = (question, *asking.parts)
    runs = tuple(
        run(view, query, criteria, limit, meaning, said)
        for query, meaning, said in zip(queries, meanings, asked, strict=True)
    )
    hits, origin = merged([hits_of(ran) for ran in runs], limit)
    return Gathered(hits, queries, runs, origin)


def merged(lists: Sequence[Hits], limit: int) -> tuple[Hits, dict[Ref, int]]:
    """The first `limit` of several lists, the question's first, and the list that each is from.

    What one list has as a hit and another as what a hit stands for is one hit. Something fits as
    likely as it does of the list of which it is likeliest.
    """
    if len(lists) == 1:
        return lists[0], {match.ref: 0 for match in lists[0].matches}
    every = [
        (_share(match, hits), at, match) for at, hits in enumerate(lists) for match in hits.matches
    ]
    # Stable: of equals the earlier part comes first, the question last, each by its places.
    every.sort(key=lambda each: (-each[0], each[1] == 0))
    leads: dict[Ref, Ref] = {}
    kept: dict[Ref, tuple[int, Match]] = {}
    for _, at, match in every:
        said = (match.ref, *match.also)
        lead = next((leads[ref] for ref in said if ref in leads), match.ref)
        if lead in kept:
            first, known = kept[lead]
            new = (ref for ref in said if ref != lead and ref not in known.also)
            kept[lead] = (first, known._replace(also=(*known.also, *new)))
        else:
            kept[lead] = (at, match)
        for ref in said:
            leads.setdefault(ref, lead)
    chosen = list(kept.values())[:limit]
    weights: dict[str, float] = {}
    for hits in lists:
        weights |= hits.weights
    found = Hits(
        [match for _, match in chosen],
        max(hits.unembedded for hits in lists),
        weights,
        max((hits.fits for hits in lists if hits.fits is not None), default=None),
        max(hits.floor for hits in lists),
    )
    return found, {match.ref: at for at, match in chosen}


def _share(match: Match, hits: Hits) -> float:
    """How likely a hit answers, of how likely the best of its list does."""
    best = max(each.score for each in hits.matches)
    return match.score / best if best else 0.0


def reordered(hits: Hits, scores: Mapping[str, float]) -> Hits:
    """The hits with what a reranker made of their scores, those that it saw first, in its order."""
    if not scores:
        return hits
    seen = [match for match in hits.matches if str(match.ref) in scores]
    seen = [match._replace(score=scores[str(match.ref)]) for match in seen]
    seen.sort(key=lambda match: -match.score)  # stable: of equals the one that was before
    rest = [match for match in hits.matches if str(match.ref) not in scores]
    return hits._replace(matches=[*seen, *rest])


def explained(found: Gathered, shown: Sequence[Hit], limit: int, within: Within) -> tuple[Hit, ...]:
    """The hits, each with why it stands where it does among those of its query."""
    why: dict[tuple[int, str], Explanation] = {}
    for at, ran in enumerate(found.runs):
        if isinstance(ran, Ran):
            explaining = Explaining(ran, limit)
            for place, group in enumerate(explaining.shown, 1):
                shows = str(explaining.ref(group[0]))
                why[at, shows] = of_hit(explaining, within, group, place)
    return tuple(
        msgspec.structs.replace(hit, explanation=why.get((hit.part or 0, hit.id))) for hit in shown
    )
