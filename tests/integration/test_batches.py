"""Calm drawing, through a real store: when a model is asked, about what, and what is told of it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.rhythm import AT_ONCE, Rhythm
from tests.integration.echoing import echo, texts
from tests.integration.given import HandClock
from tests.integration.noding import ScriptedNode, nodes
from tests.integration.test_dispatching import eventually

S = 1_000_000


def box(number: int) -> str:
    return f"Box {number} holds {number} pens."


class Calm:
    """A memory whose clock stands, and the model that draws its facts."""

    def __init__(self, folder: Path, node: ScriptedNode, **more: Any) -> None:
        self.clock = HandClock()
        self.node = node
        given: dict[str, Any] = {"quiet": 60, "batch_messages": 4, "batch_age": 300, **more}
        self.models = Models(
            embedder="none", extractor="model", judge="none", chat_url=node.url, **given
        )
        self.memory = Memory(folder, models=self.models, clock=self.clock)
        self.memory.own()

    def say(self, *numbers: int, talk: str = "tea", **more: Any) -> None:
        sent = [{"content": box(number)} for number in numbers]
        self.memory.add_messages(sent, conversation=talk, **more)

    def later(self, seconds: float) -> None:
        """Let time pass, and the workers look at the clock. Each event is recorded a moment after
        the last one, also while the clock stands: so a moment more."""
        self.clock.at += round(seconds * S) + 100
        store = self.memory.link._store
        assert store is not None
        store.workers.wake()

    def read(self) -> list[list[str]]:
        return [texts(told) for told in self.node.told]

    def facts(self) -> list[str]:
        return sorted(item.text for item in self.memory.list("fact", limit=1000).items)

    def states(self) -> list[str]:
        return [job.state for job in self.memory.jobs().jobs]


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    with nodes(1) as (made,):
        made.good = echo
        yield made


@contextmanager
def opened(calm: Calm) -> Iterator[Calm]:
    with calm.memory:
        yield calm


# --- when


def test_messages_are_read_together_once_their_conversation_is_quiet(
    tmp_path: Path, node: ScriptedNode
) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1)
        calm.later(59)
        calm.say(2)
        calm.later(59)
        assert calm.states() == ["waiting", "waiting"] and not node.told
        calm.later(1)
        eventually(lambda: len(calm.facts()) == 2)
        assert calm.read() == [[box(1), box(2)]]


def test_as_many_as_fill_a_call_do_not_wait(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(*range(9))
        eventually(lambda: len(calm.facts()) == 8)
        assert sorted(calm.read()) == [[box(n) for n in range(4)], [box(n) for n in range(4, 8)]]
        assert calm.states() == ["waiting"]


def test_the_oldest_waits_no_longer_than_its_age(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node, batch_messages=32)) as calm:
        for number in range(6):
            calm.say(number)
            assert not node.told
            calm.later(50)
        eventually(lambda: len(calm.facts()) == 6)
        assert calm.read() == [[box(n) for n in range(6)]]


def test_a_clock_put_back_lets_nothing_wait_for_it(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1)
        calm.clock.at -= 50 * S
        calm.say(2)
        assert calm.states() == ["waiting", "waiting"], "as if it stood"
        calm.memory.workers("pause")  # until all three are there to be read together
        calm.clock.at -= 3600 * S
        calm.say(3)
        calm.memory.workers("resume")
        eventually(lambda: len(calm.facts()) == 3)
        assert calm.read() == [[box(1), box(2), box(3)]]
    left = Calm(tmp_path, node)
    left.clock.at += 120 * S
    with opened(left):
        left.say(4)
    with opened(Calm(tmp_path, node)) as after:
        eventually(lambda: len(after.facts()) == 4)


def test_what_is_waited_for_is_read_at_once(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1, 2)
        assert calm.memory.workers("wait").pending == 0
        assert calm.read() == [[box(1), box(2)]]
        calm.say(3)
        assert calm.memory.link.settle(60)
        assert calm.facts() == [box(n).rstrip(".") for n in (1, 2, 3)]


def test_a_restart_lets_them_wait_on(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1, 2)
    with opened(Calm(tmp_path, node)) as calm:
        calm.later(59)
        assert calm.states() == ["waiting", "waiting"]
        calm.later(1)
        eventually(lambda: len(calm.facts()) == 2)
        assert calm.read() == [[box(1), box(2)]]


def test_a_transcript_sent_again_hurries_nothing(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1)
        calm.later(30)
        calm.say(1, 2)
        calm.later(59)
        assert calm.states() == ["waiting", "waiting"]
        calm.later(1)
        eventually(lambda: calm.read() == [[box(1), box(2)]])


def test_rules_read_each_at_once() -> None:
    assert Models(extractor="rules", quiet=60).rhythm() == AT_ONCE
    model = Models(extractor="model", chat_url="http://127.0.0.1:9")
    assert model.rhythm() == Rhythm(120 * S, 8, 600 * S)


def test_documents_wait_for_nothing(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.memory.ingest(box(1))
        eventually(lambda: len(calm.facts()) == 1)


# --- what goes together


def test_only_messages_of_one_conversation_scope_and_container_do(
    tmp_path: Path, node: ScriptedNode
) -> None:
    with opened(Calm(tmp_path, node, batch_messages=8)) as calm:
        calm.say(1, 2)
        calm.say(3, talk="coffee")
        calm.say(4, 5, scope={"user": "nina"})
        calm.say(6)
        other = calm.memory.container("other")
        other.add_messages([{"content": box(7)}], conversation="tea")
        assert calm.memory.workers("wait").pending == 0
        together = sorted(calm.read())
        assert together == [[box(1), box(2), box(6)], [box(3)], [box(4), box(5)], [box(7)]]
        scoped = calm.memory.list("fact", scope={"user": "nina"}).items
        assert sorted(item.text for item in scoped) == [box(4)[:-1], box(5)[:-1]]
        assert len(calm.facts()) == 6 and len(other.list("fact").items) == 1


def test_each_message_is_recorded_by_itself_and_in_order(
    tmp_path: Path, node: ScriptedNode
) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(*range(8))
        calm.memory.workers("wait")
        ended = calm.memory.events(types=["extraction finished"]).events
        messages = {item.id: item.text for item in calm.memory.list("message").items}
        read = [messages[next(i for i in event.items if i in messages)] for event in ended]
        assert read == [box(n) for n in range(8)]
        assert len({event.group for event in ended}) == 8
        for fact in calm.memory.list("fact").items:
            (source,) = fact.sources
            assert messages[source.id] == f"{fact.text}."


# --- what fails


def test_one_that_a_model_falls_over_fails_alone_and_is_read_alone(
    tmp_path: Path, node: ScriptedNode
) -> None:
    def good(told: str) -> Any:
        return {"nonsense": 1} if box(2) in told else echo(told)

    node.good = good
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1, 2, 3, 4)
        calm.memory.workers("wait")
        assert calm.facts() == [box(n)[:-1] for n in (1, 3, 4)]
        assert calm.states() == ["failed"]
        assert len(set(node.told)) == len(node.told), "never the same again"
        node.told.clear()
        node.good = echo
        calm.say(5)
        calm.later(3600)
        eventually(lambda: len(calm.facts()) == 5)
        assert sorted(calm.read()) == [[box(2)], [box(5)]]


def test_what_failed_together_is_tried_again_alone(tmp_path: Path, node: ScriptedNode) -> None:
    node.good = lambda told: {"nonsense": 1}
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1, 2)
        calm.memory.workers("wait")
        assert calm.states() == ["failed", "failed"]
        node.told.clear()
        node.good = echo
        calm.later(3600)
        eventually(lambda: len(calm.facts()) == 2)
        assert sorted(calm.read()) == [[box(1)], [box(2)]]


def test_a_reply_about_several_is_kept_with_none_of_them(
    tmp_path: Path, node: ScriptedNode
) -> None:
    node.good = lambda told: {"nonsense": told}
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(1, 2)
        calm.memory.workers("wait")
        assert calm.states() == ["failed", "failed"]
        for event in calm.memory.events(types=["extraction failed"]).events:
            told = event.texts["reply"]
            assert (box(1)[:-1] in told) != (box(2)[:-1] in told), "each with its own only"


# --- what is taken back meanwhile

TAKING_BACK: dict[str, Callable[[Memory, Any], object]] = {
    "forget": lambda memory, item: memory.forget(item.id),
    "erase": lambda memory, item: memory.erase(item.id),
    "undo": lambda memory, item: memory.undo(item.event),
}


@pytest.mark.parametrize("action", TAKING_BACK)
def test_one_taken_back_while_a_model_reads_it_leaves_the_others_their_facts(
    tmp_path: Path, node: ScriptedNode, action: str
) -> None:
    held = threading.Event()
    node.within = lambda: held.wait(60)
    with opened(Calm(tmp_path, node)) as calm:
        sent = [{"content": "The CANARY sings."}, *({"content": box(n)} for n in (1, 2, 3))]
        items = calm.memory.add_messages(sent, conversation="tea").items
        eventually(node.asked.is_set)
        TAKING_BACK[action](calm.memory, items[0])
        held.set()
        assert calm.memory.workers("wait").pending == 0
        assert calm.facts() == [box(n)[:-1] for n in (1, 2, 3)]
        assert calm.memory.jobs().jobs == ()
        assert calm.memory.verify().ok and calm.memory.rebuild().equal
        assert not any("CANARY" in item.text for item in calm.memory.list("fact").items)


@pytest.mark.parametrize("action", TAKING_BACK)
def test_one_taken_back_while_it_waits_is_shown_to_no_model(
    tmp_path: Path, node: ScriptedNode, action: str
) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        sent = [{"content": "The CANARY sings."}, {"content": box(1)}]
        items = calm.memory.add_messages(sent, conversation="tea").items
        TAKING_BACK[action](calm.memory, items[0])
        calm.memory.workers("wait")
        assert calm.read() == [[box(1)]] and calm.facts() == [box(1)[:-1]]


@pytest.mark.parametrize("action", TAKING_BACK)
def test_one_taken_back_while_its_call_waits_for_a_node_is_shown_to_none(
    tmp_path: Path, node: ScriptedNode, action: str
) -> None:
    held = threading.Event()
    node.within = lambda: held.wait(60)
    with opened(Calm(tmp_path, node)) as calm:
        calm.say(*range(4))
        eventually(node.asked.is_set)
        sent = [{"content": "The CANARY sings."}, *({"content": box(n)} for n in (5, 6, 7))]
        items = calm.memory.add_messages(sent, conversation="coffee").items
        eventually(lambda: calm.memory.nodes().queues["background"].waiting > 0)
        TAKING_BACK[action](calm.memory, items[0])
        held.set()
        calm.later(2)
        calm.memory.workers("wait")
        calm.later(2)
        calm.memory.workers("wait")
        assert not any("CANARY" in told for told in node.told)
        assert calm.facts() == [box(n)[:-1] for n in (0, 1, 2, 3, 5, 6, 7)]


def test_what_is_forgotten_later_stands_in_no_fact_of_its_neighbours(
    tmp_path: Path, node: ScriptedNode
) -> None:
    def good(told: str) -> Any:
        made = echo(told)
        for fact in made["facts"]:
            fact["text"] += " and is allergic"
        return made

    node.good = good
    with opened(Calm(tmp_path, node)) as calm:
        sent = [{"content": box(1)}, {"content": "The cat is allergic."}]
        items = calm.memory.add_messages(sent, conversation="tea").items
        calm.memory.workers("wait")
        assert items[1].id is not None
        calm.memory.forget(items[1].id)
        assert calm.facts() == [] and not calm.memory.search("allergic").hits


def test_what_is_restored_is_read(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        (item, _) = calm.memory.add_messages([box(1), box(2)], conversation="tea").items
        assert item.id is not None
        calm.memory.forget(item.id)
        calm.memory.workers("wait")
        assert calm.facts() == [box(2)[:-1]]
        calm.memory.restore(item.id)
        calm.later(60)
        eventually(lambda: calm.facts() == [box(1)[:-1], box(2)[:-1]])


# --- what is told


def test_status_says_what_it_waits_for(tmp_path: Path, node: ScriptedNode) -> None:
    with opened(Calm(tmp_path, node)) as calm:
        memory = calm.memory
        calm.say(1, 2)
        jobs = memory.jobs()
        assert (jobs.pending, jobs.waiting) == (2, 2)
        assert all(str(job.due_at).startswith("2025-06-15T15:07:40") for job in jobs.jobs)
        shown = memory.list("message").items[0]
        assert shown.status == "waiting" and shown.status_note is not None
        assert "quiet moment" in shown.status_note and "15:07:40" in shown.status_note
        assert memory.get(shown.id).item.status == "waiting"
        assert (memory.workers().pending, memory.workers().waiting) == (2, 2)
        past = memory.list("message", as_of=f"@{jobs.moment.position}").items
        assert past[0].status == "pending", "of the past it is not told"
        memory.workers("pause")
        calm.clock.at += 61 * S
        assert calm.states() == ["pending", "pending"] and memory.jobs().waiting == 0
        assert memory.list("message").items[0].status == "pending"
        memory.workers("resume")
        memory.workers("wait")
        assert memory.list("message").items[0].status == "ready"


@pytest.mark.parametrize(
    ("env", "field"),
    [
        ({"REWOUND_QUIET": "-1"}, "REWOUND_QUIET"),
        ({"REWOUND_QUIET": "nan"}, "REWOUND_QUIET"),
        ({"REWOUND_QUIET": "soon"}, "REWOUND_QUIET"),
        ({"REWOUND_BATCH_AGE": "1e9"}, "REWOUND_BATCH_AGE"),
        ({"REWOUND_BATCH_MESSAGES": "0"}, "REWOUND_BATCH_MESSAGES"),
        ({"REWOUND_BATCH_MESSAGES": "33"}, "REWOUND_BATCH_MESSAGES"),
        ({"REWOUND_BATCH_MESSAGES": "2.5"}, "REWOUND_BATCH_MESSAGES"),
    ],
)
def test_settings_that_cannot_be_taken(env: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        Models.from_environment(env)
    assert raised.value.field == field


def test_settings_by_the_environment() -> None:
    env = {"REWOUND_QUIET": "1.5", "REWOUND_BATCH_MESSAGES": "3", "REWOUND_BATCH_AGE": "9"}
    models = Models.from_environment(env)
    assert (models.quiet, models.batch_messages, models.batch_age) == (1.5, 3, 9)
