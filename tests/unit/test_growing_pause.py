"""How long what failed is left alone."""

from rewound.llm.growing_pause import GrowingPause


def test_each_pause_is_twice_the_one_before_it_up_to_a_bound() -> None:
    pause = GrowingPause(30.0, 100.0)
    assert pause.is_over(0.0), "nothing has failed"
    now = 1_000.0
    for wanted in (30.0, 60.0, 100.0, 100.0):
        pause.failed(now)
        assert not pause.is_over(now + wanted - 0.5) and pause.is_over(now + wanted)
        now += wanted


def test_it_does_not_overflow_however_often_it_fails() -> None:
    pause = GrowingPause(30.0, 3_600.0)
    for _ in range(5_000):
        pause.failed(0.0)
    assert not pause.is_over(3_599.0) and pause.is_over(3_600.0)
