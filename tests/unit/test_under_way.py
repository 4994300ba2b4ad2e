"""Work side by side, taken in order."""

import threading

import pytest

from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.memory.under_way import UnderWay

ONE, OTHER = ContainerId(bytes(15) + b"\1"), ContainerId(bytes(15) + b"\2")
WAIT_S = 30


def ref(number: int) -> Ref:
    return Ref(Kind.MESSAGE, bytes(15) + bytes([number]))


def test_results_of_a_container_come_in_the_order_in_which_work_began() -> None:
    done = threading.Semaphore(0)
    held = threading.Event()
    under_way: UnderWay[str, int] = UnderWay(done.release)
    under_way.begin([(ONE, ref(1))], "slow", 5, lambda: int(held.wait(WAIT_S)))
    under_way.begin([(ONE, ref(2))], "quick", 5, lambda: 2)
    under_way.begin([(OTHER, ref(3))], "elsewhere", 5, lambda: 3)
    assert (ONE, ref(2)) in under_way and (OTHER, ref(2)) not in under_way
    for _ in range(2):
        assert done.acquire(timeout=WAIT_S)
    assert under_way.take() == [("elsewhere", 3)], "containers do not wait for each other"
    assert (len(under_way), under_way.unfinished, under_way.chars) == (2, 1, 5)
    held.set()
    assert done.acquire(timeout=WAIT_S)
    assert under_way.take() == [("slow", 1), ("quick", 2)]
    assert not under_way


def test_what_failed_is_told_once_and_stands_in_nobodys_way() -> None:
    done = threading.Semaphore(0)
    under_way: UnderWay[str, int] = UnderWay(done.release)
    under_way.begin([(ONE, ref(1))], "wrong", 5, lambda: 1 // 0)
    assert done.acquire(timeout=WAIT_S)
    with pytest.raises(ZeroDivisionError):
        under_way.take()
    under_way.begin([(ONE, ref(1))], "right", 5, lambda: 1)
    assert done.acquire(timeout=WAIT_S)
    assert under_way.take() == [("right", 1)]


def test_what_failed_takes_nothing_along_that_was_done_beside_it() -> None:
    done = threading.Semaphore(0)
    under_way: UnderWay[str, int] = UnderWay(done.release)
    under_way.begin([(OTHER, ref(3))], "elsewhere", 5, lambda: 3)
    under_way.begin([(ONE, ref(1))], "wrong", 5, lambda: 1 // 0)
    under_way.begin([(ONE, ref(2))], "right", 5, lambda: 2)
    for _ in range(3):
        assert done.acquire(timeout=WAIT_S)
    assert under_way.take() == [("elsewhere", 3)]
    with pytest.raises(ZeroDivisionError):
        under_way.take()
    assert under_way.take() == [("right", 2)]
