"""Model servers and health, for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.accounts import Healthy
from rewound.http.render_parts import Sheet, joined
from rewound.http.render_store import switched
from rewound.memory.replies import NodeAddress, NodeList, NodeShown

STATE_STYLES = {"up": "green", "down": "bold red", "trying": "yellow"}


def nodes(sheet: Sheet, reply: NodeList) -> None:
    if reply.nodes:
        _table(sheet, reply.nodes)
    else:
        sheet.line("no model server is set: all is done in this process (REWOUND_NODES names some)")
    waiting = (
        f"{queue.waiting:,} wait in the {lane} lane"
        for lane, queue in reply.queues.items()
        if queue.waiting
    )
    if told := joined(waiting):
        sheet.line(told)
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
    sheet.notes(reply.notes)


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
    done = sum(lane.ok for lane in address.lanes.values())
    failed = sum(lane.failed for lane in address.lanes.values())
    lanes = "+".join(address.lanes)
    load = f"{lanes}, {running} of {words.counted(address.slots, 'slot')}, {done:,} done"
    return f"{load}, {failed:,} failed" if failed else load


def _checked(address: NodeAddress) -> Text:
    return joined(f"{role}: {word}" for role, word in (address.checked or {}).items())


def _degraded(sheet: Sheet, degraded: Iterable[str]) -> None:
    for each in degraded:
        sheet.line(words.one_line(each), "yellow")


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {NodeList: nodes, Healthy: health}
