"""Showing rows: an item as it stands at a moment, with its texts, its standing and its sources.

Everything is as of the position read, but for what is hidden: that is today's. Texts are seen
through their masks, and nothing of a forgotten source is told but its id, unless forgotten things
are asked for. What is erased has no text at all.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.ids import Kind, Ref, show
from rewound.eventlog.instants import MAX_US, Instant, show_instant, show_us
from rewound.memory.moments import LAST_US, When
from rewound.memory.replies import Source, Standing, View
from rewound.memory.rhythm import AT_ONCE, Rhythm
from rewound.memory.waiting import waiting
from rewound.projections.documents import DocumentRow, PassageRow
from rewound.projections.facts import FactRow
from rewound.projections.importance import WHOLE
from rewound.projections.jobs import JobRow, JobState
from rewound.projections.messages import MessageRow
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row

WHAT = {
    Kind.FACT: "fact",
    Kind.PASSAGE: "passage",
    Kind.MESSAGE: "message",
    Kind.DOCUMENT: "document",
}
"""Kinds of items as replies name them."""

CURRENT = Standing(state="current")


class Shower:
    """Makes views of one container's items at one moment. Keeps what several of them share.

    `forgotten` is the read's `include_forgotten`. What waits for a quiet moment is told of the
    present only, and where the rhythm of reading is given.
    """

    def __init__(
        self,
        view: ContainerView,
        when: When,
        *,
        forgotten: bool = False,
        rhythm: Rhythm = AT_ONCE,
    ) -> None:
        self.view = view
        self.when = when
        self.forgotten = forgotten
        self._rhythm = rhythm if when.moment.as_of is None else AT_ONCE
        self._waiting: dict[Ref, int] | None = None
        self._documents: dict[bytes, _Document | None] = {}
        self._events: dict[int, str] = {}

    # --- whole items

    def item(self, ref: Ref, row: Row[Any], *, chars_max: int | None = None) -> View:
        """An item; a document's text may be cut to its first `chars_max` characters."""
        match row.state:
            case FactRow() as fact:
                shown = self._fact(ref, row, fact)
            case PassageRow() as passage:
                shown = self._passage(ref, passage)
            case MessageRow() as message:
                shown = self._message(ref, message)
            case DocumentRow() as document:
                shown = self._document(ref, document, chars_max)
            case _:
                raise AssertionError(f"{ref} is not an item")
        return msgspec.structs.replace(shown, event=self.event_at(row.state.at))

    def _fact(self, ref: Ref, row: Row[FactRow], fact: FactRow) -> View:
        root, current = self.ends_of_chain(row)
        expires = fact.expires_at
        return View(
            id=str(ref),
            kind="fact",
            text=self.text(ref, fact),
            fact_kind=fact.kind.name.lower(),
            standing=self.standing(ref, fact),
            root=root,
            current=current,
            supersedes=tuple(show(Kind.FACT, raw) for raw in fact.supersedes),
            repeated_by=tuple(show(Kind.FACT, raw) for raw in fact.repeated_by),
            extends=self._shown_ids(fact.extends),
            valid_from=_bound(fact.valid_from, fact.stated_from),
            valid_to=_bound(fact.valid_to, fact.stated_to),
            expires_at=None if expires is None else _time(expires),
            said_at=_said(fact.said_at),
            recorded_at=show_us(fact.recorded_at),
            subject=self.view.text(fact.subject),
            attribute=self.view.text(fact.attribute),
            value=self.view.text(fact.value),
            sources=self.sources(ref, fact),
            **self._common(fact),
        )

    def _shown_ids(self, facts: Iterable[bytes]) -> tuple[str, ...]:
        """Ids of other facts, without those that are not to be shown."""
        shown = (Ref(Kind.FACT, raw) for raw in facts)
        return tuple(str(ref) for ref in shown if not self.hides(ref))

    def _passage(self, ref: Ref, passage: PassageRow) -> View:
        home = self._home(passage.document)
        shown = View(
            id=str(ref),
            kind="passage",
            text=self.text(ref, passage),
            standing=self._forgotten_only(ref, Ref(Kind.DOCUMENT, passage.document)),
            sources=self.sources(ref, passage),
        )
        if home is None:
            return shown
        common = self._common(home.row)
        del common["caller_id"]  # the document's, and told as its source's
        said, recorded = _said(home.row.said_at), show_us(home.row.recorded_at)
        return msgspec.structs.replace(shown, said_at=said, recorded_at=recorded, **common)

    def _message(self, ref: Ref, message: MessageRow) -> View:
        status, note = self._status(ref)
        return View(
            id=str(ref),
            kind="message",
            text=self.text(ref, message),
            standing=self._forgotten_only(ref),
            said_at=_said(message.said_at),
            recorded_at=show_us(message.recorded_at),
            conversation=self._conversation(message),
            role=message.role.name.lower(),
            speaker=self.view.text(message.speaker),
            status=status,
            status_note=note,
            **self._common(message),
        )

    def _document(self, ref: Ref, document: DocumentRow, chars_max: int | None) -> View:
        status, note = self._status(ref)
        return View(
            id=str(ref),
            kind="document",
            text=self.beginning(ref, document, chars_max),
            standing=self._forgotten_only(ref),
            said_at=_said(document.said_at),
            recorded_at=show_us(document.recorded_at),
            title=self.view.text(document.title),
            address=self.view.text(document.address),
            media=document.media.name.lower(),
            status=status,
            status_note=note,
            **self._common(document),
        )

    def validity(self, state: Any) -> tuple[str | None, str | None]:
        """When a fact holds, as replies say it; of other items nothing is said."""
        if not isinstance(state, FactRow):
            return None, None
        begins, ends = state.stated_from, state.stated_to
        return _bound(state.valid_from, begins), _bound(state.valid_to, ends)

    def labels(self, state: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Tags and metadata; a passage has those of its document."""
        if isinstance(state, PassageRow):
            home = self._home(state.document)
            if home is None:
                return (), {}
            state = home.row
        return self.view.tags(state.tags), self.view.value(state.metadata) or {}

    def importance(self, state: Any) -> float | None:
        """0 to 1: an item's own, else that of the document or message that it is from."""
        found = None if isinstance(state, PassageRow) else state.importance
        home: Ref | None = None
        if isinstance(state, PassageRow):
            home = Ref(Kind.DOCUMENT, state.document)
        elif isinstance(state, FactRow) and state.sources:
            home = state.sources[0].source
        if found is None and home is not None and not self.hides(home):
            row = self.view.row(home, self.when.at)
            found = None if row is None else row.state.importance
        return None if found is None else found / WHOLE

    def _common(self, state: FactRow | MessageRow | DocumentRow) -> dict[str, Any]:
        return {
            "caller_id": self.view.text(state.caller_id),
            "tags": self.view.tags(state.tags),
            "metadata": self.view.value(state.metadata) or {},
            "importance": self.importance(state),
            "scope": self.view.value(state.scope) or {},
        }

    def _status(self, ref: Ref) -> tuple[str, str | None]:
        job = self.view.job(ref, self.when.at)
        if job is None:
            return "ready", None
        if job.state is JobState.PENDING and (due_us := self._due_us(ref)) is not None:
            until = f"read at {_time(due_us)} if nothing more is said"
            return "waiting", f"waits for a quiet moment in its conversation; {until}"
        return job.state.name.lower(), job_note(job)

    def _due_us(self, ref: Ref) -> int | None:
        """When a message is read that waits for a quiet moment."""
        if self._waiting is None:
            self._waiting = waiting(self.view, self._rhythm, self.when.now_us)
        return self._waiting.get(ref)

    # --- texts

    def text(self, ref: Ref, state: Any) -> str:
        """What the item says, masked; empty once it is erased."""
        match state:
            case FactRow():
                return self._statement(state) or ""
            case PassageRow():
                whole = self.piece(Ref(Kind.DOCUMENT, state.document), state.body)
                return whole[state.start : state.end]
            case MessageRow():
                return self.piece(ref, state.text)
            case DocumentRow():
                return self.beginning(ref, state, None)
        raise AssertionError(f"{ref} is not an item")

    def piece(self, source: Ref, body: Body) -> str:
        """One body of a document or message, masked; empty once it is erased."""
        return self.view.shown(source, body, unmasked=self.forgotten) or ""

    def beginning(self, ref: Ref, document: DocumentRow, chars_max: int | None) -> str:
        """A document's text, masked, to its end or up to a number of characters."""
        parts: list[str] = []
        left = chars_max
        for body in document.pieces:
            if left is not None and left <= 0:
                break
            parts.append(self.piece(ref, body)[:left])
            left = None if left is None else left - len(parts[-1])
        return "".join(parts)

    def _statement(self, fact: FactRow) -> str | None:
        """A fact's wording; one that is a source's own body is masked as that is."""
        place = fact.text.place(0)
        for span in fact.sources:
            if span.place == place:
                return self.view.shown(span.source, fact.text, unmasked=self.forgotten)
        return self.view.text(fact.text)

    # --- standing

    def hides(self, *refs: Ref) -> bool:
        """Whether any of these is not to be shown in this read."""
        hidden = (self.view.hidden(ref) for ref in refs)
        return any(row is not None and (row.erased or not self.forgotten) for row in hidden)

    def standing(self, ref: Ref, state: Any) -> Standing:
        """How an item stands at the read's now; only facts can do otherwise than hold."""
        if not isinstance(state, FactRow):
            holder = (Ref(Kind.DOCUMENT, state.document),) if isinstance(state, PassageRow) else ()
            return self._forgotten_only(ref, *holder) or CURRENT
        hidden = self._forgotten_only(ref)
        if hidden is not None:
            return hidden
        now, ended = self.when.now_us, state.ended
        if ended is not None and ended.repeats:
            return Standing(state="repeated", by=show(Kind.FACT, ended.by))
        takes_over: dict[str, str] = {}
        if ended is not None:
            takes_over = {"by": show(Kind.FACT, ended.by), "at": _time(ended.at)}
            # superseded from a day that has not come, a fact still holds until then
            if ended.corrects or not state.valid_from <= now < state.valid_to:
                word = "corrected" if ended.corrects else "superseded"
                return Standing(state=word, **takes_over)
        unsaid, over = state.unsaid, state.stated_to
        if unsaid is not None and (over is None or unsaid.at < over.at):
            # ended before it begins, it will never hold
            if unsaid.at <= now or state.valid_to <= state.valid_from:
                by = show(Kind.EVENT, unsaid.event)
                return Standing(state="ended", by=by, at=_time(unsaid.at))
        if state.valid_to <= now:
            return Standing(state="ended", at=_time(state.valid_to))
        if state.expires_at is not None and state.expires_at <= now:
            return Standing(state="expired", at=_time(state.expires_at))
        if state.valid_from > now:
            return Standing(state="upcoming", at=_time(state.valid_from))
        return Standing(state="current", **takes_over) if takes_over else CURRENT

    def outdated(self, ref: Ref, state: Any) -> Standing | None:
        """For a message or passage of which every fact that was drawn has been superseded: how the
        last of these stands. What was said is history then, as far as it was understood."""
        if not isinstance(state, MessageRow | PassageRow):
            return None
        source, span = ref, None
        if isinstance(state, PassageRow):
            source = Ref(Kind.DOCUMENT, state.document)
            span = e.Span(source, state.body.place(0), state.start, state.end)
        last: Standing | None = None
        for raw in self.view.facts_from(source):
            row = self.view.fact(raw, self.when.at)
            if row is None or (span is not None and not _touches(row.state, span)):
                continue
            standing = self.standing(Ref(Kind.FACT, raw), row.state)
            if standing.state not in ("superseded", "corrected"):
                return None
            last = standing
        return last if last is None or not self.hides(ref) else None

    def _forgotten_only(self, *refs: Ref) -> Standing | None:
        """Said of what is hidden; `by` is the event to undo."""
        for ref in refs:
            row = self.view.hidden(ref)
            if row is not None:
                by = show(Kind.EVENT, row.by[-1]) if row.by else None
                return Standing(state="forgotten", by=by)
        return None

    def ends_of_chain(self, row: Row[FactRow]) -> tuple[str, str | None]:
        """The chain's root and, unless it has ended altogether, its current version."""
        if not row.state.supersedes and row.state.ended is None:
            alone = show(Kind.FACT, row.id)
            return alone, alone
        chain = self.view.chain(row.id, self.when.at)
        current = [show(Kind.FACT, each.id) for each in chain if each.state.ended is None]
        return show(Kind.FACT, chain[0].id), current[-1] if current else None

    # --- sources

    def sources(self, ref: Ref, state: Any) -> tuple[Source, ...]:
        """Where an item's text came from; a message comes from itself."""
        match state:
            case FactRow():
                return tuple(self.source(span) for span in state.sources)
            case PassageRow():
                home = Ref(Kind.DOCUMENT, state.document)
                return (self._from_document(home, state.body.place(0), state.start, state.end),)
            case MessageRow():
                return (self._from_message(ref, state, None, None),)
            case DocumentRow():
                return (self._from_document(ref, None, None, None),)
        raise AssertionError(f"{ref} is not an item")

    def source(self, span: e.Span) -> Source:
        """One span's document or message as of the moment, and where in it the span lies."""
        if span.source.kind is Kind.DOCUMENT:
            return self._from_document(span.source, span.place, span.start, span.end)
        row = self._last(span.source)
        if row is None:
            return Source(id=str(span.source), kind="message")
        return self._from_message(span.source, row.state, span.start, span.end)

    def _from_message(
        self, ref: Ref, message: MessageRow, start: int | None, end: int | None
    ) -> Source:
        if self.hides(ref):
            return Source(id=str(ref), kind="message")
        return Source(
            id=str(ref),
            kind="message",
            caller_id=self.view.text(message.caller_id),
            conversation=self._conversation(message),
            role=message.role.name.lower(),
            speaker=self.view.text(message.speaker),
            time=_said(message.said_at) or show_us(message.recorded_at),
            start=start,
            end=end,
        )

    def _from_document(
        self, ref: Ref, place: Place | None, start: int | None, end: int | None
    ) -> Source:
        """A span in a piece that no longer stands in the document has no numbers."""
        home = self._home(ref.id)
        if home is None or self.hides(ref):
            return Source(id=str(ref), kind="document")
        offset = None if place is None else home.offsets.get(place)
        if offset is None or start is None or end is None:
            start = end = None
        else:
            start, end = offset + start, offset + end
        return Source(
            id=str(ref),
            kind="document",
            caller_id=home.caller_id,
            title=home.title,
            address=home.address,
            time=_said(home.row.said_at) or show_us(home.row.recorded_at),
            start=start,
            end=end,
        )

    def _home(self, document: bytes) -> "_Document | None":
        if document not in self._documents:
            row = self._last(Ref(Kind.DOCUMENT, document))
            self._documents[document] = None if row is None else _Document(self.view, row.state)
        return self._documents[document]

    def _last(self, ref: Ref) -> Row[Any] | None:
        """The item as of the moment or, where it is gone by then, as it was last before."""
        at = self.when.at
        row = self.view.row(ref, at)
        if row is not None:
            return row
        past = [version for version in self.view.versions(ref) if version.opened <= at]
        return past[-1] if past else None

    def _conversation(self, message: MessageRow) -> str:
        """Its name, or else its id."""
        name = self.view.text(message.conversation_name)
        return name or show(Kind.CONVERSATION, message.conversation)

    def event_at(self, position: int) -> str:
        """The printed id of the event at a position."""
        shown = self._events.get(position)
        if shown is None:
            recorded = self.view.event(position)
            assert recorded is not None, f"a row names position {position}, which has no event"
            shown = self._events[position] = show(Kind.EVENT, recorded.envelope.event_id)
        return shown


class _Document:
    """What the sources in one document share."""

    def __init__(self, view: ContainerView, row: DocumentRow) -> None:
        self.row = row
        self.caller_id = view.text(row.caller_id)
        self.title = view.text(row.title)
        self.address = view.text(row.address)
        self.offsets: dict[Place, int] = {}
        offset = 0
        for piece in row.pieces:
            self.offsets.setdefault(piece.place(0), offset)
            offset += piece.chars


def _touches(fact: FactRow, span: e.Span) -> bool:
    """Whether a fact was drawn from within a span."""
    return any(
        own.place == span.place and own.start < span.end and span.start < own.end
        for own in fact.sources
    )


def job_note(job: JobRow) -> str | None:
    """Why facts are not derived yet, when something stood in the way."""
    if job.state is JobState.PENDING or job.why is None:
        return None
    why = job.why.name.lower().replace("_", " ")
    if job.state is JobState.PARKED:
        return f"{why}; given up after attempt {job.attempts}"
    again = "" if job.retry_at is None else f", next try at {_time(job.retry_at)}"
    return f"{why} at attempt {job.attempts}{again}"


def _time(at_us: int) -> str:
    return show_us(min(at_us, LAST_US))


def _bound(at_us: int, stated: Instant | None) -> str | None:
    """A bound of validity, as exact as it was said when it is the one that was said."""
    if stated is not None and stated.at == at_us:
        return show_instant(stated)
    return None if at_us == MAX_US else _time(at_us)


def _said(instant: Instant | None) -> str | None:
    return None if instant is None else show_instant(instant)
