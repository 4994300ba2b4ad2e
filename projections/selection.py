"""Which index entries a read may see: conditions become masks over ordinals, before any ranking.

A mask is a bool array, shape (entries,). Everything is compared as integers, so the same moment
gives the same mask however the entries are numbered.
"""

from typing import Any, NamedTuple

import numpy as np

from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind
from rewound.projections import entries
from rewound.projections.columns import Columns
from rewound.projections.condition_tree import Node
from rewound.projections.conditions import Conditions
from rewound.projections.entries import StandingCode
from rewound.projections.masks import Mask, Standing, Term, among, of_group
from rewound.projections.reader import ContainerView
from rewound.projections.remembered import frozen, remembered
from rewound.projections.rows import OPEN

__all__ = ["FINDABLE", "Criteria", "Mask", "Selected", "select"]

FINDABLE = frozenset({Kind.FACT, Kind.PASSAGE, Kind.MESSAGE})


class Criteria(NamedTuple):
    """What a read asks for. Times in µs; `at` a position, None for the present.

    `now` is the read's own now, against which validity and expiry are held. `valid` is a stretch
    of world time [from, until) when it was asked for; then facts are taken by their interval,
    ended ones too. Tags, metadata and scope must all match; `sources` and `kinds` any. `where` is
    a tree of further conditions.
    """

    now: int
    at: int | None = None
    valid: tuple[int, int] | None = None
    what: frozenset[Kind] = FINDABLE
    kinds: frozenset[FactKind] = frozenset()
    tags: tuple[str, ...] = ()
    metadata: tuple[tuple[str, Any], ...] = ()
    scope: tuple[tuple[str, str], ...] = ()
    sources: tuple[bytes, ...] = ()
    since: int | None = None
    until: int | None = None
    where: Node | None = None
    superseded: bool = False
    forgotten: bool = False
    naming: tuple[str, ...] = ()
    """Terms that name the stretch `valid`: a fact that holds now and says all of them is about such
    times itself (open on Sundays), whenever it began to hold."""
    said_before: int | None = None
    """Passages, messages and documents said later speak of nothing that could have been known."""


class Selected(NamedTuple):
    """`counted` gives the statistics of the moment, `allowed` what may be returned; `documents` are
    those that stand at it."""

    columns: Columns
    counted: Mask
    allowed: Mask
    documents: Mask


def select(view: ContainerView, criteria: Criteria) -> Selected:
    """The masks of a read. Statistics count all that stands in the container at the moment,
    whatever the filters."""
    columns = view.columns()
    moment = OPEN - 1 if criteria.at is None else criteria.at
    stands, documents, counted = _moment(columns, moment, forgotten=criteria.forgotten)
    allowed = _plainly(columns, counted, criteria)
    if allowed is not None:
        return Selected(columns, counted, allowed, documents)
    standing = Standing(view, columns, documents)
    within = counted if Kind.DOCUMENT not in criteria.what else counted | documents
    allowed = within & among(columns.kind, criteria.what)
    allowed &= _standing(standing, criteria)
    if criteria.kinds:
        allowed &= among(columns.detail, criteria.kinds) & (columns.kind == Kind.FACT)
    _times(standing, criteria, allowed)
    if criteria.said_before is not None:
        times = standing.own_times()
        allowed &= (columns.kind == Kind.FACT) | (times < criteria.said_before)
    _facets(standing, criteria, allowed)
    if criteria.where is not None:
        allowed = Conditions(standing, stands, criteria.at).met(criteria.where, allowed)
    return Selected(columns, counted, allowed, documents)


class _Moment(NamedTuple):
    """What stands at a moment; shape (entries,) each."""

    stands: Mask
    documents: Mask
    counted: Mask
    """All but documents, and passages whose document does not stand."""


_MOMENTS = "moments"
_MOMENTS_MAX = 3


def _moment(columns: Columns, moment: int, *, forgotten: bool) -> _Moment:
    """Remembered for the moments read last."""
    kept: tuple[tuple[tuple[int, bool], _Moment], ...] = columns.memo.get(_MOMENTS, ())
    key = (moment, forgotten)
    for at, (known, found) in enumerate(kept):
        if known == key:
            if at:
                columns.memo[_MOMENTS] = (kept[at], *kept[:at], *kept[at + 1 :])
            return found
    stands = (columns.opened <= moment) & (columns.closed > moment)
    if not forgotten:
        stands &= columns.hidden == 0
    documents = stands & (columns.kind == Kind.DOCUMENT)
    counted = stands & (columns.kind != Kind.DOCUMENT)
    counted &= (columns.kind != Kind.PASSAGE) | of_group(columns, documents)
    made = _Moment(frozen(stands), frozen(documents), frozen(counted))
    columns.memo[_MOMENTS] = ((key, made), *kept[: _MOMENTS_MAX - 1])
    return made


class _Lasting(NamedTuple):
    """What a search without conditions may find, as long as time ends and begins nothing."""

    since: int
    until: int
    allowed: Mask


def _plainly(columns: Columns, counted: Mask, criteria: Criteria) -> Mask | None:
    """What may be returned when nothing is asked for but what holds now; None otherwise."""
    if criteria._replace(now=0, at=None) != _PLAIN:
        return None
    now = criteria.now

    def work() -> _Lasting:
        facts: Mask = counted & (columns.kind == Kind.FACT)
        holds = _current(columns, now) & (columns.expires > now)
        holds &= columns.standing != StandingCode.CORRECTED
        allowed = frozen(counted & (holds | ~facts))
        turns = [
            int(times[facts & (times > now)].min(initial=OPEN))
            for times in (columns.valid_from, columns.valid_to, columns.expires)
        ]
        return _Lasting(now, min(turns), allowed)

    held = remembered(columns, counted, _LASTING, lambda: [work()])
    lasting = held[0]  # looked at once: another thread may put that of another time in its place
    if not lasting.since <= now < lasting.until:
        lasting = held[0] = work()
    return lasting.allowed


_PLAIN = Criteria(now=0)
_LASTING = "what holds"


def _standing(standing: Standing, criteria: Criteria) -> Mask:
    """Facts that hold; all else always does."""
    columns = standing.columns
    facts: Mask = columns.kind == Kind.FACT
    held: Mask = np.ones(columns.n, np.bool_)
    if criteria.valid is None:
        held &= criteria.superseded | _current(columns, criteria.now)
    else:
        start, end = criteria.valid
        held &= (columns.valid_from < end) & (columns.valid_to > start)
        held &= columns.valid_from < columns.valid_to
        if criteria.naming:
            held |= _current(columns, criteria.now) & _saying(standing, criteria.naming)
    if not criteria.superseded:
        held &= columns.expires > criteria.now
        held &= columns.standing != StandingCode.CORRECTED
    return held | ~facts


def _current(columns: Columns, now: int) -> Mask:
    """What holds now. Superseded from a day that has not come, a fact still does until then."""
    begun = columns.valid_from <= now
    current: Mask = (columns.standing == StandingCode.CURRENT) | begun
    return current & (columns.valid_to > now)


def _saying(standing: Standing, terms: tuple[str, ...]) -> Mask:
    """Entries that hold all of the terms in their words."""
    found = np.ones(standing.columns.n, np.bool_)
    for term in terms:
        found &= standing.own([(entries.WORDS, term)])
    return found


def _times(standing: Standing, criteria: Criteria, allowed: Mask) -> None:
    """Narrow by the item's own time; a passage has its document's."""
    if criteria.since is None and criteria.until is None:
        return
    times = standing.own_times()
    if criteria.since is not None:
        allowed &= times >= criteria.since
    if criteria.until is not None:
        allowed &= times < criteria.until


def _facets(standing: Standing, criteria: Criteria, allowed: Mask) -> None:
    """Narrow by tags, metadata, scope and source; a passage has its document's as well."""
    secret = standing.view.log.key(standing.view.id)
    wanted: list[Term] = []
    wanted += [(entries.TAGS, entries.tag_term(secret, name)) for name in criteria.tags]
    wanted += [
        (entries.METADATA, entries.metadata_term(secret, name, value))
        for name, value in criteria.metadata
    ]
    wanted += [
        (entries.SCOPE, entries.scope_term(secret, name, value)) for name, value in criteria.scope
    ]
    for term in wanted:
        allowed &= standing.holding([term])
    if criteria.sources:
        allowed &= standing.holding(entries.source_terms(criteria.sources))
