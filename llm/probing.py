"""What the vectors of two statements tell beyond their cosine: whether one contradicts the other.

A cosine says how near two statements are, and one changed word keeps them near. A probe is a linear
direction over the absolute difference and the product of the two vectors, learned from pairs of
which one word was changed (`eval/fit_probe.py`); it belongs to one embedding model, and says
nothing of vectors of another.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FARTHEST = 4.0
"""Log odds beyond which a probe's answer counts no more."""


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`difference` and `product` are weights in units of `scale`, one for each dimension; `model`
    names the embedder whose vectors they are for. `figures` are of pairs it was not fitted on."""

    name: str
    model: str
    scale: float
    bias: float
    difference: tuple[int, ...]
    product: tuple[int, ...]
    figures: dict[str, float] = {}

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @staticmethod
    def from_json(content: bytes) -> "Probe":
        """Raises msgspec.ValidationError, or ValueError for weights of unequal numbers."""
        probe = msgspec.json.decode(content, type=Probe)
        if len(probe.difference) != len(probe.product):
            raise ValueError("a probe needs one weight of difference and of product a dimension")
        return probe

    def tell(self, one: Floats, others: Floats) -> list[int]:
        """How surely a statement and each other one contradict each other, in thousandths of the
        way from surely not (0) to surely (1000). `one` has shape (d,), `others` (n, d)."""
        difference, product = np.array((self.difference, self.product), np.float64) * self.scale
        odds = np.abs(others - one) @ difference + (others * one) @ product + self.bias
        share = (np.clip(odds, -FARTHEST, FARTHEST) + FARTHEST) / (2 * FARTHEST)
        return [round(1000 * each) for each in share.tolist()]


@lru_cache(maxsize=1)
def shipped() -> Probe:
    """The probe that comes with the product."""
    return Probe.from_json(files("rewound.llm").joinpath("probe.json").read_bytes())


def told_of(model: str, one: Floats, others: Sequence[Floats | None]) -> list[int | None]:
    """What the shipped probe tells of a vector of shape (d,) and each other one; None for those
    that are missing, and for all when it does not know the model that made them."""
    probe = shipped()
    known = [each for each in others if each is not None]
    if model != probe.model or not known:
        return [None] * len(others)
    found = iter(probe.tell(one, np.stack(known)))
    return [None if each is None else next(found) for each in others]
