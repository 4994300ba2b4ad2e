"""Tags of an item as references: the list it came with, and the edits since."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from rewound.eventlog.bodies import Body, read_value
from rewound.eventlog.events import TagsEdited
from rewound.eventlog.log import Recorded
from rewound.projections import view as v


class Edit(msgspec.Struct, frozen=True, array_like=True):
    added: Body | None
    removed: Body | None


class Tags(msgspec.Struct, frozen=True, array_like=True):
    """Rows hold no text, so tags are bodies too; `names` reads them."""

    first: Body | None = None
    edits: tuple[Edit, ...] = ()


NONE = Tags()


def gathered(first: Body | None, position: int, contributors: Sequence[Recorded]) -> Tags:
    """The tags an item came with (stated by the event at `position`), and every edit of them."""
    if len(contributors) == 1:
        return NONE if first is None else Tags(first.seen_from(position))
    edits = tuple(
        Edit(
            v.absolute(event.added, recorded.position), v.absolute(event.removed, recorded.position)
        )
        for recorded in contributors
        if isinstance(event := recorded.event, TagsEdited)
    )
    return Tags(v.absolute(first, position), edits) if first or edits else NONE


class _Listed(NamedTuple):
    read: Callable[[Body], bytes | None]

    def of(self, body: Body | None) -> list[str]:
        content = None if body is None else self.read(body)
        return [] if content is None else [str(tag) for tag in read_value(content)]


def names(tags: Tags, read: Callable[[Body], bytes | None]) -> tuple[str, ...]:
    """The tags' names, sorted. An erased body counts as no tags."""
    if tags.first is None and not tags.edits:
        return ()
    listed = _Listed(read)
    held = set(listed.of(tags.first))
    for step in tags.edits:
        held |= set(listed.of(step.added))
        held -= set(listed.of(step.removed))
    return tuple(sorted(held))
