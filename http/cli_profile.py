"""The command `profile`: what is known, in short."""

from typing import Any, get_args

import click

from rewound.http.cli_base import Command, ask, common_options, emit, note, say, state_of
from rewound.http.cli_options import filter_options, filters_of, moment, time_options
from rewound.http.words import safe
from rewound.memory.replies import Portrait
from rewound.memory.requests import (
    PROFILE_BUDGET,
    PROFILE_DAYS,
    Bucket,
    BucketName,
    Profile,
)

_NAMES = get_args(BucketName)
_BUCKET = click.Option(["--bucket", "buckets"], multiple=True)


@click.command("profile", cls=Command)
@click.option(
    "--budget", type=int, default=PROFILE_BUDGET, metavar="TOKENS", help="At most so many."
)
@click.option("--days", type=int, default=PROFILE_DAYS, help="What began within them is recent.")
@click.option("--subject", metavar="NAME", help="Only what names this person or thing.")
@click.option(
    "--bucket",
    "buckets",
    multiple=True,
    metavar="NAME[=WHAT]",
    help="A bucket (repeatable): NAME=QUERY, NAME=#TAG, or a name that every profile can have.",
)
@click.option("--no-buckets", is_flag=True, help="Only what is stable and what is recent.")
@click.option("--markdown", is_flag=True, help="Print the text for a model as it is.")
@filter_options(what=False)
@time_options
@common_options
@click.pass_context
def profile_command(ctx: click.Context, /, **given: Any) -> None:
    """Tell what is known, in short: what is stable, what is recent, and named buckets.

    For the start of a task. Without --bucket there are preferences, people, work, procedures and
    plans.
    """
    state = state_of(ctx)
    names = ("budget", "days", "subject")
    request = Profile(
        container=state.container,
        **{name: given[name] for name in names},
        buckets=_buckets(given["buckets"], none=given["no_buckets"]),
        filters=filters_of(given),
        **moment(given),
    )
    reply = ask(state, request, Portrait)
    if given["markdown"] and not state.settings.json:
        say(f"{safe(reply.text)}\n" if reply.text else "")
        for told in reply.notes:
            note(state, told)
    else:
        emit(state, reply)


def _buckets(given: tuple[str, ...], *, none: bool) -> dict[str, Bucket] | None:
    """Those named; None for all that every profile can have. Raises BadParameter."""
    if none and given:
        raise click.BadParameter("it stands beside --no-buckets", param=_BUCKET)
    if not given:
        return {} if none else None
    found: dict[str, Bucket] = {}
    for each in given:
        name, mark, what = (part.strip() for part in each.partition("="))
        if mark and what in ("", "#"):
            raise click.BadParameter(
                f"nothing stands after {name[:40]}=: write a query or #TAG", param=_BUCKET
            )
        if not mark and name not in _NAMES:
            raise click.BadParameter(
                f"{name[:40]!r} is a bucket of your own: write {name[:40]}=QUERY or "
                f"{name[:40]}=#TAG, or name one of {', '.join(_NAMES)}",
                param=_BUCKET,
            )
        tags = (what[1:],) if what.startswith("#") else ()
        found[name] = Bucket(query=None if tags else what or None, tags=tags)
    return found
