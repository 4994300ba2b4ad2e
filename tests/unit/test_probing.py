"""The probe of two vectors: what it tells, of which model, and what it is made of."""

import numpy as np
import pytest

from rewound.llm.minilm import DIMENSIONS, MiniLM
from rewound.llm.probing import FARTHEST, Probe, shipped, told_of

PROBE = Probe("made up", "model", 0.5, -1.0, (4, 0), (0, 2))


def test_it_weighs_the_difference_and_the_product() -> None:
    one, others = np.array([1.0, 0.5]), np.array([[1.0, 0.5], [-1.0, 2.0]])
    # Odds -1 + 1 * 0.25 and -1 + 2 * 2 + 1 * 1, on a scale from -4 to 4.
    expected = [round(1000 * (odds + FARTHEST) / (2 * FARTHEST)) for odds in (-0.75, 4.0)]
    assert PROBE.tell(one, others) == expected


def test_pairs_are_told_the_same_alone_and_the_other_way_round() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(6, DIMENSIONS)) / np.sqrt(DIMENSIONS)
    together = shipped().tell(vectors[0], vectors[1:])
    assert together == [shipped().tell(vectors[0], each[None])[0] for each in vectors[1:]]
    assert together == [shipped().tell(each, vectors[:1])[0] for each in vectors[1:]]


def test_the_shipped_probe_is_of_the_shipped_embedder() -> None:
    probe = shipped()
    assert probe.model == MiniLM().name
    assert len(probe.difference) == DIMENSIONS
    assert probe.figures["auc"] > 0.95


def test_it_says_nothing_of_another_model_or_of_a_missing_vector() -> None:
    one = np.ones(DIMENSIONS) / np.sqrt(DIMENSIONS)
    assert told_of("another", one, [one, None]) == [None, None]
    assert told_of(shipped().model, one, []) == []
    known, missing = told_of(shipped().model, one, [one, None])
    assert known is not None
    assert missing is None


def test_a_probe_reads_back_what_it_wrote() -> None:
    assert Probe.from_json(PROBE.to_json()) == PROBE


def test_weights_of_unequal_numbers_are_refused() -> None:
    broken = Probe("broken", "model", 1.0, 0.0, (1, 2), (1,))
    with pytest.raises(ValueError, match="one weight of difference and of product"):
        Probe.from_json(broken.to_json())
