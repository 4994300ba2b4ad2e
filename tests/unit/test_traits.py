"""What a text is like: tables of texts and the traits they show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections.traits import CHARS, Trait, traits_of

Q, D, N, F, L = Trait.QUESTION, Trait.DATED, Trait.NUMBERED, Trait.FIRST_PERSON, Trait.LIKING
NONE = Trait(0)

CASES = [
    ("", NONE),
    (" \n\t ", NONE),
    ("The antenna stands on the roof.", NONE),
    # It asks.
    ("Where is the antenna?", Q),
    ("Where is the antenna? \n", Q),
    ("Where is it? On the roof.", NONE),
    ("?", Q),
    # It names a time.
    ("The launch was yesterday.", D),
    ("THE LAUNCH IS ON MONDAY", D),
    ("The launch moved to March.", D),
    ("They left a while ago.", D),
    ("Opened in 1998.", D | N),
    ("Opened on the 3rd.", D | N),
    ("The room 12345 is closed.", N),
    ("The marching band plays.", NONE),
    ("A monday-morning mood.", D),
    # It holds a number.
    ("There are 3 cats.", N),
    ("There are three cats.", N),
    ("A dozen eggs.", N),
    ("The bone is done.", NONE),
    ("Twice he called.", N),
    # Somebody tells of themselves.
    ("I was there.", F),
    ("It is my antenna.", F),
    ("We are here.", F),
    ("Ito and Myra were there.", NONE),
    ("Myself and mine.", NONE),
    # And what they like.
    ("I like tea.", F | L),
    ("My favorite tea is green.", F | L),
    ("My favourite tea is green.", F | L),
    ("I'm into chess.", F | L),
    ("I\u2019ve been there.", F | L),
    ("I've been there.", F | L),
    ("We usually walk.", F | L),
    ("Nina likes tea.", NONE),
    ("People like tea.", NONE),
    ("I dislike nothing.", F),
    # All of it.
    ("Last year I tried two teas, and I love one: shall we have it?", Q | D | N | F | L),
    # Other languages have few.
    ("Nina wohnt seit langem in Rom.", NONE),
    ("彼女は昨日ローマに行きました。", NONE),
    ("彼女はどこに住んでいますか？", NONE),
    ("Ей нравится чай.", NONE),
    ("٣ قطط", N),
    ("🐈🐈", NONE),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), CASES)
def test_what_a_text_is_like(text: str, shown: Trait) -> None:
    assert Trait(traits_of(text)) == shown


@pytest.mark.parametrize("quote", ["'", "\u2019"])
def test_curly_and_straight_quotes_are_the_same(quote: str) -> None:
    assert traits_of(f"I{quote}m fond of chess") == traits_of("I am fond of chess") == F


def test_only_the_beginning_is_looked_at_but_for_the_end() -> None:
    """A trait that shows later says little of the whole; what it asks stands at its end."""
    long = "word " * (CHARS // 5)
    assert len(long) == CHARS
    assert traits_of(long + "I like 3 teas since May 2024") == 0
    assert Trait(traits_of(long + "who?")) == Q
    assert Trait(traits_of("I like tea. " + long)) == F | L


@given(st.text(max_size=200))
def test_one_byte_whatever_the_text(text: str) -> None:
    found = traits_of(text)
    assert 0 <= found <= 31 and found == traits_of(text)
    assert not found & Trait.LIKING or found & Trait.FIRST_PERSON
