"""The command line's own answers, printed for a person: `ingest`, `import`, `config`, `own`."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.accounts import UNCHANGED, Configuration, Imported, Ingested, Owning
from rewound.http.render_parts import Sheet
from rewound.memory.replies import Item

LISTED_MAX = 40
"""Files and lines told one by one; further ones are counted."""

GROUPS_MAX = 3
STYLES = {"written": "green", "replaced": "yellow", "removed": "yellow", "refused": "red"}
SKIPPED_QUIETLY = frozenset({"hidden", "excluded"})


def ingested(sheet: Sheet, reply: Ingested) -> None:
    told: list[tuple[str, Item]] = [
        (item.status, item) for item in reply.items if item.status not in UNCHANGED
    ]
    told += [("removed", item) for item in reply.removed]
    some = [_file(status, item) for status, item in told[:LISTED_MAX]]
    sheet.table(some)
    _more(sheet, len(told), "file")
    skipped = [skip for skip in reply.skipped if skip.why not in SKIPPED_QUIETLY]
    sheet.table(
        [
            [Text("skipped", style="yellow"), words.one_line(skip.path), words.one_line(skip.why)]
            for skip in skipped[:LISTED_MAX]
        ]
    )
    _more(sheet, len(skipped), "skipped file")
    quiet = Counter(skip.why for skip in reply.skipped if skip.why in SKIPPED_QUIETLY)
    parts = _counted(reply.counts, "unchanged", "written", "replaced", "removed", "refused")
    if reply.counts["skipped"]:
        why = ", ".join(f"{number:,} {name}" for name, number in quiet.items())
        parts.append(f"{reply.counts['skipped']:,} skipped" + (f" ({why})" if why else ""))
    sheet.line(
        f"{', '.join(parts) or 'nothing to take'} in {words.one_line(reply.container)}", "bold"
    )
    _end(sheet, reply)


def _file(status: str, item: Item) -> list[str | Text]:
    said = words.one_line(item.message) if item.message else item.id or ""
    return [Text(status, style=STYLES.get(status, "")), words.one_line(item.caller_id or ""), said]


def imported(sheet: Sheet, reply: Imported) -> None:
    one = "line" if reply.source == "lines" else "record"
    rows: list[list[str | Text]] = [
        [Text(f"{one} {bad.line:,}", style="red"), words.one_line(bad.why)]
        for bad in reply.bad[:LISTED_MAX]
    ]
    sheet.table(rows)
    left_out = reply.counts["bad"] + reply.counts["refused"]
    _more(sheet, left_out, one)
    parts = _counted(reply.counts, "written", "unchanged")
    if left_out:
        parts.append(f"{words.counted(left_out, one)} left out")
    what = words.counted(reply.conversations, "conversation")
    if reply.source != "lines":
        what = f"an export of {reply.source}"
    where = words.one_line(f"{what} in {reply.container}")
    sheet.line(f"{', '.join(parts) or 'no messages'}: {where}", "bold")
    _end(sheet, reply)


def _counted(counts: dict[str, int], *names: str) -> list[str]:
    return [f"{counts[name]:,} {name}" for name in names if counts.get(name)]


def _more(sheet: Sheet, number: int, what: str) -> None:
    if number > LISTED_MAX:
        sheet.dim(f"and {words.counted(number - LISTED_MAX, f'more {what}')} (--json tells all)")


def _end(sheet: Sheet, reply: Ingested | Imported) -> None:
    if reply.pending:
        items = words.counted(reply.pending, "item")
        sheet.hint(f"facts are still to be derived from {items}", "jobs")
    sheet.notes(reply.notes)
    groups: Iterable[str] = reply.groups if len(reply.groups) <= GROUPS_MAX else ()
    for group in groups:
        sheet.hint("undo with", f"undo {group}")
    if len(reply.groups) > GROUPS_MAX:
        sheet.dim(f"written in {len(reply.groups):,} groups; `rewound log` and --json name them")


def configuration(sheet: Sheet, reply: Configuration) -> None:
    sheet.table(
        [
            [Text(one.name, style="bold"), words.one_line(one.value), Text(one.origin, style="dim")]
            for one in reply.settings
        ]
    )
    sheet.dim(f"file: {words.one_line(reply.file)}{'' if reply.found else ' (not there)'}")


def owning(sheet: Sheet, reply: Owning) -> None:
    sheet.line(f"holding the store in {words.one_line(reply.data)}", "bold")
    sheet.dim(f"process {reply.pid}, serving other commands at {words.one_line(reply.socket)}")
    sheet.dim("stop with Ctrl-C")


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {
    Ingested: ingested,
    Imported: imported,
    Configuration: configuration,
    Owning: owning,
}
