"""Summaries written in the background, through a real store and a scripted chat server."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import StoreFull
from rewound.llm import breaking
from rewound.memory import Memory, summarizing, unsummarised, workers
from rewound.memory import replies as r
from tests.integration.chatting import ChatServer
from tests.integration.summing import TALK, shown, summaries, summing, summing_server, talk
from tests.integration.test_dispatching import eventually


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


def test_sources_that_were_not_shown_are_dropped(tmp_path: Path, server: ChatServer) -> None:
    server.good = lambda told: {
        "sentences": [
            {"text": "They [2] talk.\n It is 1.", "sources": [1, 99, 0, 3, 1]},
            {"text": "  ", "sources": [2]},
        ]
    }
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:4])
        (written,) = summaries(memory)
        assert written.texts["text"] == "They (2) talk. It is 1. [1][2]"
        assert written.data["cites"] == [ids[0], ids[2]]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed is tried again soon, and no node is spared for it."""
    monkeypatch.setattr(summarizing, "RETRY_S", (1e-6, 1e-6))
    monkeypatch.setattr(breaking, "PACE", breaking.Pace(failures=1000))


def tries(memory: Memory) -> list[r.Job]:
    """What could not be summed up, once it is not tried again soon."""
    memory.workers("wait")
    return [job for job in memory.jobs().jobs if job.kind == "summary"]


@pytest.mark.usefixtures("hasty")
def test_after_some_tries_it_is_parked_until_a_person_asks(
    tmp_path: Path, server: ChatServer
) -> None:
    server.mode = "empty"
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        (job,) = tries(memory)
        assert (job.state, job.source, job.why) == ("parked", ids[0], "empty reply")
        assert job.attempts == summarizing.TRIES_MAX
        server.mode = "ok"
        ids += talk(memory, *TALK[5:])
        assert summaries(memory) == [], "what is parked waits for a person"
        memory.retry([ids[0]])
        assert [event.data["messages"] for event in summaries(memory)] == [ids[:-1]]
        assert not tries(memory)


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_away_is_waited_for(tmp_path: Path, server: ChatServer) -> None:
    server.mode = "away"
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK[:5])
        (job,) = tries(memory)
        assert (job.state, job.why) == ("failed", "unreachable")
        assert job.attempts > summarizing.TRIES_MAX, "nothing is parked for that"
        server.mode = "ok"
        duty = next(desk.duty for desk in workers_of(memory)._desks)
        duty.nodes_are_back()
        assert len(summaries(memory)) == 1 and not tries(memory)


def test_all_that_waited_for_a_server_is_done_when_it_is_back(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and however few at once."""
    monkeypatch.setattr(summarizing, "RETRY_S", (600.0, 600.0))
    monkeypatch.setattr(breaking, "PACE", breaking.Pace(failures=1000))
    server.props = {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1}
    server.mode = "away"
    with summing(tmp_path, server) as memory:
        for name in ("one", "two", "three"):
            talk(memory, *TALK[:3], conversation=name)
        eventually(lambda: len(tries(memory)) == 3)
        server.mode = "ok"
        duty = next(desk.duty for desk in workers_of(memory)._desks)
        duty.nodes_are_back()
        eventually(lambda: len(summaries(memory)) == 3)
        assert not tries(memory)


def workers_of(memory: Memory) -> Any:
    """Where the duty is told that a server is back."""
    store = memory.link._store
    assert store is not None
    return store.workers


def test_what_is_too_long_for_the_model_is_cut(tmp_path: Path, server: ChatServer) -> None:
    """By what the server says of itself, and by its refusals, and nothing is sent twice."""
    server.props = {"default_generation_settings": {"n_ctx": 2000}}
    server.context = 3_400
    long = " ".join(f"Word{number}" for number in range(900))
    server.good = lambda told: {
        "sentences": [
            {"text": f"Something was said ({each['n']}).", "sources": [each["n"]]}
            for each in shown(told)["messages"]
        ]
    }
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:3], long, *TALK[3:5])
        written = summaries(memory)
        assert [raw for event in written for raw in event.data["messages"]] == ids[:5]
        assert len(set(server.told)) == len(server.told) > 4
        told = " ".join(text for asked in server.told for text in texts_of(asked))
        assert "Word0 " in told and "Word899" in told
        assert not tries(memory)


def texts_of(told: str) -> list[str]:
    return [each["text"] for each in shown(told)["messages"]]


@pytest.mark.parametrize("trouble", ["recording", "looking"])
def test_an_error_loses_no_conversation(
    tmp_path: Path, server: ChatServer, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those whose summaries were not recorded, nor those that were to be looked at."""
    monkeypatch.setattr(workers, "_RETRY_S", (1e-3, 1e-3))
    server.mode = "slow"
    with summing(tmp_path, server) as memory:
        memory.workers("pause")
        for name in ("one", "two", "three"):
            talk(memory, *TALK[:3], conversation=name)
        store = memory.link._store
        assert store is not None
        engine, failing = store.engine, True
        submit, look = engine.submit_record, unsummarised.look

        def full(*given: Any) -> Any:
            nonlocal failing
            if failing:
                failing = False
                raise StoreFull("the disk is full")
            return submit(*given) if trouble == "recording" else look(*given)

        if trouble == "recording":
            monkeypatch.setattr(engine, "submit_record", full)
        else:
            monkeypatch.setattr(summarizing, "look", full)
        memory.workers("resume")
        assert server.begun.wait(30)
        server.mode = "ok"
        server.go_on.set()
        eventually(lambda: len(memory.events(types=["summary written"]).events) == 3)
        assert not failing


def test_a_killed_store_goes_on_where_it_was(tmp_path: Path, server: ChatServer) -> None:
    server.mode = "slow"
    with summing(tmp_path / "one", server) as memory:
        talk(memory, *TALK[:5])
        assert server.begun.wait(30)
        shutil.copytree(tmp_path / "one", tmp_path / "two")  # as it lies there when it is killed
        server.mode = "ok"
        with summing(tmp_path / "two", server) as other:
            assert len(summaries(other)) == 1
        server.go_on.set()
        assert len(summaries(memory)) == 1


def test_what_is_forgotten_while_the_model_works_is_not_recorded(
    tmp_path: Path, server: ChatServer
) -> None:
    server.mode = "slow"
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        assert server.begun.wait(30)
        memory.forget([ids[1]])
        server.mode = "ok"
        server.go_on.set()
        (written,) = summaries(memory)
        assert written.data["messages"] == [ids[0], *ids[2:4]]
        assert TALK[1] not in written.texts["text"]


def test_messages_of_different_scopes_are_never_summed_up_together(
    tmp_path: Path, server: ChatServer
) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK[:3], scope={"user": "ann"})
        talk(memory, *TALK[3:6], scope={"user": "bob"})
        written = summaries(memory)
        assert [event.texts["scope"] for event in written] == [{"user": "ann"}, {"user": "bob"}]
        for asked in server.told:
            told = texts_of(asked)
            assert set(told) <= set(TALK[:3]) or set(told) <= set(TALK[3:6])


def test_an_attempt_is_at_a_bounded_number_of_messages(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsummarised, "MESSAGES_MAX", 3)
    server.mode = "empty"
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK)
        memory.workers("wait")
        (failed,) = memory.events(types=["summary failed"]).events
        assert failed.data["messages"] == ids[:3]
        server.mode = "ok"
        memory.retry([ids[0]])
        assert [event.data["messages"] for event in summaries(memory)] == [
            ids[:3],
            ids[3:6],
            ids[6:7],
        ]


def test_undoing_a_message_takes_its_summaries_along(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK[:3])
        summaries(memory)
        ids = talk(memory, *TALK[3:6])
        first, second = summaries(memory)
        memory.workers("pause")
        message = memory.get(ids[0]).item
        undid = memory.undo(message.event or "")
        assert second.id in undid.dropped and first.id not in undid.dropped
        memory.undo(undid.event or "")
        assert memory.events(about=second.id).events[0].undone_by is None


def test_a_summary_that_was_undone_is_written_again_with_what_is_new(
    tmp_path: Path, server: ChatServer
) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        (first,) = summaries(memory)
        memory.undo(first.id)
        assert [event.id for event in summaries(memory)] == [first.id]
        recent = memory.recent("talk")
        assert recent.recent.summaries == () and "4 older messages" in recent.notes[0]
    with summing(tmp_path, server) as memory:
        assert [event.id for event in summaries(memory)] == [first.id], "not after a restart either"
        ids += talk(memory, "Well.")
        assert [event.id for event in summaries(memory)] == [first.id], "nothing has grown old"
        ids += talk(memory, TALK[5])
        _, second = summaries(memory)
        assert second.data["messages"] == ids[:5] and "after" not in second.data
        (told,) = memory.recent("talk").recent.summaries
        assert (told.id, told.count) == (second.id, 5)


def test_what_went_on_from_an_undone_summary_stays_away_with_it(
    tmp_path: Path, server: ChatServer
) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK[:3])
        (first,) = summaries(memory)
        talk(memory, *TALK[3:6])
        both = summaries(memory)
        undid = memory.undo(first.id)
        assert len(summaries(memory)) == 2 and memory.recent("talk").recent.summed == 0
        memory.undo(undid.event or "")
        assert [event.id for event in summaries(memory)] == [event.id for event in both]
        assert memory.recent("talk").recent.summed == 5


def test_a_failure_outlasts_a_transcript_that_is_sent_again(
    tmp_path: Path, server: ChatServer
) -> None:
    server.mode = "empty"
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        (job,) = tries(memory)
        assert memory.workers().failed == 1
        asked = len(server.asked)
        assert talk(memory, *TALK[:5]) == ids
        assert tries(memory) == [job] and len(server.asked) == asked
        server.mode = "ok"
        memory.retry([ids[0]])
        assert len(summaries(memory)) == 1 and not tries(memory)


def test_an_erased_message_is_in_no_summary_on_the_disk(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, "The code is zebra-7781.", *TALK[:2])
        summaries(memory)
        talk(memory, *TALK[2:5])
        assert len(summaries(memory)) == 2
        memory.erase([ids[0]])
        *_, last = summaries(memory)
        assert last.data["messages"][0] == ids[1] and "zebra" not in last.texts["text"]
        told = memory.events(types=["summary written"]).events
        assert [event.withheld for event in told] == ["erased", "erased", None]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"zebra-7781" not in path.read_bytes(), path
