"""What the judge decides on real talk: `python -m eval.judged_talk --data DIR --set locomo`.

A public set goes in as messages, facts are drawn and judged by rules, with the embedder in the
process. Told are the counts of each outcome; `--endings N` and `--pairs N` write so many endings
and judged pairs, drawn at random with a fixed seed, with the words that each side was drawn from,
for people to judge who did not see what was decided.
"""

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from eval.corpora import corpus
from eval.retrieval import fill
from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.replies import EventView, View

SETS = ("locomo", "lme_pool", "beam_100k")
_SEED = 20261130
_WAIT_S = 3_600
_PAGE = 1_000
_AROUND = 300


def events(memory: Memory, kind: str) -> Iterator[EventView]:
    """All events of a type, oldest first."""
    after: int | None = 0
    while after is not None:
        told = memory.events(after=after, types=(kind,), limit=_PAGE)
        yield from told.events
        after = told.next


def side(memory: Memory, fact: View) -> dict[str, Any]:
    """A fact as a person sees it who is to judge: its words, times, and what was said."""
    said = ""
    for source in fact.sources[:1]:
        whole = memory.get(source.id).item.text
        start = max(0, (source.start or 0) - _AROUND)
        said = whole[start : (source.end or 0) + _AROUND]
    first = fact.sources[0] if fact.sources else None
    return {
        "fact": fact.text,
        "said": said,
        "speaker": None if first is None else first.speaker,
        "time": None if first is None else first.time,
        "valid_from": fact.valid_from,
    }


def endings(memory: Memory) -> Iterator[dict[str, Any]]:
    """Every ending that stands: the fact that ended, and the one that took its place."""
    for told in events(memory, "fact superseded"):
        if told.data.get("repeats") or told.undone_by:
            continue
        by, old = told.data["by"], told.data["ends"][0]
        yield {
            "id": told.id,
            "corrects": bool(told.data.get("corrects")),
            "old": side(memory, memory.get(old).item),
            "new": side(memory, memory.get(by).item),
        }


def pairs(memory: Memory) -> Iterator[dict[str, Any]]:
    """Every judged pair with what was decided."""
    for told in events(memory, "facts judged"):
        for pair in told.data.get("pairs", ()):
            yield {
                "id": f"{told.id}/{pair['old']}",
                "new": told.data["fact"],
                "old": pair["old"],
                "outcome": pair["outcome"],
                "probability": pair["probability"],
            }


def spread(found: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many pairs, as evenly over the outcomes as there are any."""
    rng = random.Random(_SEED)
    by_outcome: dict[str, list[dict[str, Any]]] = {}
    for each in found:
        by_outcome.setdefault(each["outcome"], []).append(each)
    for group in by_outcome.values():
        rng.shuffle(group)
    chosen: list[dict[str, Any]] = []
    while len(chosen) < count and any(by_outcome.values()):
        for group in by_outcome.values():
            if group and len(chosen) < count:
                chosen.append(group.pop())
    return chosen


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--set", "sets", type=click.Choice(SETS), multiple=True, default=("locomo",))
@click.option("--embedder", type=click.Choice(["minilm", "none"]), default="minilm")
@click.option("--endings", "endings_wanted", type=int, default=0)
@click.option("--pairs", "pairs_wanted", type=int, default=0)
@click.option("--store", type=click.Path(path_type=Path), help="Keep the stores in this folder.")
@click.option("--out", type=click.Path(path_type=Path), help="A file of JSON lines.")
def main(
    data: Path,
    sets: tuple[str, ...],
    embedder: Any,
    endings_wanted: int,
    pairs_wanted: int,
    store: Path | None,
    out: Path | None,
) -> None:
    """Count what the judge decides, and write samples for people to judge."""
    rng = random.Random(_SEED)
    ended: list[dict[str, Any]] = []
    judged: list[dict[str, Any]] = []
    for name in sets:
        with tempfile.TemporaryDirectory() as scratch:
            folder = scratch if store is None else store / name
            models = Models(embedder=embedder, extractor="rules", judge="rules")
            with Memory(folder, models=models) as memory:
                begun = time.perf_counter()
                if not memory.containers().containers:
                    fill(memory, corpus(data, name), documents=False)
                memory.workers("wait", timeout_s=_WAIT_S)
                took = time.perf_counter() - begun
                counts: Counter[str] = Counter()
                for info in memory.containers().containers:
                    home = memory.container(info.name)
                    found = list(pairs(home))
                    counts.update(each["outcome"] for each in found)
                    ended += [each | {"set": name} for each in endings(home)]
                    for each in spread(found, pairs_wanted):
                        for which in ("new", "old"):
                            each[which] = side(home, home.get(each[which]).item)
                        judged.append(each | {"set": name})
                shown = ", ".join(f"{what} {count}" for what, count in counts.most_common())
                click.echo(f"{name}: {shown}; {took:.0f} s")
    rng.shuffle(ended)
    sample = ended[:endings_wanted]
    click.echo(f"{len(ended)} endings in all")
    if out is not None:
        with out.open("w") as file:
            for each in (*sample, *spread(judged, pairs_wanted)):
                file.write(json.dumps(each, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
