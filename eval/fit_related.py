"""Makes the table of words that belong together: `python -m eval.fit_related`.

Writes projections/related.txt.gz. The words are those of the vocabulary of the embedder that ships,
in letters of English; words of one stem are one. Two of them belong together by the cosine of their
vectors, from which the mean of all vectors is taken: what all words have in common tells nothing.
No set of questions is looked at.
"""

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from rewound.llm.minilm import TOKENIZER, MiniLM
from rewound.llm.onnx_running import open_tokenizer
from rewound.projections.related import NEAREST, WHOLE
from rewound.projections.tokens import is_stopword, tokenize

TARGET = Path(__file__).parent.parent / "projections" / "related.txt.gz"

FAR = 0.40
"""The cosine from which words belong together: there the nearness is 0."""
NEAR = 0.85
"""The cosine of what is as good as the word itself."""
MOST = 0.9
"""Another word is never as good as the one that was asked for."""

_WORD = re.compile(r"[a-z]{3,}")
_BATCH = 256

Floats = npt.NDArray[np.float32]


def words() -> dict[str, list[str]]:
    """The words of each stem, in the order of the vocabulary."""
    known = open_tokenizer(TOKENIZER.verified(), 8).get_vocab()
    found: dict[str, list[str]] = defaultdict(list)
    for word in sorted(known, key=lambda word: known[word]):
        terms = tokenize(word) if _WORD.fullmatch(word) else []
        if len(terms) == 1 and not is_stopword(terms[0]):
            found[terms[0]].append(word)
    return found


def vectors(stems: Sequence[Sequence[str]]) -> Floats:
    """One of length 1 for each stem, without what all have in common; shape (stems, dimensions)."""
    model = MiniLM()
    every = [word for stem in stems for word in stem]
    parts = [model.embed(every[n : n + _BATCH]) for n in range(0, len(every), _BATCH)]
    starts = np.cumsum([0, *(len(stem) for stem in stems)])[:-1]
    summed = _unit(np.add.reduceat(np.concatenate(parts), starts, axis=0))
    return _unit(summed - summed.mean(axis=0))


def _unit(rows: Floats) -> Floats:
    found: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


def lines(stems: Sequence[str], rows: Floats) -> Iterator[str]:
    """The line of each stem to which anything belongs."""
    for start in range(0, len(stems), _BATCH):
        cosines = rows[start : start + _BATCH] @ rows.T
        for at, to_all in enumerate(cosines, start):
            told = near(stems, at, to_all)
            if told:
                yield " ".join((stems[at], *told))


def near(stems: Sequence[str], at: int, cosines: Floats) -> list[str]:
    """What belongs to a stem by its cosines to all, with its nearness in hundredths."""
    others = np.flatnonzero(cosines > FAR)
    others = others[others != at]
    best = others[np.argsort(-cosines[others], kind="stable")][:NEAREST]
    share = np.minimum((cosines[best] - FAR) / (NEAR - FAR), MOST)
    hundredths = np.floor(share * WHOLE).astype(int).tolist()
    told = zip(best.tolist(), hundredths, strict=True)
    return [f"{stems[other]} {nearness}" for other, nearness in told if nearness > 0]


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=TARGET)
def main(out: Path) -> None:
    """Embed the words, write the table."""
    known = words()
    stems = list(known)
    rows = vectors(list(known.values()))
    told = sorted(lines(stems, rows))
    content = "\n".join(told).encode("ascii") + b"\n"
    out.write_bytes(gzip.compress(content, mtime=0))
    click.echo(f"{len(told)} of {len(stems)} words, {len(content)} bytes; wrote {out.name}")


if __name__ == "__main__":
    main()
