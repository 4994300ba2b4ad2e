"""What units say of a query's terms, made up for tests."""

import numpy as np
import numpy.typing as npt

from rewound.projections.relevance import Evidence


def silent(units: int) -> Evidence:
    """Of a query without a term."""
    return evidence(0, units, terms=0)


def evidence(seed: int, units: int, terms: int = 4) -> Evidence:
    """Of a query whose last two terms are of a name."""
    chance = np.random.default_rng(seed)
    says = chance.random((terms, units)) < 0.3
    return Evidence(
        says,
        chance.uniform(0.5, 9.0, terms),
        says.any(axis=1) | (chance.random(terms) < 0.5),
        np.arange(terms) >= terms - 2,
        chance.random(units) < 0.5,
        chance.permutation(units),
    )


def permuted(given: Evidence, order: npt.NDArray[np.int64]) -> Evidence:
    """The same of the units in another order."""
    return given._replace(
        says=given.says[:, order], personal=given.personal[order], places=given.places[order]
    )
