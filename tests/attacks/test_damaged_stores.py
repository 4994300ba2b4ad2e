"""Stores whose files were lost, mixed up or damaged: told, never passed over, never for ever."""

import os
import shutil
import struct
import sys
from pathlib import Path

import lmdb
import pytest

from rewound.eventlog import failpoints
from rewound.eventlog.environment import Environment
from rewound.eventlog.errors import Damaged
from rewound.memory import Memory
from tests import loaded

LOG, VIEWS = Path("log/gen-000001/data.mdb"), Path("views/gen-000001/data.mdb")


def store(folder: Path, *texts: str) -> Path:
    with Memory(folder) as memory:
        for text in texts:
            memory.remember(text)
    return folder


def texts_of(folder: Path) -> list[str | None]:
    with Memory(folder) as memory:
        return [item.text for item in memory.list().items]


def test_views_of_another_store_are_folded_anew(tmp_path: Path) -> None:
    one = store(tmp_path / "one", "Nina likes tea.", "Tomas likes cake.")
    two = store(tmp_path / "two", "Ana lives in Rome.", "Ben lives in Oslo.")
    shutil.rmtree(one / "views")
    shutil.copytree(two / "views", one / "views")
    assert texts_of(one) == ["Nina likes tea.", "Tomas likes cake."]
    assert b"Ana" not in (one / VIEWS).read_bytes()


def test_views_ahead_of_a_log_from_a_backup_are_folded_anew(tmp_path: Path) -> None:
    now = store(tmp_path / "now", "Nina likes tea.")
    shutil.copytree(now / "log", tmp_path / "backup")
    store(now, "Tomas likes cake.", "Ana lives in Rome.")
    shutil.rmtree(now / "log")
    shutil.copytree(tmp_path / "backup", now / "log")
    assert texts_of(now) == ["Nina likes tea."]
    store(now, "Ben lives in Oslo.")
    with Memory(now) as memory:
        assert [item.text for item in memory.list().items] == [
            "Nina likes tea.",
            "Ben lives in Oslo.",
        ]
        assert memory.rebuild().equal
        assert memory.replay("now").agrees


@pytest.mark.parametrize("how", ["folder", "generation", "empty"])
def test_a_lost_log_is_damage_and_no_new_store(tmp_path: Path, how: str) -> None:
    folder = store(tmp_path / "store", "Nina likes tea.")
    if how == "folder":
        shutil.rmtree(folder / "log")
    elif how == "generation":
        shutil.rmtree((folder / LOG).parent)
    else:
        (folder / LOG).write_bytes(b"")
    with Memory(folder) as memory:
        for _ in range(2):
            with pytest.raises(Damaged, match="the log is gone"):
                memory.remember("Tomas likes cake.")


def test_a_row_that_cannot_be_decoded_is_damage_that_a_rebuild_mends(tmp_path: Path) -> None:
    folder = store(tmp_path / "store", "Nina likes tea.")
    views = Environment(folder / "views", [], points=failpoints.VIEWS)
    facts = next(name for name in views.names() if name.startswith("facts."))

    def spoil(txn: "lmdb.Transaction[bytes]") -> None:
        with txn.cursor(views.db(facts)) as cursor:
            assert cursor.first()
            key, value = bytes(cursor.key()), bytes(cursor.value())
        assert txn.put(key, value[:16] + b"\xc1" + value[17:], db=views.db(facts))

    views.write(spoil)
    views.close()
    with Memory(folder) as memory:
        with pytest.raises(Damaged, match="rebuild"):
            memory.list()
        assert not memory.rebuild().equal
        assert [item.text for item in memory.list().items] == ["Nina likes tea."]


def test_damaged_views_say_that_they_can_be_deleted(tmp_path: Path) -> None:
    folder = store(tmp_path / "store", "Nina likes tea.")
    (folder / VIEWS).write_bytes(b"\xff" * 100_000)
    with Memory(folder) as memory, pytest.raises(Damaged, match=r"delete .*views"):
        memory.list()
    shutil.rmtree(folder / "views")
    assert texts_of(folder) == ["Nina likes tea."]


def test_a_store_that_cannot_be_opened_says_so_each_time(tmp_path: Path) -> None:
    folder = store(tmp_path / "store", "Nina likes tea.")
    raw = bytearray((folder / LOG).read_bytes())
    for place in range(8192, len(raw), 200):
        raw[place] ^= 0x5A
    (folder / LOG).write_bytes(raw)
    with Memory(folder) as memory:
        for _ in range(2):
            with pytest.raises(Damaged):
                memory.list()


@pytest.mark.parametrize("bytes_left", [8192, 20_000, 40_000])
@pytest.mark.parametrize("file", [LOG, VIEWS])
def test_a_file_that_was_cut_off_kills_no_process(
    tmp_path: Path, file: Path, bytes_left: int
) -> None:
    folder = store(tmp_path / "store", *(f"Nina fact {number}." for number in range(20)))
    assert (folder / file).stat().st_size > bytes_left
    os.truncate(folder / file, bytes_left)
    script = (
        "import sys\n"
        "from rewound.eventlog.errors import RewoundError\n"
        "from rewound.memory import Memory\n"
        "try:\n"
        "    with Memory(sys.argv[1]) as memory:\n"
        "        whole = memory.list().total == 20 and memory.verify().ok\n"
        "except RewoundError as error:\n"
        "    whole = error.code != 'damaged'\n"
        "sys.exit(whole)\n"
    )
    ended = loaded.run([sys.executable, "-c", script, str(folder)], timeout=60)
    assert ended.returncode == 0


def test_verify_ends_when_a_flipped_bit_sends_the_head_far_away(tmp_path: Path) -> None:
    folder = store(tmp_path / "store", "Nina likes tea.")
    with Memory(folder) as memory:
        head = memory.stats().info[0]
        assert memory.verify().ok
    # the row of a head: its position, then the digest that stats tells
    row = struct.pack(">Q", head.position) + bytes.fromhex(head.head)
    raw = (folder / LOG).read_bytes()
    assert row in raw
    (folder / LOG).write_bytes(raw.replace(row, b"\x10" + row[1:]))
    with Memory(folder) as memory:
        assert not memory.verify().ok
