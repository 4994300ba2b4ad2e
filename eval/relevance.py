"""Whether it is told that nothing fits: `python -m eval.relevance --data DIR --stores DIR`.

Everything is told of questions that no fit has seen: the ranking and the weights of `relevance` are
those of the other four fifths of the conversations or questions, and those that ship for the set in
this repository, whose store `rewound eval` fills. *None* are questions of a set
without an answer, *strange* ones were made for another set or conversation. A right hit is one
among the first ten of a question.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np

from eval.fit_ranker import auc, unseen
from eval.listwise import FLOORS, Floats, fit_anything, scored, shares
from eval.ranked_cases import FOLDS, OWN, SETS, Case, cases, ranking, strangers
from rewound.projections.ranker import loaded, probability
from rewound.projections.relevance import anything

Pairs = Sequence[tuple[Case, Floats]]
_LOOKED_AT = 10
_CUTS = (0.02, 0.03, 0.05, 0.1, 0.2, 0.5)


def logits(pairs: Pairs, held_out: Callable[[Case], object]) -> Floats:
    """That something fits, of each case, by weights of those that are not held out with it."""
    found = np.zeros(len(pairs))
    keys = [held_out(case) for case, _ in pairs]
    for key in dict.fromkeys(keys):
        weights = fit_anything(
            [pair for pair, other in zip(pairs, keys, strict=True) if other != key]
        )
        for n, (case, scores) in enumerate(pairs):
            if keys[n] == key:
                found[n] = anything(weights, case.evidence, case.rows, scores)
    return found


def by_fold(case: Case) -> object:
    return case.fold % FOLDS


def by_set(case: Case) -> object:
    """A set and the same one in another shape are one."""
    return case.set.removesuffix("_facts")


def tell_areas(pairs: Pairs, told: Floats, title: str) -> None:
    click.echo(f"AUC of “something fits”, {title:<32}{'none':>8}{'strange':>9}")
    for name in sorted({case.set for case, _ in pairs}):
        mine = [
            (case, logit) for (case, _), logit in zip(pairs, told, strict=True) if case.set == name
        ]
        areas = []
        for strange in (False, True):
            some = [
                one for one in mine if one[0].stranger == strange or not one[0].question.abstain
            ]
            areas.append(
                auc([not case.question.abstain for case, _ in some], [at for _, at in some])
            )
        click.echo(f"  {name:<56}" + "".join(f"{area:9.3f}" for area in areas))


def tell_cuts(pairs: Pairs, likely: Floats) -> None:
    """How many would be held to have no answer, where the cut lies."""
    click.echo("below: right hits / none / strange" + "".join(f"{cut:>16}" for cut in _CUTS))
    for name in sorted({case.set for case, _ in pairs}):
        mine = [n for n, (case, _) in enumerate(pairs) if case.set == name]
        right = likely[[n for n in mine if _has_right(*pairs[n])]]
        none = likely[
            [n for n in mine if pairs[n][0].question.abstain and not pairs[n][0].stranger]
        ]
        strange = likely[[n for n in mine if pairs[n][0].stranger]]
        cells = []
        for cut in _CUTS:
            below = [int(np.count_nonzero(values < cut)) for values in (right, none, strange)]
            cells.append(f"{below[0]}/{below[1]}/{below[2]}".rjust(16))
        counts = f"  {name} ({len(right)} / {len(none)} / {len(strange)})"
        click.echo(f"{counts:<34}" + "".join(cells))


def _has_right(case: Case, scores: Floats) -> bool:
    first = list(ranking(case, scores))[:_LOOKED_AT]
    return not case.question.abstain and not set(case.question.gold).isdisjoint(first)


def tell_reliability(pairs: Pairs, likely: Floats) -> None:
    """Tenths of the questions by what is told, against how often something did fit; they count as
    in the fit."""
    fitting = np.array([not case.question.abstain for case, _ in pairs], np.float64)
    share = shares([case for case, _ in pairs])
    order = np.argsort(likely, kind="stable")
    tenth = np.minimum((np.cumsum(share[order]) * 10).astype(np.int64), 9)
    click.echo("reliability, by tenths:  told  observed  questions")
    for n in range(10):
        of = order[tenth == n]
        told = float(np.average(likely[of], weights=share[of]))
        click.echo(f"{told:29.3f}{np.average(fitting[of], weights=share[of]):10.3f}{len(of):11}")


def tell_own(data: Path, stores: Path, *, words: bool) -> None:
    """The same of the set in this repository, where there is a store of it."""
    if not (stores / OWN).exists():
        return
    model = loaded("").words if words else loaded("").meaning
    every = cases(data, OWN, stores, meaning=not words)
    every += strangers(data, OWN, stores, meaning=not words)
    pairs = [(case, scored(model, case)) for case in every if len(case.rows)]
    told = np.array(
        [anything(model.anything, case.evidence, case.rows, scores) for case, scores in pairs]
    )
    tell_areas(pairs, told, "by what ships")
    tell_cuts(pairs, np.array([probability(logit) for logit in told.tolist()]))


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--stores", type=click.Path(path_type=Path), required=True, help="Kept between runs.")
@click.option("--sets", default=",".join(SETS), help="Which sets, by commas.")
@click.option("--words", is_flag=True, help="By words alone.")
def main(data: Path, stores: Path, sets: str, words: bool) -> None:
    """Print how well it is told whether anything fits."""
    every: list[Case] = []
    for name in sets.split(","):
        every += cases(data, name, stores, meaning=not words)
        every += strangers(data, name, stores, meaning=not words)
    pairs = unseen(every)
    told = logits(pairs, by_fold)
    likely = np.array([probability(logit) for logit in told.tolist()])
    tell_areas(pairs, told, "unseen")
    tell_areas(pairs, logits(pairs, by_set), "weights of the other sets")
    tell_reliability(pairs, likely)
    tell_cuts(pairs, likely)
    tell_own(data, stores, words=words)
    click.echo(f"the floor that ships: {FLOORS['words' if words else 'meaning']}")


if __name__ == "__main__":
    main()
