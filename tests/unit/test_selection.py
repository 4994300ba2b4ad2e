"""What a plain search may find, remembered from one question to the next."""

from typing import Any

from rewound.projections.remembered import frozen
from rewound.projections.selection import Criteria, _plainly
from tests.unit.scenes import Mask, Scene, columns_of


def scene() -> Scene:
    """Two facts, of which the first expires at 100."""
    made = Scene()
    for _ in range(2):
        made.state()
    made.rows[0] = made.rows[0]._replace(expires=100)
    return made


def found(columns: Any, counted: Mask, now: int) -> list[bool]:
    allowed = _plainly(columns, counted, Criteria(now=now))
    assert allowed is not None
    return [bool(each) for each in allowed]


def test_what_is_remembered_ends_with_the_first_that_expires() -> None:
    made = scene()
    columns, counted = columns_of(made.rows), frozen(made.counted())
    assert found(columns, counted, 99) == [True, True]
    assert found(columns, counted, 100) == [False, True]
    assert found(columns, counted, 99) == [True, True], "a question about an earlier time"


def test_a_question_of_another_time_in_the_midst_of_one_changes_nothing() -> None:
    made = scene()
    columns, counted = columns_of(made.rows), frozen(made.counted())
    assert found(columns, counted, 50) == [True, True]
    held = next(entry[1]["what holds"] for entry in columns.memo["masks"])

    class Interrupted(int):
        """A bound; while it is compared, another thread asks about a later time."""

        def __gt__(self, other: int) -> bool:
            if other == 60:
                assert found(columns, counted, 200) == [False, True]
            return int(self) > other

    held[0] = held[0]._replace(until=Interrupted(100))
    assert found(columns, counted, 60) == [True, True]
