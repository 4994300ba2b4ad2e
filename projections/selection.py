"""Which index entries a read may see: conditions become masks over ordinals, before any ranking.

A mask is a bool array, shape (entries,). Everything is compared as integers, so the same moment
gives the same mask however the entries are numbered.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind
from rewound.projections import entries
from rewound.projections.columns import Columns
from rewound.projections.entries import StandingCode
from rewound.projections.reader import ContainerView
from rewound.projections.rows import OPEN

Mask = npt.NDArray[np.bool_]

FINDABLE = frozenset({Kind.FACT, Kind.PASSAGE, Kind.MESSAGE})


class Criteria(NamedTuple):
    """What a read asks for. Times in µs; `at` a position, None for the present.

    `now` is the read's own now, against which validity and expiry are held. `valid` is a stretch
    of world time [from, until) when it was asked for; then facts are taken by their interval,
    ended ones too. Tags, metadata and scope must all match; `sources` and `kinds` any.
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
    superseded: bool = False
    forgotten: bool = False
    said_before: int | None = None
    """Passages, messages and documents said later speak of nothing that could have been known."""


class Selected(NamedTuple):
    """`counted` gives the statistics of the moment, `allowed` what may be returned."""

    columns: Columns
    counted: Mask
    allowed: Mask


def select(view: ContainerView, criteria: Criteria) -> Selected:
    """The masks of a read. Statistics count all that stands in the container at the moment,
    whatever the filters."""
    columns = view.columns()
    moment = OPEN - 1 if criteria.at is None else criteria.at
    standing = (columns.opened <= moment) & (columns.closed > moment)
    if not criteria.forgotten:
        standing &= columns.hidden == 0
    passages = columns.kind == Kind.PASSAGE
    documents = standing & (columns.kind == Kind.DOCUMENT)
    counted = standing & (columns.kind != Kind.DOCUMENT)
    counted &= ~passages | _of_group(columns, documents)
    within = counted if Kind.DOCUMENT not in criteria.what else counted | documents
    allowed = within & _among(columns.kind, criteria.what)
    allowed &= _standing(columns, criteria)
    if criteria.kinds:
        allowed &= _among(columns.detail, criteria.kinds) & (columns.kind == Kind.FACT)
    _times(columns, documents, passages, criteria, allowed)
    if criteria.said_before is not None:
        times = _own_times(columns, documents, passages)
        allowed &= (columns.kind == Kind.FACT) | (times < criteria.said_before)
    _facets(view, columns, documents, passages, criteria, allowed)
    return Selected(columns, counted, allowed)


def _among(values: npt.NDArray[np.uint8], wanted: Iterable[int]) -> Mask:
    """Where a column has one of the values."""
    known = np.zeros(256, np.bool_)
    known[[int(each) for each in wanted]] = True
    return known[values]


def _of_group(columns: Columns, documents: Mask) -> Mask:
    """For every entry, whether its group's document is among those given."""
    has = np.zeros(columns.n, np.bool_)
    has[columns.group[documents]] = True
    return has[columns.group]


def _standing(columns: Columns, criteria: Criteria) -> Mask:
    """Facts that hold; all else always does."""
    facts: Mask = columns.kind == Kind.FACT
    held: Mask = np.ones(columns.n, np.bool_)
    if criteria.valid is not None:
        start, end = criteria.valid
        held &= (columns.valid_from < end) & (columns.valid_to > start)
        held &= columns.valid_from < columns.valid_to
    if not criteria.superseded:
        held &= columns.expires > criteria.now
        held &= columns.standing != StandingCode.CORRECTED
        if criteria.valid is None:
            held &= columns.valid_to > criteria.now
            # Superseded from a day that has not come, a fact still holds until then.
            begun = columns.valid_from <= criteria.now
            held &= (columns.standing == StandingCode.CURRENT) | begun
    return held | ~facts


def _times(
    columns: Columns, documents: Mask, passages: Mask, criteria: Criteria, allowed: Mask
) -> None:
    """Narrow by the item's own time; a passage has its document's."""
    if criteria.since is None and criteria.until is None:
        return
    times = _own_times(columns, documents, passages)
    if criteria.since is not None:
        allowed &= times >= criteria.since
    if criteria.until is not None:
        allowed &= times < criteria.until


def _own_times(columns: Columns, documents: Mask, passages: Mask) -> npt.NDArray[np.int64]:
    """When a fact begins to hold and when the rest was said, µs; a passage has its document's."""
    of_group = np.zeros(columns.n, np.int64)
    of_group[columns.group[documents]] = columns.valid_from[documents]
    return np.where(passages, of_group[columns.group], columns.valid_from)


def _facets(
    view: ContainerView,
    columns: Columns,
    documents: Mask,
    passages: Mask,
    criteria: Criteria,
    allowed: Mask,
) -> None:
    """Narrow by tags, metadata, scope and source; a passage has its document's as well."""
    secret = view.log.key(view.id)
    wanted: list[tuple[int, str]] = []
    wanted += [(entries.TAGS, entries.tag_term(secret, name)) for name in criteria.tags]
    wanted += [
        (entries.METADATA, entries.metadata_term(secret, name, value))
        for name, value in criteria.metadata
    ]
    wanted += [
        (entries.SCOPE, entries.scope_term(secret, name, value)) for name, value in criteria.scope
    ]
    for field, term in wanted:
        allowed &= _holding(view, columns, documents, passages, [(field, term)])
    if criteria.sources:
        terms = [raw.hex() for raw in criteria.sources]
        fields = (entries.SOURCES, entries.CONVERSATIONS)
        pairs = [(field, term) for term in terms for field in fields]
        allowed &= _holding(view, columns, documents, passages, pairs)


def _holding(
    view: ContainerView,
    columns: Columns,
    documents: Mask,
    passages: Mask,
    terms: Iterable[tuple[int, str]],
) -> Mask:
    """Entries that hold any of the terms, themselves or through their document."""
    own = np.zeros(columns.n, np.bool_)
    for field, term in terms:
        own[view.postings(field, term)[0]] = True
    return own | (passages & _of_group(columns, documents & own))
