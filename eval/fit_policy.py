"""Fits the shipped policy: `python -m eval.fit_policy --data FOLDER` writes llm/policy.json.

Fitted on the conversation cases (`judging.jsonl`, `judging_own.jsonl`, `judging_more.jsonl`), on
pairs of real talk (`judging_talk.jsonl`) and on the first halves of the public pairs. What a public
set leaves open stays open in the fit: a contradiction is any outcome but a duplicate. Every pair
counts half with and half without similarity, so the policy works with an embedder and without.
Margins are set on predictions of pairs that a fit has not seen.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt

from eval.fit_probe import told_unseen
from eval.judging import (
    ENDED,
    SETS,
    Example,
    auc,
    cases,
    fold_of,
    labelled_endings,
    look_alikes,
    macro_f1,
    similar,
    superseded,
    vectors_of,
)
from rewound.eventlog.enums import Outcome
from rewound.llm.evidence import evidence
from rewound.llm.fitting import Floats, fit, probabilities
from rewound.llm.grounds import MAY_END
from rewound.llm.judging import Evidence
from rewound.llm.policy import BIAS, OUTCOMES, Policy

TARGET = Path(__file__).parent.parent / "llm" / "policy.json"
WEIGHTS = {
    "judging": 1.0, "judging_own": 1.0, "judging_more": 1.0, "judging_talk": 1.0,
    "endings": 0.5,
    "paws": 1.0, "nli": 0.06, "letta": 0.4,
}  # fmt: skip
OTHERS = 0.25
"""Of the facts that a new one does not replace, the share that is fitted on."""
PRECISION = 1.5
LOOSE = 0.15
FOLDS = 3
ENDING_PRECISION = 0.95
WORDS_LEAST = 650
"""Endings by words alone: of real talk, what was less likely than this was wrong each time."""
DUPLICATE_PRECISION = 0.9
EXTENDS_PRECISION = 0.95
EXTENDS_LEAST = 980
"""What is added on real talk was right less often than in cases: 3 of 17 at a lower margin, 7 of 16
at 950, however likely it was held to be."""
LONG_PRECISION = 0.95


_WHOLE = frozenset(("judging", "judging_own", "judging_more", "judging_talk", "endings"))


class Table(NamedTuple):
    """All examples as matrices: features (n, d), allowed (n, 5), counts and folds (n,)."""

    names: tuple[str, ...]
    features: Floats
    allowed: Floats
    counts: Floats
    folds: npt.NDArray[np.int64]
    sources: npt.NDArray[np.str_]
    may_end: npt.NDArray[np.bool_]


def gathered(data: Path, similarity: str, vectors: Path | None) -> list[Example]:
    """The examples that are fitted on: cases, and the first halves of the public pairs."""
    pool = [one for name in ("set", "own", "more", "talk") for one in cases(SETS[name])]
    public = [one for one in (*look_alikes(data), *superseded(data)) if one.fold == 0]
    for one in public:
        kept = one.label != "other" or fold_of(one.pair.old.text, 100) < 100 * OTHERS
        if kept:
            pool.append(one._replace(fold=fold_of(one.group + one.pair.old.text[:40], 5)))
    pool += labelled_endings()
    if similarity == "none":
        return pool
    return told_unseen(similar(pool, vectors), vectors_of(pool, vectors))


def tabled(examples: Sequence[Example]) -> tuple[Table, list[Example]]:
    """The table and what its rows are: a pair of a case twice, with and without its similarity,
    public pairs in turns."""
    found: list[Evidence] = []
    twice: list[Example] = []
    for place, one in enumerate(examples):
        views = [one, one._replace(pair=one.pair._replace(similarity=None, against=None))]
        views = views if one.source in _WHOLE else [views[place % 2]]
        twice += views
        found += [evidence(each.pair) for each in views]
    names = (BIAS, *sorted({name for each in found for name in each}))
    places = {name: place for place, name in enumerate(names)}
    features = np.zeros((len(found), len(names)))
    features[:, 0] = 1
    for row, each in enumerate(found):
        for name, value in each.items():
            features[row, places[name]] = value / 1000
    table = Table(
        names,
        features,
        np.array([[float(o in one.allowed) for o in OUTCOMES] for one in twice]),
        np.array([WEIGHTS[one.source] / (2 if one.source in _WHOLE else 1) for one in twice]),
        np.array([one.fold % FOLDS for one in twice], np.int64),
        np.array([one.source for one in twice]),
        np.array([bool(each.get(MAY_END)) for each in found]),
    )
    return table, twice


def _fitted(table: Table, rows: npt.NDArray[np.bool_]) -> Floats:
    # The crossed features of long statements have the public pairs to learn from.
    precision = np.array([LOOSE if n.startswith("long") else PRECISION for n in table.names])
    precision[0] = 0.05
    start = np.zeros((len(table.names), len(OUTCOMES)))
    return fit(table.features[rows], table.allowed[rows], start, precision, table.counts[rows])


def _opposed(table: Table, examples: Sequence[Example]) -> Floats:
    """The second head: whether two statements cannot both be true."""
    yes = [one.label in ("contradiction", "updates", "corrects") for one in examples]
    no = [one.label not in ("different", "words", "silent") for one in examples]
    use = np.array([a or b for a, b in zip(yes, no, strict=True)])
    allowed = np.array([[float(not one), float(one)] for one in yes])
    counts = np.where(table.sources == "nli", 1.0, table.counts * 0.3)
    precision = np.full(len(table.names), 2 * LOOSE)
    start = np.zeros((len(table.names), 2))
    weights = fit(table.features[use], allowed[use], start, precision, counts[use])
    return np.asarray(weights[:, 1] - weights[:, 0], np.float64)


class Margins(NamedTuple):
    """Of each outcome, of long duplicates, and of endings by words alone; in thousandths."""

    outcomes: tuple[int, int, int, int, int]
    long: int
    words: int


def _least(scores: Floats, right: npt.NDArray[np.bool_], wanted: float, floor: int) -> int:
    """The least margin, in thousandths, from which on a share `wanted` is right."""
    margins: list[int] = [*range(floor, 990, 10), *range(990, 1000, 2)]
    for margin in margins:
        above = scores >= margin / 1000
        if not above.any() or right[above].mean() >= wanted:
            return margin
    return 1000


def _margins(table: Table, chances: Floats) -> Margins:
    """The least probabilities from which on unseen pairs are as precise as is wanted."""
    right = table.allowed.astype(bool)
    told = np.isin(table.sources, [*sorted(_WHOLE), "letta"])
    ending = chances[:, 1] + chances[:, 2]
    rest = np.delete(chances, (1, 2), axis=1).max(axis=1)
    on = told & table.may_end & (ending > rest)
    conflict = table.features[:, table.names.index("conflict")] > 0
    ends = right[:, 1] | right[:, 2]
    by_attribute = _least(ending[on & conflict], ends[on & conflict], ENDING_PRECISION, 500)
    by_words = _least(ending[on & ~conflict], ends[on & ~conflict], ENDING_PRECISION, WORDS_LEAST)
    likeliest = chances.argmax(axis=1)
    same, is_long = likeliest == 0, table.features[:, table.names.index("long")] > 0
    short = same & ~is_long & told
    duplicate = _least(chances[short][:, 0], right[short][:, 0], DUPLICATE_PRECISION, 450)
    far = same & is_long
    far_duplicate = _least(chances[far][:, 0], right[far][:, 0], LONG_PRECISION, 450)
    adds = told & (likeliest == 3)
    extends = _least(chances[adds][:, 3], right[adds][:, 3], EXTENDS_PRECISION, EXTENDS_LEAST)
    return Margins((duplicate, by_attribute, by_attribute, extends, 0), far_duplicate, by_words)


def _figures(table: Table, chances: Floats) -> dict[str, float]:
    figures: dict[str, float] = {}
    paws = table.sources == "paws"
    figures["paws_auc"] = auc(
        chances[paws][:, 0].tolist(), (table.allowed[paws][:, 0] > 0).tolist()
    )
    for name in ("judging", "judging_own", "judging_more"):
        rows = table.sources == name
        right = [OUTCOMES[place] for place in table.allowed[rows].argmax(axis=1)]
        ruled = [
            _likeliest(one, may)
            for one, may in zip(chances[rows], table.may_end[rows], strict=True)
        ]
        figures[f"{name}_macro_f1"] = macro_f1(right, ruled)[0]
        ends = [r in ENDED for r, o in zip(right, ruled, strict=True) if o in ENDED]
        figures[f"{name}_ending_precision"] = sum(ends) / max(1, len(ends))
    return {name: round(value, 4) for name, value in figures.items()}


def _likeliest(chances: Floats, may_end: bool) -> Outcome:
    order = chances.copy()
    if not may_end:
        order[1:3] = -1
    elif order[1] + order[2] > max(order[0], order[3], order[4]):
        order[[0, 3, 4]] = -1
    return OUTCOMES[int(order.argmax())]


DOUBT = 130


def fitted(examples: Sequence[Example]) -> Policy:
    """The policy of the examples, its margins and figures from predictions of unseen ones."""
    table, rows = tabled(examples)
    chances = np.zeros((len(table.features), len(OUTCOMES)))
    for fold in range(FOLDS):
        held = table.folds == fold
        chances[held] = probabilities(table.features[held], _fitted(table, ~held))
    margins = _margins(table, chances)
    weights = np.rint(1000 * _fitted(table, np.ones(len(table.folds), bool)).T).astype(np.int64)
    opposed = np.rint(1000 * _opposed(table, rows)).astype(np.int64)
    return Policy(
        name="shipped",
        version=1,
        features=table.names,
        weights=tuple(tuple(row) for row in weights.tolist()),
        margins=margins.outcomes,
        margin_long=margins.long,
        margin_words=margins.words,
        doubt=DOUBT,
        opinion=1000,
        contradiction=tuple(opposed.tolist()),
        figures=_figures(table, chances),
    )


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True
)
@click.option("--similarity", type=click.Choice(["minilm", "none"]), default="minilm")
@click.option("--vectors", type=click.Path(path_type=Path), help="Keep the vectors in this .npz.")
@click.option("--out", type=click.Path(path_type=Path), default=TARGET)
def main(data: Path, similarity: str, vectors: Path | None, out: Path) -> None:
    """Fit and write the policy; prints its figures."""
    policy = fitted(gathered(data, similarity, vectors))
    out.write_bytes(policy.to_json() + b"\n")
    click.echo(f"{len(policy.features)} features; margins {policy.margins}")
    for name, value in policy.figures.items():
        click.echo(f"  {name:<28}{value:6.3f}")


if __name__ == "__main__":
    main()
