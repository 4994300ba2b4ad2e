"""What a look at a server finds."""

from collections.abc import Iterator

import pytest

from rewound.llm.looking import Looker, Seen
from rewound.llm.nodes import Endpoint, Node, endpoints_of
from tests.integration.chatting import chatting
from tests.integration.noding import ScriptedNode, nodes


@pytest.fixture
def looker() -> Iterator[Looker]:
    made = Looker(timeout_s=10.0)
    yield made
    made.close()


def endpoint(url: str) -> Endpoint:
    (found,) = endpoints_of(Node(name="n", urls={"chat": url}, key="K"))
    return found


def test_slots_and_what_they_do_are_told(looker: Looker) -> None:
    with nodes(1, slots=3) as (server,):
        look = looker.at(endpoint(f"{server.url}/v1"))
        assert look() == Seen(True, 3, 0)
        server.inside = 2
        assert look() == Seen(True, 3, 2)
        server.inside = 0


def test_one_that_tells_nothing_is_there_all_the_same(looker: Looker) -> None:
    with chatting() as chat:
        look = looker.at(endpoint(chat.url))
        assert look() == look() == Seen(True)


def test_nobody_is_there(looker: Looker) -> None:
    with nodes(1) as (server,):
        look = looker.at(endpoint(server.url))
        server.kill()
        assert look() == Seen(False)
        server.slots = 5
        server.revive()
        assert look() == Seen(True, 5, 0), "what came back may be another one"
    looker.close()
    assert look() == Seen(False)


def test_what_does_not_answer_in_time_is_not_there() -> None:
    looker = Looker(timeout_s=0.02)
    server = ScriptedNode()
    try:
        server.hang()
        assert looker.at(endpoint(server.url))() == Seen(False)
    finally:
        server.go_on.set()
        server.kill()
        looker.close()
