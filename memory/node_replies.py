"""What is told of the model servers that work is sent to."""

from typing import Literal

from rewound.memory.reply_parts import Part, Reply


class LaneCalls(Part, frozen=True, kw_only=True):
    """Calls of one lane at one address since it was added. `failed` were answered with nothing that
    can be used (a refused key, an error, a broken reply), `away` found nobody, of `given_up`
    nobody waited for the end; `seconds` is what all together took."""

    running: int
    ok: int
    failed: int
    away: int
    given_up: int
    seconds: float


class NodeAddress(Part, frozen=True, kw_only=True):
    """One address of a node. `state` is `new` (not looked at yet), `up`, `down` or `trying` (it is
    back, and gets its work little by little)."""

    roles: tuple[str, ...]
    url: str
    state: Literal["new", "up", "down", "trying"]
    draining: bool
    slots: int
    busy: int | None
    """Slots that work, as the server tells it."""
    lanes: dict[str, LaneCalls]
    checked: dict[str, str] | None = None
    """For each role what came of a word put in: `ok`, or what was wrong."""


class NodeShown(Part, frozen=True, kw_only=True):
    name: str
    lanes: tuple[str, ...]
    addresses: tuple[NodeAddress, ...]


class LaneQueue(Part, frozen=True, kw_only=True):
    """What waits in a lane, and how often it was full (`busy`) or had nobody to ask (`away`)."""

    waiting: int
    busy: int
    away: int


class NodeList(Reply, frozen=True, kw_only=True):
    """The model servers that work is sent to. `degraded` says what is not as it was set, in words;
    it is empty when all is well."""

    nodes: tuple[NodeShown, ...]
    queues: dict[str, LaneQueue]
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
