"""How the recent part of a conversation is shown."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import Sheet, joined, moment_line
from rewound.memory.replies import Recounted


def recounted(sheet: Sheet, reply: Recounted) -> None:
    recent = reply.recent
    for summary in recent.summaries:
        sheet.line(
            joined(
                [
                    f"summary of {words.counted(summary.count, 'message')}",
                    f"{summary.since[:10]} to {summary.until[:10]}",
                    Text(summary.id, style="cyan"),
                ]
            )
        )
        for line in summary.text.splitlines():
            sheet.line(f"  {words.one_line(line)}")
        sheet.line()
    if recent.facts:
        sheet.line("known from older messages")
        for fact in recent.facts:
            sheet.line(joined([f"  {words.one_line(fact.text)}", Text(fact.id, style="cyan")]))
        sheet.line()
    for turn in recent.messages:
        who = words.one_line(turn.speaker or turn.role)
        when = Text(turn.time[:16].replace("T", " "), style="dim")
        sheet.line(joined([when, who, Text(turn.id, style="cyan")]))
        for line in turn.text.splitlines():
            sheet.line(f"  {words.safe(line)}")
    sheet.line()
    told = [
        words.counted(len(recent.messages), "message"),
        f"{recent.chars:,} characters",
        f"{recent.older} older" if recent.older else "none older",
    ]
    sheet.line(joined([*told, moment_line(reply.moment)]))
    sheet.notes(reply.notes)


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {Recounted: recounted}
