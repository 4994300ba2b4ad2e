"""Health: the store is asked something, and the answer decides, not that the server runs."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal, NamedTuple

import msgspec

from rewound.http.asking import Desk
from rewound.memory import RewoundError
from rewound.memory import requests as q
from rewound.memory.replies import Figures, Found, NodeList, Working

Word = Literal["ok", "degraded", "failing"]

_QUERY = "health"


class Health(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`degraded`: reads are answered, but writes are not taken, meanings are not found, or a model
    server does not answer (then `parts.degraded` says what follows from that).

    `parts` (store, embedder, workers, nodes, degraded, pending, queues, and processes where several
    answer) only for who has the key.
    """

    status: Word
    parts: dict[str, Any] = {}


class Probe(NamedTuple):
    """What one look at the store found. `code` tells why there are no `figures`."""

    at: float
    figures: Figures | None
    working: Working | None = None
    embedder: str = "unknown"
    """`used`, `idle` (nothing to compare with), `old` (vectors of a model that is not set any more
    are compared), `failing` or `unknown`."""
    code: str | None = None
    nodes: NodeList | None = None
    trouble: str | None = None
    """What a search says of the embedder, where that is `old` or `failing`."""


class Prober:
    """Looks at the store, and keeps its figures for so many seconds."""

    def __init__(self, desk: Desk, fresh_s: float) -> None:
        self._desk = desk
        self._fresh_s = fresh_s
        self._last = Probe(float("-inf"), None)
        self._looking: asyncio.Future[Probe] | None = None

    async def probe(self) -> Probe:
        """Ask the store something now; its figures may be some seconds old.

        Who asks while a look is under way gets what that one finds: anybody may ask, and many at
        once must not keep the store busy.
        """
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = self._desk.look(self._look)
        self._last = await asyncio.shield(looking)
        return self._last

    def _look(self) -> Probe:
        last, now = self._last, time.monotonic()
        fresh = last.figures is not None and now - last.at < self._fresh_s
        try:
            figures = last.figures if fresh else self._figures()
            working = last.working if fresh else self._working()
            at, nodes = last.at if fresh else now, self._nodes()
            state, trouble = self._embedder(figures)
            return Probe(at, figures, working, state, nodes=nodes, trouble=trouble)
        except RewoundError as error:
            return Probe(now, None, code=error.code)

    def _figures(self) -> Figures:
        reply = self._desk.link.call(q.Stats(store=True, brief=True))
        assert isinstance(reply, Figures), "Stats is answered with Figures"
        return reply

    def _working(self) -> Working:
        reply = self._desk.link.call(q.Workers())
        assert isinstance(reply, Working), "Workers is answered with Working"
        return reply

    def _nodes(self) -> NodeList:
        """Asked each time: nodes come and go, and their figures cost nothing."""
        reply = self._desk.link.call(q.Nodes())
        assert isinstance(reply, NodeList), "Nodes is answered with NodeList"
        return reply

    def _embedder(self, figures: Figures | None) -> tuple[str, str | None]:
        """A small search through all layers, in a container that there is."""
        if figures is None or not figures.info:
            return "idle", None
        try:
            name = figures.info[0].name
            found = self._desk.link.call(
                q.Search(
                    container=name,
                    query=_QUERY,
                    limit=1,
                    rerank=False,
                    rewrite=False,
                    decompose=False,
                )
            )
        except RewoundError as error:
            if error.code == "not_found":
                return "idle", None  # the container has gone since
            raise
        assert isinstance(found, Found), "Search is answered with Found"
        told = [note for note in found.notes if "embedder" in note]
        if told:
            is_old = all("goes on answering" in note for note in told)
            return "old" if is_old else "failing", told[0]
        return "used" if any("meaning" in hit.signals for hit in found.hits) else "idle", None


def health_of(probe: Probe, desk: Desk, *, told: bool) -> Health:
    """The status word, and the parts when they may be told."""
    figures, working, nodes = probe.figures, probe.working, probe.nodes
    if figures is None:
        status: Word = "failing"
    elif figures.read_only is not None or probe.embedder in ("failing", "old"):
        status = "degraded"
    elif nodes is not None and nodes.degraded:
        status = "degraded"
    else:
        status = "ok"
    if not told:
        return Health(status=status)
    store: dict[str, Any] = {"answers": figures is not None, "owned": desk.link.owns}
    if figures is None:
        store["code"] = probe.code
    else:
        store |= {
            "read_only": figures.read_only,
            "containers": figures.containers,
            "events": figures.events,
            "compaction": figures.compaction,
        }
    workers = working and {
        "state": working.state,
        "extractor": working.extractor,
        "judge": working.judge,
        "failed": working.failed,
        "parked": working.parked,
    }
    return Health(
        status=status,
        parts={
            "store": store,
            "embedder": {
                "state": probe.embedder,
                "trouble": probe.trouble,
                "switch": None if working is None else working.switch,
            },
            "workers": workers,
            "nodes": None if nodes is None else nodes.nodes,
            "degraded": () if nodes is None else nodes.degraded,
            "pending": None if figures is None else figures.pending,
            "queues": {"reads": desk.reads, "writes": desk.writes},
        },
    )
