"""Law 10: any flipped bit, dropped or swapped event in a copy of the log is found by verify."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import msgspec
import pytest

from rewound.eventlog import envelope as env
from rewound.eventlog.errors import RewoundError
from rewound.memory import requests
from tests.property import world
from tests.property.choices import Seeded
from tests.property.driver import Driver
from tests.property.world import Known, Moment

Rows = list[tuple[bytes, bytes]]
Damage = Callable[[random.Random, Rows], Rows]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A closed store after some forty random commands."""
    folder = tmp_path_factory.mktemp("chain") / "store"
    driver = Driver(folder, durable=True)
    known, choices = Known("alpha"), Seeded(3)
    for _ in range(40):
        try:
            request = world.command(choices, known, Moment(driver.clock.at))
            known.learn(driver.call(request))
        except RewoundError:
            continue
    assert driver.call(requests.Verify()).ok
    driver.close()
    yield folder


def flip(generator: random.Random, rows: Rows) -> Rows:
    """One bit of one event, anywhere in it."""
    at = generator.randrange(len(rows))
    key, value = rows[at]
    bit = generator.randrange(8 * len(value))
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return [*rows[:at], (key, bytes(changed)), *rows[at + 1 :]]


def drop(generator: random.Random, rows: Rows) -> Rows:
    at = generator.randrange(len(rows))
    return [*rows[:at], *rows[at + 1 :]]


def swap(generator: random.Random, rows: Rows) -> Rows:
    first, second = sorted(generator.sample(range(len(rows)), 2))
    changed = list(rows)
    changed[first] = (rows[first][0], rows[second][1])
    changed[second] = (rows[second][0], rows[first][1])
    return changed


def cut_tail(generator: random.Random, rows: Rows) -> Rows:
    return rows[: -1 - generator.randrange(3)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("damage", [flip, drop, swap, cut_tail])
def test_verify_finds_damage(store: Path, tmp_path: Path, damage: Damage, seed: int) -> None:
    whole = Driver(store, durable=True)
    head = whole.call(requests.Verify()).head
    whole.close()
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    rewrite(copy, lambda rows: damage(random.Random(seed), rows))
    assert found(copy, head)


def test_an_untouched_copy_is_whole(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(store, copy)
    rewrite(copy, list)
    assert not found(copy, None)


def damaged(store: Path, copy: Path, seed: int) -> bool:
    """Whether a flipped bit in a copy is found without a head kept elsewhere."""
    shutil.copytree(store, copy)
    rewrite(copy, lambda rows: flip(random.Random(seed), rows))
    return found(copy, None)


def found(folder: Path, head: str | None) -> bool:
    """Whether opening or verifying the store complains."""
    try:
        driver = Driver(folder, durable=True)
    except RewoundError:
        return True
    try:
        reply = driver.call(requests.Verify(expect=head))
    except RewoundError:
        return True
    finally:
        driver.close()
    return not reply.ok or reply.expected is False


def rewrite(folder: Path, change: Callable[[Rows], Rows]) -> None:
    """Change the rows of the database that holds the envelopes."""
    file = next(path for path in folder.rglob("*.mdb") if "lock" not in path.name and is_log(path))
    with lmdb.open(str(file.parent), max_dbs=64, map_size=1 << 28, lib_version=0) as environment:
        name = event_database(environment)
        assert name is not None
        handle = environment.open_db(name)
        with environment.begin(write=True) as txn:
            rows = [(bytes(key), bytes(value)) for key, value in txn.cursor(handle)]
            txn.drop(handle, delete=False)
            for key, value in change(rows):
                assert txn.put(key, value, db=handle)


def is_log(path: Path) -> bool:
    with lmdb.open(str(path.parent), max_dbs=64, readonly=True, lib_version=0) as environment:
        return event_database(environment) is not None


def event_database(environment: lmdb.Environment) -> bytes | None:
    """The named database whose values are envelopes."""
    with environment.begin() as txn:
        names = [bytes(name) for name, _ in txn.cursor()]
    for name in names:
        try:
            handle = environment.open_db(name, create=False)
            with environment.begin() as txn:
                cursor = txn.cursor(handle)
                if cursor.first():
                    env.decode(bytes(cursor.value()))
                    return name
        except (lmdb.Error, msgspec.DecodeError, msgspec.ValidationError):
            continue
    return None
