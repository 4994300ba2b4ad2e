"""What only the log on disk has to do: erase for good, grow, survive crashes and old forms."""

import errno
import threading
from itertools import count
from pathlib import Path

import lmdb
import pytest

from rewound.eventlog import behind, lmdb_log
from rewound.eventlog.bodies import Place
from rewound.eventlog.environment import Environment
from rewound.eventlog.errors import Conflict, Damaged, NotFound, ReadOnly, StoreBusy, StoreFull
from rewound.eventlog.events import ContentErased
from rewound.eventlog.failpoints import LOG, LOG_BETWEEN_TABLES, Crash, armed
from rewound.eventlog.lmdb_errors import MapGrew
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.eventlog.lmdb_writer import GATHERED
from rewound.eventlog.log import Answered, Draft, Log, Writer
from rewound.eventlog.tables import FORMAT, META, TABLES
from rewound.eventlog.verify import verify
from tests.contract import damage
from tests.contract.given import OnDisk, container, fact, fact_ref, message, put, write
from tests.contract.test_log import everything

A, B = container(1), container(2)
CANARY = "CANARY-7f3a"


def whole(log: Log) -> None:
    with log.reading() as reader:
        assert verify(reader).findings == ()


def canaries(folder: Path) -> int:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.read_bytes().count(CANARY.encode()) for path in files)


def erase(log: Log, place: Place, item: int) -> None:
    def change(writer: Writer) -> None:
        writer.append(A, [Draft(ContentErased((fact_ref(item),), (place,)))])
        assert writer.erase(A, [place], [fact_ref(item)]) == 1

    write(log, change)


# --- erasing for good


def test_erased_bytes_leave_the_folder(disk: OnDisk) -> None:
    places: list[Place] = []
    for number, size in enumerate([1, 20, 190, 191, 300, 370, 371, 2000, 9000] * 3):
        text = CANARY * size
        (told,) = put(disk.log, A, fact(disk.log, text, number))
        places.append(Place(told.position, 0))
        put(disk.log, A, message(disk.log, "x" * (2100 + number)))
        put(disk.log, B, message(disk.log, "y" * 4000))

        def file(writer: Writer, number: int = number) -> None:
            item, digest = fact_ref(number), b"%02d" % number * 8
            writer.file(A, digest, item)
            writer.put_memo(A, digest, CANARY.encode() * 40, item)
            position = places[-1].at
            answer = Answered(digest, CANARY.encode() * 50, (position, position))
            writer.answer(A, digest, answer)

        write(disk.log, file)
    for number, place in enumerate(places):
        erase(disk.log, place, number)
    assert canaries(disk.folder) > 1000
    assert disk.reopen().needs_compaction()
    before = everything(disk.log)
    disk.log.compact()
    assert canaries(disk.folder) == 0
    assert everything(disk.log) == before
    whole(disk.reopen())
    assert not disk.log.needs_compaction()
    assert canaries(disk.folder) == 0


def test_an_erasure_during_a_compaction_needs_another(
    disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(disk.log, A, fact(disk.log, CANARY, 1), fact(disk.log, CANARY, 2))
    erase(disk.log, Place(1, 0), 1)
    real = behind.Behind.catch_up
    rounds = count()

    def catch_up(self: behind.Behind, copy: Environment) -> bool:
        if next(rounds) == 0:
            thread = threading.Thread(target=erase, args=(disk.log, Place(2, 0), 2))
            thread.start()
            thread.join(60)
            put_in_thread(disk.log, "written meanwhile")
        return real(self, copy)

    monkeypatch.setattr(behind.Behind, "catch_up", catch_up)
    disk.log.compact()
    assert disk.log.needs_compaction()
    disk.log.compact()
    assert not disk.log.needs_compaction()
    assert canaries(disk.folder) == 0
    with disk.reopen().reading() as reader:
        assert reader.head(A).position == 5
        assert reader.body(A, Place(5, 0)) == b"written meanwhile"
    whole(disk.log)


def put_in_thread(log: Log, text: str) -> None:
    thread = threading.Thread(target=put, args=(log, A, message(log, text)))
    thread.start()
    thread.join(60)


def test_writers_and_readers_go_on_during_compactions(disk: OnDisk) -> None:
    put(disk.log, A, message(disk.log))
    stop = threading.Event()
    failed: list[BaseException] = []

    def writing(owner: bytes) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            put(disk.log, container(owner[0]), *(message(disk.log, "t" * 500) for _ in range(20)))

    def reading() -> None:
        while not stop.is_set():
            with disk.log.reading() as reader:
                end = reader.head(A).position
                assert [r.position for r in reader.events(A, max(0, end - 50))][-1:] == [end]

    def guarded(work: object, *args: object) -> None:
        try:
            assert callable(work)
            work(*args)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(writing, bytes((n,)))) for n in (1, 2, 3)]
    threads += [threading.Thread(target=guarded, args=(reading,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        disk.log.compact()
    stop.set()
    for thread in threads:
        thread.join(60)
    assert failed == []
    whole(disk.log)
    before = everything(disk.log)
    assert everything(disk.reopen()) == before


def test_rows_that_wait_for_a_copy_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "_ROWS_MAX", 10)
    waiting = behind.Behind()
    waiting.wait()
    waiting.add([("known", [(b"%d" % number, b"") for number in range(11)])])
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    waiting.end()
    thread.join(10)
    assert not thread.is_alive()


# --- growing


def test_a_small_map_grows_under_many_writers(disk: OnDisk) -> None:
    stop = threading.Event()
    read: list[int] = []

    def reading() -> None:
        while not stop.is_set():
            with disk.log.reading() as reader:
                read.append(sum(1 for _ in reader.events(A)))

    def writing() -> None:
        for number in range(25):
            put(disk.log, A, message(disk.log, f"{number}" * 4000), message(disk.log))

    reader = threading.Thread(target=reading)
    writers = [threading.Thread(target=writing) for _ in range(8)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join(100)
    stop.set()
    reader.join(60)
    assert read == sorted(read)
    assert disk.lmdb.environment.map_bytes() > 1 << 20
    with disk.reopen().reading() as again:
        assert again.head(A).position == 400
    whole(disk.log)


def test_a_group_larger_than_the_map_is_run_again(disk: OnDisk) -> None:
    tries = 0
    while True:
        tries += 1
        try:
            with disk.log.writing() as writer:
                writer.append(A, [message(disk.log, "x" * 3_000_000)])
                writer.append(B, [message(disk.log)])
            break
        except MapGrew as grew:
            assert grew.code == "store_busy"
            with disk.log.reading() as reader:
                assert reader.sequence() == 0
    assert tries > 1
    whole(disk.log)


# --- crashes


@pytest.mark.parametrize("hit", range(1, 1 + len(GATHERED)))
def test_a_crash_between_tables_leaves_nothing(disk: OnDisk, hit: int) -> None:
    put(disk.log, A, message(disk.log))
    with armed(LOG_BETWEEN_TABLES, hit=hit), pytest.raises(Crash):
        put(disk.log, A, message(disk.log), message(disk.log))
    with disk.reopen().reading() as reader:
        assert reader.head(A).position == reader.sequence() == 1
    put(disk.log, A, message(disk.log))
    whole(disk.log)


@pytest.mark.parametrize("point", [LOG.before_commit, LOG.after_commit])
def test_a_crash_around_a_commit(disk: OnDisk, point: str) -> None:
    put(disk.log, A, message(disk.log))
    with armed(point), pytest.raises(Crash):
        put(disk.log, A, message(disk.log), message(disk.log))
    there = 3 if point == LOG.after_commit else 1
    with disk.reopen().reading() as reader:
        assert reader.head(A).position == reader.sequence() == there
    whole(disk.log)


@pytest.mark.parametrize("point", LOG[3:])
def test_a_crash_in_a_compaction(disk: OnDisk, point: str) -> None:
    put(disk.log, A, *(fact(disk.log, CANARY * 400, number) for number in range(5)))
    for number in range(5):
        erase(disk.log, Place(number + 1, 0), number)
    before = everything(disk.log)
    with armed(point), pytest.raises(Crash):
        disk.log.compact()
    disk.reopen()
    swapped = point in (LOG.after_rename, LOG.before_unlink)
    assert disk.log.needs_compaction() is not swapped
    assert (canaries(disk.folder) == 0) is swapped
    assert everything(disk.log) == before
    if not swapped:
        disk.log.compact()
    assert canaries(disk.folder) == 0
    whole(disk.log)


def test_a_failed_flush_is_told_as_a_full_store(disk: OnDisk) -> None:
    put(disk.log, A, message(disk.log))

    def broken() -> OSError:
        return OSError(errno.EIO, "Input/output error")

    with armed(LOG.before_commit, failure=broken), pytest.raises(StoreFull):
        put(disk.log, A, message(disk.log))
    put(disk.log, A, message(disk.log))
    with disk.log.reading() as reader:
        assert reader.head(A).position == 2


def test_a_meta_page_that_could_not_be_written_is_recovered_from(disk: OnDisk) -> None:
    """LMDB refuses all writes after that; the file is opened anew."""
    put(disk.log, A, message(disk.log))
    data = disk.lmdb.environment._data

    class Panicking:
        """The real environment, but that it has seen a failure it cannot mend."""

        def __init__(self, real: lmdb.Environment) -> None:
            self.real = real

        def begin(self, **_: object) -> object:
            raise lmdb.PanicError("mdb_txn_begin", -30795)

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

    data.env = Panicking(data.env)  # type: ignore[assignment]
    put(disk.log, A, message(disk.log))
    with disk.log.reading() as reader:
        assert reader.head(A).position == 2


# --- forms, ids, reading only


def test_a_newer_form_is_refused(disk: OnDisk) -> None:
    disk.log.close()
    damage.put(disk.folder, META, (FORMAT, b"2"))
    for readonly in (False, True):
        with pytest.raises(Conflict, match="newer"):
            LmdbLog(disk.folder, disk.clock, disk.ids, readonly=readonly)
    damage.put(disk.folder, META, (FORMAT, b"1"))
    disk.open()


def test_an_older_form_is_upgraded_step_by_step(
    disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []

    def step(to: int) -> None:
        def upgrade(env: Environment) -> None:
            steps.append(to)

            def change(txn: "lmdb.Transaction[bytes]") -> None:
                txn.put(FORMAT, b"%d" % to, db=env.db(META))

            env.write(change)

        monkeypatch.setitem(lmdb_log.UPGRADES, to - 1, upgrade)

    step(2)
    step(3)
    monkeypatch.setattr(lmdb_log, "DISK_FORMAT", 3)
    disk.log.close()
    with pytest.raises(ReadOnly):
        LmdbLog(disk.folder, disk.clock, disk.ids, readonly=True)
    disk.open()
    disk.reopen()
    assert steps == [2, 3]


def test_a_folder_that_holds_half_a_log_is_refused(disk: OnDisk) -> None:
    put(disk.log, A, message(disk.log))
    disk.log.close()
    damage.put(disk.folder, META, (FORMAT, None))
    with pytest.raises(Damaged):
        disk.open()
    damage.put(disk.folder, META, (FORMAT, b"1"))
    disk.open()


def test_a_store_keeps_its_id(disk: OnDisk, tmp_path: Path) -> None:
    first = disk.lmdb.store_id()
    other = OnDisk(tmp_path / "other")
    other.ids.skip_to(99)
    assert len(first) == 16
    assert disk.reopen().store_id() == first
    disk.log.compact()
    assert disk.reopen().store_id() == first
    other.log.close()


def test_reading_only(disk: OnDisk) -> None:
    with pytest.raises(NotFound):
        LmdbLog(disk.folder / "nothing", disk.clock, disk.ids, readonly=True)
    put(disk.log, A, message(disk.log))
    for _ in range(2):
        with pytest.raises(StoreBusy):
            LmdbLog(disk.folder, disk.clock, disk.ids)
    disk.log.close()
    reader_log = LmdbLog(disk.folder, disk.clock, disk.ids, readonly=True)
    whole(reader_log)
    assert not reader_log.needs_compaction()
    with pytest.raises(ReadOnly), reader_log.writing():
        pass
    with pytest.raises(ReadOnly):
        reader_log.compact()
    reader_log.close()


def test_no_key_comes_near_the_limit(disk: OnDisk) -> None:
    put(disk.log, A, message(disk.log), message(disk.log))

    def file(writer: Writer) -> None:
        writer.file(A, b"d" * 64, fact_ref(1))
        writer.answer(A, b"d" * 64, Answered(b"r" * 64, b"reply" * 1000, (1, 1)))
        writer.put_memo(A, b"d" * 64, bytes(4000), fact_ref(1))

    write(disk.log, file)
    disk.log.close()
    for table in TABLES:
        found = damage.rows(disk.folder, table)
        assert found, f"{table} has no row to look at"
        assert max(len(key) for key, _ in found) <= 100
    disk.open()


def test_readers_that_died_are_cleared(disk: OnDisk) -> None:
    assert disk.lmdb.reader_check() == 0
