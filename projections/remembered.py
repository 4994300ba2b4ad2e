"""What follows from a container's columns and a mask over them: worked out once for both.

What stands in a container, what is beside what and how long its texts are on average are the same
for every query of a moment. They are kept beside the columns they follow from, so they go when
anything is written, and with the columns themselves. Only ordinals and numbers are kept, no text.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from rewound.projections.columns import Columns

MASKS_MAX: Final = 6
"""So many masks of one container are remembered: the present, what its searches may find, and a
moment or two of the past."""

_MASKS: Final = "masks"

Mask = npt.NDArray[np.bool_]
T = TypeVar("T")


def frozen(mask: Mask) -> Mask:
    """The mask, never to be written again: so that it can be known by its identity."""
    mask.flags.writeable = False
    return mask


def remembered(columns: Columns, mask: Mask, name: str, work: Callable[[], T]) -> T:
    """What `work` finds, or found before under that name for this very mask.

    For a mask that may still be written nothing is kept. Threads may work at the same time; what
    they find is equal.
    """
    if mask.flags.writeable:
        return work()
    kept: tuple[tuple[Mask, dict[str, Any]], ...] = columns.memo.get(_MASKS, ())
    found = next((entry for entry in kept if entry[0] is mask), None)
    if found is None:
        found = (mask, {})
        columns.memo[_MASKS] = (found, *kept[: MASKS_MAX - 1])
    elif found is not kept[0]:
        rest = tuple(entry for entry in kept if entry is not found)
        columns.memo[_MASKS] = (found, *rest)
    if name not in found[1]:
        found[1][name] = work()
    value: T = found[1][name]
    return value
