"""The table of words that belong together, as it ships."""

import pytest

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
