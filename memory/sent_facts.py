"""Facts of one command: stated anew, seen again, or given a new version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body, BodyWriter
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.instants import Instant, Precision
from rewound.memory.describing import described
from rewound.memory.drafting import Drafting
from rewound.memory.identity import FactContent, Scope, normalised, same_value

if TYPE_CHECKING:
    from rewound.projections.facts import FactRow
    from rewound.projections.reader import ContainerView
    from rewound.projections.rows import Row


@dataclass(frozen=True, slots=True)
class Version:
    """The present version of a chain; `chain` holds all ids of that, this one first, nearest next.

    `begins_at` is µs, `begins` the same as it was said (None: when it was recorded). `at` is the
    position of the event that states it.
    """

    id: FactId
    chain: tuple[FactId, ...]
    at: int
    text: str
    kind: e.FactKind = e.FactKind.FACT
    begins_at: int = 0
    begins: Instant | None = None
    valid_to: Instant | None = None
    expires_at: int | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    said_at: Instant | None = None
    caller_id: str | None = None
    tags: frozenset[str] = frozenset()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    scope: Scope = field(default_factory=dict)
    importance: int | None = None
    """Its own, in thousandths."""

    @property
    def ref(self) -> Ref:
        return Ref(Kind.FACT, self.id)

    def refs(self) -> list[Ref]:
        return [Ref(Kind.FACT, raw) for raw in self.chain]


@dataclass(frozen=True, slots=True)
class Change:
    """What a new version is to say; what is None stays as it is. `expires_at` is µs."""

    text: str
    corrects: bool = False
    kind: e.FactKind | None = None
    said_at: Instant | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: int | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    metadata: Mapping[str, Any] | None = None
    importance: int | None = None
    """In thousandths; by itself it makes no new version."""

    def rewords(self, version: Version) -> bool:
        return normalised(self.text) != normalised(version.text)

    def differs(self, version: Version) -> bool:
        """Whether anything that is given is not so already."""
        times = (
            (self.said_at, version.said_at),
            (self.valid_from, version.begins),
            (self.valid_to, version.valid_to),
        )
        plain = (
            (self.kind, version.kind),
            (self.expires_at, version.expires_at),
            (self.subject, version.subject),
            (self.attribute, version.attribute),
            (self.value, version.value),
        )
        return (
            self.rewords(version)
            or any(given is not None and not _same(given, held) for given, held in times)
            or any(given is not None and given != held for given, held in plain)
            or (self.metadata is not None and not same_value(self.metadata, version.metadata))
        )


class Facts:
    """Facts as this command leaves them: the views', overlaid with its own."""

    def __init__(self, drafting: Drafting) -> None:
        self._drafting = drafting
        self._own: dict[bytes, Version] = {}
        """Any id of a chain that this command stated a version of → that version."""

    def find(self, fact: bytes) -> Version | None:
        """The present version of a fact's chain, None when it is gone or forgotten."""
        own = self._own.get(fact)
        return own if own is not None else _load(self._drafting.view, fact)

    def add(
        self,
        content: FactContent,
        tags: Sequence[str],
        caller_id: str | None,
        importance: int | None,
    ) -> Version:
        """A new fact. Raises InvalidInput when it ends before it begins."""
        _check_end(content, self._drafting.now_us)
        bodies = self._drafting.bodies()
        fact, at = FactId(self._drafting.new_id()), self._drafting.position
        event = e.FactRemembered(
            fact,
            _statement(bodies, content),
            caller_id=bodies.text(caller_id),
            tags=bodies.value(tags),
            metadata=bodies.value(content.metadata),
            said_at=content.said_at,
            expires_at=content.expires_at,
            importance=importance,
        )
        self._drafting.add(event, bodies)
        now_us = self._drafting.now_us
        version = _of_content(fact, (fact,), at, content, now_us, caller_id, tags)
        return self._keep(replace(version, importance=importance))

    def add_from(
        self,
        source: Sourced,
        *,
        cause: EventId,
        ends: Version | None = None,
    ) -> Version:
        """A sent text taken as a fact, word for word; it takes the place of `ends`.

        Tags and metadata are the fact's own copies: erasing one leaves those of the other.
        """
        bodies = self._drafting.bodies()
        fact, at = FactId(self._drafting.new_id()), self._drafting.position
        event = e.FactRemembered(
            fact,
            e.Statement(source.body or bodies.piece(source.text)),
            source.spans,
            tags=bodies.value(sorted(source.tags)),
            metadata=bodies.value(source.metadata),
            said_at=source.said_at,
        )
        self._drafting.add(event, bodies, causes=(cause,))
        chain: tuple[FactId, ...] = (fact,)
        if ends is not None:
            ending = e.FactSuperseded(fact, ends.chain, source.said_at)
            self._drafting.add(ending, self._drafting.bodies(), causes=(cause,))
            chain += ends.chain
        version = Version(
            fact,
            chain,
            at,
            source.text,
            begins_at=source.said_at.at if source.said_at else self._drafting.now_us,
            begins=source.said_at,
            said_at=source.said_at,
            tags=source.tags,
            metadata=source.metadata,
            scope=self._drafting.scope,
        )
        return self._keep(version)

    def edit(
        self, version: Version, change: Change, tags: frozenset[str]
    ) -> tuple[EventId, Version]:
        """A new version, with those tags. Raises InvalidInput when it ends before it begins."""
        content = self._changed(version, change)
        _check_end(content, self._drafting.now_us)
        importance = version.importance if change.importance is None else change.importance
        bodies = self._drafting.bodies()
        fact, at = FactId(self._drafting.new_id()), self._drafting.position
        event = e.FactEdited(
            fact,
            version.chain,
            _statement(bodies, content),
            change.corrects,
            caller_id=bodies.text(version.caller_id),
            tags=bodies.value(sorted(tags)),
            metadata=bodies.value(content.metadata),
            said_at=content.said_at,
            expires_at=content.expires_at,
            importance=importance,
        )
        event_id = self._drafting.add(event, bodies, scope=version.scope)
        if version.caller_id is None:
            self._drafting.file(content.digests(self._drafting.key)[0], Ref(Kind.FACT, fact))
        chain = (fact, *version.chain)
        caller_id, now_us = version.caller_id, self._drafting.now_us
        edited = _of_content(fact, chain, at, content, now_us, caller_id, sorted(tags))
        return event_id, self._keep(replace(edited, importance=importance))

    def _changed(self, version: Version, change: Change) -> FactContent:
        """What the new version says. A correction holds from when the old one was said to.

        An end or an expiry that lies ahead stays; a value goes with the wording it was in.
        """
        valid_from = change.valid_from
        if valid_from is None and change.corrects:
            valid_from = version.begins or Instant(version.begins_at, Precision.INSTANT, 0)
        begins = valid_from or change.said_at
        start = begins.at if begins is not None else self._drafting.now_us
        valid_to = change.valid_to
        if valid_to is None and version.valid_to is not None and version.valid_to.at > start:
            valid_to = version.valid_to
        expires_at = change.expires_at
        if expires_at is None and (version.expires_at or 0) > self._drafting.now_us:
            expires_at = version.expires_at
        subject, attribute, value = self._about(version, change)
        return FactContent(
            text=change.text,
            kind=version.kind if change.kind is None else change.kind,
            said_at=change.said_at,
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=expires_at,
            subject=subject,
            attribute=attribute,
            value=value,
            metadata=version.metadata if change.metadata is None else change.metadata,
            scope=version.scope,
        )

    def _about(self, version: Version, change: Change) -> tuple[str | None, str | None, str | None]:
        """Subject, attribute and value of the new version. What the old wording said by itself
        goes with that; what a person said of it stays, but for the value of another wording."""
        reworded = change.rewords(version)
        held = (version.subject, version.attribute, version.value)
        if reworded and held == described(version.text)[:3]:
            held = (None, None, None)
        subject, attribute, value = held
        return (
            subject if change.subject is None else change.subject,
            attribute if change.attribute is None else change.attribute,
            change.value if change.value is not None else None if reworded else value,
        )

    def marked(self, version: Version, tags: frozenset[str], importance: int | None) -> None:
        """The version has these tags now, and this importance if one is given."""
        if version.id in self._own:
            held = version.importance if importance is None else importance
            self._keep(replace(version, tags=tags, importance=held))

    def _keep(self, version: Version) -> Version:
        self._own.update(dict.fromkeys(version.chain, version))
        return version


@dataclass(frozen=True, slots=True)
class Sourced:
    """A sent text that is to be a fact. `body` is where it already stands, if in one piece."""

    text: str
    body: Body | None
    spans: tuple[e.Span, ...]
    tags: frozenset[str]
    metadata: Mapping[str, Any]
    said_at: Instant | None


def verbatim(view: ContainerView, source: Ref) -> tuple[list[FactId], bool]:
    """Facts that a document or message was taken as, word for word, and are current.

    And whether there was one that has been edited, superseded or forgotten since: sending the same
    text again does not bring that back.
    """
    found: list[FactId] = []
    settled = False
    for raw in view.facts_from(source):
        row = view.fact(raw)
        stated = None if row is None else view.event(row.state.at)
        if row is None or stated is None or not isinstance(stated.event, e.FactRemembered):
            continue
        if row.state.ended is not None or view.hidden(Ref(Kind.FACT, raw)) is not None:
            settled = True
        else:
            found.append(FactId(raw))
    return found, settled


def _load(view: ContainerView, fact: bytes) -> Version | None:
    rows = view.chain(fact)
    if not rows:
        return None
    current = next((row for row in reversed(rows) if row.state.ended is None), rows[-1])
    text = view.text(current.state.text)
    if text is None or view.hidden(Ref(Kind.FACT, current.id)) is not None:
        return None
    others = [FactId(row.id) for row in reversed(rows) if row.id != current.id]
    return _of_row(view, current, (FactId(current.id), *others), text)


def _of_row(
    view: ContainerView, row: Row[FactRow], chain: tuple[FactId, ...], text: str
) -> Version:
    state = row.state
    return Version(
        id=chain[0],
        chain=chain,
        at=state.at,
        text=text,
        kind=state.kind,
        begins_at=state.valid_from,
        begins=state.stated_from,
        valid_to=state.stated_to,
        expires_at=state.expires_at,
        subject=view.text(state.subject),
        attribute=view.text(state.attribute),
        value=view.text(state.value),
        said_at=state.said_at,
        caller_id=view.text(state.caller_id),
        tags=frozenset(view.tags(state.tags)),
        metadata=view.value(state.metadata) or {},
        scope=view.value(state.scope) or {},
        importance=state.importance,
    )


def _of_content(
    fact: FactId,
    chain: tuple[FactId, ...],
    at: int,
    content: FactContent,
    now_us: int,
    caller_id: str | None,
    tags: Sequence[str],
) -> Version:
    begins = content.valid_from or content.said_at
    return Version(
        id=fact,
        chain=chain,
        at=at,
        text=content.text,
        kind=content.kind,
        begins_at=now_us if begins is None else begins.at,
        begins=begins,
        valid_to=content.valid_to,
        expires_at=content.expires_at,
        subject=content.subject,
        attribute=content.attribute,
        value=content.value,
        said_at=content.said_at,
        caller_id=caller_id,
        tags=frozenset(tags),
        metadata=content.metadata,
        scope=content.scope,
    )


def _same(one: Instant, other: Instant | None) -> bool:
    return other is not None and (one.at, one.precision) == (other.at, other.precision)


def _check_end(content: FactContent, now_us: int) -> None:
    begins = content.valid_from or content.said_at
    start = now_us if begins is None else begins.at
    if content.valid_to is not None and content.valid_to.at <= start:
        when = "" if begins is not None else " (now, as neither valid_from nor said_at is given)"
        raise InvalidInput(
            f"valid_to must be later than when the fact begins to hold{when}", field="valid_to"
        )


def _statement(bodies: BodyWriter, content: FactContent) -> e.Statement:
    """What a person says of it is about counts; else what its words say plainly."""
    subject, attribute, value, entities = described(content.text)
    if _says_about(content):
        subject, attribute, value = content.subject, content.attribute, content.value
    return e.Statement(
        text=bodies.piece(content.text),
        kind=content.kind,
        valid_from=content.valid_from,
        valid_to=content.valid_to,
        subject=bodies.text(subject),
        attribute=bodies.text(attribute),
        value=bodies.text(value),
        entities=bodies.value(entities),
    )


def _says_about(content: FactContent) -> bool:
    return (content.subject, content.attribute, content.value) != (None, None, None)
