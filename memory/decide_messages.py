"""Adding messages: a transcript, of which only what is new is recorded.

A message is its caller's id within its conversation. Without one it is its place there: what was
sent is laid against what is there (`conversations.py`), and what overlaps is seen again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.errors import Conflict, InvalidInput
from rewound.eventlog.ids import ConversationId, EventId, FactId, Kind, MessageId, Ref
from rewound.eventlog.instants import Instant, Precision
from rewound.memory import requests as q
from rewound.memory.conversations import Conversation, Place
from rewound.memory.deciding import Deciding, Plan, decides
from rewound.memory.drafting import Drafting, check_one_fact, decide_each, item, thousandths
from rewound.memory.identity import (
    Digests,
    MessageContent,
    caller_message_digests,
    conversation_digests,
    message_content,
    returned_digest,
)
from rewound.memory.replies import Item
from rewound.memory.sent_facts import Facts, Sourced, verbatim

if TYPE_CHECKING:
    from rewound.projections.messages import MessageRow
    from rewound.projections.rows import Row


@decides(q.AddMessages)
def add_messages(command: q.AddMessages, deciding: Deciding) -> Plan:
    """Record what is new of a transcript; without `infer` each text is a fact too.

    Of several messages those that are wrong are refused. Raises InvalidInput, Stale, and Conflict
    for a caller's id under which something else was said.
    """
    drafting = Drafting(command, deciding)
    transcript = _Transcript(command, drafting)
    return drafting.plan(decide_each(drafting, command.messages, transcript.take))


@dataclass(frozen=True, slots=True)
class _Sent:
    """What was sent, as it is compared. `digest` is there when it has a time of day."""

    said_at: Instant | None
    content: MessageContent
    digest: bytes | None


@dataclass(frozen=True, slots=True)
class _Held:
    """A message that is there. `facts` and `settled` are as for a document."""

    id: MessageId
    at: int
    content: MessageContent
    infer: bool
    tags: frozenset[str]
    importance: int | None
    facts: tuple[FactId, ...]
    settled: bool

    @property
    def ref(self) -> Ref:
        return Ref(Kind.MESSAGE, self.id)


class _Transcript:
    """One list of messages on its way into a conversation."""

    def __init__(self, command: q.AddMessages, drafting: Drafting) -> None:
        self._drafting = drafting
        self._command = command
        self._facts = Facts(drafting)
        self._own: dict[bytes, _Held] = {}
        self._conversation = self._found()
        drafting.touch(self._conversation.ref)
        self._next = self._conversation.next_ordinal()
        self._sent = [self._read(new) for new in command.messages]
        self._places = self._align()

    # --- before anything is decided

    def _found(self) -> Conversation:
        """The conversation of that name in the command's scope, a new one if there is none."""
        drafting = self._drafting
        digests = conversation_digests(drafting.key, self._command.conversation, drafting.scope)
        known = drafting.known(*digests)
        if known:
            return Conversation(drafting, ConversationId(known[-1].id))
        conversation = Conversation(drafting, ConversationId(drafting.new_id()))
        drafting.file(digests[0], conversation.ref)
        return conversation

    def _read(self, new: q.NewMessage) -> _Sent | InvalidInput:
        try:
            check_one_fact(new.content, self._command.infer)
            said_at = self._drafting.time(new.time, "time")
        except InvalidInput as error:
            return error
        content = message_content(e.Role[new.role.upper()], new.name, said_at, new.content)
        timed = said_at is not None and said_at.precision > Precision.DAY
        digest = content.digest(self._drafting.key, self._conversation.id) if timed else None
        return _Sent(said_at, content, digest)

    def _align(self) -> dict[int, Place]:
        """Number of a message as sent → where it is, for those that are in their place already."""
        plain = {
            number: sent
            for number, sent in enumerate(self._sent)
            if isinstance(sent, _Sent) and self._command.messages[number].id is None
        }
        contents = [sent.content for sent in plain.values()]
        digests = [sent.digest for sent in plain.values()]
        places = self._conversation.places(contents, digests)
        return dict(zip(plain, places, strict=False))

    # --- deciding

    def take(self, number: int, new: q.NewMessage) -> Item:
        """What becomes of one message."""
        sent = self._sent[number]
        if isinstance(sent, InvalidInput):
            raise sent
        if new.id is not None:
            held, place = self._by_id(new.id)
        else:
            held, place = self._by_place(number)
        if held is None:
            return self._record(new, sent, place)
        self._drafting.touch(held.ref)
        if new.id is not None:
            _check_same(held.content, sent.content)
        return self._see_again(held, new, sent)

    def _by_place(self, number: int) -> tuple[_Held | None, Place | None]:
        place = self._places.get(number)
        return (self._load(place.row) if place and place.row else None), place

    def _by_id(self, caller_id: str) -> tuple[_Held | None, Place | None]:
        """The message last filed under that id, else where a forgotten one stood."""
        forgotten: Place | None = None
        for ref in reversed(self._drafting.known(*self._digests(caller_id))):
            row = self._drafting.view.message(ref.id)
            if ref.id in self._own:
                return self._own[ref.id], None
            if row is not None and self._drafting.view.hidden(ref) is None:
                return self._load(row), None
            if row is not None:
                forgotten = forgotten or Place(row.state.ordinal, None, forgotten=True)
        return None, forgotten

    def _digests(self, caller_id: str) -> Digests:
        return caller_message_digests(self._drafting.key, self._conversation.id, caller_id)

    def _load(self, row: Row[MessageRow]) -> _Held:
        own = self._own.get(row.id)
        if own is not None:
            return own
        view, state = self._drafting.view, row.state
        facts, settled = verbatim(view, Ref(Kind.MESSAGE, row.id))
        speaker, text = view.text(state.speaker), view.text(state.text) or ""
        return _Held(
            id=MessageId(row.id),
            at=state.at,
            content=message_content(state.role, speaker, state.said_at, text),
            infer=state.infer,
            tags=frozenset(view.tags(state.tags)),
            importance=state.importance,
            facts=tuple(facts),
            settled=settled,
        )

    def _record(self, new: q.NewMessage, sent: _Sent, place: Place | None) -> Item:
        """A new message, at the end, or in the place of one that is there no more."""
        drafting, infer = self._drafting, self._command.infer
        ordinal = self._next if place is None else place.ordinal
        self._next = max(self._next, ordinal + 1)
        if place is not None:
            returned = returned_digest(drafting.key, self._conversation.id)
            drafting.file(returned, self._conversation.ref)
            if place.forgotten:
                drafting.note("a message that had been forgotten was sent again: it is a new one")
        bodies, at = drafting.bodies(), drafting.position
        message, tags = MessageId(drafting.new_id()), tuple(dict.fromkeys(new.tags))
        event = e.MessageRecorded(
            message,
            self._conversation.id,
            ordinal,
            e.Role(sent.content.role),
            bodies.piece(new.content),
            conversation_name=bodies.text(self._command.conversation),
            speaker=bodies.text(new.name),
            caller_id=bodies.text(new.id),
            tags=bodies.value(tags),
            metadata=bodies.value(new.metadata),
            said_at=sent.said_at,
            infer=infer,
            importance=thousandths(new.importance),
        )
        event_id = drafting.add(event, bodies)
        held = _Held(message, at, sent.content, infer, frozenset(tags), event.importance, (), False)
        if new.id is not None:
            drafting.file(self._digests(new.id)[0], held.ref)
        elif sent.digest is not None:
            drafting.file(sent.digest, held.ref)
        if not infer:
            held = self._state(held, new, sent, event.text.seen_from(at), event_id)
        self._own[message] = held
        return item("written", held.ref, event_id, caller_id=new.id, facts=held.facts)

    def _see_again(self, held: _Held, new: q.NewMessage, sent: _Sent) -> Item:
        event_id = self._drafting.see_again(held.ref, held.at)
        self._drafting.edit_tags(held.ref, held.tags, new.tags)
        self._drafting.set_importance(held.ref, held.importance, new.importance)
        importance = held.importance if new.importance is None else thousandths(new.importance)
        held = replace(held, tags=held.tags | frozenset(new.tags), importance=importance)
        if self._command.infer and not held.infer:
            self._drafting.note("messages kept with infer off stay so: they yield no further facts")
        if not self._command.infer and not (held.facts or held.settled):
            recorded = self._drafting.view.message(held.id)
            if recorded is not None:
                held = self._state(held, new, sent, recorded.state.text, event_id)
        self._own[held.id] = held
        return item("seen again", held.ref, event_id, caller_id=new.id, facts=held.facts)

    def _state(
        self, held: _Held, new: q.NewMessage, sent: _Sent, text: Body, cause: EventId
    ) -> _Held:
        """The message's text taken as a fact, word for word."""
        span = e.Span(held.ref, text.place(0), 0, text.chars)
        source = Sourced(new.content, text, (span,), held.tags, new.metadata, sent.said_at)
        return replace(held, facts=(self._facts.add_from(source, cause=cause).id,))


def _check_same(held: MessageContent, sent: MessageContent) -> None:
    """Under one id the same must be said by the same; the time counts as first given."""
    if (held.role, held.speaker, held.text) != (sent.role, sent.speaker, sent.text):
        raise Conflict(
            "under this id the conversation holds a message that says something else, and "
            "messages are kept as they were sent: give what is new an id of its own",
            field="id",
        )
