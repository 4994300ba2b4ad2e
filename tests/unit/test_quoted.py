"""What stands in quotes in a query, and whether a text says it as it stands."""

import pytest

from rewound.projections.quoted import PHRASES_MAX, phrases, says


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"red kite"', ["red kite"]),
        ("who saw the “Red  Kite”?", ["red kite"]),
        ("„rote Drachen“ und «cerf-volant»", ["rote drachen", "cerf-volant"]),
        ("「陶芸教室」はどこ", ["陶芸教室"]),
        ('she said "wait, what?" twice', ["wait, what"]),
        ('"a b" and "a b"', ["a b"]),
        ('5" and 6"', []),
        ('the 5" pipe', []),
        ('"" and "?!" and " "', []),
        ("don't 'quote' me", []),
        ("", []),
    ],
)
def test_phrases_of_a_query(query: str, found: list[str]) -> None:
    assert phrases(query) == found


def test_a_query_has_few_phrases() -> None:
    assert len(phrases(" ".join(f'"word{n}"' for n in range(20)))) == PHRASES_MAX


@pytest.mark.parametrize(
    ("text", "phrase", "said"),
    [
        ("The Red\nKite flew.", "red kite", True),
        ("A mill, red and old; the kite flew.", "red kite", False),
        ("The kite red.", "red kite", False),
        ("The red kites flew.", "red kite", False),
        ("An infrared kite.", "red kite", False),
        ("Der rote Drachen.", "rote drachen", True),
        ("明日は陶芸教室に行く", "陶芸教室", True),
        ("We use C++ here.", "c++", True),
        ("Café au lait", "cafe au", True),
    ],
)
def test_a_text_says_a_phrase_as_it_stands(text: str, phrase: str, said: bool) -> None:
    assert says(text, phrase) is said
