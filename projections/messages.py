"""The view of messages, each of which is its own passage."""

from collections.abc import Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import ConversationId, Kind, Ref
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Recorded
from rewound.projections import importance
from rewound.projections import tags as tagging
from rewound.projections import view as v
from rewound.projections.tags import Tags


class MessageRow(msgspec.Struct, frozen=True, array_like=True):
    """`ordinal` counts from 0 within the conversation."""

    at: int
    recorded_at: int
    conversation: ConversationId
    ordinal: int
    role: e.Role
    text: Body
    conversation_name: Body | None
    speaker: Body | None
    caller_id: Body | None
    tags: Tags
    metadata: Body | None
    said_at: Instant | None
    infer: bool
    scope: Body | None
    importance: int | None = None


_ABOUT = (e.TagsEdited, e.ImportanceSet)


def fold_message(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> MessageRow | None:
    """What was first said: a message cannot change, only be sent again."""
    supports = [r for r in contributors if not isinstance(r.event, _ABOUT)]
    if not supports:
        return None
    stated = v.restated(supports[0], resolve)
    message, at = stated.event, stated.position
    assert isinstance(message, e.MessageRecorded)
    return MessageRow(
        at=at,
        recorded_at=stated.envelope.recorded_at,
        conversation=message.conversation,
        ordinal=message.ordinal,
        role=message.role,
        text=message.text.seen_from(at),
        conversation_name=v.absolute(message.conversation_name, at),
        speaker=v.absolute(message.speaker, at),
        caller_id=v.absolute(message.caller_id, at),
        tags=tagging.gathered(message.tags, at, contributors),
        metadata=v.absolute(message.metadata, at),
        said_at=message.said_at,
        infer=message.infer,
        scope=v.absolute(stated.envelope.scope, at),
        importance=importance.gathered(message.importance, contributors),
    )


def _message(event: e.MessageRecorded) -> list[bytes]:
    return [Ref(Kind.MESSAGE, event.message).key()]


MESSAGES = v.View(
    name="messages",
    version=2,
    state=MessageRow,
    handles={
        e.MessageRecorded: _message,
        e.SeenAgain: v.item_of(Kind.MESSAGE),
        e.TagsEdited: v.item_of(Kind.MESSAGE),
        e.ImportanceSet: v.item_of(Kind.MESSAGE),
    },
    ignores=v.types(e.DocumentIngested, e.DocumentReplaced, e.DocumentRemoved).union(
        v.CUT,
        v.STATED,
        v.ENDED,
        v.DERIVED,
        v.JUDGED,
        v.LINKED,
        v.POLICY,
        v.HIDDEN,
        v.NAMED,
        v.GRAPH,
        v.WRITTEN,
        v.KEPT,
    ),
    births=frozenset({e.MessageRecorded}),
    fold=fold_message,
)
