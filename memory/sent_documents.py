"""Documents of one command: kept, seen again, or replaced under their caller's id."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter, Place
from rewound.eventlog.ids import DocumentId, EventId, FactId, Kind, PassageId, Ref
from rewound.memory import requests as q
from rewound.memory.drafting import Drafting, check_one_fact, item, thousandths
from rewound.memory.ending import drawn, unsaid
from rewound.memory.identity import DocumentContent, caller_digests
from rewound.memory.pieces import inked, pieces
from rewound.memory.replies import Item, Status
from rewound.memory.sent_facts import Facts, Sourced, verbatim

if TYPE_CHECKING:
    from rewound.projections.documents import DocumentRow


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a document's text, None once erased; `body` names its own place."""

    text: str | None
    body: Body
    passages: tuple[PassageId, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """A document as it stands. `at` is the position of the event that states it.

    `facts` are those that it was taken as, word for word; `settled` when there was one that has
    been edited or forgotten. `masked` when a part of the text is forgotten or erased.
    """

    id: DocumentId
    at: int
    pieces: tuple[Piece, ...]
    media: e.Media
    infer: bool
    content: DocumentContent
    tags: frozenset[str]
    importance: int | None = None
    facts: tuple[FactId, ...] = ()
    settled: bool = False
    masked: bool = False

    @property
    def ref(self) -> Ref:
        return Ref(Kind.DOCUMENT, self.id)


@dataclass(frozen=True, slots=True)
class Sent:
    """A document as it was sent."""

    content: DocumentContent
    media: e.Media
    infer: bool
    caller_id: str | None
    tags: tuple[str, ...]
    importance: float | None


class Documents:
    """Documents as this command leaves them: the views', overlaid with its own."""

    def __init__(self, drafting: Drafting) -> None:
        self._drafting = drafting
        self._facts = Facts(drafting)
        self._own: dict[DocumentId, Held] = {}

    def take(self, new: q.NewDocument, *, infer: bool) -> Item:
        """What becomes of a document that was sent."""
        check_one_fact(new.text, infer)
        sent = Sent(
            DocumentContent(
                text=new.text,
                title=new.title,
                address=new.address,
                said_at=self._drafting.time(new.said_at, "said_at"),
                metadata=new.metadata,
                scope=self._drafting.scope,
            ),
            e.Media[new.media.upper()],
            infer,
            new.id,
            tuple(dict.fromkeys(new.tags)),
            new.importance,
        )
        key = self._drafting.key
        digests = sent.content.digests(key)
        if new.id is not None:
            filed = caller_digests(key, "document", new.id, self._drafting.scope)
            held = self._newest(*filed)
        else:
            filed = digests
            held = self._equal(*filed)
        if held is None:
            self._drafting.note_returning(*filed)
            return self._ingest(sent, filed[0])
        self._drafting.touch(held.ref)
        kept = (held.content.digests(key)[0], held.media, held.infer)
        same = kept == (digests[0], sent.media, infer)
        return self._see_again(held, sent) if same else self._replace(held, sent)

    # --- what is known

    def _newest(self, *digests: bytes) -> Held | None:
        """The document last filed under a caller's id that is still there."""
        for ref in reversed(self._drafting.known(*digests)):
            held = self._find(DocumentId(ref.id))
            if held is not None:
                return held
        return None

    def _equal(self, *digests: bytes) -> Held | None:
        """A document of that content that shows whole: what was forgotten of it is sent anew.

        Documents filed by content are never replaced by another one.
        """
        for ref in self._drafting.known(*digests):
            held = self._find(DocumentId(ref.id))
            if held is not None and not held.masked:
                return held
        return None

    def _find(self, document: DocumentId) -> Held | None:
        own = self._own.get(document)
        return own if own is not None else _load(self._drafting, document)

    # --- what becomes of it

    def _ingest(self, sent: Sent, digest: bytes) -> Item:
        bodies = self._drafting.bodies()
        document, at = DocumentId(self._drafting.new_id()), self._drafting.position
        texts = pieces(sent.content.text, sent.media)
        new = [bodies.piece(text) for text in texts]
        event = e.DocumentIngested(
            document, tuple(new), **_beside(bodies, sent), tags=bodies.value(sent.tags)
        )
        event_id = self._drafting.add(event, bodies)
        self._drafting.file(digest, Ref(Kind.DOCUMENT, document))
        uncut = [Piece(text, body.seen_from(at), ()) for text, body in zip(texts, new, strict=True)]
        cut = self._cut(document, uncut, event_id)
        held = Held(
            document,
            at,
            cut,
            sent.media,
            sent.infer,
            sent.content,
            frozenset(sent.tags),
            thousandths(sent.importance),
        )
        held = self._state(held, event_id, rewritten=True)
        return self._told("written", held, event_id, sent)

    def _see_again(self, held: Held, sent: Sent) -> Item:
        event_id = self._drafting.see_again(held.ref, held.at)
        self._drafting.edit_tags(held.ref, held.tags, sent.tags)
        self._drafting.set_importance(held.ref, held.importance, sent.importance)
        importance = _importance(held, sent)
        held = replace(held, tags=held.tags | frozenset(sent.tags), importance=importance)
        held = self._state(held, event_id, rewritten=False)
        return self._told("seen again", held, event_id, sent)

    def _replace(self, held: Held, sent: Sent) -> Item:
        """Pieces that stand unchanged keep their bodies, and with them their passages and facts."""
        bodies = self._drafting.bodies()
        at = self._drafting.position
        old: dict[str, deque[Piece]] = {}
        for piece in held.pieces:
            if piece.text is not None:
                old.setdefault(piece.text, deque()).append(piece)
        now: list[Piece] = []
        named: list[Body] = []
        for text in pieces(sent.content.text, sent.media):
            if old.get(text):
                piece = old[text].popleft()
                named.append(piece.body)
            else:
                named.append(bodies.piece(text))
                piece = Piece(text, named[-1].seen_from(at), ())
            now.append(piece)
        kept = {piece.body.place(0) for piece in now}
        event = e.DocumentReplaced(
            held.id,
            tuple(named),
            kept=tuple(raw for piece in now for raw in piece.passages),
            dropped=tuple(
                raw
                for piece in held.pieces
                if piece.body.place(0) not in kept
                for raw in piece.passages
            ),
            **_beside(bodies, sent),
            tags=bodies.value(sent.tags),
        )
        event_id = self._drafting.add(event, bodies)
        gone = {piece.body.place(0) for piece in held.pieces} - kept
        reworded = held.content.text != sent.content.text
        held = Held(
            held.id,
            at,
            self._cut(held.id, now, event_id),
            sent.media,
            sent.infer,
            sent.content,
            frozenset(sent.tags) or held.tags,
            _importance(held, sent),
            held.facts,
            held.settled and not reworded,
            held.masked,
        )
        self._end(held.ref, gone, kept, sent, event_id)
        held = self._state(held, event_id, rewritten=reworded)
        return self._told("replaced", held, event_id, sent)

    def _cut(self, document: DocumentId, now: Sequence[Piece], cause: EventId) -> tuple[Piece, ...]:
        """The pieces with passages; those that have none yet are cut, if there is text in them."""
        cuts: list[e.Cut] = []
        done: list[Piece] = []
        for piece in now:
            span = inked(piece.text or "") if not piece.passages else None
            if span is not None:
                cut = e.Cut(PassageId(self._drafting.new_id()), piece.body, *span)
                cuts.append(cut)
                piece = Piece(piece.text, piece.body, (cut.passage,))
            done.append(piece)
        if cuts:
            event = e.PassagesCut(document, tuple(cuts))
            self._drafting.add(event, self._drafting.bodies(), causes=(cause,))
        return tuple(done)

    def _end(
        self, document: Ref, gone: set[Place], kept: set[Place], sent: Sent, cause: EventId
    ) -> None:
        """End the facts that the new text no longer supports, as far as it has been read."""
        facts = unsaid(
            self._drafting.view,
            document,
            drawn(self._drafting.view, document, gone),
            kept,
            self._drafting.now_us,
        )
        if not facts:
            return
        ended = e.FactsEnded(facts, sent.content.said_at)
        self._drafting.add(ended, self._drafting.bodies(), causes=(cause,))
        what = "1 fact" if len(facts) == 1 else f"{len(facts)} facts"
        again = "; what the new text says again comes back once it is read" if sent.infer else ""
        self._drafting.note(
            f"{what} ended that came from parts which {document} no longer has{again}"
        )

    def _state(self, held: Held, cause: EventId, *, rewritten: bool) -> Held:
        """Without infer the whole text is a fact; another text takes the place of the old one."""
        if not held.infer and (rewritten or not (held.facts or held.settled)):
            source = Sourced(
                held.content.text,
                held.pieces[0].body if len(held.pieces) == 1 else None,
                tuple(_span(held.ref, piece) for piece in held.pieces),
                held.tags,
                held.content.metadata,
                held.content.said_at,
            )
            ends = self._facts.find(held.facts[0]) if held.facts else None
            fact = self._facts.add_from(source, cause=cause, ends=ends)
            held = replace(held, facts=(fact.id,))
        self._own[held.id] = held
        return held

    def _told(self, status: Status, held: Held, event_id: EventId, sent: Sent) -> Item:
        return item(status, held.ref, event_id, caller_id=sent.caller_id, facts=held.facts)


def _importance(held: Held, sent: Sent) -> int | None:
    """What was sent with it now, else what it had."""
    return held.importance if sent.importance is None else thousandths(sent.importance)


def _beside(bodies: BodyWriter, sent: Sent) -> dict[str, Any]:
    """Fields that ingesting and replacing share."""
    return {
        "media": sent.media,
        "title": bodies.text(sent.content.title),
        "address": bodies.text(sent.content.address),
        "caller_id": bodies.text(sent.caller_id),
        "metadata": bodies.value(sent.content.metadata),
        "said_at": sent.content.said_at,
        "infer": sent.infer,
        "importance": thousandths(sent.importance),
    }


def _span(source: Ref, piece: Piece) -> e.Span:
    return e.Span(source, piece.body.place(0), 0, piece.body.chars)


def _load(drafting: Drafting, document: DocumentId) -> Held | None:
    """A document that is there and not hidden."""
    view, ref = drafting.view, Ref(Kind.DOCUMENT, document)
    row = view.document(document)
    if row is None or view.hidden(ref) is not None:
        return None
    state: DocumentRow = row.state
    passages: dict[Place, list[PassageId]] = {}
    for passage in view.passages_of(document):
        passages.setdefault(passage.state.body.place(0), []).append(PassageId(passage.id))
    held = tuple(
        Piece(view.text(body), body, tuple(passages.get(body.place(0), ())))
        for body in state.pieces
    )
    facts, settled = verbatim(view, ref)
    return Held(
        document,
        state.at,
        held,
        state.media,
        state.infer,
        DocumentContent(
            text="".join(piece.text or "" for piece in held),
            title=view.text(state.title),
            address=view.text(state.address),
            said_at=state.said_at,
            metadata=view.value(state.metadata) or {},
            scope=view.value(state.scope) or {},
        ),
        frozenset(view.tags(state.tags)),
        state.importance,
        tuple(facts),
        settled,
        any(piece.text is None or view.mask(ref, piece.body.place(0)) for piece in held),
    )
