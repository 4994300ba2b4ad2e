"""How important an item is, in thousandths: as its sender said, and as a person set it since.

What nobody spoke of has none. A fact without one of its own has that of what it was drawn from, a
passage that of its document; this is looked up at read (`counting`), since a row reads no other
row.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rewound.eventlog.events import DocumentReplaced, ImportanceSet
from rewound.eventlog.ids import Kind
from rewound.eventlog.log import Recorded
from rewound.projections.columns import FIRST, Columns

WHOLE: Final = 1_000
"""What an importance of 1 is."""


def gathered(first: int | None, contributors: Sequence[Recorded]) -> int | None:
    """What an item came with, or the last that was said of it since."""
    found = first
    if len(contributors) == 1:
        return found
    for recorded in contributors:
        event = recorded.event
        if isinstance(event, ImportanceSet):
            found = event.importance
        elif isinstance(event, DocumentReplaced) and event.importance is not None:
            found = event.importance
    return found


def counting(
    columns: Columns, stands: npt.NDArray[np.bool_], of: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Thousandths for the entries `of` (ordinals): their own, else those of the document or message
    that they are from, if it is among what `stands` (a mask); 0 where nobody said any."""
    own = columns.importance
    homes = np.flatnonzero(
        stands & (own > 0) & ((columns.kind == Kind.DOCUMENT) | (columns.kind == Kind.MESSAGE))
    )
    of_home = np.zeros(columns.n, np.int64)
    of_home[columns.group[homes]] = own[homes]
    home = np.where(columns.kind[of] == Kind.PASSAGE, columns.group[of], columns.source[of])
    lent = np.where(home != FIRST, of_home[np.where(home != FIRST, home, 0)], 0)
    found: npt.NDArray[np.int64] = np.maximum(np.where(own[of] > 0, own[of], lent) - 1, 0)
    return found
