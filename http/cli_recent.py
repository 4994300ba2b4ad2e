"""The command `recent`: a conversation's last messages, and what is older in short."""

from typing import Any

import click

from rewound.http.cli_base import Command, ask, common_options, emit, state_of
from rewound.http.cli_options import moment_options, reading, scope_options
from rewound.memory.replies import Recounted
from rewound.memory.requests import OLDER_CHARS, Recent


@click.command("recent", cls=Command)
@click.argument("conversation")
@click.option(
    "--recent-chars",
    type=int,
    metavar="CHARS",
    help="At most so much of the last messages (setting `recent_chars`).",
)
@click.option(
    "--older-chars",
    type=int,
    default=OLDER_CHARS,
    metavar="CHARS",
    help="At most so much of the facts that stand for older ones.",
)
@scope_options
@moment_options
@common_options
@click.pass_context
def recent_command(ctx: click.Context, /, conversation: str, **given: Any) -> None:
    """Show a conversation's last messages as they are, and what is older in short.

    CONVERSATION is its name or id. Older messages are told by summaries, where a summarizer is
    set; until one is written, the facts drawn from them stand in its place.
    """
    state = state_of(ctx)
    request = Recent(
        container=state.container,
        conversation=conversation,
        recent_chars=given["recent_chars"],
        older_chars=given["older_chars"],
        **reading(given),
    )
    emit(state, ask(state, request, Recounted))
