"""What is worked out once for a moment: never of a mask that may change, never without bound."""

import numpy as np

from rewound.projections.remembered import MASKS_MAX, frozen, remembered
from tests.unit.scenes import Mask, Scene


class Work:
    """Counts how often it is done."""

    done = 0

    def __call__(self) -> int:
        self.done += 1
        return self.done


def mask() -> Mask:
    return np.ones(1, np.bool_)


def scene() -> Scene:
    made = Scene()
    made.state()
    return made


def test_it_is_worked_out_once_for_a_mask_and_a_name() -> None:
    columns, work = scene().columns, Work()
    one, other = frozen(mask()), frozen(mask())
    assert [remembered(columns, one, "a", work) for _ in range(3)] == [1, 1, 1]
    assert remembered(columns, one, "b", work) == 2
    assert remembered(columns, other, "a", work) == 3, "equal masks may be of other moments"
    assert remembered(columns, one, "a", work) == 1


def test_of_a_mask_that_may_be_written_nothing_is_kept() -> None:
    columns, work, open_mask = scene().columns, Work(), mask()
    assert [remembered(columns, open_mask, "a", work) for _ in range(3)] == [1, 2, 3]
    assert not columns.memo


def test_other_columns_know_nothing_of_it() -> None:
    made, work, one = scene(), Work(), frozen(mask())
    assert [remembered(made.columns, one, "a", work) for _ in range(2)] == [1, 2]


def test_the_masks_read_last_are_kept() -> None:
    columns, work = scene().columns, Work()
    masks = [frozen(mask()) for _ in range(MASKS_MAX)]
    for each in masks:
        remembered(columns, each, "a", work)
    remembered(columns, masks[0], "a", work)
    remembered(columns, frozen(mask()), "a", work)  # the second goes for it
    assert work.done == MASKS_MAX + 1
    assert remembered(columns, masks[0], "a", work) == 1
    assert remembered(columns, masks[1], "a", work) == MASKS_MAX + 2
