"""Where a store lies, and the lock that says who owns it."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rewound.eventlog.errors import InvalidInput, ReadOnly
from rewound.memory import place
from rewound.memory.lock import Holder, OwnerLock, described, holder
from rewound.memory.place import Layout, default_data, open_layout


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- the lock


def test_one_takes_it_and_the_next_does_not(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    held = OwnerLock.take(path)
    assert held is not None
    assert OwnerLock.take(path) is None
    held.release()
    held.release()
    again = OwnerLock.take(path)
    assert again is not None
    again.release()
    assert mode(path) == 0o600


def test_the_holder_tells_who_it_is(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    assert holder(path) is None
    assert described(path) == "another process"
    held = OwnerLock.take(path)
    assert held is not None
    assert holder(path) is None
    held.tell(Path("/a longer path/first"))
    held.tell(Path("/run/x.sock"))
    assert holder(path) == Holder(os.getpid(), Path("/run/x.sock"))
    assert f"process {os.getpid()} (" in described(path)
    held.tell(None)
    assert holder(path) == Holder(os.getpid(), None)
    held.release()


@pytest.mark.parametrize("content", [b"", b"\n", b"12", b"x\n\n", b"\xff\xfe\n/a\n"])
def test_a_torn_lock_file_tells_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "owner.lock"
    path.write_bytes(content)
    assert holder(path) is None
    assert described(path) == "another process"


def test_the_lock_ends_with_the_process(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    code = (
        "import sys, time; from pathlib import Path; from rewound.memory.lock import OwnerLock\n"
        "lock = OwnerLock.take(Path(sys.argv[1])); lock.tell(None); print('held', flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert OwnerLock.take(path) is None
        told = holder(path)
        assert told is not None
        assert told.pid == other.pid
        other.kill()
    held = OwnerLock.take(path)
    assert held is not None
    held.release()


def test_a_lock_that_was_given_away_stays_held(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    given = OwnerLock.take(path)
    assert given is not None
    taken = OwnerLock.adopt(path, os.dup(given.fileno()))
    given.release()
    assert taken is not None
    assert OwnerLock.take(path) is None
    taken.release()
    other = tmp_path / "other.lock"
    other.touch()
    assert OwnerLock.adopt(path, os.open(other, os.O_RDWR)) is None


def test_a_lock_file_replaced_meanwhile_is_not_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "owner.lock"
    locking = fcntl.flock
    removed: list[int] = []

    def replaced(fd: int, how: int) -> None:
        locking(fd, how)
        if not removed:
            path.unlink()
            removed.append(fd)

    monkeypatch.setattr(fcntl, "flock", replaced)
    held = OwnerLock.take(path)
    assert held is not None
    assert os.path.samestat(os.fstat(held.fileno()), path.stat())
    held.release()


def test_a_full_disk_keeps_nobody_from_owning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "owner.lock"
    held = OwnerLock.take(path)
    assert held is not None

    def full(fd: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "pwrite", full)
    held.tell(Path("/run/x.sock"))
    assert holder(path) is None
    held.release()


# --- the place


def test_a_data_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    layout = open_layout(tmp_path / "a/b")
    assert mode(layout.data) == 0o700
    assert layout == open_layout(str(tmp_path / "a/../a/b/"))
    assert (layout.log, layout.views) == (tmp_path / "a/b/log", tmp_path / "a/b/views")


def test_a_link_to_a_data_folder_is_that_folder(tmp_path: Path) -> None:
    real = open_layout(tmp_path / "real")
    (tmp_path / "link").symlink_to(real.data)
    assert open_layout(tmp_path / "link") == real


def test_the_default_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWOUND_DATA", str(tmp_path / "given"))
    assert open_layout().data == tmp_path / "given"
    monkeypatch.delenv("REWOUND_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_data() == Path("~/.rewound")
    assert open_layout().data == tmp_path / ".rewound"


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0byte", "x" * 300])
def test_what_cannot_be_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput) as caught:
        open_layout(tmp_path / name)
    assert caught.value.field == "data"


def test_the_socket_is_short_however_long_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    deep = open_layout(tmp_path.joinpath(*["d" * 200] * 5))
    other = open_layout(tmp_path.joinpath(*["d" * 200] * 4))
    assert len(os.fsencode(deep.socket())) <= place.SOCKET_PATH_BYTES_MAX
    assert deep.socket() != other.socket()
    assert deep.socket().parent == Path(f"/tmp/rewound-{os.getuid()}")


def test_the_runtime_folder_of_the_session_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        assert place.runtime_folder() == Path(short) / "rewound"
        assert mode(Path(short) / "rewound") == 0o700
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 120)))
    assert place.runtime_folder() == Path(f"/tmp/rewound-{os.getuid()}")


def test_a_folder_prepared_by_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(ReadOnly, match="belongs to somebody else"):
        place.private_folder(tmp_path / "link")
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    assert mode(place.private_folder(tmp_path / "open")) == 0o700
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(ReadOnly, match="belongs to somebody else"):
        place.private_folder(tmp_path / "real")


def test_an_accepted_clock_is_kept(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert layout.accepted_clock_us() == 0
    layout.accept_clock(1_750_000_000_000_000)
    assert layout.accepted_clock_us() == 1_750_000_000_000_000
    layout.clock.write_text("torn")
    assert layout.accepted_clock_us() == 0
