"""A process waits for what runs in native libraries before it ends."""

import os
import subprocess
import sys
import threading

from rewound.llm.native_runs import Runs

ENDING = """
import threading
from rewound.llm.minilm import MiniLM

model, begun = MiniLM(threads=1), threading.Event()

def work():
    while True:
        model.embed(["Nina works at Orbit Labs as an engineer. " * 30])
        begun.set()

threading.Thread(target=work, daemon=True).start()
assert begun.wait(120)
"""


def test_a_process_ends_well_while_a_thread_makes_vectors() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_end_waits_for_what_runs_and_nothing_begins_after() -> None:
    runs = Runs()
    inside, go_on, out, second = (threading.Event() for _ in range(4))

    def first() -> None:
        with runs.one():
            inside.set()
            assert go_on.wait(60)
        out.set()

    def another() -> None:
        with runs.one():
            second.set()

    threading.Thread(target=first, daemon=True).start()
    assert inside.wait(60)
    assert not runs.settle(0.0), "one is under way"
    threading.Thread(target=another, daemon=True).start()
    go_on.set()
    assert runs.settle(60.0) and out.wait(60)
    assert not second.is_set()


def test_what_begins_runs_is_closed_first() -> None:
    runs = Runs()
    seen: list[bool] = []

    def close() -> None:
        with runs.one():  # what is still to be done may be done
            seen.append(True)

    runs.closed_by(close)
    assert runs.settle(0.0) and seen == [True]


def test_a_run_that_fails_is_over() -> None:
    runs = Runs()
    try:
        with runs.one():
            raise ValueError
    except ValueError:
        assert runs.settle(0.0)


def test_a_forked_child_waits_for_no_thread_of_its_parent() -> None:
    runs = Runs()
    inside, go_on = threading.Event(), threading.Event()

    def work() -> None:
        with runs.one():
            inside.set()
            go_on.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    child = os.fork()
    if not child:  # no assertion here: the child must not go on with the tests
        runs.begin_in_child()
        os._exit(0 if runs.settle(0.0) else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(60)
    assert os.waitstatus_to_exitcode(status) == 0
