"""How much of what answers is in how few tokens.

    python -m eval.compression --data DIR --stores DIR

`docs_claude`: the share of the right sections among what is returned. `chroma_chunking`: the share
of the characters of the right spans that is returned. Returned is either the first eight passages
as they are, or a context of a budget of tokens, where long passages are told by the part that
answers. Tokens are counted at four characters each. `part`: about 105,000 tokens of docs_claude,
facts and passages reranked, the same without a reranker, and passages alone, with the tokens that
passages alone need for the same recall.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from eval.corpora import Question, Unit, corpus, lines, questions
from eval.ranked_cases import filled
from eval.retrieval import fill, settle
from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.replies import Hit

K = 8
BUDGETS = (600, 1_000, 1_300, 2_400)
PART_TOKENS = 105_000
PASSAGES_MAX = 30
_PLAIN = Models(judge="none", token_counter="estimate")
_WITHOUT_FACTS = Models(judge="none", extractor="none", token_counter="estimate")
_RERANKED = Models(judge="none", reranker="embedder", rerank_depth=60, token_counter="estimate")
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


Way = tuple[str, list[str | None], list[str]]
"""What it is called, the sources of what is returned, and its texts."""


def _gathered(
    memory: Memory, asked: Sequence[Question], ways_of: Callable[[Memory, str], Iterator[Way]]
) -> dict[str, tuple[list[float], list[float]]]:
    """For each way to return something, recall and tokens of each question."""
    memory.workers("pause")
    ways: dict[str, tuple[list[float], list[float]]] = {}
    for question in asked:
        for title, sources, texts in ways_of(memory.container(question.group), question.text):
            recalls, spent = ways.setdefault(title, ([], []))
            recalls.append(len(set(question.gold) & set(sources)) / len(question.gold))
            spent.append(tokens(texts))
    return ways


def sections(data: Path, stores: Path) -> None:
    """docs_claude: recall of sections."""
    asked = [q for q in questions(data, "docs_claude") if q.gold]
    whole = tokens([unit.text for unit in corpus(data, "docs_claude")])
    with Memory(filled(data, "docs_claude", stores), models=_PLAIN) as memory:
        ways = _gathered(memory, asked, _ways)
    click.echo(f"docs_claude, {len(asked)} questions, {whole:.0f} tokens in all")
    for title, (recalls, spent) in ways.items():
        report(title, recalls, spent)


def _ways(home: Memory, query: str) -> Iterator[Way]:
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
    with Memory(path, models=_WITHOUT_FACTS) as memory:
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


def part(data: Path, stores: Path) -> None:
    """docs_claude, its first sections only: what facts and passages save against passages alone."""
    kept: list[Unit] = []
    for unit in corpus(data, "docs_claude"):
        if tokens([each.text for each in (*kept, unit)]) <= PART_TOKENS:
            kept.append(unit)
    names = {unit.id for unit in kept}
    asked = [q for q in questions(data, "docs_claude") if q.gold and names.issuperset(q.gold)]
    whole = tokens([unit.text for unit in kept])
    path = stores / "docs_claude_part"
    is_new = not path.exists()
    with Memory(path, models=_RERANKED) as memory:
        if is_new:
            fill(memory, kept, documents=True)
            settle(memory)
        ways = _gathered(memory, asked, _part_ways)
    click.echo(f"docs_claude, {len(kept)} sections, {whole:.0f} tokens, {len(asked)} questions")
    alone = [figures for title, figures in ways.items() if title.startswith("passages alone")]
    for title, (recalls, spent) in ways.items():
        report(title, recalls, spent)
        if not title.startswith("passages alone"):
            needed = [sum(t) / len(t) for r, t in alone if sum(r) >= sum(recalls)]
            mean = sum(spent) / len(spent)
            saved = (
                f"{min(needed) / mean:.2f} x fewer than" if needed else "more recall than any of"
            )
            click.echo(f"    {saved} passages alone; {1 - mean / whole:.1%} fewer than all")


def _part_ways(home: Memory, query: str) -> Iterator[Way]:
    for title, rerank in (("facts and passages reranked", True), ("not reranked", False)):
        for count in (4, 8, 12):
            hits = home.search(query, limit=count, rerank=rerank).hits
            yield f"{title}, first {count} hits", _sources(hits), [hit.text for hit in hits]
    every = {
        hit.id: name
        for hits in [home.search(query, limit=60).hits]
        for hit, name in zip(hits, _sources(hits), strict=True)
    }
    for budget in BUDGETS:
        packed = home.context(query, budget=budget).lines
        texts = [line.text for line in packed]
        yield f"context of at most {budget} tokens", [every.get(line.id) for line in packed], texts
    passages = home.search(query, limit=PASSAGES_MAX, what=["passage"]).hits
    for count in range(2, PASSAGES_MAX + 1, 2):
        some = passages[:count]
        yield f"passages alone, first {count}", _sources(some), [hit.text for hit in some]


def _sources(hits: Sequence[Hit]) -> list[str | None]:
    return [hit.sources[0].caller_id if hit.sources else None for hit in hits]


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
@click.option("--only", default="sections,spans,part", help="Of sections, spans and part.")
def main(data: Path, stores: Path, only: str) -> None:
    """Print recall and tokens of both sets."""
    for name in only.split(","):
        {"sections": sections, "spans": spans, "part": part}[name](data, stores)


if __name__ == "__main__":
    main()
