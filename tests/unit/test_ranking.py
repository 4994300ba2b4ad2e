"""One score of words and meaning: its formula, the message before, the sieve, and masks."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.ids import ContainerId, Kind
from rewound.projections import ranking
from rewound.projections.bm25 import top_k
from rewound.projections.columns import FIRST, Columns, Entry, entries
from rewound.projections.selection import Mask, Selected
from rewound.projections.vectors import Query, VectorStore, quantise, query_of
from tests.scratch import IN_MEMORY

HOME = ContainerId(b"h" * 16)
FACT, MESSAGE, PASSAGE = int(Kind.FACT), int(Kind.MESSAGE), int(Kind.PASSAGE)

MEANS, MEANS_B, WORDS_B = ranking.MEANING, ranking.BEFORE_MEANING, ranking.BEFORE_WORDS

Floats = npt.NDArray[np.float64]
Units = npt.NDArray[np.float32]


def columns_of(rows: Sequence[Entry]) -> Columns:
    table = entries(rows)
    return Columns(n=len(rows), stamp=1, **{name: table[name].copy() for name in Entry._fields})


def entry(number: int, kind: int = FACT, *, item: int | None = None, **fields: Any) -> Entry:
    """Entry `number`; another version of an item has its `item` and its group."""
    raw = (number if item is None else item).to_bytes(16)
    return Entry(raw, opened=number, length=5, kind=kind, **{"group": number, **fields})


def everything(columns: Columns) -> Mask:
    return np.ones(columns.n, np.bool_)


def units(seed: int, count: int, dimensions: int = 64) -> Units:
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions))
    made: Units = (drawn / np.linalg.norm(drawn, axis=1)[:, None]).astype(np.float32)
    return made


def clustered(seed: int, count: int, dimensions: int = 384) -> Units:
    generator = np.random.default_rng(seed)
    centres = units(98, 80, dimensions)[generator.integers(0, 80, count)]
    near = centres + 0.06 * generator.normal(size=centres.shape)
    made: Units = (near / np.linalg.norm(near, axis=1)[:, None]).astype(np.float32)
    return made


class Scene:
    """Entries with vectors in an open transaction, to be scored under any filter."""

    def __init__(
        self, txn: lmdb.Transaction, store: VectorStore, rows: list[Entry], vectors: Units
    ) -> None:
        """Vectors of all entries but the last, which have none when `vectors` are fewer."""
        self.txn, self.store = txn, store
        store.append(txn, HOME, *quantise(vectors))
        held = [row._replace(vector=n + 1) for n, row in enumerate(rows[: len(vectors)])]
        self.columns = columns_of([*held, *rows[len(vectors) :]])

    def score(
        self,
        query: Query | None,
        words: Floats | None = None,
        *,
        allowed: Mask | None = None,
        counted: Mask | None = None,
    ) -> ranking.Scores:
        counts = everything(self.columns) if counted is None else counted
        may = counts if allowed is None else allowed & counts
        said = np.zeros(self.columns.n) if words is None else words
        selected = Selected(self.columns, counts, may, self.columns.kind == Kind.DOCUMENT)
        return ranking.score(self.txn, self.store, HOME, selected, said, 0.0, query)

    def best(self, scores: ranking.Scores, allowed: Mask, k: int = 10) -> list[int]:
        wanted = np.flatnonzero(allowed & scores.found).astype(np.uint32)
        found, _ = top_k(scores.total[wanted], wanted, self.columns.item, k)
        return [int(ordinal) for ordinal in found]


@contextmanager
def scene(rows: list[Entry], vectors: Units) -> Iterator[Scene]:
    with (
        tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder,
        lmdb.open(folder, max_dbs=2, map_size=1 << 28, sync=False, lib_version=0) as env,
    ):
        store = VectorStore(env.open_db(b"vectors"), env.open_db(b"codes"))
        with env.begin(write=True, buffers=True) as txn:
            yield Scene(txn, store, rows, vectors)


def talk(count: int) -> list[Entry]:
    """One conversation."""
    return [entry(n, MESSAGE, before=n - 1 if n else FIRST) for n in range(count)]


# --- what stands before


def test_an_answer_follows_its_question() -> None:
    columns = columns_of([*talk(3), entry(3), entry(4, PASSAGE)])
    assert ranking.previous(columns, everything(columns)).tolist() == [0, 0, 1, 3, 4]


def test_one_that_does_not_count_is_not_before_anything() -> None:
    columns = columns_of(talk(3))
    counted = np.array([True, False, True])
    assert ranking.previous(columns, counted).tolist() == [0, 1, 2]


def test_of_versions_the_visible_one_stands_before() -> None:
    rows = [entry(0, MESSAGE), entry(1, MESSAGE, before=0), entry(2, MESSAGE, item=0, group=0)]
    columns = columns_of(rows)
    assert ranking.previous(columns, np.array([True, True, False])).tolist() == [0, 0, 2]
    assert ranking.previous(columns, np.array([False, True, True])).tolist() == [0, 2, 2]


def test_a_fact_is_understood_by_what_stood_before_its_message() -> None:
    columns = columns_of([entry(0, MESSAGE), entry(1, MESSAGE, before=0), entry(2, before=0)])
    assert ranking.previous(columns, everything(columns)).tolist() == [0, 0, 0]
    assert ranking.previous(columns, np.array([False, True, True])).tolist() == [0, 1, 2]


def test_only_a_message_stands_before_anything() -> None:
    """Groups are ordinals of all kinds."""
    columns = columns_of([entry(0), entry(1, MESSAGE, before=0), entry(2, PASSAGE)])
    assert ranking.previous(columns, everything(columns)).tolist() == [0, 1, 2]


def test_no_entries_at_all() -> None:
    columns = columns_of([])
    assert ranking.previous(columns, everything(columns)).tolist() == []
    assert ranking.combine(np.zeros(0), None, np.zeros(0, np.int64)).tolist() == []


# --- the formula


def formula(words: list[float], meaning: list[float] | None, before: list[int]) -> list[float]:
    """As the module's docstring has it, one entry after the other."""
    best = max(words)
    share = [word / best if best > 0 else word for word in words]
    if meaning is None:
        return [(share[n] + WORDS_B * share[b]) / (1.0 + WORDS_B) for n, b in enumerate(before)]
    whole = 1.0 + WORDS_B + MEANS + MEANS_B
    return [
        (share[n] + MEANS * meaning[n] + WORDS_B * share[b] + MEANS_B * meaning[b]) / whole
        for n, b in enumerate(before)
    ]


ROWS = st.lists(
    st.tuples(st.floats(0, 50), st.floats(-1, 1), st.integers(0, 30)), min_size=1, max_size=12
)


@given(ROWS, st.booleans())
def test_the_score_is_the_formula(rows: list[tuple[float, float, int]], with_meaning: bool) -> None:
    words, meaning = [row[0] for row in rows], [row[1] for row in rows]
    before = [row[2] % len(rows) for row in rows]
    given_meaning = np.array(meaning) if with_meaning else None
    best = max(words)
    share = np.array(words) / best if best > 0 else np.array(words)
    found = ranking.combine(share, given_meaning, np.array(before, np.int64))
    wanted = formula(words, meaning if with_meaning else None, before)
    assert found == pytest.approx(wanted, abs=1e-12)


def test_the_arrays_given_are_left_alone() -> None:
    words, meaning, before = np.array([0.25, 1.0]), np.array([0.5, 0.25]), np.array([0, 0])
    ranking.combine(words, meaning, before)
    assert words.tolist() == [0.25, 1.0] and meaning.tolist() == [0.5, 0.25]


def test_best_by_all_that_is_asked_is_one() -> None:
    before = np.array([0, 1])
    words, meaning = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    assert ranking.combine(words, meaning, before) == pytest.approx([1.0, 0.0])
    assert ranking.combine(words, None, before) == pytest.approx([1.0, 0.0])


# --- scoring


def test_an_entry_without_a_vector_is_found_by_its_words() -> None:
    vectors = units(1, 3)
    with scene([entry(n) for n in range(4)], vectors) as made:
        words = np.array([0.0, 0.0, 0.0, 2.0])
        scores = made.score(query_of(vectors[1], "m"), words)
        assert scores.found.all() and scores.meaning[3] == 0.0
        assert scores.meaning[1] == pytest.approx(1.0, abs=0.01)
        alone = made.score(None, words)
        assert alone.found.tolist() == [False, False, False, True]
        assert not alone.meaning.any() and alone.total[3] == 1.0


def test_where_nothing_that_counts_has_a_vector_words_are_all() -> None:
    vectors = units(2, 2)
    with scene([entry(n) for n in range(4)], vectors) as made:
        counted = np.array([False, False, True, True])
        words = np.array([0.0, 0.0, 1.0, 2.0])
        asked = made.score(query_of(vectors[0], "m"), words, counted=counted)
        assert asked.total.tobytes() == made.score(None, words, counted=counted).total.tobytes()


def test_a_message_is_found_by_what_was_asked_before_it() -> None:
    vectors = units(3, 4)
    with scene(talk(4), vectors) as made:
        scores = made.score(query_of(vectors[1], "m"))
        others = scores.total[[0, 3]]
        assert scores.previous.tolist() == [0, 0, 1, 2]
        assert scores.total[2] > others.max() and scores.total[1] > scores.total[2]


@pytest.mark.parametrize("sieve_from", [0, 10**6], ids=["sieve", "exact"])
def test_equal_scores_go_by_id(sieve_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "SIEVE_FROM", sieve_from)
    vectors = np.repeat(units(4, 1), 9, axis=0)
    items = [7, 3, 8, 1, 6, 2, 9, 5, 4]
    rows = [entry(n, item=item) for n, item in enumerate(items)]
    with scene(rows, vectors) as made:
        scores = made.score(query_of(vectors[0], "m"))
        found = made.best(scores, everything(made.columns), 9)
        assert [items[ordinal] for ordinal in found] == sorted(items)


def test_the_sieve_breaks_ties_by_id_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal codes the lowest ids pass, however the entries are numbered."""
    monkeypatch.setattr(ranking, "SIEVE_FROM", 0)
    monkeypatch.setattr(ranking, "SIEVE_KEPT", 3)
    vectors = np.repeat(units(5, 1), 9, axis=0)
    items = [7, 3, 8, 1, 6, 2, 9, 5, 4]
    with scene([entry(n, item=item) for n, item in enumerate(items)], vectors) as made:
        scores = made.score(query_of(vectors[0], "m"))
        assert sorted(items[n] for n in np.flatnonzero(scores.meaning)) == [1, 2, 3]


# --- masks


MASKS = st.lists(st.booleans(), min_size=30, max_size=30)


def mixed(count: int) -> list[Entry]:
    """Facts and passages among two conversations."""
    rows: list[Entry] = []
    last = [FIRST, FIRST]
    for n in range(count):
        if n % 3 == 2:
            rows.append(entry(n, FACT if n % 2 else PASSAGE))
        else:
            rows.append(entry(n, MESSAGE, before=last[n % 3]))
            last[n % 3] = n
    return rows


@given(MASKS, st.integers(0, 5))
def test_a_filter_changes_no_bit_of_what_it_lets_through(mask: list[bool], seed: int) -> None:
    words = np.random.default_rng(seed).gamma(1.0, size=30) * (np.arange(30) % 2)
    with scene(mixed(30), units(6, 26)) as made:
        query = query_of(units(seed + 7, 1)[0], "m")
        whole, some = made.score(query, words), made.score(query, words, allowed=np.array(mask))
        let = np.flatnonzero(np.array(mask))
        assert some.total[let].tobytes() == whole.total[let].tobytes()
        assert some.found[let].tolist() == whole.found[let].tolist()


@pytest.mark.parametrize("kept", [1, 4, 12])
def test_the_sieve_gives_every_hit_its_whole_score(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter decides what is compared, never with what score it is found."""
    rows, vectors = mixed(60), units(8, 60)
    with scene(rows, vectors) as made:
        query = query_of(units(9, 1)[0], "m")
        exact = made.score(query)
        monkeypatch.setattr(ranking, "SIEVE_FROM", 0)
        monkeypatch.setattr(ranking, "SIEVE_KEPT", kept)
        for seed in range(20):
            allowed = np.random.default_rng(seed).random(60) < 0.5
            scores = made.score(query, allowed=allowed)
            hits = np.flatnonzero(scores.found & allowed)
            assert len(hits) >= min(kept, int(allowed.sum()))
            assert scores.total[hits].tobytes() == exact.total[hits].tobytes()


@given(MASKS, st.integers(0, 5))
def test_a_sieve_that_keeps_all_is_the_exact_scan(mask: list[bool], seed: int) -> None:
    words = np.random.default_rng(seed).gamma(1.0, size=30) * (np.arange(30) % 2)
    allowed = np.array(mask)
    with scene(mixed(30), units(10, 26)) as made, pytest.MonkeyPatch.context() as patch:
        query = query_of(units(seed + 11, 1)[0], "m")
        exact = made.score(query, words, allowed=allowed)
        patch.setattr(ranking, "SIEVE_FROM", 0)
        sieved = made.score(query, words, allowed=allowed)
        hits = allowed & exact.found
        assert sieved.found[hits].all()
        assert sieved.total[hits].tobytes() == exact.total[hits].tobytes()
        assert made.best(sieved, allowed) == made.best(exact, allowed)


def test_the_sieve_loses_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recall of ten where things lie in groups, among all of them and among a third."""
    count = 6_000
    with scene([entry(n) for n in range(count)], clustered(12, count)) as made:
        for share in (1.0, 0.33):
            allowed = np.random.default_rng(13).random(count) < share
            found = []
            for vector in clustered(14, 60):
                query = query_of(vector, "m")
                exact = made.best(made.score(query, allowed=allowed), allowed)
                monkeypatch.setattr(ranking, "SIEVE_FROM", 100)
                monkeypatch.setattr(ranking, "SIEVE_KEPT", 200)
                sieved = made.best(made.score(query, allowed=allowed), allowed)
                monkeypatch.undo()
                found.append(len(set(exact) & set(sieved)) / 10)
            print(share, np.mean(found))
            assert np.mean(found) >= 0.98
