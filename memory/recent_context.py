"""The recent part of a conversation within a context: what it takes, and what it tells already."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.errors import NotFound
from rewound.eventlog.ids import Kind, Ref
from rewound.memory import requests as q
from rewound.memory.recounting import Recounting, recount
from rewound.memory.showing_recent import Recounter, bounds_within

if TYPE_CHECKING:
    from rewound.memory.answering import Asking
    from rewound.memory.recent_replies import ShortTerm
    from rewound.memory.showing import Shower
    from rewound.projections.search import Hits, Match

SHARE = 2
"""One part in so many of a context's budget is for the recent part at most."""

_HITS_MAX = 240
"""Hits that are looked at beyond those of a context, since they may stand in the recent part."""


class RecentPart(NamedTuple):
    """`shown` are the messages and facts that it tells of as they are."""

    told: ShortTerm | None = None
    shown: frozenset[Ref] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return 0 if self.told is None else self.told.tokens

    @property
    def lines(self) -> tuple[str, ...]:
        return () if self.told is None else (self.told.text,)

    @property
    def more(self) -> int:
        """How many hits more have to be looked at."""
        return min(2 * len(self.shown), _HITS_MAX)

    def without(self, hits: Hits) -> Hits:
        """The hits that are not told here already."""
        if not self.shown:
            return hits
        return hits._replace(matches=[each for each in hits.matches if not self._has(each)])

    def _has(self, match: Match) -> bool:
        """A message or fact that is shown, or a fact that was drawn from such messages alone."""
        if match.ref in self.shown:
            return True
        sources = getattr(match.row.state, "sources", ())
        return bool(sources) and all(span.source in self.shown for span in sources)


def recent_in(question: q.Context | q.Inquire, asking: Asking, shower: Shower) -> RecentPart:
    """The recent part of the conversation that is named, if there is one. Raises WrongKind."""
    if not isinstance(question, q.Context) or question.conversation is None:
        return RecentPart()
    chars = asking.recent_chars if question.recent_chars is None else question.recent_chars
    recounter = Recounter(shower, bounds_within(question.budget // SHARE, chars), asking.counter)
    try:
        found = recount(
            shower.view,
            question.conversation,
            shower.when,
            recounter.fits,
            scope=question.scope,
            narrower=question.filters.scope,
            forgotten=question.include_forgotten,
        )
    except NotFound as none:
        return RecentPart(notes=(none.message,))  # one that has not begun yet
    told = recounter.told(question.conversation, found)
    if told.tokens > question.budget:
        return RecentPart(notes=("the budget has no room for the recent part of a conversation",))
    return RecentPart(told, _shown(told, found), found.notes())


def _shown(told: ShortTerm, found: Recounting) -> frozenset[Ref]:
    facts = {fact.id for fact in told.facts}
    refs = [Ref(Kind.MESSAGE, row.id) for row in found.recent]
    refs += [ref for each in found.facts if str(ref := Ref(Kind.FACT, each.row.id)) in facts]
    return frozenset(refs)
