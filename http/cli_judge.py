"""Commands about how facts relate: `review`, `label`, `fit`, `rejudge`."""

from typing import Any, get_args

import click

from rewound.http.cli_base import Command, ask, common_options, emit, state_of
from rewound.http.cli_options import moment_options, reading, scope_options, write_options, writing
from rewound.memory.replies import Fitted, Labelled, Rejudged, ReviewList
from rewound.memory.requests import Fit, Label, NewLabel, OutcomeName, Rejudge, Reviews

OUTCOMES = get_args(OutcomeName)


@click.command("review", cls=Command)
@click.option("--limit", type=int, help="How many on a page (setting `page`).")
@click.option("--cursor", help="Go on where the last page ended.")
@scope_options
@moment_options
@common_options
@click.pass_context
def review_command(
    ctx: click.Context, /, limit: int | None, cursor: str | None, **given: Any
) -> None:
    """List pairs of facts that wait for a word, with what speaks for each.

    `rewound label` gives it.
    """
    state = state_of(ctx)
    request = Reviews(
        container=state.container,
        limit=state.settings.page if limit is None else limit,
        cursor=cursor,
        **reading(given),
    )
    emit(state, ask(state, request, ReviewList))


@click.command("label", cls=Command)
@click.argument("fact", metavar="FACT")
@click.argument("old", metavar="OLD")
@click.argument("outcome", metavar="[OUTCOME]", type=click.Choice(OUTCOMES), required=False)
@click.option("--confirm", "confirm", flag_value=True, default=None, help="What was found is so.")
@click.option("--reject", "confirm", flag_value=False, help="It is not: the two are distinct.")
@write_options
@common_options
@click.pass_context
def label_command(
    ctx: click.Context,
    /,
    fact: str,
    old: str,
    outcome: OutcomeName | None,
    confirm: bool | None,
    **given: Any,
) -> None:
    """Say how FACT relates to OLD, an earlier one that it was compared with.

    OUTCOME is duplicate, updates, corrects, extends or distinct. It holds from now on, with all
    that follows from it.
    """
    state = state_of(ctx)
    if (outcome is None) == (confirm is None):
        raise click.UsageError("give an OUTCOME, or else --confirm or --reject", ctx)
    label = NewLabel(fact=fact, old=old, outcome=outcome, confirm=confirm)
    request = Label(container=state.container, labels=(label,), **writing(given))
    emit(state, ask(state, request, Labelled))


@click.command("fit", cls=Command)
@click.option("--dry-run", is_flag=True, help="Only show what it would come to.")
@common_options
@click.pass_context
def fit_command(ctx: click.Context, /, dry_run: bool) -> None:
    """Fit the container's judging to the labels given.

    What was judged before is judged anew, and a fit that does worse on labels it did not see is
    not taken.
    """
    state = state_of(ctx)
    emit(state, ask(state, Fit(container=state.container, dry_run=dry_run), Fitted))


@click.command("rejudge", cls=Command)
@click.option("--extractor", is_flag=True, help="Draw facts anew from all that was sent.")
@click.option("--judge", is_flag=True, help="Compare facts anew, as when neither is given.")
@click.option("--since", metavar="MOMENT", help="Only what was recorded since.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@common_options
@click.pass_context
def rejudge_command(ctx: click.Context, /, **given: Any) -> None:
    """Go over the past again with the models that are set.

    All of it is one group, and one undo takes it back.
    """
    state = state_of(ctx)
    emit(state, ask(state, Rejudge(container=state.container, **given), Rejudged))
