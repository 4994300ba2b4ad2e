"""Retrieval quality through the library: `python -m eval.retrieval --data DIR --set locomo`.

One container a group. Turns go in one message each through `add_messages`, sections as documents;
every question is a search. recall@k is the mean share of gold ids among the first k hits. With
`--plain` the same questions are told for BM25 alone over the same messages or passages: what plain
words find, by kind, and the ratio to it.
"""

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import numpy as np

from eval.corpora import Question, Unit, corpus, questions, stamp
from eval.opening import Callers, opened
from rewound.eventlog.ids import Kind
from rewound.memory import Memory, deciding
from rewound.memory.requests import Workers
from rewound.projections.bm25 import top_k
from rewound.projections.search import Asking, Hits, begin
from rewound.projections.selection import Criteria

SETS = ("locomo", "lme_pool", "beam_100k", "docs_claude")
CUTS = (1, 5, 10, 20)
_BATCH = 500
_SENT = frozenset({Kind.MESSAGE, Kind.PASSAGE})
_LOOKED_AT = 200


class Tally:
    """Sums of recall at each cut and of reciprocal ranks."""

    def __init__(self) -> None:
        self.count = 0
        self.recall = dict.fromkeys(CUTS, 0.0)
        self.reciprocal = 0.0

    def add(self, gold: Sequence[str], ranked: Sequence[str]) -> None:
        wanted = set(gold)
        self.count += 1
        for cut in CUTS:
            self.recall[cut] += len(wanted & set(ranked[:cut])) / len(wanted)
        first = next((n for n, found in enumerate(ranked, 1) if found in wanted), None)
        self.reciprocal += 1 / first if first else 0.0

    def row(self, name: str) -> str:
        count = max(self.count, 1)
        cells = "".join(f"{self.recall[cut] / count:8.3f}" for cut in CUTS)
        return f"{name:<28}{self.count:6}{cells}{self.reciprocal / count:8.3f}"


def fill(memory: Memory, units: Iterable[Unit], *, documents: bool) -> None:
    """Put a data set in, one container a group."""
    grouped: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        grouped[unit.group, unit.session or ""].append(unit)
    for (group, session), members in grouped.items():
        home = memory.container(group)
        for start in range(0, len(members), _BATCH):
            part = members[start : start + _BATCH]
            if documents:
                home.ingest([{"text": u.text, "id": u.id, "title": u.who} for u in part])
                continue
            home.add_messages(
                [
                    {
                        "id": unit.id,
                        "role": unit.who if unit.who in ("user", "assistant") else "user",
                        "name": unit.who,
                        "content": unit.text,
                        "time": stamp(unit.time),
                    }
                    for unit in part
                ],
                conversation=session,
            )


def settle(memory: Memory) -> None:
    """Wait until facts are drawn and vectors made."""
    memory.call(Workers(action="wait", timeout_s=3_600))


def ask(memory: Memory, question: Question, limit: int) -> list[str]:
    """Callers' ids of the sources of the hits, best first, each once."""
    found = memory.container(question.group).search(question.text, limit=limit)
    ids = [source.caller_id for hit in found.hits for source in hit.sources[:1]]
    return list(dict.fromkeys(name for name in ids if name))


def by_words(path: Path, asked: Sequence[Question]) -> dict[str, list[str]]:
    """For each question, by its id, the callers' ids of what BM25 alone puts first: messages and
    passages, no facts, no meaning."""
    found = {}
    with opened(path) as store, store.engine.reading() as views:
        for group in sorted({question.group for question in asked}):
            home = deciding.container_named(views.log, group)
            assert home is not None, f"{group} is not in the store"
            view = views.container(home)
            criteria = Criteria(store.engine.clock.now_us(), what=_SENT)
            callers = Callers(view)
            for question in (one for one in asked if one.group == group):
                begun = begin(view, question.text, criteria, None)
                found[question.id] = [] if isinstance(begun, Hits) else _first(begun, callers)
    return found


def _first(begun: Asking, callers: Callers) -> list[str]:
    columns, words = begun.selected.columns, begun.scores.words
    able = np.flatnonzero(begun.selected.allowed & (words > 0.0)).astype(np.uint32)
    near, _ = top_k(words[able], able, columns.item, _LOOKED_AT)
    names = (callers.of(columns, ordinal) for ordinal in near.tolist())
    return list(dict.fromkeys(name for name in names if name))


def tell_plain(
    asked: Sequence[Question], words: dict[str, list[str]], ours: dict[str, Tally]
) -> None:
    """Print what plain words find, and how many times as much ours is among the first ten."""
    plain: dict[str, Tally] = defaultdict(Tally)
    total = Tally()
    for question in asked:
        for tally in (plain[question.type], total):
            tally.add(question.gold, words[question.id])
    click.echo("BM25 alone; last, recall@10 over it")
    for kind in sorted(plain):
        found = plain[kind].recall[10]
        ratio = f"{ours[kind].recall[10] / found:8.2f}" if found else ""
        click.echo(plain[kind].row(kind) + ratio)
    click.echo(total.row("all"))


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--set", "name", type=click.Choice(SETS), required=True)
@click.option(
    "--store", type=click.Path(path_type=Path), help="Keep the store here, and use what is there."
)
@click.option("--plain", is_flag=True, help="Tell it for BM25 alone as well.")
def main(data: Path, name: str, store: Path | None, plain: bool) -> None:
    """Print recall@k and MRR, for each type of question and for all."""
    asked = [question for question in questions(data, name) if question.gold]
    with tempfile.TemporaryDirectory() as scratch:
        path = store or Path(scratch) / name
        memory = Memory(path)
        started = time.perf_counter()
        if not memory.containers().containers:
            fill(memory, corpus(data, name), documents=name == "docs_claude")
        settle(memory)
        filled = time.perf_counter() - started
        by_type: dict[str, Tally] = defaultdict(Tally)
        total, clean = Tally(), Tally()
        times = []
        for question in asked:
            begun = time.perf_counter()
            ranked = ask(memory, question, 2 * CUTS[-1])
            times.append(time.perf_counter() - begun)
            for tally in (by_type[question.type], total, *([] if question.audit else [clean])):
                tally.add(question.gold, ranked)
        memory.close()
        words = by_words(path, asked) if plain else {}
    click.echo(f"{name:<28}{'n':>6}" + "".join(f"{f'R@{cut}':>8}" for cut in CUTS) + f"{'MRR':>8}")
    for kind in sorted(by_type):
        click.echo(by_type[kind].row(kind))
    click.echo(total.row("all"))
    if clean.count != total.count:
        click.echo(clean.row("all but labels known wrong"))
    if plain:
        tell_plain(asked, words, by_type)
    p50 = statistics.median(times) * 1000
    click.echo(f"filled in {filled:.1f} s; a search took {p50:.1f} ms (median)")


if __name__ == "__main__":
    main()
