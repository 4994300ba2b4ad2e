"""Speed, as ratios to a baseline of the same run: `make bench`.

Absolute times depend on the machine and on what else it does; the ratios hold. Facts are made of
words drawn from a skewed vocabulary, as text is.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from rewound.memory import Memory
from rewound.memory.replies import Undid

SIZES = (1_000, 10_000, 100_000)
_SEED = 20260301
_BATCH = 1_000
_WORDS = 12
_QUERIES = 60


def vocabulary(size: int = 20_000) -> list[str]:
    """Made-up words, each of two to four syllables."""
    rng = random.Random(_SEED)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(size)]


class Speaker:
    """Draws texts whose word frequencies fall as those of language do (Zipf 1949)."""

    def __init__(self, seed: int = _SEED) -> None:
        self._rng = random.Random(seed)
        self._words = vocabulary()
        total = 0.0
        self._weights = []
        for rank in range(1, len(self._words) + 1):
            total += 1 / rank
            self._weights.append(total)

    def text(self, words: int = _WORDS) -> str:
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=words))


def fill(memory: Memory, speaker: Speaker, count: int) -> None:
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        memory.remember([{"text": f"{speaker.text()} {start + n}."} for n in range(size)])


def timed(run: Callable[[], object], times: int) -> list[float]:
    """Milliseconds of each run."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


def each(search: Callable[[str], object], queries: list[str]) -> list[float]:
    """Milliseconds of one search for each query."""
    return [taken for query in queries for taken in timed(partial(search, query), 1)]


def spread(taken: list[float]) -> str:
    """p50, p95 and p99 in milliseconds."""
    cut = statistics.quantiles(taken, n=100)
    return f"p50 {cut[49]:7.2f}   p95 {cut[94]:7.2f}   p99 {cut[98]:7.2f} ms"


def folder_bytes(path: Path) -> int:
    return sum(f.stat().st_blocks * 512 for f in path.rglob("*") if f.is_file())


def resident_bytes() -> int:
    """This process's own memory: what is not backed by a file."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def searching(memory: Memory, count: int) -> None:
    """Present searches of known queries, and the same as of half the facts ago."""
    speaker = Speaker(_SEED + 1)
    queries = [speaker.text(4) for _ in range(_QUERIES)]
    position = memory.stats().info[0].position
    each(memory.search, queries)  # from now on their vectors are remembered
    now = each(memory.search, queries)
    then = each(memory.as_of(f"@{position // 2}").search, queries)
    ratio = statistics.median(then) / statistics.median(now)
    click.echo(f"search        {count:>7} facts   {spread(now)}")
    click.echo(f"search as_of  {count:>7} facts   {spread(then)}   x{ratio:.2f} of a present one")


def undoing(memory: Memory, count: int) -> None:
    speaker = Speaker(_SEED + 2)
    event = memory.remember(speaker.text()).items[0].event
    assert event is not None
    begun = time.perf_counter()
    undid = memory.undo(event)
    assert isinstance(undid, Undid)
    taken = (time.perf_counter() - begun) * 1000
    click.echo(
        f"undo          {count:>7} facts   {undid.refolded} rows folded anew, {taken:.1f} ms"
    )


def rebuilding(memory: Memory, count: int) -> None:
    """Rates by CPU time: events a second and core. The workers rest, whose time would count."""
    memory.workers("pause")
    for what, views in (("rebuild all", ()), ("rebuild facts", ("facts",))):
        begun = time.process_time()
        done = memory.rebuild(views)
        rate = done.events / (time.process_time() - begun)
        click.echo(f"{what:<14}{count:>7} facts   {rate:,.0f} events/s, equal: {done.equal}")
    memory.workers("resume")


def starting(data: Path, count: int) -> None:
    """A new process: to the end of its imports, and to its first answer."""
    begin = "import time; t = time.perf_counter(); from rewound.memory import Memory; "
    ask = f"m = Memory({str(data)!r}); m.search('bado'); "
    show = "print(time.perf_counter() - t); m.close()"
    code = begin + "i = time.perf_counter() - t; " + ask + "print(i); " + show
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imports, answer = (float(line) for line in done.stdout.split())
    click.echo(
        f"start         {count:>7} facts   {answer:.2f} s to the first answer, "
        f"{imports:.2f} s of it imports"
    )


@click.command()
@click.option("--sizes", default=",".join(map(str, SIZES)), help="Numbers of facts, with commas.")
@click.option("--log/--no-log", "with_log", default=True, help="Measure the log by itself first.")
def main(sizes: str, with_log: bool) -> None:
    """Print one line a figure."""
    click.echo(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    if with_log:
        subprocess.run([sys.executable, "-m", "eval.bench_log"], check=False)
    with tempfile.TemporaryDirectory() as folder:
        for count in (int(size) for size in sizes.split(",")):
            _measure(Path(folder) / str(count), count)


def _measure(data: Path, count: int) -> None:
    before = resident_bytes()
    memory = Memory(data)
    begun = time.perf_counter()
    fill(memory, Speaker(), count)
    rate = count / (time.perf_counter() - begun)
    click.echo(f"remember      {count:>7} facts   {rate:,.0f} facts/s in batches of {_BATCH}")
    one = Speaker(_SEED + 3)
    singles = timed(lambda: memory.remember(one.text()), 100)
    click.echo(f"remember one  {count:>7} facts   {spread(singles)}")
    searching(memory, count)
    undoing(memory, count)
    rebuilding(memory, count)
    used = (resident_bytes() - before) / 1e6
    memory.close()
    size = folder_bytes(data) / count
    click.echo(f"size          {count:>7} facts   {size:,.0f} bytes a fact on disk, log and views")
    click.echo(f"memory        {count:>7} facts   {used:,.0f} MB of this process's own")
    starting(data, count)


if __name__ == "__main__":
    main()
