"""Finding a question's evidence in a haystack: `python -m eval.haystacks --data DIR --store DIR`.

As in LongMemEval (Wu et al. 2024), a question is asked of the sessions that hold its evidence and
others besides, 48 in all. The others are drawn by a hash from the evidence of all questions, so
every run has the same haystacks. One store holds them all; what belongs to a haystack has its tag,
and a search narrows to that before anything is ranked. So the costly part, the vectors, is made
once. A store of one haystack would differ in little: words would be weighed by how rare they are
there, and a fact could not be ended or repeated by a session outside.

The store may be one that `eval.retrieval --set lme_pool --store DIR` made (copy it first: tags are
added). Figures are means over the questions that have an answer: `R` the share of the evidence
among the first k turns or sessions, `any` whether some of it is.
"""

import hashlib
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from eval.corpora import Question, Unit, corpus, questions
from eval.retrieval import fill, settle
from rewound.memory import Memory
from rewound.memory.replies import View
from rewound.memory.requests import What

SET = "lme_pool"
SESSIONS = 48
CUTS = (5, 10)
LIMIT = 60
"""Hits that are asked for: enough for ten turns and, of long sessions, mostly for ten of those."""

_THREADS = 8
_PAGE = 1_000
_HEADINGS = tuple(f"{what}@{cut}" for what in ("R", "any") for cut in CUTS)


def rank(*words: str) -> bytes:
    """A number drawn by what is named, the same in every run."""
    return hashlib.sha256("\0".join(("haystack", *words)).encode()).digest()


def haystack(question: Question, sessions: Iterable[str], size: int) -> frozenset[str]:
    """The question's evidence sessions, filled up with others to `size`."""
    evidence = {session_of(turn) for turn in question.gold}
    others = sorted(set(sessions) - evidence, key=lambda session: rank(question.id, session))
    return frozenset([*evidence, *others[: max(0, size - len(evidence))]])


def session_of(turn: str) -> str:
    """Turns are named `session#number`."""
    return turn.rpartition("#")[0]


def asked(data: Path, sample: int | None) -> list[Question]:
    """The questions that have an answer; `sample` of them, drawn by a hash, when it is given."""
    able = [one for one in questions(data, SET) if one.gold and not one.abstain]
    return sorted(able, key=lambda question: rank(question.id))[:sample]


# --- the store


def tag_of(question: Question) -> str:
    return f"haystack-{question.id}"


def mark(memory: Memory, tags: dict[str, set[str]]) -> int:
    """Give every message and fact the tags of its session; how many were given any.

    A fact that another stands for gives its tags to that.
    """
    held: dict[str, set[str]] = {}
    wanted: dict[str, set[str]] = defaultdict(set)
    kinds: tuple[What, ...] = ("message", "fact")
    for what in kinds:
        for item in _items(memory, what):
            held[item.id] = set(item.tags)
            for session in _sessions_of(item):
                wanted[_standing_for(item)] |= tags.get(session, set())
    missing = [(name, sorted(new)) for name in wanted if (new := wanted[name] - held[name])]
    with ThreadPoolExecutor(_THREADS) as threads:  # their commands are committed together
        for _ in threads.map(lambda each: memory.update(each[0], add_tags=each[1]), missing):
            pass
    return len(missing)


def _items(memory: Memory, what: What) -> Iterator[View]:
    cursor = None
    while True:
        page = memory.list(what, limit=_PAGE, cursor=cursor, include_superseded=what == "fact")
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _standing_for(item: View) -> str:
    """The id of what is found in the item's place: its own, or that of the fact it repeats."""
    standing = item.standing
    if standing is None or standing.state != "repeated" or standing.by is None:
        return item.id
    return standing.by


def _sessions_of(item: View) -> set[str]:
    own = {session_of(item.caller_id)} if item.caller_id else set()
    return own | {session_of(one.caller_id) for one in item.sources if one.caller_id}


# --- figures


class Tally:
    """Shares and hits at each cut, of turns or of sessions."""

    def __init__(self) -> None:
        self._rows: list[list[float]] = []

    def add(self, gold: Sequence[str], ranked: Sequence[str]) -> None:
        wanted = set(gold)
        found = [len(wanted & set(ranked[:cut])) for cut in CUTS]
        self._rows.append([*(n / len(wanted) for n in found), *(float(n > 0) for n in found)])

    def means(self) -> list[float]:
        return [statistics.fmean(column) for column in zip(*self._rows, strict=True)]

    def __len__(self) -> int:
        return len(self._rows)


def ask(home: Memory, question: Question, pile: frozenset[str]) -> list[str]:
    """Turns of the question's haystack, best first, each once.

    Of a fact that was said in several sessions, the first source in the haystack counts.
    """
    found = home.search(question.text, limit=LIMIT, tags=tag_of(question))
    turns: dict[str, None] = {}
    for hit in found.hits:
        names = [source.caller_id for source in hit.sources if source.caller_id]
        inside = [name for name in names if session_of(name) in pile]
        turns.update(dict.fromkeys(inside[:1]))
    return list(turns)


def show(level: str, tallies: dict[str, Tally]) -> None:
    click.echo(f"{level:<28}{'n':>6}" + "".join(f"{heading:>9}" for heading in _HEADINGS))
    for kind in sorted(tallies, key=lambda kind: (kind == "all", kind)):
        tally = tallies[kind]
        click.echo(f"{kind:<28}{len(tally):6}" + "".join(f"{mean:9.3f}" for mean in tally.means()))


def prepared(memory: Memory, units: Sequence[Unit], piles: dict[str, frozenset[str]]) -> int:
    """Put the pool in unless it is there, and mark the haystacks; how many items got a tag."""
    there = {one.name: one.counts.get("messages", 0) for one in memory.containers().containers}
    if there.get(units[0].group, 0) < len(units):
        fill(memory, units, documents=False)
    settle(memory)
    tags: dict[str, set[str]] = defaultdict(set)
    for tag, sessions in piles.items():
        for session in sessions:
            tags[session].add(tag)
    return mark(memory.container(units[0].group), tags)


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--store", type=click.Path(path_type=Path), required=True, help="Kept and re-used.")
@click.option("--sample", type=int, help="Ask so many of the questions.")
@click.option("--sessions", type=int, default=SESSIONS, help="Sessions in a haystack.")
def main(data: Path, store: Path, sample: int | None, sessions: int) -> None:
    """Print recall among the first five and ten, of turns and of sessions."""
    units = corpus(data, SET)
    pool = {unit.session for unit in units if unit.session}
    chosen = asked(data, sample)
    piles = {tag_of(one): haystack(one, pool, sessions) for one in chosen}
    turns: dict[str, Tally] = defaultdict(Tally)
    whole: dict[str, Tally] = defaultdict(Tally)
    times: list[float] = []
    with Memory(store) as memory:
        begun = time.perf_counter()
        tagged = prepared(memory, units, piles)
        click.echo(f"prepared in {time.perf_counter() - begun:.0f} s, {tagged:,} items tagged")
        home = memory.container(units[0].group)
        for question in chosen:
            begun = time.perf_counter()
            ranked = ask(home, question, piles[tag_of(question)])
            times.append((time.perf_counter() - begun) * 1000)
            evidence = sorted({session_of(turn) for turn in question.gold})
            in_sessions = list(dict.fromkeys(map(session_of, ranked)))
            for kind in (question.type, "all"):
                turns[kind].add(question.gold, ranked)
                whole[kind].add(evidence, in_sessions)
    show("turns", turns)
    show("sessions", whole)
    click.echo(
        f"a search among {sessions} sessions took {statistics.median(times):.1f} ms (median)"
    )


if __name__ == "__main__":
    main()
