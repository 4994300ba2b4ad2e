"""What labels do to the policy: `python -m eval.labels --data FOLDER`.

A domain that the policy was not fitted for: short biographies in which a new statement replaces an
old one although both could be true (`letta_core`, the half that no fit has seen, with the labels of
its authors). 20, 50 and 100 labels are drawn at random, several times; told is how often the
likeliest outcome of other pairs is wrong, before and after the re-fit.
"""

import random
import statistics
from pathlib import Path

import click

from eval.judging import Example, superseded
from rewound.eventlog.enums import Outcome
from rewound.llm.evidence import evidence
from rewound.llm.policy import Labelled, Policy, refit, shipped

COUNTS = (20, 50, 100)
DRAWS = 5
TESTED = 200
_SEED = 20261130
_ENDING = frozenset({Outcome.UPDATES, Outcome.CORRECTS})


def labelled(data: Path) -> list[Labelled]:
    """Pairs of the domain, as many that are replaced as that are not."""
    unseen = [one for one in superseded(data) if one.fold == 1]
    rng = random.Random(_SEED)
    rng.shuffle(unseen)
    replaced = [one for one in unseen if one.label != "other"]
    others = [one for one in unseen if one.label == "other"][: len(replaced)]
    found = [*map(_label, replaced), *map(_label, others)]
    rng.shuffle(found)
    return found


def _label(one: Example) -> Labelled:
    outcome = Outcome.DISTINCT if one.label == "other" else Outcome.UPDATES
    return Labelled(evidence(one.pair), outcome)


def error(policy: Policy, pairs: list[Labelled]) -> float:
    """The share of pairs whose likeliest outcome is not the labelled one. An update and a
    correction are the same here: the old one ends."""
    wrong = 0
    for pair, ruling in zip(pairs, policy.rule_all([p.evidence for p in pairs]), strict=True):
        if pair.outcome in _ENDING:
            wrong += ruling.leaning not in _ENDING
        else:
            wrong += ruling.leaning in _ENDING
    return wrong / len(pairs)


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
def main(data: Path) -> None:
    """Print the error before and after a re-fit to so many labels."""
    pairs = labelled(data)
    prior = shipped()
    click.echo(f"{len(pairs)} pairs; error of the shipped policy {error(prior, pairs):.3f}")
    for count in COUNTS:
        before, after, taken = [], [], 0
        for draw in range(DRAWS):
            rng = random.Random(_SEED + draw)
            drawn = rng.sample(range(len(pairs)), count + TESTED)
            labels = [pairs[place] for place in drawn[:count]]
            tested = [pairs[place] for place in drawn[count:]]
            found = refit(prior, labels)
            taken += found.accepted
            before.append(error(prior, tested))
            after.append(error(found.policy, tested))
        click.echo(
            f"{count:4} labels: error {statistics.mean(before):.3f} -> "
            f"{statistics.mean(after):.3f} (mean of {DRAWS} draws; {taken} fits taken)"
        )


if __name__ == "__main__":
    main()
