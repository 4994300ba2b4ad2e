"""The inverted index against a dict."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import lmdb
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rewound.projections.postings import Postings
from tests.scratch import IN_MEMORY

ONE, TWO = b"1" * 16, b"2" * 16
Place = tuple[bytes, int]

TERMS = st.sampled_from(["a", "ab", "b", "a\x01", "é", "書", "z" * 64, "~"])
PLACES = st.tuples(st.sampled_from([ONE, TWO]), st.sampled_from([0, 1, 255]))
COUNTS = st.integers(1, 70_000)


@contextmanager
def opened(block_postings: int) -> Iterator[tuple[lmdb.Environment, Postings]]:
    with (
        tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder,
        lmdb.open(folder, max_dbs=1, map_size=1 << 28, sync=False, lib_version=0) as env,
    ):
        yield env, Postings(env.open_db(b"postings"), block_postings=block_postings)


def stored(env: lmdb.Environment) -> dict[Place, dict[str, dict[int, int]]]:
    """Everything in the file, read without the code under test; checks the form of each block."""
    found: dict[Place, dict[str, dict[int, int]]] = {}
    with env.begin(db=env.open_db(b"postings")) as txn:
        for key, value in txn.cursor():
            raw, size = bytes(value), len(value) // 6
            assert size * 6 == len(raw) > 0
            ordinals = [int.from_bytes(raw[4 * i : 4 * i + 4], "little") for i in range(size)]
            tail = raw[4 * size :]
            counts = [int.from_bytes(tail[2 * i : 2 * i + 2], "little") for i in range(size)]
            assert ordinals[0] == int.from_bytes(key[-4:], "big")
            assert key[-5] == 0
            lists = found.setdefault((bytes(key[:16]), key[16]), {})
            known = lists.setdefault(bytes(key[17:-5]).decode(), {})
            assert ordinals == sorted(set(ordinals))
            assert not known or max(known) < ordinals[0]
            known.update(zip(ordinals, counts, strict=True))
    return found


class PostingsMachine(RuleBasedStateMachine):
    """Any sequence of writes leaves what the same writes to a dict would leave."""

    @initialize(size=st.integers(1, 4))
    def open(self, size: int) -> None:
        self.context = opened(size)
        self.env, self.postings = self.context.__enter__()
        self.size = size
        self.model: dict[Place, dict[str, dict[int, int]]] = {}
        self.next = 0

    def teardown(self) -> None:
        if hasattr(self, "context"):
            self.context.__exit__(None, None, None)

    def lists(self, place: Place) -> dict[str, dict[int, int]]:
        return self.model.setdefault(place, {})

    @rule(
        place=PLACES,
        rows=st.lists(
            st.tuples(st.integers(1, 3), st.dictionaries(TERMS, COUNTS, max_size=4)), max_size=12
        ),
    )
    def add(self, place: Place, rows: list[tuple[int, dict[str, int]]]) -> None:
        numbered = []
        for step, terms in rows:
            self.next += step
            numbered.append((self.next, terms))
            for term, count in terms.items():
                self.lists(place).setdefault(term, {})[self.next] = min(count, 65_535)
        with self.env.begin(write=True) as txn:
            self.postings.add(txn, *place, numbered)

    @rule(place=PLACES, at=st.integers(0, 40), terms=st.dictionaries(TERMS, COUNTS, max_size=4))
    def insert(self, place: Place, at: int, terms: dict[str, int]) -> None:
        at = min(at, self.next)
        with self.env.begin(write=True, buffers=True) as txn:
            self.postings.insert(txn, *place, at, terms)
        for term, count in terms.items():
            self.lists(place).setdefault(term, {})[at] = min(count, 65_535)

    @precondition(lambda self: self.next)
    @rule(place=PLACES, at=st.integers(0, 40), terms=st.lists(TERMS))
    def remove(self, place: Place, at: int, terms: list[str]) -> None:
        with self.env.begin(write=True, buffers=True) as txn:
            removed = self.postings.remove(txn, *place, at, terms)
        lists = self.lists(place)
        gone = [term for term in set(terms) if lists.get(term, {}).pop(at, None) is not None]
        assert removed == len(gone)

    @precondition(lambda self: self.next)
    @rule(
        container=st.sampled_from([ONE, TWO]),
        ordinals=st.sets(st.integers(-1, 40) | st.just(2**32 - 1)),
        buffers=st.booleans(),
    )
    def drop(self, container: bytes, ordinals: set[int], buffers: bool) -> None:
        with self.env.begin(None, None, True, buffers) as txn:  # type: ignore[call-overload]
            removed = self.postings.drop(txn, container, ordinals)
        for (owner, _), lists in self.model.items():
            for known in lists.values():
                for ordinal in ordinals & known.keys() if owner == container else ():
                    del known[ordinal]
                    removed -= 1
        assert removed == 0

    @rule(place=PLACES, low=TERMS, high=TERMS)
    def between(self, place: Place, low: str, high: str) -> None:
        with self.env.begin(buffers=True) as txn:
            found = self.postings.between(txn, *place, low, high)
            together = self.postings.holding(txn, *place, [low, high, low])
            one_by_one, counts = self.postings.each(txn, *place, [low, high, low])
        lists = self.model.get(place, {})
        wanted = [ordinal for term in {low, high} for ordinal in lists.get(term, ())]
        assert sorted(together.tolist()) == sorted(wanted)
        of_each = [sorted(lists.get(term, ())) for term in (low, high, low)]
        assert one_by_one.tolist() == [ordinal for held in of_each for ordinal in held]
        assert counts == list(map(len, of_each))
        held = [lists[term] for term in lists if low.encode() <= term.encode() < high.encode()]
        assert sorted(found.tolist()) == sorted(ordinal for held_ in held for ordinal in held_)

    @invariant()
    def equal(self) -> None:
        if not hasattr(self, "model"):
            return
        full = {p: {t: k for t, k in lists.items() if k} for p, lists in self.model.items()}
        assert stored(self.env) == {place: lists for place, lists in full.items() if lists}
        with self.env.begin(buffers=True) as txn:
            for place, lists in full.items():
                terms = list(self.postings.terms(txn, *place))
                assert terms == sorted(lists, key=str.encode)
                for term in [*lists, "never"]:
                    ordinals, counts = self.postings.read(txn, *place, term)
                    assert ordinals.dtype == np.uint32
                    assert counts.dtype == np.uint16
                    got = dict(zip(ordinals.tolist(), counts.tolist(), strict=True))
                    assert got == lists.get(term, {})
                    assert ordinals.tolist() == sorted(got)


PostingsMachine.TestCase.settings = settings(stateful_step_count=20)
TestPostings = PostingsMachine.TestCase


def blocks(env: lmdb.Environment) -> list[int]:
    with env.begin(db=env.open_db(b"postings")) as txn:
        return [len(value) // 6 for _, value in txn.cursor()]


def test_blocks_fill_up_before_new_ones_begin() -> None:
    with opened(1024) as (env, postings):
        for start, end in ((0, 1000), (1000, 1030), (1030, 5000)):
            with env.begin(write=True) as txn:
                postings.add(txn, ONE, 0, ((i, {"a": 1}) for i in range(start, end)))
        assert blocks(env) == [1024, 1024, 1024, 1024, 904]
        with env.begin(write=True) as txn:
            postings.remove(txn, ONE, 0, 1500, ["a"])
            postings.insert(txn, ONE, 0, 1500, {"a": 2})
            postings.insert(txn, ONE, 0, 1500, {"a": 3})
        assert blocks(env) == [1024, 1024, 1024, 1024, 904]
        with env.begin() as txn:
            ordinals, counts = postings.read(txn, ONE, 0, "a")
            assert ordinals.tolist() == list(range(5000))
            assert counts[1500] == 3


def test_a_full_block_is_split_in_the_middle() -> None:
    with opened(4) as (env, postings), env.begin(write=True) as txn:
        postings.add(txn, ONE, 0, ((i, {"a": 1}) for i in (2, 4, 6, 8, 10)))
        postings.insert(txn, ONE, 0, 5, {"a": 9})
        postings.insert(txn, ONE, 0, 1, {"a": 7})
        assert [len(v) // 6 for _, v in txn.cursor(env.open_db(b"postings", txn))] == [3, 3, 1]
        assert postings.read(txn, ONE, 0, "a")[0].tolist() == [1, 2, 4, 5, 6, 8, 10]


def test_a_drop_of_more_blocks_than_it_holds_at_once() -> None:
    with opened(2) as (env, postings):
        with env.begin(write=True) as txn:
            postings.add(txn, ONE, 0, ((i, {"a": 1, "b": 1}) for i in range(5000)))
        with env.begin(write=True, buffers=True) as txn:
            assert postings.drop(txn, ONE, set(range(0, 5000, 2))) == 5000
            assert postings.read(txn, ONE, 0, "b")[0].tolist() == list(range(1, 5000, 2))
            assert postings.drop(txn, ONE, set(range(5000))) == 5000
            assert list(postings.terms(txn, ONE, 0)) == []


def test_a_short_list_is_read_where_it_lies() -> None:
    with opened(8) as (env, postings):
        with env.begin(write=True) as txn:
            postings.add(txn, ONE, 0, [(1, {"a": 1})])
        with env.begin(buffers=True) as txn:
            ordinals, counts = postings.read(txn, ONE, 0, "a")
            assert not ordinals.flags.owndata
            assert not counts.flags.owndata
            del ordinals, counts


@pytest.mark.parametrize("term", ["", "a\x00b", "x" * 65, "ж" * 33, "\ud800"])
def test_a_term_that_no_key_can_hold_is_refused(term: str) -> None:
    with opened(8) as (env, postings), env.begin(write=True) as txn:
        with pytest.raises(ValueError):
            postings.add(txn, ONE, 0, [(1, {term: 1})])
        with pytest.raises(ValueError):
            postings.read(txn, ONE, 0, term)


@pytest.mark.parametrize(
    "rows", [[(3, 1)], [(5, 1), (5, 1)], [(6, 1), (5, 1)], [(-1, 1)], [(2**32 - 1, 1)], [(7, 0)]]
)
def test_an_append_out_of_order_is_refused(rows: list[tuple[int, int]]) -> None:
    with opened(8) as (env, postings), env.begin(write=True) as txn:
        postings.add(txn, ONE, 0, [(3, {"a": 1})])
        with pytest.raises(ValueError):
            postings.add(txn, ONE, 0, [(ordinal, {"a": count}) for ordinal, count in rows])


def test_wrong_places_are_refused() -> None:
    with opened(8) as (env, postings), env.begin(write=True) as txn:
        for container, field in ((b"short", 0), (ONE, 256), (ONE, -1)):
            with pytest.raises(ValueError):
                postings.add(txn, container, field, [(1, {"a": 1})])
        with pytest.raises(ValueError):
            postings.insert(txn, ONE, 0, 2**32 - 1, {"a": 1})
