"""Who is asked next: calls that wait, servers with slots, and the rules between the two.

- A call goes to the least busy server of its lane that answers for its role.
- People's calls go first, and as long as one waits for a node, nothing of the background is begun
  at any address of that node: it waits for one background call at most.
- Each lane's queue is bounded. What does not fit is refused, with a guess of when it would.
- A server that is down is sent nothing. A call that has no server left is dropped at once.
- A server that refuses whoever asks (its key, its address) is asked only where no other is up; now
  and then it is tried again.
- Where several processes send to one server, they share its slots, and no background call is begun
  at a node that a person's call waits for in any of them.

All of it is decided here, without a clock, a thread or a socket: `now` is seconds of any steady
clock. `dispatching.py` is the shell that makes the calls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal, NamedTuple, Protocol

from rewound.llm.breaking import PACE, Breaker, Pace, State
from rewound.llm.nodes import LANES, Endpoint, Enlisted, Lane, Node, Role, endpoints_of

Ending = Literal["ok", "failed", "away", "given up"]
"""Of a call: the server answered, or with nothing that can be used (a refusal, an error, no object
of the form), nobody was there, or whoever asked went away."""

_WEIGHT = 0.2  # of a new call in the mean time that calls take
_FIRST_GUESS_S = 1.0
AFTER_S_MAX = 300


class NotTaken(Exception):
    """A call that is not taken. `after_s` is when to try again, whole seconds.

    `away`: no server that could answer is up; else the queue is full.
    """

    def __init__(self, role: Role, lane: Lane, after_s: int, *, away: bool) -> None:
        super().__init__(role, lane)
        self.role: Role = role
        self.lane: Lane = lane
        self.after_s = after_s
        self.away = away


class Waiting(NamedTuple):
    """A call that waits. `avoid` are servers that it has been to."""

    ticket: int
    lane: Lane
    role: Role
    until: float
    avoid: frozenset[str]


class Begin(NamedTuple):
    """This call may be made, at this server."""

    ticket: int
    server: Endpoint


class Drop(NamedTuple):
    """This call waits in vain: its time is over (`late`), or no server is left."""

    ticket: int
    late: bool


class LaneFigures(NamedTuple):
    """What one lane had of one server since it was added; seconds are of all its calls together."""

    running: int
    ok: int
    failed: int
    away: int
    given_up: int
    seconds: float


class EndpointFigures(NamedTuple):
    """How one server stands. `busy` is what the server told of its slots, None when it does not."""

    server: Endpoint
    state: State
    draining: bool
    slots: int
    busy: int | None
    lanes: dict[Lane, LaneFigures]
    trouble: str | None = None
    """Why it refuses whoever asks, as it did last."""


class SharedSlots(Protocol):
    """What processes that send to the same servers know of each other, by address."""

    def take(self, url: str, slots: int) -> Callable[[], None] | None:
        """One of so many slots, given back by calling what is returned; None while all are
        taken."""
        ...

    def want(self, urls: Collection[str]) -> None:
        """Calls of people wait here for these servers now, and for no others."""
        ...

    def is_wanted(self, url: str) -> bool:
        """Whether a person's call waits for this server, here or elsewhere."""
        ...

    def close(self) -> None:
        """Nothing waits here any more."""
        ...


class _Place:
    """A server and what is known of it."""

    def __init__(self, server: Endpoint, pace: Pace) -> None:
        self.server = server
        self.breaker = Breaker(pace)
        self.told_slots: int | None = None
        self.told_busy: int | None = None
        self.others = 0
        self.running: Counter[Lane] = Counter()
        self.ended: Counter[tuple[Lane, Ending]] = Counter()
        self.seconds: dict[Lane, float] = dict.fromkeys(LANES, 0.0)
        self.mean_s: float | None = None
        self.draining = False
        self.served = 0
        self.trouble: str | None = None
        self._refusals = 0
        self.left_until = float("-inf")
        """It is asked sooner only where no other server is up."""

    @property
    def slots(self) -> int:
        return self.server.slots or self.told_slots or 1

    @property
    def fit(self) -> bool:
        return self.breaker.answers and not self.draining

    @property
    def has_room(self) -> bool:
        return self.fit and self.running.total() < self.breaker.limit(self.slots)

    def refused(self, trouble: str, now: float, pace: Pace) -> None:
        """It refused a call as it would any other."""
        self.trouble = trouble
        self.left_until = now + pace.probe_s * 2 ** min(self._refusals, pace.holds_max)
        self._refusals += 1

    def answered(self) -> None:
        self.trouble, self._refusals, self.left_until = None, 0, float("-inf")

    @property
    def load(self) -> tuple[float, int]:
        """The less, the sooner it is asked: what is in its slots, then how long ago it was."""
        return (self.running.total() + self.others) / self.slots, self.served


class Scheduler:
    """Not safe for threads: the shell holds its lock."""

    def __init__(
        self, nodes: Iterable[Node], pace: Pace = PACE, queue_max: dict[Lane, int] | None = None
    ) -> None:
        self._pace = pace
        self._queue_max = {"interactive": 64, "background": 256} | (queue_max or {})
        self._places: dict[str, _Place] = {}
        self._queues: dict[Lane, dict[int, Waiting]] = {lane: {} for lane in LANES}
        self._running: dict[int, tuple[str, Lane, float]] = {}
        self._nodes: dict[str, Node] = {}
        self._shared: SharedSlots | None = None
        self._taken: dict[int, Callable[[], None]] = {}
        self._full: set[str] = set()
        """Servers with room here, all of whose slots are taken by others."""
        self._refused: Counter[tuple[Lane, bool]] = Counter()
        self._serial = 0
        self._now = float("-inf")
        """The time that was told last."""
        for node in nodes:
            self.add(node)

    def share(self, slots: SharedSlots) -> None:
        """Share the servers' slots with others from now on."""
        self._shared = slots

    # --- nodes

    def add(self, node: Node) -> list[Endpoint]:
        """Work with a node. One of that name that is being drained is replaced."""
        self.remove(node.name)
        self._nodes[node.name] = node
        servers = endpoints_of(node)
        for server in servers:
            self._places[server.id] = _Place(server, self._pace)
        return servers

    def drain(self, name: str) -> bool:
        """Begin nothing more there; whether there is such a node."""
        found = list(self._of_node(name))
        for place in found:
            place.draining = True
        return bool(found)

    def remove(self, name: str) -> list[Endpoint]:
        """Forget a node; what runs there ends as it may, and counts nowhere."""
        self._nodes.pop(name, None)
        gone = [place.server for place in self._of_node(name)]
        for server in gone:
            del self._places[server.id]
        for ticket in [key for key, (at, *_) in self._running.items() if at not in self._places]:
            del self._running[ticket]
        return gone

    def table(self) -> tuple[Enlisted, ...]:
        """The nodes there are."""
        return tuple(
            Enlisted(node, any(place.draining for place in self._of_node(name)))
            for name, node in self._nodes.items()
        )

    def _of_node(self, name: str) -> Iterator[_Place]:
        return (place for place in self._places.values() if place.server.node == name)

    def endpoints(self) -> list[Endpoint]:
        return [place.server for place in self._places.values()]

    def knows(self, server: Endpoint) -> bool:
        """Whether it is this very one, and not another that took its name since."""
        place = self._places.get(server.id)
        return place is not None and place.server is server

    # --- calls

    def offer(
        self, lane: Lane, role: Role, until: float, avoid: frozenset[str] = frozenset()
    ) -> int:
        """A ticket for a call that may wait until then. Raises NotTaken."""
        if not any(place.fit for place in self._for(lane, role, avoid)):
            self._refused[lane, True] += 1
            raise NotTaken(role, lane, math.ceil(self._pace.probe_s), away=True)
        queue = self._queues[lane]
        if len(queue) >= self._queue_max[lane] and not self._room(lane, role, avoid):
            self._refused[lane, False] += 1
            raise NotTaken(role, lane, self._after_s(lane, role), away=False)
        self._serial += 1
        queue[self._serial] = Waiting(self._serial, lane, role, until, avoid)
        return self._serial

    def withdraw(self, ticket: int) -> None:
        """Whoever asked waits no longer."""
        for queue in self._queues.values():
            queue.pop(ticket, None)

    def decide(self, now: float) -> list[Begin | Drop]:
        """What is to be begun now, and what waits in vain. Each is told once."""
        decided: list[Begin | Drop] = []
        self._now = now
        self._full.clear()
        for lane in LANES:  # people first
            if lane == "background":
                self._tell_others()
            for waiting in list(self._queues[lane].values()):
                decision = self._decide(waiting, now)
                if decision is not None:
                    del self._queues[lane][waiting.ticket]
                    decided.append(decision)
        return decided

    def _decide(self, waiting: Waiting, now: float) -> Begin | Drop | None:
        if now >= waiting.until:
            return Drop(waiting.ticket, late=True)
        if not any(p.fit for p in self._for(waiting.lane, waiting.role, waiting.avoid)):
            return Drop(waiting.ticket, late=False)
        free = self._room(waiting.lane, waiting.role, waiting.avoid)
        while free:
            place = min(free, key=lambda place: place.load)
            if self._taken_for(waiting, place):
                break
            free.remove(place)
        else:
            return None
        self._serial += 1
        place.served = self._serial
        place.running[waiting.lane] += 1
        self._running[waiting.ticket] = (place.server.id, waiting.lane, now)
        return Begin(waiting.ticket, place.server)

    def _taken_for(self, waiting: Waiting, place: _Place) -> bool:
        """Whether it may begin there for all that others do."""
        if self._shared is None:
            return True
        url = place.server.url
        if url in self._full:
            return False
        unwanted = waiting.lane == "interactive" or not any(
            self._shared.is_wanted(each.server.url) for each in self._of_node(place.server.node)
        )
        give_back = self._shared.take(url, place.slots) if unwanted else None
        if give_back is None:
            self._full.add(url)
            return False
        self._taken[waiting.ticket] = give_back
        return True

    def _tell_others(self) -> None:
        """What the calls of people wait for."""
        if self._shared is not None:
            waiting = self._queues["interactive"].values()
            self._shared.want({
                place.server.url
                for each in waiting
                for place in self._for("interactive", each.role, each.avoid)
                if place.fit
            })  # fmt: skip

    @property
    def waits_for_others(self) -> bool:
        """Whether a call could begin but for what other processes do, who do not tell when that is
        over."""
        return bool(self._full)

    def _for(self, lane: Lane, role: Role, avoid: frozenset[str] = frozenset()) -> list[_Place]:
        """The servers of a lane that answer for a role."""
        mine = [place for place in self._places.values() if lane in place.server.lanes]
        found = [place for place in mine if role in place.server.roles]
        if not found and role == "decide":
            found = [place for place in mine if "chat" in place.server.roles]
        return [place for place in found if place.server.id not in avoid]

    def _able(self, lane: Lane, role: Role, avoid: frozenset[str] = frozenset()) -> list[_Place]:
        """Those that are up; without those that refuse whoever asks, where there are others."""
        fit = [place for place in self._for(lane, role, avoid) if place.fit]
        return [place for place in fit if place.left_until <= self._now] or fit

    def _room(self, lane: Lane, role: Role, avoid: frozenset[str]) -> list[_Place]:
        """Those that a call may begin at."""
        free = [place for place in self._able(lane, role, avoid) if place.has_room]
        if lane == "background" and free:
            wanted = self._wanted_by_people()
            free = [place for place in free if place.server.node not in wanted]
        return free

    def _wanted_by_people(self) -> set[str]:
        """Nodes that a person's call waits for."""
        return {
            place.server.node
            for waiting in self._queues["interactive"].values()
            for place in self._for("interactive", waiting.role, waiting.avoid)
            if place.fit
        }

    def ended(self, ticket: int, ending: Ending, now: float, trouble: str | None = None) -> None:
        """A call that was begun has come to an end. `trouble` is why it was refused, if any other
        would have been, too."""
        if (give_back := self._taken.pop(ticket, None)) is not None:
            give_back()
        found = self._running.pop(ticket, None)
        if found is None:
            return  # its node was removed
        server, lane, begun = found
        place = self._places[server]
        place.running[lane] -= 1
        place.ended[lane, ending] += 1
        seconds = max(0.0, now - begun)
        place.seconds[lane] += seconds
        if ending in ("ok", "failed"):
            place.breaker.succeeded(place.slots)
        if trouble is not None:
            place.refused(trouble, now, self._pace)
        if ending == "ok":
            place.answered()
            mean_s = seconds if place.mean_s is None else place.mean_s
            place.mean_s = mean_s + _WEIGHT * (seconds - mean_s)
        elif ending == "away":
            place.breaker.failed(now)

    def probed(
        self, server: Endpoint, now: float, *, well: bool, slots: int | None, busy: int | None
    ) -> None:
        """A server was looked at; it may have told how many slots it has, and how many work."""
        if not self.knows(server):
            return
        place = self._places[server.id]
        place.breaker.probed(well, now)
        if well:
            place.told_slots = slots or place.told_slots
            place.told_busy = busy
            place.others = max(0, (busy or 0) - place.running.total())

    def state(self, server: Endpoint) -> State:
        return self._places[server.id].breaker.state if self.knows(server) else "down"

    def trouble(self, server: Endpoint) -> str | None:
        """Why it refuses whoever asks."""
        return self._places[server.id].trouble if self.knows(server) else None

    def suspect(self, server: Endpoint) -> bool:
        """Whether to look at it again at once."""
        return self.knows(server) and self._places[server.id].breaker.suspect

    # --- how things stand

    def slots(self, lane: Lane, role: Role) -> int:
        """How many calls of a role could run at once now; 0 when no server is up."""
        return sum(place.breaker.limit(place.slots) for place in self._able(lane, role))

    def up(self, lane: Lane, role: Role) -> list[Endpoint]:
        """The servers that are up and answer for a role."""
        return [place.server for place in self._for(lane, role) if place.fit]

    def has_room(self, lane: Lane, role: Role, avoid: frozenset[str]) -> bool:
        """Whether one more call could begin now."""
        return bool(self._room(lane, role, avoid))

    def has(self, lane: Lane, role: Role) -> bool:
        """Whether any server answers for a role at all, up or not."""
        return bool(self._for(lane, role))

    def waiting(self, lane: Lane) -> int:
        return len(self._queues[lane])

    def refused(self, lane: Lane) -> tuple[int, int]:
        """How often the queue was full, and how often no server was up."""
        return self._refused[lane, False], self._refused[lane, True]

    def next_deadline(self) -> float | None:
        """When the first call that waits has waited enough."""
        ends = [w.until for queue in self._queues.values() for w in queue.values()]
        return min(ends, default=None)

    def figures(self) -> list[EndpointFigures]:
        return [
            EndpointFigures(
                server=place.server,
                state=place.breaker.state,
                draining=place.draining,
                slots=place.slots,
                busy=place.told_busy,
                lanes={lane: _lane_figures(place, lane) for lane in LANES},
                trouble=place.trouble,
            )
            for place in self._places.values()
        ]

    def _after_s(self, lane: Lane, role: Role) -> int:
        """A guess of when a place in the queue is free."""
        places = [place for place in self._for(lane, role) if place.fit]
        means = [place.mean_s for place in places if place.mean_s is not None]
        mean_s = sum(means) / len(means) if means else _FIRST_GUESS_S
        slots = max(1, sum(place.slots for place in places))
        return max(1, min(AFTER_S_MAX, math.ceil(mean_s * self.waiting(lane) / slots)))


def _lane_figures(place: _Place, lane: Lane) -> LaneFigures:
    return LaneFigures(
        running=place.running[lane],
        ok=place.ended[lane, "ok"],
        failed=place.ended[lane, "failed"],
        away=place.ended[lane, "away"],
        given_up=place.ended[lane, "given up"],
        seconds=place.seconds[lane],
    )
