"""Answers about the store itself, printed for a person."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import Sheet, joined, moment_line
from rewound.memory.replies import (
    Accepted,
    ContainerInfo,
    Figures,
    JobList,
    Rebuilt,
    Reembedding,
    Replayed,
    Sealed,
    VectorSwitch,
    Verified,
    Working,
)

JOB_STYLES = {"failed": "red", "parked": "yellow", "waiting": "dim"}


def verified(sheet: Sheet, reply: Verified) -> None:
    if reply.ok and reply.expected is not False:
        sheet.line("nothing was lost or altered", "bold green")
    else:
        sheet.line("DAMAGED: the log is not what it was", "bold red")
    checked = [words.counted(reply.events, "event"), words.counted(reply.bodies, "text")]
    if reply.erased:
        checked.append(f"{reply.erased:,} erased")
    sheet.dim(f"checked {', '.join(checked)}")
    if reply.expected is not None:
        agrees = "is in the log" if reply.expected else "is NOT in the log"
        sheet.line(f"the expected head {agrees}", "green" if reply.expected else "bold red")
    rows: list[list[str | Text]] = [
        [words.one_line(one.container), f"@{one.position}", Text(one.problem, style="red")]
        for one in reply.findings
    ]
    sheet.table(rows)
    if reply.head and reply.ok:
        sheet.line(joined(["head", Text(reply.head, style="cyan")]))
        sheet.dim("keep it elsewhere; later: rewound verify --expect HEAD")
    sheet.notes(reply.notes)


def sealed(sheet: Sheet, reply: Sealed) -> None:
    sheet.line(f"the chains of {words.counted(reply.containers, 'container')} are sealed", "bold")
    sheet.line(joined(["head", Text(reply.head, style="cyan")]))
    sheet.dim("keep it elsewhere; later: rewound verify --expect HEAD")


def accepted(sheet: Sheet, reply: Accepted) -> None:
    sheet.line(f"accepted: the store goes on after {words.minute(reply.recorded_at)}", "bold")


def rebuilt(sheet: Sheet, reply: Rebuilt) -> None:
    views = words.counted(len(reply.views), "view")
    sheet.line(f"{views} rebuilt from {words.counted(reply.events, 'event')}", "bold")
    sheet.table([[name, f"v{version}"] for name, version in reply.views.items()])
    if reply.equal:
        sheet.line("every row equals the one it replaced", "green")
    else:
        sheet.line("rows differ from the ones they replaced", "bold yellow")
    sheet.notes(reply.notes)


def reembedding(sheet: Sheet, reply: Reembedding) -> None:
    if reply.model is None:
        sheet.line("there are no vectors yet", "bold")
    else:
        sheet.line(f"vectors by {reply.model}, {reply.unembedded:,} to come", "bold")
    if reply.switch is not None:
        sheet.line(switched(reply.switch))
    sheet.notes(reply.notes)


def switched(switch: VectorSwitch) -> str:
    """How far a change of models is, in a line."""
    match switch.state:
        case "swapping":
            return f"those of {switch.new} are made, and are being put in place"
        case "halted":
            return (
                f"those of {switch.new} are not made any more, since another embedder is set: "
                "`rewound reembed --cancel` gives them up"
            )
        case "making":
            share = f": {switch.done:,} of {switch.total:,} texts" if switch.total else ""
            return f"those of {switch.new} are being made{share}"


def replayed(sheet: Sheet, reply: Replayed) -> None:
    events = words.counted(reply.events, "event")
    containers = words.counted(reply.containers, "container")
    at = words.minute(reply.at.as_of) if reply.at.as_of else f"@{reply.at.position}"
    sheet.line(f"{events} of {containers} replayed as of {at}", "bold")
    sheet.table([[name, words.counted(number, "row")] for name, number in reply.rows.items()])
    if reply.agrees:
        sheet.line("it agrees with as-of reads of the live store", "green")
    elif reply.agrees is not None:
        sheet.line("it DISAGREES with as-of reads of the live store", "bold red")
    for difference in reply.differences:
        sheet.line(words.safe(difference), "red")
    if reply.to:
        sheet.dim(f"kept in {words.one_line(reply.to)}")


def figures(sheet: Sheet, reply: Figures) -> None:
    if reply.container is not None:
        sheet.line(words.one_line(reply.container), "bold")
    else:
        sheet.line(words.counted(reply.containers, "container"), "bold")
    for info in reply.info:
        if reply.container is None:
            sheet.line(words.one_line(info.name), "bold")
        sheet.fields(_container(info))
    views = ", ".join(f"{name} v{version}" for name, version in reply.views.items())
    sheet.fields(
        [
            ("events", f"{reply.events:,}"),
            ("log", words.size(reply.log_bytes) if reply.log_bytes else None),
            ("views", words.size(reply.view_bytes) if reply.view_bytes else None),
            ("versions", views or None),
            ("compaction", reply.compaction if reply.compaction != "none" else None),
        ]
    )
    if reply.switch is not None:
        sheet.line(f"vectors by {reply.switch.old}; {switched(reply.switch)}")
    for note in reply.notes:
        sheet.dim(note)
    if reply.read_only:
        sheet.line(f"read only: {words.one_line(reply.read_only)}", "bold red")


def _container(info: ContainerInfo) -> list[tuple[str, str | Text | None]]:
    counts: list[tuple[str, str | Text | None]] = [
        (name, f"{number:,}") for name, number in info.counts.items()
    ]
    return [
        ("id", Text(info.id, style="cyan")),
        *counts,
        ("position", f"@{info.position}"),
        ("last event", words.minute(info.last_recorded_at or "")),
        ("zone", info.zone),
        ("head", info.head),
    ]


def jobs(sheet: Sheet, reply: JobList) -> None:
    rows: list[list[str | Text]] = []
    for job in reply.jobs:
        said = [f"{words.counted(job.attempts, 'attempt')}" if job.attempts else "", job.why or ""]
        if job.retry_at:
            said.append(f"again {words.minute(job.retry_at)}")
        if job.due_at:
            said.append(f"until {words.minute(job.due_at)}, if nothing more is said")
        state = Text(job.state, style=JOB_STYLES.get(job.state, ""))
        rows.append([state, job.kind, Text(job.source, style="cyan"), joined(said)])
    sheet.table(rows)
    counts = _counts(reply)
    unjudged = f"{words.counted(reply.unjudged, 'fact')} to be compared" if reply.unjudged else ""
    sheet.line(joined([counts, unjudged, moment_line(reply.moment)]))
    if reply.has_more and reply.cursor:
        sheet.dim(f"more: the same with --cursor {words.quoted(reply.cursor)}")
    sheet.notes(reply.notes)


def _counts(reply: JobList | Working) -> str:
    quiet = f" ({reply.waiting:,} for a quiet moment)" if reply.waiting else ""
    return f"{reply.pending:,} pending{quiet}, {reply.failed:,} failed, {reply.parked:,} parked"


def working(sheet: Sheet, reply: Working) -> None:
    facts = f"facts by {reply.extractor}" if reply.extractor else "no facts are derived"
    sheet.line(f"{reply.state}, {facts}", "" if reply.state == "running" else "yellow")
    sheet.line(_counts(reply))
    if reply.embedder:
        model = reply.switch.old if reply.switch is not None else reply.embedder
        sheet.line(f"vectors by {model}, {reply.unembedded:,} to come")
    if reply.switch is not None:
        sheet.line(switched(reply.switch))
    if reply.judge:
        sheet.line(f"facts compared by {reply.judge}, {reply.unjudged:,} to come")
    sheet.notes(reply.notes)


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {
    Verified: verified,
    Sealed: sealed,
    Accepted: accepted,
    Rebuilt: rebuilt,
    Reembedding: reembedding,
    Replayed: replayed,
    Figures: figures,
    JobList: jobs,
    Working: working,
}
