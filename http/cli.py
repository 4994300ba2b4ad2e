"""The command line: `rewound`. Commands are loaded when they are called.

The group knows each command's module and its one line of help, so that `rewound --help` and
`--version` answer without importing the store.
"""

import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from rewound.http import cli_habits
from rewound.http.cli_base import State, common_options, drop_stdout, steady_streams
from rewound.http.cli_errors import EXIT_BROKEN_PIPE, report
from rewound.http.logs import log_to_stderr

NAME = "rewound"


class Entry(NamedTuple):
    """Where a command is defined, and its line in the group's help (a test compares it)."""

    module: str
    function: str
    help: str


def _entries(module: str, *rows: tuple[str, str]) -> dict[str, Entry]:
    path = f"rewound.http.{module}"
    return {name: Entry(path, name.replace("-", "_") + "_command", text) for name, text in rows}


SECTIONS: dict[str, dict[str, Entry]] = {
    "Put in": _entries(
        "cli_feed",
        ("ingest", "Keep files, folders or standard input as documents."),
        ("import", "Keep a chat, or what another memory exported."),
    )
    | _entries("cli_write", ("remember", "Remember a statement word for word.")),
    "Ask": _entries(
        "cli_read",
        ("search", "Find facts and passages, with their sources."),
    )
    | _entries(
        "cli_ask", ("ask", "Answer a question from what is remembered, each sentence cited.")
    )
    | _entries("cli_explain", ("explain", "Say what became of an item in a search, and why."))
    | _entries(
        "cli_read",
        ("context", "Pack what is relevant into a budget of tokens."),
    )
    | _entries(
        "cli_recent",
        ("recent", "Show a conversation's last messages as they are."),
    )
    | _entries(
        "cli_profile",
        ("profile", "Tell what is known, in short."),
    )
    | _entries(
        "cli_read",
        ("list", "List facts, documents, messages or passages."),
        ("show", "Show one item in full."),
        ("why", "Say why a fact is believed, and how to take each step back."),
        ("history", "Tell an item's life: its versions and events."),
        ("timeline", "What held of a subject from when to when, and who says so."),
        ("graph", "What is around an entity, or the shortest path to another."),
        ("containers", "List the containers."),
    ),
    "Correct": _entries(
        "cli_write",
        ("update", "Give a fact a new wording, any item other tags or importance."),
        ("forget", "Hide items until they are restored."),
        ("restore", "Show forgotten items again."),
        ("erase", "Destroy items for ever."),
        ("undo", "Take an event back, or all of a group."),
    ),
    "Judge": _entries(
        "cli_judge",
        ("review", "List pairs of facts that wait for a word."),
        ("label", "Say how FACT relates to OLD, an earlier one."),
        ("fit", "Fit the container's judging to the labels given."),
        ("rejudge", "Go over the past again with the models that are set."),
    ),
    "Look back": _entries(
        "cli_past",
        ("log", "Tell what happened, oldest first."),
        ("diff", "What was learned, changed and forgotten between two moments."),
        ("replay", "Build the store as it was at a moment."),
    ),
    "Serve": _entries("cli_serve", ("serve", "Serve the store over HTTP until stopped."))
    | _entries("cli_mcp", ("mcp", "Serve an agent over MCP, on standard input and output.")),
    "Look after the store": _entries(
        "cli_ops",
        ("verify", "Check that nothing was lost or altered."),
        ("seal", "Hash all chains into one head to keep elsewhere."),
        ("rebuild", "Fold the views anew from the log."),
        ("reembed", "Change to the vectors of the embedder that is set."),
        ("stats", "Figures of a container or of the store."),
        ("jobs", "What is still to be derived, and what failed."),
        ("configure", "Make a container, or set its time zone."),
        ("config", "Show every setting and where it came from."),
        ("own", "Hold the store and serve other commands until stopped."),
        ("accept-clock", "Go on writing after the clock was set back."),
    )
    | _entries(
        "cli_nodes",
        ("nodes", "The model servers that work is sent to."),
        ("health", "Whether everything works, and what does not."),
    ),
    "Measure": _entries(
        "cli_eval",
        ("eval", "Measure how well a set of questions is answered."),
    ),
}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class Door(click.Group):
    """The group: finds commands lazily, and ends every failure in one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.function)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(
                f"there is no command {name[:40]!r}{cli_habits.hint(name, COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS)) + 2
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), entry.help) for name, entry in entries.items()]
                formatter.write_dl(rows, col_spacing=0)

    def invoke(self, ctx: click.Context) -> Any:
        state = ctx.ensure_object(State)
        try:
            return super().invoke(ctx)
        finally:
            state.close()

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run, and end the process with the right code (`SystemExit`)."""
        words = list(sys.argv[1:] if args is None else args)
        state = extra.setdefault("obj", State())
        extra = {k: v for k, v in extra.items() if k not in ("prog_name", "standalone_mode")}
        steady_streams()
        log_to_stderr("%(message)s", level=logging.WARNING)
        try:
            sys.exit(self._run(list(words), extra))  # click eats the list it is given
        except BrokenPipeError:
            drop_stdout()
            sys.exit(EXIT_BROKEN_PIPE)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(0)
        except (Exception, KeyboardInterrupt) as error:
            sys.exit(report(error, as_json=_wants_json(state, words)))

    def _run(self, words: list[str], extra: dict[str, Any]) -> int:
        """What click's own `main` does, but for its handling of errors."""
        self._main_shell_completion(dict(extra), NAME, None)
        try:
            with self.make_context(NAME, words, **extra) as ctx:
                self.invoke(ctx)
                sys.stdout.flush()
        except click.exceptions.Exit as end:
            return end.exit_code
        return 0


def _wants_json(state: State, words: list[str]) -> bool:
    """Also when the words could not be parsed, or the settings could not be read."""
    options = words[: words.index("--")] if "--" in words else words
    asked = [word for word in options if word in ("--json", "--no-json")]
    if asked:
        return asked[-1] == "--json"
    try:
        return state.settings.json
    except click.ClickException:
        return os.environ.get("REWOUND_JSON", "") in ("1", "true")


@click.group(
    cls=Door, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="rewound", message="rewound %(version)s")
@common_options
def main() -> None:
    """A long-term memory for AI agents that keeps one log of everything that happened.

    Every answer is derived from that log: it is dated, it names its source, and any step can be
    taken back. `rewound COMMAND --help` tells more about a command.
    """
