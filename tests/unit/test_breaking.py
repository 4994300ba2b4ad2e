"""When a server is fit to be asked."""

from rewound.llm.breaking import Breaker, Pace

PACE = Pace(probe_s=10.0, failures=2, holds_max=2)


def state(breaker: Breaker) -> str:
    """By a call: a type checker takes an attribute to stay as it was seen last."""
    return breaker.state


def test_two_failures_in_a_row_open_it_and_an_answer_between_them_does_not() -> None:
    breaker = Breaker(PACE)
    breaker.failed(0)
    breaker.succeeded(4)
    breaker.failed(1)
    assert state(breaker) == "up" and breaker.limit(4) == 4
    breaker.failed(2)
    assert state(breaker) == "down" and breaker.limit(4) == 0 and not breaker.answers


def test_so_do_two_probes_that_find_nobody_and_the_second_is_made_at_once() -> None:
    breaker = Breaker(PACE)
    breaker.probed(True, 0)
    assert state(breaker) == "up"
    breaker.probed(False, 10)
    assert breaker.suspect and breaker.answers
    breaker.probed(False, 11)
    assert state(breaker) == "down" and not breaker.suspect


def test_it_starts_slowly_when_it_is_back() -> None:
    breaker = down()
    breaker.probed(True, 10)
    assert state(breaker) == "trying"
    limits = []
    for _ in range(4):
        limits.append(breaker.limit(4))
        breaker.succeeded(4)
    assert limits == [1, 2, 3, 4] and state(breaker) == "up" and breaker.limit(9) == 9


def test_one_that_looks_well_but_fails_is_left_alone_for_ever_longer() -> None:
    breaker = down()
    waits = []
    now = 0.0
    for _ in range(5):
        tried = now
        while not breaker.answers:
            now += 1
            breaker.probed(True, now)
        waits.append(now - tried)
        breaker.failed(now)
        assert not breaker.answers
    assert waits == [1, 10, 20, 40, 40]
    while not breaker.answers:
        now += 1
        breaker.probed(True, now)
    breaker.succeeded(1)
    breaker.failed(now)
    assert state(breaker) == "up", "an answer makes good what was before"


def test_an_answer_from_before_it_went_does_not_bring_it_back() -> None:
    breaker = down()
    breaker.succeeded(4)
    assert state(breaker) == "down"


def down() -> Breaker:
    breaker = Breaker(PACE)
    breaker.probed(False, 0)
    breaker.probed(False, 0)
    assert state(breaker) == "down"
    return breaker
