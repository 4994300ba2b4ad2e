"""The words view: keeps the search index in step with the rows it indexes.

It follows versions of rows as they open and close. Openings are collected over a slice of events
and written at once: one pass over the postings for thousands of entries.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import lmdb

from rewound.eventlog.bodies import Body, Place
from rewound.eventlog.events import DocumentReplaced, FactRemembered, PassagesCut
from rewound.eventlog.ids import ContainerId, Kind, Ref
from rewound.eventlog.log import Reader
from rewound.projections import columns as c
from rewound.projections import entries
from rewound.projections.documents import PassageRow
from rewound.projections.embeddings import Embeddings, Worded
from rewound.projections.entries import AnyRow
from rewound.projections.facts import FactRow
from rewound.projections.hidden import HiddenRow, MaskRow, place_key, place_of
from rewound.projections.messages import MessageRow
from rewound.projections.postings import Postings
from rewound.projections.rows import NO_ENTRY, Row, Table
from rewound.projections.tokens import tokenize, tokenize_many
from rewound.projections.traits import traits_of

Spans = Sequence[tuple[int, int]]
FOLLOWED = {
    "facts": Kind.FACT,
    "passages": Kind.PASSAGE,
    "messages": Kind.MESSAGE,
    "documents": Kind.DOCUMENT,
}
_PENDING_MAX = 20_000
"""Entries held before they are written, though the slice goes on: bounds what a fold holds."""


class Index:
    """The index as seen by one transaction; write methods need a write transaction.

    `contents` is a database container + document or conversation + passage or message: what lies
    in what. `stamp` is the number of this write, greater than that of any before.
    """

    def __init__(
        self,
        txn: lmdb.Transaction,
        tables: Mapping[str, Table[Any]],
        postings: Postings,
        store: c.ColumnStore,
        contents_db: Any,
        log: Reader,
        stamp: int,
        embeddings: Embeddings,
    ) -> None:
        self._txn = txn
        self._tables = tables
        self.postings = postings
        self._columns = store
        self._contents = contents_db
        self._log = log
        self._stamp = stamp
        self.embeddings = embeddings
        self._counts: dict[bytes, int] = {}
        self._opening: dict[bytes, list[_Opening]] = {}
        self._closing: dict[bytes, dict[int, int]] = {}
        self._held = 0
        self._groups: dict[tuple[bytes, bytes], int] = {}
        """Of documents met: a row of thousands of pieces is not to be read for each passage."""
        self._places: dict[tuple[bytes, bytes], tuple[int, int]] = {}
        """Of messages met, the group of the one before and their own."""
        self._last: dict[tuple[bytes, bytes], tuple[bytes, int]] = {}
        """Of conversations met: the greatest message id so far, and its group."""

    def contents(self, txn: lmdb.Transaction, container: bytes, parent: bytes) -> Iterator[bytes]:
        """Ids of the passages ever cut from a document, or messages of a conversation."""
        self.flush()
        prefix = container + parent
        with txn.cursor(self._contents) as cursor:
            going = cursor.set_range(prefix)
            while going and bytes(cursor.key()[:32]) == prefix:
                yield bytes(cursor.key()[32:])
                going = cursor.next()

    def holders(self, txn: lmdb.Transaction, container: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Ids of documents and conversations that ever held something, each with one such thing."""
        self.flush()
        with txn.cursor(self._contents) as cursor:
            going = cursor.set_range(container)
            while going and bytes(cursor.key()[:16]) == container:
                key = bytes(cursor.key())
                yield key[16:32], key[32:]
                going = cursor.set_range(key[:32] + b"\xff" * 17)

    @property
    def writes(self) -> bool:
        """Whether its transaction is one that writes: reads have no stamp."""
        return self._stamp > 0

    # --- following rows

    def follows(self, view: str) -> bool:
        return view in FOLLOWED

    def open(
        self, container: ContainerId, key: bytes, position: int, state: Any, group: int
    ) -> tuple[int, int]:
        """A version of a row opened: its ordinal, and its item's group."""
        before = source = c.FIRST
        if isinstance(state, MessageRow):
            before = self._before(container, state.conversation, key[1:17])
        elif isinstance(state, FactRow):
            before, source = self._place_of_source(container, state)
        count = self._counts.get(container)
        if count is None:
            count = self._columns.count(self._txn, container)
        self._counts[container] = count + 1
        if group == NO_ENTRY:
            group = self._group(container, state, count)
        if isinstance(state, MessageRow):
            self._met(container, state.conversation, key[1:17], group)
            self._places[container, key[1:17]] = (before, group)
        opening = _Opening(count, key, position, state, group, before, source)
        self._opening.setdefault(container, []).append(opening)
        self._held += 1
        if self._held >= _PENDING_MAX:
            self.flush()
        return count, group

    def close(self, container: ContainerId, ordinal: int, position: int) -> None:
        self._closing.setdefault(container, {})[ordinal] = position

    def _group(self, container: ContainerId, state: AnyRow, ordinal: int) -> int:
        """A passage belongs to its document's group; other items are their own."""
        if not isinstance(state, PassageRow):
            return ordinal
        known = self._group_of(container, Ref(Kind.DOCUMENT, state.document))
        return ordinal if known is None else known

    def _group_of(self, container: ContainerId, document: Ref) -> int | None:
        known = self._groups.get((container, document.id))
        if known is None:
            row = self._tables["documents"].last(self._txn, container, document.key())
            if row is None:
                return None
            known = self._groups[container, document.id] = row.group
        return known

    def _before(self, container: ContainerId, conversation: bytes, item: bytes) -> int:
        """The group of the message recorded before this one in its conversation.

        Ids rise as messages are recorded, so it is the one with the greatest id below.
        """
        last = self._last.get((container, conversation))
        if last is not None and item > last[0]:
            return last[1]
        self.flush()  # contents is to hold what was met in this slice, too
        found = self._below(container, conversation, item)
        return c.FIRST if found is None else found[1]

    def _place_of_source(self, container: ContainerId, state: FactRow) -> tuple[int, int]:
        """The groups of what stands before the message that a fact was drawn from, and of that
        message: the fact is understood by what is around it just as the message is. Of a document
        there is only its own."""
        source = state.sources[0].source if state.sources else None
        if source is None:
            return c.FIRST, c.FIRST
        if source.kind is Kind.DOCUMENT:
            home = self._group_of(container, source)
            return c.FIRST, c.FIRST if home is None else home
        known = self._places.get((container, source.id))
        if known is None:
            row = self._tables["messages"].last(self._txn, container, source.key())
            if row is None:
                return c.FIRST, c.FIRST
            before = self._columns.values(self._txn, container, "before", [row.ordinal])
            known = int(before[0]), row.group
            self._places[container, source.id] = known
        return known

    def _met(self, container: ContainerId, conversation: bytes, item: bytes, group: int) -> None:
        """Remember the conversation's newest message: the next one follows it."""
        whole = (container, conversation)
        last = self._last.get(whole) or self._below(container, conversation, b"\xff" * 16)
        self._last[whole] = last if last is not None and last[0] > item else (item, group)

    def _below(
        self, container: ContainerId, conversation: bytes, item: bytes
    ) -> tuple[bytes, int] | None:
        """The greatest message id below this one, and its group."""
        prefix = container + conversation
        with self._txn.cursor(self._contents) as cursor:
            found = cursor.prev() if cursor.set_range(prefix + item) else cursor.last()
            if not found or bytes(cursor.key()[:32]) != prefix:
                return None
            other = bytes(cursor.key()[32:])
        row = self._tables["messages"].last(self._txn, container, Ref(Kind.MESSAGE, other).key())
        return None if row is None else (other, row.group)

    # --- writing a slice

    def flush(self) -> None:
        """Write what was opened and closed since the last flush: before anything of it is read."""
        if not self._opening and not self._closing:
            return
        for container, openings in self._opening.items():
            self._write(ContainerId(container), openings)
        for container, closed in self._closing.items():
            self._columns.patch(
                self._txn,
                container,
                self._stamp,
                "closed",
                list(closed.keys()),
                list(closed.values()),
            )
        self._opening.clear()
        self._closing.clear()
        self._counts.clear()
        self._held = 0

    def _write(self, container: ContainerId, openings: "list[_Opening]") -> None:
        read = _Bodies(self._log, container)
        secret = self._log.key(container)
        masked = self._any("masks", container)
        hides = self._any("hidden", container)
        texts = [
            entries.words_of(opening.state, read, self._spans(container, opening) if masked else ())
            or ""
            for opening in openings
        ]
        words = tokenize_many(texts)
        rows = []
        facets: dict[int, list[tuple[int, dict[str, int]]]] = {}
        for opening, text, terms in zip(openings, texts, words, strict=True):
            entry = entries.entry_of(opening.key, opening.state)
            rows.append(
                c.Entry(
                    item=entry.id,
                    opened=opening.position,
                    length=len(terms),
                    valid_from=entry.valid_from,
                    valid_to=entry.valid_to,
                    expires=entry.expires,
                    kind=entry.kind,
                    standing=entry.standing,
                    hidden=int(hides and self._is_hidden(container, opening.key)),
                    group=opening.group,
                    detail=entry.detail,
                    before=opening.before,
                    source=opening.source,
                    traits=traits_of(text),
                    support=entry.support,
                    importance=entry.importance,
                )
            )
            found = entries.facets_of(opening.state, opening.key, secret, read)
            for field, names in found.items():
                held = facets.setdefault(field, [])
                held.append((opening.ordinal, dict.fromkeys(names, 1)))
            self._file(container, opening)
        first = self._columns.append(self._txn, container, self._stamp, c.entries(rows))
        assert first == openings[0].ordinal, "ordinals are given in order"
        counted = (
            (opening.ordinal, Counter(terms))
            for opening, terms in zip(openings, words, strict=True)
        )
        self.postings.add(self._txn, container, entries.WORDS, counted)
        for field, given in facets.items():
            self.postings.add(self._txn, container, field, given)
        self.embeddings.opened(container, list(map(_worded, openings, texts)))

    def _file(self, container: ContainerId, opening: "_Opening") -> None:
        state, item = opening.state, opening.key[1:17]
        if isinstance(state, PassageRow):
            self._txn.put(container + state.document + item, b"", db=self._contents)
        elif isinstance(state, MessageRow):
            self._txn.put(container + state.conversation + item, b"", db=self._contents)

    def _any(self, view: str, container: ContainerId) -> bool:
        """Whether an overlay has rows at all: mostly not, which saves thousands of looks."""
        return next(self._tables[view].scan(self._txn, container), None) is not None

    def _is_hidden(self, container: ContainerId, key: bytes) -> bool:
        return self._tables["hidden"].at(self._txn, container, key, None) is not None

    def _spans(self, container: ContainerId, opening: "_Opening | Row[Any]") -> Spans:
        """The mask of the body that an entry's words come from."""
        match opening.state:
            case PassageRow(document=document, body=body):
                key = place_key(Ref(Kind.DOCUMENT, document), body.place(0))
            case MessageRow(text=body):
                key = place_key(Ref(Kind.MESSAGE, opening.key[1:17]), body.place(0))
            case FactRow(text=body, sources=sources):
                # Taken word for word from a source, it is masked as that is.
                own = [span.source for span in sources if span.place == body.place(0)]
                if not own:
                    return ()
                key = place_key(own[0], body.place(0))
            case _:
                return ()
        row = self._tables["masks"].at(self._txn, container, key, None)
        return () if row is None else row.state.spans

    # --- the overlay

    def overlay(
        self,
        view: str,
        container: ContainerId,
        key: bytes,
        before: Any,
        after: Any,
    ) -> None:
        """A row of `hidden` or `masks` changed: all versions of what it covers follow."""
        self.flush()
        if view == "hidden":
            was, now = isinstance(before, HiddenRow), isinstance(after, HiddenRow)
            if was != now:
                self._hide(container, key, now)
        else:
            old = before.spans if isinstance(before, MaskRow) else ()
            new = after.spans if isinstance(after, MaskRow) else ()
            self._remask(container, key, old, new)

    def _hide(self, container: ContainerId, key: bytes, hidden: bool) -> None:
        ordinals = [row.ordinal for row in self._versions(container, key)]
        if ordinals:
            self._columns.patch(self._txn, container, self._stamp, "hidden", ordinals, int(hidden))

    def _remask(self, container: ContainerId, key: bytes, old: Spans, new: Spans) -> None:
        read = _Bodies(self._log, container)
        source, place = Ref(Kind(key[0]), key[1:17]), place_of(key)
        verbatim = self._verbatim(container, source, place)
        for row in (*self._holding(container, source, place), *verbatim):
            before = entries.words_of(row.state, read, old)
            after = entries.words_of(row.state, read, new)
            if before is None or after is None:
                continue  # erased: its words are dropped with the body
            gone, kept = Counter(tokenize(before)), Counter(tokenize(after))
            words = entries.WORDS
            self.postings.remove(
                self._txn, container, words, row.ordinal, gone.keys() - kept.keys()
            )
            changed = {term: n for term, n in kept.items() if gone.get(term) != n}
            self.postings.insert(self._txn, container, words, row.ordinal, changed)
            self._columns.patch(
                self._txn, container, self._stamp, "length", [row.ordinal], kept.total()
            )
            self._columns.patch(
                self._txn, container, self._stamp, "traits", [row.ordinal], traits_of(after)
            )
            self._drop_vectors(container, [row.ordinal])
            worded = Worded(row.ordinal, Ref(Kind(row.key[0]), row.id), after)
            self.embeddings.opened(container, [worded])

    def erase(
        self,
        container: ContainerId,
        items: Iterable[Ref],
        places: Iterable[Place],
        log: Reader,
    ) -> None:
        """Drop every posting that was made from erased items or bodies.

        The terms are not known any more (the bodies may be gone already), so all lists are read.
        """
        self.flush()
        rows = [row for ref in items for row in self._versions(container, ref.key())]
        for place in places:
            rows += self._of_place(container, place, log)
        for ref in items:
            if ref.kind is Kind.DOCUMENT:
                for passage in list(self.contents(self._txn, container, ref.id)):
                    rows += self._versions(container, Ref(Kind.PASSAGE, passage).key())
        ordinals = {row.ordinal for row in rows if row.ordinal != NO_ENTRY}
        if ordinals:
            self.postings.drop(self._txn, container, ordinals)
            for column in ("length", "traits"):
                self._columns.patch(self._txn, container, self._stamp, column, sorted(ordinals), 0)
            self._drop_vectors(container, sorted(ordinals))

    def made_of(self, container: ContainerId, places: Iterable[Place]) -> list[Ref]:
        """Items whose words come from these bodies: what was derived of them is to go as well."""
        rows = [row for place in places for row in self._of_place(container, place, self._log)]
        return list(dict.fromkeys(Ref(Kind(row.key[0]), row.id) for row in rows))

    def _drop_vectors(self, container: ContainerId, ordinals: Sequence[int]) -> None:
        found = self._columns.values(self._txn, container, "vector", ordinals)
        self.embeddings.drop(container, zip(ordinals, found.tolist(), strict=True))

    def worded(self, container: ContainerId, item: Ref) -> list[Worded]:
        """The entries of all versions of an item, with the text each is found by today."""
        self.flush()
        read = _Bodies(self._log, container)
        return [
            Worded(
                row.ordinal, item, entries.words_of(row.state, read, self._spans(container, row))
            )
            for row in self._versions(container, item.key())
        ]

    # --- finding rows

    def _versions(self, container: ContainerId, key: bytes) -> list[Row[Any]]:
        for view, kind in FOLLOWED.items():
            if key[0] == kind:
                return self._tables[view].versions(self._txn, container, key)
        return []

    def _holding(self, container: ContainerId, source: Ref, place: Place) -> list[Row[Any]]:
        """Versions of entries whose words come from a body of a document or message."""
        if source.kind is not Kind.DOCUMENT:
            return self._versions(container, source.key())
        return [
            row
            for passage in list(self.contents(self._txn, container, source.id))
            for row in self._versions(container, Ref(Kind.PASSAGE, passage).key())
            if row.state.body.place(0) == place
        ]

    def _verbatim(self, container: ContainerId, source: Ref, place: Place) -> list[Row[Any]]:
        """Versions of facts whose wording is a body of a document or message itself."""
        found: list[Row[Any]] = []
        for position in self._log.tagged(container, source.key()):
            recorded = self._log.read(container, position)
            if recorded is not None and isinstance(recorded.event, FactRemembered):
                if recorded.event.statement.text.place(position) == place:
                    found += self._versions(container, Ref(Kind.FACT, recorded.event.fact).key())
        return found

    def _of_place(self, container: ContainerId, place: Place, log: Reader) -> list[Row[Any]]:
        """Versions of entries made from a body, wherever it lies."""
        recorded = log.read(container, place.at)
        if recorded is None:
            return []
        event = recorded.event
        owners = list(event.creates())
        if isinstance(event, DocumentReplaced | PassagesCut):
            owners.append(Ref(Kind.DOCUMENT, event.document))
        found: list[Row[Any]] = []
        for owner in owners:
            found += self._verbatim(container, owner, place)
            for row in self._holding(container, owner, place):
                body = entries.body_of(row.state)
                if body is not None and body.place(0) == place:
                    found.append(row)
        return found


class _Opening:
    """A version that opened and is not written yet."""

    __slots__ = ("before", "group", "key", "ordinal", "position", "source", "state")

    def __init__(
        self,
        ordinal: int,
        key: bytes,
        position: int,
        state: AnyRow,
        group: int,
        before: int,
        source: int,
    ) -> None:
        self.ordinal = ordinal
        self.key = key
        self.position = position
        self.state = state
        self.group = group
        self.before = before
        self.source = source


def _worded(opening: _Opening, text: str) -> Worded:
    return Worded(opening.ordinal, Ref(Kind(opening.key[0]), opening.key[1:17]), text)


class _Bodies:
    """Reads the bodies that a container's rows refer to."""

    def __init__(self, log: Reader, container: ContainerId) -> None:
        self._log = log
        self._container = container

    def __call__(self, body: Body) -> bytes | None:
        return self._log.body(self._container, body.place(0))
