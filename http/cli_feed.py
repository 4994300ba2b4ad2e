"""Commands that bring in files and chats: `ingest`, `import`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, get_args

import click

from rewound.http import exports, feeding, files, words
from rewound.http.accounts import Imported, Ingested
from rewound.http.cli_base import Command, State, common_options, emit, state_of
from rewound.http.cli_errors import Refusal
from rewound.http.cli_options import (
    importance_option,
    meta_option,
    metadata_of,
    tag_option,
    write_options,
    writing,
)
from rewound.http.exports import Export
from rewound.http.feeding import Feed
from rewound.http.files import Found, Root, Skip
from rewound.http.taking_over import take_over
from rewound.memory.replies import Item
from rewound.memory.requests import Ingest, MediaName

EXIT_SOME_REFUSED = 2


@click.command("ingest", cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--as", "alias", metavar="NAME", help="Id of the one file, or first part of the ids.")
@click.option("--prune", is_flag=True, help="Tell documents gone from a named folder as removed.")
@click.option("--hidden", is_flag=True, help="Take hidden files and folders too.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out (repeatable).")
@click.option("--media", type=click.Choice(get_args(MediaName)), help="What the texts are.")
@click.option("--said-at", metavar="TIME", help="When the texts were written.")
@click.option("--infer/--no-infer", default=True, help="Derive facts, or take each text as one.")
@importance_option
@tag_option
@meta_option
@write_options
@common_options
@click.pass_context
def ingest_command(ctx: click.Context, /, paths: tuple[str, ...], **given: Any) -> None:
    """Keep files, folders or standard input as documents.

    PATH is a file, a folder, a pattern in quotes ('notes/**/*.md') or - for standard input. A file
    sent again replaces the document of the same id, the path as seen from the folder above the one
    named; what did not change is said to be unchanged.
    """
    state = state_of(ctx)
    alias: str | None = given["alias"]
    if alias is not None and len(paths) > 1:
        raise click.UsageError("--as goes with one PATH", ctx)
    bytes_max = state.settings.max_text_mb << 20
    roots = [files.roots_of(path, alias=alias) for path in paths if path != "-"]
    plan = feeding.Plan(
        bytes_max=bytes_max,
        media=given["media"],
        said_at=given["said_at"],
        tags=given["tags"],
        metadata=metadata_of(given["metadata"]),
        infer=given["infer"],
        importance=given["importance"],
    )
    feed = Feed(state, writing(given))
    skipped: list[Skip] = []
    items: list[Item] = []
    removed: list[Item] = []
    with telling_what_was_kept(feed):
        if "-" in paths:
            text = read_stdin(bytes_max)
            document = feeding.document(plan, text, caller_id=alias, path=None)
            items += feed.send(Ingest, "documents", (document,), infer=plan.infer)
        found = list(_found(state, roots, given, alias, skipped))
        with _progress(state, "reading", len(found), "files") as step:
            items += feeding.ingest_files(feed, plan, found, skipped, lambda _: step(1))
        if given["prune"]:
            for root in roots:
                removed += feeding.prune(feed, root) if root.whole else []
    feed.counts["skipped"] += len(skipped)
    emit(state, _ingested(feed, items, skipped, removed))
    if feed.counts["refused"]:
        ctx.exit(EXIT_SOME_REFUSED)


def _found(
    state: State, roots: list[Root], given: dict[str, Any], alias: str | None, skipped: list[Skip]
) -> Iterator[Found]:
    """Files of all roots, each once; two files that would have the same id are refused."""
    avoid = Path(state.settings.data).resolve()
    taken: dict[str, Path] = {}
    paths: set[Path] = set()
    for root in roots:
        single = alias if alias is not None and not root.whole and len(root.members) == 1 else None
        hidden, exclude = given["hidden"], given["exclude"]
        for one in files.walk(root, avoid=avoid, hidden=hidden, exclude=exclude):
            if isinstance(one, Skip):
                skipped.append(one)
                continue
            if one.path in paths:
                continue
            paths.add(one.path)
            one = one if single is None else one._replace(id=single)
            if one.id in taken:
                why = f"{taken[one.id]} has the same id: name them apart with --as"
                skipped.append(Skip(one.id, why))
                continue
            taken[one.id] = one.path
            yield one


def _ingested(feed: Feed, items: list[Item], skipped: list[Skip], removed: list[Item]) -> Ingested:
    names = ("written", "replaced", "unchanged", "refused", "skipped", "removed")
    return Ingested(
        container=feed.state.container,
        groups=tuple(feed.groups),
        position=feed.position,
        counts={name: feed.counts[name] for name in names},
        items=tuple(items),
        skipped=tuple(skipped),
        removed=tuple(removed),
        pending=feed.pending,
        notes=tuple(feed.notes),
    )


@click.command("import", cls=Command)
@click.argument("file", metavar="FILE")
@click.option("--infer/--no-infer", default=True, help="Derive facts, or take each text as one.")
@write_options
@common_options
@click.pass_context
def import_command(ctx: click.Context, /, file: str, **given: Any) -> None:
    """Keep a chat, or what another memory exported.

    FILE is a path or - for standard input. A chat is one JSON object a line, or a list of them: it
    holds content, and may hold id, conversation, role, name, time, tags, metadata and importance.
    Exports of ChatGPT, Claude, memry, mcp-memory-service, MemMachine, Supermemory and Mem0 are
    known by what they hold. What cannot be taken is told with its number; the rest is kept.
    Importing a file again adds only what is new.
    """
    state = state_of(ctx)
    feed = Feed(state, writing(given))
    bytes_max = state.settings.max_text_mb << 20
    with _opened(file) as (stream, size), telling_what_was_kept(feed):
        read = exports.opened(stream)
        if isinstance(read, Export):
            with _progress(state, "importing", len(read.found), "records") as step:
                taken = take_over(feed, read, infer=given["infer"], step=step)
            source, bad, conversations = read.source, taken.bad, taken.conversations
        else:
            with _progress(state, "importing", size, "bytes") as step:
                bad, conversations = feeding.import_lines(
                    feed, read, bytes_max, infer=given["infer"], step=step
                )
            source = "lines"
    feed.counts["written"] += feed.counts["replaced"]
    names = ("lines", "written", "unchanged", "refused", "bad")
    reply = Imported(
        container=state.container,
        groups=tuple(feed.groups),
        position=feed.position,
        counts={name: feed.counts[name] for name in names},
        conversations=conversations,
        bad=tuple(bad),
        source=source,
        pending=feed.pending,
        notes=tuple(feed.notes),
    )
    emit(state, reply)
    if feed.counts["refused"] or feed.counts["bad"]:
        ctx.exit(EXIT_SOME_REFUSED)


@contextmanager
def _opened(file: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """The stream to read, and its size where it has one."""
    if file == "-":
        yield stdin(), None
        return
    path = Path(file)
    try:
        opened = path.open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "cannot be read"
        raise Refusal(f"{file}: {reason}", code="not_found", field="file") from None
    with opened:
        yield opened, path.stat().st_size if path.is_file() else None


def stdin() -> IO[bytes]:
    """Standard input as bytes. Raises Refusal when there is none."""
    if sys.stdin is None:
        raise Refusal("standard input is closed", field="file")
    return sys.stdin.buffer


def read_stdin(bytes_max: int, *, field: str = "text") -> str:
    """All of standard input as text. Raises Refusal for what is too long or no text."""
    raw = stdin().read(bytes_max + 1)
    if len(raw) > bytes_max:
        limit = f"{bytes_max / (1 << 20):g} MiB (max_text_mb)"
        raise Refusal(f"standard input is longer than {limit}", field=field)
    text, why = files.decode(raw)
    if why:
        raise Refusal(f"standard input is {why}", field=field)
    return text


@contextmanager
def telling_what_was_kept(feed: Feed) -> Iterator[None]:
    """Batches are written one by one: when one fails, say what the earlier ones kept."""
    try:
        yield
    except BaseException:
        kept = feed.counts["written"] + feed.counts["replaced"]
        if kept:
            groups = list(feed.groups)
            undo = (
                f"rewound undo {groups[0]}" if len(groups) == 1 else "rewound undo, group by group"
            )
            click.echo(
                f"kept before this: {words.counted(kept, 'item')} (undo with: {undo})", err=True
            )
        raise


@contextmanager
def _progress(state: State, what: str, total: int | None, of: str) -> Iterator[Any]:
    """A bar on a terminal's stderr; nothing anywhere else."""
    if state.settings.json or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True, no_color=not state.look(err=True).color)
    count = DownloadColumn() if of == "bytes" else MofNCompleteColumn()
    columns = (TextColumn(what), BarColumn(), count)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)
