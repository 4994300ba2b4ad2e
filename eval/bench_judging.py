"""What judging costs: `python -m eval.bench_judging`, as ratios to a query embedding.

A container is filled with made-up facts that have vectors. New facts are then compared with it one
by one, as the worker does, verdict recorded included; and other containers are written to, with and
without the judge at work.
"""

import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path

import click

from eval.filling import facts, fill, queries
from rewound.eventlog.ids import FactId
from rewound.llm.minilm import MiniLM
from rewound.memory import Memory
from rewound.memory import deciding as d
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.store import Store
from rewound.memory.weighing import NAME, Scales

_NEW = 64
_PEOPLE = ("Nina", "Tom", "Ada", "Ben", "Mira", "Omar", "Lena", "Raj")
_PLACES = ("Rome", "Oslo", "Bonn", "Turin", "Lyon", "Porto", "Ghent", "Kyiv")


def statements(count: int) -> list[str]:
    """Facts that have something to do with each other."""
    return [
        f"{_PEOPLE[n % len(_PEOPLE)]} lives in {_PLACES[(n * 7 + n // 8) % len(_PLACES)]} now."
        for n in range(count)
    ]


def embedding_ms() -> float:
    """The median time of embedding a query that was not asked before."""
    model = MiniLM()
    model.embed(["to load it"])
    times = []
    for query in islice(queries(seed=9), 50):
        begun = time.perf_counter()
        model.embed([query])
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


def judging_ms(store: Store, name: str, texts: list[str]) -> list[float]:
    """How long each new fact takes from its snapshot to its verdict on disk."""
    engine = store.engine
    times = []
    with engine.reading() as views:
        container = d.container_named(views.log, name)
    assert container is not None, "it was filled"
    for text in texts:
        engine.call(q.Remember(container=name, facts=(q.NewFact(text=text),)))
        with engine.reading() as views:
            fact, _ = next(each for each in reversed(list(views.container(container).unjudged())))
        begun = time.perf_counter()
        with engine.reading() as views:
            view = views.container(container)
            scales = Scales(view, engine.clock.now_us())
            row = view.fact(fact)
            assert row is not None, "it was just stated"
            ruled = scales.rule(scales.compare(row))
        verdict = d.Judge(container, FactId(row.id), ruled, NAME, scales.policy.event)
        engine.submit_record(verdict).result()
        times.append((time.perf_counter() - begun) * 1000)
    return times


def writing_s(folder: Path, judge: bool) -> float:
    """The time of 300 single writes into one container while another has much to be judged."""
    models = Models(embedder="none", extractor="none", judge="rules" if judge else "none")
    with Memory(folder, container="much", models=models) as memory:
        memory.remember([{"text": text} for text in islice(facts(seed=3), 2_000)])
        other = memory.container("other")
        begun = time.perf_counter()
        for text in islice(facts(seed=4), 300):
            other.remember(text)
        return time.perf_counter() - begun


@click.command()
@click.option("--facts", "count", type=int, default=10_000)
def main(count: int) -> None:
    """Print what a verdict costs, and what verdicts cost others."""
    base = embedding_ms()
    click.echo(f"one query embedding: {base:.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), count)
        models = Models(embedder="minilm", extractor="none", judge="none")
        link = Link(folder, models=models)
        link.take_over()
        store = link._store
        assert store is not None, "it owns the store"
        times = judging_ms(store, "default", statements(_NEW))
        link.close()
        mean, worst = statistics.median(times), max(times)
        click.echo(
            f"judging a fact among {count}: median {mean:.1f} ms (x{mean / base:.1f} of it), "
            f"worst {worst:.1f} ms"
        )
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        alone, beside = writing_s(Path(one), judge=False), writing_s(Path(two), judge=True)
    click.echo(
        f"300 writes elsewhere: {alone:.2f} s without a judge, {beside:.2f} s beside one at work "
        f"(x{beside / alone:.2f})"
    )


if __name__ == "__main__":
    main()
