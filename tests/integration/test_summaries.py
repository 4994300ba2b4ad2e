"""Summaries written in the background, through a real store and a scripted chat server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.memory import Memory, summarizing
from tests.integration.chatting import ChatServer
from tests.integration.summing import TALK, shown, summaries, summing, summing_server, talk


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with summing_server() as chat:
        yield chat


def test_what_no_longer_fits_is_summed_up_and_cited(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        (written,) = summaries(memory)
        assert written.data["messages"] == ids[:4]
        assert written.data["cites"] == ids[:4]
        assert written.texts["text"].splitlines()[1] == "Message 1 of our talk. [2]"
        assert written.texts["summarizer"] == "model/1 toy"
        causes = [event.id for event in memory.events(types=["message recorded"]).events]
        assert written.causes == tuple(causes[:4])


def test_the_next_summary_goes_on_from_the_last(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:3])
        (first,) = summaries(memory)
        ids += talk(memory, *TALK[3:6])
        _, second = summaries(memory)
        assert second.data["after"] == first.id
        assert second.data["messages"] == ids[2:5]
        assert second.data["cites"] == ids[:5]
        told = shown(server.told[-1])
        assert [each["n"] for each in told["messages"]] == [3, 4, 5]
        assert told["summary"][1] == {"text": TALK[1], "sources": [2]}
        assert second.causes[0] == first.id and len(second.causes) == 4


def test_a_short_conversation_is_left_alone(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, TALK[0])
        assert summaries(memory) == [] and server.asked == []


def test_nothing_is_written_twice_after_a_restart(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK[:5])
        before = summaries(memory)
    asked = len(server.asked)
    with summing(tmp_path, server) as memory:
        assert summaries(memory) == before and len(server.asked) == asked


def test_what_could_not_be_asked_is_done_when_the_server_is_there(tmp_path: Path) -> None:
    with summing(tmp_path, None) as memory:
        talk(memory, *TALK)
        assert summaries(memory) == []
    with summing_server() as server, summing(tmp_path, server) as memory:
        assert len(summaries(memory)) == 1


@pytest.mark.parametrize(
    ("mode", "why"),
    [("cut", "cut off"), ("empty", "empty reply"), ("prose", "malformed"), ("broken", "refused")],
)
def test_a_reply_of_no_use_is_a_failure_that_is_seen(
    tmp_path: Path, server: ChatServer, mode: str, why: str
) -> None:
    server.mode = mode
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        assert summaries(memory) == []
        (failed,) = memory.events(types=["summary failed"]).events
        assert failed.data["why"] == why and failed.data["attempt"] == 1
        assert failed.data["messages"] == ids[:4]


def parked(memory: Memory) -> None:
    talk(memory, *TALK[:5])
    for _ in range(summarizing.TRIES_MAX):
        memory.workers("wait")
        memory.workers("wait")
