"""When messages are read: quiet, many or old."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.memory.gathering import Gathering
from rewound.memory.rhythm import AT_ONCE, Rhythm

CALM = Rhythm(quiet_us=100, messages=3, age_us=250)
HOME = ContainerId(bytes(16))


def message(number: int) -> Ref:
    return Ref(Kind.MESSAGE, number.to_bytes(16, "big"))


@pytest.mark.parametrize(
    ("times", "now_us", "due"),
    [
        ([], 10**9, 0),
        ([0], 99, 0),
        ([0], 100, 1),
        ([0, 90], 100, 0),
        ([0, 90], 190, 2),
        ([0, 200], 249, 0),
        ([0, 200], 250, 2),
        ([0, 1, 2], 2, 3),
        ([0, 1, 2, 3], 3, 3),
        ([0, 1, 2, 3], 103, 4),
        ([0, 1, 2, 3, 4, 5, 6], 6, 6),
    ],
)
def test_what_is_due(times: list[int], now_us: int, due: int) -> None:
    assert CALM.due(times, now_us) == due


def test_one_message_a_call_never_waits() -> None:
    assert not AT_ONCE.gathers
    assert AT_ONCE.due([5, 6], 0) == 2
    assert Rhythm(10**9, 1, 10**9).due([5], 5) == 1


times = st.lists(st.integers(0, 400), max_size=9).map(sorted)


@given(times=times, now_us=st.integers(0, 1_000))
def test_nothing_waits_past_its_age_nor_when_all_is_quiet(times: list[int], now_us: int) -> None:
    left = times[CALM.due(times, now_us) :]
    assert len(left) < CALM.messages
    if left:
        assert now_us < left[0] + CALM.age_us and now_us < left[-1] + CALM.quiet_us
        due_us = CALM.due_us(len(left), left[0], left[-1])
        assert CALM.due(left, due_us - 1) == 0 and CALM.due(left, due_us) == len(left)


said = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60)), max_size=20)


@given(said=said)
def test_each_message_comes_once_with_those_of_its_conversation(
    said: list[tuple[int, int]],
) -> None:
    """As time goes on, each is read in its time, and its conversation in order."""
    gathering = Gathering(CALM)
    now_us, told, read = 0, dict[Ref, tuple[int, int]](), list[tuple[int, list[Ref]]]()

    def take() -> None:
        read.extend((now_us, refs) for _, refs in gathering.take(now_us))

    for number, (talk, pause_us) in enumerate(said):
        while (due_us := gathering.next_us()) is not None and due_us <= now_us + pause_us:
            now_us = max(now_us, due_us)
            take()
        now_us += pause_us
        told[message(number)] = talk, now_us
        gathering.add(HOME, bytes([talk]), message(number), now_us)
        take()
    while (due_us := gathering.next_us()) is not None:
        now_us = max(now_us, due_us)
        take()
    assert sorted(ref for _, refs in read for ref in refs) == sorted(told)
    assert gathering.size(HOME) == 0
    last: dict[int, int] = {}
    for at_us, refs in read:
        talks = {told[ref][0] for ref in refs}
        assert len(talks) == 1 and len(refs) <= CALM.messages
        times = [told[ref][1] for ref in refs]
        assert last.get(min(talks), 0) <= times[0] and all(a <= b for a, b in pairwise(times))
        last[min(talks)] = times[-1]
        full, old = len(refs) == CALM.messages, at_us - times[0] >= CALM.age_us
        assert full or old or at_us - times[-1] >= CALM.quiet_us, "it was read too early"
        assert at_us - times[0] <= CALM.age_us, "it was read too late"


def test_what_is_awaited_does_not_wait() -> None:
    gathering = Gathering(CALM)
    for number in range(5):
        gathering.add(HOME, b"a", message(number), number)
    gathering.add(HOME, b"a", message(4), 4)
    assert gathering.take(4) == [(HOME, [message(0), message(1), message(2)])]
    assert gathering.take(4) == [] and gathering.next_us() == 104
    assert (HOME, message(4)) in gathering and (HOME, message(0)) not in gathering
    assert gathering.take(4, awaited=True) == [(HOME, [message(3), message(4)])]
    assert gathering.next_us() is None and gathering.size(HOME) == 0


def test_a_clock_behind_what_was_recorded_makes_nothing_wait_longer() -> None:
    gathering = Gathering(CALM)
    gathering.add(HOME, b"a", message(0), 1_000)
    gathering.add(HOME, b"b", message(1), 1_150)
    assert gathering.take(1_060) == [(HOME, [message(0)])]
    assert not gathering.is_lost(1_050) and gathering.is_lost(1_049)
    assert gathering.take(1_049) == [(HOME, [message(1)])], "it was put back"
    assert not gathering.is_lost(0)
