"""How important an item is, in thousandths: as its sender said, and as a person set it since.

What nobody spoke of has none. A fact without one of its own has that of what it was drawn from, a
passage that of its document; this is looked up at read, since a row reads no other row.
"""

from collections.abc import Sequence
from typing import Final

from rewound.eventlog.events import DocumentReplaced, ImportanceSet
from rewound.eventlog.log import Recorded

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
