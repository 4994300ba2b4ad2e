"""A full disk and a full map through the library (cases R43 and R44).

Writes are refused with a clear error or succeed, never by half; reads go on; forget, undo and erase
work; what was acknowledged is there after a kill and a restart; with room again writing goes on.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.crash.filler import BALLAST, MIB, Findings
from tests.crash.inspecting import Store
from tests.crash.processes import Place, all_ended, place
from tests.crash.writer import CONTAINER
from tests.property import checks

pytestmark = pytest.mark.soak

DISK_MIB = 12


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={DISK_MIB}m"
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mount.returncode:
        pytest.skip(f"no small disk can be mounted here: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def filled(here: Place, how: str, data: Path) -> Findings:
    process = here.python("tests.crash.filler", how, data)
    with all_ended([process]):
        status, output = process.end(300)
    assert status in (0, -signal.SIGKILL) and output, f"{how}: {status} {here.printed()}"
    return msgspec.json.decode(output, type=Findings)


def check(data: Path, findings: Findings) -> None:
    """After the kill: log and views agree, and the store says what was acknowledged."""
    store = Store(data)
    try:
        store.whole(anew=True)
        dump = store.driver.dump(CONTAINER)
        lost = [item for item in findings.kept if item not in dump["facts"]]
        assert not lost, f"{len(lost)} of {len(findings.kept)} acknowledged facts are lost"
        for item, text in findings.kept.items():
            assert dump["facts"][item]["text"] == text
        twice = [text for text, times in store.wordings().items() if text and times > 1]
        assert not twice, "written twice"
        if findings.forgotten:
            assert findings.forgotten in dump["hidden"]
            assert findings.undone not in dump["facts"]
            assert findings.erased in dump["hidden"]
            assert dump["facts"].get(findings.erased, {}).get("text") is None
    finally:
        store.close()


@pytest.mark.timeout(600)
def test_a_full_disk(tmp_path: Path, disk: Path) -> None:
    (disk / BALLAST).write_bytes(os.urandom(4 * MIB))
    data = disk / "data"
    with place(tmp_path / "place") as here:
        findings = filled(here, "disk", data)
    assert findings.refused >= 1 and set(findings.codes) <= {"store_full", "store_busy"}
    assert findings.after == 20, "writing goes on without a restart once there is room"
    left = tmp_path / "left"
    shutil.copytree(data, left)
    check(left, findings)


@pytest.mark.timeout(600)
def test_a_map_that_grows_under_load(tmp_path: Path) -> None:
    """Eight threads, a reader and a second process, which writes through the socket."""
    with place(tmp_path) as here:
        process = here.python("tests.crash.filler", "growing", here.data)
        writer = here.writer("second", 3)
        with all_ended([process, writer]):
            status, output = process.end(300)
            assert writer.status() is None, here.printed()
            writer.kill()
        assert status == 0 and output, here.printed()
        findings = msgspec.json.decode(output, type=Findings)
        assert findings.refused == 0 and len(findings.kept) == 8 * 40
        check(here.data, findings)
        store = Store(here.data)
        try:
            assert store.keeps(here.journals) > 0
        finally:
            store.close()


@pytest.mark.timeout(600)
def test_a_map_that_may_not_grow(tmp_path: Path) -> None:
    with place(tmp_path) as here:
        findings = filled(here, "full-map", here.data)
        assert "store_full" in findings.codes
        check(here.data, findings)
        driver = Store(here.data).driver
        try:
            if driver.log.needs_compaction():
                driver.log.compact()
            left = [
                path
                for path in checks.files_of(here.data)
                if f"{findings.erased_word} of first".encode() in path.read_bytes()
            ]
            assert not left, f"erased bytes in {left}"
        finally:
            driver.close()
