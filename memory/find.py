"""Finding by words and meaning: a query and filters as people write them, answered by the index.

Shared by search, context and forgetting by a query, which therefore find the same.
"""

from rewound.memory.moments import When
from rewound.memory.requests import Filters, Scope
from rewound.memory.seeing import KINDS, Narrowed, narrowed
from rewound.projections.reader import ContainerView
from rewound.projections.search import Hits, search
from rewound.projections.selection import FINDABLE
from rewound.projections.vectors import Query

_ANYONE = Scope()


def find(
    view: ContainerView,
    query: str,
    filters: Filters,
    when: When,
    limit: int,
    *,
    scope: Scope = _ANYONE,
    superseded: bool = False,
    forgotten: bool = False,
    meaning: Query | None = None,
) -> tuple[Hits, bool]:
    """The best hits at a moment, and whether a time of the filters was read in the zone.

    `meaning` is the query's vector; without it words alone find. Documents are found by their
    title, and only when `what` asks for them. Raises InvalidInput.
    """
    narrow = sought(view, filters, when, scope=scope, superseded=superseded, forgotten=forgotten)
    return search(view, query, narrow.criteria, limit, meaning), narrow.zoned


def sought(
    view: ContainerView,
    filters: Filters,
    when: When,
    *,
    scope: Scope = _ANYONE,
    superseded: bool = False,
    forgotten: bool = False,
) -> Narrowed:
    """Among what a search looks. Raises InvalidInput."""
    asked = frozenset(KINDS[name] for name in filters.what)
    return narrowed(
        view,
        filters,
        when,
        scope=scope,
        among=asked or FINDABLE,
        superseded=superseded,
        forgotten=forgotten,
        said_by_then=True,
    )
