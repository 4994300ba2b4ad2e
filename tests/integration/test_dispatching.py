"""Calls at nodes, over the wire of scripted servers that are killed, hung and slowed down."""

import contextlib
import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.eventlog.enums import Why
from rewound.llm.askers import Asker, NodesAway, NodesBusy
from rewound.llm.breaking import Pace
from rewound.llm.chat import Chat
from rewound.llm.dispatched import DispatchedChat, DispatchedEmbedder
from rewound.llm.dispatched_reranker import DispatchedReranker
from rewound.llm.dispatching import Dispatcher
from rewound.llm.embedding import EmbeddingAway, EmbeddingBusy
from rewound.llm.embedding_server import EmbeddingServer
from rewound.llm.looking import Look, Seen
from rewound.llm.nodes import LANES, Endpoint, Enlisted, Lane, Node
from rewound.llm.plain_rerankers import EmbedderReranker, WordsReranker
from rewound.llm.replies import ChatFailed
from rewound.llm.rerank_server import RerankServer
from rewound.llm.reranking import RerankFailed
from rewound.llm.slot_files import SlotFiles
from rewound.memory.meaning import Meaning
from tests import loaded
from tests.integration.noding import ScriptedNode, nodes

SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
}
SOON = Pace(probe_s=0.05)
IN_TIME = r"within (0\.0\d+|\d+e-\d+) s|in time"
LONG_S = 30.0
"""Far more than anything here takes: whoever waits so long waits in vain."""


def node_of(server: ScriptedNode, lanes: tuple[Lane, ...] = LANES) -> Node:
    return Node(name=f"n{server.port}", urls={"chat": server.url}, lanes=lanes)


def embed_node(server: ScriptedNode) -> Node:
    return Node(name=f"n{server.port}", urls={"embed": server.url})


@contextlib.contextmanager
def dispatching(
    servers: Sequence[ScriptedNode], *made: Node, pace: Pace = SOON, **more: Any
) -> Iterator[Dispatcher]:
    """With a node for each server unless they are given. What hangs is seen without a timeout."""
    at = {server.url: server for server in servers}

    def look(endpoint: Endpoint) -> Look:
        server = at[endpoint.url]
        return lambda: Seen(server.well, server.slots)

    made = made or tuple(map(node_of, servers))
    dispatcher = Dispatcher(made, pace=pace, look=look, **more)
    try:
        dispatcher.watch()
        yield dispatcher
    finally:
        dispatcher.close()


def chat_at(dispatcher: Dispatcher, lane: Lane = "background") -> DispatchedChat:
    def make(endpoint: Endpoint) -> Chat:
        return Chat(endpoint.url, "toy", endpoint.key, LONG_S)

    return DispatchedChat(dispatcher, lane, "chat", make)


def ask(chat: DispatchedChat, text: str) -> list[str]:
    facts: list[str] = chat.answer("Say it.", text, SCHEMA, 100)["facts"]
    return facts


def echoing(*servers: ScriptedNode) -> None:
    for server in servers:
        server.good = lambda told: {"facts": [told]}


def eventually(reached: Callable[[], bool]) -> None:
    """Wait for what other threads bring about."""
    ticking = threading.Event()
    for _ in range(int(LONG_S / 0.005)):
        if reached():
            return
        ticking.wait(0.005)
    raise AssertionError("it does not come")


def test_calls_overlap_as_far_as_there_are_slots_and_no_further() -> None:
    with nodes(3, slots=2) as servers, dispatching(servers) as dispatcher:
        echoing(*servers)
        together = threading.Barrier(6)
        for server in servers:
            server.within = lambda: together.wait(LONG_S)
        chat = chat_at(dispatcher)
        eventually(lambda: chat.parallel == 6)
        with ThreadPoolExecutor(24) as pool:
            texts = [str(number) for number in range(24)]
            assert list(pool.map(lambda text: ask(chat, text), texts)) == [[t] for t in texts]
        assert [server.most for server in servers] == [2, 2, 2]
        assert {len(server.told) for server in servers} == {8}


def test_what_a_killed_node_was_asked_goes_to_another() -> None:
    with nodes(2) as servers, dispatching(servers) as dispatcher:
        echoing(*servers)
        chat = chat_at(dispatcher)
        killed = threading.Event()
        servers[0].within = lambda: killed.wait(LONG_S)
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(ask, chat, text) for text in "ab"]
            assert servers[0].asked.wait(LONG_S)
            servers[0].kill()
            assert sorted(each.result(LONG_S) for each in asked) == [["a"], ["b"]]
        assert sorted(servers[1].told) == ["a", "b"]
        eventually(lambda: states(dispatcher)[0] == "down")
        killed.set()
        servers[0].revive()
        eventually(lambda: states(dispatcher)[0] == "trying")
        eventually(lambda: (ask(chat, "c"), states(dispatcher)[0] == "up")[1])


def test_what_hangs_is_broken_off_and_goes_to_another() -> None:
    with nodes(2) as servers, dispatching(servers) as dispatcher:
        echoing(*servers)
        chat = chat_at(dispatcher)
        assert chat.context_tokens() == 8192
        servers[0].hang()
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(ask, chat, text) for text in "ab"]
            assert sorted(each.result(LONG_S) for each in asked) == [["a"], ["b"]]
        assert states(dispatcher) == ["down", "up"]
        servers[0].go_on.set()
        eventually(lambda: states(dispatcher)[0] == "trying")


def test_what_a_node_tells_of_itself_is_waited_for_within_the_time() -> None:
    """What it reads is asked before a call, and shares the time of whoever waits for that."""
    with nodes(1) as (server,), dispatching([server]) as dispatcher:
        chat = chat_at(dispatcher, "interactive")
        eventually(lambda: states(dispatcher) == ["up"])
        server.tells.clear()
        with pytest.raises(ChatFailed, match=IN_TIME):
            chat.context_tokens(0.05)
        with pytest.raises(ChatFailed, match=IN_TIME):
            Chat(server.url).answer("Say it.", "a", SCHEMA, 100, timeout_s=0.05)
        server.tells.set()


def test_vectors_are_waited_for_within_the_time() -> None:
    with nodes(1) as (server,), dispatching([server], embed_node(server)) as dispatcher:
        embedder = DispatchedEmbedder(dispatcher, "toy", lambda at: EmbeddingServer(at.url, "toy"))
        reranker = EmbedderReranker(embedder)
        assert reranker.scores("a", ["b"], LONG_S).calls == 2
        held = threading.Event()
        server.within = lambda: held.wait(LONG_S)
        with pytest.raises(RerankFailed, match=IN_TIME):
            reranker.scores("a", ["b"], 0.05)
        with pytest.raises(EmbeddingAway, match=IN_TIME):
            EmbeddingServer(server.url, "toy").embed_within(["b"], 0.05)
        held.set()


@pytest.mark.parametrize("status", [401, 500])
def test_what_is_answered_with_an_error_is_no_success(status: int) -> None:
    with nodes(1) as (server,), dispatching([server]) as dispatcher:
        chat = chat_at(dispatcher)
        server.status = status
        with pytest.raises(ChatFailed):
            ask(chat, "a")
        server.status = 200
        ask(chat, "b")
        (seen,) = dispatcher.figures()
        told = seen.lanes["background"]
        assert (told.ok, told.failed, told.away) == (1, 1, 0)
        assert seen.state == "up", "somebody is there"


@pytest.mark.parametrize("status", [401, 403, 404, 405, 501])
def test_what_one_refuses_whoever_asks_goes_to_another(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong key or address at one node fails nothing, and is told."""
    with nodes(2, slots=1) as servers, dispatching(servers, pace=Pace(probe_s=1e6)) as dispatcher:
        echoing(*servers)
        servers[0].status = status
        chat = chat_at(dispatcher)
        assert [ask(chat, text) for text in "abcdef"] == [[text] for text in "abcdef"]
        wrong, well = dispatcher.figures()
        assert (wrong.lanes["background"].failed, well.lanes["background"].ok) == (1, 6)
        assert wrong.trouble is not None and str(status) in wrong.trouble and well.trouble is None
        (warned,) = [each for each in caplog.messages if "refuses whoever asks" in each]
        assert f"n{servers[0].port}" in warned
        dispatcher.remove(f"n{servers[1].port}")
        with pytest.raises(ChatFailed, match=str(status)) as caught:
            ask(chat, "g")
        assert caught.value.why is Why.REFUSED, "with nobody else its refusal is told"


@pytest.mark.parametrize("status", [400, 500])
def test_what_is_refused_for_itself_is_not_taken_elsewhere(status: int) -> None:
    with nodes(2) as servers, dispatching(servers) as dispatcher:
        servers[0].status = servers[1].status = status
        with pytest.raises(ChatFailed):
            ask(chat_at(dispatcher), "a")
        assert [each.lanes["background"].failed for each in dispatcher.figures()] == [1, 0]
        assert [each.trouble for each in dispatcher.figures()] == [None, None]


def test_vectors_and_scores_are_asked_for_elsewhere_too() -> None:
    with nodes(2) as servers:
        made = [
            Node(name=f"n{at}", urls={"embed": each.url, "rerank": each.url})
            for at, each in enumerate(servers)
        ]
        servers[0].status = 404
        with dispatching(servers, *made, pace=Pace(probe_s=1e6)) as dispatcher:
            embedder = DispatchedEmbedder(
                dispatcher, "toy", lambda at: EmbeddingServer(at.url, "toy")
            )
            reranker = DispatchedReranker(dispatcher, lambda at: RerankServer(at.url, None))
            for _ in range(3):
                assert embedder.embed_queries(["a"]).shape == (1, 2)
                assert reranker.scores("a", ["b"]).scores == [1.0]
            wrong, well = dispatcher.figures()
            assert (wrong.lanes["interactive"].failed, well.lanes["interactive"].ok) == (1, 6)


def test_after_two_looks_that_find_nobody_all_goes_on_elsewhere() -> None:
    """Looks are an interval apart: so people feel a node that hangs for two of them at most."""
    with nodes(2) as servers:
        echoing(*servers)
        sick, well = servers
        permits, made = threading.Semaphore(1), threading.Semaphore(0)

        def look(endpoint: Endpoint) -> Look:
            def seen() -> Seen:
                if endpoint.url == sick.url:
                    permits.acquire()
                    made.release()
                return Seen(sick.well if endpoint.url == sick.url else True, 1)

            return seen

        dispatcher = Dispatcher(list(map(node_of, servers)), pace=Pace(probe_s=0.005), look=look)
        with contextlib.closing(dispatcher), ThreadPoolExecutor(2) as pool:
            chat = chat_at(dispatcher)
            assert chat.context_tokens() == 8192 and made.acquire(timeout=LONG_S)
            sick.hang()
            asked = [pool.submit(ask, chat, text) for text in "ab"]
            eventually(lambda: sick.inside == 1 and well.told != [])
            permits.release()
            assert made.acquire(timeout=LONG_S)
            assert states(dispatcher)[0] != "down", "one look may be bad luck"
            permits.release()
            assert sorted(each.result(LONG_S) for each in asked) == [["a"], ["b"]]
            assert states(dispatcher) == ["down", "up"] and sorted(well.told) == ["a", "b"]
            permits.release(1_000)


def test_a_slow_node_gets_less() -> None:
    with nodes(2) as servers, dispatching(servers) as dispatcher:
        echoing(*servers)
        chat = chat_at(dispatcher)
        slow, quick = servers

        def within() -> None:
            """As long as the other takes for ten, or for all that is left."""
            begun = len(quick.told)
            eventually(lambda: len(quick.told) >= min(begun + 10, 41 - len(slow.told)))

        slow.within = within
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: ask(chat, str(number)), range(42)))
        assert len(slow.told) + len(quick.told) == 42 and 1 <= len(slow.told) <= 6


def test_with_nobody_there_it_is_said_and_with_somebody_back_it_goes_on() -> None:
    with nodes(1) as (server,), dispatching([server]) as dispatcher:
        back = threading.Event()
        server.kill()
        chat = chat_at(dispatcher)
        eventually(lambda: chat.parallel == 0)
        with pytest.raises(ChatFailed) as caught:
            ask(chat, "a")
        assert caught.value.why is Why.UNREACHABLE and "no node" in str(caught.value)
        with pytest.raises(ChatFailed, match="no node"):
            chat.context_tokens()
        dispatcher.on_return(back.set)
        server.revive()
        assert back.wait(LONG_S)
        assert ask(chat, "a") == []


@pytest.mark.parametrize(("looks", "news"), [((True,), 0), ((False, True), 1), ((True, True), 0)])
def test_whoever_is_there_at_the_first_look_has_not_come_back(
    looks: tuple[bool, ...], news: int
) -> None:
    """Else what just failed there would be tried again at once. It has arrived, for those who
    waited before this process was there."""
    begun, go_on, told = threading.Semaphore(0), threading.Semaphore(0), list[int]()
    arrived = list[int]()
    with nodes(1) as (server,):
        left = iter(looks)

        def seen() -> Seen:
            begun.release()
            go_on.acquire(timeout=LONG_S)
            return Seen(next(left, True), 1)

        dispatcher = Dispatcher([node_of(server)], pace=Pace(probe_s=0.005), look=lambda at: seen)
        with contextlib.closing(dispatcher):
            dispatcher.on_return(lambda: told.append(1))
            dispatcher.on_arrival(lambda: arrived.append(1))
            server.status = 503
            with pytest.raises(ChatFailed):
                ask(chat_at(dispatcher), "a")
            for _ in looks:
                assert begun.acquire(timeout=LONG_S)
                go_on.release()
            assert begun.acquire(timeout=LONG_S), "what came of the looks was told by now"
            assert (len(told), len(arrived)) == (news, 1) and states(dispatcher) == ["up"]
            go_on.release(100)


def test_one_that_looks_well_but_answers_nothing_is_left_alone_for_a_while() -> None:
    patient = Pace(probe_s=60)
    with nodes(2) as servers, dispatching(servers, pace=patient) as dispatcher:
        echoing(*servers)
        servers[0].status = 503
        chat = chat_at(dispatcher)
        for number in range(30):
            assert ask(chat, str(number)) == [str(number)]
        (sick, _) = dispatcher.figures()
        assert 1 <= sick.lanes["background"].away < 10 and sick.lanes["background"].ok == 0


def test_no_slot_is_held_while_a_client_is_made_ready() -> None:
    """A first one loads what speaks HTTP: a person's call would wait for that as well."""
    with nodes(1) as (server,):
        echoing(server)
        every = Node(name="all", urls=dict.fromkeys(("chat", "embed", "rerank"), server.url))
        with dispatching([server], every) as dispatcher:
            running: list[int] = []

            def noted(made: Any) -> Any:
                figures = [each.lanes.values() for each in dispatcher.figures()]
                running.append(sum(lane.running for lanes in figures for lane in lanes))
                return made

            chat = DispatchedChat(
                dispatcher, "background", "chat", lambda at: noted(Chat(at.url, "toy"))
            )
            assert ask(chat, "a") == ["a"]
            embedder = DispatchedEmbedder(
                dispatcher, "measuring/2", lambda at: noted(Measuring(at.url, "", []))
            )
            assert embedder.embed(["a"]).shape == (1, 2)
            reranker = DispatchedReranker(dispatcher, lambda at: noted(WordsReranker()))
            assert len(reranker.scores("a", ["b"]).scores) == 1
            assert running == [0, 0, 0]


def test_people_wait_for_one_background_call_at_most() -> None:
    with nodes(1) as (server,), dispatching([server]) as dispatcher:
        echoing(server)
        background, person = chat_at(dispatcher), chat_at(dispatcher, "interactive")
        step = threading.Semaphore(0)
        server.within = lambda: step.acquire(timeout=LONG_S)
        with ThreadPoolExecutor(12) as pool:
            asked: list[Future[Any]] = [pool.submit(ask, background, "b") for _ in range(8)]
            assert server.asked.wait(LONG_S)
            eventually(lambda: dispatcher.lanes()["background"].waiting == 7)
            asked += [pool.submit(ask, person, "p") for _ in range(2)]
            eventually(lambda: dispatcher.lanes()["interactive"].waiting == 2)
            for _ in range(10):
                step.release()
            for each in asked:
                each.result(LONG_S)
        assert server.told[:4] == ["b", "p", "p", "b"] and server.most == 1


def test_lanes_of_their_own_never_meet() -> None:
    with (
        nodes(2) as servers,
        dispatching(
            servers,
            node_of(servers[0], ("interactive",)),
            node_of(servers[1], ("background",)),
            pace=Pace(probe_s=60),
        ) as dispatcher,
    ):
        echoing(*servers)
        eventually(lambda: states(dispatcher) == ["up", "up"])
        servers[1].hang()
        with ThreadPoolExecutor(1) as pool:
            stuck = pool.submit(ask, chat_at(dispatcher), "b")
            assert servers[1].asked.wait(LONG_S)
            assert ask(chat_at(dispatcher, "interactive"), "p") == ["p"]
            servers[1].go_on.set()
            assert stuck.result(LONG_S) == ["b"]


def test_a_queue_that_is_full_says_when_to_try_again_and_a_deadline_is_kept() -> None:
    patient = Pace(probe_s=60)
    queues: dict[Lane, int] = {"interactive": 1}
    with (
        nodes(1) as (server,),
        dispatching([server], pace=patient, queue_max=queues) as dispatcher,
        ThreadPoolExecutor(2) as pool,
    ):
        eventually(lambda: states(dispatcher) == ["up"])
        echoing(server)
        server.hang()
        chat = chat_at(dispatcher, "interactive")
        asked = [pool.submit(ask, chat, "a")]
        assert server.asked.wait(LONG_S)
        asked.append(pool.submit(ask, chat, "b"))
        eventually(lambda: dispatcher.lanes()["interactive"].waiting == 1)
        with pytest.raises(ChatFailed, match="try again in 1 s"):
            ask(chat, "c")
        with pytest.raises(NodesBusy) as caught:
            run(dispatcher, "background", timeout_s=0.01)
        assert caught.value.after_s == 1
        server.go_on.set()
        assert [each.result(LONG_S) for each in asked] == [["a"], ["b"]]


def test_whoever_goes_away_waits_no_longer_and_holds_no_slot() -> None:
    with (
        nodes(1) as (server,),
        dispatching([server], pace=Pace(probe_s=60)) as dispatcher,
        ThreadPoolExecutor(2) as pool,
    ):
        echoing(server)
        eventually(lambda: states(dispatcher) == ["up"])
        server.hang()
        one, two = chat_at(dispatcher), chat_at(dispatcher)
        running = pool.submit(ask, one, "a")
        assert server.asked.wait(LONG_S)
        waiting = pool.submit(ask, two, "b")
        eventually(lambda: dispatcher.lanes()["background"].waiting == 1)
        two.close()
        assert isinstance(waiting.exception(LONG_S), ChatFailed)
        assert dispatcher.lanes()["background"].waiting == 0
        one.close()
        assert isinstance(running.exception(LONG_S), ChatFailed)
        server.go_on.set()
        assert ask(chat_at(dispatcher), "c") == ["c"]


def test_a_slow_read_is_put_to_a_second_node_and_the_first_answer_is_taken() -> None:
    with nodes(2) as servers, dispatching(servers, hedge_s=0.01) as dispatcher:
        held = threading.Event()

        def call(endpoint: Endpoint, left_s: float) -> str:
            if endpoint.url == servers[0].url:
                held.wait(LONG_S)
            return endpoint.url

        assert run(dispatcher, "interactive", call=call, read=True) == servers[1].url
        held.set()


def test_what_a_hedged_read_needs_no_more_is_given_up() -> None:
    """Its connection is closed, and its slot is free for others."""
    with nodes(2) as servers, dispatching(servers, hedge_s=0.01) as dispatcher:
        echoing(*servers)
        held = threading.Event()
        servers[0].within = lambda: held.wait(LONG_S)
        chat = chat_at(dispatcher, "interactive")
        for text in "ab":
            assert ask(chat, text) == [text]

        def calls(at: int) -> tuple[int, int, int]:
            told = dispatcher.figures()[at].lanes["interactive"]
            return told.running, told.ok, told.given_up

        eventually(lambda: calls(0)[0] == 0)
        assert calls(1) == (0, 2, 0) and calls(0)[1] == 0 and calls(0)[2] >= 1
        assert states(dispatcher) == ["up", "up"], "that is no fault of the server"
        held.set()


def test_nodes_come_and_go_while_it_runs() -> None:
    still = Pace(probe_s=60)
    with nodes(2) as (old, new), dispatching([old, new], node_of(old), pace=still) as dispatcher:
        echoing(old, new)
        eventually(lambda: states(dispatcher) == ["up"])
        chat = chat_at(dispatcher)
        old.hang()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask, chat, "a")
            assert old.asked.wait(LONG_S)
            dispatcher.add(node_of(new))
            assert dispatcher.drain(f"n{old.port}") and not dispatcher.drain("nobody")
            assert ask(chat, "b") == ["b"] and new.told == ["b"]
            assert dispatcher.remove(f"n{old.port}") and not dispatcher.remove("nobody")
            assert asked.result(LONG_S) == ["a"], "it went to the other one"
        assert new.told == ["b", "a"]
        assert dispatcher.remove(f"n{new.port}")
        with pytest.raises(ChatFailed, match="no node"):
            ask(chat, "c")


class Measuring:
    """Makes a vector of the length of each text; for the first address `away`."""

    def __init__(self, url: str, away: str, seen: list[str]) -> None:
        self.name, self.dimensions = "measuring/2", 2
        self._url = url
        self._away = away
        self._seen = seen

    def embed(self, texts: Sequence[str]) -> Any:
        self._seen.append(self._url)
        if self._url == self._away:
            raise EmbeddingAway("nobody is there")
        return np.array([[1.0, float(len(text))] for text in texts])


def test_an_embedder_at_nodes_fails_over_and_says_when_it_is_busy() -> None:
    with nodes(2) as servers:
        made = [
            Node(name=f"n{at}", urls={"embed": server.url}) for at, server in enumerate(servers)
        ]
        still = Pace(probe_s=60)
        none: dict[Lane, int] = {"interactive": 0}
        with dispatching(servers, *made, pace=still, queue_max=none) as dispatcher:
            eventually(lambda: states(dispatcher) == ["up", "up"])
            seen: list[str] = []
            embedder = DispatchedEmbedder(
                dispatcher,
                "measuring/2",
                lambda endpoint: Measuring(endpoint.url, servers[0].url, seen),
            )
            meaning = Meaning(embedder)
            assert meaning.of("four") is not None and seen == [each.url for each in servers]
            held = threading.Event()
            busy = [threading.Event(), threading.Event()]

            def hold(endpoint: Endpoint, left_s: float) -> None:
                busy[endpoint.url == servers[1].url].set()
                held.wait(LONG_S)

            with ThreadPoolExecutor(2) as pool:
                for _ in busy:
                    pool.submit(
                        dispatcher.ask, "background", "embed", hold, is_away=lambda error: False
                    )
                assert all(each.wait(LONG_S) for each in busy)
                assert meaning.of("other") is None
                assert "too many calls wait for embed already" in (meaning.trouble or "")
                with pytest.raises(EmbeddingBusy):
                    embedder.embed_for(["x"], "background", 0.01)
                held.set()


def run(dispatcher: Dispatcher, lane: Lane, **more: Any) -> Any:
    given: dict[str, Any] = {"call": lambda endpoint, left_s: endpoint.url} | more
    call = given.pop("call")
    return dispatcher.ask(lane, "chat", call, is_away=lambda error: False, asker=Asker(), **given)


def states(dispatcher: Dispatcher) -> list[str]:
    return [each.state for each in dispatcher.figures()]


def test_without_any_node_for_it_nobody_is_asked() -> None:
    with dispatching([]) as dispatcher, pytest.raises(NodesAway):
        run(dispatcher, "interactive")


@contextlib.contextmanager
def apart(server: ScriptedNode, folder: Path, count: int = 2) -> Iterator[list[Dispatcher]]:
    """Dispatchers of one node, as they are in so many processes."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(dispatching([server])) for _ in range(count)]
        for each in made:
            each.share(SlotFiles(folder))
            eventually(lambda each=each: states(each) == ["up"])  # type: ignore[misc]
        yield made


def test_processes_share_the_slots_of_a_node(tmp_path: Path) -> None:
    with nodes(1, slots=2) as (server,), apart(server, tmp_path / "slots", 3) as dispatchers:
        echoing(server)
        server.delay_s = 0.002
        chats = [chat_at(each) for each in dispatchers] * 8
        with ThreadPoolExecutor(24) as pool:
            texts = [str(number) for number in range(24)]
            assert list(pool.map(ask, chats, texts)) == [[text] for text in texts]
        assert server.most == 2


def test_a_person_goes_before_the_background_of_another_process(tmp_path: Path) -> None:
    with nodes(1) as (server,), apart(server, tmp_path / "slots") as (one, other):
        echoing(server)
        first = threading.Event()
        server.within = lambda: first.wait(LONG_S)
        behind = chat_at(one)
        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(ask, behind, f"behind {number}") for number in range(3)]
            assert server.asked.wait(LONG_S)
            person = pool.submit(ask, chat_at(other, "interactive"), "person")
            eventually(lambda: other.lanes()["interactive"].waiting == 1)
            first.set()
            assert person.result(LONG_S) == ["person"]
            assert [each.result(LONG_S) for each in running]
        assert server.told[1] == "person"


def test_what_a_process_held_is_free_when_it_is_gone(tmp_path: Path) -> None:
    """The slots, and that a person waited."""
    holds = (
        "import sys; from pathlib import Path; from rewound.llm.slot_files import SlotFiles\n"
        "slots = SlotFiles(Path(sys.argv[1]))\n"
        "slots.take('http://a', 1); slots.want(['http://a'])\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    slots = SlotFiles(tmp_path)
    with loaded.Popen[bytes](
        [sys.executable, "-c", holds, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        assert slots.take("http://a/v1", 1) is None, "one server by either address"
        assert slots.is_wanted("http://a") and not slots.is_wanted("http://b")
        process.kill()
        process.wait(LONG_S)
        assert not slots.is_wanted("http://a")
        give_back = slots.take("http://a", 1)
        assert give_back is not None and slots.take("http://a", 1) is None
        give_back()
        assert slots.take("http://a", 1) is not None


def test_where_no_file_can_be_locked_each_counts_for_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "slots"
    in_the_way.write_text("")
    with nodes(1) as (server,), apart(server, in_the_way) as (one, _):
        echoing(server)
        assert ask(chat_at(one), "a") == ["a"]
        assert ask(chat_at(one, "interactive"), "b") == ["b"]
    told = [each for each in caplog.messages if "not shared" in each]
    assert told == ["slots are not shared with other processes: File exists"]


def test_a_folder_in_which_nothing_can_be_locked_is_told_and_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As some network folders are."""

    def refused(fd: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("rewound.llm.slot_files.fcntl.flock", refused)
    slots = SlotFiles(tmp_path)
    slots.want(["http://a"])
    assert not slots.is_wanted("http://a") and slots.take("http://a", 1) is not None
    slots.close()
    assert not opened_below(tmp_path)
    told = [each for each in caplog.messages if "slots" in each]
    assert told == ["slots are not shared with other processes: No locks available"]


def opened_below(folder: Path) -> list[str]:
    """Files that this process has open; other threads open and close theirs meanwhile."""
    found: list[str] = []
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{each}"))
    return [path for path in found if Path(path).is_relative_to(folder)]


def test_a_table_of_nodes_is_followed() -> None:
    one, other = (Node(name=name, urls={"chat": f"http://127.0.0.1:{port}"})
                  for name, port in (("one", 9), ("other", 19)))  # fmt: skip
    leads = Dispatcher([one, other])
    follows = Dispatcher([Node(name="own", urls={"embed": "http://127.0.0.1:29"})])
    try:
        follows.follow(leads.table())
        assert follows.table() == leads.table() == (Enlisted(one), Enlisted(other))
        leads.drain("one")
        moved = Node(name="other", urls={"chat": "http://127.0.0.1:39"}, slots=3)
        leads.remove("other")
        leads.add(moved)
        follows.follow(leads.table())
        assert follows.table() == (Enlisted(one, draining=True), Enlisted(moved))
        leads.add(one)
        follows.follow(leads.table())
        assert sorted(each.draining for each in follows.table()) == [False, False]
    finally:
        leads.close()
        follows.close()
