"""Columns on disk and in memory, under every snapshot."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import lmdb
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rewound.projections.columns import (
    ENTRY,
    OPEN,
    UNBOUND,
    ColumnCache,
    Columns,
    ColumnStore,
    Entry,
    entries,
)
from tests.scratch import IN_MEMORY

ONE, TWO = b"1" * 16, b"2" * 16
CONTAINERS = st.sampled_from([ONE, TWO])

I8 = st.sampled_from([UNBOUND, -1, 0, 7, OPEN])
U1 = st.integers(0, 255)
VALUES: dict[str, st.SearchStrategy[int]] = {
    "opened": I8,
    "closed": I8,
    "valid_from": I8,
    "valid_to": I8,
    "expires": I8,
    "length": st.integers(0, 2**32 - 1),
    "kind": U1,
    "standing": U1,
    "hidden": U1,
    "group": st.integers(0, 2**32 - 1),
    "detail": U1,
    "vector": st.integers(0, 2**32 - 1),
    "before": st.integers(0, 2**32 - 1),
    "source": st.integers(0, 2**32 - 1),
    "traits": U1,
    "support": U1,
    "importance": st.integers(0, 2**16 - 1),
}
ENTRIES = st.builds(Entry, item=st.binary(min_size=16, max_size=16), **VALUES)
PATCHES = st.sampled_from(sorted(VALUES)).flatmap(
    lambda name: st.tuples(
        st.just(name), st.dictionaries(st.integers(0, 30), VALUES[name], min_size=1)
    )
)


@contextmanager
def opened(block_entries: int) -> Iterator[tuple[lmdb.Environment, ColumnStore]]:
    with (
        tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder,
        lmdb.open(folder, max_dbs=1, map_size=1 << 28, sync=False, lib_version=0) as env,
    ):
        yield env, ColumnStore(env.open_db(b"columns"), block_entries=block_entries)


def rows(columns: Columns) -> list[Entry]:
    """What the arrays say, entry by entry."""
    lists = {name: getattr(columns, name).tolist() for name in Entry._fields if name != "item"}
    lists["item"] = [columns.item[i].tobytes() for i in range(columns.n)]
    assert all(len(values) == columns.n for values in lists.values())
    return [Entry(**{name: lists[name][i] for name in lists}) for i in range(columns.n)]


class ColumnsMachine(RuleBasedStateMachine):
    """Readers of any age see their own snapshot, and what they were given never changes."""

    @initialize(block=st.integers(1, 5), size=st.sampled_from([0, 10**9]))
    def open(self, block: int, size: int) -> None:
        self.context = opened(block)
        self.env, self.store = self.context.__enter__()
        self.cache = ColumnCache(self.store, size_bytes_max=size)
        self.model: dict[bytes, list[Entry]] = {ONE: [], TWO: []}
        self.stamp = 0
        # Open snapshots with what they must show, and columns with what they showed.
        self.snapshots: list[tuple[lmdb.Transaction, dict[bytes, list[Entry]]]] = []
        self.given: list[tuple[Columns, list[Entry]]] = []

    def teardown(self) -> None:
        if hasattr(self, "context"):
            for txn, _ in self.snapshots:
                txn.abort()
            self.context.__exit__(None, None, None)

    def check(self, txn: lmdb.Transaction, container: bytes, expected: list[Entry]) -> None:
        columns = self.cache.read(txn, container)
        assert rows(columns) == expected
        self.given.append((columns, expected))

    def write(
        self,
        container: bytes,
        new: list[Entry],
        patches: list[tuple[str, dict[int, int]]],
        commit: bool,
        look: bool,
    ) -> None:
        """One transaction; an aborted one leaves its stamp to the next."""
        held = list(self.model[container])
        stamp = self.stamp + 1
        with self.env.begin(write=True, buffers=True) as txn:
            assert self.store.append(txn, container, stamp, entries(new)) == len(held)
            held += new
            for name, values in patches:
                chosen = {at: value for at, value in values.items() if at < len(held)}
                self.store.patch(txn, container, stamp, name, list(chosen), list(chosen.values()))
                for at, value in chosen.items():
                    changed: dict[str, Any] = held[at]._asdict() | {name: value}
                    held[at] = Entry(**changed)
                if look:
                    self.check(txn, container, list(held))
            assert self.store.count(txn, container) == len(held)
            if not commit:
                txn.abort()
        if commit:
            self.model[container], self.stamp = held, stamp

    @rule(
        container=CONTAINERS,
        new=st.lists(ENTRIES, max_size=8),
        patches=st.lists(PATCHES, max_size=3),
        commit=st.booleans(),
        look=st.booleans(),
    )
    def change(
        self,
        container: bytes,
        new: list[Entry],
        patches: list[tuple[str, dict[int, int]]],
        commit: bool,
        look: bool,
    ) -> None:
        self.write(container, new, patches, commit, look)

    @rule(container=CONTAINERS)
    def drop(self, container: bytes) -> None:
        self.stamp += 1
        with self.env.begin(write=True) as txn:
            self.store.drop(txn, container)
        self.model[container] = []

    @rule()
    def snapshot(self) -> None:
        if len(self.snapshots) < 4:
            self.snapshots.append((self.env.begin(buffers=True), dict(self.model)))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def read_an_older_one(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.snapshots) - 1))
        txn, model = self.snapshots[at]
        for container, expected in model.items():
            self.check(txn, container, expected)
        if data.draw(st.booleans()):
            self.snapshots.pop(at)[0].abort()

    @rule(container=st.none() | CONTAINERS)
    def clear(self, container: bytes | None) -> None:
        self.cache.clear(container)

    @rule(buffers=st.booleans())
    def read(self, buffers: bool) -> None:
        txn: lmdb.Transaction = (
            self.env.begin(buffers=True) if buffers else self.env.begin(buffers=False)
        )
        for container, expected in self.model.items():
            self.check(txn, container, expected)
        txn.abort()

    @invariant()
    def what_was_given_stays(self) -> None:
        if not hasattr(self, "given"):
            return
        del self.given[:-20]
        for columns, expected in self.given:
            assert rows(columns) == expected


ColumnsMachine.TestCase.settings = settings(stateful_step_count=30)
TestColumns = ColumnsMachine.TestCase


def entry(number: int, **more: int) -> Entry:
    return Entry(item=number.to_bytes(16), opened=number, length=1, **more)


def put(env: lmdb.Environment, store: ColumnStore, stamp: int, *new: Entry) -> int:
    with env.begin(write=True) as txn:
        return store.append(txn, ONE, stamp, entries(new))


def test_the_names_agree() -> None:
    assert ENTRY.names == Entry._fields
    assert [field.name for field in fields(Columns)][0:2] == ["n", "stamp"]
    assert {field.name for field in fields(Columns)} == {"n", "stamp", "memo", *Entry._fields}


def test_ids_keep_their_zeros() -> None:
    with opened(4) as (env, store):
        put(env, store, 1, Entry(bytes(16), 1, 1), Entry(b"\x01" + bytes(15), 2, 1))
        with env.begin(buffers=True) as txn:
            item = ColumnCache(store).read(txn, ONE).item
        assert [item[0].tobytes(), item[1].tobytes()] == [bytes(16), b"\x01" + bytes(15)]


def test_an_unknown_container_is_empty() -> None:
    with opened(4) as (env, store), env.begin() as txn:
        columns = ColumnCache(store).read(txn, ONE)
        assert (columns.n, columns.stamp, columns.opened.shape) == (0, 0, (0,))
        assert store.head(txn, ONE) == (0, 0)


def test_columns_cannot_be_written() -> None:
    with opened(4) as (env, store):
        put(env, store, 1, entry(1))
        with env.begin() as txn:
            columns = ColumnCache(store).read(txn, ONE)
        for name in Entry._fields:
            with pytest.raises(ValueError):
                getattr(columns, name)[0] = 0


def test_what_did_not_change_is_shared() -> None:
    with opened(4) as (env, store):
        cache = ColumnCache(store)
        put(env, store, 1, *map(entry, range(10)))
        with env.begin(buffers=True) as txn:
            first = cache.read(txn, ONE)
            assert cache.read(txn, ONE) is first
        with env.begin(write=True) as txn:
            store.patch(txn, ONE, 2, "closed", [3, 9], 5)
        with env.begin(buffers=True) as txn:
            second = cache.read(txn, ONE)
        assert np.shares_memory(first.opened, second.opened)
        assert not np.shares_memory(first.closed, second.closed)
        assert first.closed.tolist() == [OPEN] * 10
        put(env, store, 3, entry(10))
        put(env, store, 4, entry(11))
        with env.begin(buffers=True) as txn:
            third = cache.read(txn, ONE)  # here it got room to grow
        put(env, store, 5, entry(12))
        with env.begin(buffers=True) as txn:
            fourth = cache.read(txn, ONE)
        assert np.shares_memory(third.closed, fourth.closed)
        assert (third.n, fourth.n) == (12, 13)


def test_room_that_one_version_uses_is_not_given_to_another() -> None:
    with opened(4) as (env, store):
        cache = ColumnCache(store)

        def look() -> Columns:
            with env.begin(buffers=True) as txn:
                return cache.read(txn, ONE)

        put(env, store, 1, *map(entry, range(10)))
        look()
        put(env, store, 2, entry(10))
        look()
        put(env, store, 3, entry(11))
        longer = look()
        with env.begin(write=True) as txn:
            store.drop(txn, ONE)
        put(env, store, 4, *map(entry, range(11)))
        assert np.shares_memory(look().opened, longer.opened)
        put(env, store, 5, entry(99))
        assert look().opened.tolist() == [*range(11), 99]
        assert longer.opened.tolist() == [*range(12)]


def test_what_an_aborted_write_read_is_forgotten() -> None:
    with opened(4) as (env, store):
        cache = ColumnCache(store)
        with env.begin(write=True) as txn:
            store.append(txn, ONE, 1, entries([entry(7)]))
            assert cache.read(txn, ONE).opened.tolist() == [7]
            txn.abort()
        put(env, store, 1, entry(8))
        with env.begin() as txn:
            assert cache.read(txn, ONE).opened.tolist() == [8]


def test_the_containers_read_last_are_kept() -> None:
    with opened(4) as (env, store):
        names = [bytes([i]) * 16 for i in range(5)]
        with env.begin(write=True) as txn:
            for name in names:
                store.append(txn, name, 1, entries([entry(i) for i in range(1000)]))
        cache = ColumnCache(store)
        with env.begin(buffers=True) as txn:
            cache.read(txn, names[0])
            one = cache.size_bytes
            assert one >= 1000 * ENTRY.itemsize
            cache = ColumnCache(store, size_bytes_max=3 * one)
            first = [cache.read(txn, name) for name in names[:3]]
            assert cache.read(txn, names[0]) is first[0]
            cache.read(txn, names[3])
            assert cache.read(txn, names[0]) is first[0]
            assert cache.read(txn, names[1]) is not first[1]
            assert cache.size_bytes == 3 * one
            cache.clear(names[0])
            assert cache.size_bytes == 2 * one
            cache.clear()
            assert cache.size_bytes == 0


@pytest.mark.parametrize(
    ("stamp", "column", "ordinals", "values"),
    [
        (1, "closed", [0], 1),
        (0, "closed", [0], 1),
        (2, "n", [0], 1),
        (2, "closed", [2], 1),
        (2, "closed", [-1], 1),
        (2, "closed", [0, 1], [1, 2, 3]),
    ],
)
def test_a_wrong_patch_writes_nothing(
    stamp: int, column: str, ordinals: list[int], values: object
) -> None:
    with opened(4) as (env, store):
        put(env, store, 2, entry(0), entry(1))
        with env.begin(write=True) as txn:
            with pytest.raises(ValueError):
                store.patch(txn, ONE, stamp, column, ordinals, values)  # type: ignore[arg-type]
            assert rows(ColumnCache(store).read(txn, ONE)) == [entry(0), entry(1)]


def test_wrong_entries_are_refused() -> None:
    with pytest.raises(ValueError):
        entries([Entry(b"short", 1, 1)])
    with opened(4) as (env, store), env.begin(write=True) as txn:
        with pytest.raises(ValueError):
            store.append(txn, b"short", 1, entries([entry(1)]))
        with pytest.raises(ValueError):
            store.append(txn, ONE, 0, entries([entry(1)]))


def test_threads_see_whole_snapshots_while_a_writer_writes() -> None:
    """Every write sets all entries to its stamp and appends some: a mix of two would show."""
    with opened(8) as (env, store):
        cache = ColumnCache(store)
        done = threading.Event()
        seen: list[int] = []
        faults: list[str] = []

        def read() -> None:
            try:
                while not done.is_set():
                    with env.begin(buffers=True) as txn:
                        stamp, count = store.head(txn, ONE)
                        columns = cache.read(txn, ONE)
                        if (columns.stamp, columns.n) != (stamp, count):
                            faults.append(f"{stamp} {count}, but {columns.stamp} {columns.n}")
                        if not (columns.closed == stamp).all():
                            faults.append(f"mixed columns at {stamp}")
                        if columns.opened.tolist() != list(range(count)):
                            faults.append(f"wrong entries at {stamp}")
                    seen.append(stamp)
            except Exception as error:
                faults.append(repr(error))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for stamp in range(1, 150):
            with env.begin(write=True) as txn:
                count = store.count(txn, ONE)
                if stamp % 3:
                    new = [entry(count + i, closed=stamp) for i in range(5)]
                    store.append(txn, ONE, stamp, entries(new))
                store.patch(txn, ONE, stamp, "closed", list(range(count)), stamp)
            while stamp % 50 == 1 and stamp not in seen and not faults:
                time.sleep(0.001)  # until the readers get a turn
        done.set()
        for thread in threads:
            thread.join()
        assert not faults
        assert len(set(seen)) > 2
