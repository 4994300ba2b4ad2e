"""The command `ask`: an answer from what is remembered, told while it comes."""

from typing import Any

import click
import msgspec

from rewound.http.cli_base import Command, ask, common_options, emit, say, state_of
from rewound.http.cli_options import (
    filter_options,
    filters_of,
    moment,
    moment_options,
    stage_options,
    stages,
)
from rewound.memory.hearing import heard_by
from rewound.memory.replies import AnswerPart, Responded, Sentence
from rewound.memory.requests import Inquire


@click.command("ask", cls=Command)
@click.argument("query", metavar="QUESTION")
@click.option("--budget", type=int, metavar="TOKENS", help="Draw it from so many (see `budget`).")
@click.option("--threshold", type=float, default=0.0, help="Leave out what is less likely, 0 to 1.")
@click.option("--confidence", type=float, help="How likely the best must be to answer, 0 to 1.")
@click.option("--timeout-s", type=int, metavar="SECONDS", help="How long a model may take.")
@filter_options()
@stage_options
@moment_options
@common_options
@click.pass_context
def ask_command(ctx: click.Context, /, query: str, budget: int | None, **given: Any) -> None:
    """Answer a question from what is remembered, each sentence cited.

    Where nothing fits well enough the answer is that it is not known, and why.
    """
    state = state_of(ctx)
    request = Inquire(
        container=state.container,
        query=query,
        budget=state.settings.budget if budget is None else budget,
        threshold=given["threshold"],
        confidence=given["confidence"],
        timeout_s=given["timeout_s"],
        filters=filters_of(given),
        **stages(given),
        **moment(given),
    )
    if state.settings.json:
        emit(state, ask(state, request, Responded))
        return
    from rewound.http.render_ask import marked_line

    printed = 0

    def hear(part: AnswerPart) -> None:
        nonlocal printed
        if isinstance(part, Sentence):
            say(marked_line(part) + "\n")
            printed += 1

    with heard_by(hear):
        reply = ask(state, request, Responded)
    emit(state, msgspec.structs.replace(reply, sentences=reply.sentences[printed:]))
