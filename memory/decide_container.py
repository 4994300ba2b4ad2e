"""Making a container, and setting its zone."""

from __future__ import annotations

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, Kind, Ref, show
from rewound.eventlog.instants import zone_named
from rewound.eventlog.log import Recorded
from rewound.memory import requests as q
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.drafting import Drafting
from rewound.memory.replies import Item, Status, Written


@decides(q.Configure)
def configure(command: q.Configure, deciding: Deciding) -> Plan:
    """Make the container unless it is there, and set the zone if one is given.

    The engine has made it by now; if that was for this command and no zone is given, nothing more
    is to be done. Raises InvalidInput for a zone that is none, Stale.
    """
    drafting = Drafting(command, deciding)
    ref = Ref(Kind.CONTAINER, drafting.container)
    if command.zone is not None:
        zone_named(command.zone)
    making = drafting.view.event(1)
    assert making is not None, "a container has at least the event that made it"
    made = making.envelope.recorded_at >= deciding.now_us
    configured = drafting.view.configured()
    held = None if configured is None else drafting.view.text(configured.zone)
    changes = made or (command.zone is not None and command.zone != held)
    if command.zone is not None or not made:
        if not made:
            drafting.touch(ref)
        bodies = drafting.bodies()
        event = e.ContainerConfigured(drafting.container, zone=bodies.text(command.zone))
        drafting.add(event, bodies)

    def reply(recorded: list[Recorded], after: Deciding) -> Written:
        last = recorded[-1] if recorded else making
        status: Status = "written" if changes else "unchanged"
        done = Item(
            status=status,
            kind="container",
            id=str(ref),
            event=show(Kind.EVENT, EventId(last.envelope.event_id)),
        )
        return Written(
            container=after.name,
            group=show(Kind.GROUP, last.envelope.group),
            position=last.position,
            items=(done,),
            notes=tuple(drafting.notes),
        )

    return Plan(drafting.drafts, reply)
