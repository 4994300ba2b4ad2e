"""Commands about the model servers, `nodes`, and about all that has to work, `health`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from rewound.http.accounts import Healthy
from rewound.http.cli_base import Command, ask, common_options, emit, state_of
from rewound.memory.replies import NodeList, Working
from rewound.memory.requests import Nodes, NodesAction, Workers

EXIT_DEGRADED = 1


@click.command("nodes", cls=Command)
@click.argument(
    "action",
    type=click.Choice(["list", "add", "drain", "remove"]),
    default="list",
    metavar="[list|add|drain|remove]",
)
@click.argument("name", required=False)
@click.option("--host", metavar="HOST", help="A machine: embed on 8080, rerank 8081, chat 8082.")
@click.option("--chat", metavar="URL", help="Where it answers for chat.")
@click.option("--decide", metavar="URL", help="Where it judges, if not at --chat.")
@click.option("--embed", metavar="URL", help="Where it makes vectors.")
@click.option("--rerank", metavar="URL", help="Where it gives scores.")
@click.option(
    "--lane",
    "lanes",
    multiple=True,
    type=click.Choice(["interactive", "background"]),
    help="For whom it works; both, unless one is named.",
)
@click.option("--slots", type=int, help="Calls that one of its addresses takes at once.")
@click.option("--model", metavar="NAME", help="The model that is asked there.")
@click.option("--key-file", type=click.File(), help="A file that holds its key; - is the input.")
@common_options
@click.pass_context
def nodes_command(
    ctx: click.Context, /, action: NodesAction, name: str | None, key_file: Any, **given: Any
) -> None:
    """The model servers that work is sent to.

    `add` sends work to a further one, `drain` lets one finish what it does and gives it no more,
    and `remove` takes one away at once; what it did goes to another. That holds until the process
    that owns the store ends.
    """
    state = state_of(ctx)
    api_key = None if key_file is None else key_file.read().strip() or None
    state.link(create=False, aside=action == "list")
    request = Nodes(container=state.container, action=action, name=name, api_key=api_key, **given)
    reply = ask(state, request, NodeList)
    emit(state, msgspec.structs.replace(reply, notes=(*state.notes, *reply.notes)))


@click.command("health", cls=Command)
@click.option("--deep", is_flag=True, help="Put a word into every model, and look at the answer.")
@common_options
@click.pass_context
def health_command(ctx: click.Context, /, deep: bool) -> None:
    """Whether everything works, and what does not.

    Ends with 1 if something does not. With --deep every role of every node is asked something: a
    word in, a vector, a score or an object out.
    """
    state = state_of(ctx)
    state.link(create=False, aside=True)
    nodes = ask(
        state, Nodes(container=state.container, action="check" if deep else "list"), NodeList
    )
    working = ask(state, Workers(container=state.container), Working)
    emit(
        state,
        Healthy(
            status="degraded" if nodes.degraded else "ok",
            degraded=nodes.degraded,
            extractor=working.extractor,
            embedder=working.embedder,
            judge=working.judge,
            pending=working.pending,
            failed=working.failed,
            parked=working.parked,
            unembedded=working.unembedded,
            unjudged=working.unjudged,
            nodes=nodes.nodes,
            queues=nodes.queues,
            switch=working.switch,
            notes=(*state.notes, *nodes.notes, *working.notes),
        ),
    )
    if nodes.degraded:
        ctx.exit(EXIT_DEGRADED)
