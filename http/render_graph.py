"""Timelines and the graph of entities, printed for a person."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import OVER, Sheet, joined, moment_line, source_line, standing_text
from rewound.memory.replies import Chronicle, Edge, Network, Period

OTHERWISE = "otherwise"
"""The heading of what is said of a subject without an attribute."""


def chronicle(sheet: Sheet, reply: Chronicle) -> None:
    sheet.line(words.one_line(reply.subject), "bold")
    for line in reply.lines:
        sheet.line(words.one_line(line.attribute or OTHERWISE), "cyan")
        sheet.table([_period(period) for period in line.periods])
    if not reply.lines:
        sheet.dim("nothing is said of it")
    if moment := moment_line(reply.moment):
        sheet.dim(moment)
    sheet.notes(reply.notes)
    if reply.has_more:
        sheet.dim("more: the same with a greater --limit, or for one attribute")


def _period(period: Period) -> list[str | Text]:
    """Since when, until when, what, and who says so."""
    over = period.standing.state in OVER
    said = Text(words.one_line(period.value or period.text), style="dim" if over else "bold")
    parts: list[str | Text] = [said]
    if period.standing.state != "current":
        parts.append(standing_text(period.standing))
    parts += [source_line(source) for source in period.sources[:1]]
    return [f"  {_held(period)}", Text(period.id, style="cyan"), joined(parts)]


def _held(part: Period | Edge) -> str:
    begun, ended = words.day(part.valid_from or "…"), words.day(part.valid_to or "open")
    return f"{begun} – {ended}"


def network(sheet: Sheet, reply: Network) -> None:
    sheet.line(words.one_line(reply.entity), "bold")
    if reply.path:
        sheet.line(" → ".join(words.one_line(name) for name in reply.path), "green")
    rows: list[list[str | Text]] = [
        [
            Text(f"  {node.distance}", style="dim"),
            words.counted(node.facts, "fact"),
            Text(words.one_line(node.name), style="cyan"),
        ]
        for node in reply.nodes
    ]
    sheet.table(rows)
    if reply.edges:
        sheet.line("edges", "bold")
    sheet.table([_edge(edge) for edge in reply.edges])
    if not reply.nodes:
        sheet.dim("nothing is known of it")
    if moment := moment_line(reply.moment):
        sheet.dim(moment)
    sheet.notes(reply.notes)
    if reply.has_more:
        sheet.dim("more: the same with a greater --limit")


def _edge(edge: Edge) -> list[str | Text]:
    relation = edge.relation or edge.kind
    ends = f"{edge.source} — {relation} → {edge.target}"
    over = edge.standing.state in OVER
    line = Text(words.one_line(ends), style="dim" if over else "")
    return [f"  {_held(edge)}", Text(edge.fact, style="cyan"), line]


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {Chronicle: chronicle, Network: network}
