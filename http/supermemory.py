"""The façades for programs that speak one of Supermemory's APIs, taken together."""

from __future__ import annotations

from rewound.http import supermemory_v3, supermemory_v4, supermemory_v5
from rewound.http.asking import Desk
from rewound.http.limits import Limits
from rewound.http.supermemory_words import Declared, Handler

DECLARED: tuple[Declared, ...] = (
    *supermemory_v4.DECLARED,
    *supermemory_v5.DECLARED,
    *supermemory_v3.DECLARED,
)

SECTIONS = {
    supermemory_v4.SECTION: supermemory_v4.__doc__,
    supermemory_v5.SECTION: supermemory_v5.__doc__,
    supermemory_v3.SECTION: supermemory_v3.__doc__,
}
"""Section -> what it is about."""


def handlers(desk: Desk, limits: Limits) -> dict[str, Handler]:
    """Path -> handler of a POST."""
    found: dict[str, Handler] = {}
    for version in (supermemory_v3, supermemory_v4, supermemory_v5):
        found |= version.handlers(desk, limits)
    return found
