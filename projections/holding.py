"""Which summaries of a conversation hold: those that tell exactly what stands there now.

A summary holds for a reader when the messages that it tells of, its own and those of the summaries
before it, are the first of those that the reader may see, with just the parts blacked out that are
black today. So one that tells of a message that was forgotten meanwhile holds no more, until that
is shown again; and one that left a message out holds no more once it is back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.projections.hidden import place_of
from rewound.projections.messages import MessageRow
from rewound.projections.rows import Row
from rewound.projections.summaries import SummaryEntry

if TYPE_CHECKING:
    from rewound.projections.reader import ContainerView

Told = e.SummaryWritten | e.SummaryFailed
"""Events that hold what was made of messages."""


class Held(NamedTuple):
    """A summary that tells of the first `end` messages."""

    end: int
    entry: SummaryEntry
    text: str


class Overlay:
    """What of messages is hidden or black today: read once, since little is, of many messages."""

    def __init__(self, view: ContainerView) -> None:
        self.hidden = {ref.id: row for ref, row in view.hidden_items() if ref.kind is Kind.MESSAGE}
        self._masks: dict[bytes, list[e.Span]] = {}
        for key, row in view.masked():
            if key[0] == Kind.MESSAGE:
                ref, place = Ref(Kind.MESSAGE, key[1:17]), place_of(key)
                spans = (e.Span(ref, place, start, end) for start, end in row.spans)
                self._masks.setdefault(ref.id, []).extend(spans)

    def masks(self, message: bytes) -> list[e.Span]:
        """The blacked-out parts of a message."""
        return self._masks.get(message, [])


def standing(
    view: ContainerView, conversation: bytes, at: int | None = None, *, forgotten: bool = False
) -> list[Row[MessageRow]]:
    """A conversation's messages that may be shown, in order; with `forgotten` hidden ones too."""
    hidden = Overlay(view).hidden
    rows = view.messages_of(conversation, at)
    return [
        row
        for row in rows
        if (found := hidden.get(row.id)) is None or (forgotten and not found.erased)
    ]


class Scopes:
    """The scopes of messages, as what they are grouped by: what is summed up has one scope."""

    def __init__(self, view: ContainerView) -> None:
        self._view = view
        self._known: dict[tuple[int, int], tuple[tuple[str, str], ...]] = {}

    def of(self, row: Row[MessageRow]) -> tuple[tuple[str, str], ...]:
        scope = row.state.scope
        if scope is None:
            return ()
        place = scope.place(0)
        found = self._known.get((place.at, place.slot))
        if found is None:
            held = self._view.value(scope) or {}
            found = self._known[place.at, place.slot] = tuple(sorted(held.items()))
        return found

    def groups(
        self, rows: Sequence[Row[MessageRow]]
    ) -> dict[tuple[tuple[str, str], ...], list[Row[MessageRow]]]:
        """Messages by their scope, in their order."""
        found: dict[tuple[tuple[str, str], ...], list[Row[MessageRow]]] = {}
        for row in rows:
            found.setdefault(self.of(row), []).append(row)
        return found


class Holding:
    """The summaries of messages of one conversation and one scope, which stand in their order.

    `unmasked` is for a reader who is shown what is blacked out.
    """

    def __init__(
        self,
        view: ContainerView,
        rows: Sequence[Row[MessageRow]],
        at: int | None = None,
        *,
        unmasked: bool = False,
    ) -> None:
        self._view = view
        self._ids = [row.id for row in rows]
        self._ending = view.summaries_of(self._ids, at)
        self._overlay = None if unmasked else Overlay(view)
        self._known: dict[tuple[int, int], bool] = {}
        """By an event's position and how many messages it would have to tell of."""

    def ending(self, end: int) -> Held | None:
        """The newest that tells of the first `end` messages."""
        found = self._ending.get(self._ids[end - 1])
        for entry in reversed(found.entries if found is not None else ()):
            if self._is_exact(entry.at, end):
                text = self._view.text(entry.text)
                if text is not None:
                    return Held(end, entry, text)
        return None

    def last(self, most: int) -> Held | None:
        """The one that tells of most, of no more than the first `most` messages."""
        ends = range(min(most, len(self._ids)), 0, -1)
        return next((held for end in ends if (held := self.ending(end)) is not None), None)

    def first(self, least: int) -> Held | None:
        """The one that tells of fewest, of no fewer than the first `least` messages."""
        ends = range(max(least, 1), len(self._ids) + 1)
        return next((held for end in ends if (held := self.ending(end)) is not None), None)

    def _is_exact(self, position: int, end: int) -> bool:
        passed: list[tuple[int, int]] = []
        exact = False
        while (known := self._known.get((position, end))) is None:
            passed.append((position, end))
            recorded = self._view.event(position)
            assert recorded is not None, "a row's event is in the log"
            event = recorded.event
            if not isinstance(event, e.SummaryWritten):
                break
            start = end - len(event.messages)
            if start < 0 or not self._adds(event, start, end):
                break
            if event.after is None:
                exact = start == 0
                break
            before = summary_of(self._view, event.after)
            if before is None or start == 0:
                break
            position, end = before.position, start
        else:
            exact = known
        self._known.update(dict.fromkeys(passed, exact))
        return exact

    def _adds(self, event: e.SummaryWritten, start: int, end: int) -> bool:
        """Whether it adds just these messages, as they read now."""
        if self._ids[start:end] != list(event.messages):
            return False
        if self._overlay is None:
            return not event.masks
        return masks_of(self._overlay, self._ids[start:end]) == event.masks


def masks_of(overlay: Overlay, messages: Sequence[bytes]) -> tuple[e.Span, ...]:
    """The blacked-out parts of messages, in their order."""
    return tuple(span for message in messages for span in overlay.masks(message))


# --- what has gone into one


def summary_of(view: ContainerView, event_id: EventId) -> Recorded | None:
    """The event of that id, if it wrote a summary in this container."""
    found = view.log.find(event_id)
    recorded = view.event(found[1]) if found is not None and found[0] == view.id else None
    is_one = recorded is not None and isinstance(recorded.event, e.SummaryWritten)
    return recorded if is_one else None


def links(view: ContainerView, event: Told) -> list[Told]:
    """The event, and those that wrote the summaries before it, the newest first."""
    found: list[Told] = [event]
    while event.after is not None:
        before = summary_of(view, event.after)
        if before is None:
            break
        assert isinstance(before.event, e.SummaryWritten)
        event = before.event
        found.append(event)
    return found


def followers(view: ContainerView, event_id: EventId) -> list[Recorded]:
    """All that was made of the summary that an event wrote, those that do not hold too."""
    found: dict[int, Recorded] = {}
    waiting = [event_id]
    while waiting:
        raw = waiting.pop()
        for recorded in view.about(Ref(Kind.EVENT, raw)):
            event = recorded.event
            if isinstance(event, Told) and event.after == raw and recorded.position not in found:
                found[recorded.position] = recorded
                waiting.append(recorded.envelope.event_id)
    return [found[position] for position in sorted(found)]


def taken_back(view: ContainerView, messages: Sequence[bytes]) -> set[bytes] | None:
    """All messages that undone summaries told of, if each of these is among them; else None.

    Undone is a summary when an undoing that holds names it, or one that it goes on from. One that
    merely went with a message that it told of is not: nobody spoke against it.
    """
    effectivity = view.effectivity()
    found: set[bytes] = set()
    for raw in reversed(messages):  # the latest has hardly ever been told of: then this is all
        if raw in found:
            continue
        for recorded in view.about(Ref(Kind.MESSAGE, raw)):
            if not isinstance(recorded.event, e.SummaryWritten):
                continue
            chain = links(view, recorded.event)
            written = (recorded.envelope.event_id, *(link.after for link in chain))
            if any(each is not None and effectivity.undoing(each) is not None for each in written):
                found.update(message for link in chain for message in link.messages)
        if raw not in found:
            return None
    return found


def forgotten_in(view: ContainerView, event: Told) -> str | None:
    """Why what was made of messages is not told: some of them is `forgotten`, or `erased`."""
    overlay = Overlay(view)
    forgotten = False
    for link in links(view, event):
        for raw in link.messages:
            hidden = overlay.hidden.get(raw)
            if hidden is not None and hidden.erased:
                return "erased"
            forgotten = forgotten or hidden is not None or _is_blacker(overlay, raw, link.masks)
    return "forgotten" if forgotten else None


def _is_blacker(overlay: Overlay, message: bytes, then: Sequence[e.Span]) -> bool:
    """Whether more of a message is black than was when it was read."""
    return any(
        not any(
            (was.source, was.place) == (now.source, now.place)
            and was.start <= now.start
            and now.end <= was.end
            for was in then
        )
        for now in overlay.masks(message)
    )
