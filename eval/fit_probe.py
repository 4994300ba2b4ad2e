"""Fits the shipped probe: `python -m eval.fit_probe --data FOLDER` writes llm/probe.json.

A logistic regression over the absolute difference and the product of two vectors, strongly held at
nought, on the half of Breaking NLI that fits may see: whether one of two sentences, of which one
word is another, contradicts the other. `eval.fit_policy` must be run after it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec
import numpy as np
import numpy.typing as npt

from eval.judging import Example, auc, fold_of, look_alikes, vectors_of
from rewound.llm.fitting import fit
from rewound.llm.minilm import MiniLM
from rewound.llm.probing import Probe

TARGET = Path(__file__).parent.parent / "llm" / "probe.json"
PRECISION = 3840.0
"""How firmly each weight is held at nought, over numbers of vectors of length 1."""
FOLDS = 5

Known = Mapping[str, npt.NDArray[np.float32]]


def fitted(examples: Sequence[Example], known: Known) -> Probe:
    """The probe of the examples that are pairs of one changed word."""
    some = [one for one in examples if one.source == "nli"]
    old = np.stack([known[one.pair.old.text] for one in some]).astype(np.float64)
    new = np.stack([known[one.pair.new.text] for one in some]).astype(np.float64)
    size = old.shape[1]
    features = np.hstack([np.abs(old - new), old * new, np.ones((len(some), 1))])
    features[:, :-1] *= np.sqrt(size)
    yes = np.array([float(one.label == "contradiction") for one in some])
    precision = np.full(2 * size + 1, PRECISION / size)
    precision[-1] = 1e-3
    start = np.zeros((2 * size + 1, 2))
    both = fit(features, np.stack([1 - yes, yes], axis=1), start, precision)
    weights = both[:, 1] - both[:, 0]
    scale = float(np.abs(weights[:-1]).max()) / 127
    whole = np.rint(weights[:-1] / scale).astype(int).tolist()
    return Probe(
        name="shipped",
        model=MiniLM().name,
        scale=round(scale * float(np.sqrt(size)), 9),
        bias=round(float(weights[-1]), 6),
        difference=tuple(whole[:size]),
        product=tuple(whole[size:]),
    )


def told(probe: Probe, examples: Sequence[Example], known: Known) -> list[Example]:
    """The examples with what a probe tells of them."""
    return [
        one._replace(
            pair=one.pair._replace(
                against=probe.tell(
                    known[one.pair.new.text].astype(np.float64),
                    known[one.pair.old.text].astype(np.float64)[None],
                )[0]
            )
        )
        for one in examples
    ]


def told_unseen(examples: Sequence[Example], known: Known) -> list[Example]:
    """The examples with what probes tell of them that were fitted without them: a fit on top must
    not trust the probe more than it deserves."""
    fold = [fold_of(one.pair.old.text + one.group, FOLDS) for one in examples]
    found = list(examples)
    for number in range(FOLDS):
        probe = fitted([e for e, f in zip(examples, fold, strict=True) if f != number], known)
        held = [place for place, f in enumerate(fold) if f == number]
        some = told(probe, [examples[place] for place in held], known)
        for place, one in zip(held, some, strict=True):
            found[place] = one
    return found


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path), required=True
)
@click.option("--vectors", type=click.Path(path_type=Path), help="Keep the vectors in this .npz.")
@click.option("--out", type=click.Path(path_type=Path), default=TARGET)
def main(data: Path, vectors: Path | None, out: Path) -> None:
    """Fit and write the probe; prints its figures."""
    examples = [one for one in look_alikes(data) if one.source == "nli" and one.fold == 0]
    known = vectors_of(examples, vectors)
    unseen = told_unseen(examples, known)
    score = auc(
        [one.pair.against or 0 for one in unseen], [one.label == "contradiction" for one in unseen]
    )
    probe = fitted(examples, known)
    figures = {"pairs": float(len(examples)), "auc": round(score, 4)}
    out.write_bytes(msgspec.structs.replace(probe, figures=figures).to_json() + b"\n")
    click.echo(f"{len(examples)} pairs, AUC on unseen ones {score:.3f}")


if __name__ == "__main__":
    main()
