"""The judging policy in force in a container: its own, or the one that comes with Rewound."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog.ids import EventId
from rewound.llm.policy import Policy, shipped

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView


class InForce(NamedTuple):
    """`event` fitted it, None for the shipped one."""

    policy: Policy
    event: EventId | None


def in_force(view: ContainerView, at: int | None = None) -> InForce:
    """The last one fitted that holds and whose parameters are not erased."""
    row = view.policy(at)
    parameters = None if row is None else view.text(row.parameters)
    if row is None or parameters is None:
        return InForce(shipped(), None)
    return InForce(_read(parameters), row.event)


@lru_cache(maxsize=64)
def _read(parameters: str) -> Policy:
    return Policy.from_json(parameters.encode())
