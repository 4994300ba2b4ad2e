"""Commands that look after the store: `verify`, `seal`, `rebuild`, `stats`, `jobs`, `own`, …"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from rewound.http.accounts import Configuration, Owning, Setting
from rewound.http.cli_base import Command, State, ask, common_options, emit, note, state_of
from rewound.http.cli_options import moment_options, reading, scope_options, write_options, writing
from rewound.http.config import ENV_PREFIX, Settings, models_of, shown
from rewound.http.logs import log_to_stderr
from rewound.memory.link import Link
from rewound.memory.replies import (
    Accepted,
    Figures,
    JobList,
    Rebuilt,
    Reembedding,
    Sealed,
    Verified,
    Working,
    Written,
)
from rewound.memory.requests import (
    AcceptClock,
    Configure,
    Jobs,
    Rebuild,
    Reembed,
    Retry,
    Seal,
    Stats,
    SwitchAction,
    Verify,
    Workers,
    WorkersAction,
)

EXIT_DAMAGED = 1
LOOK_EVERY_S = 0.5
NOTHING_COMES_S = 120
JOBS_WAIT_S = 3_600


@click.command("verify", cls=Command)
@click.option("--expect", metavar="HEAD", help="A head kept elsewhere, that must be in the log.")
@common_options
@click.pass_context
def verify_command(ctx: click.Context, /, expect: str | None) -> None:
    """Check that nothing was lost or altered: every chain, every event, every text.

    Ends with 1 if something was. A cut-off end can only be found with --expect.
    """
    state = state_of(ctx)
    reply = ask(state, Verify(container=state.container, expect=expect), Verified)
    emit(state, reply)
    if not reply.ok or reply.expected is False:
        ctx.exit(EXIT_DAMAGED)


@click.command("seal", cls=Command)
@common_options
@click.pass_context
def seal_command(ctx: click.Context) -> None:
    """Hash all chains into one head to keep elsewhere."""
    state = state_of(ctx)
    emit(state, ask(state, Seal(container=state.container), Sealed))


@click.command("rebuild", cls=Command)
@click.argument("views", nargs=-1, metavar="[VIEW]...")
@common_options
@click.pass_context
def rebuild_command(ctx: click.Context, /, views: tuple[str, ...]) -> None:
    """Fold the views anew from the log, all of them unless some are named.

    The live views go on answering meanwhile, and are swapped at the end.
    """
    state = state_of(ctx)
    emit(state, ask(state, Rebuild(container=state.container, views=views), Rebuilt))


@click.command("reembed", cls=Command)
@click.option("--wait", is_flag=True, help="Wait until the new vectors are in place.")
@click.option("--status", "action", flag_value="status", help="Only tell how far it is.")
@click.option("--cancel", "action", flag_value="cancel", help="Stay with the vectors there are.")
@click.option("--now", is_flag=True, help="Drop the old vectors at once.")
@common_options
@click.pass_context
def reembed_command(ctx: click.Context, /, wait: bool, action: str | None, now: bool) -> None:
    """Change to the vectors of the embedder that is set.

    They are made in the background, while the old ones are searched, and put in place at the end.
    With --now words alone find until they are made.
    """
    state = state_of(ctx)
    if now and action:
        raise click.UsageError(f"--now does not go with --{action}: it begins a change")
    if wait and action == "cancel":
        raise click.UsageError("--wait does not go with --cancel: it is done at once")
    request = Reembed(container=state.container, action=_SWITCH[action], now=now)
    reply = ask(state, request, Reembedding)
    emit(state, _waited_for(state, reply) if wait else reply)


_SWITCH: dict[str | None, SwitchAction] = {None: "start", "status": "status", "cancel": "cancel"}


def _waited_for(state: State, begun: Reembedding) -> Reembedding:
    """The same, once all vectors are there, nothing more comes, or an hour is over."""
    until = time.monotonic() + JOBS_WAIT_S
    reply, seen, since = begun, None, time.monotonic()
    while time.monotonic() < until:
        left = reply.switch
        if (left is None and not reply.unembedded) or (left and left.state == "halted"):
            break
        if seen != (left, reply.unembedded):
            seen, since = (left, reply.unembedded), time.monotonic()
        elif time.monotonic() - since > NOTHING_COMES_S:
            note(state, f"nothing was made for {NOTHING_COMES_S} s: `rewound health` may tell why")
            break
        time.sleep(LOOK_EVERY_S)
        status = Reembed(container=state.container, action="status")
        reply = ask(state, status, Reembedding)
    notes = tuple(dict.fromkeys((*begun.notes, *reply.notes)))
    return msgspec.structs.replace(reply, notes=notes)


@click.command("stats", cls=Command)
@click.option("--store", is_flag=True, help="Of the whole store, not of one container.")
@scope_options
@moment_options
@common_options
@click.pass_context
def stats_command(ctx: click.Context, /, store: bool, **given: Any) -> None:
    """Figures of a container or of the store."""
    state = state_of(ctx)
    request = Stats(container=state.container, store=store, **reading(given))
    emit(state, ask(state, request, Figures))


@click.command("jobs", cls=Command)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--limit", type=int, help="How many (setting `page`).")
@click.option("--cursor", help="Go on where the last page ended.")
@click.option("--retry", is_flag=True, help="Try again what failed: these ids, or all of them.")
@click.option("--pause", "action", flag_value="pause", help="Let the store's workers rest.")
@click.option("--resume", "action", flag_value="resume", help="Let the workers go on.")
@click.option("--wait", "action", flag_value="wait", help="Wait until nothing is left to do.")
@scope_options
@moment_options
@common_options
@click.pass_context
def jobs_command(
    ctx: click.Context,
    /,
    ids: tuple[str, ...],
    limit: int | None,
    cursor: str | None,
    retry: bool,
    action: WorkersAction | None,
    **given: Any,
) -> None:
    """What is still to be derived, and what failed.

    --pause, --resume and --wait are about the whole store; a pause lasts until --resume.
    """
    state = state_of(ctx)
    if ids and not retry:
        raise click.UsageError("ids are for --retry: tell which of them to try again", ctx)
    if retry:
        scope = reading(given)["scope"]
        told = ask(state, Retry(container=state.container, ids=ids, scope=scope), Written)
        if action is None:
            return emit(state, told)
    if action is not None:
        work = Workers(container=state.container, action=action, timeout_s=JOBS_WAIT_S)
        return emit(state, ask(state, work, Working))
    number = state.settings.page if limit is None else limit
    request = Jobs(container=state.container, limit=number, cursor=cursor, **reading(given))
    return emit(state, ask(state, request, JobList))


@click.command("configure", cls=Command)
@click.option("--zone", metavar="NAME", help="Time zone, as Europe/Berlin (setting `zone`).")
@write_options
@common_options
@click.pass_context
def configure_command(ctx: click.Context, /, zone: str | None, **given: Any) -> None:
    """Make a container, or set its time zone.

    The zone is where times without an offset are read, and where a day begins and ends.
    """
    state = state_of(ctx)
    request = Configure(
        container=state.container, zone=zone or state.settings.zone, **writing(given)
    )
    emit(state, ask(state, request, Written))


@click.command("config", cls=Command)
@common_options
@click.pass_context
def config_command(ctx: click.Context) -> None:
    """Show every setting and where it came from."""
    state = state_of(ctx)
    settings, origins, file, found = state.configured
    rows = tuple(
        Setting(
            name=name,
            value=shown(name, getattr(settings, name)),
            origin=origins[name],
            variable=ENV_PREFIX + name.upper(),
        )
        for name in settings.__struct_fields__
    )
    emit(state, Configuration(file=str(file), found=found, settings=rows))


@click.command("own", cls=Command)
@common_options
@click.pass_context
def own_command(ctx: click.Context) -> None:
    """Hold the store and serve other commands until stopped.

    Ends by Ctrl-C or SIGTERM, or when another process asks for the store. Commands that find no
    owner open the store themselves; with one they start faster.
    """
    state = state_of(ctx)
    log_to_stderr("%(levelname)s %(message)s", level=logging.INFO)
    with stopped_by_signals() as stop, owned(state.settings) as link:
        data, socket = str(link.layout.data), str(link.layout.socket())
        emit(state, Owning(data=data, socket=socket, pid=os.getpid()))
        sys.stdout.flush()
        while link.owns and not stop.wait(LOOK_EVERY_S):
            pass
        if not link.owns:
            note(state, "another process asked for the store and has it now")


@contextmanager
def owned(settings: Settings) -> Iterator[Link]:
    """A link whose process owns the store, from whoever had it before."""
    link = Link(settings.data, models=models_of(settings))
    try:
        link.take_over()
        yield link
    finally:
        link.close()


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """SIGINT and SIGTERM set the event and end nothing else."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@click.command("accept-clock", cls=Command)
@common_options
@click.pass_context
def accept_clock_command(ctx: click.Context) -> None:
    """Go on writing after the clock was set back behind the log's last time."""
    state = state_of(ctx)
    emit(state, ask(state, AcceptClock(container=state.container), Accepted))
