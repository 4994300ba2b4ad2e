"""How well pairs of statements are judged: `python -m eval.judging --data FOLDER`.

Four sections. `letta`: which of ten facts a new one replaces. `paws`: look-alikes, the same or not.
`nli`: one word changed, a contradiction or not. `set`: conversation cases of `eval/datasets`, each
pair with its verdict. No model server is asked; `--similarity minilm` adds the cosine of the
vectors of the embedder in this process.

The public pairs are split by a hash of their text: `eval.fit_policy` fits on one half, the figures
here are of the other.
"""

import csv
import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import click
import msgspec
import numpy as np
import numpy.typing as npt

from eval.corpora import lines
from rewound.eventlog.enums import Outcome
from rewound.eventlog.instants import parse_instant
from rewound.llm import probing
from rewound.llm.evidence import evidence
from rewound.llm.grounds import MAY_END
from rewound.llm.judging import Claim, Evidence, Pair
from rewound.llm.policy import ENDINGS, OUTCOMES, Ruling, shipped

DATASETS = Path(__file__).parent / "datasets"
SETS = {
    "set": DATASETS / "judging.jsonl",
    "held": DATASETS / "judging_held.jsonl",
    "own": DATASETS / "judging_own.jsonl",
    "more": DATASETS / "judging_more.jsonl",
    "talk": DATASETS / "judging_talk.jsonl",
}
ENDINGS_LABELLED = Path(__file__).parent.parent / "docs" / "results" / "endings.csv"
DAY = 86_400_000_000
START = 1_700_000_000_000_000
IN_WORDS = re.compile(
    r"\b(?:not|no longer|instead|only|never|no|rather|without|exclusively|solely)\b|n['’]t\b", re.I
)
ENDED = frozenset(ENDINGS)


class Turn(msgspec.Struct, frozen=True):
    at: str
    text: str
    facts: tuple[str, ...]
    role: str = "user"
    speaker: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """`old` and `new` are (turn, fact); `ends` tells which of the two holds no more."""

    old: tuple[int, int]
    new: tuple[int, int]
    verdict: Literal["duplicate", "updates", "corrects", "extends", "distinct"]
    ends: Literal["old", "new"] | None


class Case(msgspec.Struct, frozen=True):
    """A conversation, what was drawn from each turn, and how some pairs of it relate."""

    id: str
    family: str
    turns: tuple[Turn, ...]
    pairs: tuple[Verdict, ...]


class PairRow(msgspec.Struct, frozen=True):
    source: str
    a: str
    b: str
    label: str


class Superseding(msgspec.Struct, frozen=True):
    id: str
    facts: tuple[str, ...]
    new: str
    superseded: tuple[int, ...]


class Example(NamedTuple):
    """A pair and the outcomes that are right for it. `fold` is 0 for the half of the public pairs
    that a fit may see and 1 for the other; 0 to 4 for cases."""

    source: str
    pair: Pair
    allowed: frozenset[Outcome]
    fold: int
    label: str = ""
    group: str = ""


NOT_DUPLICATE = frozenset(OUTCOMES) - {Outcome.DUPLICATE}
APART = frozenset((Outcome.EXTENDS, Outcome.DISTINCT))


def fold_of(text: str, folds: int) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % folds


def two(old: str, new: str) -> Pair:
    """Two bare statements, the second a month after the first."""
    later = START + 30 * DAY
    return Pair(Claim(new, later, later), Claim(old, START, START))


def cases(path: Path) -> list[Example]:
    """The pairs of a set of cases; those of a case share a fold."""
    decode = msgspec.json.Decoder(Case).decode
    found: list[Example] = []
    for line in path.read_bytes().splitlines():
        case = decode(line)
        fold = fold_of(case.id, 5)
        for one in case.pairs:
            pair = Pair(_claim(case, one.new), _claim(case, one.old))
            right = frozenset((Outcome[one.verdict.upper()],))
            found.append(Example(path.stem, pair, right, fold, one.verdict, case.id))
    return found


def _claim(case: Case, place: tuple[int, int]) -> Claim:
    turn = case.turns[place[0]]
    at = parse_instant(turn.at).at
    text = turn.facts[place[1]]
    return Claim(text, at, at, said=turn.text, conversation=case.id.encode())


class LabelledEnding(NamedTuple):
    """A row of docs/results/endings.csv: two statements of real talk, and how they relate."""

    round: str
    set: str
    old_at: str
    old: str
    new_at: str
    new: str
    decided: str
    judged: str
    verdict: str


def labelled_endings() -> list[Example]:
    """What was judged by hand of the endings that earlier policies decided on real talk, but for
    those whose wording is cut."""
    found: list[Example] = []
    with ENDINGS_LABELLED.open(newline="") as file:
        for row in [LabelledEnding(*each) for each in csv.reader(file)][1:]:
            if row.old.endswith("…") or row.new.endswith("…"):
                continue
            old_at, new_at = parse_instant(row.old_at).at, parse_instant(row.new_at).at
            pair = Pair(Claim(row.new, new_at, new_at), Claim(row.old, old_at, old_at))
            right = frozenset((Outcome[row.verdict.upper()],))
            fold = fold_of(row.old, 5)
            found.append(Example("endings", pair, right, fold, row.verdict, row.old))
    return found


def look_alikes(data: Path) -> list[Example]:
    """PAWS and Breaking NLI; a contradiction may be any outcome but a duplicate."""
    found: list[Example] = []
    for row in lines(data / "pairs" / "pairs.jsonl.gz", PairRow):
        paws = row.source.startswith("paws")
        same = row.label in ("duplicate", "entailment")
        allowed = frozenset((Outcome.DUPLICATE,)) if same else NOT_DUPLICATE
        if same and not paws:
            allowed |= {Outcome.EXTENDS}
        fold = fold_of(min(row.a, row.b) if paws else row.a, 2)
        source = "paws" if paws else "nli"
        found.append(Example(source, two(row.a, row.b), allowed, fold, row.label))
    return found


def superseded(data: Path) -> list[Example]:
    """Every fact of letta_core against the new one of its case."""
    found: list[Example] = []
    for row in lines(data / "letta_core" / "supersede.jsonl.gz", Superseding):
        for place, fact in enumerate(row.facts):
            ends = place in row.superseded
            words = "words" if IN_WORDS.search(row.new) else "silent"
            found.append(
                Example(
                    "letta",
                    two(fact, row.new),
                    ENDED if ends else APART,
                    fold_of(row.facts[0], 2),
                    words if ends else "other",
                    row.id,
                )
            )
    return found


def vectors_of(
    examples: Sequence[Example], vectors: Path | None
) -> dict[str, npt.NDArray[np.float32]]:
    """The vectors of MiniLM of every text; `vectors` is a file that keeps them."""
    from rewound.llm.minilm import MiniLM

    known: dict[str, npt.NDArray[np.float32]] = {}
    if vectors is not None and vectors.exists():
        kept = np.load(vectors)
        known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
    texts = sorted({c.text for e in examples for c in (e.pair.new, e.pair.old)} - known.keys())
    embedder = MiniLM()
    for start in range(0, len(texts), 256):
        some = texts[start : start + 256]
        known |= dict(zip(some, np.asarray(embedder.embed(some), np.float32), strict=True))
    if vectors is not None and texts:
        np.savez(vectors, texts=np.array(list(known)), vectors=np.stack(list(known.values())))
    return known


def similar(examples: Sequence[Example], vectors: Path | None) -> list[Example]:
    """The examples with what the vectors of MiniLM tell of them: their cosines, and the probe."""
    known = vectors_of(examples, vectors)
    probe = probing.shipped()
    found: list[Example] = []
    for one in examples:
        new = known[one.pair.new.text].astype(np.float64)
        old = known[one.pair.old.text].astype(np.float64)
        pair = one.pair._replace(
            similarity=round(1000 * float(new @ old)), against=probe.tell(new, old[None])[0]
        )
        found.append(one._replace(pair=pair))
    return found


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The chance that a positive scores above a negative; ties count half."""
    values, wanted = np.asarray(scores, np.float64), np.asarray(positive, bool)
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    ones = int(wanted.sum())
    zeros = len(wanted) - ones
    if not ones or not zeros:
        return 0.0
    return float((ranks[wanted].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def macro_f1(right: Sequence[Outcome], ruled: Sequence[Outcome]) -> tuple[float, list[float]]:
    """The mean over OUTCOMES and each by itself; REVIEW is right for none."""
    scores: list[float] = []
    for outcome in OUTCOMES:
        hits = sum(a == b == outcome for a, b in zip(right, ruled, strict=True))
        asked = sum(one == outcome for one in right) + sum(one == outcome for one in ruled)
        scores.append(2 * hits / asked if asked else 0.0)
    return sum(scores) / len(scores), scores


Row = tuple[str, float, str]


class Ruler(Protocol):
    """What rules on pairs by their evidence: a policy, by itself or with a model's opinions."""

    def rule_all(self, evidences: Sequence[Evidence]) -> list[Ruling]: ...

    def chances(self, evidences: Sequence[Evidence]) -> npt.NDArray[np.float64]:
        """The probability of each of OUTCOMES for each pair, shape (pairs, 5)."""
        ...

    def contradictions(self, evidences: Sequence[Evidence]) -> list[int]: ...


def _rate(name: str, hits: Sequence[bool]) -> Row:
    return name, sum(hits) / max(1, len(hits)), f"{sum(hits)} of {len(hits)}"


def letta_rows(policy: Ruler, examples: Sequence[Example], found: list[Evidence]) -> list[Row]:
    rulings = policy.rule_all(found)
    ended = [one.outcome in ENDED for one in rulings]
    raised = [e or one.outcome is Outcome.REVIEW for e, one in zip(ended, rulings, strict=True)]
    labels = [one.label for one in examples]

    def of(flags: list[bool], *wanted: str) -> list[bool]:
        return [flag for flag, label in zip(flags, labels, strict=True) if label in wanted]

    return [
        _rate("the right fact ended or up for review", of(raised, "words", "silent")),
        _rate("ended, where the new text says so", of(ended, "words")),
        _rate("ended, all", of(ended, "words", "silent")),
        _rate("another fact ended", of(ended, "other")),
        _rate("another fact up for review", of(raised, "other")),
    ]


def paws_rows(policy: Ruler, examples: Sequence[Example], found: list[Evidence]) -> list[Row]:
    same = [one.label == "duplicate" for one in examples]
    chances = policy.chances(found)[:, 0].tolist()
    said = [one.outcome is Outcome.DUPLICATE for one in policy.rule_all(found)]
    return [
        ("AUC, duplicate or not", auc(chances, same), f"{len(same)} pairs"),
        _rate("precision of duplicate", [s for s, d in zip(same, said, strict=True) if d]),
        _rate("recall of duplicate", [d for s, d in zip(same, said, strict=True) if s]),
    ]


def nli_rows(policy: Ruler, examples: Sequence[Example], found: list[Evidence]) -> list[Row]:
    against = [one.label == "contradiction" for one in examples]
    said = [one.outcome is Outcome.DUPLICATE for one in policy.rule_all(found)]
    scores = policy.contradictions(found)
    changed = [d for a, d in zip(against, said, strict=True) if a]
    return [
        ("AUC, contradiction or not", auc(scores, against), f"{len(against)} pairs"),
        _rate("changed facts taken for duplicates", changed),
    ]


def set_rows(policy: Ruler, examples: Sequence[Example], found: list[Evidence]) -> list[Row]:
    right = [next(iter(one.allowed)) for one in examples]
    rulings = policy.rule_all(found)
    ruled = [one.outcome for one in rulings]
    whole, each = macro_f1(right, ruled)
    leaning, _ = macro_f1(right, [one.leaning for one in rulings])
    ends = [outcome in ENDED for outcome in ruled]
    kept = [r in ENDED for r, end in zip(right, ends, strict=True) if end]
    names = ", ".join(
        f"{outcome.name.lower()} {score:.2f}" for outcome, score in zip(OUTCOMES, each, strict=True)
    )
    return [
        ("macro F1, review counted as wrong", whole, names),
        ("macro F1 of what it leans to", leaning, f"{len(right)} pairs"),
        _rate("up for review", [one is Outcome.REVIEW for one in ruled]),
        _rate("precision of endings", kept),
        _rate("recall of endings", [e for r, e in zip(right, ends, strict=True) if r in ENDED]),
    ]


SECTIONS = {"letta": letta_rows, "paws": paws_rows, "nli": nli_rows, "set": set_rows}


def examples_of(section: str, data: Path, path: Path) -> list[Example]:
    """What a section is measured on: of the public pairs, the half that no fit has seen."""
    if section == "set":
        return cases(path)
    pool = superseded(data) if section == "letta" else look_alikes(data)
    return [one for one in pool if one.source == section and one.fold == 1]


def faults(policy: Ruler, examples: Sequence[Example], found: list[Evidence]) -> list[str]:
    """A line for each example that was not ruled as allowed."""
    shown: list[str] = []
    for one, ruling, seen in zip(examples, policy.rule_all(found), found, strict=True):
        if ruling.outcome not in one.allowed:
            wanted = "/".join(sorted(o.name for o in one.allowed))
            may = "may end" if seen.get(MAY_END) else "-"
            shown.append(
                f"{one.group} {ruling.outcome.name} ({ruling.leaning.name} {ruling.probability}, "
                f"{may}) not {wanted}: {one.pair.old.text} => {one.pair.new.text}"
            )
    return shown


@click.command()
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("--section", type=click.Choice([*SECTIONS]), multiple=True, help="Default: all.")
@click.option("--set", "path", type=click.Path(exists=True, path_type=Path), default=SETS["set"])
@click.option("--similarity", type=click.Choice(["minilm", "none"]), default="none")
@click.option("--vectors", type=click.Path(path_type=Path), help="Keep the vectors in this .npz.")
@click.option("--show", is_flag=True, help="Print every fault.")
def main(
    data: Path,
    section: tuple[str, ...],
    path: Path,
    similarity: str,
    vectors: Path | None,
    show: bool,
) -> None:
    """Print how well the shipped policy judges."""
    policy: Any = shipped()
    click.echo(f"{policy.name} {policy.version}, similarity {similarity}")
    for name in section or tuple(SECTIONS):
        examples = examples_of(name, data, path)
        if similarity == "minilm":
            examples = similar(examples, vectors)
        begun = time.perf_counter()
        found = [evidence(one.pair) for one in examples]
        spent = (time.perf_counter() - begun) / max(1, len(found))
        click.echo(f"{name}, {len(examples)} pairs, {1e6 * spent:.0f} µs of evidence each")
        for label, value, note in SECTIONS[name](policy, examples, found):
            click.echo(f"  {label:<42}{value:6.3f}  {note}")
        if show:
            for fault in faults(policy, examples, found):
                click.echo(f"    {fault}")


if __name__ == "__main__":
    main()
