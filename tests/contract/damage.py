"""Changing rows of a closed log behind its back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb

from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.verify import Report, verify
from tests.contract.given import CountedIds, HandClock

Row = tuple[bytes, bytes]


def data_folder(log: Path) -> Path:
    (folder,) = log.glob("gen-*")
    return folder


@contextmanager
def raw(log: Path, table: str) -> "Iterator[tuple[lmdb.Transaction[bytes], lmdb._Database]]":
    """A write transaction on a closed log's table."""
    # Not flushed: these tests are about what is found, not about what survives.
    opened = lmdb.open(
        str(data_folder(log)), max_dbs=32, map_size=1 << 26, sync=False, lib_version=0
    )
    with opened as env:
        handle = env.open_db(table.encode(), create=False)
        with env.begin(write=True, db=handle) as txn:
            yield txn, handle


def rows(log: Path, table: str) -> list[Row]:
    with raw(log, table) as (txn, _):
        return list(txn.cursor())


def put(log: Path, table: str, *changed: tuple[bytes, bytes | None]) -> None:
    """Put rows; delete those without a value."""
    with raw(log, table) as (txn, _):
        for key, value in changed:
            assert txn.delete(key) if value is None else txn.put(key, value)


@contextmanager
def changed(log: Path, table: str, *rows: tuple[bytes, bytes | None]) -> Iterator[None]:
    """`put` for the length of a block."""
    with raw(log, table) as (txn, _):
        before = [(key, txn.get(key)) for key, _ in rows]
    put(log, table, *rows)
    yield
    put(log, table, *before)


def flip(value: bytes, at: int) -> bytes:
    """One bit changed, the lowest of a byte."""
    return value[:at] + bytes((value[at] ^ 1,)) + value[at + 1 :]


def report(log: Path, expect: str | None = None) -> Report:
    opened = LmdbLog(log, HandClock(), CountedIds(), readonly=True)
    try:
        with opened.reading() as reader:
            return verify(reader, expect=expect)
    finally:
        opened.close()
