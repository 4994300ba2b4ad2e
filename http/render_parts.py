"""The pieces that printed replies are made of: lines, tables, sources, standings.

Everything that a memory holds goes through `words.safe`: a terminal obeys what it reads. Without
colour the same text comes out plain, and every style that carries meaning (a struck text is
superseded) is said in words too.
"""

import json
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rewound.http import words
from rewound.memory.replies import Change, Moment, Source, Standing, View

SEP = " · "
GAP = 2
INDENT = 4
LAST_COLUMN_MIN = 30
"""Columns that the last cell of a row must have, or it goes below the others."""

OVER = frozenset({"superseded", "corrected", "repeated", "ended", "expired", "forgotten"})
"""Standings of what no longer holds."""

CHANGE_MARKS = {"appears": ("+", "green"), "disappears": ("-", "red"), "changes": ("~", "yellow")}

STATE_STYLES = {
    "current": "green",
    "upcoming": "cyan",
    "superseded": "yellow",
    "corrected": "red",
    "repeated": "cyan",
    "ended": "yellow",
    "expired": "yellow",
    "forgotten": "red",
}


class Look(NamedTuple):
    """How to print: with colours or not, how wide, for whose eyes."""

    color: bool = False
    width: int = 100_000
    terminal: bool = False
    again: str = ""
    """Flags that a suggested command needs to reach the same container, with a leading blank."""


class Sheet:
    """Lines and tables, in order, turned into one text."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._console = Console(
            file=StringIO(),
            force_terminal=look.color,
            color_system="standard" if look.color else None,
            no_color=not look.color,
            width=look.width,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def line(self, text: str | Text = "", style: str = "") -> None:
        self._console.print(Text(text, style=style) if isinstance(text, str) else text)

    def dim(self, text: str) -> None:
        self.line(text, "dim")

    def notes(self, notes: Iterable[str]) -> None:
        for text in notes:
            self.dim(f"note: {words.one_line(text)}")

    def hint(self, what: str, command: str) -> None:
        """`what: rewound command`, with the flags that lead to the same container."""
        self.dim(self.told(what, command))

    def told(self, what: str, command: str) -> str:
        """What `hint` prints."""
        return f"{what}: rewound {command}{self.look.again}"

    def block(self, rows: Iterable[tuple[str | Text, Text]]) -> None:
        """A narrow column (a number, a name) and a wide one that wraps beside it."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for left, right in rows:
            grid.add_row(left, right)
        self._console.print(grid)

    def table(self, rows: Sequence[Sequence[str | Text]]) -> None:
        """Aligned columns. On a terminal the last one is cut to the width, or moved below."""
        if not rows:
            return
        styled = [[_styled(cell) for cell in row] for row in rows]
        widths = [max(cell.cell_len for cell in column) for column in zip(*styled, strict=True)]
        before = sum(width + GAP for width in widths[:-1])
        narrow = self.look.width - before < min(LAST_COLUMN_MIN, widths[-1])
        below = self.look.terminal and narrow
        for row in styled:
            line = Text()
            for cell, width in zip(row[:-1], widths[:-1], strict=True):
                line.append_text(cell)
                line.append(" " * (width - cell.cell_len + GAP))
            if below and row[-1]:
                line.rstrip()
                line.append("\n" + " " * INDENT)
            last = row[-1]
            if self.look.terminal:
                last.truncate(self.look.width - (INDENT if below else before), overflow="ellipsis")
            self.line(line.append_text(last))

    def fields(self, rows: Iterable[tuple[str, str | Text | None]]) -> None:
        """Names and values, names dim and aligned; empty values are left out."""
        self.block(
            (Text(name, style="dim"), value if isinstance(value, Text) else Text(value))
            for name, value in rows
            if value
        )

    def text(self) -> str:
        file = self._console.file
        assert isinstance(file, StringIO)
        return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _styled(cell: str | Text) -> Text:
    return Text(cell) if isinstance(cell, str) else cell.copy()


def source_line(source: Source) -> str:
    """`guide.md · chars 120–180`, or `Nina, 2026-03-02 in “planning”`."""
    if source.kind == "message":
        who = source.speaker or source.role or "message"
        line = words.one_line(who)
        if source.time:
            line += f", {words.day(source.time)}"
        if source.conversation:
            line += f" in “{words.one_line(source.conversation)}”"
        return line
    line = words.one_line(source.title or source.caller_id or source.address or source.id)
    if source.start is not None and source.end is not None:
        line += f"{SEP}chars {source.start}–{source.end}"
    return line


def standing_text(standing: Standing, valid_from: str | None = None) -> Text:
    """`current since 2026-03-02`, `superseded 2026-05-01 by fact_…`."""
    text = Text(standing.state, style=STATE_STYLES.get(standing.state, ""))
    if standing.state == "current" and valid_from:
        text.append(f" since {words.day(valid_from)}")
    if standing.at:
        until = " until" if standing.state == "current" else ""
        text.append(f"{until} {words.day(standing.at)}")
    if standing.by:
        text.append(f" by {standing.by}")
    return text


def wording(text: str, standing: Standing | None, *, style: str = "bold") -> Text:
    """The text of an item: struck and dim when it no longer holds."""
    over = standing is not None and standing.state in OVER
    return Text(words.safe(text).strip("\n"), style="dim strike" if over else style)


def tight(text: str) -> str:
    """The text without empty lines, as it stands in a list of hits."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def importance_text(importance: float | None) -> str:
    """0.7 or 1; empty where nobody said any."""
    return "" if importance is None else f"{importance:g}"


def tags_text(tags: Iterable[str]) -> str:
    return " ".join(f"#{words.one_line(tag)}" for tag in tags)


def joined(parts: Iterable[str | Text]) -> Text:
    """The parts that are not empty, with dots between, dim but for what has its own style."""
    kept = [part if isinstance(part, Text) else Text(part, style="dim") for part in parts if part]
    return Text().join(piece for part in kept for piece in (Text(SEP, style="dim"), part))[
        len(SEP) :
    ]


def stacked(lines: Iterable[Text]) -> Text:
    return Text("\n").join([line for line in lines if line])


def summary(view: View) -> Text:
    """One line that stands for the item in a list."""
    if view.kind == "document":
        name = view.title or view.caller_id or view.address
        start = words.one_line(view.text[:500])
        text = words.one_line(name) if name else start
        rest = f"{SEP}{start}" if name and start else ""
        return Text.assemble((text, "bold"), (rest, "dim"))
    if view.kind == "message":
        who = words.one_line(view.speaker or view.role or "")
        return Text.assemble((f"{who}: " if who else "", "cyan"), words.one_line(view.text))
    return wording(words.one_line(view.text), view.standing, style="")


def dated(view: View) -> str:
    """The day that a list shows: when it began to hold, was said, or was recorded."""
    return words.day(view.valid_from or view.said_at or view.recorded_at or "")


def change_row(change: Change) -> list[str | Text]:
    """`+` appears, `-` disappears, `~` changes: in which view, what, and its text."""
    mark, style = CHANGE_MARKS[change.change]
    what = words.one_line(change.text or "")
    fields = f"({', '.join(change.fields)})" if change.fields else ""
    return [Text(mark, style=style), change.view, change.id, f"{what} {fields}".strip()]


def moment_line(moment: Moment) -> str:
    """The moment that was asked for; empty for the present."""
    parts = []
    if moment.as_of:
        parts.append(f"as of {words.minute(moment.as_of)} (@{moment.position})")
    if moment.valid_at:
        parts.append(f"valid at {words.minute(moment.valid_at)}")
    if moment.zone:
        parts.append(f"times without an offset read in {words.one_line(moment.zone)}")
    return SEP.join(parts)


def filters_line(filters: dict[str, object]) -> str:
    """The filters that were applied, in a few words."""
    parts = []
    for name, value in filters.items():
        if value in (None, (), [], {}, ""):
            continue
        if name == "where":
            shown = json.dumps(value, ensure_ascii=False)
        elif isinstance(value, dict):
            shown = ", ".join(f"{key}={inner}" for key, inner in value.items())
        elif isinstance(value, list | tuple):
            shown = ", ".join(map(str, value))
        else:
            shown = str(value)
        parts.append(f"{name} {words.one_line(shown)}")
    return SEP.join(parts)
