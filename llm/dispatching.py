"""The dispatcher: makes calls at nodes, as `scheduling.py` decides, and looks after their servers.

A call runs in its caller's thread, once a slot is free for it. When nobody is there it goes to
another server; when a server stops answering its probes, what runs there is broken off and goes to
another too. Each server is looked at by a thread of its own, from the first call on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rewound.llm.askers import (
    Asker,
    GivenUp,
    NodesAway,
    NodesBusy,
    NotAsked,
    asked_by,
    check_still,
    either,
    together,
)
from rewound.llm.breaking import PACE, Pace
from rewound.llm.client_sets import Clients
from rewound.llm.hedging import hedged
from rewound.llm.nodes import LANES, Endpoint, Enlisted, Lane, Node, Role
from rewound.llm.scheduling import (
    Begin,
    Drop,
    Ending,
    EndpointFigures,
    NotTaken,
    Scheduler,
    SharedSlots,
)

if TYPE_CHECKING:
    from rewound.llm.looking import Look, Seen

T = TypeVar("T")
C = TypeVar("C")

Call = Callable[[Endpoint, float], T]
"""One exchange with a server, by whoever has so many seconds left for it (may be infinite)."""

_NEVER = float("inf")
_LOOK_S = 0.02
"""How often it is looked whether other processes have given a slot back."""

_GONE = "nobody waits for this any more"

_log = logging.getLogger(__name__)


class LaneStands(NamedTuple):
    """A lane's queue: what waits, and how often it was full or had nobody to ask."""

    waiting: int
    busy: int
    away: int


class Dispatcher:
    """Safe for any number of threads."""

    def __init__(
        self,
        nodes: Iterable[Node],
        *,
        pace: Pace = PACE,
        queue_max: Mapping[Lane, int] | None = None,
        hedge_s: float | None = None,
        look: Callable[[Endpoint], Look] | None = None,
    ) -> None:
        """`hedge_s`: a read that has no answer by then is put to a second server as well. `look`
        makes what looks at a server, in place of HTTP."""
        self._pace = pace
        self._hedge_s = hedge_s
        self._scheduler = Scheduler(nodes, pace, dict(queue_max or {}))
        self._looks = look
        self._state = threading.Condition()
        self._decided: dict[int, Begin | Drop] = {}
        self._clients: list[Clients[object]] = []
        self._on_return: list[Callable[[], object]] = []
        self._on_arrival: list[Callable[[], object]] = []
        self._watched: dict[str, Endpoint] = {}
        self._poked: set[str] = set()
        self._watching = False
        self._looking: int | None = None
        """The call that looks after what others do, for all that wait."""
        self._shared: SharedSlots | None = None
        self._closed = False

    # --- asking

    def ask(
        self,
        lane: Lane,
        role: Role,
        call: Call[T],
        *,
        is_away: Callable[[BaseException], bool],
        timeout_s: float | None = None,
        asker: Asker | None = None,
        read: bool = False,
    ) -> T:
        """What the call gives, made at the least busy server.

        One for which `is_away`, or whose failure is `unfit`, is made again at another server, for
        as long as there is one. `timeout_s` bounds the waiting and is told to the call. It waits no
        longer once `asker` goes, or whoever asks in this context. A `read` may be hedged: then the
        call that is not needed any more is given up. Raises what the call raises, and NotAsked.
        """
        until = _NEVER if timeout_s is None else time.monotonic() + timeout_s
        self.watch()
        asker = together(asker)
        if not read or self._hedge_s is None:
            return self._ask(lane, role, call, is_away, until, asker)
        first: list[str] = []
        answered = Asker()  # goes once there is an answer, for which the other call need not wait

        def asked(call: Call[T], avoid: frozenset[str] = frozenset()) -> T:
            with asked_by(together(answered)):
                return self._ask(lane, role, call, is_away, until, either(asker, answered), avoid)

        def noting(server: Endpoint, left_s: float) -> T:
            first.append(server.id)
            return call(server, left_s)

        def again() -> T:
            return asked(call, frozenset(first))

        def may() -> bool:
            with self._state:
                return self._scheduler.has_room(lane, role, frozenset(first)) and bool(first)

        try:
            return hedged(lambda: asked(noting), again, self._hedge_s, may)
        finally:
            answered.go()

    def _ask(
        self,
        lane: Lane,
        role: Role,
        call: Call[T],
        is_away: Callable[[BaseException], bool],
        until: float,
        asker: Asker,
        avoid: frozenset[str] = frozenset(),
    ) -> T:
        last: BaseException | None = None
        while True:
            try:
                begin = self._begin(lane, role, until, avoid, asker)
            except NotAsked:
                if last is not None:
                    raise last from None
                raise
            ending: Ending = "given up"
            trouble: str | None = None
            try:
                check_still()
                result = call(begin.server, until - time.monotonic())
                ending = "ok"
                return result
            except GivenUp:
                raise
            except Exception as error:
                away = is_away(error)
                if not away:
                    ending = "failed"  # it answered, if not as was hoped
                    trouble = str(error) if getattr(error, "unfit", False) else None
                if not away and trouble is None:
                    raise
                if time.monotonic() >= until or asker.gone or self._closed:
                    raise
                ending, last = "away" if away else "failed", error
                avoid |= {begin.server.id}
            finally:
                self._ended(begin, ending, trouble)

    def _begin(
        self, lane: Lane, role: Role, until: float, avoid: frozenset[str], asker: Asker
    ) -> Begin:
        """Wait for a slot. Raises NotAsked."""
        with self._state, asker.telling(self._tell):
            if self._closed:
                raise GivenUp(_GONE)
            try:
                ticket = self._scheduler.offer(lane, role, until, avoid)
            except NotTaken as refused:
                raise _why(refused) from None
            try:
                decided = self._wait_for(ticket, asker)
            except BaseException:
                self._take_back(ticket)
                raise
            finally:
                if self._looking == ticket:
                    self._looking = None
                    self._state.notify_all()
        if isinstance(decided, Begin):
            return decided
        if decided.late:
            raise NodesBusy(f"no node had a slot for {role} in time: try again in 1 s", 1)
        raise NodesAway(_away(role, lane))

    def _wait_for(self, ticket: int, asker: Asker) -> Begin | Drop:
        self._pump()
        while ticket not in self._decided:
            if asker.gone or self._closed:
                raise GivenUp(_GONE)
            end = self._scheduler.next_deadline()
            left_s = _NEVER if end is None else end - time.monotonic()
            if self._scheduler.waits_for_others and self._looking in (None, ticket):
                self._looking = ticket
                left_s = min(left_s, _LOOK_S)
            if left_s > 0:
                self._state.wait(None if left_s == _NEVER else left_s)
            self._pump()
        return self._decided.pop(ticket)

    def _take_back(self, ticket: int) -> None:
        """Nobody waits for this call any more; it may have been let go on at the same moment."""
        self._scheduler.withdraw(ticket)
        if isinstance(self._decided.pop(ticket, None), Begin):
            self._scheduler.ended(ticket, "given up", time.monotonic())
        self._pump()

    def _tell(self) -> None:
        """Let those who wait look whether their asker has gone."""
        with self._state:
            self._state.notify_all()

    def _pump(self) -> None:
        """Decide what can be decided; to be called with the state held."""
        decided = self._scheduler.decide(time.monotonic())
        if decided:
            self._decided.update((each.ticket, each) for each in decided)
            self._state.notify_all()

    def _ended(self, begin: Begin, ending: Ending, trouble: str | None) -> None:
        server = begin.server
        with self._state:
            before = self._scheduler.state(server)
            refused = self._scheduler.trouble(server) is None and trouble is not None
            self._scheduler.ended(begin.ticket, ending, time.monotonic(), trouble)
            after = self._scheduler.state(server)
            if ending == "away":
                self._poked.add(server.id)
                self._state.notify_all()
            self._pump()
        if refused:
            _log.warning("node %s refuses whoever asks, and is asked last: %s", server.id, trouble)
        self._changed(server, before, after)

    # --- watching

    def watch(self) -> None:
        """Look after the servers from now on."""
        with self._state:
            if self._closed:
                return
            self._watching = True
            for server in self._scheduler.endpoints():
                if self._watched.get(server.id) is not server:
                    self._watched[server.id] = server
                    threading.Thread(
                        target=self._watch, args=(server,), name="rewound-node", daemon=True
                    ).start()

    def _watch(self, server: Endpoint) -> None:
        with self._looking_at(server) as look:
            missed = False
            while True:
                seen = _seen(look)
                missed |= not seen.well
                with self._state:
                    if self._closed or not self._scheduler.knows(server):
                        return
                    before = self._scheduler.state(server)
                    now = time.monotonic()
                    self._scheduler.probed(
                        server, now, well=seen.well, slots=seen.slots, busy=seen.busy
                    )
                    after = self._scheduler.state(server)
                    self._poked.discard(server.id)
                    self._pump()
                    if before != after:
                        self._state.notify_all()
                if after == "down" and not seen.well:
                    self._break_off(server)  # what hangs there would hang for long
                self._changed(server, before, after, missed=missed)
                self._rest(server, now + self._pace.probe_s)

    def _rest(self, server: Endpoint, until: float) -> None:
        """Wait until it is to be looked at again."""
        with self._state:
            while self._scheduler.knows(server) and not self._scheduler.suspect(server):
                left_s = until - time.monotonic()
                if left_s <= 0 or server.id in self._poked or self._closed:
                    return
                self._state.wait(left_s)

    @contextmanager
    def _looking_at(self, server: Endpoint) -> Iterator[Look]:
        if self._looks is not None:
            yield self._looks(server)
            return
        from rewound.llm.looking import Looker  # httpx takes a while to load

        with closing(Looker(server, self._pace.probe_timeout_s)) as looker:
            yield looker

    def _break_off(self, server: Endpoint) -> None:
        for clients in list(self._clients):
            clients.drop(server)

    def _changed(self, server: Endpoint, before: str, after: str, *, missed: bool = False) -> None:
        """Tell the log, and those who wait for somebody to be there; `missed` says that it was not
        at some look before."""
        if before == after:
            return
        if after == "down":
            _log.warning("node %s does not answer and is left alone for now", server.id)
        elif before == "down":
            _log.info("node %s is back", server.id)
        if after != "down" and before in ("new", "down"):
            self._announce(returned=before == "down" or missed)

    def _announce(self, *, returned: bool = True) -> None:
        for listener in [*self._on_arrival, *(self._on_return if returned else ())]:
            listener()

    def on_return(self, listener: Callable[[], object]) -> None:
        """Call this whenever a server is found to be there that was not there before.

        In any thread; it must be quick and raise nothing.
        """
        self._on_return.append(listener)

    def on_arrival(self, listener: Callable[[], object]) -> None:
        """The same, and also of a server that is there at the first look: news to whoever was left
        waiting by a process before this one.
        """
        self._on_arrival.append(listener)

    # --- nodes

    def clients(
        self, make: Callable[[Endpoint], C], close: Callable[[C], object] = lambda client: None
    ) -> Clients[C]:
        """A set of clients, those of which are closed whose servers go."""
        made = Clients(make, close)
        self._clients.append(made)  # type: ignore[arg-type]
        return made

    def let_go(self, clients: Clients[C]) -> None:
        """These clients were closed by whoever had them."""
        self._clients = [each for each in self._clients if each is not clients]

    def add(self, node: Node) -> None:
        """Work with a node from now on; one of that name is replaced."""
        with self._state:
            gone = [each for each in self._scheduler.endpoints() if each.node == node.name]
            self._scheduler.add(node)
            self._pump()
            watching = self._watching
        for server in gone:
            self._break_off(server)
        if watching:
            self.watch()
        self._announce()

    def table(self) -> tuple[Enlisted, ...]:
        """The nodes there are."""
        with self._state:
            return self._scheduler.table()

    def follow(self, table: Iterable[Enlisted]) -> None:
        """Work with these nodes and no others: those of another process."""
        wanted = {each.node.name: each for each in table}
        known = {each.node.name: each for each in self.table()}
        for name in known.keys() - wanted.keys():
            self.remove(name)
        for name, each in wanted.items():
            mine = known.get(name)
            if mine is None or mine.node != each.node or (mine.draining and not each.draining):
                self.add(each.node)
            if each.draining:
                self.drain(name)

    def share(self, slots: SharedSlots) -> None:
        """Share the servers' slots with other processes, before anything is asked."""
        self._shared = slots
        self._scheduler.share(slots)

    def drain(self, name: str) -> bool:
        """Let a node finish what runs there and give it no more; whether there is such a node."""
        with self._state:
            found = self._scheduler.drain(name)
            self._pump()
        return found

    def remove(self, name: str) -> bool:
        """Forget a node; what runs there is broken off and goes to another."""
        with self._state:
            gone = self._scheduler.remove(name)
            for server in gone:
                self._watched.pop(server.id, None)
            self._pump()
            self._state.notify_all()
        for server in gone:
            self._break_off(server)
        return bool(gone)

    def close(self) -> None:
        """Give up: what waits ends, what runs is broken off, nobody is looked at any more."""
        with self._state:
            self._closed = True
            if self._shared is not None:
                self._shared.close()
            self._state.notify_all()
        for clients in self._clients:
            clients.close()

    # --- how things stand

    def slots(self, lane: Lane, role: Role) -> int:
        """How many calls of a role could run at once now; 0 when no server is up."""
        with self._state:
            return self._scheduler.slots(lane, role)

    def has(self, lane: Lane, role: Role) -> bool:
        """Whether any server answers for a role at all, up or not."""
        with self._state:
            return self._scheduler.has(lane, role)

    def endpoints(self, lane: Lane, role: Role) -> list[Endpoint]:
        """The servers that are up and answer for a role."""
        with self._state:
            return self._scheduler.up(lane, role)

    def settle(self, timeout_s: float) -> None:
        """Wait so long at most until every server was looked at once."""
        until = time.monotonic() + timeout_s
        with self._state:
            while any(each.state == "new" for each in self._scheduler.figures()):
                left_s = until - time.monotonic()
                if left_s <= 0 or self._closed or not self._watching:
                    return
                self._state.wait(left_s)

    def figures(self) -> list[EndpointFigures]:
        with self._state:
            return self._scheduler.figures()

    def lanes(self) -> dict[Lane, LaneStands]:
        with self._state:
            return {
                lane: LaneStands(self._scheduler.waiting(lane), *self._scheduler.refused(lane))
                for lane in LANES
            }


def _seen(look: Look) -> Seen:
    from rewound.llm.looking import Seen

    try:
        return look()
    except Exception as error:
        # A mistake of ours about one server: it counts as not there, which is told.
        _log.warning("a look at a node ended with %s", type(error).__name__)
        return Seen(False)


def _why(refused: NotTaken) -> NotAsked:
    if refused.away:
        return NodesAway(_away(refused.role, refused.lane))
    return NodesBusy(
        f"too many calls wait for {refused.role} already: try again in {refused.after_s} s",
        refused.after_s,
    )


def _away(role: Role, lane: Lane) -> str:
    return f"no node that answers for {role} in the {lane} lane can be reached"
