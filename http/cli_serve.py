"""The command `serve`: the store over HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from rewound.http.cli_base import Command, State, common_options, state_of
from rewound.http.cli_errors import Refusal, Told

if TYPE_CHECKING:
    from rewound.http.config import Settings
    from rewound.http.gatekeeping import Doorstep
    from rewound.http.limits import Limits
    from rewound.http.serving import Address
    from rewound.memory.link import Link
    from rewound.memory.models import Models

_GO_ON = frozenset({"store_busy", "conflict", "read_only"})
"""Errors of taking over after which the store can still be reached through its owner."""


class Serving(msgspec.Struct, frozen=True, kw_only=True, tag_field="reply", tag=True):
    """The server answers at `address`. `owns` tells whether this process holds the store."""

    address: str
    data: str
    owns: bool


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value is not None and param.name is not None:
        state_of(ctx).flags[param.name] = value


SWITCH_S = 0.0005
"""How long a thread may go on while others wait to: a request passes through three of them, and
each hand-over costs up to this (by default ten times as much)."""


@click.command("serve", cls=Command)
@click.option(
    "--host",
    metavar="ADDRESS",
    expose_value=False,
    callback=_keep,
    help="Address to listen on (setting `host`).",
)
@click.option(
    "--port",
    type=int,
    expose_value=False,
    callback=_keep,
    help="Port to listen on, 0 for any free one (setting `port`).",
)
@click.option(
    "--workers",
    type=int,
    metavar="N",
    expose_value=False,
    callback=_keep,
    help="Processes that answer on the port (setting `workers`): the one that owns the store and "
    "does all writing, and N - 1 readers beside it. Reads scale with cores; 1 by default.",
)
@common_options
@click.pass_context
def serve_command(ctx: click.Context) -> None:
    """Serve the store over HTTP until stopped.

    Other commands and programs go on working beside it. Without a key (REWOUND_API_KEY) it listens
    on this machine only. Ends by Ctrl-C or SIGTERM, after what is under way.
    """
    state = state_of(ctx)
    _run(state, state.settings)


def _run(state: State, settings: Settings) -> None:
    from rewound.http.config import models_of
    from rewound.http.connect_routes import Here
    from rewound.http.limits import MIB, Limits, shared
    from rewound.http.logs import log_to_stderr
    from rewound.http.readers import readers_for
    from rewound.http.serving import address_of, serve
    from rewound.memory.link import Link

    log_to_stderr("%(levelname)s %(message)s", level=logging.INFO)
    door = _door(settings)
    workers = settings.workers
    bounds = Limits(body_bytes=settings.max_body_mb * MIB, node_changes=settings.allow_node_changes)
    limits = shared(bounds, workers)
    sockets = _bound(settings, limits)
    address = address_of(sockets, settings.host)
    models = _shared(models_of(settings), workers)
    link = Link(settings.data, models=models)
    id_prefix, here = secrets.token_hex(4), Here(_command(), settings.data)
    readers = readers_for(settings, models, limits, id_prefix=id_prefix, here=here)
    try:
        _take_over(link)
        sys.setswitchinterval(SWITCH_S)
        asyncio.run(
            serve(
                link,
                sockets,
                door,
                limits,
                id_prefix=id_prefix,
                here=here,
                readers=readers,
                answering=lambda: _tell(state, address, link),
            )
        )
    finally:
        link.close()
        for one in sockets:
            one.close()


def _door(settings: Settings) -> Doorstep:
    """The rules of who may ask. Raises Refusal for settings that would let anybody in."""
    from rewound.http.gatekeeping import check_bind, doorstep

    try:
        door = doorstep(settings.host, settings.allowed_hosts, settings.api_key)
    except ValueError as error:
        raise Refusal(f"allowed_hosts: {error}", field="allowed_hosts") from None
    refusal = check_bind(
        settings.host, has_key=door.key is not None, allow_open=settings.allow_open
    )
    if refusal is not None:
        raise Refusal(refusal, field="host")
    return door


def _bound(settings: Settings, limits: Limits) -> list[socket.socket]:
    """The sockets to listen on. Raises Refusal when they are not to be had."""
    from rewound.http.serving import bound

    try:
        return bound(settings.host, settings.port, limits)
    except OSError as error:
        place = f"{settings.host} port {settings.port}"
        raise Refusal(
            f"cannot listen on {place}: {error.strerror} (choose another with --port)", field="port"
        ) from None


def _shared(models: Models, workers: int) -> Models:
    """Models that leave the other processes their share of the cores, unless a setting says how
    many threads one may use."""
    if workers == 1 or models.threads:
        return models
    return msgspec.structs.replace(models, threads=max(1, (os.cpu_count() or 1) // workers))


def _command() -> str:
    """How this very installation is called, from whatever folder."""
    beside = Path(sys.executable).with_name("rewound")
    return str(beside) if beside.exists() else "rewound"


def _take_over(link: Link) -> None:
    """Own the store, or go on as a client of whoever has it and cannot hand it over."""
    try:
        link.take_over()
    except Exception as error:
        if not isinstance(error, Told) or error.code not in _GO_ON:
            raise
        click.echo(f"note: {error.message}; serving as a client of that process", err=True)


def _tell(state: State, address: Address, link: Link) -> None:
    """One line on stdout, once a request would be answered."""
    data = str(link.layout.data)
    if state.settings.json:
        serving = Serving(address=str(address), data=data, owns=link.owns)
        click.echo(msgspec.json.encode(serving))
    else:
        click.echo(f"serving {data} on {address}")
    sys.stdout.flush()
