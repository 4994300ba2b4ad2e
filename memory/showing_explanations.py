"""Showing why a search has its order: what `projections.explaining` tells, as replies have it.

Ids from outside of the read's scope are left out.
"""

from collections.abc import Sequence

from rewound.eventlog.ids import Ref
from rewound.memory.explained_replies import (
    Explanation,
    Feature,
    Nearness,
    Ranking,
    Understood,
)
from rewound.memory.scoping import Within
from rewound.projections.explaining import Account, Explaining, Near


def of_hit(explaining: Explaining, within: Within, group: Sequence[int], place: int) -> Explanation:
    """Why a hit, of these entries, has its place; the entry that it shows stands first."""
    best = explaining.gives_score(group)
    more = len(group) - 1
    return of_entry(explaining, within, best, place=place, other=best != group[0], collapsed=more)


def of_entry(
    explaining: Explaining,
    within: Within,
    ordinal: int,
    *,
    place: int | None = None,
    other: bool = False,
    collapsed: int = 0,
) -> Explanation:
    """The stages that one entry went through."""
    near, scored = explaining.near(ordinal), explaining.scored(ordinal)
    nearness = None if near is None else _nearness(near, within)
    of = str(explaining.ref(ordinal)) if other else None
    if scored is None:
        return Explanation(place=place, of=of, nearness=nearness, collapsed=collapsed)
    return Explanation(
        place=place,
        of=of,
        nearness=nearness,
        rank=scored.rank,
        score=scored.score,
        logit=scored.logit,
        probability=scored.probability,
        unit=_shown(scored.unit, within),
        further=scored.further,
        sought=scored.sought,
        collapsed=collapsed,
        features=tuple(Feature(**added._asdict()) for added in scored.features),
    )


def _nearness(near: Near, within: Within) -> Nearness:
    return Nearness(**{**near._asdict(), "previous": _shown(near.previous, within)})


def _shown(ref: Ref | None, within: Within) -> str | None:
    return None if ref is None or not within.item(ref) else str(ref)


def of_search(account: Account) -> Ranking:
    asked = account.asked
    return Ranking(
        ranker=account.ranker.name,
        version=account.ranker.version,
        words_alone=not account.meant,
        understood=Understood(
            when=asked.when,
            many=asked.many,
            suggestion=asked.suggestion,
            assistant=asked.assistant,
            first_person=asked.first_person,
            months=tuple(sorted(asked.months)),
            years=tuple(sorted(asked.years)),
            speakers=account.speakers,
        ),
        entries=account.counted,
        allowed=account.allowed,
        found=account.found,
        candidates=account.candidates,
        units=account.units,
        fit=account.fit,
        best=account.best,
        slope=account.slope,
    )
