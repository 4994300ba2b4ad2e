"""The command `mcp`: the tools of an agent over standard input and output."""

import logging
import sys
import threading

import click

from rewound.http.cli_base import Command, common_options, state_of
from rewound.http.config import Settings, models_of
from rewound.http.logs import log_to_stderr
from rewound.memory import RewoundError
from rewound.memory.link import Link
from rewound.memory.replies import Reply
from rewound.memory.requests import Configure, Request, Stats, Write


@click.command("mcp", cls=Command)
@click.option("-v", "--verbose", is_flag=True, help="Log more to standard error.")
@common_options
@click.pass_context
def mcp_command(ctx: click.Context, /, verbose: bool) -> None:
    """Serve an agent over MCP, on standard input and output.

    An MCP client starts this command itself, and ends it. It shares the store with every other
    process; logs go to standard error and never hold what is remembered.
    """
    from rewound.http.mcp_stdio import serve
    from rewound.http.mcp_streams import Streams

    settings = state_of(ctx).settings
    if sys.stdin is not None and sys.stdin.isatty():
        click.echo("waiting for an MCP client on standard input (Ctrl-D ends)", err=True)
    streams = Streams.claim()
    log(verbose=verbose)
    store = Store(settings)
    serve(store, settings.container, streams)


class Store:
    """The store, linked to when a tool first asks it something."""

    def __init__(self, settings: Settings) -> None:
        self._data = settings.data
        self._zone = settings.zone
        self._models = models_of(settings)
        self._guard = threading.Lock()
        self._link: Link | None = None
        self._closed = False

    def call(self, request: Request) -> Reply:
        link = self._linked()
        if self._zone is not None and isinstance(request, Write):
            self._give_zone(link, request.container)
        return link.call(request)

    def close(self) -> None:
        """Finish what is under way and let go of the store."""
        with self._guard:
            self._closed = True
            link, self._link = self._link, None
        if link is not None:
            link.close()

    def _linked(self) -> Link:
        with self._guard:
            if self._closed:
                raise RewoundError("this server is ending")
            if self._link is None:
                self._link = Link(self._data, models=self._models)
            return self._link

    def _give_zone(self, link: Link, container: str) -> None:
        """A container that is about to be made gets the zone of the settings."""
        try:
            link.call(Stats(container=container))
        except RewoundError as error:
            if error.code != "not_found":
                raise
            link.call(Configure(container=container, zone=self._zone))
        self._zone = None  # it has one now


def log(*, verbose: bool) -> None:
    """Warnings, or with `verbose` all that we say; libraries only warn."""
    log_to_stderr("%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    if verbose:
        logging.getLogger("rewound").setLevel(logging.DEBUG)
