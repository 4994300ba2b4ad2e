"""How the server is, told by whichever of its processes is asked: health and figures of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from rewound.http.asking import Desk
from rewound.http.health import Health, Prober, health_of
from rewound.http.metrics import Counted, text_of


class Overview(Protocol):
    """Where health and figures come from."""

    async def health(self, *, told: bool) -> Health:
        """`told`: with its parts, for who has the key."""
        ...

    async def metrics(self) -> str: ...


class Team(Protocol):
    """The other processes that answer on the port (`readers.py`)."""

    @property
    def restarts(self) -> int: ...

    def seen(self) -> list[dict[str, Any]]:
        """Each of them, for people."""
        ...

    async def counted(self) -> Mapping[int | None, Counted]:
        """What those have counted that answer."""
        ...


class Whole:
    """The overview in the process that has the port."""

    def __init__(
        self, prober: Prober, desk: Desk, counted: Callable[[], Counted], team: Team | None
    ) -> None:
        self._prober = prober
        self._desk = desk
        self._counted = counted
        self._team = team

    async def health(self, *, told: bool) -> Health:
        found = health_of(await self._prober.probe(), self._desk, told=told)
        if not told or self._team is None:
            return found
        return msgspec.structs.replace(found, parts={**found.parts, "processes": self._team.seen()})

    async def metrics(self) -> str:
        probe = await self._prober.probe()
        if self._team is None:
            return text_of(probe.figures, {None: self._counted()}, nodes=probe.nodes)
        others = await self._team.counted()
        workers: dict[int | None, Counted] = {0: self._counted(), **others}
        return text_of(probe.figures, workers, self._team.restarts, nodes=probe.nodes)
