"""Answers to questions, printed for a person."""

from collections.abc import Callable
from typing import Any

import msgspec
from rich.text import Text

from rewound.http import words
from rewound.http.render_explain import explanation_lines, ranking
from rewound.http.render_parts import (
    OVER,
    Sheet,
    change_row,
    dated,
    filters_line,
    importance_text,
    joined,
    moment_line,
    source_line,
    stacked,
    standing_text,
    summary,
    tags_text,
    tight,
    wording,
)
from rewound.http.render_stages import moved, stages
from rewound.memory.replies import (
    ContainerList,
    Differences,
    EventView,
    Found,
    Hit,
    Packed,
    Page,
    Shown,
    Told,
    Versions,
    View,
)

JUDGED = "facts judged"
DISTINCT = "distinct"


def found(sheet: Sheet, reply: Found) -> None:
    rows: list[tuple[str | Text, Text]] = []
    for rank, hit in enumerate(reply.hits, 1):
        if rank > 1:
            rows.append(("", Text()))
        rows.append((Text(str(rank), style="dim"), _hit(hit)))
    if rows:
        sheet.block(rows)
        sheet.line()
    number = words.counted(len(reply.hits), "hit") if reply.hits else "nothing found"
    where = f"{number} in {words.one_line(reply.container)}"
    sheet.line(joined([where, moment_line(reply.moment), filters_line(reply.filters)]))
    if reply.ranking is not None:
        ranking(sheet, reply.ranking)
    stages(sheet, reply)
    sheet.notes(reply.notes)


def _hit(hit: Hit) -> Text:
    about: list[str | Text] = [hit.kind]
    if hit.kind == "fact" or hit.standing.state in OVER:
        about.append(standing_text(hit.standing, hit.valid_from))
    about += [f"score {hit.score:.2f}", tags_text(hit.tags)]
    if hit.importance is not None:
        about.append(f"importance {importance_text(hit.importance)}")
    if hit.part is not None:
        about.append(f"for part {hit.part}")
    if hit.reranked is not None:
        about.append(moved(hit.reranked))
    if hit.also:
        about.append(f"also {' '.join(hit.also)}")
    sources = [Text(source_line(source), style="dim") for source in hit.sources]
    return stacked(
        [
            wording(tight(hit.text), hit.standing),
            *([Text(f"answers: {words.one_line(hit.answers.text)}")] if hit.answers else ()),
            joined(about),
            *sources,
            Text(hit.id, style="cyan"),
            *(explanation_lines(hit.explanation, hit.id) if hit.explanation else ()),
        ]
    )


def packed(sheet: Sheet, reply: Packed) -> None:
    if reply.text:
        sheet.line(words.safe(reply.text).rstrip("\n"))
        sheet.line()
    lines = words.counted(len(reply.lines), "line") if reply.lines else _none_shown(reply)
    tokens = f"{reply.tokens:,} of {reply.budget:,} tokens"
    sheet.line(joined([lines, tokens, moment_line(reply.moment)]))
    stages(sheet, reply)
    sheet.notes(reply.notes)


def _none_shown(reply: Packed) -> str:
    """Why there is no line."""
    if reply.nothing_relevant:
        return "nothing found"
    return "nothing but the recent part" if reply.recent else "no room for what was found"


def rows_of(sheet: Sheet, items: tuple[View, ...]) -> None:
    """One line an item: its day, its id, its text."""
    rows: list[list[str | Text]] = []
    for item in items:
        line = summary(item)
        if item.standing is not None and item.standing.state in OVER:
            line = joined([line, standing_text(msgspec.structs.replace(item.standing, by=None))])
        if item.status and item.status != "ready":
            line = joined([line, Text(item.status, style="yellow")])
        if item.tags:
            line = joined([line, tags_text(item.tags)])
        if item.importance is not None:
            line = joined([line, f"importance {importance_text(item.importance)}"])
        rows.append([Text(dated(item), style="dim"), Text(item.id, style="cyan"), line])
    sheet.table(rows)


def page(sheet: Sheet, reply: Page) -> None:
    rows_of(sheet, reply.items)
    shown = f"{len(reply.items):,} of {reply.total:,}" if reply.items else "none"
    sheet.line(joined([f"{shown} in {words.one_line(reply.container)}", moment_line(reply.moment)]))
    sheet.notes(reply.notes)
    if reply.has_more and reply.cursor:
        sheet.dim(f"more: the same with --cursor {words.quoted(reply.cursor)}, or with --all")


def shown(sheet: Sheet, reply: Shown) -> None:
    item = reply.item
    sheet.line(wording(item.text, item.standing))
    sheet.line()
    sheet.fields(_fields(item))
    sheet.line()
    if moment := moment_line(reply.moment):
        sheet.dim(moment)
    sheet.hint("its life", f"history {item.id}")


def _fields(item: View) -> list[tuple[str, str | Text | None]]:
    held = " – ".join([words.minute(item.valid_from or "…"), words.minute(item.valid_to or "open")])
    sources = stacked([Text(source_line(source)) for source in item.sources])
    scope = ", ".join(f"{name} {words.one_line(value)}" for name, value in item.scope.items())
    metadata = ", ".join(f"{key}={value}" for key, value in item.metadata.items())
    status = item.status if item.status != "ready" or item.status_note else None
    if status and item.status_note:
        status = f"{status}: {item.status_note}"
    plain: list[tuple[str, str | None]] = [
        ("title", item.title),
        ("address", item.address),
        ("your id", item.caller_id),
        ("conversation", item.conversation),
        ("speaker", item.speaker),
        ("role", item.role),
        ("written in", item.media),
        ("subject", item.subject),
        ("attribute", item.attribute),
        ("value", item.value),
        ("tags", tags_text(item.tags)),
        ("importance", importance_text(item.importance)),
        ("metadata", metadata),
        ("scope", scope),
        ("status", status),
        ("said", words.minute(item.said_at or "")),
        ("recorded", words.minute(item.recorded_at or "")),
        ("expires", words.minute(item.expires_at or "")),
    ]
    return [
        ("id", Text(item.id, style="cyan")),
        ("kind", item.fact_kind or item.kind),
        ("standing", standing_text(item.standing, item.valid_from) if item.standing else None),
        ("holds", held if item.valid_from or item.valid_to else None),
        *((name, words.one_line(value) if value else None) for name, value in plain),
        ("from", sources or None),
        ("supersedes", " ".join(item.supersedes)),
        ("repeated by", " ".join(item.repeated_by)),
        ("adds to", " ".join(item.extends)),
        ("current", item.current if item.current != item.id else None),
        ("event", item.event),
    ]


def told(sheet: Sheet, reply: Told) -> None:
    events(sheet, reply.events)
    if not reply.events:
        sheet.dim("no events")
    if moment := moment_line(reply.moment):
        sheet.dim(moment)
    if reply.next is not None:
        sheet.dim(f"more: the same with --since @{reply.next + 1}")


def events(sheet: Sheet, found: tuple[EventView, ...]) -> None:
    """One line an event: position, time, type, id, and what it says."""
    rows: list[list[str | Text]] = []
    for event in found:
        over = "dim strike" if event.undone_by else ""
        said: list[str | Text] = []
        if event.withheld:
            said.append(f"({event.withheld})")
        judged = _judged(event) if event.type == JUDGED else None
        if judged is not None:
            said.append(judged)
        for name, value in event.texts.items() if judged is None else ():
            if name == "text" and value:
                said.append(Text(_plain(value), style=over))
            elif value:
                said.append(f"{name} {_plain(value)}")
        told = event.data.items() if judged is None else ()
        said += [f"{name} {_plain(value)}" for name, value in told if value]
        if event.undone_by:
            said.append(Text(f"undone by {event.undone_by}", style="yellow"))
        rows.append(
            [
                Text(f"@{event.position}", style="dim"),
                Text(words.minute(event.recorded_at), style="dim"),
                Text(event.type, style=over),
                Text(event.id, style="cyan"),
                joined(said),
            ]
        )
    sheet.table(rows)


def _judged(event: EventView) -> str:
    """Which fact was compared, and what each comparison came to; the evidence is told by `why`."""
    fact, pairs = event.data.get("fact", ""), event.data.get("pairs", [])
    told = [
        f"{pair['outcome']} {pair['old']} {pair['probability'] / 1000:.2f}"
        for pair in pairs
        if pair.get("outcome", DISTINCT) != DISTINCT
    ]
    distinct = sum(pair.get("outcome") == DISTINCT for pair in pairs)
    told += [f"{distinct} {DISTINCT}"] if distinct else []
    number = words.counted(len(pairs), "fact") if pairs else "nothing"
    return words.one_line(f"{fact} compared with {number}: {', '.join(told)}").rstrip(": ")


def _plain(value: object) -> str:
    """A value of an event in one line, without the marks of its type."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return words.cut(words.one_line(str(value)), 200) if value is not None else ""


def versions(sheet: Sheet, reply: Versions) -> None:
    if reply.versions:
        sheet.line("versions, oldest first", "bold")
        rows_of(sheet, reply.versions)
        sheet.line()
    sheet.line("events", "bold")
    events(sheet, reply.events)
    if moment := moment_line(reply.moment):
        sheet.dim(moment)


def differences(sheet: Sheet, reply: Differences) -> None:
    sections = {"learned": reply.learned, "changed": reply.changed, "gone": reply.gone}
    for title, changes in sections.items():
        if changes:
            sheet.line(f"{title} ({len(changes):,})", "bold")
            sheet.table([change_row(change) for change in changes])
    if not (reply.learned or reply.changed or reply.gone):
        sheet.line("nothing changed")
    ends = [
        words.minute(end.as_of) if end.as_of else f"@{end.position}"
        for end in (reply.start, reply.end)
    ]
    sheet.dim(f"from {ends[0]} to {ends[1]} in {words.one_line(reply.container)}")
    sheet.notes(reply.notes)


def containers(sheet: Sheet, reply: ContainerList) -> None:
    rows: list[list[str | Text]] = []
    for info in reply.containers:
        counts = ", ".join(f"{name} {number:,}" for name, number in info.counts.items() if number)
        last = words.minute(info.last_recorded_at or "")
        name = Text(words.one_line(info.name), style="bold")
        rows.append([name, Text(last, style="dim"), info.zone, counts or "empty"])
    sheet.table(rows)
    sheet.dim(words.counted(reply.total, "container"))
    if reply.has_more and reply.cursor:
        sheet.dim(f"more: the same with --cursor {words.quoted(reply.cursor)}")


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {
    Found: found,
    Packed: packed,
    Page: page,
    Shown: shown,
    Told: told,
    Versions: versions,
    Differences: differences,
    ContainerList: containers,
}
