"""Fits the shipped ranker: `python -m eval.fit_ranker --data DIR --stores DIR`.

Writes projections/ranker.json, fitted on all sets together, each of which counts the same. Told is
how it does on what no fit has seen: on every fifth of the conversations or questions, fitted on the
other four (*unseen*), and on every set as a whole, fitted on the others (*left out*). How well it
is told that nothing fits, `eval.relevance` measures.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from eval.listwise import FLOORS, Floats, calibrate, fit, scored
from eval.ranked_cases import FOLDS, SETS, Case, cases, ranking, strangers
from eval.retrieval import CUTS, Tally
from rewound.projections.feature_names import NAMES
from rewound.projections.ranker import FITS, Model, Ranker
from rewound.projections.relevance import ANYTHING

TARGET = Path(__file__).parent.parent / "projections" / "ranker.json"


def unseen(every: Sequence[Case]) -> list[tuple[Case, Floats]]:
    """Every case with the scores of a model that was fitted on other folds."""
    found = []
    for fold in range(FOLDS):
        model = fit([case for case in every if case.fold != fold])
        found += [(case, scored(model, case)) for case in every if case.fold == fold]
    return found


def left_out(every: Sequence[Case], name: str) -> list[tuple[Case, Floats]]:
    """The cases of one set with the scores of a model fitted on the other sets."""
    model = fit([case for case in every if case.set != name])
    return [(case, scored(model, case)) for case in every if case.set == name]


def tell(title: str, pairs: Sequence[tuple[Case, Floats]], *, kinds: bool = True) -> Tally:
    """Print recall and reciprocal rank of one set's questions that have an answer."""
    total: Tally = Tally()
    by_kind: dict[str, Tally] = defaultdict(Tally)
    for case, scores in pairs:
        if case.question.gold:
            ranked = list(ranking(case, scores))
            for tally in (total, by_kind[case.question.type]):
                tally.add(case.question.gold, ranked)
    click.echo(total.row(title))
    for kind in sorted(by_kind) if kinds and len(by_kind) > 1 else ():
        click.echo(by_kind[kind].row(f"  {kind}"))
    return total


def auc(right: Sequence[bool], values: Sequence[float]) -> float:
    """The chance that one of the right has a higher value than one of the others."""
    yes = np.array([value for value, is_right in zip(values, right, strict=True) if is_right])
    no = np.array([value for value, is_right in zip(values, right, strict=True) if not is_right])
    if not len(yes) or not len(no):
        return float("nan")
    higher = (yes[:, None] > no[None, :]).mean() + 0.5 * (yes[:, None] == no[None, :]).mean()
    return float(higher)


def fitted(every: Sequence[Case], title: str, figures: dict[str, float]) -> Model:
    """The model of all cases; prints and notes what it does on unseen ones."""
    pairs = unseen(every)
    click.echo(f"{title:<28}{'n':>6}" + "".join(f"{f'R@{n}':>8}" for n in CUTS) + f"{'MRR':>8}")
    model = calibrate(fit(every), pairs, FLOORS[title])
    for name in sorted({case.set for case in every}):
        mine = [pair for pair in pairs if pair[0].set == name]
        total = tell(f"{name}, unseen", mine)
        if len(mine) < len(pairs):
            tell(f"{name}, left out", left_out(every, name), kinds=False)
        figures[f"{title}, {name}, recall@10"] = round(total.recall[10] / total.count, 3)
        figures[f"{title}, {name}, MRR"] = round(total.reciprocal / total.count, 3)
    return model


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--stores", type=click.Path(path_type=Path), required=True, help="Kept between runs.")
@click.option("--sets", default=",".join(SETS), help="Which sets, by commas.")
@click.option("--write/--no-write", default=True, help="Write projections/ranker.json.")
def main(data: Path, stores: Path, sets: str, write: bool) -> None:
    """Fit, tell the figures, write the file."""
    figures: dict[str, float] = {}
    models = {}
    for title, meaning in (("meaning", True), ("words", False)):
        every: list[Case] = []
        for name in sets.split(","):
            every += cases(data, name, stores, meaning=meaning)
            every += strangers(data, name, stores, meaning=meaning)
        models[title] = fitted(every, title, figures)
    weights = sorted(zip(models["meaning"].weights, NAMES, strict=True), key=lambda w: -abs(w[0]))
    click.echo(", ".join(f"{name} {weight:+.2f}" for weight, name in weights))
    for names, row in (
        (FITS, models["meaning"].fits),
        (ANYTHING, models["meaning"].anything),
    ):
        told = zip(names, row, strict=True)
        click.echo(", ".join(f"{name} {weight:+.2f}" for name, weight in told))
    if write:
        ranker = Ranker("lists", 3, NAMES, models["meaning"], models["words"], figures)
        TARGET.write_bytes(ranker.to_json() + b"\n")
        click.echo(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
