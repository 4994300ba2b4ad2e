"""Commands that write: `remember`, `update`, `forget`, `restore`, `erase`, `undo`."""

import sys
from typing import Any

import click
import msgspec

from rewound.http.cli_base import (
    Command,
    State,
    ask,
    common_options,
    emit,
    note,
    say,
    state_of,
)
from rewound.http.cli_errors import Refusal
from rewound.http.cli_feed import read_stdin
from rewound.http.cli_options import (
    KINDS,
    filter_options,
    filters_of,
    importance_option,
    meta_option,
    metadata_of,
    tag_option,
    write_options,
    writing,
)
from rewound.http.words import counted
from rewound.memory.replies import Erased, Forgot, Undid, Written
from rewound.memory.requests import Erase, Filters, Forget, NewFact, Remember, Restore, Undo, Update


def _times(command: Any) -> Any:
    """When a statement was made, holds and expires."""
    for name, text in (
        ("expires-at", "From then on it is no longer shown."),
        ("valid-to", "Until when it holds."),
        ("valid-from", "Since when it holds."),
        ("said-at", "When it was said."),
    ):
        command = click.option(f"--{name}", metavar="TIME", help=text)(command)
    return command


def _text(state: State, text: str) -> str:
    """The argument, or standard input for `-` (without the newline at its end)."""
    if text != "-":
        return text
    return read_stdin(state.settings.max_text_mb << 20).removesuffix("\n").removesuffix("\r")


@click.command("remember", cls=Command)
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), default="fact", help="What it is.")
@click.option("--id", "caller_id", metavar="ID", help="Your own id: sent again, it updates.")
@_times
@click.option("--forget-after", metavar="DURATION", help="Or so long after it was said: 30 days.")
@click.option("--subject", help="What it is about.")
@click.option("--attribute", help="What it says of it.")
@click.option("--value", help="And what that is.")
@click.option("--infer/--no-infer", default=False, help="Keep it as a note and derive facts.")
@importance_option
@tag_option
@meta_option
@write_options
@common_options
@click.pass_context
def remember_command(ctx: click.Context, /, text: str, **given: Any) -> None:
    """Remember a statement word for word (- reads it from standard input)."""
    state = state_of(ctx)
    names = ("kind", "said_at", "valid_from", "valid_to", "expires_at", "forget_after")
    fact = NewFact(
        text=_text(state, text),
        id=given["caller_id"],
        tags=given["tags"],
        metadata=metadata_of(given["metadata"]),
        **{name: given[name] for name in (*names, "subject", "attribute", "value", "importance")},
    )
    request = Remember(
        container=state.container, facts=(fact,), infer=given["infer"], **writing(given)
    )
    emit(state, ask(state, request, Written))


@click.command("update", cls=Command)
@click.argument("id", metavar="ID")
@click.argument("text", required=False)
@click.option("--corrects", is_flag=True, help="The old wording was wrong all along.")
@click.option("--add-tag", "add_tags", multiple=True, metavar="TAG", help="Add (repeatable).")
@click.option("--remove-tag", "remove_tags", multiple=True, metavar="TAG", help="Take off.")
@importance_option
@_times
@meta_option
@write_options
@common_options
@click.pass_context
def update_command(ctx: click.Context, /, text: str | None, **given: Any) -> None:
    """Give a fact a new wording, any item other tags or importance.

    The old wording stays as a superseded version, found again with --as-of and `history`.
    """
    state = state_of(ctx)
    names = ("id", "corrects", "add_tags", "remove_tags", "importance")
    times = ("said_at", "valid_from", "valid_to", "expires_at")
    request = Update(
        container=state.container,
        text=None if text is None else _text(state, text),
        metadata=metadata_of(given["metadata"]) or None,
        **{name: given[name] for name in (*names, *times)},
        **writing(given),
    )
    emit(state, ask(state, request, Written))


@click.command("forget", cls=Command)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--text", metavar="TEXT", help="Forget what says just this.")
@click.option("--query", metavar="TEXT", help="Forget what a search for this finds.")
@click.option("--similar", metavar="TEXT", help="Show what is similar; see --batch.")
@click.option("--batch", metavar="ID", help="With --similar --no-dry-run: forget what was shown.")
@filter_options()
@click.option("--limit", type=int, help="At most so many hits (100), or similar items (20).")
@click.option("--reason", metavar="TEXT", help="Kept with the event.")
@click.option("--dry-run/--no-dry-run", default=None, help="Only show what would be forgotten.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--key", help="Idempotency key: sent twice, done once.")
@click.option("--unless-after", type=int, metavar="POSITION", help="Refuse if changed since.")
@common_options
@click.pass_context
def forget_command(ctx: click.Context, /, ids: tuple[str, ...], **given: Any) -> None:
    """Hide items until they are restored, from every moment.

    Name facts, documents, messages or events (all that an event brought in) by their ids; or
    choose by --text, --query and filters, which asks before it hides more than one item. What is
    --similar is shown first; --no-dry-run with the --batch of that forgets it.
    """
    state = state_of(ctx)
    filters = filters_of(given)
    by = [name for name in ("text", "query", "similar") if given[name] is not None]
    if ids and by:
        raise click.UsageError(f"give ids or --{by[0]}, not both", ctx)
    if len(by) > 1:
        raise click.UsageError(f"give --{by[0]} or --{by[1]}, not both", ctx)
    if not ids and not by and filters == Filters():
        raise click.UsageError(
            "nothing named: give ids, --text, --query, --similar or filters such as --tag", ctx
        )
    request = Forget(
        container=state.container,
        ids=ids,
        filters=filters if filters != Filters() and not _only_scope(ids, filters) else None,
        **{name: given[name] for name in ("text", "query", "similar", "batch")},
        **{name: given[name] for name in ("limit", "reason", "dry_run")},
        **writing(given),
    )
    if ids or request.similar is not None or request.dry_run or given["yes"]:
        emit(state, ask(state, request, Forgot))
    else:
        _forget_chosen(ctx, state, request)


def _only_scope(ids: tuple[str, ...], filters: Filters) -> bool:
    """Ids with a scope: the scope is the command's own, not a condition."""
    return bool(ids) and filters == Filters(scope=filters.scope)


def _forget_chosen(ctx: click.Context, state: State, request: Forget) -> None:
    """Look first; more than one item is forgotten only when a person says so."""
    preview = ask(state, msgspec.structs.replace(request, dry_run=True, key=None), Forgot)
    if preview.count > 1:
        interactive = sys.stdin.isatty() and sys.stdout.isatty() and not state.settings.json
        emit(state, preview)
        items = counted(preview.count, "item")
        if not interactive:
            raise Refusal(f"nothing was forgotten: add --yes to forget {items}", field="yes")
        if not click.confirm(f"Forget {items}?", err=True):
            say("nothing was forgotten", err=True)
            ctx.exit(1)
        if request.unless_after is None:  # what is forgotten must be what was shown
            request = msgspec.structs.replace(request, unless_after=preview.position)
    emit(state, ask(state, request, Forgot))


@click.command("restore", cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@write_options
@common_options
@click.pass_context
def restore_command(ctx: click.Context, /, ids: tuple[str, ...], **given: Any) -> None:
    """Show forgotten items again."""
    state = state_of(ctx)
    request = Restore(container=state.container, ids=ids, **writing(given))
    emit(state, ask(state, request, Forgot), verb="restored")


@click.command("erase", cls=Command)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("-y", "--yes", is_flag=True, help="Do it; without it, only show what would go.")
@click.option("--dry-run", is_flag=True, help="Only show what would go, as without --yes.")
@click.option("--wait/--no-wait", default=True, help="Answer after the compaction, or before.")
@write_options
@common_options
@click.pass_context
def erase_command(ctx: click.Context, /, ids: tuple[str, ...], **given: Any) -> None:
    """Destroy items for ever, with all their wordings and the bytes they came from.

    The one command that cannot be undone. Without --yes it only lists what would be destroyed.
    """
    state = state_of(ctx)
    if given["yes"] and given["dry_run"]:
        raise click.UsageError("--yes and --dry-run contradict each other: give one of them", ctx)
    request = Erase(
        container=state.container,
        ids=ids,
        dry_run=not given["yes"],
        wait=given["wait"],
        **writing(given),
    )
    emit(state, ask(state, request, Erased))
    if request.dry_run:
        note(state, "nothing was erased: add --yes to destroy this for ever")


@click.command("undo", cls=Command)
@click.argument("id", metavar="EVENT|GROUP")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--cascade", is_flag=True, help="Take back later commands that stand on it too.")
@write_options
@common_options
@click.pass_context
def undo_command(ctx: click.Context, /, **given: Any) -> None:
    """Take an event back, or all of a group.

    EVENT looks like ev_..., GROUP like grp_.... An undo is an event itself: undo it to have
    everything as it was before.
    """
    state = state_of(ctx)
    names = ("id", "dry_run", "cascade")
    request = Undo(
        container=state.container, **{name: given[name] for name in names}, **writing(given)
    )
    emit(state, ask(state, request, Undid))
