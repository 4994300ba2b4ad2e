"""Replies printed for a person: one function a reply, found by the reply's type."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from rich.text import Text

from rewound.http import (
    render_ask,
    render_eval,
    render_explain,
    render_feed,
    render_graph,
    render_nodes,
    render_profile,
    render_read,
    render_recent,
    render_store,
    render_why,
    words,
)
from rewound.http.render_parts import Look, Sheet, change_row
from rewound.memory.replies import Erased, Forgot, Hidden, Item, Undid, Written

SHOWN_MAX = 40
"""Items of a write that are listed one by one; more are counted."""

STATUS_STYLES = {"refused": "red", "replaced": "yellow", "written": "green", "done": "green"}


def render(reply: msgspec.Struct, look: Look, *, verb: str = "") -> str:
    """The reply as text that ends with a newline. `verb` says what a `Forgot` did."""
    sheet = Sheet(look)
    renderer = RENDERERS.get(type(reply))
    if renderer is None:
        raise TypeError(f"nothing prints a {type(reply).__name__}")
    if isinstance(reply, Forgot):
        forgot(sheet, reply, verb or "forgotten")
    else:
        renderer(sheet, reply)
    return sheet.text()


def written(sheet: Sheet, reply: Written) -> None:
    if len(reply.items) > SHOWN_MAX:
        counts = Counter(item.status for item in reply.items)
        sheet.line(", ".join(f"{number:,} {status}" for status, number in counts.items()))
        sheet.table([_item(item) for item in reply.items if item.status == "refused"])
    else:
        sheet.table([_item(item) for item in reply.items])
    events = [item.event for item in reply.items if item.event]
    if reply.pending:
        facts = f"facts are still to be derived from {words.counted(reply.pending, 'item')}"
        sheet.hint(facts, "jobs")
    sheet.notes(reply.notes)
    if len(events) == 1 or (events and reply.group is None):
        sheet.hint("undo with", f"undo {events[0]}")
    elif events:
        sheet.hint("undo all with", f"undo {reply.group}")


def _item(item: Item) -> list[str | Text]:
    said: list[str] = []
    if item.caller_id:
        said.append(words.one_line(item.caller_id))
    if item.current and item.current != item.id:
        said.append(f"current version is {item.current}")
    if item.facts:
        said.append("facts " + " ".join(item.facts) if item.kind != "fact" else "")
    if item.message:
        where = f"{item.field}: " if item.field else ""
        said.append(where + words.one_line(item.message))
    style = STATUS_STYLES.get(item.status, "")
    return [
        Text(item.status, style=style),
        item.kind,
        item.id or "",
        " · ".join(filter(None, said)),
    ]


def forgot(sheet: Sheet, reply: Forgot, verb: str) -> None:
    would = "would be " if reply.dry_run else ""
    sheet.line(f"{words.counted(reply.count, 'item')} {would}{verb}", "bold")
    sheet.table(_hidden(reply.items))
    if reply.masked:
        state = "shown again" if verb == "restored" else "blacked out"
        sheet.dim(f"{words.counted(reply.masked, 'span')} of source text {would}{state}")
    sheet.notes(reply.notes)
    if reply.dry_run:
        if reply.batch is not None:
            sheet.dim(f"to forget these, give the same with --batch {reply.batch} --no-dry-run")
        return
    if verb == "forgotten" and reply.count:
        sheet.hint(
            "show again with", f"restore {reply.items[0].id}" if reply.items else "restore ID"
        )
    if len(reply.events) == 1:
        sheet.hint("undo with", f"undo {reply.events[0]}")
    elif reply.events and reply.group:
        sheet.hint("undo all with", f"undo {reply.group}")


def _hidden(items: Sequence[Hidden]) -> list[list[str | Text]]:
    """Rows of a table, with a column of scores where any item has one."""
    scored = any(item.score is not None for item in items)
    rows: list[list[str | Text]] = []
    for item in items:
        score = "" if item.score is None else f"{item.score:.2f}"
        text = words.one_line(item.text or "")
        rows.append([item.kind, item.id, *([score] if scored else []), text])
    return rows


def erased(sheet: Sheet, reply: Erased) -> None:
    would = "would be erased" if reply.dry_run else "erased"
    pieces = words.counted(reply.bodies, "piece")
    sheet.line(f"{words.counted(len(reply.items), 'item')} {would}, {pieces} of text", "bold")
    sheet.table(_hidden(reply.items))
    if reply.stands_in:
        sheet.line("the same bytes also stand in items that are not erased:", "yellow")
        sheet.table([[item] for item in reply.stands_in])
    if not reply.dry_run:
        sheet.dim(f"compaction: {reply.compaction}")
        sheet.dim("an erasing cannot be undone")
    sheet.notes(reply.notes)


def undid(sheet: Sheet, reply: Undid) -> None:
    would = "would drop" if reply.dry_run else "dropped"
    if reply.dropped or not reply.returned:
        sheet.line(f"{words.counted(len(reply.dropped), 'event')} {would}", "bold")
        sheet.table([["  ", event] for event in reply.dropped])
    if reply.returned:
        again = "would hold again" if reply.dry_run else "holding again"
        sheet.line(f"{words.counted(len(reply.returned), 'event')} {again}", "bold")
        sheet.table([["  ", event] for event in reply.returned])
    if reply.dependents:
        sheet.line("later commands that stand on it:", "yellow")
        sheet.table([["  ", event] for event in reply.dependents])
    sheet.table([change_row(change) for change in reply.changes])
    sheet.notes(reply.notes)
    if reply.event and not reply.dry_run:
        sheet.hint("take the undo back with", f"undo {reply.event}")


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {
    Written: written,
    Forgot: lambda sheet, reply: forgot(sheet, reply, "forgotten"),
    Erased: erased,
    Undid: undid,
    **render_ask.RENDERERS,
    **render_eval.RENDERERS,
    **render_explain.RENDERERS,
    **render_feed.RENDERERS,
    **render_read.RENDERERS,
    **render_recent.RENDERERS,
    **render_store.RENDERERS,
    **render_why.RENDERERS,
    **render_graph.RENDERERS,
    **render_nodes.RENDERERS,
    **render_profile.RENDERERS,
}
