"""What all commands share: settings and the link to the store, and output.

Importing this module brings neither numpy nor LMDB nor rich: `rewound.memory` is imported when a
command first asks the store something, rich when there is something to print for a person.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
import msgspec

from rewound.http.cli_errors import Refusal, Told
from rewound.http.cli_habits import in_quotes
from rewound.http.config import Configured, Settings, load, models_of

if TYPE_CHECKING:
    from rewound.http.render_parts import Look
    from rewound.memory.requests import AnyRequest

CREATORS = {"Remember", "Ingest", "AddMessages", "Configure"}
"""Requests that may make a store where there is none; all others want one that exists."""

FACTS_FOLLOW = {"Remember", "Ingest", "AddMessages", "Retry"}
"""Requests after which facts are drawn from what was sent."""

SETTLE_S = 2.0
"""How long a command that wrote waits for them before it ends, when it owns the store."""

NOT_A_TERMINAL_COLUMNS = 100_000
"""Lines are not broken when a program reads them."""

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


class Link(Protocol):
    """A store, in this process or behind a socket."""

    def call(self, request: Any) -> Any: ...

    def settle(self, timeout_s: float) -> bool: ...

    def close(self) -> None: ...


class State:
    """One run of the command line. Tests hand in a `link` of their own."""

    def __init__(self, link: Link | None = None) -> None:
        self.flags: dict[str, Any] = {}
        self.zone_settled = False
        self.wrote = False
        self._link = link
        self.notes: tuple[str, ...] = ()
        """What is to be told beside the reply."""
        self._aside: TemporaryDirectory[str] | None = None

    @cached_property
    def configured(self) -> Configured:
        return load(self.flags)

    @property
    def settings(self) -> Settings:
        return self.configured.settings

    @property
    def container(self) -> str:
        return self.settings.container

    def link(self, *, create: bool, aside: bool = False) -> Link:
        """The store, opened once. Raises Refusal where there is none and none may be made; with
        `aside` an empty one takes its place as long as the command runs."""
        if self._link is None:
            data = self.settings.data
            missing = not create and not (Path(data) / "log").is_dir()
            if missing and aside:
                self.notes = (f"there is no store in {data} yet: only the models are looked at",)
                self._aside = TemporaryDirectory(prefix="rewound-")
                data = self._aside.name
            elif missing:
                raise Refusal(
                    f"there is no store in {data}: put something in first, or name another "
                    "folder with --data or REWOUND_DATA",
                    code="not_found",
                    field="data",
                )
            from rewound.memory.link import Link as StoreLink  # brings numpy and LMDB

            self._link = StoreLink(data, models=models_of(self.settings))
        return self._link

    def close(self) -> None:
        link, self._link = self._link, None
        if link is None:
            return
        try:
            if self.wrote:  # so that the next command finds the facts too
                link.settle(SETTLE_S)
        finally:
            link.close()
            if self._aside is not None:
                self._aside.cleanup()

    def look(self, *, err: bool = False) -> "Look":
        """How to print for a person, here and now."""
        from rewound.http.render_parts import Look

        stream = sys.stderr if err else sys.stdout
        terminal = stream.isatty()
        color = self.settings.color
        auto = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        width = shutil.get_terminal_size().columns if terminal else NOT_A_TERMINAL_COLUMNS
        return Look(color == "always" or (color == "auto" and auto), width, terminal, self.again())

    def again(self) -> str:
        """The flags that the next command needs to reach the same container."""
        kept = [("--data", "data"), ("-c", "container")]
        parts = [
            f"{flag} {shlex.quote(self.flags[name])}" for flag, name in kept if name in self.flags
        ]
        return "".join(f" {part}" for part in parts)


def ask(state: State, request: "AnyRequest", want: type[R]) -> R:
    """Put one request to the store and answer with its reply, which must be a `want`."""
    create = type(request).__name__ in CREATORS
    state.wrote = state.wrote or type(request).__name__ in FACTS_FOLLOW
    link = state.link(create=create)
    if create and not state.zone_settled:
        state.zone_settled = True
        _give_zone(state, link, request)
    reply = link.call(request)
    if not isinstance(reply, want):
        raise TypeError(f"{type(request).__name__} was answered with {type(reply).__name__}")
    return reply


def _give_zone(state: State, link: Link, request: "AnyRequest") -> None:
    """A container that this command is about to make gets the zone of the settings."""
    from rewound.memory.requests import Configure, Stats

    if state.settings.zone is None or isinstance(request, Configure):
        return
    try:
        link.call(Stats(container=state.container))
    except Exception as error:
        if not isinstance(error, Told) or error.code != "not_found":
            raise
        link.call(Configure(container=state.container, zone=state.settings.zone))


def emit(state: State, reply: msgspec.Struct, *, verb: str = "") -> None:
    """Print a reply: one JSON document, or text for a person. `verb` as for `render`."""
    if state.settings.json:
        click.echo(msgspec.json.encode(reply))
        return
    from rewound.http.render import render

    say(render(reply, state.look(), verb=verb))


def say(text: str, *, err: bool = False) -> None:
    """Write text whose colours, if any, have been decided already."""
    click.echo(text, nl=not text.endswith("\n"), err=err, color=True)


def note(state: State, text: str) -> None:
    """A remark beside the answer: on stderr, so that pipes stay clean; none with --json."""
    if not state.settings.json:
        click.echo(f"note: {text}", err=True)


# --- options of every command


def _flag(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None and param.name is not None:
        ctx.ensure_object(State).flags[param.name] = value


_COMMON = (
    click.option("--data", metavar="DIR", help="Folder of the store.", expose_value=False,
                 callback=_flag),
    click.option("-c", "--container", metavar="NAME", help="Container to work in.",
                 expose_value=False, callback=_flag),
    click.option("--json/--no-json", "json", default=None, expose_value=False, callback=_flag,
                 help="Answer in JSON, or for a person."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), expose_value=False,
                 callback=_flag, help="Colours and styles."),
)  # fmt: skip
COMMON = ("data", "container", "json", "color")


def common_options(command: F) -> F:
    """`--data`, `-c`, `--json`, `--color`: before the command's name or after it."""
    for option in reversed(_COMMON):
        command = option(command)
    return command


def state_of(ctx: click.Context) -> State:
    return ctx.ensure_object(State)


class Command(click.Command):
    """A command that refuses arguments which are no text, naming which."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        try:
            ctx = super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise in_quotes(error, self) from None
        if ctx.resilient_parsing:  # the shell asks how to complete a line
            return ctx
        with ctx.scope(cleanup=False):
            for param in self.get_params(ctx):
                _check_text(ctx, param, ctx.params.get(param.name or ""))
            for name, value in state_of(ctx).flags.items():
                if isinstance(value, str) and not _is_text(value):
                    raise Refusal(f"--{name} holds bytes that are not UTF-8", field=name)
        return ctx


def _check_text(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    parts = value if isinstance(value, tuple) else (value,)
    if param.name in ("paths", "file"):  # names of files are what the file system says
        return
    if any(isinstance(part, str) and not _is_text(part) for part in parts):
        raise click.BadParameter("holds bytes that are not UTF-8", ctx=ctx, param=param)


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def steady_streams() -> None:
    """No character that a terminal's encoding lacks may end a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def drop_stdout() -> None:
    """Whoever read our output is gone: nothing more goes there, nor any complaint about it."""
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
    except (OSError, ValueError):
        pass  # no real descriptor behind it (a test): nothing to silence
