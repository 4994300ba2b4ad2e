"""The view of containers: one row each, in the container itself."""

from collections.abc import Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.projections import view as v


class ContainerRow(msgspec.Struct, frozen=True, array_like=True):
    """`made_at` is µs. A removed container keeps its row, so that its name can be told."""

    name: Body | None
    zone: Body | None
    made_at: int
    removed: bool


def fold_container(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> ContainerRow | None:
    name: Body | None = None
    zone: Body | None = None
    removed = False
    for recorded in contributors:
        match recorded.event:
            case e.ContainerConfigured() as event:
                name = v.absolute(event.name, recorded.position) or name
                zone = v.absolute(event.zone, recorded.position) or zone
            case e.ContainerMoved() as event:
                name = event.name.seen_from(recorded.position)
            case e.ContainerRemoved():
                removed = True
    if not contributors:
        return None
    return ContainerRow(name, zone, contributors[0].envelope.recorded_at, removed)


def _container(event: e.ContainerConfigured | e.ContainerMoved | e.ContainerRemoved) -> list[bytes]:
    return [Ref(Kind.CONTAINER, event.container).key()]


CONTAINERS = v.View(
    name="containers",
    version=1,
    state=ContainerRow,
    handles={
        e.ContainerConfigured: _container,
        e.ContainerMoved: _container,
        e.ContainerRemoved: _container,
    },
    ignores=v.SENT.union(
        v.CUT, v.STATED, v.ENDED, v.DERIVED, v.JUDGED, v.LINKED, v.POLICY, v.HIDDEN, v.GRAPH,
        v.WRITTEN, v.KEPT, v.AGAIN, v.TAGGED,
    ),
    births=frozenset(),
    fold=fold_container,
)  # fmt: skip
