"""The part of a long text that answers: never too long, never without what was asked for."""

from collections.abc import Mapping
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.memory import excerpting
from rewound.memory.excerpting import GAP, excerpt
from rewound.projections.tokens import query_terms

MARKS = len(f"{GAP}  {GAP}")

FILLER = "The weather was fine that day and nobody said much about anything at all. "
ANSWER = "Nina keeps the spare key under the blue pot. "


def weights(query: str) -> dict[str, float]:
    return dict.fromkeys(sorted(query_terms(query)), 1.0)


def bare(part: str) -> str:
    return part.removeprefix(f"{GAP} ").removesuffix(f" {GAP}")


# --- by hand


@pytest.mark.parametrize("before", [0, 1, 3, 40])
@pytest.mark.parametrize("after", [5, 40])
def test_the_sentence_that_answers_is_in_it(before: int, after: int) -> None:
    text = FILLER * before + ANSWER + FILLER * after
    part = excerpt(text, weights("where is the spare key"), 240)
    assert ANSWER.strip() in part
    assert part.startswith(GAP) == (before == 40) or before in (1, 3)
    assert part.endswith(GAP)


def test_a_text_that_fits_is_given_whole() -> None:
    text = "  One. \n\n Two.  "
    for chars in (len(text), len(text) + 1, 10_000):
        assert excerpt(text, weights("three"), chars) == text
    assert excerpt("", weights("three"), 240) == ""


@pytest.mark.parametrize("query", ["", "zebra"])
def test_one_that_holds_nothing_of_the_question_is_told_by_its_head(query: str) -> None:
    text = "".join(f"Sentence number {n} stands here. " for n in range(40))
    part = excerpt(text, weights(query), 240)
    assert part.startswith("Sentence number 0 stands here. Sentence number 1")
    assert part.endswith(GAP) and len(part) > 200, "the room is used"


def test_rare_words_count_for_more() -> None:
    text = "The red door is open. " + FILLER * 10 + "The vault is green. " + FILLER * 10
    common, rare = {"red": 1.0, "vault": 3.0}, {"red": 3.0, "vault": 1.0}
    assert "vault" in excerpt(text, common, 100) and "red" not in excerpt(text, common, 100)
    assert "red" in excerpt(text, rare, 100) and "vault" not in excerpt(text, rare, 100)


def test_every_term_counts_more_than_one_over_and_over() -> None:
    text = "Tea tea tea. Tea. Tea. Tea. " + FILLER * 10 + "Tea with milk. " + FILLER * 10
    assert "milk" in excerpt(text, {"tea": 1.0, "milk": 1.0}, 100)


def test_of_equal_ones_the_first() -> None:
    text = "Tea at one. " + FILLER * 10 + "Tea at two. " + FILLER * 10
    assert "Tea at one." in excerpt(text, {"tea": 1.0}, 120)


def test_what_belongs_together_stays_together() -> None:
    """Two sentences that hold half of it each, side by side."""
    text = "The key. " + FILLER * 5 + "A key is here. It is under the pot. " + FILLER * 5
    part = excerpt(text, weights("key pot"), 120)
    assert "A key is here. It is under the pot." in part


@pytest.mark.parametrize("ends", [". ", "! ", "? ", '." ', ".\n", "\n", "\n\n"])
def test_sentences_and_lines(ends: str) -> None:
    text = ends.join([*(f"Line {n} of the long text" for n in range(30)), "Nina", "and no more"])
    part = excerpt(text, weights("line 17"), 60)
    assert "Line 17 of the long text" in part
    assert bare(part).startswith("Line"), "it begins with a sentence"


@pytest.mark.parametrize("ends", ["。", "！", "？", "？！", "。」"])
def test_sentences_without_blanks_between_them(ends: str) -> None:
    filler = f"今日はとても天気が良かったので散歩に行きました{ends}"
    answer = f"鍵は青い鉢の下にあります{ends}"
    text = filler * 30 + answer + filler * 30
    part = excerpt(text, weights("鍵"), 100)
    assert answer in part and len(part) <= 100 + MARKS
    assert bare(part).startswith(("今日", "鍵"))


@pytest.mark.parametrize("at", [0, 450, 1_000, 2_900])
@pytest.mark.parametrize("chars", [240, 300, 400, 700])
def test_one_endless_sentence_is_cut_at_blanks(at: int, chars: int) -> None:
    words = ["word"] * 600
    words[at // 5] = "antenna"
    text = " ".join(words)
    part = excerpt(text, weights("antenna"), chars)
    assert "antenna" in part.split() and len(part) <= chars + MARKS
    assert set(part.split()) <= {"word", "antenna", GAP}, "no word is cut"


@pytest.mark.parametrize("chars", [1, 2, 50, 240, 401])
def test_one_endless_word(chars: int) -> None:
    part = excerpt("x" * 2_000, weights("x"), chars)
    assert bare(part) == "x" * len(bare(part)) and 0 < len(bare(part)) <= chars


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u3000"])
def test_blanks_at_the_head_are_not_the_part(blank: str) -> None:
    text = blank * 1_000 + FILLER * 10
    part = excerpt(text, weights("zebra"), 240)
    assert part.startswith("The weather was fine")


def test_nothing_but_blanks() -> None:
    assert excerpt(" \n" * 500, weights("tea"), 240) == ""


def test_emoji_stay_whole() -> None:
    text = "🐈 likes fish. " * 100 + "🐕 likes bones. " + "🐈 likes fish. " * 100
    part = excerpt(text, weights("🐕 bones"), 240)
    assert "🐕 likes bones." in part and len(part) <= 240 + MARKS


def test_a_question_of_small_words_finds_them() -> None:
    text = FILLER * 20 + "To be, or not to be. " + FILLER * 20
    assert "to be" in excerpt(text, weights("to be or not"), 240)


# --- whatever the text


PIECES = st.lists(
    st.sampled_from(
        ["tea", "key", "pot", "Nina", "word", "x" * 50, "鍵", "鉢の下", "🐈", ".", ". ", "! ", "。",
         "？", "\n", "\n\n", " ", "  ", '." ', "…", "e\u0301", "\ud800"]
    ),
    max_size=150,
)  # fmt: skip
QUERIES = st.sampled_from(["", "tea", "key pot", "Nina tea 鍵", "鉢 🐈", "zebra"])


@given(PIECES, QUERIES, st.integers(1, 300), st.booleans())
def test_a_part_is_a_stretch_of_the_text(
    pieces: list[str], query: str, chars: int, spaced: bool
) -> None:
    text = (" " if spaced else "").join(pieces)
    part = excerpt(text, weights(query), chars)
    if len(text) <= chars:
        assert part == text
        return
    shown = part
    marked = [False, False]
    if part.startswith(f"{GAP} ") and not text.lstrip().startswith(f"{GAP} "):
        shown, marked[0] = shown[2:], True
    if part.endswith(f" {GAP}") and not text.rstrip().endswith(f" {GAP}"):
        shown, marked[1] = shown[:-2], True
    assert shown in text and len(shown) <= chars
    assert shown == shown.strip()
    assert marked[0] or text.lstrip().startswith(shown) or GAP in text
    assert marked[1] or text.rstrip().endswith(shown) or GAP in text
    assert shown or not text.strip()


def best(sentences: list[str], told: Mapping[str, float], chars: int) -> float:
    """What the best stretch of sentences is worth, every stretch tried."""
    found = 0.0
    for first in range(len(sentences)):
        for last in range(first, len(sentences)):
            stretch = sentences[first : last + 1]
            if len("".join(stretch)) <= chars:
                found = max(found, worth("".join(stretch), told))
    return found


def worth(text: str, told: Mapping[str, float]) -> float:
    """Each term once, and a little for every further sentence that holds it."""
    total = 0.0
    for term, weight in told.items():
        times = sum(term in query_terms(sentence) for sentence in text.split(". "))
        total += weight * sum(0.3**time for time in range(times))
    return total


SENTENCES = st.lists(
    st.lists(st.sampled_from(["tea", "key", "pot", "word", "longer"]), min_size=1, max_size=6).map(
        lambda words: " ".join(words) + ". "
    ),
    min_size=1,
    max_size=25,
)


@given(SENTENCES, st.integers(45, 200))
def test_no_stretch_holds_more(sentences: list[str], chars: int) -> None:
    text = "".join(sentences)
    told = {"tea": 1.0, "key": 2.5, "pot": 0.4}
    part = bare(excerpt(text, told, chars))
    assert worth(part, told) >= best(sentences, told, chars) - 1e-9


# --- the work


def counted(text: str, chars: int = 400) -> dict[str, int]:
    """How often the costly steps are taken."""
    calls = {"terms": 0, "add": 0, "take": 0, "worth": 0}

    class Counting(excerpting._Stretch):
        def add(self, part: excerpting._Part) -> None:
            calls["add"] += 1
            super().add(part)

        def take(self, part: excerpting._Part) -> None:
            calls["take"] += 1
            super().take(part)

        def worth(self) -> float:
            calls["worth"] += 1
            return super().worth()

    def terms(texts: list[str]) -> list[list[str]]:
        calls["terms"] += len(texts)
        return [text.replace(".", " ").split() for text in texts]

    with (
        mock.patch.object(excerpting, "_Stretch", Counting),
        mock.patch.object(excerpting, "tokenize_many", terms),
    ):
        assert len(excerpt(text, {"a": 1.0, "b": 2.0}, chars)) <= chars + MARKS
    return calls


@pytest.mark.parametrize(
    ("line", "size"),
    [("a\n", 100_000), ("a b.\n", 100_000), ("鍵。", 100_000), ("word word a or b. ", 1_000_000)],
)
def test_the_work_grows_with_the_length(line: str, size: int) -> None:
    """Very many characters cost no more, for each sentence, than a few thousand do."""
    small, large = 2_000, size // len(line)
    steps = [counted(line * count) for count in (small, large)]
    for name in steps[0]:
        for count, calls in zip((small, large), steps, strict=True):
            assert calls[name] <= 2 * count + 400, name


def test_sentences_cover_the_text_in_its_order() -> None:
    text = "One. Two!\n\nThree? " + "four " * 200 + "鍵。鉢。" + " " * 500 + "end"
    found = excerpting._sentences(text, 100)
    assert all(0 < end - start <= 100 for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    left = [text[a:b] for a, b in pairwise([0, *(n for pair in found for n in pair), len(text)])]
    assert "".join(left) == text
    assert not "".join(left[::2]).strip(), "what lies between them is blank"
