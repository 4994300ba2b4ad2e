"""An environment grows, is rewritten without stale bytes, and survives a crash at every step."""

import errno
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import pytest

from rewound.eventlog import failpoints, gate
from rewound.eventlog.data_file import DataFile
from rewound.eventlog.environment import Environment, MapGrew
from rewound.eventlog.errors import (
    Damaged,
    NotFound,
    ReadOnly,
    RewoundError,
    StoreBusy,
    StoreFull,
)
from rewound.eventlog.failpoints import VIEWS, Crash, armed
from rewound.eventlog.generations import Generations
from rewound.eventlog.scrub import scrub
from tests.contract.test_log import Oops, run_in_thread

MIB = 1 << 20


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    made = Environment(
        tmp_path / "views", ["facts.v1", "meta"], points=VIEWS, metasync=False, map_bytes=MIB
    )
    yield made
    made.close()


def put(env: Environment, *rows: tuple[bytes, bytes], name: str = "facts.v1") -> None:
    def change(txn: "lmdb.Transaction[bytes]") -> None:
        for key, value in rows:
            txn.put(key, value, db=env.db(name))

    env.write(change)


def get(env: Environment, key: bytes, name: str = "facts.v1") -> bytes | None:
    with env.reading() as txn:
        return txn.get(key, db=env.db(name))


def reopened(env: Environment) -> Environment:
    env.close()
    return Environment(env.path, ["facts.v1", "meta"], points=VIEWS, metasync=False, map_bytes=MIB)


# --- how it is opened


@pytest.mark.parametrize("metasync", [True, False])
def test_the_flags_are_the_durable_ones(tmp_path: Path, metasync: bool) -> None:
    env = Environment(tmp_path / "log", ["meta"], metasync=metasync)
    flags = env.flags()
    assert flags["sync"] is True
    assert flags["metasync"] is metasync
    assert flags["writemap"] is flags["map_async"] is flags["readonly"] is False
    assert flags["meminit"] is flags["lock"] is True
    assert flags["max_readers"] == 1024
    assert str(flags["lib_version"]).startswith("(0, 9")
    env.close()


def test_nobody_else_may_look_into_the_files(env: Environment) -> None:
    assert env.path.stat().st_mode & 0o077 == 0
    assert env.data_file.stat().st_mode & 0o077 == 0


def test_a_map_has_sane_bounds(tmp_path: Path) -> None:
    for size in (0, MIB - 1, 1 << 60):
        with pytest.raises(ValueError, match="map_bytes"):
            Environment(tmp_path / "log", [], map_bytes=size)


def test_what_was_committed_is_there_after_reopening(env: Environment) -> None:
    put(env, (b"key", b"value"))
    env = reopened(env)
    assert get(env, b"key") == b"value"
    env.close()


def test_a_write_that_fails_leaves_nothing(env: Environment) -> None:
    with pytest.raises(Oops), env.writing() as txn:
        txn.put(b"key", b"value", db=env.db("facts.v1"))
        raise Oops
    assert get(env, b"key") is None


def test_views_of_the_map_are_not_copied(env: Environment) -> None:
    put(env, (b"key", b"value"))
    with env.viewing() as txn:
        found = txn.get(b"key", db=env.db("facts.v1"))
        assert isinstance(found, memoryview)
        assert bytes(found) == b"value"


def test_reading_only(env: Environment) -> None:
    with pytest.raises(NotFound):
        Environment(env.path.parent / "nothing", [], readonly=True)
    assert not (env.path.parent / "nothing").exists()
    put(env, (b"key", b"value"))
    env.close()
    before = sorted(path.name for path in env.path.rglob("*"))
    reader = Environment(env.path, [], readonly=True)
    assert reader.names() == ["facts.v1", "meta"]
    assert get(reader, b"key") == b"value"
    with pytest.raises(ReadOnly), reader.writing():
        pass
    with pytest.raises(ReadOnly):
        reader.compact()
    with pytest.raises(ReadOnly):
        reader.drop_database("meta")
    reader.close()
    assert sorted(path.name for path in env.path.rglob("*")) == before


def test_a_closed_environment_is_refused(env: Environment) -> None:
    env.close()
    env.close()
    for use in (env.reading, env.writing, env.viewing):
        with pytest.raises(StoreBusy), use():
            pass
    with pytest.raises(StoreBusy):
        env.compact()


def test_an_environment_that_cannot_be_opened_lets_go(tmp_path: Path) -> None:
    env = Environment(tmp_path / "log", [])
    file = env.data_file
    env.close()
    content = file.read_bytes()
    file.write_bytes(b"rubbish" * 2000)
    with pytest.raises(Damaged):
        Environment(tmp_path / "log", [])
    file.write_bytes(content)
    Environment(tmp_path / "log", []).close()


# --- databases


def test_databases_come_and_go(env: Environment) -> None:
    put(env, (b"key", b"old"))
    env.create_databases(["facts.v2"])
    env.create_databases(["facts.v2"])
    put(env, (b"key", b"new"), name="facts.v2")
    assert env.names() == ["facts.v1", "facts.v2", "meta"]
    env.drop_database("facts.v1")
    assert env.names() == ["facts.v2", "meta"]
    with pytest.raises(NotFound):
        env.db("facts.v1")
    with pytest.raises(NotFound):
        env.drop_database("facts.v1")
    env.close()
    env = Environment(env.path, ["meta"])
    assert env.names() == ["facts.v2", "meta"]
    assert get(env, b"key", "facts.v2") == b"new"
    env.compact()
    assert get(env, b"key", "facts.v2") == b"new"
    env.close()


def test_several_databases_are_made_in_one_commit(env: Environment) -> None:
    before = env._data.env.info()["last_txnid"]
    env.create_databases(["facts.v2", "words.v1", "meta"])
    assert env._data.env.info()["last_txnid"] == before + 1
    assert env.names() == ["facts.v1", "facts.v2", "meta", "words.v1"]
    put(env, (b"key", b"new"), name="words.v1")
    assert get(env, b"key", "words.v1") == b"new"


def test_dropping_waits_for_reads(env: Environment) -> None:
    put(env, (b"key", b"value"))
    thread = threading.Thread(target=env.drop_database, args=("facts.v1",))
    with env.reading() as txn:
        handle = env.db("facts.v1")
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        assert txn.get(b"key", db=handle) == b"value"
    thread.join(10)
    assert env.names() == ["meta"]


# --- growing


def test_the_map_grows_when_a_write_does_not_fit(env: Environment) -> None:
    put(env, (b"before", b"there"))
    value = bytes(3 * MIB)
    for _ in range(2):
        with pytest.raises(MapGrew), env.writing() as txn:
            txn.put(b"lost", b"with the rest", db=env.db("facts.v1"))
            txn.put(b"large", value, db=env.db("facts.v1"))
        assert get(env, b"lost") is None
        assert get(env, b"before") == b"there"
    put(env, (b"large", value))
    assert env.map_bytes() == 4 * MIB
    assert get(env, b"large") == value


def test_the_map_grows_ahead_of_small_writes(env: Environment) -> None:
    for number in range(400):
        with env.writing() as txn:
            txn.put(b"%d" % number, bytes(9000), db=env.db("facts.v1"))
    assert env.map_bytes() >= 4 * MIB


def test_growing_waits_for_reads(env: Environment) -> None:
    put(env, (b"key", b"value"))
    grown = threading.Event()

    def grow() -> None:
        put(env, (b"large", bytes(3 * MIB)))
        grown.set()

    thread = threading.Thread(target=grow)
    with env.viewing() as txn:
        view = txn.get(b"key", db=env.db("facts.v1"))
        thread.start()
        assert not grown.wait(0.1)
        assert view is not None
        assert bytes(view) == b"value"
    thread.join(20)
    assert grown.is_set()


def test_a_read_that_never_ends_does_not_block_for_ever(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PATIENCE_S", 0.05)
    with env.reading():

        def work() -> None:
            with pytest.raises(StoreBusy):
                put(env, (b"large", bytes(3 * MIB)))
            with pytest.raises(StoreBusy):
                env.close()

        run_in_thread(work)
        assert get(env, b"key") is None
    put(env, (b"large", bytes(3 * MIB)))


def test_a_thread_is_not_made_to_wait_for_itself(env: Environment) -> None:
    with env.reading(), pytest.raises(StoreBusy):
        put(env, (b"large", bytes(3 * MIB)))
    with pytest.raises(RuntimeError), env.writing(), env.writing():
        pass
    with env.writing(), env.reading(), env.reading():
        pass
    with env.reading(), env.reading():
        pass


def test_a_map_has_a_largest_size(tmp_path: Path) -> None:
    env = Environment(tmp_path / "log", ["rows"], map_bytes=MIB, map_bytes_max=2 * MIB)
    with pytest.raises(StoreFull):
        for number in range(1000):
            put(env, (b"%d" % number, bytes(9000)), name="rows")
    assert env.map_bytes() == 2 * MIB
    with pytest.raises(StoreFull):
        put(env, (b"more", bytes(90_000)), name="rows")
    assert get(env, b"0", "rows") == bytes(9000)

    with env.writing(urgent=True) as txn:
        for number in range(50):
            assert txn.delete(b"%d" % number, db=env.db("rows"))
    put(env, (b"fits now", bytes(9000)), name="rows")
    env.close()


# --- rewriting


def fill_with_stale_bytes(env: Environment) -> None:
    """Deleted rows of all sizes, between others that stay."""
    for number in range(20):
        put(env, *((b"gone %d %d" % (number, n), b"CANARY" * (n + 1)) for n in range(40)))
        put(env, (b"kept %d" % number, bytes(2100)), (b"long %d" % number, bytes(9000)))
        put(env, (b"long %d" % number, bytes(4200)))
        put(env, (b"large %d" % number, b"CANARY" * 2000))

    def change(txn: "lmdb.Transaction[bytes]") -> None:
        for number in range(20):
            txn.delete(b"large %d" % number, db=env.db("facts.v1"))
            for n in range(40):
                txn.delete(b"gone %d %d" % (number, n), db=env.db("facts.v1"))

    env.write(change)


def canaries(folder: Path) -> int:
    return sum(path.read_bytes().count(b"CANARY") for path in folder.rglob("*") if path.is_file())


def test_a_rewrite_leaves_no_stale_byte(env: Environment) -> None:
    fill_with_stale_bytes(env)
    assert canaries(env.path) > 1000
    before = contents(env)
    env.compact()
    assert canaries(env.path) == 0
    assert contents(env) == before
    assert [path.name for path in env.path.glob("gen-*")] == ["gen-000002"]
    put(env, (b"more", b"rows"))
    env = reopened(env)
    assert (get(env, b"more"), get(env, b"kept 7")) == (b"rows", bytes(2100))
    env.close()


def test_lmdb_alone_would_leave_some(env: Environment, tmp_path: Path) -> None:
    """Why copies are scrubbed; when this fails, LMDB has changed, and `scrub` may go."""
    fill_with_stale_bytes(env)
    copy = tmp_path / "copy"
    copy.mkdir()
    file = env.data_file
    env.close()
    with lmdb.open(str(file.parent), lib_version=0) as bare:
        bare.copy(str(copy), compact=True)
    assert canaries(copy) > 0
    assert scrub(copy / "data.mdb") > 0
    assert canaries(copy) == 0
    assert scrub(copy / "data.mdb") == 0


def test_scrubbing_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    file = tmp_path / "data.mdb"
    file.write_bytes(bytes(8192))
    with pytest.raises(Damaged):
        scrub(file)
    with lmdb.open(str(tmp_path / "dup"), max_dbs=1, lib_version=0) as other:
        handle = other.open_db(b"dup", dupsort=True)
        with other.begin(write=True, db=handle) as txn:
            txn.put(b"key", b"one")
            txn.put(b"key", b"two")
    with pytest.raises(Damaged):
        scrub(tmp_path / "dup" / "data.mdb")


def contents(env: Environment) -> list[tuple[bytes, bytes]]:
    with env.reading() as txn:
        return list(txn.cursor(db=env.db("facts.v1")))


def test_reads_go_on_while_a_copy_is_made(env: Environment) -> None:
    put(env, (b"key", b"value"))
    seen: list[bytes | None] = []

    def catch_up(copy: Environment) -> bool:
        seen.append(get(env, b"key"))
        return True

    env.compact(catch_up=catch_up)
    assert seen == [b"value", b"value"]


def test_writes_go_on_while_a_copy_is_made(env: Environment) -> None:
    journal: list[tuple[bytes, bytes]] = []
    begun: list[bool] = []
    put(env, (b"before", b"1"))

    def begin() -> None:
        begun.append(True)

    def catch_up(copy: Environment) -> bool:
        if len(journal) < 3:
            row = (b"round %d" % len(journal), bytes(100_000))
            run_in_thread(lambda: put(env, row))
            journal.append(row)
            put(copy, row)
            return False
        return True

    env.compact(begin=begin, catch_up=catch_up)
    assert begun == [True]
    assert contents(env) == sorted([(b"before", b"1"), *journal])


def test_the_swap_waits_for_reads(env: Environment) -> None:
    put(env, (b"key", b"value"))
    thread = threading.Thread(target=env.compact)
    with env.viewing() as txn:
        view = txn.get(b"key", db=env.db("facts.v1"))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        assert view is not None
        assert bytes(view) == b"value"
    thread.join(20)
    assert not thread.is_alive()
    assert get(env, b"key") == b"value"


@pytest.mark.parametrize("with_tail", [False, True])
@pytest.mark.parametrize("point", VIEWS)
def test_a_crash_at_any_step_leaves_a_whole_file(
    env: Environment, point: str, with_tail: bool
) -> None:
    fill_with_stale_bytes(env)
    before = contents(env)
    crashed = False
    with armed(point):
        try:
            env.compact(catch_up=(lambda copy: True) if with_tail else None)
        except Crash:
            crashed = True
    assert crashed is (point in VIEWS[3:])
    env = reopened(env)
    assert contents(env) == before
    assert len(list(env.path.glob("gen-*"))) == 1
    assert not (env.path / "copy").exists()
    put(env, (b"after", b"the crash"))
    env.compact()
    assert canaries(env.path) == 0
    assert get(env, b"after") == b"the crash"
    env.close()


@pytest.mark.parametrize("point", VIEWS[3:])
def test_a_rewrite_that_fails_changes_nothing(env: Environment, point: str) -> None:
    fill_with_stale_bytes(env)
    before = contents(env)
    with armed(point, failure=no_space), pytest.raises(StoreFull):
        env.compact(catch_up=lambda copy: True)
    if point == VIEWS.after_rename:
        # Which file a new start will find is not certain, so nothing may be written until then.
        with pytest.raises(StoreBusy), env.writing():
            pass
        env = Environment(env.path, ["facts.v1", "meta"])
    assert env.has_stale_files() is (point == VIEWS.before_unlink)
    assert contents(env) == before
    assert not (env.path / "copy").exists()
    put(env, (b"after", b"the failure"))
    env = reopened(env)
    env.compact()
    assert canaries(env.path) == 0
    assert get(env, b"after") == b"the failure"
    env.close()


def test_a_file_that_could_not_be_removed_is_removed_later(env: Environment) -> None:
    fill_with_stale_bytes(env)
    with armed(VIEWS.before_unlink, failure=no_space), pytest.raises(StoreFull):
        env.compact()
    assert env.has_stale_files()
    assert canaries(env.path) > 0
    env.compact()
    assert not env.has_stale_files()
    assert canaries(env.path) == 0


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("point", [VIEWS.before_commit, VIEWS.after_commit])
def test_a_crash_around_a_commit(env: Environment, point: str) -> None:
    with armed(point), pytest.raises(Crash):
        put(env, (b"key", b"value"))
    env = reopened(env)
    assert get(env, b"key") == (b"value" if point == VIEWS.after_commit else None)
    env.close()


# --- other processes


def other_process(code: str, *args: object) -> str:
    """What a Python program prints."""
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OPEN = """
import sys
from pathlib import Path
from rewound.eventlog.environment import Environment
from rewound.eventlog.errors import RewoundError
try:
    env = Environment(Path(sys.argv[1]), [], readonly=sys.argv[2] == "readonly")
    with env.reading() as txn:
        print(txn.get(b"key", db=env.db("facts.v1")))
except RewoundError as error:
    print(error.code)
"""


def test_a_second_process_may_read_but_not_write(env: Environment) -> None:
    put(env, (b"key", b"value"))
    assert other_process(OPEN, env.path, "writing") == "store_busy"
    assert other_process(OPEN, env.path, "readonly") == "b'value'"
    put(env, (b"key", b"still ours"))


FOLLOW = """
import sys
from pathlib import Path
from rewound.eventlog.environment import Environment
env = Environment(Path(sys.argv[1]), [], readonly=True)
for line in sys.stdin:
    table, _, key = line.strip().rpartition(" ")
    if table:
        env.follow(anew=table not in env.names())
    with env.reading() as txn:
        print(len(txn.get(key.encode(), db=env.db(table or "facts.v1")) or b""), flush=True)
"""


@contextmanager
def follower(env: Environment) -> Iterator[Callable[[str], int]]:
    """A reader in another process: the length of the value that it reads for a key, 0 for none."""
    command = [sys.executable, "-c", FOLLOW, str(env.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def length(key: str) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(key + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield length
        process.kill()


def test_a_reader_in_another_process_follows_the_owner(env: Environment) -> None:
    put(env, (b"key", b"value"))
    with follower(env) as length:
        assert length("key") == 5
        put(env, (b"large", bytes(5 * MIB)))
        assert length("large") == 5 * MIB
        env.compact()
        assert length("key") == 5
        put(env, (b"new", b"row"))
        assert length("new") == 3
        env.compact()
        env.compact()
        assert length("new") == 3
    assert env.reader_check() == 1
    assert env.reader_check() == 0


def test_a_reader_in_another_process_finds_databases_that_were_made(env: Environment) -> None:
    put(env, (b"key", b"value"))
    with follower(env) as length:
        assert length("key") == 5
        env.create_databases(["facts.v2"])
        put(env, (b"key", b"other one"), name="facts.v2")
        env.drop_database("facts.v1")
        assert length("facts.v2 key") == 9


def test_a_reader_leaves_a_replaced_file_that_could_not_be_removed(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(env, (b"key", b"value"))

    def refuse(files: Generations, old: Path) -> None:
        raise PermissionError(13, "no", str(old))

    with follower(env) as length:
        assert length("key") == 5
        with monkeypatch.context() as patched:
            patched.setattr(Generations, "remove", refuse)
            with pytest.raises((RewoundError, OSError)):
                env.compact()
        assert env.has_stale_files()
        put(env, (b"new", b"row"))
        assert length("new") == 3


def test_a_reader_opens_the_next_file_when_the_newest_is_gone_before_it_is_open(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(env, (b"key", b"value"))
    env.close()
    reader = Environment(env.path, [], readonly=True)
    newest = Generations.newest
    seen = iter([env.path / "gen-000000"])
    monkeypatch.setattr(Generations, "newest", lambda files: next(seen, None) or newest(files))
    reader.follow(anew=True)
    assert get(reader, b"key") == b"value"
    reader.close()


def test_a_reader_that_could_not_open_a_file_opens_it_later(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(env, (b"key", b"value"))
    env.close()
    reader = Environment(env.path, [], readonly=True)

    def refuse(data: DataFile, map_bytes: int) -> lmdb.Environment:
        raise OSError(errno.EMFILE, "too many files are open")

    with monkeypatch.context() as patched:
        patched.setattr(DataFile, "_open", refuse)
        for _ in range(2):
            with pytest.raises(OSError, match="too many"):
                reader.follow(anew=True)
    assert get(reader, b"key") == b"value"
    reader.close()


# --- failpoints


def test_a_failpoint_fails_at_its_hit_and_once(env: Environment) -> None:
    with armed(VIEWS.before_commit, hit=3, failure=Oops):
        put(env, (b"1", b""))
        put(env, (b"2", b""))
        with pytest.raises(Oops):
            put(env, (b"3", b""))
        put(env, (b"4", b""))
    assert [key for key, _ in contents(env)] == [b"1", b"2", b"4"]


def test_failpoints_are_known_by_name() -> None:
    assert len(set(failpoints.NAMES)) == len(failpoints.NAMES)
    for name, hit in (("no such point", 1), (VIEWS.before_commit, 0)):
        with pytest.raises(ValueError, match=r"failpoint"):
            failpoints.arm(name, hit=hit)
    failpoints.arm_to_exit(" ")
    with pytest.raises(ValueError, match="no failpoint"):
        failpoints.arm_to_exit("views.before-commit:2,nonsense")
    failpoints.disarm()


KILLED = """
import sys
from pathlib import Path
from rewound.eventlog.environment import Environment
from rewound.eventlog.failpoints import VIEWS
env = Environment(Path(sys.argv[1]), ["facts.v1"], points=VIEWS)
for number in range(9):
    with env.writing() as txn:
        txn.put(b"%d" % number, b"", db=env.db("facts.v1"))
    print(number, flush=True)
"""


def test_a_process_can_be_killed_at_a_failpoint(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "views")],
        env={failpoints.VARIABLE: "views.after-commit:5"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == failpoints.KILLED
    assert done.stdout.split() == ["0", "1", "2", "3"]
    env = Environment(tmp_path / "views", ["facts.v1"])
    assert [key for key, _ in contents(env)] == [b"0", b"1", b"2", b"3", b"4"]
    env.close()
