"""The views of documents and of the passages they were cut into."""

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import DocumentId, Kind, Ref
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Recorded
from rewound.projections import importance
from rewound.projections import tags as tagging
from rewound.projections import view as v
from rewound.projections.tags import Tags


class DocumentRow(msgspec.Struct, frozen=True, array_like=True):
    """`at` is the position of the event that states the content; bodies name their own place."""

    at: int
    recorded_at: int
    pieces: tuple[Body, ...]
    media: e.Media
    title: Body | None
    address: Body | None
    caller_id: Body | None
    tags: Tags
    metadata: Body | None
    said_at: Instant | None
    infer: bool
    scope: Body | None
    importance: int | None = None


class PassageRow(msgspec.Struct, frozen=True, array_like=True):
    """Characters [start, end) of one piece of a document."""

    at: int
    document: DocumentId
    body: Body
    start: int
    end: int


def fold_document(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> DocumentRow | None:
    """The content last stated, while any sending of it holds and it was not removed since."""
    stated: Recorded | None = None
    first: Recorded | None = None
    tagged: tuple[Recorded, int] | None = None  # what states the tags, and since which contributor
    supported = removed = False
    for number, recorded in enumerate(contributors):
        match recorded.event:
            case e.DocumentIngested() | e.SeenAgain():
                stated = v.restated(recorded, resolve)
                first = first or stated
                supported, removed = True, False
                tagged = tagged or (stated, 0)
            case e.DocumentReplaced(tags=tags):
                stated, removed = recorded, False
                if tags is not None:
                    tagged = (recorded, number)
            case e.DocumentRemoved():
                removed = True
    if stated is None or first is None or tagged is None or not supported or removed:
        return None
    sent, at = _sent(stated), stated.position
    tags_from, since = tagged
    return DocumentRow(
        at=at,
        recorded_at=stated.envelope.recorded_at,
        pieces=tuple(piece.seen_from(at) for piece in sent.pieces),
        media=sent.media,
        title=v.absolute(sent.title, at),
        address=v.absolute(sent.address, at),
        caller_id=v.absolute(sent.caller_id, at),
        tags=tagging.gathered(_sent(tags_from).tags, tags_from.position, contributors[since:]),
        metadata=v.absolute(sent.metadata, at),
        said_at=sent.said_at,
        infer=sent.infer,
        scope=v.absolute(stated.envelope.scope, at),
        importance=importance.gathered(_sent(first).importance, contributors),
    )


def _sent(stated: Recorded) -> e.DocumentIngested | e.DocumentReplaced:
    event = stated.event
    assert isinstance(event, e.DocumentIngested | e.DocumentReplaced)
    return event


def fold_passage(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> PassageRow | None:
    """The cut, unless the document has since been replaced without it or removed."""
    row: PassageRow | None = None
    for recorded in contributors:
        event, at = recorded.event, recorded.position
        if isinstance(event, e.PassagesCut):
            cut = _cut_of(event.passages, key[1:])
            row = PassageRow(at, event.document, cut.body.seen_from(at), cut.start, cut.end)
        else:
            row = None
    return row


def _cut_of(cuts: Sequence[e.Cut], passage: bytes) -> e.Cut:
    """One of thousands: ids rise in the order of cutting, so a bisection nearly always finds it."""
    index = bisect_left(cuts, passage, key=lambda cut: cut.passage)
    if index < len(cuts) and cuts[index].passage == passage:
        return cuts[index]
    return next(cut for cut in cuts if cut.passage == passage)


def _document(event: e.DocumentIngested | e.DocumentReplaced | e.DocumentRemoved) -> list[bytes]:
    return [Ref(Kind.DOCUMENT, event.document).key()]


def _cut(event: e.PassagesCut) -> list[bytes]:
    return [Ref(Kind.PASSAGE, cut.passage).key() for cut in event.passages]


def _dropped(event: e.DocumentReplaced) -> list[bytes]:
    return [Ref(Kind.PASSAGE, raw).key() for raw in event.dropped]


def _removed(event: e.DocumentRemoved) -> list[bytes]:
    return [Ref(Kind.PASSAGE, raw).key() for raw in event.passages]


DOCUMENTS = v.View(
    name="documents",
    version=2,
    state=DocumentRow,
    handles={
        e.DocumentIngested: _document,
        e.DocumentReplaced: _document,
        e.DocumentRemoved: _document,
        e.SeenAgain: v.item_of(Kind.DOCUMENT),
        e.TagsEdited: v.item_of(Kind.DOCUMENT),
        e.ImportanceSet: v.item_of(Kind.DOCUMENT),
    },
    ignores=v.types(e.MessageRecorded).union(
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
    births=frozenset({e.DocumentIngested}),
    fold=fold_document,
)

PASSAGES = v.View(
    name="passages",
    version=1,
    state=PassageRow,
    handles={e.PassagesCut: _cut, e.DocumentReplaced: _dropped, e.DocumentRemoved: _removed},
    ignores=v.types(e.DocumentIngested, e.MessageRecorded).union(
        v.STATED, v.ENDED, v.DERIVED, v.JUDGED, v.LINKED, v.POLICY, v.HIDDEN, v.NAMED, v.GRAPH,
        v.WRITTEN, v.KEPT, v.AGAIN, v.TAGGED,
    ),
    births=frozenset({e.PassagesCut}),
    fold=fold_passage,
)  # fmt: skip
