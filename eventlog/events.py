"""The vocabulary: everything that can happen, in the past tense.

An event is the smallest thing that a person may take back. It holds ids, enums, numbers, times and
body references, never text. Structs are array-like: fields may only be added at the end, with a
default; anything else is a new schema version with an upcaster (`registry.py`). `importance` is in
thousandths, 0 to 1000; None where nobody said any.

`creates()` names the items an event brings into being (or supports anew), `refers()` the items and
events it is about. Together with its causes and group they are the tags by which the log finds it;
a view row may only be touched by an event that is tagged with the row's item.
"""

from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.enums import FactKind as FactKind
from rewound.eventlog.enums import Media as Media
from rewound.eventlog.enums import Outcome as Outcome
from rewound.eventlog.enums import Role as Role
from rewound.eventlog.enums import Why as Why
from rewound.eventlog.event_base import Cut as Cut
from rewound.eventlog.event_base import Event as Event
from rewound.eventlog.event_base import Pair as Pair
from rewound.eventlog.event_base import Span as Span
from rewound.eventlog.event_base import Statement as Statement
from rewound.eventlog.event_base import events as _events
from rewound.eventlog.event_base import facts as _facts
from rewound.eventlog.event_base import sources as _sources
from rewound.eventlog.ids import (
    ContainerId,
    ConversationId,
    DocumentId,
    EntityId,
    EventId,
    FactId,
    Kind,
    MessageId,
    PassageId,
    Ref,
)
from rewound.eventlog.instants import Instant

# --- documents and messages


class DocumentIngested(Event, frozen=True):
    """A document was sent; its text is the pieces joined, verbatim."""

    document: DocumentId
    pieces: tuple[Body, ...]
    media: Media = Media.TEXT
    title: Body | None = None
    address: Body | None = None
    caller_id: Body | None = None
    tags: Body | None = None
    metadata: Body | None = None
    said_at: Instant | None = None
    infer: bool = True
    importance: int | None = None

    def creates(self) -> tuple[Ref, ...]:
        return (Ref(Kind.DOCUMENT, self.document),)


class DocumentReplaced(Event, frozen=True):
    """A document was sent again under its caller's id with another content.

    `kept` passages stand unchanged in the new text, `dropped` ones do not.
    """

    document: DocumentId
    pieces: tuple[Body, ...]
    kept: tuple[PassageId, ...] = ()
    dropped: tuple[PassageId, ...] = ()
    media: Media = Media.TEXT
    title: Body | None = None
    address: Body | None = None
    caller_id: Body | None = None
    tags: Body | None = None
    metadata: Body | None = None
    said_at: Instant | None = None
    infer: bool = True
    importance: int | None = None

    def refers(self) -> tuple[Ref, ...]:
        gone = tuple(Ref(Kind.PASSAGE, raw) for raw in self.dropped)
        return (Ref(Kind.DOCUMENT, self.document), *gone)


class DocumentRemoved(Event, frozen=True):
    """A document no longer exists where it came from; the past keeps it."""

    document: DocumentId
    passages: tuple[PassageId, ...] = ()

    def refers(self) -> tuple[Ref, ...]:
        gone = tuple(Ref(Kind.PASSAGE, raw) for raw in self.passages)
        return (Ref(Kind.DOCUMENT, self.document), *gone)


class MessageRecorded(Event, frozen=True):
    """One message of a conversation was sent. `ordinal` counts from 0 within the conversation."""

    message: MessageId
    conversation: ConversationId
    ordinal: int
    role: Role
    text: Body
    conversation_name: Body | None = None
    speaker: Body | None = None
    caller_id: Body | None = None
    tags: Body | None = None
    metadata: Body | None = None
    said_at: Instant | None = None
    infer: bool = True
    importance: int | None = None

    def creates(self) -> tuple[Ref, ...]:
        return (Ref(Kind.MESSAGE, self.message),)

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.CONVERSATION, self.conversation),)


class SeenAgain(Event, frozen=True):
    """Something already known was sent again: support for `item`, as event `at` states it.

    `sources` is where a fact was found again, when that is not where it was first drawn from.
    """

    item: Ref
    at: int
    sources: tuple[Span, ...] = ()

    def creates(self) -> tuple[Ref, ...]:
        return (self.item,)

    def refers(self) -> tuple[Ref, ...]:
        return _sources(self.sources)


class PassagesCut(Event, frozen=True):
    """A document's text was cut into passages."""

    document: DocumentId
    passages: tuple[Cut, ...]

    def creates(self) -> tuple[Ref, ...]:
        return tuple(Ref(Kind.PASSAGE, cut.passage) for cut in self.passages)

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.DOCUMENT, self.document),)


# --- facts


class FactRemembered(Event, frozen=True):
    """A fact was stated directly, or a sent text was taken as one, word for word."""

    fact: FactId
    statement: Statement
    sources: tuple[Span, ...] = ()
    caller_id: Body | None = None
    tags: Body | None = None
    metadata: Body | None = None
    said_at: Instant | None = None
    expires_at: int | None = None
    importance: int | None = None

    def creates(self) -> tuple[Ref, ...]:
        return (Ref(Kind.FACT, self.fact),)

    def refers(self) -> tuple[Ref, ...]:
        return _sources(self.sources)


class FactExtracted(Event, frozen=True):
    """A fact was derived from a document or message; `confidence` is in thousandths."""

    fact: FactId
    statement: Statement
    sources: tuple[Span, ...]
    tags: Body | None = None
    confidence: int = 1000

    def creates(self) -> tuple[Ref, ...]:
        return (Ref(Kind.FACT, self.fact),)

    def refers(self) -> tuple[Ref, ...]:
        return _sources(self.sources)


class ExtractionFinished(Event, frozen=True):
    """All facts were drawn from the bodies named; `why` says so when there are none."""

    source: Ref
    extractor: Body
    facts: tuple[FactId, ...] = ()
    covered: tuple[Place, ...] = ()
    why: Why = Why.DONE
    suspect: bool = False

    def refers(self) -> tuple[Ref, ...]:
        return (self.source, *_facts(self.facts))


class ExtractionFailed(Event, frozen=True):
    """Deriving facts failed, maybe on a model's `reply`; tried again at `retry_at` (µs)."""

    source: Ref
    extractor: Body
    attempt: int
    why: Why
    detail: Body | None = None
    retry_at: int | None = None
    parked: bool = False
    reply: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return (self.source,)


class FactEdited(Event, frozen=True):
    """A person gave a fact a new wording or value: a new version.

    `ends` is the whole chain before it, the edited version first. `corrects`: the old one was
    wrong all along, rather than true until now.
    """

    fact: FactId
    ends: tuple[FactId, ...]
    statement: Statement
    corrects: bool = False
    caller_id: Body | None = None
    tags: Body | None = None
    metadata: Body | None = None
    said_at: Instant | None = None
    expires_at: int | None = None
    importance: int | None = None

    def creates(self) -> tuple[Ref, ...]:
        return (Ref(Kind.FACT, self.fact),)

    def refers(self) -> tuple[Ref, ...]:
        return _facts(self.ends)


class FactsJudged(Event, frozen=True):
    """A new fact was compared with existing ones, under the policy fitted by event `policy`.

    `evidence` is a list of named numbers for each pair; `judge` names the method.
    """

    fact: FactId
    pairs: tuple[Pair, ...]
    policy: EventId | None = None
    judge: Body | None = None
    evidence: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return _facts((self.fact, *(pair.old for pair in self.pairs)))


class FactSuperseded(Event, frozen=True):
    """Facts ended because another took their place.

    `ends` names the whole chain that ended, the direct predecessor first, so that undoing its
    middle never leaves two current. With `repeats` the one in `ends` says the same as `by`: it is
    support for that and no version of it.
    """

    by: FactId
    ends: tuple[FactId, ...]
    at: Instant | None = None
    corrects: bool = False
    repeats: bool = False

    def refers(self) -> tuple[Ref, ...]:
        return _facts((self.by, *self.ends))


class FactReinstated(Event, frozen=True):
    """Facts that the event `superseding` had ended in favour of `by` are no longer ended by it."""

    facts: tuple[FactId, ...]
    superseding: EventId
    by: FactId

    def refers(self) -> tuple[Ref, ...]:
        return (*_facts((self.by, *self.facts)), *_events((self.superseding,)))


class FactsEnded(Event, frozen=True):
    """Facts ended because what they were drawn from no longer says so.

    Nothing took their place. Whatever states one of them later makes it current again.
    """

    facts: tuple[FactId, ...]
    at: Instant | None = None

    def refers(self) -> tuple[Ref, ...]:
        return _facts(self.facts)


class FactsLinked(Event, frozen=True):
    """One fact adds to another (extends), or does so no more (distinct)."""

    source: FactId
    target: FactId
    outcome: Outcome = Outcome.EXTENDS

    def refers(self) -> tuple[Ref, ...]:
        return _facts((self.source, self.target))


class PolicyFitted(Event, frozen=True):
    """The container's judging policy was fitted; its parameters and figures are a body."""

    container: ContainerId
    parameters: Body
    labels: tuple[EventId, ...] = ()

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.CONTAINER, self.container), *_events(self.labels))


class LabelGiven(Event, frozen=True):
    """A person confirmed or rejected the outcome of one judged pair."""

    judged: EventId
    fact: FactId
    old: FactId
    outcome: Outcome

    def refers(self) -> tuple[Ref, ...]:
        return (*_events((self.judged,)), *_facts((self.fact, self.old)))


# --- taking back


class Forgotten(Event, frozen=True):
    """An item was hidden, with all in `hides`; the spans in `masks` are blacked out.

    `hides` holds the item itself, for a fact its whole chain, for a document or message the facts
    that have no other support.
    """

    item: Ref
    hides: tuple[Ref, ...]
    masks: tuple[Span, ...] = ()
    query: Body | None = None
    reason: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return tuple(dict.fromkeys((self.item, *self.hides, *_sources(self.masks))))


class Restored(Event, frozen=True):
    """Items that the forgettings in `lifts` had hidden show again, with the spans in `masks`."""

    item: Ref
    shows: tuple[Ref, ...]
    lifts: tuple[EventId, ...]
    masks: tuple[Span, ...] = ()

    def refers(self) -> tuple[Ref, ...]:
        refs = (self.item, *self.shows, *_sources(self.masks), *_events(self.lifts))
        return tuple(dict.fromkeys(refs))


class Undone(Event, frozen=True):
    """Events were taken back, with all that they caused. `target` is what was asked for."""

    target: Ref
    events: tuple[EventId, ...]

    def refers(self) -> tuple[Ref, ...]:
        return tuple(dict.fromkeys((self.target, *_events(self.events))))


class ContentErased(Event, frozen=True):
    """Bodies were destroyed for good, and everything derived from them. Cannot be undone."""

    items: tuple[Ref, ...]
    places: tuple[Place, ...]

    def refers(self) -> tuple[Ref, ...]:
        return self.items


# --- graph, tags, profile, summary


class RelationAsserted(Event, frozen=True):
    """A relation between two entities was stated."""

    source: EntityId
    relation: Body
    target: EntityId
    valid_from: Instant | None = None
    valid_to: Instant | None = None

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.ENTITY, self.source), Ref(Kind.ENTITY, self.target))


class EntityMerged(Event, frozen=True):
    """Two entities turned out to be one."""

    kept: EntityId
    merged: EntityId

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.ENTITY, self.kept), Ref(Kind.ENTITY, self.merged))


class EntitySplit(Event, frozen=True):
    """One entity turned out to be two; `facts` go to the new one."""

    entity: EntityId
    created: EntityId
    facts: tuple[FactId, ...] = ()

    def creates(self) -> tuple[Ref, ...]:
        return (Ref(Kind.ENTITY, self.created),)

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.ENTITY, self.entity), *_facts(self.facts))


class EntityRenamed(Event, frozen=True):
    """An entity got another name."""

    entity: EntityId
    name: Body

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.ENTITY, self.entity),)


class TagsEdited(Event, frozen=True):
    """Tags were added to an item or taken off it."""

    item: Ref
    added: Body | None = None
    removed: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return (self.item,)


class ImportanceSet(Event, frozen=True):
    """A person said how important a fact, document or message is."""

    item: Ref
    importance: int

    def refers(self) -> tuple[Ref, ...]:
        return (self.item,)


class ProfileWritten(Event, frozen=True):
    """A profile text was written from facts."""

    text: Body
    facts: tuple[FactId, ...] = ()

    def refers(self) -> tuple[Ref, ...]:
        return _facts(self.facts)


class SummaryWritten(Event, frozen=True):
    """Messages of a conversation were summed up, after the summary written by event `after`.

    It tells of all that one tells, and of `messages`, in the order of the conversation, as they
    read with the spans in `masks` blacked out. `[n]` in its text is the n-th of `cites`.
    """

    conversation: ConversationId
    text: Body
    messages: tuple[MessageId, ...] = ()
    after: EventId | None = None
    masks: tuple[Span, ...] = ()
    cites: tuple[MessageId, ...] = ()
    summarizer: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return _told(self)


class SummaryFailed(Event, frozen=True):
    """Summing up failed, maybe on a model's `reply`; tried again at `retry_at` (µs)."""

    conversation: ConversationId
    messages: tuple[MessageId, ...]
    summarizer: Body
    attempt: int
    why: Why
    after: EventId | None = None
    masks: tuple[Span, ...] = ()
    detail: Body | None = None
    retry_at: int | None = None
    parked: bool = False
    reply: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return _told(self)


def _told(event: SummaryWritten | SummaryFailed) -> tuple[Ref, ...]:
    messages = (Ref(Kind.MESSAGE, raw) for raw in event.messages)
    after = () if event.after is None else _events((event.after,))
    return (Ref(Kind.CONVERSATION, event.conversation), *messages, *after)


# --- containers, imports, seals


class ContainerConfigured(Event, frozen=True):
    """A container was made, or its settings were changed; fields left out stay as they were."""

    container: ContainerId
    name: Body | None = None
    zone: Body | None = None

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.CONTAINER, self.container),)


class ContainerMoved(Event, frozen=True):
    """A container got another name."""

    container: ContainerId
    name: Body

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.CONTAINER, self.container),)


class ContainerRemoved(Event, frozen=True):
    """A container was closed: nothing in it is shown any more."""

    container: ContainerId

    def refers(self) -> tuple[Ref, ...]:
        return (Ref(Kind.CONTAINER, self.container),)


class ImportBegun(Event, frozen=True):
    """An import from a file or another system began."""

    source: Body | None = None


class ImportFinished(Event, frozen=True):
    """An import ended: how many items were written, already known, and refused."""

    begun: EventId
    written: int
    known: int
    refused: int

    def refers(self) -> tuple[Ref, ...]:
        return _events((self.begun,))


class HeadsSealed(Event, frozen=True):
    """The chain heads of all containers were hashed together (in the store's own container)."""

    digest: bytes
    containers: int
