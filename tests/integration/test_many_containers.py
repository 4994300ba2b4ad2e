"""What is asked of the whole store costs by what waits, not by how many containers there are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewound.memory import Memory
from rewound.memory import requests as q
from rewound.memory.answer_stats import SHOWN_MAX
from rewound.memory.models import Models
from rewound.memory.replies import ContainerList, Figures
from rewound.projections.reader import ContainerView

COUNT = SHOWN_MAX + 5
_MODELS = Models(embedder="none", extractor="rules", judge="rules")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("many"), models=_MODELS) as memory:
        memory.own()
        memory.workers("pause")
        for number in range(COUNT):
            home = memory.container(f"c{number:03}")
            home.remember("Nina likes tea.")
        memory.container("c003").add_messages([{"content": "I moved."}], conversation="talk")
        memory.container("c007").add_messages([{"content": "I have a dog."}], conversation="talk")
        yield memory


def store(memory: Memory, **asked: object) -> Figures:
    reply = memory.link.call(q.Stats(store=True, **asked))  # type: ignore[arg-type]
    assert isinstance(reply, Figures)
    return reply


def test_the_quick_figures_are_those_of_looking_at_each(memory: Memory) -> None:
    quick, slow = store(memory), store(memory, as_of="9999-01-01")
    each = [memory.container(f"c{number:03}").stats() for number in range(COUNT)]
    assert quick.containers == slow.containers == COUNT
    assert quick.events == slow.events == sum(one.events for one in each)
    assert quick.pending == sum(one.pending for one in each) == 2
    assert quick.info == slow.info == tuple(one.info[0] for one in each[:SHOWN_MAX])
    assert quick.notes and "5 more containers" in quick.notes[0]


def test_figures_of_the_past_and_of_a_scope_tell_what_waited_there(memory: Memory) -> None:
    before = memory.container("c003").get(memory.container("c003").list().items[0].id)
    assert before.item.recorded_at
    assert store(memory, as_of=before.item.recorded_at).pending == 0, "nothing was said by then"
    assert store(memory, as_of="9999-01-01").pending == 2
    nobody = q.Scope(user="nobody")
    assert store(memory, scope=nobody).pending == 0
    assert all(one.counts["pending"] == 0 for one in store(memory, scope=nobody).info)


def test_brief_figures_look_at_one_container(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: set[bytes] = set()
    init = ContainerView.__init__

    def noted(view: ContainerView, *given: object) -> None:
        init(view, *given)  # type: ignore[arg-type]
        looked.add(view.id)

    monkeypatch.setattr(ContainerView, "__init__", noted)
    brief = store(memory, brief=True)
    assert len(looked) == 3, "the oldest, and the two in which something waits"
    assert [one.name for one in brief.info] == ["c000"] and not brief.notes
    assert brief.containers == COUNT and brief.pending == 2


def test_containers_come_in_pages(memory: Memory) -> None:
    names: list[str] = []
    cursor = None
    while True:
        page = memory.link.call(q.Containers(limit=50, cursor=cursor))
        assert isinstance(page, ContainerList) and page.total == COUNT
        names += [one.name for one in page.containers]
        cursor = page.cursor
        if not page.has_more:
            break
    assert names == [f"c{number:03}" for number in range(COUNT)]


def test_what_waits_is_counted_and_goes(memory: Memory) -> None:
    before = memory.workers()
    assert before.pending == 2 and before.unjudged == COUNT
    memory.workers("resume")
    after = memory.workers("wait", timeout_s=240)
    assert (after.pending, after.failed, after.parked, after.unjudged) == (0, 0, 0, 0)
    assert store(memory, brief=True).pending == 0


def test_the_past_still_shows_what_waited_then(memory: Memory) -> None:
    memory.workers("resume")
    home = memory.container("c003")
    event = home.add_messages([{"content": "My bike."}], conversation="talk").items[0].event
    memory.workers("wait", timeout_s=240)
    assert event is not None
    then = home.as_of(event).jobs()
    assert (then.pending, home.jobs().pending) == (1, 0)
