"""Cutting texts into pieces: nothing is lost, bounds hold, an edit stays where it is made."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.events import Media
from rewound.memory.pieces import (
    PIECE_CHARS_AIM,
    PIECE_CHARS_MAX,
    PIECE_CHARS_MIN,
    inked,
    pieces,
)

SHAPES = st.sampled_from(
    ["\n", "\n\n", "\r\n", "\r\n \r\n", " ", "\t", ". ", "。", "# Head\n", "Under\n===\n", "{",
     "};", "-", "=", "word", "a" * 450, "line of text\n", "x, y; ", "\u2028", "🦊", "\ud83d", "0"]
)  # fmt: skip
TEXTS = st.lists(st.tuples(SHAPES, st.integers(1, 60))).map(
    lambda parts: "".join(shape * count for shape, count in parts)
)
MEDIA = st.sampled_from(list(Media))


def prose(seed: int, sentences: int, *, end: str = " ") -> str:
    """Sentences of made-up words; about one in five ends a paragraph."""
    r = random.Random(seed)
    words = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "te") for b in range(200)]
    parts: list[str] = []
    for _ in range(sentences):
        parts.append(" ".join(r.choice(words) for _ in range(r.randint(4, 20))) + ".")
        parts.append("\n\n" if end == " " and r.random() < 0.2 else end)
    return "".join(parts)


def filler(count: int, facts: dict[int, str]) -> list[str]:
    """Numbered lines."""
    plain = "nothing of note was seen on this day either."
    return [f"Line {number}: {facts.get(number, plain)}" for number in range(1, count + 1)]


def changed(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many pieces only the one has, and how many only the other."""
    before, after = Counter(old), Counter(new)
    return (before - after).total(), (after - before).total()


# --- nothing is lost, bounds hold


@given(TEXTS, MEDIA)
def test_the_pieces_joined_are_the_text(text: str, media: Media) -> None:
    assert "".join(pieces(text, media)) == text


@given(TEXTS, MEDIA)
def test_no_piece_is_too_long_and_none_too_short_but_that_of_a_short_text(
    text: str, media: Media
) -> None:
    cut = pieces(text, media)
    if len(text) <= PIECE_CHARS_AIM:
        assert cut == ([text] if text else [])
    else:
        assert all(PIECE_CHARS_MIN <= len(piece) <= PIECE_CHARS_MAX for piece in cut)


@given(TEXTS, MEDIA)
def test_the_same_text_is_always_cut_alike(text: str, media: Media) -> None:
    assert pieces(text, media) == pieces(str(text.encode("utf-8", "surrogatepass"), "utf-8",
                                             "surrogatepass"), media)  # fmt: skip


@given(TEXTS)
def test_what_is_read_of_a_piece_has_no_blank_lines_around(text: str) -> None:
    for piece in pieces(text):
        span = inked(piece)
        if span is None:
            assert not piece.strip()
        else:
            start, end = span
            assert piece[start:end].strip() == piece.strip()
            assert piece[start:end] == piece[start:end].rstrip()


def test_the_first_line_keeps_its_indentation() -> None:
    assert inked("\n\n    if x:\n        y()\n\n") == (2, 23)
    assert inked(" \n\t\n") is None


# --- where it is cut


def test_most_pieces_of_prose_are_about_a_paragraph() -> None:
    cut = pieces(prose(1, 3_000))
    assert all(len(piece) <= PIECE_CHARS_AIM for piece in cut)
    ends = sum(piece.endswith("\n\n") for piece in cut)
    assert ends > len(cut) * 0.8
    assert all(piece.rstrip().endswith(".") for piece in cut)


def test_one_line_of_prose_is_cut_at_sentence_ends() -> None:
    cut = pieces(prose(2, 500).replace("\n\n", " "))
    assert len(cut) > 10
    assert all(piece.endswith(". ") for piece in cut)


def test_a_short_text_stays_whole() -> None:
    assert pieces("One.\n\nTwo.\n") == ["One.\n\nTwo.\n"]
    assert pieces("") == []


@pytest.mark.parametrize(
    "heading", ["## Part {n}\n\n", "# One\n## Part {n}\n", "Part {n}\n------\n\n"]
)
def test_a_heading_stays_with_what_follows(heading: str) -> None:
    text = "".join(heading.format(n=n) + prose(n, 6) + "\n\n" for n in range(60))
    for piece in pieces(text, Media.MARKDOWN):
        last = piece.rstrip().rpartition("\n")[2]
        assert not last.startswith(("#", "---", "Part")), piece[-60:]
    starts = sum(piece.startswith(("#", "Part")) for piece in pieces(text, Media.MARKDOWN))
    assert starts > 30


def test_code_is_cut_at_blank_lines_before_what_is_not_indented() -> None:
    body = "".join(f"    value_{n} = compute({n})\n\n" for n in range(12))
    text = "".join(f"def function_{n}() -> None:\n{body}\n" for n in range(40))
    cut = pieces(text, Media.CODE)
    assert all(piece.startswith("def ") for piece in cut)


def test_a_text_of_another_script_is_cut_at_its_own_full_stops() -> None:
    text = "".join(f"她最近在学打羽毛球和书法第{n}次。" for n in range(500))
    assert all(piece.endswith("。") for piece in pieces(text))


# --- an edit stays where it is made


@pytest.mark.parametrize("number", [1, 7, 50, 12_345, 25_000, 49_993, 50_000])
def test_r17_a_changed_line_changes_its_own_piece(number: int) -> None:
    facts = {7: "The boiler code is 4471.", 25_000: "Nina plays chess.", 49_993: "The van is sold."}
    old = pieces("\n".join(filler(50_000, facts)))
    new = pieces("\n".join(filler(50_000, {**facts, number: "The code was changed to 9920."})))
    assert changed(old, new) == (1, 1)


def test_r17_wherever_a_line_changes_few_pieces_do() -> None:
    old = pieces("\n".join(filler(3_000, {})))
    counts = Counter(
        changed(old, pieces("\n".join(filler(3_000, {number: "Something else."}))))
        for number in range(1, 3_000, 41)
    )
    assert max(max(pair) for pair in counts) <= 4
    assert counts[1, 1] > 0.9 * counts.total()


@given(st.integers(0, 30), st.integers(0, 20_000), st.integers(0, 300), st.text(max_size=300))
def test_pieces_far_from_an_edit_do_not_change(
    seed: int, at: int, length: int, inserted: str
) -> None:
    for text in (prose(seed, 400), prose(seed, 400, end="\n"), prose(seed, 400, end=" | ")):
        edited = text[:at] + inserted + text[at + length :]
        old, new = pieces(text), pieces(edited)
        same_before = same_after = 0
        while same_before < min(len(old), len(new)) and old[same_before] == new[same_before]:
            same_before += 1
        rest = min(len(old), len(new)) - same_before
        while same_after < rest and old[-1 - same_after] == new[-1 - same_after]:
            same_after += 1
        between = old[same_before : len(old) - same_after]
        assert sum(map(len, between)) <= length + 12_000


def test_a_paragraph_put_in_front_changes_the_beginning_only() -> None:
    text = prose(5, 2_000)
    lost, added = changed(pieces(text), pieces("A word before.\n\n" + text))
    assert lost <= 2 and added <= 3


# --- no text is slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a" * 3_000_000, "\n" * 1_000_000, "\r\n" * 500_000, " " * 1_000_000, "." * 1_000_000,
     "# a\n" * 250_000, "a\n---\n" * 150_000, '."' * 500_000, "=" * 1_000_000,
     "\n \t" * 350_000, "#" * 1_000_000, "word " * 200_000],
    ids=["word", "lines", "crlf", "blanks", "stops", "headings", "underlined", "quotes", "equals",
         "mixed", "hashes", "words"],
)  # fmt: skip
def test_degenerate_texts_take_time_in_proportion(text: str) -> None:
    """A pattern that tries again from every character would take hours: the timeout finds it."""
    cut = pieces(text)
    assert "".join(cut) == text
    assert max(map(len, cut)) <= PIECE_CHARS_MAX
