"""How much of what answers is in how few tokens.

    python -m eval.compression --data DIR --stores DIR

`docs_claude`: the share of the right sections among what is returned. `chroma_chunking`: the share
of the characters of the right spans that is returned. Returned is either the first eight passages
as they are, or a context of a budget of tokens, where long passages are told by the part that
answers. Tokens are counted at four characters each.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from eval.corpora import corpus, lines, questions
from eval.ranked_cases import filled
from eval.retrieval import settle
from rewound.memory import Memory
from rewound.memory.models import Models

K = 8
BUDGETS = (600, 1_000, 1_300, 2_400)
_BLANKS = re.compile(r"\s+")
_FRAME = re.compile(r"^- \[[^\]]*\] (?:[^:]{1,200}: )?(.*) \(\w+\)$")


class SpanQuestion(msgspec.Struct, frozen=True):
    id: str
    group: str
    text: str
    spans: tuple[tuple[int, int], ...]


def tokens(texts: Sequence[str]) -> float:
    return sum(len(text) + 1 for text in texts) / 4


def report(title: str, recalls: list[float], spent: list[float]) -> None:
    count = max(len(recalls), 1)
    click.echo(f"{title:<46}{sum(recalls) / count:8.3f}{sum(spent) / count:10.0f} tokens")


def sections(data: Path, stores: Path) -> None:
    """docs_claude: recall of sections."""
    asked = [q for q in questions(data, "docs_claude") if q.gold]
    whole = tokens([unit.text for unit in corpus(data, "docs_claude")])
    with Memory(filled(data, "docs_claude", stores), models=Models(judge="none")) as memory:
        memory.workers("pause")
        ways: dict[str, tuple[list[float], list[float]]] = {}
        for question in asked:
            home = memory.container(question.group)
            for title, names, texts in _ways(home, question.text):
                recalls, spent = ways.setdefault(title, ([], []))
                recalls.append(len(set(question.gold) & set(names)) / len(question.gold))
                spent.append(tokens(texts))
    click.echo(f"docs_claude, {len(asked)} questions, {whole:.0f} tokens in all")
    for title, (recalls, spent) in ways.items():
        report(title, recalls, spent)


def _ways(home: Any, query: str) -> Iterator[tuple[str, list[str | None], list[str]]]:
    """Names of the sources and texts of what is returned, for each way to return it."""
    every = home.search(query, limit=60).hits
    source = {hit.id: hit.sources[0].caller_id if hit.sources else None for hit in every}
    hits = home.search(query, limit=K).hits
    yield f"first {K} hits", [source.get(hit.id) for hit in hits], [hit.text for hit in hits]
    passages = home.search(query, limit=K, what=["passage"]).hits
    names = [hit.sources[0].caller_id for hit in passages]
    yield f"first {K} passages", names, [hit.text for hit in passages]
    for budget in BUDGETS:
        packed = home.context(query, budget=budget).lines
        title = f"context of at most {budget} tokens"
        yield title, [source.get(line.id) for line in packed], [line.text for line in packed]


def spans(data: Path, stores: Path) -> None:
    """chroma_chunking: recall of spans."""
    texts = {unit.id: unit.text for unit in corpus(data, "chroma_chunking")}
    asked = list(lines(data / "chroma_chunking" / "queries.jsonl.gz", SpanQuestion))
    path = stores / "chroma_chunking"
    is_new = not path.exists()
    with Memory(path, models=Models(judge="none", extractor="none")) as memory:
        if is_new:
            for name, text in texts.items():
                memory.container(name).ingest(text, id=name)
            settle(memory)
        memory.workers("pause")
        ways: dict[str, tuple[list[float], list[float]]] = {}
        for question in asked:
            home, text = memory.container(question.group), texts[question.group]
            hits = home.search(question.text, limit=K).hits
            found = [
                (f"first {count} passages", [hit.text for hit in hits[:count]])
                for count in (K, K * 2 // 3)
            ]
            for budget in BUDGETS:
                packed = home.context(question.text, budget=budget).lines
                shown = [_FRAME.sub(r"\1", line.text) for line in packed]
                found.append((f"context of at most {budget} tokens", shown))
            for title, returned in found:
                recalls, spent = ways.setdefault(title, ([], []))
                recalls.append(covered(text, question.spans, returned))
                spent.append(tokens(returned))
    click.echo(f"chroma_chunking, {len(asked)} questions")
    for title, (recalls, spent) in ways.items():
        report(title, recalls, spent)


def covered(text: str, wanted: Sequence[tuple[int, int]], returned: Sequence[str]) -> float:
    """The share of the characters of the spans that stand in what is returned, blanks aside."""
    places = [at for at, char in enumerate(text) if not char.isspace()]
    bare = _BLANKS.sub("", text)
    shown = bytearray(len(bare))
    for piece in (part for each in returned for part in each.split("…")):
        needle = _BLANKS.sub("", piece)
        at = bare.find(needle) if needle else -1
        if at >= 0:
            shown[at : at + len(needle)] = b"\x01" * len(needle)
    is_shown = {place for place, seen in zip(places, shown, strict=True) if seen}
    asked = {at for start, end in wanted for at in range(start, end) if not text[at].isspace()}
    return len(asked & is_shown) / max(len(asked), 1)


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--stores", type=click.Path(path_type=Path), required=True, help="Kept between runs.")
@click.option("--only", default="sections,spans", help="One of the two.")
def main(data: Path, stores: Path, only: str) -> None:
    """Print recall and tokens of both sets."""
    for part in only.split(","):
        {"sections": sections, "spans": spans}[part](data, stores)


if __name__ == "__main__":
    main()
