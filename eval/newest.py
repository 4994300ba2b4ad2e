"""Does the newest statement come first? `python -m eval.newest --data DIR [--store FOLDER]`.

The knowledge-update questions of a public set name the turns that stated a matter, at different
times. Told is for how many of them the newest such turn ranks above every older one.
"""

import tempfile
import time
from pathlib import Path

import click

from eval.corpora import corpus, questions, stamp
from eval.retrieval import ask, fill
from rewound.memory import Memory

SET = "lme_pool"
LIMIT = 100


def is_newest_first(ranked: list[str], gold: list[str]) -> bool:
    """`gold` is in the order of time; what is not among the hits ranks last."""
    places = [ranked.index(unit) if unit in ranked else len(ranked) for unit in gold]
    return places[-1] < len(ranked) and all(places[-1] < place for place in places[:-1])


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--store", type=click.Path(path_type=Path), help="Keep the store in this folder.")
@click.option("--show", is_flag=True, help="Print the questions that fail.")
def main(data: Path, store: Path | None, show: bool) -> None:
    """Print the share of knowledge-update questions whose newest statement leads."""
    units = {unit.id: unit for unit in corpus(data, SET)}
    with tempfile.TemporaryDirectory() as scratch:
        memory = Memory(store or Path(scratch) / SET)
        if not memory.containers().containers:
            fill(memory, units.values(), documents=False)
        memory.workers("wait", timeout_s=3_600)
        right = count = 0
        begun = time.perf_counter()
        for question in questions(data, SET):
            if question.type != "knowledge-update" or question.abstain or len(question.gold) < 2:
                continue
            gold = sorted(question.gold, key=lambda unit: stamp(units[unit].time) or "")
            if stamp(units[gold[0]].time) == stamp(units[gold[-1]].time):
                continue
            count += 1
            led = is_newest_first(ask(memory, question, LIMIT), gold)
            right += led
            if show and not led:
                click.echo(f"- {question.text}")
        took = time.perf_counter() - begun
        memory.close()
    click.echo(f"newest first: {right} of {count} ({right / max(count, 1):.3f}); {took:.1f} s")


if __name__ == "__main__":
    main()
