"""The table of words that belong together, as it ships."""

import numpy as np
import pytest

from eval.fit_related import near
from rewound.projections.related import NEAREST, NONE, related
from rewound.projections.related import _lines as lines
from rewound.projections.tokens import is_stopword, tokenize


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("instruments", "violin"),
        ("pet", "dog"),
        ("movies", "film"),
        ("car", "automobile"),
        ("fruit", "banana"),
        ("phone", "iphone"),
    ],
)
def test_what_belongs_to_a_word(asked: str, said: str) -> None:
    (term,), (other,) = tokenize(asked), tokenize(said)
    assert other in related(term).terms


def test_what_is_no_word_has_none() -> None:
    for term in ("", "zzyzx", "2024", "v1.2.3", "書", "pet dog", "pet\n"):
        assert related(term) == NONE


def test_every_line_is_of_terms_the_nearest_first() -> None:
    assert len(lines()) > 10_000
    for term in lines():
        told = related(term)
        assert tokenize(term) and not is_stopword(term)
        assert 0 < len(told.terms) == len(set(told.terms)) <= NEAREST
        assert term not in told.terms
        assert list(told.nearness) == sorted(told.nearness, reverse=True)
        assert all(0.0 < near <= 0.9 for near in told.nearness)


def test_what_is_far_belongs_to_nothing() -> None:
    cosines = np.array([1.0, 0.5, 0.39, 0.95, 0.401], np.float32)
    assert near(["pet", "vet", "net", "dog", "set"], 0, cosines) == ["dog 90", "vet 22"]


def test_no_more_belong_to_a_word_than_ship() -> None:
    stems = [f"word{n}" for n in range(2 * NEAREST)]
    cosines = np.linspace(1.0, 0.5, len(stems), dtype=np.float32)
    assert [told.split(" ")[0] for told in near(stems, 0, cosines)] == stems[1 : NEAREST + 1]
