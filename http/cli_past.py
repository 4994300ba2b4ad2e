"""Commands that look back: `log`, `diff`, `replay`."""

import os
import time
from typing import Any

import click
import msgspec

from rewound.http.cli_base import Command, State, ask, common_options, emit, state_of
from rewound.http.cli_options import moment_options, reading, scope_options
from rewound.memory.replies import Differences, Replayed, Told
from rewound.memory.requests import Diff, Events, Replay

FOLLOW_EVERY_S = 0.5
FOLLOW_PAGE = 500
EXIT_DISAGREES = 1


@click.command("log", cls=Command)
@click.option("--since", metavar="MOMENT", help="From a time or @position on, oldest first.")
@click.option("--type", "types", multiple=True, metavar="NAME", help="As 'fact remembered'.")
@click.option("--about", metavar="ID", help="Only events about this item.")
@click.option("--limit", type=int, help="How many (setting `page`).")
@click.option("--newest", is_flag=True, help="The last ones, as without --since.")
@click.option("--follow", is_flag=True, help="Go on telling what happens until stopped.")
@scope_options
@moment_options
@common_options
@click.pass_context
def log_command(ctx: click.Context, /, **given: Any) -> None:
    """Tell what happened, oldest first."""
    state = state_of(ctx)
    request = Events(
        container=state.container,
        since=given["since"],
        types=given["types"],
        about=given["about"],
        limit=state.settings.page if given["limit"] is None else given["limit"],
        newest=given["newest"] or given["since"] is None,
        **reading(given),
    )
    if not given["follow"]:
        emit(state, ask(state, request, Told))
        return
    if request.as_of is not None:
        raise click.UsageError("--follow looks ahead, --as-of looks back: give one", ctx)
    follow(state, request)


def follow(state: State, request: Events) -> None:
    """Tell events as they come, one JSON document a line with --json. Ends by Ctrl-C."""
    told = ask(state, request, Told)
    while True:
        tell(state, told)
        after = max([told.moment.position, *(event.position for event in told.events)])
        if told.next is not None and not request.newest:
            after = told.next
        else:
            time.sleep(FOLLOW_EVERY_S)
        request = msgspec.structs.replace(
            request, since=None, newest=False, after=after, limit=FOLLOW_PAGE
        )
        told = ask(state, request, Told)


def tell(state: State, told: Told) -> None:
    if not told.events:
        return
    if state.settings.json:
        for event in told.events:
            click.echo(msgspec.json.encode(event))
        return
    emit(state, msgspec.structs.replace(told, next=None))


@click.command("diff", cls=Command)
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO", default="now")
@scope_options
@moment_options
@common_options
@click.pass_context
def diff_command(ctx: click.Context, /, start: str, end: str, **given: Any) -> None:
    """What was learned, changed and forgotten between two moments.

    FROM and TO are times, positions (@123) or events (ev_...); TO may be `now`, as when left out.
    """
    state = state_of(ctx)
    request = Diff(
        container=state.container,
        start=start,
        end=None if end.strip().lower() == "now" else end,
        **reading(given),
    )
    emit(state, ask(state, request, Differences))


@click.command("replay", cls=Command)
@click.option("--at", required=True, metavar="MOMENT", help="A time, @position or event.")
@click.option("--to", metavar="DIR", help="Keep the store as it was in this new folder.")
@click.option("--verify", is_flag=True, help="Compare with as-of reads; exit 1 if they differ.")
@common_options
@click.pass_context
def replay_command(ctx: click.Context, /, at: str, to: str | None, verify: bool) -> None:
    """Build the store as it was at a moment, from the log alone."""
    state = state_of(ctx)
    request = Replay(
        container=state.container,
        at=at,
        to=None if to is None else os.path.abspath(os.path.expanduser(to)),
        verify=verify,
    )
    reply = ask(state, request, Replayed)
    emit(state, reply)
    if reply.agrees is False:
        ctx.exit(EXIT_DISAGREES)
