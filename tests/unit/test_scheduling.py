"""Which call goes where, decided with a clock of the test's own."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rewound.llm.breaking import Pace
from rewound.llm.nodes import LANES, Endpoint, Lane, Node, Role
from rewound.llm.scheduling import Begin, Drop, NotTaken, Scheduler

PACE = Pace(probe_s=10.0)
FAR = 1e9


def node(name: str, *roles: Role, lanes: tuple[Lane, ...] = LANES, slots: int = 1) -> Node:
    asked: tuple[Role, ...] = roles or ("chat",)
    urls: dict[Role, str] = {r: f"http://{name}:{8080 + at}" for at, r in enumerate(asked)}
    return Node(name=name, urls=urls, lanes=lanes, slots=slots)


def begun(scheduler: Scheduler, now: float = 0.0) -> list[tuple[int, str]]:
    return [
        (each.ticket, each.server.id) for each in scheduler.decide(now) if isinstance(each, Begin)
    ]


def test_the_least_busy_server_is_asked_then_the_one_that_rested_longest() -> None:
    scheduler = Scheduler([node("a", slots=4), node("b", slots=2)])
    for _ in range(6):
        scheduler.offer("background", "chat", FAR)
    assert [server[0] for _, server in begun(scheduler)] == ["a", "b", "a", "b", "a", "a"]


def test_what_others_do_there_counts_as_busy() -> None:
    scheduler = Scheduler([node("a", slots=2), node("b", slots=2)])
    first, _ = scheduler.endpoints()
    scheduler.probed(first, 0, well=True, slots=None, busy=1)
    scheduler.offer("background", "chat", FAR)
    assert begun(scheduler)[0][1] == "b/chat"


def test_slots_are_what_the_server_tells_unless_they_are_set() -> None:
    told = Node(name="a", urls={"chat": "http://a"})
    scheduler = Scheduler([told, node("b", slots=2)])
    assert scheduler.slots("background", "chat") == 3
    for server in scheduler.endpoints():
        scheduler.probed(server, 0, well=True, slots=8, busy=None)
    assert scheduler.slots("background", "chat") == 10


def test_people_go_first_and_nothing_of_the_background_begins_while_they_wait() -> None:
    scheduler = Scheduler([node("a", "chat", "embed")])
    one = scheduler.offer("background", "chat", FAR)
    two = scheduler.offer("background", "chat", FAR)
    assert begun(scheduler) == [(one, "a/chat")]
    person = scheduler.offer("interactive", "chat", FAR)
    scheduler.offer("background", "embed", FAR)
    assert begun(scheduler) == [], "not even at another address of the node"
    scheduler.ended(one, "ok", 1)
    assert begun(scheduler)[0] == (person, "a/chat"), "it waited for one background call"
    scheduler.ended(person, "ok", 2)
    assert begun(scheduler)[0][0] == two


def test_lanes_of_their_own_do_not_meet() -> None:
    scheduler = Scheduler([node("a", lanes=("interactive",)), node("b", lanes=("background",))])
    for _ in range(3):
        scheduler.offer("background", "chat", FAR)
    scheduler.offer("interactive", "chat", FAR)
    assert sorted(server for _, server in begun(scheduler)) == ["a/chat", "b/chat"]


def test_chat_answers_for_decide_where_nothing_else_does() -> None:
    scheduler = Scheduler([node("a")])
    scheduler.offer("background", "decide", FAR)
    assert begun(scheduler)[0][1] == "a/chat"
    scheduler.add(node("b", "decide"))
    for _ in range(2):
        scheduler.offer("background", "decide", FAR)
    assert [server for _, server in begun(scheduler)] == ["b/decide"]


def test_who_refuses_whoever_asks_is_asked_last_and_tried_again_ever_later() -> None:
    scheduler = Scheduler([node("a"), node("b", slots=4)], pace=PACE)

    def asked(now: float, avoid: frozenset[str] = frozenset()) -> tuple[int, str]:
        ticket = scheduler.offer("background", "chat", FAR, avoid)
        (begin,) = begun(scheduler, now)
        assert begin[0] == ticket
        return begin

    def ended(ticket: int, now: float, trouble: str | None = None) -> None:
        scheduler.ended(ticket, "ok" if trouble is None else "failed", now, trouble)

    assert scheduler.slots("background", "chat") == 5
    now = 0.0
    for pause in (10, 20, 40, 80, 160, 160):
        ticket, at = asked(now)
        assert at == "a/chat", "it is tried again"
        ended(ticket, now, "it has no key")
        for moment in (now, now + pause - 1):
            ticket, at = asked(moment)
            assert at == "b/chat" and scheduler.slots("background", "chat") == 4
            ended(ticket, moment)
        assert scheduler.figures()[0].trouble == "it has no key"
        now += pause
    ticket, at = asked(now, frozenset({"b/chat"}))
    assert at == "a/chat"
    ended(ticket, now)
    assert scheduler.figures()[0].trouble is None and scheduler.slots("background", "chat") == 5


def test_where_no_other_is_up_even_one_that_refuses_is_asked() -> None:
    scheduler = Scheduler([node("a")], pace=PACE)
    for _ in range(3):
        ticket = scheduler.offer("background", "chat", FAR)
        assert begun(scheduler) == [(ticket, "a/chat")]
        scheduler.ended(ticket, "failed", 0, "it has no key")
    assert scheduler.figures()[0].state == "up", "somebody is there"


def test_a_full_queue_says_when_to_try_again() -> None:
    scheduler = Scheduler([node("a")], queue_max={"background": 2})
    first = scheduler.offer("background", "chat", FAR)
    begun(scheduler)
    scheduler.ended(first, "ok", 7)
    for _ in range(3):
        scheduler.offer("background", "chat", FAR)
        begun(scheduler, 7)
    with pytest.raises(NotTaken) as caught:
        scheduler.offer("background", "chat", FAR)
    assert (caught.value.away, caught.value.after_s) == (False, 14)
    assert scheduler.refused("background") == (1, 0)
    scheduler.offer("interactive", "chat", FAR)


def test_with_every_server_down_it_is_said_at_once() -> None:
    scheduler = Scheduler([node("a")], PACE)
    (server,) = scheduler.endpoints()
    running, waits = (scheduler.offer("background", "chat", FAR) for _ in range(2))
    begun(scheduler)
    for _ in range(2):
        scheduler.probed(server, 0, well=False, slots=None, busy=None)
    assert scheduler.decide(0) == [Drop(waits, late=False)]
    with pytest.raises(NotTaken) as caught:
        scheduler.offer("interactive", "chat", FAR)
    assert (caught.value.away, caught.value.after_s) == (True, 10)
    scheduler.ended(running, "away", 1)
    scheduler.probed(server, 10, well=True, slots=None, busy=None)
    assert scheduler.slots("background", "chat") == 1


def test_a_call_does_not_go_back_to_where_nobody_was() -> None:
    scheduler = Scheduler([node("a"), node("b")])
    scheduler.offer("background", "chat", FAR, frozenset({"a/chat"}))
    scheduler.offer("background", "chat", FAR, frozenset({"a/chat"}))
    assert [server for _, server in begun(scheduler)] == ["b/chat"]
    with pytest.raises(NotTaken):
        scheduler.offer("background", "chat", FAR, frozenset({"a/chat", "b/chat"}))


def test_a_deadline_is_kept() -> None:
    scheduler = Scheduler([node("a")])
    scheduler.offer("interactive", "chat", 5)
    begun(scheduler)
    assert scheduler.next_deadline() is None
    late = scheduler.offer("interactive", "chat", 6)
    assert scheduler.next_deadline() == 6
    assert scheduler.decide(5) == []
    assert scheduler.decide(6) == [Drop(late, late=True)]


def test_draining_removing_and_replacing_a_node() -> None:
    scheduler = Scheduler([node("a"), node("b")])
    one, two, three = (scheduler.offer("background", "chat", FAR) for _ in range(3))
    assert begun(scheduler) == [(one, "a/chat"), (two, "b/chat")]
    assert scheduler.drain("a") and not scheduler.drain("x")
    scheduler.ended(one, "ok", 1)
    assert begun(scheduler) == []
    scheduler.add(node("a"))
    assert begun(scheduler) == [(three, "a/chat")]
    assert [server.id for server in scheduler.remove("a")] == ["a/chat"]
    scheduler.ended(three, "ok", 2)  # its node is gone: it counts nowhere
    assert [each.server.id for each in scheduler.figures()] == ["b/chat"]


# --- anything that may happen, in any order

names = st.sampled_from(["a", "b", "c"])
lanes = st.sampled_from(LANES)
roles: st.SearchStrategy[Role] = st.sampled_from(["chat", "embed", "decide"])
QUEUE = 3


class Scheduling(RuleBasedStateMachine):
    """Keeps books of its own: who waits, who runs where, who is down or draining."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.scheduler = Scheduler([], PACE, dict.fromkeys(LANES, QUEUE))
        self.waits: dict[int, tuple[Lane, Role, float, frozenset[str]]] = {}
        self.runs: dict[int, tuple[Lane, Endpoint]] = {}

    # --- what happens

    @rule(
        name=names,
        made=st.sets(st.sampled_from(["chat", "embed", "decide"]), min_size=1),
        among=st.sampled_from([LANES, ("interactive",), ("background",)]),
        slots=st.integers(1, 3),
    )
    def add(self, name: str, made: set[Role], among: tuple[Lane, ...], slots: int) -> None:
        self._forget(name)
        self.scheduler.add(node(name, *sorted(made), lanes=among, slots=slots))
        self._decide()

    @rule(name=names)
    def remove(self, name: str) -> None:
        self._forget(name)
        self.scheduler.remove(name)
        self._decide()

    @rule(name=names)
    def drain(self, name: str) -> None:
        self.scheduler.drain(name)
        self._decide()

    @rule(lane=lanes, role=roles, patience=st.integers(1, 50), avoid=st.sets(names, max_size=2))
    def offer(self, lane: Lane, role: Role, patience: int, avoid: set[str]) -> None:
        away = frozenset(f"{name}/chat" for name in avoid)
        until = self.now + patience
        could = list(self._could(lane, role, away))
        try:
            ticket = self.scheduler.offer(lane, role, until, away)
        except NotTaken as refused:
            assert refused.after_s >= 1
            if refused.away:
                assert not could
            else:
                assert could and self.scheduler.waiting(lane) == QUEUE
            return
        assert could
        self.waits[ticket] = (lane, role, until, away)
        self._decide()

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), ending=st.sampled_from(["ok", "failed", "away", "given up"]))
    def end(self, data: st.DataObject, ending: str) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.runs)))
        del self.runs[ticket]
        self.scheduler.ended(ticket, ending, self.now)  # type: ignore[arg-type]
        self._decide()

    @precondition(lambda self: self.waits)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.waits)))
        del self.waits[ticket]
        self.scheduler.withdraw(ticket)
        self._decide()

    @precondition(lambda self: self.scheduler.endpoints())
    @rule(data=st.data(), well=st.booleans(), busy=st.none() | st.integers(0, 3))
    def probe(self, data: st.DataObject, well: bool, busy: int | None) -> None:
        server = data.draw(st.sampled_from(self.scheduler.endpoints()))
        self.scheduler.probed(server, self.now, well=well, slots=2, busy=busy)
        self._decide()

    @rule(seconds=st.integers(1, 30))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self._decide()

    # --- what must hold

    def _decide(self) -> None:
        for decision in self.scheduler.decide(self.now):
            lane, role, until, avoid = self.waits.pop(decision.ticket)
            if isinstance(decision, Drop):
                assert decision.late == (self.now >= until)
                assert decision.late or not list(self._could(lane, role, avoid))
                continue
            assert self.now < until
            server = decision.server
            assert server.id in [each.id for each in self._could(lane, role, avoid)]
            self.runs[decision.ticket] = (lane, server)
            if lane == "background":
                assert server.node not in self._awaited()
        assert self.scheduler.decide(self.now) == [], "all was decided at once"

    def _forget(self, name: str) -> None:
        self.runs = {t: run for t, run in self.runs.items() if run[1].node != name}

    def _could(self, lane: Lane, role: Role, avoid: frozenset[str]) -> Iterator[Endpoint]:
        fit = {
            each.server.id: each.state != "down" and not each.draining
            for each in self.scheduler.figures()
        }
        mine = [server for server in self.scheduler.endpoints() if lane in server.lanes]
        found = [server for server in mine if role in server.roles]
        if role == "decide" and not found:
            found = [server for server in mine if "chat" in server.roles]
        yield from (each for each in found if fit[each.id] and each.id not in avoid)

    def _awaited(self) -> set[str]:
        """Nodes that a person's call waits for, of those still waiting after all was decided."""
        return {
            server.node
            for lane, role, _, avoid in self.waits.values()
            if lane == "interactive"
            for server in self._could(lane, role, avoid)
            if self._is_full(server)
        }

    def _is_full(self, server: Endpoint) -> bool:
        running = sum(at.id == server.id for _, at in self.runs.values())
        return running >= self._limit(server)

    def _limit(self, server: Endpoint) -> int:
        (found,) = (each for each in self.scheduler.figures() if each.server is server)
        assert server.slots is not None
        return server.slots if found.state == "up" or found.state == "new" else 1

    @invariant()
    def no_server_has_more_than_its_slots(self) -> None:
        for figures in self.scheduler.figures():
            running = [lane for lane, at in self.runs.values() if at is figures.server]
            assert len(running) <= figures.slots
            for lane in LANES:
                assert figures.lanes[lane].running == running.count(lane)

    @invariant()
    def queues_are_bounded_and_hold_what_waits(self) -> None:
        for lane in LANES:
            waiting = sum(each[0] == lane for each in self.waits.values())
            assert self.scheduler.waiting(lane) == waiting <= QUEUE

    @invariant()
    def nobody_waits_while_a_server_is_idle(self) -> None:
        for lane, role, _, avoid in self.waits.values():
            for server in self._could(lane, role, avoid):
                busy = any(at is server for _, at in self.runs.values())
                assert busy or (lane == "background" and server.node in self._awaited())


TestScheduling = Scheduling.TestCase
TestScheduling.settings = settings(stateful_step_count=25)
