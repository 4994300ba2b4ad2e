"""Model servers and health, for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.accounts import Healthy
from rewound.http.render_parts import Sheet, joined
from rewound.http.render_store import switched
from rewound.memory.replies import LaneCalls, LaneQueue, NodeAddress, NodeList, NodeShown

STATE_STYLES = {"up": "green", "down": "bold red", "trying": "yellow"}


def nodes(sheet: Sheet, reply: NodeList) -> None:
    if reply.nodes:
        _table(sheet, reply.nodes)
    else:
        sheet.line("no model server is set: all is done in this process (REWOUND_NODES names some)")
    _queues(sheet, reply.queues)
    _degraded(sheet, reply.degraded)
    sheet.notes(reply.notes)


def health(sheet: Sheet, reply: Healthy) -> None:
    sheet.line(reply.status, "bold green" if reply.status == "ok" else "bold red")
    _degraded(sheet, reply.degraded)
    made = (
        f"{what} by {name}"
        for what, name in (
            ("facts", reply.extractor), ("vectors", reply.embedder), ("verdicts", reply.judge),
        )
        if name
    )  # fmt: skip
    if told := joined(made):
        sheet.line(told)
    counts = (
        (reply.pending, "pending"), (reply.failed, "failed"), (reply.parked, "parked"),
        (reply.unembedded, "without a vector"), (reply.unjudged, "to be compared"),
    )  # fmt: skip
    sheet.line(joined(f"{count:,} {what}" for count, what in counts))
    if reply.switch is not None:
        sheet.line(switched(reply.switch))
    _table(sheet, reply.nodes)
    _queues(sheet, reply.queues)
    sheet.notes(reply.notes)


def _queues(sheet: Sheet, queues: Mapping[str, LaneQueue]) -> None:
    for lane, queue in queues.items():
        told = ", ".join(
            f"{count:,} {what}"
            for count, what in (
                (queue.waiting, "waiting"),
                (queue.busy, "turned away since too many waited"),
                (queue.away, "turned away since no server was up"),
            )
            if count
        )
        if told:
            sheet.line(f"{lane} lane: {told}")


def _table(sheet: Sheet, shown: Iterable[NodeShown]) -> None:
    rows: list[list[str | Text]] = []
    for node in shown:
        for address in node.addresses:
            state = "draining" if address.draining else address.state
            rows.append(
                [
                    Text(node.name, style="cyan"),
                    "+".join(address.roles),
                    Text(state, style=STATE_STYLES.get(state, "")),
                    address.url,
                    _load(address),
                    _checked(address),
                ]
            )
    sheet.table(rows)


def _load(address: NodeAddress) -> str:
    running = sum(lane.running for lane in address.lanes.values())
    slots = f"{running} of {words.counted(address.slots, 'slot')}"
    return "; ".join([slots, *(_lane(name, calls) for name, calls in address.lanes.items())])


def _lane(name: str, calls: LaneCalls) -> str:
    others = ((calls.failed, "failed"), (calls.away, "without an answer"))
    told = [f"{calls.ok:,} done", *(f"{count:,} {what}" for count, what in others if count)]
    return f"{name} {', '.join(told)}"


def _checked(address: NodeAddress) -> Text:
    return joined(f"{role}: {word}" for role, word in (address.checked or {}).items())


def _degraded(sheet: Sheet, degraded: Iterable[str]) -> None:
    for each in degraded:
        sheet.line(words.one_line(each), "yellow")


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {NodeList: nodes, Healthy: health}
