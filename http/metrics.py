"""Figures for Prometheus, in its text format: counters and histograms of the server's own work.

Labels hold route templates, methods and statuses: never an id, a name or a text. The format is so
small that it is written here; a client library would bring a registry and locks along.

Where several processes answer on one port, each counts for itself and has a label `worker` (0 is
the one that has the port). They are not added up: a process that is started again counts from
zero, which a sum would hide.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rewound.memory.replies import Figures, LaneCalls, NodeAddress, NodeList

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
UNMATCHED = ("other", "unmatched")
"""Method and route of a request for a path that is not served."""

Label = tuple[str, str]


class Metrics:
    """Counts on the loop's thread alone, so without locks."""

    def __init__(self) -> None:
        self._requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        self._buckets: defaultdict[Label, list[int]] = defaultdict(
            lambda: [0] * (len(BUCKETS_S) + 1)
        )
        self._seconds: defaultdict[Label, float] = defaultdict(float)
        self._writes: defaultdict[str, int] = defaultdict(int)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        label = (method, route)
        self._requests[(method, route, status)] += 1
        self._buckets[label][bisect_left(BUCKETS_S, seconds)] += 1
        self._seconds[label] += seconds

    def wrote(self, command: str) -> None:
        """One command that the store accepted."""
        self._writes[command] += 1

    def counted(self, *, reads: int, writes: int, connections: int) -> Counted:
        """All of it so far, and what is under way."""
        return Counted(
            requests=[(*label, count) for label, count in sorted(self._requests.items())],
            times=[(*label, self._seconds[label], [*buckets])
                   for label, buckets in sorted(self._buckets.items())],
            accepted=sorted(self._writes.items()),
            reads=reads, writes=writes, connections=connections,
        )  # fmt: skip


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """What one process has counted: (method, route, status, count), (method, route, seconds, count
    of each bucket), (command, count)."""

    requests: list[tuple[str, str, int, int]]
    times: list[tuple[str, str, float, list[int]]]
    accepted: list[tuple[str, int]]
    reads: int
    writes: int
    connections: int
    nodes: NodeList | None = None
    """The model servers with this process's own calls; None where the store's owner tells them."""


def text_of(
    figures: Figures | None,
    workers: Mapping[int | None, Counted],
    restarts: int = 0,
    *,
    nodes: NodeList | None = None,
) -> str:
    """The figures of all processes by their number, None for one that answers alone; of the store,
    and of its `nodes`, where it could be asked. The calls that it tells count as the first one's.
    """
    labels = {number: {} if number is None else {"worker": str(number)} for number in workers}
    each = [(labels[number], counted) for number, counted in workers.items()]
    lines = [
        *_counted(each),
        *_timed(each),
        *_family("rewound_writes_total", "counter", "Commands that the store accepted."),
        *(
            f"rewound_writes_total{_labels(command=command, **label)} {count}"
            for label, counted in each
            for command, count in counted.accepted
        ),
        *_family("rewound_http_reads_under_way", "gauge", "Reads in threads or waiting."),
        *(f"rewound_http_reads_under_way{_labels(**label)} {of.reads}" for label, of in each),
        *_family("rewound_http_writes_under_way", "gauge", "Writes not answered yet."),
        *(f"rewound_http_writes_under_way{_labels(**label)} {of.writes}" for label, of in each),
        *_family("rewound_http_connections", "gauge", "Open connections."),
        *(f"rewound_http_connections{_labels(**label)} {of.connections}" for label, of in each),
        *_gauge("rewound_http_workers", "Processes that answer.", len(each)),
        *_family("rewound_http_worker_restarts_total", "counter", "Of readers that had ended."),
        f"rewound_http_worker_restarts_total {restarts}",
        *_gauge("rewound_up", "Whether the store answers.", int(figures is not None)),
        *(() if figures is None else _stored(figures)),
        *(() if nodes is None else _at_nodes(nodes, each)),
    ]
    return "\n".join(lines) + "\n"


_Each = list[tuple[dict[str, str], Counted]]


def _counted(each: _Each) -> Iterator[str]:
    name = "rewound_http_requests_total"
    yield from _family(name, "counter", "Requests by route and status.")
    for label, counted in each:
        for method, route, status, count in counted.requests:
            labels = _labels(method=method, route=route, status=str(status), **label)
            yield f"{name}{labels} {count}"


def _timed(each: _Each) -> Iterator[str]:
    name = "rewound_http_request_seconds"
    yield from _family(name, "histogram", "Time to answer, the reading of the body included.")
    for label, counted in each:
        for method, route, seconds, buckets in counted.times:
            total = 0
            for bound, count in zip((*BUCKETS_S, None), buckets, strict=True):
                total += count
                le = "+Inf" if bound is None else f"{bound:g}"
                labels = _labels(method=method, route=route, le=le, **label)
                yield f"{name}_bucket{labels} {total}"
            labels = _labels(method=method, route=route, **label)
            yield f"{name}_sum{labels} {seconds:.6f}"
            yield f"{name}_count{labels} {total}"


def _stored(figures: Figures) -> Iterator[str]:
    yield from _gauge("rewound_jobs_pending", "Sources not derived from yet.", figures.pending)
    yield from _gauge("rewound_containers", "Containers.", figures.containers)
    yield from _gauge("rewound_events", "Events in the log.", figures.events)
    yield from _family("rewound_store_bytes", "gauge", "Size on disk.")
    yield f"rewound_store_bytes{_labels(part='log')} {figures.log_bytes}"
    yield f"rewound_store_bytes{_labels(part='views')} {figures.view_bytes}"
    read_only = int(figures.read_only is not None)
    yield from _gauge("rewound_read_only", "Whether the store takes no writes.", read_only)


_Address = tuple[dict[str, str], NodeAddress]


def _at_nodes(nodes: NodeList, each: _Each) -> Iterator[str]:
    """Of each address of a node (`role` is all that it answers for), and of each lane. Calls and
    queues are those of each process."""
    found = _addresses(nodes)
    by_process = [
        (label, of.nodes or (nodes if not at else None)) for at, (label, of) in enumerate(each)
    ]
    told = [(label, mine) for label, mine in by_process if mine is not None]
    yield from _family("rewound_node_up", "gauge", "Whether it may be asked.")
    for labels, address in found:
        yield f"rewound_node_up{_labels(**labels)} {int(address.state != 'down')}"
    yield from _family("rewound_node_slots", "gauge", "Calls that it takes at once.")
    for labels, address in found:
        yield f"rewound_node_slots{_labels(**labels)} {address.slots}"
    calls = [
        ({**labels, "lane": lane, **label}, of_lane)
        for label, mine in told
        for labels, address in _addresses(mine)
        for lane, of_lane in address.lanes.items()
    ]
    queues = [
        ({"lane": lane, **label}, queue)
        for label, mine in told
        for lane, queue in mine.queues.items()
    ]
    yield from _calls(calls)
    yield from _family("rewound_lane_waiting", "gauge", "Calls that wait for a slot.")
    for labels, queue in queues:
        yield f"rewound_lane_waiting{_labels(**labels)} {queue.waiting}"
    yield from _family("rewound_lane_refused_total", "counter", "Calls that nobody was asked.")
    for labels, queue in queues:
        for why, count in (("busy", queue.busy), ("away", queue.away)):
            yield f"rewound_lane_refused_total{_labels(**labels, why=why)} {count}"


def _addresses(nodes: NodeList) -> list[_Address]:
    return [
        ({"node": node.name, "role": "+".join(address.roles)}, address)
        for node in nodes.nodes
        for address in node.addresses
    ]


def _calls(calls: Sequence[tuple[dict[str, str], LaneCalls]]) -> Iterator[str]:
    yield from _family("rewound_node_calls_running", "gauge", "Calls under way.")
    for labels, of_lane in calls:
        yield f"rewound_node_calls_running{_labels(**labels)} {of_lane.running}"
    yield from _family("rewound_node_calls_total", "counter", "Calls by how they ended.")
    for labels, of_lane in calls:
        for result in ("ok", "failed", "away", "given_up"):
            count = getattr(of_lane, result)
            yield f"rewound_node_calls_total{_labels(**labels, result=result)} {count}"
    yield from _family("rewound_node_call_seconds_total", "counter", "Time that calls took.")
    for labels, of_lane in calls:
        yield f"rewound_node_call_seconds_total{_labels(**labels)} {of_lane.seconds:.3f}"


def _family(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _gauge(name: str, about: str, value: int) -> tuple[str, str, str]:
    return *_family(name, "gauge", about), f"{name} {value}"


def _labels(**values: str) -> str:
    """Label values of ours hold neither quotes nor backslashes nor line ends."""
    if not values:
        return ""
    return "{" + ",".join(f'{name}="{value}"' for name, value in values.items()) + "}"
