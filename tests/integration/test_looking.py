"""What a look at a server finds."""

import contextlib
from collections.abc import Iterator

from rewound.llm.looking import Looker, Seen
from rewound.llm.nodes import Node, endpoints_of
from tests.integration.chatting import chatting
from tests.integration.noding import nodes


@contextlib.contextmanager
def looking(url: str, timeout_s: float = 10.0) -> Iterator[Looker]:
    (endpoint,) = endpoints_of(Node(name="n", urls={"chat": url}, key="K"))
    with contextlib.closing(Looker(endpoint, timeout_s)) as looker:
        yield looker


def test_slots_and_what_they_do_are_told() -> None:
    with nodes(1, slots=3) as (server,), looking(f"{server.url}/v1") as look:
        assert look() == Seen(True, 3, 0)
        server.inside = 2
        assert look() == Seen(True, 3, 2)
        server.inside = 0


def test_one_that_tells_nothing_is_there_all_the_same() -> None:
    with chatting() as chat, looking(chat.url) as look:
        assert look() == look() == Seen(True)


def test_nobody_is_there() -> None:
    with nodes(1) as (server,), looking(server.url) as look:
        server.kill()
        assert look() == Seen(False)
        server.slots = 5
        server.revive()
        assert look() == Seen(True, 5, 0), "what came back may be another one"


def test_what_does_not_answer_in_time_is_not_there() -> None:
    with nodes(1) as (server,), looking(server.url, 0.02) as look:
        server.hang()
        assert look() == Seen(False)
