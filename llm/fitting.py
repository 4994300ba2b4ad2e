"""Fitting a multinomial logistic around a prior: maximum a posteriori, by damped Newton steps.

Deterministic: float64, a fixed number of steps, no randomness. A case may allow several outcomes
(`not a duplicate`); it then counts by the sum of their probabilities.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 40
"""At most; a fit is done earlier when a step gains less than this share of the loss:"""
CLOSE = 1e-4


def probabilities(features: Floats, weights: Floats) -> Floats:
    """Of each outcome for each case: shapes (cases, d) and (d, outcomes) -> (cases, outcomes)."""
    logits = features @ weights
    logits -= logits.max(axis=1, keepdims=True)
    raised = np.exp(logits)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float64)


def losses(chances: Floats, allowed: Floats) -> Floats:
    """The negative log of the probability of what is allowed, for each case."""
    return np.asarray(-np.log(np.maximum((chances * allowed).sum(axis=1), 1e-12)), np.float64)


def fit(
    features: Floats,
    allowed: Floats,
    prior: Floats,
    precision: Floats,
    counts: Floats | None = None,
) -> Floats:
    """The weights, shape (d, outcomes), that make the allowed outcomes likeliest.

    `allowed` has 1 for each outcome that a case may have. `precision` (d,) says how firmly each
    weight is held at its prior; all must be above 0. `counts` is how much each case counts.
    """
    counts = np.ones(len(features)) if counts is None else counts
    weights = prior.copy()
    value = _objective(features, allowed, prior, precision, counts, weights)
    for _ in range(STEPS):
        chances = probabilities(features, weights)
        hoped = chances * allowed
        hoped /= np.maximum(hoped.sum(axis=1, keepdims=True), 1e-12)
        residual = (hoped - chances) * counts[:, None]
        slope = features.T @ residual - precision[:, None] * (weights - prior)
        step = _newton(features, chances, counts, precision, slope)
        size = 1.0
        tried = weights + step
        reached = _objective(features, allowed, prior, precision, counts, tried)
        while reached > value and size > 1e-4:
            size /= 2
            tried = weights + size * step
            reached = _objective(features, allowed, prior, precision, counts, tried)
        if reached > value - CLOSE * max(value, 1.0):
            return tried if reached <= value else weights
        weights, value = tried, reached
    return weights


def _newton(
    features: Floats, chances: Floats, counts: Floats, precision: Floats, slope: Floats
) -> Floats:
    size, outcomes = slope.shape
    curve = np.zeros((outcomes, size, outcomes, size))
    for one in range(outcomes):
        for other in range(one, outcomes):
            mass = counts * chances[:, one] * ((one == other) - chances[:, other])
            block = (features * mass[:, None]).T @ features
            curve[one, :, other, :] = block
            curve[other, :, one, :] = block
        curve[one, :, one, :] += np.diag(precision)
    flat = curve.reshape(outcomes * size, outcomes * size)
    solved = np.linalg.solve(flat, slope.T.reshape(-1))
    return np.asarray(solved.reshape(outcomes, size).T, np.float64)


def _objective(
    features: Floats,
    allowed: Floats,
    prior: Floats,
    precision: Floats,
    counts: Floats,
    weights: Floats,
) -> float:
    loss = float((losses(probabilities(features, weights), allowed) * counts).sum())
    return loss + float((precision[:, None] * (weights - prior) ** 2).sum()) / 2
