"""A conversation as it stands: what of it a transcript is compared with, and where that matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import ConversationId, Kind, Ref
from rewound.memory.aligning import Aligned, Slot, contained, overlap
from rewound.memory.drafting import Drafting
from rewound.memory.identity import MessageContent, message_content, returned_digest

if TYPE_CHECKING:
    from rewound.projections.messages import MessageRow
    from rewound.projections.rows import Row

_WINDOW = 256
"""Positions looked at from the end of the container first, for the end of a conversation."""


class Place(NamedTuple):
    """Where a message of a transcript belongs. `row` is the message there, None for a place whose
    message was undone, erased or (`forgotten`) hidden."""

    ordinal: int
    row: Row[MessageRow] | None
    forgotten: bool = False


class Conversation:
    """Messages of one conversation that are there, hidden ones too.

    Ordinals rise with positions, but for messages recorded anew in the place of forgotten ones.
    Once there is such a one all messages are read, until then only those needed.
    """

    def __init__(self, drafting: Drafting, conversation: ConversationId) -> None:
        self._drafting = drafting
        self._view = drafting.view
        self.id = conversation
        self._mixed = bool(drafting.known(returned_digest(drafting.key, conversation)))

    @property
    def ref(self) -> Ref:
        return Ref(Kind.CONVERSATION, self.id)

    def next_ordinal(self) -> int:
        """One more than that of the last message."""
        rows, _ = self._last(1)
        return max((row.state.ordinal for row in rows), default=-1) + 1

    def places(
        self, sent: Sequence[MessageContent], digests: Sequence[bytes | None]
    ) -> list[Place]:
        """Places of the first messages sent, as far as they are in the conversation already.

        What was sent overlaps its end, or (two or more) is its beginning, or, when every message
        has a time of day and thus a digest, lies anywhere in it.
        """
        if not sent:
            return []
        rows, whole = self._last(len(sent))
        places = self._places(rows, 0 if whole else None)
        found = self._taken(places, overlap(self._slots(places), sent), alone=len(sent) == 1)
        if found or len(sent) < 2:
            return found
        firsts: list[Row[MessageRow] | None] = [None]
        if None not in digests:
            known = self._drafting.known(digests[0] or b"")
            firsts += [row for ref in known if (row := self._view.message(ref.id)) is not None]
        for first in firsts:
            places = self._places(self._from(first, len(sent)), first.state.ordinal if first else 0)
            found = self._taken(places, contained(self._slots(places), sent), alone=False)
            if found:
                break
        return found or self._by_position(sent)

    def _by_position(self, sent: Sequence[MessageContent]) -> list[Place]:
        """Places by position from the beginning, when most messages are what stands there.

        A transcript in which a word was changed is still that transcript: what was changed is news,
        beside what was said first, and the rest is known.
        """
        rows = self._from(None, len(sent))
        places = self._places(rows, 0)[: len(sent)]
        known = [
            self._standing(rows, place.ordinal, content)
            for place, content in zip(places, sent, strict=False)
        ]
        same = sum(row is not None for row in known)
        if 2 * same <= len(known):
            return []
        return [Place(place.ordinal, row) for place, row in zip(places, known, strict=True)]

    def _standing(
        self, rows: Iterable[Row[MessageRow]], ordinal: int, content: MessageContent
    ) -> Row[MessageRow] | None:
        """The message of that content at that position, if it shows."""
        for row in rows:
            if row.state.ordinal == ordinal and row.state.caller_id is None and self._worth(row):
                if self._content(row) == content:
                    return row
        return None

    # --- rows

    def _last(self, count: int) -> tuple[list[Row[MessageRow]], bool]:
        """The last messages, so many without a caller's id, and whether these are all there are."""
        if self._mixed:
            return self._view.messages_of(self.id), True
        found: list[Row[MessageRow]] = []
        plain = seen = 0
        after, window = self._view.position, _WINDOW
        while True:
            after = max(0, after - window)
            positions = self._view.log.tagged(self._view.id, self.ref.key(), after)
            for position in reversed(positions[: len(positions) - seen]):
                row = self._recorded(position)
                if row is None:
                    continue
                found.append(row)
                plain += row.state.caller_id is None
                if plain == count:
                    return found, False
            if after == 0:
                return found, True
            seen = len(positions)
            window *= 4

    def _from(self, first: Row[MessageRow] | None, count: int) -> list[Row[MessageRow]]:
        """The messages from one on, or from the beginning, so many without a caller's id."""
        if self._mixed:
            low = first.state.ordinal if first else 0
            rows = self._view.messages_of(self.id)
            return [row for row in rows if row.state.ordinal >= low]
        found: list[Row[MessageRow]] = []
        after = first.state.at - 1 if first else 0
        plain = 0
        for position in self._view.log.tagged(self._view.id, self.ref.key(), after):
            row = self._recorded(position)
            if row is not None:
                found.append(row)
                plain += row.state.caller_id is None
                if plain == count:
                    break
        return found

    def _recorded(self, position: int) -> Row[MessageRow] | None:
        """The message that an event brought, if it is there."""
        recorded = self._view.event(position)
        if recorded is None or not isinstance(recorded.event, e.MessageRecorded):
            return None
        return self._view.message(recorded.event.message)

    # --- places

    def _places(self, rows: Iterable[Row[MessageRow]], first: int | None) -> list[Place]:
        """One place for each ordinal from `first` on, but for messages with a caller's id.

        An ordinal without any message is that of one that was undone.
        """
        at: dict[int, Row[MessageRow] | None] = {}
        for row in rows:
            held = at.get(row.state.ordinal)
            if row.state.caller_id is not None:
                at.setdefault(row.state.ordinal, None)
            elif held is None or self._worth(row) >= self._worth(held):
                at[row.state.ordinal] = row
        if not at:
            return []
        ordinals = range(min(at) if first is None else first, max(at) + 1)
        return [
            Place(ordinal, at.get(ordinal))
            for ordinal in ordinals
            if ordinal not in at or at[ordinal] is not None
        ]

    def _slots(self, places: Sequence[Place]) -> list[Slot]:
        return [Slot(place.ordinal, self._content(place.row)) for place in places]

    def _content(self, row: Row[MessageRow] | None) -> MessageContent | None:
        text = None if row is None else self._view.text(row.state.text)
        if row is None or text is None:
            return None
        state = row.state
        return message_content(state.role, self._view.text(state.speaker), state.said_at, text)

    def _taken(
        self, places: Sequence[Place], aligned: Aligned | None, *, alone: bool
    ) -> list[Place]:
        """The places aligned. A hidden message does not count as being there, and one sent alone
        counts only if no part of it is forgotten: it is news, where a transcript is none."""
        if aligned is None:
            return []
        taken: list[Place] = []
        for place in places[aligned.start : aligned.start + aligned.length]:
            if place.row is not None and self._worth(place.row) < (2 if alone else 1):
                place = Place(place.ordinal, None, forgotten=True)
            taken.append(place)
        return taken

    def _worth(self, row: Row[MessageRow]) -> int:
        """2 for a message that shows whole, 1 in part, 0 for a hidden one."""
        ref = Ref(Kind.MESSAGE, row.id)
        if self._view.hidden(ref) is not None:
            return 0
        return 1 if self._view.mask(ref, row.state.text.place(0)) else 2
