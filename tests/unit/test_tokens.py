"""What a text is found by."""

import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections import tokens
from rewound.projections.tokens import is_stopword, query_terms, tokenize, tokenize_many

# Lone surrogates too: JSON can carry them.
ANY_TEXT = st.text(
    st.characters(exclude_categories=()) | st.sampled_from("aZ9-'._/+#,é書가ก \u0301")
)

# Text, then what it must be found by (cases R23 and R25, and what a person would try).
FOUND = [
    ("We built a multi-agent planner", ["multi-agent", "multi", "agent", "multiagent", "agents"]),
    ("I don't like it", ["don't", "dont", "don’t", "don"]),
    ("see src/main.py there", ["src/main.py", "main.py", "src", "main", "py"]),
    ("prefers C++ over C#", ["C++", "C#", "c"]),
    ("the ratio a:b holds", ["a:b", "b"]),
    (r"open C:\tmp\x now", [r"C:\tmp\x", "tmp", "x"]),
    ("uses v1.2.3 today", ["v1.2.3", "1.2.3", "V1"]),
    ("call +49 30 901820 or (555) 010-4477", ["+4930901820", "+49 (0)30 90 18 20", "5550104477"]),
    ("ISBN 978-3-16-148410-0", ["9783161484100"]),
    ("call foo_bar()", ["foo_bar", "foo", "bar", "foobar"]),
    ("mail kai@example.com.", ["kai@example.com", "kai", "example.com", "example"]),
    ("https://ex.org/a-b/c?q=1#top", ["ex.org", "https://ex.org/a-b/c?q=1#top", "a-b", "top"]),
    ("paid 1,200.50 on 2024-05-01", ["1,200.50", "1200.50", "2024-05-01", "2024"]),
    ("an e-mail from AT&T", ["email", "e-mail", "AT&T"]),
    ("Kai's dogs", ["Kai", "kai's", "KAI’S", "dog"]),
    ('He said "hi" (twice) * {a b}', ['"', "(", "*", "{a b}", "hi"]),
    ("José lives in Łódź", ["jose", "José", "JOSÉ", "Jose\u0301", "Lodz", "łódź"]),
    ("Straße in İzmir", ["strasse", "STRASSE", "izmir"]),
    ("ｆｕｌｌ ｗｉｄｔｈ １２", ["full", "width", "12"]),
    ("co\u00adoperate \u202ereversed\u202c", ["cooperate", "reversed"]),
    ("a\u2028b\x00c", ["a", "b", "c"]),
    ("明日は陶芸教室に行く予定です", ["陶芸", "陶芸教室", "陶"]),
    ("她最近在学打羽毛球和书法", ["羽毛球", "书法", "Kai 书法", "书"]),
    ("주말마다 등산모임에 나간다", ["등산", "모임", "산"]),
    ("ผมแพ้กุ้งมาก", ["กุ้ง", "แพ้"]),
    ("ຂ້ອຍມັກກາເຟ", ["ກາເຟ"]),
    ("ខ្ញុំចូលចិត្តកាហ្វេ", ["កាហ្វេ"]),
    ("ကျွန်တော်ကော်ဖီကြိုက်တယ်", ["ကော်ဖီ"]),
    ("コーヒーが好き、ｶﾌｪ", ["コーヒー", "カフェ"]),
    ("5G网络3月", ["5g", "网络", "3月"]),
    ("Москва-2 и ёлка", ["москва", "МОСКВА-2", "ёлка"]),
    ("هو يُحِبّ القهوة", ["القهوة"]),
    ("मुझे चाय पसंद है", ["चाय"]),
    ("𠮷野家 🍕 → €5", ["𠮷", "🍕", "→", "€5"]),
]


@pytest.mark.parametrize(("text", "queries"), FOUND)
def test_a_text_is_found_by_what_it_says(text: str, queries: list[str]) -> None:
    terms = set(tokenize(text))
    for query in queries:
        assert terms & set(query_terms(query)), query


WHOLE = [
    *("multi-agent", "don't", "src/main.py", "C++", "C#", "a:b", "NEAR(", "AND", "-foo", "col:x"),
    *("{a b}", r"C:\tmp\x", "v1.2.3", "foo_bar", "kai@example.com", "std::vector", "1,200.50"),
    *('"', "(", "*", "https://ex.org/a-b/c?q=1#top", "AT&T", "陶芸", "羽毛球", "등산", "กุ้ง", "🍕"),
]


@pytest.mark.parametrize("token", WHOLE)
def test_a_text_that_holds_a_token_holds_all_its_terms(token: str) -> None:
    asked = set(query_terms(token))
    assert asked
    for text in (token, f"say {token} now", f"「{token}」、", f"É {token.upper()}, {token}!"):
        assert asked <= set(tokenize(text)), text


@pytest.mark.parametrize("query", ["", "  ", "'", "-", ".", "…", "\u200b", "\ud800", "\ufffd"])
def test_a_text_without_a_term_has_none(query: str) -> None:
    assert tokenize(query) == query_terms(query) == []


def test_signs_tell_languages_apart() -> None:
    assert tokenize("C++") == ["c", "c++"]
    assert tokenize("C#") == ["c", "c#"]
    assert tokenize("C") == ["c"]
    assert "c++" in tokenize("C++17")


def test_order_and_repetition_are_kept() -> None:
    assert tokenize("Dogs chase dogs, cats chase (no) (dogs)") == [
        *("dog", "chase", "dog", "cat", "chase", "no", "dog"),
        *("(", ")"),
    ]


def test_numbers_stay_exact() -> None:
    assert tokenize("3-2") == ["3", "2", "3-2"]
    assert tokenize("0042 1e9s 3.50") == ["0042", "1e9s", "3", "50", "3.50"]
    assert "1200" in tokenize("1,200")
    assert "12" not in tokenize("1,2") + tokenize("1.2") + tokenize("1-2")


def test_dashes_and_dots_part_words() -> None:
    assert tokenize("foo--bar end...start a—b") == ["foo", "bar", "end", "start", "a", "b"]


def test_long_words_that_begin_alike_stay_apart() -> None:
    one, two = tokenize("a" * 599 + "b"), tokenize("a" * 599 + "c")
    assert one != two
    assert [len(term) for term in one + two] == [24, 24]
    assert tokenize("x" * 64) == ["x" * 64]
    assert len(tokenize("x" * 65)[0]) == 24
    assert len(tokenize("ж" * 32)[0]) == 32
    assert len(tokenize("ж" * 33)[0]) == 24
    long_path = "/".join(["folder"] * 30)
    assert tokenize(long_path)[-1].startswith("~")


@given(ANY_TEXT)
def test_any_text_gives_terms_that_an_index_can_hold(text: str) -> None:
    for term in tokenize(text) + query_terms(text):
        assert 1 <= len(term.encode("utf-8")) <= tokens.TERM_BYTES_MAX
        assert "\x00" not in term


@given(ANY_TEXT)
def test_the_cache_changes_nothing(text: str) -> None:
    tokens.clear_cache()
    cold = tokenize(text)
    assert tokenize(text) == cold == tokenize_many([text, text])[1]


@given(ANY_TEXT, ANY_TEXT)
def test_lines_add_up(one: str, two: str) -> None:
    both = Counter(tokenize(f"{one}\n{two}"))
    assert Counter(tokenize(one)) <= both
    assert set(both) == {*tokenize(one), *tokenize(two)}


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_reads_the_same_beside_other_scripts(text: str) -> None:
    alone = tokenize(text)
    assert Counter(tokenize(f"{text}\n書")) == Counter([*alone, "書"])


@given(ANY_TEXT)
def test_a_query_asks_for_nothing_that_the_text_would_not_give(text: str) -> None:
    asked = query_terms(text)
    assert len(set(asked)) == len(asked)
    assert set(asked) <= set(tokenize(text))
    assert bool(asked) == bool(tokenize(text))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "a-" * 200_000,
        "a" + "-" * 1_000_000,
        "1" + ",000" * 200_000,
        "a" + "\u0316\u0301" * 1_000_000,  # sorting the marks of one letter is quadratic
        "カ" + "\uff9e\u0334" * 1_000_000,
        "\u1100" * 200_000,
        "\ufdfa" * 20_000,
        "\ud800" * 1_000_000,
    ],
    ids=["word", "joined", "hyphens", "number", "marks", "voiced", "jamo", "ligature", "surrogate"],
)
def test_a_huge_text_takes_no_more_than_its_share(text: str) -> None:
    assert all(len(term) <= tokens.TERM_BYTES_MAX for term in tokenize(text))


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "CACHED_TOKENS_MAX", 10)
    tokens.clear_cache()
    words = [f"w{i}" for i in range(100)]
    assert tokenize(" ".join(words)) == words
    assert len(tokens._terms) <= 10
    tokens.clear_cache()
    assert not tokens._terms


def test_threads_get_the_same_terms() -> None:
    texts = [f"running{i} quickly{i % 7} houses don't {i}" for i in range(2000)]
    tokens.clear_cache()
    expected = tokenize_many(texts)
    tokens.clear_cache()
    results: list[list[list[str]]] = []
    threads = [
        threading.Thread(target=lambda: results.append(tokenize_many(texts))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_a_query_drops_what_says_little() -> None:
    assert query_terms("What is the name of my dog?") == ["name", "dog"]
    assert query_terms("doing (it)") == ["do", "it", "(", ")"]
    assert query_terms("AND") == ["and"]
    assert query_terms("书法 (") == ["书法"]
    assert query_terms("书") == ["书"]


def test_names_are_no_stop_words() -> None:
    for name in ("Will", "May", "Don", "Mark", "US", "Art"):
        assert not is_stopword(tokenize(name)[0]), name
    for word in ("the", "being", "don't", "isn't", "was"):
        assert is_stopword(tokenize(word)[-1]), word


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("v1.2.3", {"v1.2.3", "1.2.3"}),
        ("+49 (0)30 / 90-18-20", {"4930901820"}),
        ("1234567", set()),
        ("12 345", set()),
        ("1.2.3", set()),
    ],
)
def test_groups_of_digits_are_one_number_too(text: str, whole: set[str]) -> None:
    """From seven digits on; and a version is itself without its `v`."""
    long = {term for term in tokenize(text) if term.isdigit() and len(term) > 6}
    assert long == {term for term in whole if term.isdigit()} | ({"1234567"} & {text})
    assert whole <= set(tokenize(text))
