"""Reading the views: one snapshot, and a handle on one container of it.

A handle is bound to its container: nothing reachable from it can name another one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import lmdb

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, Place, read_text, read_value
from rewound.eventlog.ids import STORE, ContainerId, ConversationId, EventId, FactId, Kind, Ref
from rewound.eventlog.log import Reader, Recorded
from rewound.projections import tags as tagging
from rewound.projections.columns import Columns
from rewound.projections.containers import ContainerRow
from rewound.projections.documents import DocumentRow, PassageRow
from rewound.projections.effective import Effectivity
from rewound.projections.entries import blacked
from rewound.projections.facts import FactRow
from rewound.projections.fold import undoings
from rewound.projections.hidden import HiddenRow, MaskRow, place_key
from rewound.projections.index import Index
from rewound.projections.jobs import JobBrief, JobRow
from rewound.projections.labels import LabelCache
from rewound.projections.messages import MessageRow
from rewound.projections.postings import Frequencies, Ordinals
from rewound.projections.ranker import Ranker, loaded
from rewound.projections.rows import Row, Table
from rewound.projections.summaries import SummariesRow, SummaryTry
from rewound.projections.tags import Tags
from rewound.projections.verdicts import PolicyRow, ReviewRow, VerdictRow

ItemRow = FactRow | PassageRow | MessageRow | DocumentRow
VIEW_OF = {
    Kind.FACT: "facts",
    Kind.PASSAGE: "passages",
    Kind.MESSAGE: "messages",
    Kind.DOCUMENT: "documents",
}


class Snapshot:
    """The views and the log at one moment, opened by `Views.reading` or `Views.writing`."""

    def __init__(
        self,
        txn: lmdb.Transaction,
        tables: Mapping[str, Table[Any]],
        undos: Any,
        index: Index,
        log: Reader,
        sequence: int,
        positions: Any,
        columns: Callable[[ContainerId], Columns],
        labels: LabelCache,
        ranker: Ranker | None = None,
    ) -> None:
        self.txn = txn
        self.log = log
        self.tables = tables
        self.index = index
        self.columns = columns
        self.labels = labels
        self.ranker = ranker
        self._undos = undos
        self._sequence = sequence
        self._positions = positions

    def sequence(self) -> int:
        """The log's store-wide sequence folded so far."""
        return self._sequence

    def position(self, container: ContainerId) -> int:
        """The container's last position folded: the present of every read."""
        value = self.txn.get(container, db=self._positions)
        return 0 if value is None else int.from_bytes(value, "big")

    def positions(self) -> dict[ContainerId, int]:
        """The last position folded of every container that has one."""
        with self.txn.cursor(self._positions) as cursor:
            return {ContainerId(bytes(key)): int.from_bytes(value, "big") for key, value in cursor}

    def containers(self) -> int:
        """How many containers there are; told without reading them."""
        count: int = self.txn.stat(self._positions)["entries"]
        return count - (self.txn.get(STORE, db=self._positions) is not None)

    def containers_after(self, after: bytes = b"") -> Iterator[ContainerId]:
        """Containers with an id greater than `after`, by id, which is by age."""
        with self.txn.cursor(self._positions) as cursor:
            going = cursor.set_range(after + b"\0")
            while going:
                key = ContainerId(bytes(cursor.key()))
                if key != STORE:
                    yield key
                going = cursor.next()

    def waiting(self, view: str) -> Iterator[ContainerId]:
        """Containers in which something waits, of a view that `waits`."""
        return map(ContainerId, self.tables[view].containers_waiting(self.txn))

    def waiting_count(self, view: str) -> int:
        """How many rows of such a view are present in all containers; told without reading them."""
        return self.tables[view].waiting_count(self.txn)

    def container(self, container: ContainerId) -> "ContainerView":
        return ContainerView(self, container, self._undos)


class ContainerView:
    """All reads of one container. `at` is a position; None reads the present."""

    def __init__(self, snapshot: Snapshot, container: ContainerId, undos: Any) -> None:
        self._snapshot = snapshot
        self._txn = snapshot.txn
        self._undos = undos
        self.id = container
        self.log = snapshot.log
        self.index = snapshot.index

    @property
    def txn(self) -> lmdb.Transaction:
        """The transaction that all reads of this handle belong to."""
        return self._txn

    @property
    def position(self) -> int:
        """The last position folded; the log may already hold more."""
        return self._snapshot.position(self.id)

    def columns(self) -> Columns:
        """The numbers of all index entries of the container, by ordinal."""
        self.index.flush()
        return self._snapshot.columns(self.id)

    def postings(self, field: int, term: str) -> tuple[Ordinals, Frequencies]:
        """Ordinals of the entries that hold a term, and how often each does."""
        self.index.flush()
        return self.index.postings.read(self._txn, self.id, field, term)

    def holding(self, field: int, terms: Iterable[str]) -> Ordinals:
        """Ordinals of the entries that hold any of the terms, once for each."""
        self.index.flush()
        return self.index.postings.holding(self._txn, self.id, field, terms)

    def each(self, field: int, terms: Sequence[str]) -> tuple[Ordinals, list[int]]:
        """Ordinals of the entries that hold each of the terms, one term after the other, and how
        many hold each."""
        self.index.flush()
        return self.index.postings.each(self._txn, self.id, field, terms)

    def between(self, field: int, low: str, high: str) -> Ordinals:
        """Ordinals of the entries that hold a term low <= term < high, once for each such term."""
        self.index.flush()
        return self.index.postings.between(self._txn, self.id, field, low, high)

    @property
    def ranker(self) -> Ranker:
        """What orders the hits of a search: the one that is set, else the one that is shipped."""
        return self._snapshot.ranker or loaded("")

    @property
    def label_cache(self) -> LabelCache:
        """What was read of labels, by ordinal."""
        return self._snapshot.labels

    @property
    def writes(self) -> bool:
        """Whether this is read within an open write, which may yet be aborted."""
        return self.index.writes

    def _table(self, name: str) -> Table[Any]:
        return self._snapshot.tables[name]

    # --- rows

    def row(self, ref: Ref, at: int | None = None) -> Row[Any] | None:
        """The version of a fact, passage, message or document visible at that position."""
        view = VIEW_OF.get(ref.kind)
        return None if view is None else self._table(view).at(self._txn, self.id, ref.key(), at)

    def versions(self, ref: Ref) -> list[Row[Any]]:
        """Every version of the row there ever was, oldest first."""
        view = VIEW_OF.get(ref.kind)
        return [] if view is None else self._table(view).versions(self._txn, self.id, ref.key())

    def fact(self, fact: bytes, at: int | None = None) -> Row[FactRow] | None:
        return self.row(Ref(Kind.FACT, fact), at)

    def document(self, document: bytes, at: int | None = None) -> Row[DocumentRow] | None:
        return self.row(Ref(Kind.DOCUMENT, document), at)

    def message(self, message: bytes, at: int | None = None) -> Row[MessageRow] | None:
        return self.row(Ref(Kind.MESSAGE, message), at)

    def messages(
        self, messages: Iterable[bytes], at: int | None = None
    ) -> Iterator[Row[MessageRow]]:
        """Those of many messages that are there, in their order."""
        kind = bytes((Kind.MESSAGE,))
        keys = (kind + raw for raw in messages)
        return self._table("messages").several(self._txn, self.id, keys, at)

    def passage(self, passage: bytes, at: int | None = None) -> Row[PassageRow] | None:
        return self.row(Ref(Kind.PASSAGE, passage), at)

    def scan(self, kind: Kind, at: int | None = None, after: bytes = b"") -> Iterator[Row[Any]]:
        """Rows of one kind by id; `after` is an id (16 bytes)."""
        start = bytes((kind,)) + after if after else b""
        return self._table(VIEW_OF[kind]).scan(self._txn, self.id, at, start)

    def configured(self, at: int | None = None) -> ContainerRow | None:
        key = Ref(Kind.CONTAINER, self.id).key()
        row = self._table("containers").at(self._txn, self.id, key, at)
        return None if row is None else row.state

    def job(self, source: Ref, at: int | None = None) -> JobRow | None:
        row = self._table("jobs").at(self._txn, self.id, source.key(), at)
        return None if row is None else row.state

    def all_jobs(self, at: int | None = None) -> Iterator[tuple[Ref, JobRow]]:
        for row in self._waiting("jobs", at):
            yield Ref(Kind(row.key[0]), row.id), row.state

    def jobs(self, at: int | None = None) -> Iterator[tuple[Ref, JobRow]]:
        """Unfinished work of sources that are not hidden."""
        every = list(self.all_jobs(at))
        hidden = self.hidden_among(ref.key() for ref, _ in every)
        return ((ref, row) for ref, row in every if ref.key() not in hidden)

    def job_briefs(self) -> Iterator[tuple[bytes, JobBrief]]:
        """The same of the present, in brief and by the sources' keys: for looks at all of it,
        however much there is."""
        briefs = list(self._table("jobs").briefs(self._txn, self.id))
        hidden = self.hidden_among(key for key, _ in briefs)
        for key, told in briefs:
            if key not in hidden:
                yield key, JobBrief.read(told)

    def passages_of(self, document: bytes, at: int | None = None) -> list[Row[PassageRow]]:
        """A document's passages in the order of its text."""
        stated = self.document(document, at)
        if stated is None:
            return []
        order = {piece.place(0): number for number, piece in enumerate(stated.state.pieces)}
        found = (self.passage(raw, at) for raw in self.index.contents(self._txn, self.id, document))
        rows = [row for row in found if row is not None and row.state.body.place(0) in order]
        return sorted(rows, key=lambda row: (order[row.state.body.place(0)], row.state.start))

    def messages_of(self, conversation: bytes, at: int | None = None) -> list[Row[MessageRow]]:
        """A conversation's messages in order."""
        rows = self.messages(self.message_ids(conversation), at)
        return sorted(rows, key=lambda row: (row.state.ordinal, row.id))

    def message_ids(self, conversation: bytes) -> list[bytes]:
        """Ids of all messages ever recorded in a conversation, in the order recorded."""
        return list(self.index.contents(self._txn, self.id, conversation))

    def talks(self) -> Iterator[ConversationId]:
        """All conversations that a message was ever recorded in."""
        for parent, first in self.index.holders(self._txn, self.id):
            if self.versions(Ref(Kind.MESSAGE, first)):
                yield ConversationId(parent)

    # --- judgements

    def verdict(self, fact: bytes, at: int | None = None) -> Row[VerdictRow] | None:
        """What was last found of a fact when it was compared with those before it."""
        return self._table("verdicts").at(self._txn, self.id, Ref(Kind.FACT, fact).key(), at)

    def verdicts(self, at: int | None = None, after: bytes = b"") -> Iterator[Row[VerdictRow]]:
        """All of them by fact id; `after` is one."""
        start = Ref(Kind.FACT, after).key() if after else b""
        return self._table("verdicts").scan(self._txn, self.id, at, start)

    def review(self, fact: bytes, at: int | None = None) -> Row[ReviewRow] | None:
        """Which of a fact's pairs wait for a person's word."""
        return self._table("reviews").at(self._txn, self.id, Ref(Kind.FACT, fact).key(), at)

    def reviews(self, at: int | None = None, after: bytes = b"") -> Iterator[Row[ReviewRow]]:
        """All of them by fact id; `after` is one."""
        start = Ref(Kind.FACT, after).key() if after else b""
        return self._table("reviews").scan(self._txn, self.id, at, start)

    def unjudged(self, at: int | None = None) -> Iterator[tuple[FactId, int]]:
        """Facts not yet compared with those before them, hidden ones too, and the position where
        each is stated."""
        for row in self._waiting("unjudged", at):
            yield FactId(row.id), row.state.at

    def _waiting(self, view: str, at: int | None) -> Iterator[Row[Any]]:
        """By id. Of the present only what waits is read; of the past, all that ever did."""
        table = self._table(view)
        if at is not None and at < self.position:
            return table.scan(self._txn, self.id, at)
        return table.waiting(self._txn, self.id)

    def is_unjudged(self, fact: bytes, at: int | None = None) -> bool:
        key = Ref(Kind.FACT, fact).key()
        return self._table("unjudged").at(self._txn, self.id, key, at) is not None

    def policy(self, at: int | None = None) -> PolicyRow | None:
        """The container's own policy; None where the shipped one is in force."""
        key = Ref(Kind.CONTAINER, self.id).key()
        row = self._table("policies").at(self._txn, self.id, key, at)
        return None if row is None else row.state

    # --- summaries

    def summaries(self, message: bytes, at: int | None = None) -> SummariesRow | None:
        """The summaries that end with a message, whether or not they hold for anybody now."""
        key = Ref(Kind.MESSAGE, message).key()
        row = self._table("summaries").at(self._txn, self.id, key, at)
        return None if row is None else row.state

    def summaries_of(
        self, messages: Iterable[bytes], at: int | None = None
    ) -> dict[bytes, SummariesRow]:
        """The same of many messages, of those with which any ends."""
        keys = [Ref(Kind.MESSAGE, raw).key() for raw in messages]
        rows = self._table("summaries").several(self._txn, self.id, keys, at)
        return {row.id: row.state for row in rows}

    def all_summaries(self, at: int | None = None) -> Iterator[Row[SummariesRow]]:
        return self._table("summaries").scan(self._txn, self.id, at)

    def unsummarised(self, message: bytes, at: int | None = None) -> SummaryTry | None:
        """What came of trying to sum up the messages from one on."""
        key = Ref(Kind.MESSAGE, message).key()
        row = self._table("unsummarised").at(self._txn, self.id, key, at)
        return None if row is None else row.state

    def all_unsummarised(self, at: int | None = None) -> Iterator[Row[SummaryTry]]:
        return self._waiting("unsummarised", at)

    # --- what is hidden

    def hidden(self, ref: Ref) -> HiddenRow | None:
        """Today's overlay: set when no read shows the item."""
        row = self._table("hidden").at(self._txn, self.id, ref.key(), None)
        return None if row is None else row.state

    def hidden_among(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of many items that no read shows, by their keys."""
        table = self._table("hidden")
        if next(table.scan(self._txn, self.id), None) is None:
            return set()
        return {row.key for row in table.several(self._txn, self.id, keys, None)}

    def hidden_items(self) -> Iterator[tuple[Ref, HiddenRow]]:
        for row in self._table("hidden").scan(self._txn, self.id):
            yield Ref(Kind(row.key[0]), row.id), row.state

    def mask(self, source: Ref, place: Place) -> tuple[tuple[int, int], ...]:
        """Blacked-out characters of a body of a document or message."""
        row = self._table("masks").at(self._txn, self.id, place_key(source, place), None)
        return () if row is None else row.state.spans

    def masked(self) -> Iterator[tuple[bytes, MaskRow]]:
        """All masks: (row key, spans)."""
        for row in self._table("masks").scan(self._txn, self.id):
            yield row.key, row.state

    # --- texts

    def content(self, body: Body | None) -> bytes | None:
        """The bytes of a body held by a row; None when there is none or it is erased."""
        return None if body is None else self.log.body(self.id, body.place(0))

    def text(self, body: Body | None) -> str | None:
        content = self.content(body)
        return None if content is None else read_text(content)

    def value(self, body: Body | None) -> Any:
        content = self.content(body)
        return None if content is None else read_value(content)

    def shown(self, source: Ref, body: Body, *, unmasked: bool = False) -> str | None:
        """The text of a body of a document or message, seen through its mask."""
        text = self.text(body)
        if text is None or unmasked:
            return text
        return blacked(text, self.mask(source, body.place(0)))

    def wording(self, fact: FactRow, *, unmasked: bool = False) -> str | None:
        """A fact's text; one that is a source's own body is masked as that is."""
        place = fact.text.place(0)
        for span in fact.sources:
            if span.place == place:
                return self.shown(span.source, fact.text, unmasked=unmasked)
        return self.text(fact.text)

    def tags(self, tags: Tags) -> tuple[str, ...]:
        return tagging.names(tags, self.content)

    # --- chains

    def chain(self, fact: bytes, at: int | None = None) -> list[Row[FactRow]]:
        """All versions of the fact's chain visible at that position, oldest (the root) first."""
        found: dict[bytes, Row[FactRow]] = {}
        waiting = [fact]
        while waiting:
            raw = waiting.pop()
            if raw in found:
                continue
            row = self.fact(raw, at)
            if row is None:
                continue
            found[raw] = row
            waiting.extend((*row.state.supersedes, *row.state.repeated_by))
            waiting.extend(row.state.superseded_by)
        return _in_order(found)

    def current(self, fact: bytes, at: int | None = None) -> Row[FactRow] | None:
        """The chain's version that nothing has ended, if there is one."""
        open_ones = [row for row in self.chain(fact, at) if row.state.ended is None]
        return open_ones[-1] if open_ones else None

    # --- events

    def effectivity(self, until: int | None = None) -> Effectivity:
        def undos_of(event_id: EventId) -> list[int]:
            return undoings(self._txn, self._undos, self.id, event_id)

        return Effectivity(self.log, self.id, undos_of, self.position if until is None else until)

    def event(self, position: int) -> Recorded | None:
        return self.log.read(self.id, position)

    def about(self, ref: Ref) -> Iterator[Recorded]:
        """Events tagged with an item, oldest first, whether or not they hold."""
        head = self.position
        for position in self.log.tagged(self.id, ref.key()):
            if position > head:
                return
            recorded = self.log.read(self.id, position)
            if recorded is not None:
                yield recorded

    def facts_from(self, source: Ref) -> list[bytes]:
        """Facts that were ever drawn from a document or message, oldest first."""
        found: dict[bytes, None] = {}
        for recorded in self.about(source):
            if isinstance(recorded.event, e.FactRemembered | e.FactExtracted):
                found[recorded.event.fact] = None
        return list(found)


def _in_order(found: Mapping[bytes, Row[FactRow]]) -> list[Row[FactRow]]:
    """Predecessors before successors, what repeats a version after it; ids rise with time, which
    settles the rest."""
    ordered: dict[bytes, Row[FactRow]] = {}

    def visit(raw: bytes, path: frozenset[bytes]) -> None:
        if raw in ordered or raw in path or raw not in found:
            return
        row = found[raw].state
        before: Iterable[bytes] = sorted(row.supersedes)
        if row.ended is not None and row.ended.repeats:
            before = (row.ended.by, *before)
        ended = (other for other in sorted(found) if _ended_by(found[other], raw))
        for other in (*before, *ended):
            visit(other, path | {raw})
        ordered[raw] = found[raw]

    for raw in sorted(found):
        visit(raw, frozenset())
    return list(ordered.values())


def _ended_by(row: Row[FactRow], raw: bytes) -> bool:
    ended = row.state.ended
    return ended is not None and ended.by == raw and not ended.repeats
