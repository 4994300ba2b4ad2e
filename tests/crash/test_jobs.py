"""Jobs on their way to a model and back, in a process that is killed again and again: each ends
exactly once."""

import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.ids import STORE, Kind, Ref
from rewound.memory import Memory
from rewound.memory.models import NO_MODELS
from tests.crash.processes import WAIT_S, Process, all_ended, place
from tests.integration.echoing import echo
from tests.integration.noding import ScriptedNode, nodes

SEED = 20_260_202
TALKS = 40
ASKS = 7
"""Every so manieth message asks something, and states nothing."""


def text(number: int) -> str:
    return f"Is box {number} open?" if number % ASKS == 0 else f"Box {number} holds {number} pens."


def queue(data: Path, count: int) -> None:
    """So many messages, of which none is read yet."""
    with Memory(data, models=NO_MODELS) as memory:
        for talk in range(TALKS):
            numbers = range(talk, count, TALKS)
            sent = [{"content": text(number)} for number in numbers]
            memory.add_messages(sent, conversation=f"talk {talk}")


def wait_for(calls: int, node: ScriptedNode, drawer: Process) -> bool:
    """Until the model was asked so often; False when all was done before."""
    until, ticking = time.monotonic() + WAIT_S, threading.Event()
    while len(node.told) < calls:
        if drawer.status() is not None:
            return False
        assert time.monotonic() < until, "the drawing does not get on"
        ticking.wait(0.002)
    return True


def each_ended_once(data: Path, count: int) -> None:
    with Memory(data, models=NO_MODELS) as memory:
        memory.own()
        store = memory.link._store
        assert store is not None
        finished: Counter[Ref] = Counter()
        stated: Counter[bytes | None] = Counter()
        with store.engine.reading() as views:
            (container,) = (each for each in views.positions() if each != STORE)
            view = views.container(container)
            assert not list(view.all_jobs())
            for recorded in views.log.events(container, 0, view.position):
                match recorded.event:
                    case e.ExtractionFinished(source=source):
                        finished[source] += 1
                    case e.FactExtracted(statement=statement):
                        place = statement.text.place(recorded.position)
                        stated[views.log.body(container, place)] += 1
                    case e.ExtractionFailed():
                        raise AssertionError("nothing can fail here")
            sent = {Ref(Kind.MESSAGE, row.id) for row in view.scan(Kind.MESSAGE)}
        assert len(sent) == count and finished == Counter(sent)
        wanted = [text(n).rstrip(".").encode() for n in range(count) if n % ASKS]
        assert stated == Counter(wanted)
        assert memory.verify().ok and memory.rebuild().equal


def killed_again_and_again(folder: Path, count: int, kills: int) -> None:
    """Each time the model has answered some more, at any moment of what follows."""
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    share = count // 8 // (kills + 1)
    with place(folder) as here, nodes(1, slots=2) as (node,):
        node.good = echo
        queue(here.data, count)
        killed = most = 0
        go_on = threading.Event()

        def within() -> None:
            """The model answers no more than so much: whoever is to be killed is never through."""
            if len(node.told) >= most:
                go_on.wait(WAIT_S)

        node.within = within
        for _ in range(kills):
            calls = len(node.told) + dice.randint(1, 2 * share - 1)
            most = calls + share
            go_on.clear()
            drawer = here.python("tests.crash.drawer", here.data, node.url)
            with all_ended([drawer]):
                if not wait_for(calls, node, drawer):
                    break
                time.sleep(dice.choice((0, 0.001, 0.01, 0.05)) * dice.random())
                if drawer.status() == 0:
                    break  # these were the last ones
                assert drawer.status() is None
            killed += 1
            go_on.set()
        go_on.set()
        drawer = here.python("tests.crash.drawer", here.data, node.url)
        with all_ended([drawer]):
            assert drawer.end(10 * WAIT_S) == (0, b"0\n"), here.printed()
        assert killed >= kills // 2, "it was through before it could be killed"
        each_ended_once(here.data, count)


def test_each_of_some_jobs_ends_once_however_it_is_killed(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, 240, 2)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_each_of_ten_thousand_jobs_ends_once_however_it_is_killed(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, 10_000, 12)
