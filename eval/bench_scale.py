"""Search at scale, as ratios to the query embedding alone: `python -m eval.bench_scale`.

Containers of ten thousand, a hundred thousand and (`--sizes 1000000`) a million facts, and a store
of many small containers. Stores are poured (`eval.pouring`): a part of the vectors is the real
model's, the rest are those moved by noise. `--stores DIR` keeps them for the next time.

A query is half the words of a stored text. Searches and embeddings of the same queries take turns;
wall is what a caller waits on this machine, CPU what all threads of the process work for it.
*exact* is the same search with every vector compared in full; recall@10 is the share of its first
ten hits that the search has among its own.
"""

import itertools
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import click
import numpy as np

from eval.bench import folder_bytes
from eval.bench_serve import Clients, tell
from eval.filling import FACT_WORDS
from eval.loading import Job
from eval.pouring import TAG, Pouring, texts
from eval.serving import Load, Server
from rewound.llm.minilm import MiniLM
from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.projections import ranking

SIZES = (10_000, 100_000)
CONTAINERS = 10_000
_FEW = 3
"""Facts in each of many containers."""
_QUERY_WORDS = FACT_WORDS // 2
_WARM_UP = 5
_SEED = 20261201

_MODELS = Models(extractor="none", judge="none")

FILTERS: dict[str, dict[str, Any]] = {
    "no filter": {},
    "a tag, 1 of 20": {"tags": [TAG]},
    "a kind, 1 of 10": {"kinds": ["preference"]},
    "since, 1 of 2": {"since": "2023-03-01T00:00:00Z"},
}


def queries(count: int, stored: int, seed: int = 0) -> list[str]:
    """Half the words of texts that are stored, in their order."""
    rng = random.Random(_SEED + seed)
    some = [*itertools.islice(texts(), min(stored, 50_000))]
    asked = []
    for text in rng.sample(some, count):
        words = text.text.rstrip(".").split()
        kept = sorted(rng.sample(range(len(words)), _QUERY_WORDS))
        asked.append(" ".join(words[at] for at in kept))
    return asked


class Took(NamedTuple):
    """Milliseconds of each run."""

    wall: list[float]
    cpu: list[float]

    @property
    def p50(self) -> tuple[float, float]:
        return statistics.median(self.wall), statistics.median(self.cpu)

    def __str__(self) -> str:
        wall, cpu = self.p50
        p95 = statistics.quantiles(self.wall, n=20)[18]
        return f"p50 {wall:7.2f}  p95 {p95:7.2f}  CPU {cpu:7.2f} ms"

    def over(self, other: "Took") -> str:
        (wall, cpu), (bare_wall, bare_cpu) = self.p50, other.p50
        return f"wall x{wall / bare_wall:.2f}, CPU x{cpu / bare_cpu:.2f}"


def in_turn(runs: dict[str, Callable[[str], object]], asked: list[str]) -> dict[str, Took]:
    """Each of the runs with each query, one after the other."""
    took = {name: Took([], []) for name in runs}
    for at, query in enumerate(asked):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run(query)
            if at >= _WARM_UP:
                took[name].cpu.append((time.process_time() - cpu) * 1000)
                took[name].wall.append((time.perf_counter() - wall) * 1000)
    return took


def searching(memory: Memory, count: int, times: int) -> None:
    """New queries, known ones, and the past, each against embedding the same query."""
    embedder = MiniLM()
    position = memory.stats().info[0].position
    past = memory.as_of(f"@{position // 2}")
    places = itertools.cycle(position * part // 97 for part in range(40, 97))
    took = in_turn(
        {
            "embedding": lambda query: embedder.embed([query]),
            "search": memory.search,
            "known query": memory.search,
            "as_of": past.search,
            "as_of, new moment": lambda query: memory.as_of(f"@{next(places)}").search(query),
        },
        queries(times + _WARM_UP, count),
    )
    bare = took.pop("embedding")
    tell("embedding", "alone", bare)
    for name, each in took.items():
        tell(name, f"{count:,}", each, f"{each.over(bare)} of the embedding")
    known = took["known query"]
    for name in ("as_of", "as_of, new moment"):
        tell(name, f"{count:,}", took[name].over(known), "of a present search")


def recalling(memory: Memory, count: int, times: int) -> None:
    """Against the exact scan, without a filter and with some."""
    for name, filters in FILTERS.items():
        shares, best, took = [], [], []
        for query in queries(times, count, seed=1):
            begun = time.process_time()
            found = [hit.id for hit in memory.search(query, **filters).hits]
            took.append((time.process_time() - begun) * 1000)
            with mock.patch.object(ranking, "SIEVE_FROM", sys.maxsize):
                exact = [hit.id for hit in memory.search(query, **filters).hits]
            shares.append(len({*found} & {*exact}) / len(exact) if exact else 1.0)
            best.append(found[:1] == exact[:1])
        told = f"recall@10 {np.mean(shares):.4f}, the same first hit {np.mean(best):.3f}"
        cpu = f"CPU {statistics.median(took):.1f} ms, the embedding included"
        tell("exact", name, told, cpu)


def starting(data: Path, count: int, asked: dict[str, object]) -> None:
    """A server: to its first answer, to that of its first search, and its memory."""
    with Server(data) as server:
        idle = server.resident()
        begun, cpu = time.perf_counter(), server.cpu_s()
        server.post("/v1/search", asked)
        took, worked = time.perf_counter() - begun, server.cpu_s() - cpu
        told = f"{server.started_s:.2f} s (CPU {cpu:.2f}) to the first answer"
        tell("start", f"{count:,}", told, f"then {took:.2f} s (CPU {worked:.2f}) to a search")
        tell("memory", "idle", idle, f"after a search: {server.resident()}")


def one_container(data: Path, count: int, clients: tuple[int, ...], times: int) -> None:
    _filled(data, count, 1)
    tell("size", f"{count:,}", f"{folder_bytes(data) / count:,.0f} bytes a fact, log and views")
    starting(data, count, {"query": "what did they say of the garden"})
    with Memory(data, models=_MODELS) as memory:
        memory.own()
        searching(memory, count, times)
        recalling(memory, count, times)
        shown = Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]
        tell("memory", f"{count:,}", f"{int(shown) / 1024:.0f} MB of this process's own")
    if clients:
        with Server(data) as server, Load(2, server) as load:
            search = Job(door="rest", what="search", port=server.port)
            Clients(clients, 3.0).searches("REST", load, search)


def many_containers(data: Path, count: int) -> None:
    """Start and memory do not depend on containers that nobody asks."""
    _filled(data, count * _FEW, count)
    starting(data, count, {"query": "garden", "container": "c0"})
    rng = random.Random(_SEED)
    with Memory(data, models=_MODELS) as memory:
        memory.own()
        memory.container("c0").search("garden")
        homes = iter([memory.container(f"c{rng.randrange(count)}") for _ in range(200)])
        took = in_turn({"search": lambda query: next(homes).search(query)}, ["garden"] * 200)
        tell("search", "new container", took["search"], f"among {count:,}")


def _filled(data: Path, count: int, containers: int) -> None:
    if data.exists():
        return
    begun, worked = time.perf_counter(), time.process_time()
    names = ["default"] if containers == 1 else [f"c{n}" for n in range(containers)]
    Pouring(data, lambda told: click.echo(f"  {told}", err=True)).pour(count, names)
    took, cpu = time.perf_counter() - begun, time.process_time() - worked
    told = f"{took:,.0f} s, CPU {cpu:,.0f} s; a part of the vectors real, the rest moved by noise"
    tell("poured", f"{count:,}", told)


def _numbers(text: str) -> Iterator[int]:
    return (int(each) for each in text.split(",") if each)


@click.command()
@click.option("--sizes", default=",".join(map(str, SIZES)), help="Facts in one container.")
@click.option("--containers", default=CONTAINERS, help="Small ones in one store; 0 for none.")
@click.option("--clients", default="1,8,32", help="Clients at once, over REST; none for empty.")
@click.option("--queries", "times", default=60, help="For each figure.")
@click.option("--stores", type=click.Path(path_type=Path), help="Where stores are kept.")
def main(sizes: str, containers: int, clients: str, times: int, stores: Path | None) -> None:
    """Print one line a figure, and its ratio to the embedding of the same run."""
    click.echo(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        home = stores or Path(folder)
        for count in _numbers(sizes):
            one_container(home / f"one-{count}", count, (*_numbers(clients),), times)
        if containers:
            many_containers(home / f"many-{containers}", containers)
    busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    click.echo(f"the machine's load averages are {busy}")


if __name__ == "__main__":
    main()
