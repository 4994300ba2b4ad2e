"""Vectors on disk: integers that numpy confirms, whatever the blocks, the slots and the order."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rewound.projections.vectors import (
    BLOCK_SLOTS,
    CODE_BLOCK_SLOTS,
    LARGE_BLOCKS,
    SMALL_BLOCK_SLOTS,
    Numbers,
    Query,
    Scales,
    VectorStore,
    quantise,
    query_of,
)
from tests.scratch import IN_MEMORY

ONE, TWO = b"1" * 16, b"2" * 16
SLOTS_MANY = CODE_BLOCK_SLOTS + BLOCK_SLOTS + 5

Floats = npt.NDArray[np.float32]


@contextmanager
def opened(large_blocks: int = 1) -> Iterator[tuple[lmdb.Transaction, VectorStore]]:
    """A store in one write transaction, which reads what it wrote. Its first blocks are large."""
    with (
        tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder,
        lmdb.open(folder, max_dbs=2, map_size=1 << 28, sync=False, lib_version=0) as env,
    ):
        vectors, codes = env.open_db(b"vectors"), env.open_db(b"codes")
        store = VectorStore(vectors, codes, large_blocks=large_blocks)
        with env.begin(write=True, buffers=True) as txn:
            yield txn, store


def units(seed: int, count: int, dimensions: int) -> Floats:
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions))
    made: Floats = (drawn / np.linalg.norm(drawn, axis=1)[:, None]).astype(np.float32)
    return made


def cosines(numbers: Numbers, scales: Scales, query: Query) -> npt.NDArray[np.float64]:
    """Integer dots by numpy, times the two scales."""
    dots = numbers.astype(np.int64) @ query.numbers.astype(np.int64)
    told: npt.NDArray[np.float64] = dots * (scales.astype(np.float64) * query.scale)
    return told


def differing(numbers: Numbers, query: Query) -> npt.NDArray[np.int64]:
    """Bits by numpy: one for every number above 0."""
    told: npt.NDArray[np.int64] = ((numbers > 0) != (query.numbers > 0)).sum(axis=1)
    return told


def check(
    txn: lmdb.Transaction,
    store: VectorStore,
    container: bytes,
    numbers: Numbers,
    scales: Scales,
    query: Query,
) -> None:
    """All that can be read of a container is what numpy makes of these rows."""
    assert store.head(txn, container)[0] == len(numbers)
    dots = store.dots(txn, container, query)
    assert dots.tobytes() == cosines(numbers, scales, query).tobytes()
    assert store.distances(txn, container, query).tolist() == differing(numbers, query).tolist()
    for slot in range(0, len(numbers), max(1, len(numbers) // 7)):
        held, scale = store.vector(txn, container, slot)
        assert held.tolist() == numbers[slot].tolist() and scale == scales[slot]
    some = np.random.default_rng(len(numbers)).integers(0, max(1, len(numbers)), 40)
    slots = some[: 40 if len(numbers) else 0].astype(np.int64)
    assert store.some_dots(txn, container, query, slots).tobytes() == dots[slots].tobytes()


# --- quantising


@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 40)),
        elements=st.floats(-1, 1, width=32),
    )
)
def test_a_number_is_wrong_by_half_a_step_at_most(vectors: Floats) -> None:
    numbers, scales = quantise(vectors)
    assert numbers.dtype == np.int8 and scales.dtype == np.float32
    assert np.abs(numbers.astype(int)).max() <= 127
    wrong = np.abs(numbers * scales[:, None].astype(np.float64) - vectors)
    assert (wrong <= scales[:, None] * 0.5001 + 1e-9).all()
    largest = np.abs(vectors).max(axis=1)
    assert (np.abs(numbers.astype(int)).max(axis=1)[largest > 1e-6] == 127).all()


def test_a_cosine_of_random_units_is_wrong_by_little() -> None:
    vectors = units(1, 300, 384)
    numbers, scales = quantise(vectors)
    query = query_of(units(2, 1, 384)[0], "m")
    exact = vectors @ units(2, 1, 384)[0]
    assert np.abs(cosines(numbers, scales, query) - exact).max() < 0.004


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_query_is_quantised_as_rows_are(scale: float) -> None:
    vector = units(3, 1, 64)[0] * np.float32(scale)
    query = query_of(vector, "some model")
    numbers, scales = quantise(vector[None, :])
    assert query.numbers.tolist() == numbers[0].tolist()
    assert query.scale == scales[0] and query.model == "some model"


# --- the store against numpy


@pytest.mark.parametrize("dimensions", [1, 8, 12, 100, 128, 256, 300, 384, 512])
def test_any_number_of_dimensions_is_kept(dimensions: int) -> None:
    numbers, scales = quantise(units(4, 20, dimensions))
    query = query_of(units(5, 1, dimensions)[0], "m")
    with opened() as (txn, store):
        assert store.append(txn, ONE, numbers[:7], scales[:7]) == 0
        assert store.append(txn, ONE, numbers[7:], scales[7:]) == 7
        assert store.head(txn, ONE) == (20, dimensions)
        check(txn, store, ONE, numbers, scales, query)
        store.clear(txn, ONE, [3, 19])
        numbers[[3, 19]], scales[[3, 19]] = 0, 0
        check(txn, store, ONE, numbers, scales, query)


@pytest.mark.parametrize(
    "parts",
    [
        (BLOCK_SLOTS,),
        (BLOCK_SLOTS - 1, 1, 1),
        (BLOCK_SLOTS, 1),
        (1, BLOCK_SLOTS),
        (3 * BLOCK_SLOTS + 2, BLOCK_SLOTS - 2, 7),
        (CODE_BLOCK_SLOTS - 1, 2),
        (CODE_BLOCK_SLOTS, BLOCK_SLOTS, 5),
    ],
    ids=str,
)
@pytest.mark.parametrize("large_blocks", [1, 2, LARGE_BLOCKS])
def test_no_border_between_blocks_is_seen(parts: tuple[int, ...], large_blocks: int) -> None:
    total = sum(parts)
    numbers, scales = quantise(units(6, total, 16))
    query = query_of(units(7, 1, 16)[0], "m")
    with opened(large_blocks) as (txn, store):
        done = 0
        for part in parts:
            there = slice(done, done + part)
            assert store.append(txn, ONE, numbers[there], scales[there]) == done
            done += part
        check(txn, store, ONE, numbers, scales, query)
        small = large_blocks * BLOCK_SLOTS + SMALL_BLOCK_SLOTS
        edges = [BLOCK_SLOTS, small, CODE_BLOCK_SLOTS, total]
        slots = sorted({e + d for e in edges for d in (-2, -1, 0) if 0 <= e + d < total})
        store.clear(txn, ONE, slots)
        numbers[slots], scales[slots] = 0, 0
        check(txn, store, ONE, numbers, scales, query)
        assert not store.dots(txn, ONE, query)[slots].any()


def test_some_dots_keep_the_order_and_the_repeats_asked_for() -> None:
    numbers, scales = quantise(units(8, SLOTS_MANY, 24))
    query = query_of(units(9, 1, 24)[0], "m")
    with opened() as (txn, store):
        store.append(txn, ONE, numbers, scales)
        dots = store.dots(txn, ONE, query)
        for slots in (
            np.array([SLOTS_MANY - 1, 0, 300, 255, 256, 0], np.int64),
            np.arange(SLOTS_MANY, dtype=np.int64)[::-1],
            np.zeros(0, np.int64),
        ):
            assert store.some_dots(txn, ONE, query, slots).tobytes() == dots[slots].tobytes()


def test_dots_end_where_they_are_told_to() -> None:
    numbers, scales = quantise(units(8, SLOTS_MANY, 24))
    query = query_of(units(9, 1, 24)[0], "m")
    with opened() as (txn, store):
        store.append(txn, ONE, numbers, scales)
        dots = store.dots(txn, ONE, query)
        for until in (0, 1, BLOCK_SLOTS, BLOCK_SLOTS + 1, SLOTS_MANY, SLOTS_MANY + 1):
            found = store.dots(txn, ONE, query, until)
            assert found[:until].tobytes() == dots[:until].tobytes()
            assert not found[until + BLOCK_SLOTS :].any()


def test_a_cleared_slot_is_not_given_again() -> None:
    numbers, scales = quantise(units(10, 12, 16))
    query = query_of(units(11, 1, 16)[0], "m")
    with opened() as (txn, store):
        store.append(txn, ONE, numbers[:6], scales[:6])
        store.clear(txn, ONE, range(6))
        assert store.append(txn, ONE, numbers[6:], scales[6:]) == 6
        numbers[:6], scales[:6] = 0, 0
        check(txn, store, ONE, numbers, scales, query)
        store.clear(txn, ONE, [])
        check(txn, store, ONE, numbers, scales, query)


def test_what_was_cleared_is_in_no_row() -> None:
    numbers, scales = quantise(units(12, 3, 16))
    with opened() as (txn, store):
        store.append(txn, ONE, numbers, scales)
        store.clear(txn, ONE, [1])
        for db in (store._vectors, store._codes):
            with txn.cursor(db) as cursor:
                rows = b"".join(bytes(value) for _, value in cursor)
            assert numbers[1].tobytes() not in rows
        codes = np.packbits(numbers > 0, axis=1)
        assert codes[1].tobytes() not in rows and codes[2].tobytes() in rows


def test_two_containers_never_mix() -> None:
    """Keys of one lie between those of others: `1...` sorts below `2...`, whatever follows."""
    query = query_of(units(13, 1, 16)[0], "m")
    containers = [ONE, TWO, b"\x00" * 16, b"\xff" * 16, ONE[:15] + b"2"]
    made = {each: quantise(units(n + 14, 3 + 300 * n, 16)) for n, each in enumerate(containers)}
    with opened() as (txn, store):
        for start in (0, 2):  # in turns
            for container, (numbers, scales) in made.items():
                end = 2 if start == 0 else None
                store.append(txn, container, numbers[start:end], scales[start:end])
        for container, (numbers, scales) in made.items():
            check(txn, store, container, numbers, scales, query)
        store.clear(txn, ONE, [0, 1, 2])
        assert not store.dots(txn, ONE, query).any()
        for container in containers[1:]:
            check(txn, store, container, *made[container], query)


def test_an_empty_container_has_nothing_to_compare() -> None:
    query = query_of(units(20, 1, 16)[0], "m")
    none = np.zeros(0, np.int64)
    with opened() as (txn, store):
        store.append(txn, TWO, *quantise(units(21, 2, 16)))
        assert store.head(txn, ONE) == (0, 0)
        assert store.dots(txn, ONE, query).shape == (0,)
        assert store.distances(txn, ONE, query).shape == (0,)
        assert store.some_dots(txn, ONE, query, none).shape == (0,)


def test_mistakes_of_a_caller_are_named() -> None:
    with opened() as (txn, store):
        store.append(txn, ONE, *quantise(units(22, 3, 16)))
        wrong = query_of(units(23, 1, 24)[0], "m")
        for ask in (
            lambda: store.append(txn, ONE, *quantise(units(24, 1, 24))),
            lambda: store.dots(txn, ONE, wrong),
            lambda: store.distances(txn, ONE, wrong),
            lambda: store.some_dots(txn, ONE, wrong, np.array([0], np.int64)),
        ):
            with pytest.raises(ValueError, match="have 16 numbers, not 24"):
                ask()
        for slot in (-1, 3):
            with pytest.raises(ValueError, match=r"outside 0 \.\. 2"):
                store.clear(txn, ONE, [slot])
        with pytest.raises(ValueError, match=r"outside 0 \.\. -1"):
            store.clear(txn, TWO, [0])


STEPS = st.lists(
    st.tuples(
        st.sampled_from([ONE, TWO]),
        st.one_of(
            st.integers(1, 300).map(lambda n: ("append", n)),
            st.integers(0, 999).map(lambda n: ("clear", n)),
        ),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(STEPS)
def test_any_order_of_appends_and_clears(steps: list[tuple[bytes, tuple[str, int]]]) -> None:
    model: dict[bytes, tuple[Numbers, Scales]] = {
        each: (np.zeros((0, 16), np.int8), np.zeros(0, np.float32)) for each in (ONE, TWO)
    }
    query = query_of(units(30, 1, 16)[0], "m")
    with opened() as (txn, store):
        for number, (container, (what, size)) in enumerate(steps):
            numbers, scales = model[container]
            if what == "append":
                new = quantise(units(number, size, 16))
                assert store.append(txn, container, *new) == len(numbers)
                numbers, scales = (
                    np.concatenate((numbers, new[0])),
                    np.concatenate((scales, new[1])),
                )
                model[container] = numbers, scales
            elif len(numbers):
                slot = size % len(numbers)
                store.clear(txn, container, [slot, slot])
                numbers[slot], scales[slot] = 0, 0
            check(txn, store, container, numbers, scales, query)
        for container, held in model.items():
            check(txn, store, container, *held, query)


# --- how much is found


def recall(found: npt.NDArray[Any], best: npt.NDArray[Any]) -> float:
    """Share of the ten that float32 finds."""
    return len(set(found.tolist()) & set(best.tolist())) / len(best)


def clustered(seed: int, count: int, *, spread: float = 0.06) -> Floats:
    """Units about a hundred centres, as texts lie about what they speak of."""
    generator = np.random.default_rng(seed)
    centres = units(99, 100, 384)
    drawn = centres[generator.integers(0, 100, count)]
    near = drawn + spread * generator.normal(size=drawn.shape)
    made: Floats = (near / np.linalg.norm(near, axis=1)[:, None]).astype(np.float32)
    return made


def found_and_best(vectors: Floats, queries: Floats) -> Iterator[tuple[Any, Any, Any]]:
    """For each query the ten that int8 finds, the ten of float32, and all float32 cosines."""
    with opened() as (txn, store):
        store.append(txn, ONE, *quantise(vectors))
        for vector in queries:
            exact = vectors @ vector
            dots = store.dots(txn, ONE, query_of(vector, "m"))
            yield np.argsort(-dots)[:10], np.argsort(-exact)[:10], exact


def test_int8_finds_what_float32_finds() -> None:
    vectors, queries = clustered(40, 5_000), clustered(41, 150)
    shares = [recall(found, best) for found, best, _ in found_and_best(vectors, queries)]
    assert np.mean(shares) >= 0.99


def test_where_nothing_is_near_int8_errs_only_among_equals() -> None:
    """Random directions: the tenth and the eleventh lie closer together than a step of int8."""
    shares = []
    for found, best, exact in found_and_best(units(42, 4_000, 384), units(43, 150, 384)):
        shares.append(recall(found, best))
        assert exact[found].min() >= exact[best].min() - 0.004
    assert np.mean(shares) >= 0.97
