"""What `ingest` takes from a disk, what it leaves out, and under which id."""

import os
from pathlib import Path

import click
import pytest

from rewound.http import files
from rewound.http.files import Found, Skip

NOWHERE = Path("/nowhere")
MIB = 1 << 20


def walked(
    named: str | Path,
    *,
    alias: str | None = None,
    hidden: bool = False,
    exclude: tuple[str, ...] = (),
) -> tuple[list[str], dict[str, str]]:
    """Ids found, and why the rest was skipped."""
    root = files.roots_of(str(named), alias=alias)
    found = list(files.walk(root, avoid=NOWHERE, hidden=hidden, exclude=exclude))
    return (
        [one.id for one in found if isinstance(one, Found)],
        {one.path: one.why for one in found if isinstance(one, Skip)},
    )


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.md").write_text("# B\n")
    (folder / "a.txt").write_text("a")
    (folder / "sub/c.py").write_text("c = 1\n")
    return folder


def test_a_folder_gives_its_files_in_order(notes: Path) -> None:
    assert walked(notes) == (["notes/a.txt", "notes/b.md", "notes/sub/c.py"], {})


def test_a_file_has_the_same_id_whichever_way_it_is_named(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ["notes/b.md"]
    assert walked(notes / "b.md")[0] == expected
    assert walked(notes / "*.md")[0] == expected
    monkeypatch.chdir(notes)
    assert walked("b.md")[0] == expected
    assert walked("./b.md")[0] == expected
    assert walked("*.md")[0] == expected
    assert "notes/b.md" in walked(".")[0]
    monkeypatch.chdir(notes / "sub")
    assert "notes/b.md" in walked("..")[0]
    assert walked("../*.md")[0] == expected
    assert walked(notes / "**/*.py")[0] == ["notes/sub/c.py"]


def test_an_alias_is_the_first_part_of_the_ids(notes: Path) -> None:
    assert walked(notes, alias="mine")[0] == ["mine/a.txt", "mine/b.md", "mine/sub/c.py"]


def test_hidden_files_and_folders_are_left_out_unless_asked_for(notes: Path) -> None:
    (notes / ".git").mkdir()
    (notes / ".git/config").write_text("x")
    (notes / ".env").write_text("SECRET=1")
    ids, skipped = walked(notes)
    assert len(ids) == 3
    assert skipped == {"notes/.env": "hidden", "notes/.git": "hidden"}
    assert "notes/.git/config" in walked(notes, hidden=True)[0]
    assert walked(notes / ".env")[0] == ["notes/.env"]


def test_patterns_leave_out(notes: Path) -> None:
    ids, skipped = walked(notes, exclude=("*.md", "sub"))
    assert ids == ["notes/a.txt"]
    assert skipped == {"notes/b.md": "excluded", "notes/sub": "excluded"}


def test_links_in_a_folder_are_never_followed(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (notes / "etc").symlink_to("/etc")
    (notes / "out.txt").symlink_to(tmp_path / "secret.txt")
    (notes / "in.txt").symlink_to(notes / "a.txt")
    (notes / "up").symlink_to(notes)
    (notes / "dead").symlink_to("nowhere.txt")
    ids, skipped = walked(notes)
    assert ids == ["notes/a.txt", "notes/b.md", "notes/sub/c.py"]
    assert skipped == {
        "notes/etc": "a link out of the folder",
        "notes/out.txt": "a link out of the folder",
        "notes/in.txt": "a link inside the folder",
        "notes/up": "a link inside the folder",
        "notes/dead": "a link inside the folder",
    }
    assert walked(notes / "*.txt")[0] == ["notes/a.txt"]


def test_a_link_named_by_itself_is_followed(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(notes)
    assert walked(tmp_path / "link")[0] == ["notes/a.txt", "notes/b.md", "notes/sub/c.py"]


def test_a_file_swapped_for_a_link_is_not_followed(notes: Path, tmp_path: Path) -> None:
    """Between walking and reading, somebody may put a link where the file was."""
    (tmp_path / "secret.txt").write_text("secret")
    (notes / "a.txt").unlink()
    (notes / "a.txt").symlink_to(tmp_path / "secret.txt")
    read = files.read(Found(notes / "a.txt", "notes/a.txt"), MIB)
    assert isinstance(read, Skip)


@pytest.mark.timeout(20)
def test_a_pipe_is_no_file(notes: Path) -> None:
    os.mkfifo(notes / "pipe")
    assert walked(notes)[1] == {"notes/pipe": "not a regular file"}
    read = files.read(Found(notes / "pipe", "notes/pipe"), MIB)
    assert read == Skip("notes/pipe", "not a regular file")


def test_the_store_itself_is_left_out(notes: Path) -> None:
    root = files.roots_of(str(notes))
    found = list(files.walk(root, avoid=notes / "sub", hidden=False, exclude=()))
    assert Skip("notes/sub", "the store itself") in found


def test_a_name_that_is_no_text(notes: Path) -> None:
    (notes / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert walked(notes)[1] == {"notes/caf\\udce9.txt": "its name is not UTF-8"}


@pytest.mark.parametrize(
    "name", ["CON", "~root", "..%2f..%2fetc", "..\\..\\x", "a b", "é", "x" * 250]
)
def test_odd_names_are_just_names(notes: Path, name: str) -> None:
    (notes / name).write_text("x")
    assert f"notes/{name}" in walked(notes, hidden=True)[0]


@pytest.mark.parametrize("name", ["missing", "missing/*.md", "x" * 5000, "a\0b"])
def test_what_is_not_there_is_named(name: str) -> None:
    with pytest.raises(click.UsageError):
        files.roots_of(name)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"plain", "plain"),
        ("é ü 漢".encode(), "é ü 漢"),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        ("sixteen bits".encode("utf-16"), "sixteen bits"),
        (b"a\r\nb\n", "a\r\nb\n"),
    ],
)
def test_text_is_decoded(notes: Path, raw: bytes, expected: str) -> None:
    (notes / "x").write_bytes(raw)
    assert files.read(Found(notes / "x", "x"), MIB) == expected


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "binary (a zero byte at 8)"),
        (b"caf\xe9", "not UTF-8 (byte 0xe9 at 3)"),
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\xff\xfe\x00\xd8", "not UTF-16 (byte 0x00 at 2)"),
        (b"x" * (MIB + 1), "1.0 MiB, over the limit of 1 MiB (max_text_mb)"),
    ],
)
def test_what_is_no_text_is_skipped_with_the_reason(notes: Path, raw: bytes, why: str) -> None:
    (notes / "x").write_bytes(raw)
    assert files.read(Found(notes / "x", "x"), MIB) == Skip("x", why)


def test_what_cannot_be_read_is_skipped(notes: Path) -> None:
    read = files.read(Found(notes / "gone", "gone"), MIB)
    assert read == Skip("gone", "cannot be read: No such file or directory")


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("a.md", "markdown"),
        ("a.PY", "code"),
        ("Makefile", "code"),
        ("a.json", "json"),
        ("a.jsonl", "json"),
        ("a.txt", "text"),
        ("LICENSE", "text"),
    ],
)
def test_the_ending_tells_the_media(name: str, media: str) -> None:
    assert files.media_of(Path(name)) == media


def test_titles() -> None:
    path = Path("guide.md")
    assert files.title_of(path, "\n# The guide #\ntext", "markdown") == "The guide"
    assert files.title_of(path, "## Second level\n", "markdown") == "guide.md"
    assert files.title_of(path, "# comment\n", "code") == "guide.md"


def test_only_what_is_known_to_be_missing_is_gone(notes: Path) -> None:
    assert files.is_gone(notes / "gone.md")
    assert files.is_gone(notes / "a.txt/below")
    assert not files.is_gone(notes / "a.txt")
    assert not files.is_gone(notes / ("x" * 5000))
