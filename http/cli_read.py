"""Commands that ask: `search`, `context`, `list`, `show`, `why`, `history`, `timeline`, …"""

from typing import Any

import click
import msgspec

from rewound.http.cli_base import Command, State, ask, common_options, emit, state_of
from rewound.http.cli_options import (
    WHATS,
    filter_options,
    filters_of,
    moment,
    moment_options,
    reading,
    scope_options,
    stage_options,
    stages,
)
from rewound.memory.replies import (
    Chronicle,
    ContainerList,
    Explained,
    Found,
    Network,
    Packed,
    Page,
    Shown,
    Versions,
    View,
)
from rewound.memory.requests import (
    Containers,
    Context,
    Get,
    Graph,
    History,
    List,
    Search,
    Timeline,
    Why,
)

PAGE_OF_ALL = 500
"""Items asked for at once when all are wanted."""


@click.command("search", cls=Command)
@click.argument("query")
@click.option("--limit", type=int, help="How many hits (setting `limit`).")
@click.option("--threshold", type=float, default=0.0, help="Leave out what is less likely, 0 to 1.")
@click.option(
    "--nearest/--no-nearest", default=True, help="Show the nearest hits where nothing fits, or not."
)
@filter_options()
@click.option("--include-superseded", is_flag=True, help="Show what no longer holds too.")
@click.option("--explain", is_flag=True, help="Say of each hit why it stands where it does.")
@stage_options
@moment_options
@common_options
@click.pass_context
def search_command(ctx: click.Context, /, query: str, limit: int | None, **given: Any) -> None:
    """Find facts and passages, with their sources.

    Any text is a query; put -- before one that begins with a dash.
    """
    state = state_of(ctx)
    request = Search(
        container=state.container,
        query=query,
        limit=state.settings.limit if limit is None else limit,
        threshold=given["threshold"],
        nearest=given["nearest"],
        filters=filters_of(given),
        include_superseded=given["include_superseded"],
        explain=given["explain"],
        **stages(given),
        **moment(given),
    )
    emit(state, ask(state, request, Found))


@click.command("context", cls=Command)
@click.argument("query")
@click.option("--budget", type=int, metavar="TOKENS", help="At most so many (setting `budget`).")
@click.option("--threshold", type=float, default=0.0, help="Leave out what is less likely, 0 to 1.")
@click.option("--nearest", is_flag=True, help="Show the nearest hits where nothing fits.")
@click.option("--conversation", metavar="NAME", help="With the recent part of it (name or id).")
@click.option("--recent-chars", type=int, metavar="CHARS", help="At most so much of that.")
@filter_options()
@stage_options
@moment_options
@common_options
@click.pass_context
def context_command(ctx: click.Context, /, query: str, budget: int | None, **given: Any) -> None:
    """Pack what is relevant into a budget of tokens: dated, cited lines for a model to read."""
    state = state_of(ctx)
    request = Context(
        container=state.container,
        query=query,
        budget=state.settings.budget if budget is None else budget,
        threshold=given["threshold"],
        nearest=given["nearest"],
        filters=filters_of(given),
        conversation=given["conversation"],
        recent_chars=given["recent_chars"],
        **stages(given),
        **moment(given),
    )
    emit(state, ask(state, request, Packed))


@click.command("list", cls=Command)
@click.option("--what", type=click.Choice(WHATS), default="fact", help="Which items.")
@click.option("--limit", type=int, help="How many on a page (setting `page`).")
@click.option("--cursor", help="Go on where the last page ended.")
@click.option("--all", "everything", is_flag=True, help="All pages.")
@filter_options(what=False)
@click.option("--include-superseded", is_flag=True, help="Show what no longer holds too.")
@moment_options
@common_options
@click.pass_context
def list_command(ctx: click.Context, /, **given: Any) -> None:
    """List facts, documents, messages or passages, oldest first."""
    state = state_of(ctx)
    everything = given["everything"]
    default = PAGE_OF_ALL if everything else state.settings.page
    request = List(
        container=state.container,
        what=given["what"],
        limit=default if given["limit"] is None else given["limit"],
        cursor=given["cursor"],
        filters=filters_of(given),
        include_superseded=given["include_superseded"],
        **moment(given),
    )
    emit(state, all_pages(state, request) if everything else ask(state, request, Page))


def all_pages(state: State, request: List) -> Page:
    """One page that holds the rest of the list."""
    items: list[View] = []
    while True:
        page = ask(state, request, Page)
        items += page.items
        if not page.has_more or page.cursor is None:
            return msgspec.structs.replace(page, items=tuple(items), has_more=False, cursor=None)
        request = msgspec.structs.replace(request, cursor=page.cursor)


@click.command("show", cls=Command)
@click.argument("id", metavar="ID")
@scope_options
@moment_options
@common_options
@click.pass_context
def show_command(ctx: click.Context, /, **given: Any) -> None:
    """Show one item in full: its text, times, sources, tags and standing."""
    state = state_of(ctx)
    emit(state, ask(state, Get(container=state.container, id=given["id"], **reading(given)), Shown))


@click.command("why", cls=Command)
@click.argument("id", metavar="ID")
@scope_options
@moment_options
@common_options
@click.pass_context
def why_command(ctx: click.Context, /, **given: Any) -> None:
    """Say why a fact is believed, and how to take each step back.

    Its sources' own words, what it was compared with and how that came out, its versions, and
    every step with the command that undoes it.
    """
    state = state_of(ctx)
    request = Why(container=state.container, id=given["id"], **reading(given))
    emit(state, ask(state, request, Explained))


@click.command("history", cls=Command)
@click.argument("id", metavar="ID")
@scope_options
@moment_options
@common_options
@click.pass_context
def history_command(ctx: click.Context, /, **given: Any) -> None:
    """Tell an item's life: its versions and events, oldest first."""
    state = state_of(ctx)
    request = History(container=state.container, id=given["id"], **reading(given))
    emit(state, ask(state, request, Versions))


@click.command("timeline", cls=Command)
@click.argument("subject", metavar="SUBJECT")
@click.argument("attribute", metavar="[ATTRIBUTE]", required=False)
@click.option("--limit", type=int, default=200, help="At most so many periods.")
@scope_options
@moment_options
@common_options
@click.pass_context
def timeline_command(ctx: click.Context, /, **given: Any) -> None:
    """What held of a subject from when to when, and who says so."""
    state = state_of(ctx)
    names = ("subject", "attribute", "limit")
    request = Timeline(
        container=state.container, **{name: given[name] for name in names}, **reading(given)
    )
    emit(state, ask(state, request, Chronicle))


@click.command("graph", cls=Command)
@click.argument("entity", metavar="ENTITY")
@click.option("--to", metavar="NAME", help="The shortest path to this entity.")
@click.option("--depth", type=int, default=1, help="How many steps away.")
@click.option("--limit", type=int, default=100, help="At most so many entities and edges.")
@scope_options
@moment_options
@common_options
@click.pass_context
def graph_command(ctx: click.Context, /, **given: Any) -> None:
    """What is around an entity, or the shortest path to another."""
    state = state_of(ctx)
    names = ("entity", "to", "depth", "limit")
    request = Graph(
        container=state.container, **{name: given[name] for name in names}, **reading(given)
    )
    emit(state, ask(state, request, Network))


@click.command("containers", cls=Command)
@click.option("--limit", type=int, default=1_000, help="How many on a page.")
@click.option("--cursor", help="Go on where the last page ended.")
@scope_options
@moment_options
@common_options
@click.pass_context
def containers_command(ctx: click.Context, /, **given: Any) -> None:
    """List the containers, with what they hold."""
    state = state_of(ctx)
    names = ("limit", "cursor")
    request = Containers(
        container=state.container, **{name: given[name] for name in names}, **reading(given)
    )
    emit(state, ask(state, request, ContainerList))
