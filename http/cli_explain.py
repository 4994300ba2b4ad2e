"""The command `explain`: what became of an item in a search, and why."""

from typing import Any

import click

from rewound.http.cli_base import Command, ask, common_options, emit, state_of
from rewound.http.cli_errors import Refusal
from rewound.http.cli_options import (
    filter_options,
    filters_of,
    moment,
    moment_options,
    stage_options,
    stages,
)
from rewound.http.words import one_line, quoted
from rewound.memory.replies import Traced
from rewound.memory.requests import Explain


@click.command("explain", cls=Command)
@click.argument("query")
@click.option("--id", "id", metavar="ID", help="The item that is looked for.")
@click.option("--limit", type=int, help="How many hits the search has (setting `limit`).")
@click.option("--threshold", type=float, default=0.0, help="The search's own, 0 to 1.")
@filter_options()
@click.option("--include-superseded", is_flag=True, help="Among what no longer holds too.")
@stage_options
@moment_options
@common_options
@click.pass_context
def explain_command(ctx: click.Context, /, query: str, limit: int | None, **given: Any) -> None:
    """Say what became of an item in a search, and why.

    Its place among the hits and what gave it that, or the first reason for which it did not come
    back. A document is looked for by its passages, a message with its facts.
    """
    state = state_of(ctx)
    if given["id"] is None:
        raise Refusal(
            "--id is missing: name the item that is looked for; why each hit stands where it does "
            f"is told by `rewound search {one_line(quoted(query))} --explain`",
            field="id",
        )
    request = Explain(
        container=state.container,
        query=query,
        id=given["id"],
        limit=state.settings.limit if limit is None else limit,
        threshold=given["threshold"],
        filters=filters_of(given),
        include_superseded=given["include_superseded"],
        **stages(given),
        **moment(given),
    )
    emit(state, ask(state, request, Traced))
