"""A log on a disk that is full: refused in words, nothing lost, and taking back still works."""

import subprocess
from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path

import pytest

from rewound.eventlog.bodies import Place
from rewound.eventlog.errors import StoreFull
from rewound.eventlog.events import ContentErased
from rewound.eventlog.log import Draft
from rewound.eventlog.verify import verify
from rewound.projections.views import Views
from tests.contract.given import OnDisk, container, fact_ref, message, put

A = container(1)
DISK_MIB = 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = f"size={DISK_MIB}m,mode=700"
    command = ["mount", "-t", "tmpfs", "-o", options, "rewound-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, timeout=30)


def fill(disk: OnDisk, chars: int) -> int:
    """Append texts until the log refuses; how many it took."""
    taken = 0
    while True:
        try:
            put(disk.log, A, message(disk.log, "x" * chars))
        except StoreFull:
            return taken
        taken += 1


def take_all(file: RawIOBase) -> None:
    """Write until there is no room left on the disk."""
    with pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))


def check(disk: OnDisk, positions: int) -> None:
    """All that was acknowledged is there, and nothing else."""
    with disk.log.reading() as reader:
        assert reader.head(A).position == reader.sequence() == positions
        found = verify(reader)
    assert found.ok
    assert found.events == positions


def test_a_full_disk(small_disk: Path) -> None:
    disk = OnDisk(small_disk / "log")
    taken = fill(disk, 8000)
    assert taken > 50
    taken += fill(disk, 10)
    check(disk, taken)

    # Reads, and writes that are refused, change nothing; opening it anew works.
    for _ in range(3):
        with pytest.raises(StoreFull):
            put(disk.log, A, message(disk.log, "x" * 8000))
    disk.reopen()
    check(disk, taken)

    # Taking back works, again and again.
    for at in range(1, 21):
        with disk.log.writing(urgent=True) as writer:
            places = (Place(at, 0), Place(at, 1))
            writer.append(A, [Draft(ContentErased((fact_ref(at),), places))])
            assert writer.erase(A, places, [fact_ref(at)]) == 2
    taken += 20
    check(disk, taken)
    with pytest.raises(StoreFull, match="forgetting"):
        put(disk.log, A, message(disk.log))

    # There is no room for a copy either: it stays to be done, and nothing of it is left behind.
    with pytest.raises(StoreFull):
        disk.log.compact()
    assert disk.log.needs_compaction()
    assert sorted(p.name for p in (small_disk / "log").iterdir()) == ["gen-000001", "owner"]
    disk.reopen()
    check(disk, taken)

    # Once there is room again all goes on, without a restart.
    remount = ["mount", "-o", f"remount,size={3 * DISK_MIB}m", str(small_disk)]
    subprocess.run(remount, check=True, timeout=30)
    put(disk.log, A, message(disk.log))
    disk.log.compact()
    assert not disk.log.needs_compaction()
    check(disk, taken + 1)
    disk.log.close()


def test_room_that_comes_back_is_used_without_a_restart(small_disk: Path) -> None:
    ballast = small_disk / "something else"
    ballast.write_bytes(bytes(2 << 20))
    disk = OnDisk(small_disk / "log")
    taken = fill(disk, 2000)
    ballast.unlink()
    put(disk.log, A, message(disk.log))
    check(disk, taken + 1)
    disk.log.close()


def test_a_disk_that_is_full_from_the_start(small_disk: Path) -> None:
    ballast = small_disk / "something else"
    with ballast.open("wb", buffering=0) as file:
        take_all(file)
    with pytest.raises(StoreFull):
        OnDisk(small_disk / "log")
    ballast.unlink()
    disk = OnDisk(small_disk / "log")
    put(disk.log, A, message(disk.log))
    check(disk, 1)
    disk.log.close()


def test_views_follow_when_the_log_took_the_last_room(small_disk: Path) -> None:
    """Without views nothing is read and nothing is taken back, so the kept room goes to them."""
    disk = OnDisk(small_disk / "log")
    views = Views(small_disk / "views", disk.log)
    for number in range(20):
        put(disk.log, A, message(disk.log, f"text {number}"))
    with (small_disk / "something else").open("wb", buffering=0) as file:
        take_all(file)

    assert views.catch_up() == 20
    with pytest.raises(StoreFull, match="forgetting"):
        put(disk.log, A, message(disk.log))
    with disk.log.writing(urgent=True) as writer:
        writer.append(A, [Draft(ContentErased((fact_ref(1),), ()))])
    assert views.catch_up() == 1

    # There is nothing left to give: it is said, and made up for once there is room.
    with disk.log.writing(urgent=True) as writer:
        writer.append(A, [Draft(ContentErased((fact_ref(2),), ()))])
    with (small_disk / "more").open("wb", buffering=0) as file:
        take_all(file)
    with pytest.raises(StoreFull):
        views.catch_up()
    (small_disk / "something else").unlink()
    assert views.catch_up() == 1
    check(disk, 22)
    views.close()
    disk.log.close()
