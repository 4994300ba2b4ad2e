"""Speed of the doors, as ratios to baselines of the same run: `python -m eval.bench_serve`.

    REST      a server in a process of its own, asked by another over kept connections
    socket    `Memory` in a process beside the one that owns the store
    library   `Memory` in the process that owns the store

A write is one fact, durable when it is answered, while the workers are paused ("embedding too":
while they make the vectors of what was written). A search has a query that was not asked before,
and ten hits. Each is measured in slices that alternate with slices of its baseline:

    GET /       of the same server: routed and guarded like all others, and does nothing
    embedding   of the query alone, by the model that the store uses (MiniLM), in as many threads
    commit      one row put into a bare LMDB environment, durably, by one thread
    1 worker    searches of a server that answers alone, for one with `--workers` on an equal store

The stores are filled with made-up facts in English words (`filling.py`). Their vectors are random
units that come the way of all vectors, but in no time: what a scan costs does not depend on what
they hold, and 100,000 facts would take the model minutes. Queries, and what is written while the
clock runs, are embedded by the model itself. All goes to 127.0.0.1.
"""

import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from eval.filling import fill, pause
from eval.loading import Job
from eval.serving import Load, Loaded, Server, fresh_s, mcp_s

SLICES = 3
STARTS = 3
RUN_S = 180.0
LARGE_S = 30.0
"""The whole run ends in time since the large store is filled only until so much is left of it."""

SERVER_IMPORTS = "import aiohttp.web, click, lmdb, msgspec, numpy"


class Figure(NamedTuple):
    """All slices of one contender together."""

    each_ms: list[float]
    seconds: float
    cpu_s: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.each_ms) / self.seconds

    def percentile(self, percent: int) -> float:
        """Milliseconds."""
        if len(self.each_ms) < 2:
            return self.each_ms[0]
        return statistics.quantiles(self.each_ms, n=100, method="inclusive")[percent - 1]

    @property
    def cpu_ms(self) -> float:
        """Of the server, an answer."""
        return self.cpu_s / len(self.each_ms) * 1000

    def __str__(self) -> str:
        p50, p95 = self.percentile(50), self.percentile(95)
        return f"{self.rate:>7,.0f} /s   p50 {p50:7.2f}   p95 {p95:7.2f} ms"


def alternating(load: Load, seconds: float, *jobs: Job) -> list[Figure]:
    """One figure for each job, of slices that take turns; all of them take the seconds together."""
    slices: list[list[Loaded]] = [[] for _ in jobs]
    for _ in range(SLICES):
        for job, done in zip(jobs, slices, strict=True):
            done.append(load.run(replace(job, seconds=seconds / SLICES / len(jobs))))
    return [_joined(done) for done in slices]


def _joined(slices: list[Loaded]) -> Figure:
    return Figure(
        [each for loaded in slices for each in loaded.taken.each_ms],
        sum(loaded.taken.seconds for loaded in slices),
        sum(loaded.cpu_s for loaded in slices),
    )


def tell(what: str, detail: str, figure: object, against: str = "") -> None:
    click.echo(f"{what:<16} {detail:<14} {figure}{'   ' if against else ''}{against}")


class Clients(NamedTuple):
    """So many at once, in turn, and the seconds for each figure and its baseline."""

    counts: tuple[int, ...]
    seconds: float

    def searches(self, name: str, load: Load, search: Job) -> None:
        """Against the embedding of queries alone."""
        for job in (search, Job(door="model")):
            load.run(replace(job, seconds=0.1))  # what is loaded at first use
        for count in self.counts:
            alone = Job(door="model", clients=count)
            bare, ours = alternating(load, self.seconds, alone, replace(search, clients=count))
            against = f"rate x{ours.rate / bare.rate:.2f}"
            if count == 1:  # else the model's turns decide who waits how long, and p50 says little
                against += f", p50 x{ours.percentile(50) / bare.percentile(50):.2f}"
            tell(f"{name} search", _clients(count), ours, against)
            tell("  embedding", _clients(count), bare)

    def writes(self, name: str, load: Load, write: Job) -> None:
        """Against the bare commits of one thread."""
        commit = Job(door="disk", data=write.data)
        for count in self.counts:
            bare, ours = alternating(load, self.seconds, commit, replace(write, clients=count))
            tell(f"{name} write", _clients(count), ours, f"rate x{ours.rate / bare.rate:.2f}")
            tell("  commit", _clients(1), bare)

    def rest_writes(self, load: Load, server: Server) -> None:
        """Against GET / of the same server: alone, and while it embeds what was written."""
        write = Job(door="rest", what="write", port=server.port)
        for count in self.counts:
            server.work("pause")
            empty = Job(door="rest", port=server.port, clients=count)
            mine = replace(write, clients=count)
            bare, ours = alternating(load, self.seconds, empty, mine)
            server.work("resume")
            busy = alternating(load, self.seconds / 2, mine)[0]
            tell("REST write", _clients(count), ours, _against(ours, bare))
            tell("  embedding too", _clients(count), busy, _against(busy, bare))
            tell("  GET /", _clients(count), bare, f"server CPU {bare.cpu_ms:.2f} ms")


def _against(ours: Figure, bare: Figure) -> str:
    times = ours.cpu_ms / bare.cpu_ms if bare.cpu_ms else float("nan")
    return f"rate x{ours.rate / bare.rate:.2f}, server CPU {ours.cpu_ms:.2f} ms (x{times:.1f})"


def _clients(count: int) -> str:
    return f"{count} client{'s' * (count > 1)}"


def past(load: Load, server: Server, count: int, seconds: float) -> None:
    """Searches as of half the facts ago; their queries are remembered, so none is embedded."""
    position = server.get("/v1/stats", container="default")["info"][0]["position"]
    now = Job(door="rest", what="search", port=server.port, known=True)
    load.run(replace(now, seconds=1.0))
    then = replace(now, as_of=f"@{position // 2}")
    present, earlier = alternating(load, seconds, now, then)
    slower = earlier.percentile(50) / present.percentile(50)
    tell("REST as_of", f"{count} facts", earlier, f"p50 x{slower:.2f} of a present search")
    tell("  present", "known queries", present)


def starting(data: Path, count: int) -> None:
    """From the start of a server to its first answer, and to that of its first search."""
    took: list[tuple[float, float]] = []
    imports = []
    for _ in range(STARTS):
        imports.append(fresh_s(SERVER_IMPORTS))
        with Server(data) as server:
            begun = time.perf_counter()
            if count:
                server.post("/v1/search", {"query": "what did they say of the garden"})
            took.append((server.started_s, time.perf_counter() - begun))
    answer, search = (statistics.median(each) for each in zip(*took, strict=True))
    ratio = answer / statistics.median(imports)
    more = f", then {search:.2f} s for the first search (loads the model)" if count else ""
    tell("start", f"{count} facts", f"{answer:.2f} s, x{ratio:.2f} of importing its packages{more}")


def bridging(beside: Path, alone: Path) -> None:
    """`rewound mcp` to its list of tools, beside an owner of the store and without one."""
    took = [(fresh_s("import mcp"), mcp_s(beside), mcp_s(alone)) for _ in range(STARTS)]
    sdk, with_owner, by_itself = (statistics.median(each) for each in zip(*took, strict=True))
    for what, taken in (("beside owner", with_owner), ("alone", by_itself)):
        tell("rewound mcp", what, f"{taken:.2f} s to tools/list, x{taken / sdk:.2f} of import mcp")


def large(data: Path, most: int, until: float, seconds: float) -> None:
    """A large store: start, memory, and searches by one client. Filled until then at the latest."""
    count = _filled(data, most, until - time.perf_counter())
    starting(data, count)
    with Server(data) as server, Load(3, server) as load:
        tell("memory", f"{count} facts", f"idle: {server.resident()}")
        search = Job(door="rest", what="search", port=server.port)
        Clients((1,), seconds).searches("REST", load, search)
        past(load, server, count, seconds)
        tell("memory", f"{count} facts", f"after searches: {server.resident()}")


def _filled(data: Path, count: int, seconds: float = math.inf) -> int:
    begun = time.perf_counter()
    done = fill(data, count, seconds)
    rate = done / (time.perf_counter() - begun)
    tell("fill", f"{done} facts", f"{rate:,.0f} /s with their vectors, but without a model")
    return done


def by_library(data: Path, clients: Clients) -> None:
    pause(data)
    with Load(1) as load:
        job = Job(door="library", data=str(data))
        clients.searches("library", load, replace(job, what="search"))
        clients.writes("library", load, replace(job, what="write"))


def by_server(data: Path, alone: Path, count: int, clients: Clients) -> None:
    """What needs a server. It ends with a store that has grown."""
    with Server(data) as server, Load(2, server) as load:
        tell("memory", f"{count} facts", f"idle: {server.resident()}")
        clients.searches("REST", load, Job(door="rest", what="search", port=server.port))
        past(load, server, count, clients.seconds)
        bridging(data, alone)
        socket = Job(door="library", data=str(data))
        clients.searches("socket", load, replace(socket, what="search"))
        server.work("pause")
        clients.writes("socket", load, replace(socket, what="write"))
        clients.rest_writes(load, server)
        tell("memory", f"{count} facts", f"after load: {server.resident()}")


def by_workers(data: Path, equal: Path, workers: int, clients: Clients) -> None:
    """Searches of a server of several processes, against those of one alone."""
    with Server(data) as alone, Server(equal, workers) as several, Load(4) as load:
        search = Job(door="rest", what="search")
        jobs = [replace(search, port=server.port) for server in (alone, several)]
        for server in (alone, several):
            server.work("pause")
        for job in jobs:
            load.run(replace(job, seconds=1.0, clients=2 * workers))  # loads the model in each
        for count in clients.counts:
            each = [replace(job, clients=count) for job in jobs]
            bare, ours = alternating(load, clients.seconds, *each)
            p50 = ours.percentile(50) / bare.percentile(50)
            against = f"rate x{ours.rate / bare.rate:.2f}, p50 x{p50:.2f}"
            tell(f"{workers} workers", _clients(count), ours, against)
            tell("  1 worker", _clients(count), bare)


@click.command()
@click.option("--facts", "count", default=10_000, help="Facts in the store that is asked.")
@click.option("--large", "many", default=100_000, help="Facts in the large store at most.")
@click.option("--clients", default="1,8,32", help="Clients at once, with commas.")
@click.option("--workers", default=2, help="Processes of a server that is compared with one of 1.")
@click.option("--seconds", default=3.0, help="For each figure with its baseline.")
def main(count: int, many: int, clients: str, workers: int, seconds: float) -> None:
    """Print one line a figure, and its ratio to a baseline of the same run."""
    begun = time.perf_counter()
    counts = tuple(int(each) for each in clients.split(","))
    click.echo(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        data, alone, empty = (Path(folder) / name for name in ("data", "alone", "empty"))
        _filled(data, count)
        shutil.copytree(data, alone)
        starting(empty, 0)
        starting(data, count)
        if workers > 1:
            by_workers(data, alone, workers, Clients(counts, seconds))
        by_library(alone, Clients(counts, seconds))
        by_server(data, alone, count, Clients(counts, seconds))
        if many:
            large(Path(folder) / "large", many, begun + RUN_S - LARGE_S, seconds)
    busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    click.echo(f"{time.perf_counter() - begun:.0f} s; the machine's load averages are {busy}")


if __name__ == "__main__":
    main()
