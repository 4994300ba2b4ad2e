"""Which facts belong to which part of a profile, best first.

All is chosen by the columns and postings of the index, so that the work does not grow with the
texts of a container: only what is shown is read, and what is needed to tell who it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind
from rewound.eventlog.instants import MAX_US
from rewound.memory import requests as q
from rewound.memory.buckets import TAKING, single_valued
from rewound.memory.find import find
from rewound.memory.seeing import narrowed, seen
from rewound.projections import bm25, entries
from rewound.projections.entries import StandingCode, folded
from rewound.projections.importance import WHOLE, counting
from rewound.projections.naming import Naming, Spellings
from rewound.projections.postings import Ordinals
from rewound.projections.selection import Criteria, Mask

if TYPE_CHECKING:
    from rewound.memory.moments import When
    from rewound.projections.reader import ContainerView
    from rewound.projections.vectors import Query

Floats = npt.NDArray[np.float64]

STABLE, RECENT = "stable", "recent"

PINNED_TAG = "static"
"""A fact with this tag goes before all others."""

_PINNED, _IMPORTANT, _SINGLE, _ABOUT, _PREFERENCE = 16, 8, 4, 2, 1
_SUPPORT_MAX = 8
"""Points: a fact gets one for each time it was said, up to so many, and these besides; of those for
what is important as many as it is, in whole points."""

_POINT = float(1 << 40)
"""A point outweighs any time, which is in whole seconds: sums stay exact."""

_DAY_US = 86_400_000_000
_SUBJECT_FACTS = 64
"""The best facts, by whose subjects it is told who most of a profile is about."""
_CHANGES_MAX = 500
_QUERY_HITS = 60
_RELEVANT_SHARE = 0.5
"""As in a context: what scores less than this share of a bucket's best hit only fills it."""


class Part(NamedTuple):
    """All facts that belong to one part (a mask over the index), and by what they are ranked."""

    name: str
    mask: Mask
    keys: Floats


class Parts(NamedTuple):
    """The parts of a profile in the order that they are told. `subject` is who it is about."""

    parts: list[Part]
    subject: str | None
    zoned: bool
    notes: tuple[str, ...]


class Sorter:
    """Sorts the facts of one container at one moment into the parts of a profile."""

    def __init__(self, view: ContainerView, asked: q.Profile, when: When) -> None:
        self.view = view
        self._asked = asked
        self._when = when
        narrow = self._narrowed()
        self.zoned = narrow.zoned
        found = seen(view, narrow.criteria)
        self.columns, self._mask = found.columns, found.mask
        self._mask &= self.columns.valid_from < when.holding()[1]
        self._secret = view.log.key(view.id)
        naming = Naming(view, self.columns, self._mask, when.at)
        self.notes: tuple[str, ...] = ()
        if asked.subject is not None:
            self.notes = _unknown(asked.subject, naming)
            term = entries.entity_term(self._secret, asked.subject)
            self._mask &= self._holding(entries.ENTITIES, [term])
        self.subject = self._main_subject(naming)
        self._about, self._single = self._of_subject()
        self._keys = self._points() * _POINT + self._seconds(self.columns.valid_from)

    def parts(self, meanings: Mapping[str, Query]) -> Parts:
        """`meanings` are the vectors of the buckets' queries."""
        stable = Part(STABLE, self._lasting(), self._keys)
        buckets = [self._bucket(name, each, meanings) for name, each in self._buckets().items()]
        return Parts([stable, *buckets, self._recent()], self.subject, self.zoned, self.notes)

    def best(self, part: Part, most: int) -> Ordinals:
        """The first facts of a part; equal ones by id."""
        wanted = np.flatnonzero(part.mask).astype(np.uint32)
        return bm25.top_k(part.keys[wanted], wanted, self.columns.item, most)[0]

    def item(self, ordinal: int) -> bytes:
        raw: bytes = self.columns.item[ordinal].tobytes()
        return raw

    # --- what may be told at all, and how it is ranked

    def _narrowed(self, *, superseded: bool = False) -> _Narrowed:
        asked = self._asked
        criteria, zoned = narrowed(
            self.view,
            asked.filters,
            self._when,
            scope=asked.scope,
            among=(Kind.FACT,),
            superseded=superseded,
        )
        return _Narrowed(criteria, zoned)

    def _main_subject(self, naming: Naming) -> str | None:
        """Whom the best facts are about, as most of them spell it."""
        if self._asked.subject is not None:
            return " ".join(self._asked.subject.split())
        support = np.minimum(self.columns.support, _SUPPORT_MAX).astype(np.float64)
        keys = support * _POINT + self._seconds(self.columns.valid_from)
        spellings, counts = Spellings(), Counter[str]()
        for ordinal in self.best(Part("", self._mask, keys), _SUBJECT_FACTS).tolist():
            fact = naming.fact(self.item(ordinal))
            if fact is not None and fact.subject:
                spellings.add(fact.subject)
                counts[folded(fact.subject)] += 1
        if not counts:
            return None
        return spellings.of(min(counts, key=lambda name: (-counts[name], name)))

    def _of_subject(self) -> tuple[Mask, Mask]:
        """What is about the subject, and what of that gives it a value it has one of."""
        if self.subject is None:
            nothing = np.zeros(self.columns.n, np.bool_)
            return nothing, nothing
        about = self._holding(entries.ABOUT, [entries.about_term(self._secret, self.subject)])
        if not about.any():
            return about, about
        return about, self._with_attribute(single_valued())

    def _with_attribute(self, attributes: Iterable[str]) -> Mask:
        subject = self.subject or ""
        terms = [entries.about_term(self._secret, subject, name) for name in attributes]
        return self._holding(entries.ABOUT, terms)

    def _points(self) -> Floats:
        columns = self.columns
        points = np.clip(columns.support, 1, _SUPPORT_MAX).astype(np.float64)
        preference = columns.detail == FactKind.PREFERENCE
        points += _PREFERENCE * preference
        points += _ABOUT * self._about
        points += _SINGLE * (self._single & ~preference)
        points += _PINNED * self._tagged(PINNED_TAG)
        points += self._importance() * _IMPORTANT // WHOLE
        return points

    def _importance(self) -> npt.NDArray[np.int64]:
        """Thousandths of the facts that the profile may tell; 0 for all else."""
        columns = self.columns
        found = np.zeros(columns.n, np.int64)
        if columns.importance.any():
            at = self._when.at
            stands = (columns.opened <= at) & (columns.closed > at) & (columns.hidden == 0)
            of = np.flatnonzero(self._mask)
            found[of] = counting(columns, stands, of)
        return found

    def _seconds(self, times_us: npt.NDArray[np.int64]) -> Floats:
        """µs to whole seconds that can be added to points; what lies before 1970 counts as that."""
        return np.clip(times_us // 1_000_000, 0, None).astype(np.float64)

    def _holding(self, field: int, terms: Iterable[str]) -> Mask:
        """Entries that hold any of the terms."""
        found = np.zeros(self.columns.n, np.bool_)
        for term in terms:
            found[self.view.postings(field, term)[0]] = True
        return found

    def _tagged(self, tag: str) -> Mask:
        return self._holding(entries.TAGS, [entries.tag_term(self._secret, tag)])

    # --- stable and recent

    def _endless(self) -> Mask:
        """What holds with no end in sight. Asked for another time, an end that came with a change
        was not in sight yet."""
        columns = self.columns
        endless = columns.valid_to >= MAX_US
        if self._when.valid is not None:
            endless |= columns.standing == StandingCode.SUPERSEDED
        return endless & (columns.expires >= MAX_US)

    def _lasting(self) -> Mask:
        """Facts and preferences, and what happened where it tells a value that still holds."""
        detail = self.columns.detail
        states = (detail == FactKind.FACT) | (detail == FactKind.PREFERENCE)
        lasting: Mask = self._mask & self._endless() & (states | (self._single & self._happened()))
        return lasting

    def _happened(self) -> Mask:
        happened: Mask = self.columns.detail == FactKind.EPISODE
        return happened

    def _recent(self) -> Part:
        """What happened, what holds for a while only, and what took the place of another fact, as
        far as it began within the days asked for; newest first."""
        end = self._when.holding()[1]
        since = end - self._asked.days * _DAY_US
        begun = self.columns.valid_from.copy()
        passing = self._happened() | ~self._endless()
        mask = self._mask & passing & (begun >= since)
        for ordinal, at in self._changes(since, end):
            if self._mask[ordinal]:
                mask[ordinal] = True
                begun[ordinal] = max(int(begun[ordinal]), at)
        return Part(RECENT, mask, self._seconds(begun))

    def _changes(self, since: int, end: int) -> Iterable[tuple[int, int]]:
        """Facts that took another's place within [since, end) µs, by what they ended: the ordinal
        of each, and when it did."""
        view, columns, at = self.view, self.columns, self._when.at
        over = seen(view, self._narrowed(superseded=True).criteria._replace(valid=None)).mask
        ended = (columns.standing == StandingCode.SUPERSEDED) & (columns.valid_to >= since)
        known = view.log.position_at(view.id, since) if since >= 0 else 0
        wrong = (columns.standing == StandingCode.CORRECTED) & (columns.opened > known)
        over &= ended | wrong
        newest = Part("", over, columns.opened.astype(np.float64))
        for ordinal in self.best(newest, _CHANGES_MAX).tolist():
            row = view.fact(self.item(ordinal), at)
            change = None if row is None else row.state.ended
            new = None if change is None or change.repeats else view.fact(change.by, at)
            if change is None or new is None:
                continue
            # what was wrong all along became known when the right was said
            begun = new.state.recorded_at if change.corrects else change.at
            if since <= begun < end:
                yield new.ordinal, begun

    # --- buckets

    def _buckets(self) -> dict[str, q.Bucket]:
        if self._asked.buckets is not None:
            return self._asked.buckets
        return {name: q.Bucket() for name in get_args(q.BucketName)}

    def _bucket(self, name: str, bucket: q.Bucket, meanings: Mapping[str, Query]) -> Part:
        if bucket == q.Bucket():
            return Part(name, self._taken(cast("q.BucketName", name)), self._keys)
        if bucket.query is not None:
            return self._found(name, bucket, meanings.get(bucket.query))
        mask = self._mask.copy()
        for tag in bucket.tags:
            mask &= self._tagged(tag)
        if bucket.kinds:
            wanted = [FactKind[kind.upper()] for kind in bucket.kinds]
            mask &= np.isin(self.columns.detail, wanted)
        return Part(name, mask, self._keys)

    def _taken(self, name: q.BucketName) -> Mask:
        """The facts of a bucket that every profile can have: none that merely happened."""
        taking = TAKING[name]
        found = self._tagged(name)
        for kind in taking.kinds:
            found |= self.columns.detail == kind
        if self.subject is not None and taking.attributes:
            found |= self._with_attribute(taking.attributes)
        said = self._holding(entries.WORDS, taking.terms())
        lasting = ~self._happened() | self._single
        return self._mask & lasting & (found | said)

    def _found(self, name: str, bucket: q.Bucket, meaning: Query | None) -> Part:
        """The facts that a search finds, in its order."""
        asked = self._asked
        filters = msgspec.structs.replace(
            asked.filters,
            what=("fact",),
            tags=(*asked.filters.tags, *bucket.tags),
            kinds=bucket.kinds or asked.filters.kinds,
        )
        assert bucket.query is not None, "only such buckets come here"
        hits, _ = find(
            self.view,
            bucket.query,
            filters,
            self._when,
            _QUERY_HITS,
            scope=asked.scope,
            meaning=meaning,
        )
        mask = np.zeros(self.columns.n, np.bool_)
        keys = np.zeros(self.columns.n, np.float64)
        least = _RELEVANT_SHARE * hits.matches[0].score if hits.matches else 0.0
        for rank, match in enumerate(hits.matches):
            if match.score >= least:
                mask[match.row.ordinal] = True
                keys[match.row.ordinal] = -rank
        return Part(name, mask & self._mask, keys)


class _Narrowed(NamedTuple):
    criteria: Criteria
    zoned: bool


def _unknown(subject: str, naming: Naming) -> tuple[str, ...]:
    """That no fact names the subject asked for, and whom it may have meant."""
    if naming.ids(subject):
        return ()
    similar = naming.similar(subject, subjects=False)
    hint = (f"facts name {', '.join(similar)}",) if similar else ()
    return (f"no fact names {subject.strip()} at this moment", *hint)
