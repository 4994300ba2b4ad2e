"""Finding by words: a query and filters as people write them, answered by the search index.

Shared by search, context and forgetting by a query, which therefore find the same.
"""

from rewound.memory.moments import When
from rewound.memory.requests import Filters, Scope
from rewound.memory.seeing import KINDS, narrowed
from rewound.projections.reader import ContainerView
from rewound.projections.search import Match, search
from rewound.projections.selection import FINDABLE

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
) -> tuple[list[Match], bool]:
    """The best hits at a moment, and whether a time of the filters was read in the zone.

    Documents are found by their title, and only when `what` asks for them. Raises InvalidInput.
    """
    asked = frozenset(KINDS[name] for name in filters.what)
    narrow = narrowed(
        view,
        filters,
        when,
        scope=scope,
        among=asked or FINDABLE,
        superseded=superseded,
        forgotten=forgotten,
    )
    return search(view, query, narrow.criteria, limit), narrow.zoned
