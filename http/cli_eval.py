"""`rewound eval`: how well a set of questions with known answers is answered."""

import tempfile
from pathlib import Path

import click
import msgspec

from rewound.http.cli_base import Command, common_options, emit, note, state_of
from rewound.http.config import models_of
from rewound.http.words import counted

EXIT_LOST = 1

_file = click.Path(path_type=Path)
_there = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("eval", cls=Command)
@click.option("--dataset", type=_there, required=True, metavar="FILE", help="The questions.")
@click.option("-k", "k", type=click.IntRange(1, 100), default=5, help="Hits that are looked at.")
@click.option("--store", type=_file, metavar="DIR", help="Keep the store in this folder.")
@click.option("--compare", type=_there, metavar="FILE", help="Exit 1 when worse than these.")
@click.option("--record", type=_file, metavar="FILE", help="Write the figures into this file.")
@common_options
@click.pass_context
def eval_command(
    ctx: click.Context,
    /,
    dataset: Path,
    k: int,
    store: Path | None,
    compare: Path | None,
    record: Path | None,
) -> None:
    """Measure how well a set of questions is answered.

    FILE holds JSON lines: sessions, documents, and questions with the ids of what answers them.
    They go into a store of their own with the models that are set; yours is not touched.
    """
    from rewound.memory import evaluating, scoring
    from rewound.memory.question_set import read

    state = state_of(ctx)
    asked = read(dataset)
    recorded = None if compare is None else scoring.read_figures(compare)
    models = models_of(state.settings)
    sessions = counted(len(asked.sessions), "session")
    note(state, f"putting in {sessions} and {counted(len(asked.documents), 'document')}")
    with tempfile.TemporaryDirectory(prefix="rewound-eval-") as scratch:
        reply = evaluating.run(asked, store or Path(scratch), k=k, models=models)
    if recorded is not None and compare is not None:
        losses = scoring.compare(reply.measured, recorded)
        reply = msgspec.structs.replace(reply, compared_with=str(compare), losses=losses)
    if record is not None:
        scoring.write_figures(record, reply.measured)
    emit(state, reply)
    if reply.losses:
        ctx.exit(EXIT_LOST)
