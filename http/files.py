"""From paths to texts: what `ingest` takes, what it leaves out, and why.

A document's id is the path as seen from the folder above the one that was named: the folder's own
name and the way from there (`docs/guide/start.md`). A file named by itself counts as named in its
folder. So the same file has the same id whichever way it was typed, and two folders of different
names never replace each other's documents.

Inside a named folder, or below what a pattern leaves open, links are never followed: one that leads
out could bring in anything, one that leads inside is taken under its own name anyway.
"""

import fnmatch
import glob
import os
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import click
import msgspec

MEDIA = {
    "markdown": "md markdown mdown mkd mdx rmd qmd",
    "json": "json jsonl ndjson geojson ipynb webmanifest",
    "code": (
        "py pyi js mjs cjs ts tsx jsx java kt kts scala groovy c h cc cpp cxx hh hpp cs go rs rb "
        "php pl pm lua r jl swift m mm sh bash zsh fish ps1 bat sql html htm css scss less xml "
        "svg yaml yml toml ini cfg conf proto graphql tf dockerfile makefile cmake vue svelte "
        "clj cljs ex exs erl hs ml mli fs fsx elm dart zig nim asm s el lisp scm vim"
    ),
}
_MEDIA_OF = {ending: name for name, endings in MEDIA.items() for ending in endings.split()}

TITLE_LINES_MAX = 40
"""A Markdown heading further down is no title."""


class Skip(msgspec.Struct, frozen=True):
    """Something that was left out, and why."""

    path: str
    why: str


class Found(NamedTuple):
    """A file to be read: where it is, and the id it will have."""

    path: Path
    id: str


class Root(NamedTuple):
    """Something that was named: a file, a folder, or what a pattern matched below `base`."""

    base: Path
    """The folder above all of it, free of links."""
    name: str
    """What ids begin with."""
    members: tuple[Path, ...]
    whole: bool = False
    """All of the folder was named, so what is missing from it is gone."""


def roots_of(named: str, *, alias: str | None = None) -> Root:
    """What a PATH names. Raises click's UsageError for what is not there."""
    path = Path(named)
    if not os.path.lexists(path) and glob.has_magic(named):
        return _matched(named, alias)
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "cannot be followed"
        raise click.BadParameter(f"{named!r}: {reason}", param_hint="PATH", param=_PATHS) from None
    if real.is_dir():
        return Root(real, alias or real.name or "root", (real,), whole=True)
    name = str(PurePosixPath(alias).parent) if alias else real.parent.name or "root"
    return Root(real.parent, name, (real,))


def _matched(pattern: str, alias: str | None) -> Root:
    fixed = []
    for part in Path(pattern).parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    base = Path(*fixed).resolve() if fixed else Path.cwd().resolve()
    start = Path(*fixed)
    rest = Path(pattern).parts[len(fixed) :]
    matches = sorted(_below(start, rest))
    if not matches:
        message = f"{pattern!r} matches nothing"
        raise click.BadParameter(message, param_hint="PATH", param=_PATHS)
    members = [Path(os.path.abspath(match)) for match in matches]
    inside = [base / Path(os.path.relpath(member, os.path.abspath(start))) for member in members]
    return Root(base, alias or base.name or "root", tuple(inside))


def _below(folder: Path, pattern: Sequence[str]) -> Iterator[Path]:
    """What a pattern's parts match in a folder, as a shell has it: `*` matches no hidden file, and
    `**` any depth. Links are matched but never followed: `glob` would follow them."""
    if not pattern:
        if os.path.lexists(folder):
            yield folder
        return
    part, rest = pattern[0], pattern[1:]
    if part == "**":
        yield from _below(folder, rest)
        for entry in _entries(folder, hidden=False):
            if _is_folder(entry):
                yield from _below(entry, pattern)
            elif not rest:
                yield entry
        return
    entries = [folder / part]
    if glob.has_magic(part):
        names = _entries(folder, hidden=part.startswith("."))
        entries = [entry for entry in names if fnmatch.fnmatch(entry.name, part)]
    for entry in entries:
        if not rest or _is_folder(entry):
            yield from _below(entry, rest)


def _entries(folder: Path, *, hidden: bool) -> list[Path]:
    """What a folder holds; nothing where it cannot be looked into."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if name.startswith(".") == hidden]


def _is_folder(path: Path) -> bool:
    """A folder itself, not a link to one."""
    return os.path.isdir(path) and not os.path.islink(path)


def walk(
    root: Root, *, avoid: Path, hidden: bool, exclude: tuple[str, ...]
) -> Iterator[Found | Skip]:
    """Every file of a root in the order of their names, or why it is not taken."""
    seen: set[Path] = set()
    members = set(root.members)
    stack = list(reversed(root.members))
    while stack:
        path = stack.pop()
        if path in seen:
            continue
        seen.add(path)
        relative = path.relative_to(root.base)
        shown = str(PurePosixPath(root.name) / relative)
        named = path in members
        if why := _unwanted(path, relative, named, root, avoid, hidden, exclude):
            yield Skip(_printable(shown), why)
            continue
        try:
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                stack += sorted(path.iterdir(), reverse=True)
            elif not stat.S_ISREG(mode):
                yield Skip(_printable(shown), "not a regular file")
            elif not _is_text_name(shown):
                yield Skip(_printable(shown), "its name is not UTF-8")
            else:
                yield Found(path, shown)
        except OSError as error:
            yield Skip(_printable(shown), _unreadable(error))


def _unwanted(
    path: Path,
    relative: Path,
    named: bool,
    root: Root,
    avoid: Path,
    hidden: bool,
    exclude: tuple[str, ...],
) -> str | None:
    if not hidden and not named and path.name.startswith("."):
        return "hidden"
    if any(relative.match(pattern) for pattern in exclude):
        return "excluded"
    if path == avoid:
        return "the store itself"
    if path.is_symlink():
        inside = Path(os.path.realpath(path)).is_relative_to(root.base)
        return "a link inside the folder" if inside else "a link out of the folder"
    return None


def read(found: Found, bytes_max: int) -> str | Skip:
    """The file's text, or why it has none. Never follows a link, never waits for a pipe."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(found.path, flags)
        with open(fd, "rb") as opened:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return Skip(found.id, "not a regular file")
            if status.st_size > bytes_max:
                return Skip(found.id, too_large(status.st_size, bytes_max))
            raw = opened.read(bytes_max + 1)
    except OSError as error:
        return Skip(found.id, _unreadable(error))
    if len(raw) > bytes_max:
        return Skip(found.id, too_large(len(raw), bytes_max))
    text, why = decode(raw)
    return Skip(found.id, why) if why else text


def is_gone(path: Path) -> bool:
    """The file is known not to be there: what cannot be looked at may still be."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def decode(raw: bytes) -> tuple[str, str]:
    """The text of some bytes, or an empty one and why they are no text."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        encoding, name = "utf-16", "UTF-16"
    else:
        encoding, name = "utf-8", "UTF-8"
        raw = raw.removeprefix(BOM_UTF8)
        if (at := raw.find(0)) >= 0:
            return "", f"binary (a zero byte at {at})"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        return "", f"not {name} (byte {raw[error.start]:#04x} at {error.start})"
    if "\0" in text:
        return "", "binary (a zero character)"
    return (text, "") if text.strip() else ("", "empty")


def media_of(path: Path) -> str:
    """What the text is written in, by the file's ending; `text` for what is not known."""
    ending = path.suffix[1:].lower() or path.name.lower()
    return _MEDIA_OF.get(ending, "text")


def title_of(path: Path, text: str, media: str) -> str:
    """A Markdown text's first heading, else the file's name."""
    if media == "markdown":
        for line in text[:20_000].splitlines()[:TITLE_LINES_MAX]:
            if line.startswith("# ") and line[2:].strip(" #"):
                return line[2:].strip(" #")[:200]
    return path.name


def too_large(size: int, bytes_max: int) -> str:
    mib = 1 << 20
    return f"{size / mib:.1f} MiB, over the limit of {bytes_max / mib:g} MiB (max_text_mb)"


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror or type(error).__name__}"


def _is_text_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


_PATHS = click.Argument(["paths"], nargs=-1)
