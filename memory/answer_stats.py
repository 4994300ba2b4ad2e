"""Answers about how much there is: figures and containers.

Counts come from the search index's columns and are as of the moment, but for what is hidden: that
is today's. The figures of one container say nothing of the others, so sizes on disk, which are the
whole store's, are only told for the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from rewound.eventlog.errors import InvalidInput, NotFound
from rewound.eventlog.ids import STORE, Kind, show
from rewound.eventlog.instants import end_of, parse_instant, show_us
from rewound.memory import cursors
from rewound.memory import requests as q
from rewound.memory.answer_items import bounded
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import LAST_US, Point, resolve
from rewound.memory.replies import ContainerInfo, ContainerList, Figures
from rewound.memory.scoping import Within
from rewound.memory.seeing import FORGETTABLE
from rewound.projections.catalog import VERSIONS
from rewound.projections.containers import ContainerRow
from rewound.projections.reader import ContainerView
from rewound.projections.selection import Criteria
from rewound.projections.selection import select as selected

if TYPE_CHECKING:
    from rewound.projections.views import ViewReader

SHOWN_MAX = 100
"""Containers of which the figures of a store tell what each holds."""

COUNTED_MAX = 10_000
"""Waiting sources that are counted one by one."""

_Standing = tuple[ContainerView, Point]

# --- figures


@answers(q.Stats)
def figures(asked: q.Stats, asking: Asking) -> Figures:
    if asked.store:
        return _store_figures(asked, asking)
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    info = _info(view, asked.scope, when.at, when.now_us)
    return Figures(
        container=asking.name,
        containers=1,
        info=() if info is None else (info,),
        events=_events(view, asked.scope, when.at),
        log_bytes=0,
        view_bytes=0,
        views=dict(VERSIONS),
        read_only=asking.read_only,
        pending=0 if info is None else info.counts["pending"],
    )


def _store_figures(asked: q.Stats, asking: Asking) -> Figures:
    views = asking.views
    at_us = _store_moment(asked.as_of)
    shown = 1 if asked.brief else SHOWN_MAX
    standing: Iterable[_Standing]
    if at_us is None and asked.scope == q.Scope():
        # Nothing that grows with the number of containers: health asks this every few seconds.
        containers = views.containers()
        events = views.sequence() - views.position(STORE)
        pending = _pending(views)
        standing = _present(asking)
    else:
        every = list(_at(at_us, asking))
        containers = len(every)
        events = sum(_events(view, asked.scope, known.position) for view, known in every)
        pending = sum(
            _unfinished(view, known.position, Within(view, asked.scope, known.position))
            for view, known in every
        )
        standing = every
    infos = [
        _info(view, asked.scope, known.position, known.now_us)
        for view, known in islice(standing, shown)
    ]
    left = containers - len(infos)
    note = f"{left} more containers are not shown: `rewound containers` tells of each"
    return Figures(
        container=None,
        containers=containers,
        info=tuple(info for info in infos if info is not None),
        events=events,
        log_bytes=asking.sizes.log_bytes,
        view_bytes=asking.sizes.view_bytes,
        views=dict(VERSIONS),
        read_only=asking.read_only,
        compaction=asking.sizes.compaction,
        switch=asking.sizes.switch,
        pending=pending,
        notes=(note,) if left and not asked.brief else (),
    )


def _pending(views: ViewReader) -> int:
    """Forgotten sources are left out, unless so many wait that it would take long to tell."""
    count = views.waiting_count("jobs")
    if count > COUNTED_MAX:
        return count
    return sum(1 for each in views.waiting("jobs") for _ in views.container(each).job_briefs())


def _events(view: ContainerView, scope: q.Scope, at: int) -> int:
    """Events up to a position; those that a scope may see have to be looked at one by one."""
    within = Within(view, scope, at)
    if within.everything:
        return at
    return sum(within.event(recorded) for recorded in view.log.events(view.id, 0, at))


def _info(view: ContainerView, scope: q.Scope, at: int, now_us: int) -> ContainerInfo | None:
    """A container as of a position; None when it is not there, or not any more."""
    configured = _standing(view, at)
    last = view.event(at)
    if configured is None or last is None:
        return None
    return ContainerInfo(
        name=view.text(configured.name) or "",
        id=show(Kind.CONTAINER, view.id),
        zone=view.text(configured.zone) or "UTC",
        position=at,
        head=view.log.head_at(view.id, at).digest.hex(),
        counts=counts(view, at, now_us, Within(view, scope, at)),
        last_recorded_at=show_us(last.envelope.recorded_at),
    )


def _standing(view: ContainerView, at: int) -> ContainerRow | None:
    configured = view.configured(at) if at else None
    return None if configured is None or configured.removed else configured


def counts(view: ContainerView, at: int, now_us: int, within: Within) -> dict[str, int]:
    """What a container holds within a scope. `facts` are current, `versions` all wordings; nothing
    hidden counts but in `forgotten` (facts by their versions; what is erased is not there any
    more)."""
    what = frozenset(FORGETTABLE | {Kind.PASSAGE})
    criteria = Criteria(now=now_us, at=at, what=what, scope=within.parts)
    found = selected(view, criteria)
    columns = found.columns
    versions = selected(view, criteria._replace(what=frozenset({Kind.FACT}), superseded=True))
    by_kind = np.bincount(columns.kind[found.allowed], minlength=max(Kind) + 1)
    hidden = dict(view.hidden_items())
    forgotten = sum(
        not row.erased
        and ref.kind in FORGETTABLE
        and view.row(ref, at) is not None
        and within.item(ref)
        for ref, row in hidden.items()
    )
    return {
        "documents": int(by_kind[Kind.DOCUMENT]),
        "messages": int(by_kind[Kind.MESSAGE]),
        "passages": int(by_kind[Kind.PASSAGE]),
        "facts": int(by_kind[Kind.FACT]),
        "versions": int(np.count_nonzero(versions.allowed)),
        "forgotten": forgotten,
        "pending": _unfinished(view, at, within),
    }


def _unfinished(view: ContainerView, at: int, within: Within) -> int:
    """Sources that facts were still to be derived from, but for those that are forgotten."""
    if within.everything and at >= view.position:
        return sum(1 for _ in view.job_briefs())
    return sum(within.item(ref) for ref, _ in view.jobs(at))


# --- containers


@answers(q.Containers)
def list_containers(asked: q.Containers, asking: Asking) -> ContainerList:
    """Containers by id, which is by age. Reads the whole store: only for who may see all of it."""
    limit, _ = bounded(asked.limit)
    secret = _secret(asking)
    cursor = cursors.read(asked, secret)
    at_us = _store_moment(asked.as_of)
    after = cursor.after if cursor else b""
    if at_us is None:
        total = asking.views.containers()
        later = list(islice(_present(asking, after), limit + 1))
    else:
        standing = list(_at(at_us, asking))
        total = len(standing)
        later = [(view, known) for view, known in standing if view.id > after]
    page = later[:limit]
    infos = (_info(view, asked.scope, known.position, known.now_us) for view, known in page)
    more = len(later) > limit
    following = None
    if more:
        last = cursors.Cursor(0, asking.now_us, page[-1][0].id)
        following = cursors.write(last, asked, secret)
    return ContainerList(
        containers=tuple(info for info in infos if info is not None),
        total=total,
        has_more=more,
        cursor=following,
    )


def _secret(asking: Asking) -> bytes:
    """The store's own; a store without a container has none yet, and no cursor of it is out."""
    try:
        return asking.log.key(STORE)
    except NotFound:
        return bytes(32)


def _present(asking: Asking, after: bytes = b"") -> Iterator[_Standing]:
    """The containers of the present, by id, as they are wanted."""
    for container in asking.views.containers_after(after):
        view = asking.views.container(container)
        yield view, _known(view, None, asking.now_us)


def _at(at_us: int | None, asking: Asking) -> Iterator[_Standing]:
    """The containers that there were at a time, by id: each has to be looked at."""
    for container in asking.views.containers_after():
        view = asking.views.container(container)
        known = _known(view, at_us, asking.now_us)
        if _standing(view, known.position) is not None:
            yield view, known


def _store_moment(as_of: str | None) -> int | None:
    """µs; a time without an offset is in UTC here, since every container has a zone of its own."""
    if as_of is None or as_of.strip().lower() == "now":
        return None
    if as_of.strip().startswith("@") or "_" in as_of:
        raise InvalidInput(
            "positions and events belong to one container: for the whole store give a time",
            field="as_of",
        )
    return min(end_of(parse_instant(as_of, field="as_of")) - 1, LAST_US)


def _known(view: ContainerView, at_us: int | None, now_us: int) -> Point:
    if at_us is None:
        return Point(view.position, now_us)
    position = view.log.position_at(view.id, at_us) if at_us >= 0 else 0
    return Point(min(position, view.position), at_us, True)
