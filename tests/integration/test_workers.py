"""The workers: what was sent becomes facts, once, and never from what was taken back."""

import contextlib
import logging
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.errors import Conflict, NotFound, RewoundError, WrongKind
from rewound.eventlog.failpoints import Crash
from rewound.eventlog.ids import STORE, EventId, Kind, Ref, parse
from rewound.eventlog.log import Draft, Recorded
from rewound.llm.extraction import Drawn, ExtractionFailed, Said
from rewound.memory import Memory, extracting
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory import workers as workers_module
from rewound.memory.backlog import Backlog
from rewound.memory.engine import Engine
from rewound.memory.models import NO_MODELS
from rewound.memory.workers import Workers
from tests import loaded
from tests.integration.drawing import Gate, Told, With, sentences, working
from tests.integration.given import HandClock, Shop

MINUTE_US = 60_000_000


def drain(memory: Memory) -> r.Working:
    return memory.workers("wait")


def facts(memory: Memory, **more: Any) -> list[str]:
    return sorted(item.text for item in memory.list("fact", limit=1000, **more).items)


def types(memory: Memory) -> Counter[str]:
    return Counter(event.type for event in memory.events(limit=1000).events)


def only(written: r.Written) -> tuple[str, str]:
    """Id and event of the one item written."""
    (item,) = written.items
    assert item.id is not None and item.event is not None
    return item.id, item.event


# --- what becomes of what was sent


def test_what_was_sent_becomes_facts_with_their_sources(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        memory.configure(zone="Europe/Berlin")
        sent = {"content": "Nina lives in Rome. She is 31.", "name": "Nina", "role": "assistant",
                "time": "2026-03-01T12:00:00"}  # fmt: skip
        message = memory.add_messages(sent)
        assert message.pending == 1 and not message.notes[1:]
        document = memory.ingest("Harbor Foods sells tea.", media="markdown")
        assert drain(memory) == r.Working(
            state="running",
            extractor="told/1",
            embedder=None,
            pending=0,
            failed=0,
            parked=0,
            unembedded=0,
        )
        assert facts(memory) == ["Harbor Foods sells tea.", "Nina lives in Rome.", "She is 31."]
        said, read = told.seen
        assert (said.role, said.speaker, said.media, said.zone) == (
            "assistant", "Nina", "text", "Europe/Berlin",
        )  # fmt: skip
        assert said.at == 1_772_362_800_000_000
        assert (read.role, read.speaker, read.media) == ("document", None, "markdown")
        fact = next(i for i in memory.list("fact").items if i.text == "She is 31.")
        (source,) = fact.sources
        assert (source.id, source.start, source.end) == (message.items[0].id, 20, 30)
        assert fact.valid_from is not None and fact.valid_from.startswith("2026-03-01T12:00:00")
        assert memory.get(only(document)[0]).item.status == "ready"


def test_a_state_without_a_date_begins_when_it_was_said(tmp_path: Path) -> None:
    clock = HandClock()
    with working(tmp_path, Told(), clock=clock) as memory:
        memory.workers("pause")
        memory.add_messages("Nina lives in Rome.")
        clock.at += 60 * MINUTE_US
        memory.workers("resume")
        drain(memory)
        (fact,) = memory.list("fact").items
        (message,) = memory.list("message").items
        assert fact.valid_from == message.recorded_at


def test_texts_that_state_nothing_are_done(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        memory.add_messages("Hello!")
        assert drain(memory).pending == 0
        assert facts(memory) == []
        (finished,) = memory.events(types=["extraction finished"]).events
        assert "nothing" in str(finished)


def test_a_statement_said_twice_in_one_source_is_one_fact(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        memory.add_messages("Nina lives in Rome. Yes. Nina lives in Rome.")
        drain(memory)
        yes, rome = sorted(memory.list("fact").items, key=lambda item: len(item.text))
        assert (yes.text, rome.text) == ("Yes.", "Nina lives in Rome.")
        assert [(s.start, s.end) for s in rome.sources] == [(0, 19), (25, 44)]


def test_each_source_keeps_a_fact_of_its_own(tmp_path: Path) -> None:
    """So that forgetting one of two leaves what the other said."""
    with working(tmp_path, Told()) as memory:
        first, _ = only(memory.ingest("Nina lives in Rome.", title="one"))
        memory.ingest("Nina lives in Rome.", title="two")
        drain(memory)
        assert facts(memory) == ["Nina lives in Rome."] * 2
        memory.forget(first)
        assert facts(memory) == ["Nina lives in Rome."]


def test_only_what_is_new_in_a_document_is_read(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        long = "\n\n".join(f"Line {n} is here. " + "Words " * 200 for n in range(5))
        memory.ingest(long, id="page")
        drain(memory)
        told.seen.clear()
        memory.ingest(long.replace("Line 3 is", "Line three was"), id="page")
        drain(memory)
        assert 0 < sum(len(said.text) for said in told.seen) < len(long) / 2
        assert "Line three was here." in facts(memory)


def test_a_long_document_is_read_in_several_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extracting, "CHARS_MAX", 2_000)
    told = Told()
    with working(tmp_path, told) as memory:
        memory.ingest("\n\n".join(f"Line {n} is here. " + "Words " * 200 for n in range(10)))
        drain(memory)
        assert told.calls > 3
        assert len(facts(memory)) == 10 and types(memory)["extraction finished"] == told.calls


def test_facts_are_seen_in_the_scope_of_their_source_only(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        memory.add_messages("Nina lives in Rome.", scope={"user": "nina"})
        memory.add_messages("Bob lives in Oslo.", scope={"user": "bob"})
        drain(memory)
        assert facts(memory, scope={"user": "nina"}) == ["Nina lives in Rome."]
        assert facts(memory, scope={"user": "bob"}) == ["Bob lives in Oslo."]
        bob = memory.container("default", scope={"user": "bob"})
        assert len(bob.events(types=["extraction finished"]).events) == 1


def test_containers_take_turns(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        memory.workers("pause")
        for name, count in (("big", 200), ("small", 2)):
            sent = [f"{name} {number}." for number in range(count)]
            memory.container(name).add_messages(sent)
        memory.workers("resume")
        drain(memory)
        order = [said.text for said in told.seen]
        assert order.index("small 1.") < 10
        bigs = [text for text in order if text.startswith("big")]
        assert bigs == [f"big {number}." for number in range(200)]


def test_a_thousand_messages_take_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with working(tmp_path, Told()) as memory:
        memory.workers("pause")
        memory.add_messages([f"Nina has {number} cats." for number in range(1000)])
        commits = []
        store = memory.link._store
        assert store is not None
        store.engine.on_commit(lambda recorded: commits.append(len(recorded)))
        memory.workers("resume")
        assert drain(memory).pending == 0
        assert len(facts(memory)) == 1000
        assert sum(commits) == 2000 and len(commits) < 200


def test_what_comes_while_a_step_looks_at_an_older_snapshot_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Backlog.look
    with working(tmp_path, Told(sentences)) as memory:

        def look(backlog: Backlog, views: Any) -> None:
            whole(backlog, views)
            monkeypatch.setattr(Backlog, "look", whole)
            memory.add_messages("Nina lives in Rome.")

        monkeypatch.setattr(Backlog, "look", look)
        memory.add_messages("Nina is 31.")
        told = drain(memory)
        assert (told.pending, told.failed) == (0, 0)
        assert sorted(facts(memory)) == ["Nina is 31.", "Nina lives in Rome."]


@pytest.mark.parametrize("kind", ["message", "document"])
def test_what_is_taken_back_while_a_step_holds_an_older_snapshot_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The text that was sent twice is to be read again, for its second sending."""
    whole = Backlog.look
    with working(tmp_path, Told()) as memory:
        put = memory.ingest if kind == "document" else memory.add_messages
        _, event = only(put("Nina lives in Rome."))
        drain(memory)

        def look(backlog: Backlog, views: Any) -> None:
            monkeypatch.setattr(Backlog, "look", whole)
            memory.undo(event)
            whole(backlog, views)

        monkeypatch.setattr(Backlog, "look", look)
        put("Nina lives in Rome.")
        assert drain(memory).pending == 0
        assert facts(memory) == ["Nina lives in Rome."]


def test_without_an_extractor_all_stays_pending(tmp_path: Path) -> None:
    with Memory(tmp_path, models=NO_MODELS) as memory:
        assert "no extractor" in memory.add_messages("Nina lives in Rome.").notes[0]
        assert drain(memory).state == "off"
        assert memory.jobs().pending == 1
    with working(tmp_path, Told()) as memory:  # and is done once there is one
        assert not memory.add_messages("Bob is here.", conversation="other").notes
        assert drain(memory).pending == 0
        assert len(facts(memory)) == 2


# --- failing


class Failing(Told):
    """Fails a number of times."""

    def __init__(self, times: int, error: type[Exception] = ExtractionFailed) -> None:
        super().__init__()
        self.left = times
        self.error = error

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        if "secretq" in pieces[0].text and self.left:
            self.left -= 1
            raise self.error("the reply was cut off")
        return super().extract(pieces)


def test_what_fails_is_tried_again_in_its_time(tmp_path: Path) -> None:
    clock = HandClock()
    with working(tmp_path, Failing(1), clock=clock) as memory:
        memory.add_messages(["A secretq thing.", "Nina lives in Rome."])
        assert drain(memory).failed == 1
        assert facts(memory) == ["Nina lives in Rome."]  # the others are not kept waiting
        (job,) = memory.jobs().jobs
        assert (job.state, job.attempts) == ("failed", 1) and job.retry_at is not None
        assert drain(memory).failed == 1  # not before its time
        assert types(memory)["extraction failed"] == 1
        clock.at += 15 * 1_000_000
        working_now = drain(memory)
        assert (working_now.failed, working_now.pending) == (0, 0)
        assert "A secretq thing." in facts(memory)


def test_after_some_tries_it_is_parked_until_a_person_asks(tmp_path: Path) -> None:
    clock = HandClock()
    failing = Failing(extracting.TRIES_MAX)
    with working(tmp_path, failing, clock=clock) as memory:
        message, event = only(memory.add_messages("A secretq thing."))
        waits = []
        for attempt in range(1, extracting.TRIES_MAX + 1):
            drain(memory)
            (job,) = memory.jobs().jobs
            assert job.attempts == attempt
            if job.retry_at is not None:
                failed = memory.events(types=["extraction failed"], newest=True, limit=1).events[0]
                waits.append(job.retry_at > failed.recorded_at)
            clock.at += 24 * 60 * MINUTE_US
        (job,) = memory.jobs().jobs
        assert job.state == "parked" and job.retry_at is None and len(waits) == 4
        drain(memory)
        assert failing.left == 0 and drain(memory).parked == 1
        (item,) = memory.retry(message).items
        assert item.status == "done" and item.pending
        assert drain(memory).parked == 0
        assert facts(memory) == ["A secretq thing."]
        memory.undo(event)  # a retry is no support
        assert facts(memory) == [] and memory.list("message").items == ()


def test_a_failure_outlasts_a_transcript_that_is_sent_again(tmp_path: Path) -> None:
    clock = HandClock()
    failing = Failing(1)
    with working(tmp_path, failing, clock=clock) as memory:
        said = ["A secretq thing.", "Nina lives in Rome."]
        first, _ = memory.add_messages(said).items
        drain(memory)
        jobs = memory.jobs().jobs
        again = memory.add_messages([*said, "Bob is here."])
        assert [item.status for item in again.items] == ["seen again", "seen again", "written"]
        assert drain(memory).failed == 1 and memory.jobs().jobs == jobs, "not before its time"
        memory.retry(first.id)
        assert drain(memory).failed == 0 and failing.left == 0


def test_a_retry_of_all_and_what_cannot_be_retried(tmp_path: Path) -> None:
    with working(tmp_path, Failing(2), clock=HandClock()) as memory:
        memory.add_messages(["One secretq thing.", "Two secretq things.", "Nina is here."])
        drain(memory)
        fine = memory.list("message").items
        done = next(item.id for item in fine if item.text == "Nina is here.")
        (fact,) = memory.list("fact").items
        with pytest.raises(Conflict, match="nothing left to be read"):
            memory.retry(done)
        with pytest.raises(WrongKind, match="wants a document or a message"):
            memory.retry(fact.id)
        failed = memory.jobs().jobs[0].source
        mixed = memory.retry([failed, done])
        assert [item.status for item in mixed.items] == ["done", "refused"]
        drain(memory)
        assert len(memory.retry().items) == 1
        assert drain(memory).failed == 0
        with pytest.raises(NotFound, match="nothing has failed"):
            memory.retry()


def test_a_mistake_of_the_extractor_quotes_no_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with working(tmp_path, Failing(1, ValueError), clock=HandClock()) as memory:
        memory.add_messages("A secretq thing.")
        with caplog.at_level(logging.DEBUG, "rewound"):
            assert drain(memory).failed == 1
        assert "ValueError" in caplog.text
        assert "secretq" not in caplog.text and "cut off" not in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [[Drawn("Nina is here.", 0, 99)]],
        [[Drawn("Nina is here.", 3, 3)]],
        [[Drawn("  ", 0, 4)]],
    ],
)
def test_an_answer_that_cannot_be_is_a_failure(tmp_path: Path, answer: Any) -> None:
    with working(tmp_path, Told(lambda _: answer), clock=HandClock()) as memory:
        memory.add_messages("Nina is here.")
        assert drain(memory).failed == 1
        assert facts(memory) == []


def test_an_extractor_that_cannot_be_made_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Missing(With, frozen=True, kw_only=True):
        def make_extractor(self, nodes: Any = None) -> Any:
            if self.given:
                raise ImportError(self.given.pop())
            return Told()

    with Memory(tmp_path, models=Missing(given=["not installed"])) as memory:
        memory.add_messages("Nina is here.")
        status = drain(memory)
        assert status.pending == 0 or "a step has failed" in status.notes[-1]
        assert drain(memory).pending == 0
        assert "drawing facts failed (ImportError" in caplog.text


# --- pausing and stopping


def test_a_pause_outlasts_a_restart(tmp_path: Path) -> None:
    with working(tmp_path, Told()) as memory:
        assert memory.workers("pause").state == "paused"
        memory.add_messages("Nina lives in Rome.")
        waited = drain(memory)
        assert waited.pending == 1 and "paused" in waited.notes[-1]
    with working(tmp_path, Told()) as memory:
        assert memory.workers().state == "paused"
        assert drain(memory).pending == 1
        assert memory.workers("resume").state == "running"
        assert drain(memory).pending == 0
    with working(tmp_path, Told()) as memory:
        assert memory.workers().state == "running"


def test_closing_waits_for_no_model(tmp_path: Path) -> None:
    gate = Gate()
    memory = Memory(tmp_path, models=With(given=gate))
    memory.add_messages("Nina lives in Rome.")
    assert gate.begun.wait(60)
    memory.close()  # would wait for ever otherwise
    assert not gate.go_on.is_set()
    with working(tmp_path, Told()) as again:
        gate.go_on.set()  # the old thread finds a closed store
        assert drain(again).pending == 0
        assert facts(again) == ["Nina lives in Rome."]
        assert types(again)["extraction finished"] == 1


def test_it_is_done_once_across_a_handover(tmp_path: Path) -> None:
    gate = Gate()
    with Memory(tmp_path, models=With(given=gate)) as first:
        first.add_messages([f"Nina has {number} cats." for number in range(20)])
        assert gate.begun.wait(60)
        with Memory(tmp_path, models=With(given=Told())) as second:
            second.own()
            gate.go_on.set()
            assert drain(second).pending == 0
            assert len(facts(first)) == 20
            told = types(second)
            assert told["extraction finished"] == told["fact extracted"] == 20


def test_it_is_done_once_after_a_kill(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.integration.drawing", str(tmp_path)]
    with loaded.Popen[bytes](words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading 1\n"
        process.kill()
    with working(tmp_path, Told()) as memory:
        assert drain(memory).pending == 0
        assert facts(memory) == ["Nina lives in Rome."]
        assert types(memory)["extraction finished"] == 1


def test_what_another_has_read_is_refused(tmp_path: Path) -> None:
    """Two workers that read the same text: the second one's result is not recorded."""
    gate = Gate()
    with working(tmp_path, gate) as memory:
        memory.add_messages("Nina lives in Rome.")
        assert gate.begun.wait(60)
        store = memory.link._store
        assert store is not None
        rival = extracting.Extracting(store.engine, Told)
        assert rival.step() == 0.0, "it has looked what there is"
        assert rival.step() is None
        gate.go_on.set()
        assert drain(memory).pending == 0
        told = types(memory)
        assert told["extraction finished"] == told["fact extracted"] == 1
        assert facts(memory) == ["Nina lives in Rome."]


def test_an_attempt_is_counted_once(tmp_path: Path) -> None:
    with working(tmp_path, Failing(1), clock=HandClock()) as memory:
        message, event = only(memory.add_messages("A secretq thing."))
        drain(memory)
        store = memory.link._store
        assert store is not None
        source = Ref(Kind.MESSAGE, parse(message, Kind.MESSAGE))
        bodies = BodyWriter(store.engine.ids)
        late = e.ExtractionFailed(source, bodies.piece("told/1"), 1, e.Why.CUT_OFF)
        cause = (EventId(parse(event, Kind.EVENT)),)
        with pytest.raises(Conflict, match="has been tried or changed meanwhile"):
            store.engine.record("default", [Draft(late, bodies.sealed, cause)])
        assert memory.jobs().jobs[0].attempts == 1


def test_a_store_that_is_for_reading_has_no_work_done(tmp_path: Path) -> None:
    clock, told = HandClock(), Told()
    with Memory(tmp_path, models=NO_MODELS, clock=clock) as memory:
        memory.add_messages("Nina lives in Rome.")
    clock.at -= 60 * MINUTE_US
    with working(tmp_path, told, clock=clock) as memory:
        waited = drain(memory)
        assert waited.pending == 1 and told.calls == 0
        assert "accept-clock" in waited.notes[-1]
        memory.call(q.AcceptClock())
        assert drain(memory).pending == 0
        assert facts(memory) == ["Nina lives in Rome."]


# --- taking back


@pytest.mark.parametrize("kind", ["message", "document"])
def test_undoing_a_source_takes_its_facts_and_undoing_that_brings_them_back(
    tmp_path: Path, kind: str
) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        put = memory.ingest if kind == "document" else memory.add_messages
        _, event = only(put("Nina lives in Rome."))
        drain(memory)
        before = memory.list("fact").items
        undid = memory.undo(event)
        drain(memory)
        assert facts(memory) == [] and memory.jobs().pending == 0
        assert undid.event is not None
        memory.undo(undid.event)
        drain(memory)
        assert memory.list("fact").items == before
        assert told.calls == 1


@pytest.mark.parametrize("kind", ["message", "document"])
def test_what_was_sent_twice_stands_on_the_second_sending(tmp_path: Path, kind: str) -> None:
    with working(tmp_path, Told()) as memory:
        put = memory.ingest if kind == "document" else memory.add_messages
        _, event = only(put("Nina lives in Rome."))
        drain(memory)
        (fact,) = memory.list("fact").items
        _, again = only(put("Nina lives in Rome."))
        undid = memory.undo(event)
        assert drain(memory).pending == 0
        assert [item.id for item in memory.list("fact").items] == [fact.id]  # the same fact
        assert undid.event is not None
        memory.undo(undid.event)
        drain(memory)
        assert [item.id for item in memory.list("fact").items] == [fact.id]
        memory.undo(again)
        assert [item.id for item in memory.list("fact").items] == [fact.id]


def test_a_fact_that_a_person_took_back_does_not_come_again(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        memory.add_messages("Nina lives in Rome. Bob is here.")
        drain(memory)
        rome = next(i for i in memory.list("fact").items if "Rome" in i.text)
        finished = memory.events(types=["extraction finished"]).events[0]
        assert rome.event is not None
        memory.undo(rome.event)
        drain(memory)
        memory.undo(finished.id)  # so that the message is read again
        drain(memory)
        assert told.calls == 2
        assert facts(memory) == ["Bob is here."]


def test_a_forgotten_fact_does_not_come_again(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        memory.add_messages("Nina lives in Rome. Bob is here.")
        drain(memory)
        rome = next(i for i in memory.list("fact").items if "Rome" in i.text)
        memory.forget(rome.id)
        memory.undo(memory.events(types=["extraction finished"]).events[0].id)
        drain(memory)
        assert told.seen[-1].text == "█" * 19 + " Bob is here."
        assert facts(memory) == ["Bob is here."]
        memory.add_messages("Nina lives in Rome.")  # sent anew it is something new
        drain(memory)
        assert facts(memory) == ["Bob is here.", "Nina lives in Rome."]


def test_what_was_forgotten_whole_is_not_read_at_all(tmp_path: Path) -> None:
    told = Told()
    with working(tmp_path, told) as memory:
        message, _ = only(memory.add_messages("Nina lives in Rome."))
        drain(memory)
        (fact,) = memory.list("fact").items
        memory.forget(fact.id)
        memory.undo(memory.events(types=["extraction finished"]).events[0].id)
        assert drain(memory).pending == 0
        assert told.calls == 1
        assert memory.events(types=["extraction finished"], newest=True, limit=1)
        memory.forget(message)
        assert facts(memory) == []


@pytest.mark.parametrize("how", ["forget", "undo", "erase", "forget then restore"])
def test_what_is_taken_back_while_it_is_read_leaves_nothing(tmp_path: Path, how: str) -> None:
    gate = Gate()
    with working(tmp_path, gate) as memory:
        message, event = only(memory.add_messages("Nina lives in Rome."))
        assert gate.begun.wait(60)
        if how == "undo":
            memory.undo(event)
        elif how == "erase":
            memory.erase(message, wait=False)
        else:
            memory.forget(message)
        gate.go_on.set()
        assert drain(memory).pending == 0
        assert facts(memory) == []
        assert types(memory)["fact extracted"] == 0
        if how == "forget then restore":
            memory.restore(message)
            drain(memory)
            assert facts(memory) == ["Nina lives in Rome."]


def test_every_text_is_accounted_for(tmp_path: Path) -> None:
    """Facts, nothing stated, pending or failed: nothing is lost on the way."""
    with working(tmp_path, Failing(1), clock=HandClock()) as memory:
        sent = ["Nina lives in Rome.", "Hello!", "A secretq thing."]
        ids = {item.id for item in memory.add_messages(sent).items}
        drain(memory)
        memory.workers("pause")
        ids |= {item.id for item in memory.add_messages("Bob is here.").items}
        jobs = {job.source for job in memory.jobs().jobs}
        ends = memory.events(types=["extraction finished", "extraction failed"]).events
        told = {item for event in ends for item in event.items if item.startswith("msg_")}
        assert ids == jobs | told
        assert len(jobs) == 2


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_meanwhile_each_source_has_its_facts_once(
    tmp_path: Path, seed: int
) -> None:
    """People send, send again, forget, restore and undo while the workers are at it."""
    dice = random.Random(seed)
    with working(tmp_path, Told()) as memory:
        events: list[str] = []
        items: list[str] = []
        for number in range(120):
            roll = dice.random()
            with contextlib.suppress(RewoundError):  # undone already, or with dependents
                if roll < 0.4 or not items:
                    text = f"Nina has {dice.randrange(30)} cats. She is {number}."
                    put = memory.ingest if roll < 0.2 else memory.add_messages
                    written = put(text if roll < 0.3 else text.split(". ")[0] + ".")
                    items.append(only(written)[0])
                    events.append(only(written)[1])
                elif roll < 0.55:
                    memory.forget(dice.choice(items))
                elif roll < 0.65:
                    memory.restore(dice.choice(items))
                elif roll < 0.9:
                    undid = memory.undo(dice.choice(events), cascade=True)
                    events.append(undid.event or events[0])
                else:
                    told = memory.events(newest=True, limit=20).events
                    events.append(dice.choice(told).id)
        assert drain(memory).pending == 0
        sources = {item.id: item for kind in ("message", "document")
                   for item in memory.list(kind, limit=1000).items}  # fmt: skip
        drawn = Counter(
            (source.id, fact.text)
            for fact in memory.list("fact", limit=1000).items
            for source in fact.sources
        )
        assert drawn and not [pair for pair, times in drawn.items() if times > 1]
        assert {source for source, _ in drawn} <= sources.keys()
        assert memory.rebuild().equal
        assert memory.verify().ok


# --- the thread


@pytest.fixture
def unprompted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No duty is looked at by itself after opening: each step is one that a test brought about."""
    monkeypatch.setattr(workers_module, "LOOK_S", 3_600.0)


class Duty:
    name = "counting"
    short = True

    def __init__(self, *outcomes: float | BaseException | None) -> None:
        self.outcomes = list(outcomes)
        self.steps = 0

    def step(self) -> float | None:
        self.steps += 1
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@pytest.mark.usefixtures("unprompted")
def test_a_duty_is_done_until_there_is_nothing_more(tmp_path: Path) -> None:
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        duty, other = Duty(0, 0, 0, None), Duty(60.0)
        workers = Workers(engine, [duty, other])
        assert workers.run_until_idle(60)
        assert duty.steps == 4 and other.steps == 1
        workers.stop()
        assert not workers.run_until_idle(60)


@pytest.mark.usefixtures("unprompted")
def test_an_error_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        duty, other = Duty(ValueError("a secret")), Duty(None)
        workers = Workers(engine, [duty, other])
        assert not workers.run_until_idle(60)
        assert workers.run_until_idle(60)
        assert "ValueError" in caplog.text and "a secret" not in caplog.text
        workers.stop()


def test_a_crash_is_passed_on(tmp_path: Path) -> None:
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        workers = Workers(engine, [Duty(Crash("here"))])
        with pytest.raises(Crash):
            workers.run_until_idle(60)
        workers.stop()


def test_a_short_step_is_waited_for_however_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "END_S", 0.0)
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Duty):
        def step(self) -> float | None:
            begun.set()
            go_on.wait(60)
            return super().step()

    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        slow = Slow()
        workers = Workers(engine, [slow])
        assert begun.wait(60)
        closing = threading.Thread(target=workers.stop)
        closing.start()
        go_on.set()
        closing.join(60)
        assert not closing.is_alive() and slow.steps == 1


def test_a_commit_calls_a_duty_that_does_not_choose(tmp_path: Path) -> None:
    stepped = threading.Semaphore(0)

    class Called(Duty):
        def step(self) -> float | None:
            stepped.release()
            return super().step()

    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        workers = Workers(engine, [Called()])
        assert workers.run_until_idle(60)
        while stepped.acquire(blocking=False):
            pass
        engine.call(q.Configure(zone="UTC"))
        assert stepped.acquire(timeout=60)
        workers.stop()


class Noticing:
    """Does one at a time what it noticed, and asks a model that answers when it is let to."""

    name = "noticing"
    short = False

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.waiting: list[int] = []
        self.done: list[int] = []
        self.inside = threading.Event()
        self.answer = threading.Event()
        self.answer.set()

    def notice(self, recorded: Sequence[Recorded]) -> bool:
        with self.guard:
            self.waiting += [each.position for each in recorded]
        return True

    def step(self) -> float | None:
        with self.guard:
            chosen = self.waiting[:1]
        if chosen:
            self.inside.set()
            self.answer.wait()
            self.done += chosen
        with self.guard:
            del self.waiting[: len(chosen)]
            return 0.0 if self.waiting else None

    def close(self) -> None:
        self.answer.set()


def configured(engine: Engine, times: int) -> None:
    for number in range(times):
        engine.call(q.Configure(zone="UTC" if number % 2 else "Europe/Rome"))


def test_a_duty_that_waits_for_its_model_keeps_no_other_waiting(tmp_path: Path) -> None:
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        held, other = Noticing(), Noticing()
        held.answer.clear()
        workers = Workers(engine, [held, other])
        configured(engine, 3)
        assert held.inside.wait(60)
        while len(other.done) < 3:
            other.inside.wait(60)
        assert not held.done
        assert not workers.run_until_idle(0), "one is at work still"
        workers.stop()
        assert len(held.done) == 1, "its call was given up, and no step followed"


@pytest.mark.usefixtures("unprompted")
def test_duties_together_are_done_one_after_the_other(tmp_path: Path) -> None:
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        threads: list[int] = []

        class Where(Duty):
            def step(self) -> float | None:
                threads.append(threading.get_ident())
                return super().step()

        first, second, apart = Where(0, 0, None), Where(0, None), Where(None)
        workers = Workers(engine, [first, second, apart], together=[first, second])
        assert workers.run_until_idle(60)
        assert sorted(Counter(threads).values()) == [1, 5]
        workers.stop()


def test_nothing_noticed_is_left_however_it_falls(tmp_path: Path) -> None:
    """Commits come while duties begin, are at work, and end."""
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        duties = [Noticing() for _ in range(4)]
        workers = Workers(engine, duties, together=duties[2:])
        writers = [threading.Thread(target=configured, args=(engine, 40)) for _ in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert workers.run_until_idle(60)
        with engine.reading() as views:
            (recorded,) = (p for key, p in views.positions().items() if key != STORE)
        for duty in duties:
            assert duty.done == list(range(1, recorded + 1)), "each once, and in order"
        workers.stop()


@pytest.mark.usefixtures("unprompted")
def test_a_crash_in_one_thread_is_told_to_who_waits_for_another(tmp_path: Path) -> None:
    shop = Shop(tmp_path, durable=False)
    with shop.engine() as engine:
        held = Noticing()
        workers = Workers(engine, [held, Duty(None, Crash("here"))])
        assert workers.run_until_idle(60)
        held.answer.clear()
        with pytest.raises(Crash):
            configured(engine, 1)
            workers.run_until_idle(60)
        workers.stop()


def test_sentences_is_what_the_tests_believe() -> None:
    (drawn,) = sentences([Said("One. Two.", 0)])
    assert [(d.text, d.start, d.end) for d in drawn] == [("One.", 0, 4), ("Two.", 5, 9)]
