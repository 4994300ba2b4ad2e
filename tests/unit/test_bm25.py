"""BM25 against plain Python, bit for bit, and under every numbering of the entries."""

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from random import Random

import lmdb
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections import bm25
from rewound.projections.bm25 import Mask, Parameters
from rewound.projections.postings import Frequencies, Ordinals, Postings
from tests.scratch import IN_MEMORY

Ranking = dict[bytes, float]
Lists = list[tuple[Ordinals, Frequencies]]

WORDS = "abcdef"
TEXT = st.text(st.sampled_from(WORDS), max_size=12)


class Doc:
    """A text under an id; whether it counts for the statistics and whether it may be found."""

    def __init__(self, number: int, text: str, counts: bool, wanted: bool) -> None:
        self.id = number.to_bytes(16)
        self.text, self.counts, self.wanted = text, counts, wanted


DOCS = st.lists(st.tuples(TEXT, st.booleans(), st.booleans()), max_size=12).map(
    lambda rows: [Doc(i, *row) for i, row in enumerate(rows)]
)


def oracle(docs: Sequence[Doc], terms: str, parameters: Parameters = bm25.DEFAULT) -> Ranking:
    """The formula as it stands in the paper, one entry after the other."""
    counted = [doc for doc in docs if doc.counts]
    length = sum(len(doc.text) for doc in counted)
    average = length / len(counted) if length else 1.0
    k1, b = parameters.k1, parameters.b
    scores: Ranking = {}
    for doc in docs:
        score = 0.0
        for term in sorted(set(terms)):
            df = sum(term in other.text for other in counted)
            idf = math.log(1 + (len(counted) - df + 0.5) / (df + 0.5))
            tf = doc.text.count(term)
            if tf:
                norm = k1 * b / average * len(doc.text) + k1 * (1 - b)
                score += idf * (k1 + 1) * tf / (tf + norm)
        if score and doc.wanted:
            scores[doc.id] = score
    return scores


def arrays(docs: Sequence[Doc], terms: str) -> tuple[Lists, npt.NDArray[np.uint32], Mask, Mask]:
    """The entries as an index holds them, numbered in the order of `docs`."""
    lists: Lists = []
    for term in sorted(set(terms)):
        found = [(i, doc.text.count(term)) for i, doc in enumerate(docs) if term in doc.text]
        ordinals = np.array([i for i, _ in found], np.uint32)
        lists.append((ordinals, np.array([tf for _, tf in found], np.uint16)))
    length = np.array([len(doc.text) for doc in docs], np.uint32)
    counts = np.array([doc.counts for doc in docs], np.bool_)
    return lists, length, counts, np.array([doc.wanted for doc in docs], np.bool_)


def ranked(docs: Sequence[Doc], terms: str, parameters: Parameters = bm25.DEFAULT) -> Ranking:
    lists, length, counts, wanted = arrays(docs, terms)
    counted = bm25.statistics(length, counts)
    ordinals, scores = bm25.score(lists, length, counted, wanted, parameters)
    assert ordinals.dtype == np.uint32
    assert scores.dtype == np.float64
    assert ordinals.tolist() == sorted(ordinals.tolist())
    return dict(zip([docs[i].id for i in ordinals.tolist()], scores.tolist(), strict=True))


@given(DOCS, st.text(st.sampled_from(WORDS + "x"), min_size=1, max_size=5))
def test_nothing_scores_more_than_a_query_can_reach(docs: list[Doc], query: str) -> None:
    lists, length, counts, wanted = arrays(docs, "".join(sorted(set(query))))
    counted = bm25.statistics(length, counts)
    _, scores = bm25.score(lists, length, counted, wanted)
    reach = bm25.reach(lists, counted)
    assert reach > 0.0 and all(score <= reach for score in scores.tolist())


@given(DOCS, st.text(st.sampled_from(WORDS + "x"), max_size=5))
def test_scores_are_those_of_the_formula(docs: list[Doc], terms: str) -> None:
    assert ranked(docs, terms) == oracle(docs, terms)


@given(DOCS, st.floats(0, 3), st.floats(0, 1))
def test_so_they_are_with_other_constants(docs: list[Doc], k1: float, b: float) -> None:
    parameters = Parameters(k1, b)
    assert ranked(docs, "abc", parameters) == oracle(docs, "abc", parameters)


@given(DOCS, st.randoms(use_true_random=False), DOCS)
def test_numbering_and_masked_entries_change_no_bit(
    docs: list[Doc], random: Random, others: list[Doc]
) -> None:
    strangers = [Doc(1000 + i, doc.text, False, False) for i, doc in enumerate(others)]
    mixed = [*docs, *strangers]
    random.shuffle(mixed)
    assert ranked(mixed, "abcd") == ranked(docs, "abcd")


def test_the_same_at_a_size_where_vector_code_runs() -> None:
    rng = np.random.default_rng(7)
    letters = np.array(list(WORDS))
    docs = [
        Doc(i, "".join(rng.choice(letters, int(rng.integers(0, 30)))), bool(i % 5), bool(i % 3))
        for i in range(3000)
    ]
    expected = oracle(docs, "abf")
    assert ranked(docs, "abf") == expected
    assert ranked(docs[::-1], "abf") == expected
    known = [doc for doc in docs if doc.counts or doc.wanted]
    assert len(known) < len(docs)
    assert ranked(known, "abf") == expected


def test_an_empty_collection_and_one_without_words() -> None:
    assert ranked([], "ab") == {}
    assert ranked([Doc(1, "", True, True)], "ab") == {}
    alone = ranked([Doc(1, "ab", False, True)], "ab")
    assert list(alone) == [(1).to_bytes(16)]
    assert math.isfinite(alone[(1).to_bytes(16)])


def test_rare_words_and_short_texts_weigh_more() -> None:
    docs = [
        Doc(1, "ab", True, True),
        Doc(2, "acccc", True, True),
        Doc(3, "a", True, True),
        Doc(4, "aa", True, True),
    ]
    scores = ranked(docs, "ab")
    best = sorted(scores, key=lambda item: -scores[item])
    assert [int.from_bytes(item) for item in best] == [1, 4, 3, 2]


def test_a_search_adds_its_terms_up_in_a_fixed_order() -> None:
    rng = np.random.default_rng(3)
    letters = np.array(list(WORDS))
    docs = [Doc(i, "".join(rng.choice(letters, i % 40)), True, True) for i in range(500)]
    lists, length, counts, wanted = arrays(docs, WORDS)
    counted = bm25.statistics(length, counts)
    expected = bm25.score(lists, length, counted, wanted)
    other = bm25.score(lists[::-1], length, counted, wanted)
    assert other[1].tolist() != expected[1].tolist(), "the order shows in the last bits"
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder, lmdb.open(folder, max_dbs=1) as env:
        postings = Postings(env.open_db(b"postings"), block_postings=64)
        with env.begin(write=True) as txn:
            rows = ((i, Counter(doc.text)) for i, doc in enumerate(docs))
            postings.add(txn, b"c" * 16, 0, rows)
        with env.begin(buffers=True) as txn:
            for terms in (WORDS, WORDS[::-1], "cxafbdeaa"):
                found = bm25.search(postings, txn, b"c" * 16, 0, terms, length, counted, wanted)
                assert found[0].tolist() == expected[0].tolist()
                assert found[1].tolist() == expected[1].tolist()


@given(
    st.lists(st.tuples(st.sampled_from([0.5, 1.0, 1.5]), st.binary(min_size=16, max_size=16))),
    st.integers(0, 12),
    st.randoms(use_true_random=False),
)
def test_the_best_k_with_ties_by_id(
    rows: list[tuple[float, bytes]], k: int, random: Random
) -> None:
    best = {item: score for score, item in rows}
    expected = sorted(best, key=lambda item: (-best[item], item))[:k]
    # The ordinals of a result are some of the container's, in any order.
    ids = [*best, b"\xff" * 16]
    random.shuffle(ids)
    chosen = [i for i, item in enumerate(ids) if item in best]
    scores = np.array([best[ids[i]] for i in chosen], np.float64)
    column = np.frombuffer(b"".join(ids), "V16")
    ordinals, found = bm25.top_k(scores, np.array(chosen, np.uint32), column, k)
    assert [ids[i] for i in ordinals.tolist()] == expected
    assert found.tolist() == [best[item] for item in expected]


@pytest.mark.parametrize("k", [1, 7, 100, 999, 1000])
def test_many_ties_are_cut_by_id(k: int) -> None:
    rng = np.random.default_rng(k)
    # The first halves are equal for many, so the second ones decide.
    ids = [bytes([0] * 7 + [i % 3]) + rng.bytes(8) for i in range(1000)]
    column = np.frombuffer(b"".join(ids), "V16")
    ordinals, scores = bm25.top_k(np.ones(1000), np.arange(1000, dtype=np.uint32), column, k)
    assert [ids[i] for i in ordinals.tolist()] == sorted(ids)[:k]
    assert scores.tolist() == [1.0] * k
