"""Options that several commands share, and the parts of requests that they become."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click
import msgspec

from rewound.memory.condition_checks import read as read_where
from rewound.memory.conditions import Where
from rewound.memory.requests import FactKindName, Filters, Scope, What

F = TypeVar("F", bound=Callable[..., Any])

KINDS = get_args(FactKindName)
WHATS = get_args(What)
SCOPES = Scope.__struct_fields__


def _stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def scope_options(command: F) -> F:
    """Who inside the container."""
    return _stack(
        *(
            click.option(f"--{name}", metavar="NAME", help=f"The {name} it belongs to.")
            for name in SCOPES
        )
    )(command)


def write_options(command: F) -> F:
    """What every command that writes takes."""
    return _stack(
        click.option("--key", help="Idempotency key: sent twice, done once."),
        click.option(
            "--unless-after",
            type=int,
            metavar="POSITION",
            help="Refuse if what it touches changed after this position.",
        ),
        scope_options,
    )(command)


def _times() -> tuple[Callable[[F], F], Callable[[F], F]]:
    return (
        click.option(
            "--as-of", metavar="MOMENT", help="As the store knew it: a time, @123 or ev_…."
        ),
        click.option("--valid-at", metavar="TIME", help="What was true then."),
    )


def _at_least() -> Callable[[F], F]:
    return click.option(
        "--at-least",
        type=int,
        metavar="POSITION",
        help="Wait until the views have reached this position.",
    )


def moment_options(command: F) -> F:
    """The moment that a question is asked for."""
    forgotten = click.option("--include-forgotten", is_flag=True, help="Show forgotten items too.")
    return _stack(*_times(), forgotten, _at_least())(command)


def time_options(command: F) -> F:
    """The same for a question that is never answered with what is forgotten."""
    return _stack(*_times(), _at_least())(command)


def tag_option(command: F) -> F:
    return click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag (repeatable).")(
        command
    )


def meta_option(command: F) -> F:
    return click.option(
        "--meta",
        "metadata",
        multiple=True,
        metavar="K=V",
        help="Metadata: K=V for a text, K:=JSON for any value (repeatable).",
    )(command)


def importance_option(command: F) -> F:
    return click.option(
        "--importance", type=float, metavar="SHARE", help="How much it matters, 0 to 1."
    )(command)


def filter_options(*, what: bool = True) -> Callable[[F], F]:
    """Conditions that items must meet, all of them."""
    whats = click.option(
        "--what",
        "whats",
        type=click.Choice(WHATS),
        multiple=True,
        help="Only such items (repeatable: any of them).",
    )
    return _stack(
        *((whats,) if what else ()),
        click.option(
            "--kind",
            "kinds",
            type=click.Choice(KINDS),
            multiple=True,
            help="Only facts of this kind (repeatable: any of them).",
        ),
        tag_option,
        meta_option,
        click.option("--source", metavar="ID", help="Only from this document or conversation."),
        click.option("--since", metavar="TIME", help="Only what was said or holds from then on."),
        click.option("--until", metavar="TIME", help="Only up to then, a day given included."),
        click.option("--where", metavar="JSON", help="Only what meets a tree of conditions."),
        scope_options,
    )


def stage_options(command: F) -> F:
    """What a model may do before and after a search."""
    return _stack(
        click.option(
            "--rerank/--no-rerank", default=None, help="Order the first hits anew, or not."
        ),
        click.option(
            "--rewrite/--no-rewrite", default=None, help="Seek further words too, or not."
        ),
        click.option(
            "--decompose/--no-decompose", default=None, help="Seek parts of it too, or not."
        ),
    )(command)


# --- from options to the parts of a request


def stages(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of the stages; None leaves one to its setting."""
    return {name: given[name] for name in ("rerank", "rewrite", "decompose")}


def scope_of(given: dict[str, Any]) -> Scope:
    return Scope(**{name: given[name] for name in SCOPES if given.get(name) is not None})


def writing(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Write`, but for the container."""
    return {
        "key": given.get("key"),
        "unless_after": given.get("unless_after"),
        "scope": scope_of(given),
    }


def moment(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Read`, but for the container."""
    names = ("as_of", "valid_at", "include_forgotten", "at_least")
    return {name: given[name] for name in names if name in given}


def reading(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Read`, but for the container, where no filters carry the scope."""
    return {**moment(given), "scope": scope_of(given)}


def filters_of(given: dict[str, Any]) -> Filters:
    return Filters(
        what=tuple(given.get("whats", ())),
        kinds=tuple(given.get("kinds", ())),
        tags=tuple(given.get("tags", ())),
        metadata=metadata_of(given.get("metadata", ())),
        scope=scope_of(given),
        source=given.get("source"),
        since=given.get("since"),
        until=given.get("until"),
        where=where_of(given.get("where")),
    )


def where_of(text: str | None) -> Where | None:
    """The tree of conditions that a text holds as JSON. Raises BadParameter, InvalidInput."""
    if text is None:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise click.BadParameter(
            f"this is no JSON ({error}): give an object such as "
            '{"field": "tag", "op": "eq", "value": "work"}',
            param_hint="--where",
            param=_WHERE,
        ) from None
    return read_where(value)


def metadata_of(pairs: tuple[str, ...]) -> dict[str, Any]:
    """`K=V` is a text, `K:=JSON` any value. Raises BadParameter."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or name in ("", ":"):
            raise click.BadParameter(
                f"{pair[:40]!r} is not K=V or K:=JSON", param_hint="--meta", param=_META
            )
        if name.endswith(":"):
            name = name[:-1]
            try:
                found[name] = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError) as error:
                raise click.BadParameter(
                    f"what stands after {name[:40]!r} and := is no JSON ({error})",
                    param_hint="--meta",
                    param=_META,
                ) from None
        else:
            found[name] = value
    return found


_WHERE = click.Option(["--where"])
_META = click.Option(["--meta", "metadata"], multiple=True)
