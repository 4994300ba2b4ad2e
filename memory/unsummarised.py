"""What of a conversation is still to be summed up: what no longer fits among the recent messages.

Recent are the last messages, as far as their texts fit into a number of characters. When one has
fallen out of them that no summary tells of, all up to where a quarter of the room is free are to be
summed up: so that it is not done again for every message. What is summed up at once is of one
conversation and one scope. A summary that was undone is not written again for the same messages:
its place stays empty until there is a message to be told of that it did not tell of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.errors import Conflict, NotFound
from rewound.eventlog.ids import (
    ContainerId,
    ConversationId,
    EventId,
    IdSource,
    Kind,
    MessageId,
    Ref,
)
from rewound.eventlog.log import Draft
from rewound.llm.summarizing import Gist, NotSummarised, Summed, Uttered, gists_of, written
from rewound.memory.sources import zone_where_said
from rewound.projections.holding import (
    Holding,
    Overlay,
    Scopes,
    forgotten_in,
    masks_of,
    standing,
    summary_of,
    taken_back,
)
from rewound.projections.jobs import JobState

if TYPE_CHECKING:
    from rewound.projections.messages import MessageRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row
    from rewound.projections.summaries import SummaryTry

FREE_SHARE = 0.25
"""Of the room for recent messages is left free by what is summed up."""

CHARS_MAX = 20_000
"""Characters that are given to a model at once, one message at least."""

MESSAGES_MAX = 200
"""Messages at most: a model takes a hundred at once, and an attempt names all that it was given."""


@dataclass(frozen=True, slots=True)
class Unsummarised:
    """Messages to be summed up after the summary `before`, if there is one.

    `causes` are the events that brought them, and the one that wrote that summary.
    """

    container: ContainerId
    conversation: ConversationId
    scope: dict[str, str]
    messages: tuple[MessageId, ...]
    said: tuple[Uttered, ...]
    masks: tuple[tuple[e.Span, ...], ...]
    causes: tuple[EventId, ...]
    after: EventId | None
    before: tuple[Gist, ...]
    cites: tuple[MessageId, ...]
    attempts: int
    retry_at: int | None
    parked: bool
    why: e.Why | None
    tried_us: int | None = None
    """When the last attempt was recorded."""

    def drafts(self, summed: Summed, summarizer: str, ids: IdSource) -> list[Draft]:
        """That a summary was written, caused by what it tells of."""
        taken = self.messages[: summed.taken]
        numbered = (*self.cites, *taken)
        text, numbers = written(summed.sentences)
        bodies = BodyWriter(ids)
        event = e.SummaryWritten(
            self.conversation,
            bodies.piece(text),
            taken,
            self.after,
            tuple(span for spans in self.masks[: summed.taken] for span in spans),
            tuple(numbered[number - 1] for number in numbers),
            bodies.text(summarizer),
        )
        return [self._draft(event, bodies, summed.taken)]

    def failure(
        self, failed: NotSummarised, summarizer: str, ids: IdSource, retry_at: int | None
    ) -> list[Draft]:
        """That an attempt came to nothing; parked when there is no time for another."""
        bodies = BodyWriter(ids)
        event = e.SummaryFailed(
            self.conversation,
            self.messages,
            bodies.piece(summarizer),
            self.attempts + 1,
            failed.why,
            self.after,
            tuple(span for spans in self.masks for span in spans),
            bodies.text(str(failed) or None),
            retry_at,
            retry_at is None,
            bodies.text(failed.reply or None),
        )
        return [self._draft(event, bodies, len(self.messages))]

    def _draft(self, event: e.Event, bodies: BodyWriter, count: int) -> Draft:
        after = () if self.after is None else (self.after,)
        scope = bodies.value(self.scope)
        causes = tuple(dict.fromkeys((*after, *self.causes[:count])))
        return Draft(event, bodies.sealed, causes, scope)


class Look(NamedTuple):
    """What one look at a conversation found. After `room` more characters it has to be looked at
    again."""

    due: list[Unsummarised]
    room: int


def look(view: ContainerView, conversation: ConversationId, recent_chars: int) -> Look:
    """What is to be summed up of a conversation, of each scope by itself."""
    rows = standing(view, conversation)
    recent = recent_from(rows, recent_chars)
    if recent == 0:
        return Look([], recent_chars - sum(row.state.text.chars for row in rows))
    until = recent_from(rows, int(recent_chars * (1 - FREE_SHARE)))
    older = {row.id for row in rows[:recent]}
    going = {row.id for row in rows[:until]}
    due: list[Unsummarised] = []
    told: set[bytes] = set()
    for scope, group in Scopes(view).groups(rows).items():
        holding = Holding(view, group)
        held = holding.last(len(group))
        end = 0 if held is None else held.end
        told.update(row.id for row in group[:end])
        if not any(row.id in older for row in group[end:]):
            continue
        undone = taken_back(view, [row.id for row in group[end:] if row.id in older])
        if undone is not None:
            told |= undone  # told once, and not to be told again before there is more to tell
            continue
        left = [row for row in group[end:] if row.id in going]
        after = None if held is None else held.entry.event
        due.append(_unsummarised(view, conversation, dict(scope), after, left))
    room = recent_chars - sum(row.state.text.chars for row in rows if row.id not in told)
    return Look(due, room)


def recent_from(rows: Sequence[Row[MessageRow]], chars: int) -> int:
    """The first of the last messages whose texts fit into so many characters; the very last one is
    always among them."""
    left = chars
    for number in range(len(rows) - 1, -1, -1):
        left -= rows[number].state.text.chars
        if left < 0:
            return min(number + 1, len(rows) - 1)
    return 0


def _unsummarised(
    view: ContainerView,
    conversation: ConversationId,
    scope: dict[str, str],
    after: EventId | None,
    rows: Sequence[Row[MessageRow]],
) -> Unsummarised:
    taken = [*rows[:1]]
    left = CHARS_MAX - rows[0].state.text.chars
    for row in rows[1:MESSAGES_MAX]:
        left -= row.state.text.chars
        if left < 0:
            break
        taken.append(row)
    before: tuple[Gist, ...] = ()
    cites: tuple[MessageId, ...] = ()
    if after is not None:
        recorded = summary_of(view, after)
        assert recorded is not None and isinstance(recorded.event, e.SummaryWritten)
        text = view.text(recorded.event.text.seen_from(recorded.position)) or ""
        before, cites = tuple(gists_of(text)), recorded.event.cites
    tried = view.unsummarised(taken[0].id)
    overlay = Overlay(view)
    effectivity = view.effectivity()
    refs = [Ref(Kind.MESSAGE, row.id) for row in taken]
    causes = (
        next(
            r.envelope.event_id
            for r in view.about(ref)
            if ref in r.event.creates() and effectivity.holds(r)
        )
        for ref in refs
    )
    return Unsummarised(
        container=view.id,
        conversation=conversation,
        scope=scope,
        messages=tuple(MessageId(row.id) for row in taken),
        said=tuple(_uttered(view, row) for row in taken),
        masks=tuple(tuple(overlay.masks(row.id)) for row in taken),
        causes=tuple(causes),
        after=after,
        before=before,
        cites=cites,
        attempts=0 if tried is None else tried.attempts,
        retry_at=None if tried is None else tried.retry_at,
        parked=tried is not None and tried.state is JobState.PARKED,
        why=None if tried is None else tried.why,
        tried_us=None if tried is None else _recorded_us(view, tried),
    )


def _recorded_us(view: ContainerView, tried: SummaryTry) -> int:
    recorded = view.event(tried.at)
    assert recorded is not None, "a row's event is in the log"
    return recorded.envelope.recorded_at


def _uttered(view: ContainerView, row: Row[MessageRow]) -> Uttered:
    state = row.state
    return Uttered(
        text=view.shown(Ref(Kind.MESSAGE, row.id), state.text) or "",
        at=state.recorded_at if state.said_at is None else state.said_at.at,
        zone=zone_where_said(view, state.said_at),
        speaker=view.text(state.speaker) or state.role.name.lower(),
    )


# --- whether it is still so when it is to be asked, or recorded


def is_as_read(view: ContainerView, due: Unsummarised) -> bool:
    """Whether nothing of what is to be shown to a model was forgotten or taken back."""
    rows = [view.message(raw) for raw in due.messages]
    overlay = Overlay(view)
    if any(row is None or row.id in overlay.hidden for row in rows):
        return False
    if any(
        tuple(overlay.masks(raw)) != then for raw, then in zip(due.messages, due.masks, strict=True)
    ):
        return False
    if due.after is None:
        return True
    before = summary_of(view, due.after)
    if before is None or not view.effectivity().holds(before):
        return False
    assert isinstance(before.event, e.SummaryWritten)
    return forgotten_in(view, before.event) is None


def check_summed(view: ContainerView, event: e.SummaryWritten | e.SummaryFailed) -> None:
    """What a summary, or a failed attempt at one, was made of must still read as it did, and nobody
    may have been quicker. The messages are there and shown. Raises Conflict, NotFound."""
    rows = [row for raw in event.messages if (row := view.message(raw)) is not None]
    if not event.messages or len(rows) < len(event.messages):
        raise NotFound("there are not all the messages that were summed up: nothing was recorded")
    if masks_of(Overlay(view), event.messages) != event.masks:
        raise Conflict("a part of a message was forgotten meanwhile: nothing was recorded")
    if event.after is not None:
        before = summary_of(view, event.after)
        if before is None or not isinstance(before.event, e.SummaryWritten):
            raise NotFound("the summary before it is not there: nothing was recorded")
        if view.content(before.event.text.seen_from(before.position)) is None:
            raise Conflict("the summary before it was erased meanwhile: nothing was recorded")
    if isinstance(event, e.SummaryFailed):
        tried = view.unsummarised(event.messages[0])
        if tried is not None and tried.attempts >= event.attempt:
            raise Conflict("this has been tried meanwhile: nothing was recorded")
    elif _is_told(view, event):
        raise Conflict("these messages have been summed up meanwhile: nothing was recorded")


def _is_told(view: ContainerView, event: e.SummaryWritten) -> bool:
    """Whether a summary of just this is there."""
    found = view.summaries(event.messages[-1])
    for entry in () if found is None else found.entries:
        recorded = view.event(entry.at)
        other = None if recorded is None else recorded.event
        if (
            isinstance(other, e.SummaryWritten)
            and (other.messages, other.after, other.masks)
            == (event.messages, event.after, event.masks)
            and view.content(entry.text) is not None
        ):
            return True
    return False
