"""A profile, printed for a person."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import Sheet, joined, moment_line
from rewound.memory.replies import Portrait, ProfileLine


def portrait(sheet: Sheet, reply: Portrait) -> None:
    """As in the Markdown, each fact once: under what is recent, else in a bucket, else stable."""
    shown = {line.id for line in reply.recent}
    parts: dict[str, list[ProfileLine]] = {}
    for name, bucket in reply.buckets.items():
        parts[name] = [line for line in bucket if line.id not in shown]
        shown |= {line.id for line in bucket}
    rest = [line for line in reply.stable if line.id not in shown]
    for name, lines in {"stable": rest, **parts, "recent": [*reply.recent]}.items():
        if lines:
            sheet.line(words.one_line(name), "bold")
            sheet.table([_row(line) for line in lines])
            sheet.line()
    facts = {line.id for line in (*reply.stable, *reply.recent)} | shown
    number = words.counted(len(facts), "fact") if facts else "nothing"
    about = f"mostly about {words.one_line(reply.subject)}" if reply.subject and facts else ""
    tokens = f"{reply.tokens:,} of {reply.budget:,} tokens"
    where = f"{number} in {words.one_line(reply.container)}"
    sheet.line(joined([where, about, tokens, moment_line(reply.moment)]))
    sheet.notes(reply.notes)


def _row(line: ProfileLine) -> list[str | Text]:
    """Since when, the id, what, and how often it was said."""
    held = words.day(line.since or "")
    if line.until:
        held += f" – {words.day(line.until)}"
    often = f"{line.sources} sources" if line.sources > 1 else ""
    text = Text(words.one_line(line.text), style="bold")
    return [Text(f"  {held}", style="dim"), Text(line.id, style="cyan"), joined([text, often])]


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {Portrait: portrait}
